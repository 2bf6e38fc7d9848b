/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - what both processes that probe a device have, see probe.h
 */
#include "doctor/probe.h"

#include <stdio.h>
#include <string.h>

const struct pattern probe_question = {PATTERN_COUNT_100, 0};
const struct pattern probe_answer = {PATTERN_NEGATIVE, 0};

void probe_name(const struct probe *probe, const char *what, char out_name[64])
{
	snprintf(out_name, 64, "doctor/%s/%s", probe->selector, what);
}

int probe_init(struct probe *probe, const char *selector)
{
	uint64_t index = 0;

	*probe = (struct probe){.peer = CHILD_NONE, .cuda = {.may_lack = true}};
	probe->is_host = !strcmp(selector, "host");
	if (!probe->is_host &&
		(strncmp(selector, "cuda:", 5) != 0 ||
			!number_parse(selector + 5, 0, UINT16_MAX, &index)))
		return -1;
	probe->index = (uint32_t)index;
	snprintf(probe->selector, sizeof(probe->selector), "%s", selector);
	probe->results.device = probe->selector;
	return 0;
}

void probe_fini(struct probe *probe)
{
	peer_stop(probe);
	ww_broker_unref(probe->broker);
	ww_stream_unref(probe->stream);
	ww_device_unref(probe->device);
	cuda_close(&probe->cuda);
	results_fini(&probe->results);
}

int probe_open_driver(struct probe *probe)
{
	return probe->is_host ? 0 : cuda_open(&probe->cuda, probe->index);
}

int probe_open_library(struct probe *probe)
{
	if (!probe->broker && ww_broker_open(NULL, &probe->broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	if (!probe->device && ww_device_open(probe->selector, &probe->device) != WW_OK)
		return complain_record("cannot open %s", probe->selector);
	if (!probe->stream && ww_stream_create(probe->device, &probe->stream) != WW_OK)
		return complain_record("cannot make a stream");
	return 0;
}

/* --- memory of cuMemCreate() --- */

int vmm_create(const struct cuda *cuda, ww_CUdevice device, uint64_t bytes, int types,
	struct vmm *out_vmm)
{
	const ww_CUmemAllocationProp prop = {
		.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = types,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, device},
	};
	size_t granularity = 0;

	*out_vmm = (struct vmm){0};
	if (CUDA_CALL(cuda, cuMemGetAllocationGranularity, &granularity, &prop,
		    WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM))
		return -1;
	if (granularity == 0)
		return complain("cuMemGetAllocationGranularity answers 0");
	out_vmm->bytes = (bytes + granularity - 1) / granularity * granularity;
	if (CUDA_CALL(cuda, cuMemCreate, &out_vmm->handle, out_vmm->bytes, &prop, 0))
		return -1;
	out_vmm->has_handle = true;
	return 0;
}

int vmm_import(const struct cuda *cuda, int fd, uint64_t bytes, struct vmm *out_vmm)
{
	*out_vmm = (struct vmm){.bytes = bytes};
	if (CUDA_CALL(cuda, cuMemImportFromShareableHandle, &out_vmm->handle, (void *)(intptr_t)fd,
		    WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return -1;
	out_vmm->has_handle = true;
	return 0;
}

int vmm_map(const struct cuda *cuda, struct vmm *vmm, ww_CUdevice device, int access)
{
	const ww_CUmemAccessDesc how = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, device},
		.flags = access,
	};

	if (CUDA_CALL(cuda, cuMemAddressReserve, &vmm->address, vmm->bytes, 0, 0, 0))
		return -1;
	if (CUDA_CALL(cuda, cuMemMap, vmm->address, vmm->bytes, 0, vmm->handle, 0))
		return -1;
	vmm->is_mapped = true;
	return CUDA_CALL(cuda, cuMemSetAccess, vmm->address, vmm->bytes, &how, 1);
}

void vmm_fini(const struct cuda *cuda, struct vmm *vmm)
{
	if (vmm->is_mapped)
		cuda->cuMemUnmap(vmm->address, vmm->bytes);
	if (vmm->address)
		cuda->cuMemAddressFree(vmm->address, vmm->bytes);
	if (vmm->has_handle)
		cuda->cuMemRelease(vmm->handle);
	*vmm = (struct vmm){0};
}
