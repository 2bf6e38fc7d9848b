/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_memory.c - memory of a GPU: made, handed over by each kind of handle, and for reading only
 *
 * The driver's own calls are tried here. What the driver says of itself (attributes) is not asked.
 */
#include "doctor/probe.h"

#include <stdio.h>
#include <string.h>

#define FD_HANDLE    WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define FOR_WRITE    WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE
#define FABRIC_BYTES 64

/* Verifies what was handed over, and writes the answer. */
static int answer(struct probe *probe, ww_CUdeviceptr address)
{
	return cuda_verify(&probe->cuda, address, PROBE_ELEMENTS, probe_question) ||
			cuda_write(&probe->cuda, address, PROBE_ELEMENTS, probe_answer)
		? -1
		: 0;
}

/* --- VMM --- */

static int try_vmm(struct probe *probe, struct vmm *vmm)
{
	if (vmm_create(&probe->cuda, probe->cuda.ordinal, PROBE_BYTES, 0, vmm) ||
		vmm_map(&probe->cuda, vmm, probe->cuda.ordinal, FOR_WRITE) ||
		cuda_write(&probe->cuda, vmm->address, PROBE_ELEMENTS, probe_question))
		return -1;
	return cuda_verify(&probe->cuda, vmm->address, PROBE_ELEMENTS, probe_question);
}

int probe_vmm(struct probe *probe)
{
	struct vmm vmm;
	int result = try_vmm(probe, &vmm);

	snprintf(probe->found, sizeof(probe->found), "%zu KiB made, mapped, written and read",
		vmm.bytes >> 10);
	vmm_fini(&probe->cuda, &vmm);
	return result;
}

static int try_descriptors(struct probe *probe, struct vmm *vmm)
{
	OWN(fd) int fd = -1;
	uint64_t bytes;

	if (vmm_create(&probe->cuda, probe->cuda.ordinal, PROBE_BYTES, FD_HANDLE, vmm) ||
		vmm_map(&probe->cuda, vmm, probe->cuda.ordinal, FOR_WRITE) ||
		cuda_write(&probe->cuda, vmm->address, PROBE_ELEMENTS, probe_question) ||
		CUDA_CALL(&probe->cuda, cuMemExportToShareableHandle, &fd, vmm->handle, FD_HANDLE,
			0))
		return -1;
	bytes = vmm->bytes;
	if (peer_do(probe, PEER_DESCRIPTOR, &bytes, sizeof(bytes), fd))
		return -1;
	return cuda_verify(&probe->cuda, vmm->address, PROBE_ELEMENTS, probe_answer);
}

int probe_descriptors(struct probe *probe)
{
	struct vmm vmm;
	int result = try_descriptors(probe, &vmm);

	vmm_fini(&probe->cuda, &vmm);
	snprintf(probe->found, sizeof(probe->found), "another process read and wrote the memory");
	return result;
}

int peer_descriptor(struct probe *probe, const struct peer_message *message, int fd)
{
	struct vmm vmm = {0};
	uint64_t bytes;
	int result;

	memcpy(&bytes, message->bytes, sizeof(bytes));
	result = vmm_import(&probe->cuda, fd, bytes, &vmm) ||
			vmm_map(&probe->cuda, &vmm, probe->cuda.ordinal, FOR_WRITE) ||
			answer(probe, vmm.address)
		? -1
		: 0;
	vmm_fini(&probe->cuda, &vmm);
	return result;
}

/* A copy into it, which the driver refuses before the GPU sees it: no kernel writes there. */
static int try_read_only(struct probe *probe, struct vmm *vmm)
{
	float number = 0;

	if (vmm_create(&probe->cuda, probe->cuda.ordinal, PROBE_BYTES, 0, vmm) ||
		vmm_map(&probe->cuda, vmm, probe->cuda.ordinal, WW_CU_MEM_ACCESS_FLAGS_PROT_READ))
		return -1;
	if (CUDA_CALL(&probe->cuda, cuMemcpyDtoH, &number, vmm->address, sizeof(number)))
		return -1;
	if (probe->cuda.cuMemcpyHtoD(vmm->address, &number, sizeof(number)) == WW_CUDA_SUCCESS)
		return complain("a copy into a mapping for reading succeeded");
	return 0;
}

int probe_read_only(struct probe *probe)
{
	struct vmm vmm;
	int result = try_read_only(probe, &vmm);

	vmm_fini(&probe->cuda, &vmm);
	snprintf(probe->found, sizeof(probe->found), "reading works, writing is refused");
	return result;
}

