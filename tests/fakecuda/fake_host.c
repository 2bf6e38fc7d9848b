/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_host.c - memory of the CPU that the GPU may use: allocated by the driver, or registered
 *
 * Such memory has one address for both. Registering looks into /proc/self/maps: every page must be
 * mapped, and writable unless READ_ONLY is given. What is registered READ_ONLY refuses copies into
 * it; a value written to it by a stream faults (LAUNCH_FAILED) and the page is unharmed.
 *
 * Like cuMemFree, freeing and unregistering wait for everything that was enqueued before.
 */
#include "fake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define ALLOC_FLAGS                                                   \
	(WW_CU_MEMHOSTALLOC_PORTABLE | WW_CU_MEMHOSTALLOC_DEVICEMAP | \
		WW_CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                      \
	(WW_CU_MEMHOSTREGISTER_PORTABLE | WW_CU_MEMHOSTREGISTER_DEVICEMAP | \
		WW_CU_MEMHOSTREGISTER_READ_ONLY)

FAKE_API cuMemHostAlloc(void **out_address, size_t bytes, unsigned int flags)
{
	FAKE_ENTER_CONTEXT(cuMemHostAlloc);
	if (!out_address || !bytes || flags & ~(unsigned int)ALLOC_FLAGS)
		return WW_CUDA_ERROR_INVALID_VALUE;
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	if (address == MAP_FAILED)
		return fake_error_from_errno(errno);
	struct fake_range *range = fake_range_create(FAKE_RANGE_HOST, (uint64_t)(uintptr_t)address,
		bytes);
	if (!range) {
		munmap(address, bytes);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->context = context;
	range->device = context->device;
	*out_address = address;
	return WW_CUDA_SUCCESS;
}

static struct fake_range *host_find(const void *address, enum fake_range_kind kind)
{
	struct fake_range *range = fake_range_find_base((uint64_t)(uintptr_t)address);
	return range && range->kind == kind ? range : NULL;
}

FAKE_API cuMemFreeHost(void *address)
{
	FAKE_ENTER(cuMemFreeHost);
	if (!address)
		return WW_CUDA_SUCCESS;
	struct fake_range *range = host_find(address, FAKE_RANGE_HOST);
	if (!range)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (range->context->fault)
		return range->context->fault;
	fake_stream_finish_all();
	range = host_find(address, FAKE_RANGE_HOST);
	if (!range)
		return WW_CUDA_ERROR_INVALID_VALUE;
	fake_memory_release(range);
	return WW_CUDA_SUCCESS;
}

/* Whether every page from 'address' on is mapped, and may be read (and written) by the CPU. */
bool fake_host_is_mapped(uint64_t address, uint64_t bytes, bool writable)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return false;

	char line[512];
	uint64_t at = address;
	while (at < address + bytes && fgets(line, sizeof(line), maps)) {
		uint64_t start;
		uint64_t end;
		char read;
		char write;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &start, &end, &read, &write) != 4)
			continue; /* the rest of a long line */
		if (end <= at)
			continue;
		if (start > at || read != 'r' || (writable && write != 'w'))
			break;
		at = end;
	}
	fclose(maps);
	return at >= address + bytes;
}

static ww_CUresult register_check(uint64_t address, uint64_t bytes, unsigned int flags)
{
	if (!address || !bytes || flags & ~(unsigned int)REGISTER_FLAGS ||
		address + bytes < address)
		return WW_CUDA_ERROR_INVALID_VALUE;
	const struct fake_range *next = (const struct fake_range *)fake_span_next(&fake_ranges,
		address);
	if (next && next->span.address < address + bytes)
		return next->kind == FAKE_RANGE_REGISTERED
			? WW_CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
			: WW_CUDA_ERROR_INVALID_VALUE;
	bool writable = !(flags & WW_CU_MEMHOSTREGISTER_READ_ONLY);
	return fake_host_is_mapped(address, bytes, writable) ? WW_CUDA_SUCCESS
							     : WW_CUDA_ERROR_INVALID_VALUE;
}

FAKE_API cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	FAKE_ENTER(cuMemHostRegister);
	struct fake_context *context;
	ww_CUresult error = fake_context_current(&context);
	if (!error && flags & WW_CU_MEMHOSTREGISTER_READ_ONLY &&
		fake_lacks(FAKE_LACK_HOST_READ_ONLY))
		error = WW_CUDA_ERROR_NOT_SUPPORTED;
	if (!error)
		error = register_check((uint64_t)(uintptr_t)address, bytes, flags);
	if (error)
		return error;
	struct fake_range *range = fake_range_create(FAKE_RANGE_REGISTERED,
		(uint64_t)(uintptr_t)address, bytes);
	if (!range)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	range->context = context;
	range->device = context->device;
	range->read_only = (flags & WW_CU_MEMHOSTREGISTER_READ_ONLY) != 0;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemHostUnregister(void *address)
{
	FAKE_ENTER(cuMemHostUnregister);
	struct fake_range *range = host_find(address, FAKE_RANGE_REGISTERED);
	if (!range)
		return fake_range_find((uint64_t)(uintptr_t)address)
			? WW_CUDA_ERROR_INVALID_VALUE
			: WW_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (range->context->fault)
		return range->context->fault;
	fake_stream_finish_all();
	range = host_find(address, FAKE_RANGE_REGISTERED);
	if (!range)
		return WW_CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	fake_range_destroy(range);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemHostGetDevicePointer_v2(ww_CUdeviceptr *out_address, void *address,
	unsigned int flags)
{
	FAKE_ENTER_CONTEXT(cuMemHostGetDevicePointer);
	const struct fake_range *range = fake_range_find((uint64_t)(uintptr_t)address);
	if (!out_address || flags || !range ||
		(range->kind != FAKE_RANGE_HOST && range->kind != FAKE_RANGE_REGISTERED))
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_address = (uint64_t)(uintptr_t)address;
	return WW_CUDA_SUCCESS;
}