int probe_fabric(struct probe *probe)
{
	char handle[FABRIC_BYTES] = {0};
	struct vmm vmm;
	int result = vmm_create(&probe->cuda, probe->cuda.ordinal, PROBE_BYTES,
			     WW_CU_MEM_HANDLE_TYPE_FABRIC, &vmm) ||
			CUDA_CALL(&probe->cuda, cuMemExportToShareableHandle, handle, vmm.handle,
				WW_CU_MEM_HANDLE_TYPE_FABRIC, 0)
		? -1
		: 0;

	vmm_fini(&probe->cuda, &vmm);
	snprintf(probe->found, sizeof(probe->found), "a handle was made");
	return result;
}

/* --- memory of cuMemAlloc() --- */

static int try_legacy(struct probe *probe, ww_CUdeviceptr address)
{
	ww_CUipcMemHandle handle = {{0}};

	if (cuda_write(&probe->cuda, address, PROBE_ELEMENTS, probe_question) ||
		CUDA_CALL(&probe->cuda, cuIpcGetMemHandle, &handle, address) ||
		peer_do(probe, PEER_LEGACY, &handle, sizeof(handle), -1))
		return -1;
	return cuda_verify(&probe->cuda, address, PROBE_ELEMENTS, probe_answer);
}

int probe_legacy(struct probe *probe)
{
	ww_CUdeviceptr address = 0;
	int result;

	if (CUDA_CALL(&probe->cuda, cuMemAlloc, &address, PROBE_BYTES))
		return -1;
	result = try_legacy(probe, address);
	probe->cuda.cuMemFree(address);
	snprintf(probe->found, sizeof(probe->found), "another process read and wrote the memory");
	return result;
}

int peer_legacy(struct probe *probe, const struct peer_message *message, int fd)
{
	ww_CUdeviceptr address = 0;
	ww_CUipcMemHandle handle = {{0}};
	int result;

	(void)fd;
	memcpy(&handle, message->bytes, sizeof(handle));
	if (CUDA_CALL(&probe->cuda, cuIpcOpenMemHandle, &address, handle,
		    WW_CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
		return -1;
	result = answer(probe, address);
	probe->cuda.cuIpcCloseMemHandle(address);
	return result;
}

/* --- memory of a pool of CUDA's --- */

static int try_pool_memory(struct probe *probe, ww_CUdeviceptr address, int fd)
{
	ww_CUmemPoolPtrExportData data = {{0}};

	if (cuda_write(&probe->cuda, address, PROBE_ELEMENTS, probe_question) ||
		CUDA_CALL(&probe->cuda, cuMemPoolExportPointer, &data, address) ||
		peer_do(probe, PEER_POOL, &data, sizeof(data), fd))
		return -1;
	return cuda_verify(&probe->cuda, address, PROBE_ELEMENTS, probe_answer);
}

static int try_pools(struct probe *probe, ww_CUmemoryPool *pool)
{
	ww_CUdeviceptr address = 0;
	OWN(fd) int fd = -1;
	int result;

	if (cuda_pool_create(&probe->cuda, pool, &fd) ||
		cuda_pool_alloc(&probe->cuda, *pool, PROBE_BYTES, &address))
		return -1;
	result = try_pool_memory(probe, address, fd);
	return cuda_pool_free(&probe->cuda, address) ? -1 : result;
}

int probe_pools(struct probe *probe)
{
	ww_CUmemoryPool pool = NULL;
	int result;

	/* A driver that has one half only would leave the peer's for nothing. */
	if (!probe->cuda.cuMemPoolImportPointer) {
		probe->cause = "function";
		cuda_lacks("cuMemPoolImportPointer");
		return -1;
	}
	result = try_pools(probe, &pool);
	if (pool)
		probe->cuda.cuMemPoolDestroy(pool);
	snprintf(probe->found, sizeof(probe->found), "another process read and wrote the memory");
	return result;
}

int peer_pool(struct probe *probe, const struct peer_message *message, int fd)
{
	ww_CUmemPoolPtrExportData data = {{0}};
	ww_CUmemoryPool pool = NULL;
	ww_CUdeviceptr address = 0;
	int result;

	memcpy(&data, message->bytes, sizeof(data));
	if (cuda_pool_import(&probe->cuda, fd, &pool))
		return -1;
	result = CUDA_CALL(&probe->cuda, cuMemPoolImportPointer, &address, pool, &data);
	if (result == 0)
		result = answer(probe, address);
	if (address && cuda_pool_free(&probe->cuda, address))
		result = -1;
	probe->cuda.cuMemPoolDestroy(pool);
	return result;
}
