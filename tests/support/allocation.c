/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocation.c - see allocation.h
 */
#include "support/allocation.h"

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/driver.h"
#include "support/subject.h"

#define MUST_CUDA(call) MUST_EQUAL(WW_CUDA_SUCCESS, call)

static ww_CUcontext context; /* NULL: not entered */

static const struct driver *driver(void)
{
	const struct driver *found = driver_get();

	MUST(found);
	return found;
}

static ww_CUdevice ordinal(void)
{
	return atoi(strchr(subject_name(), ':') + 1);
}

void allocation_enter(void)
{
	if (!context)
		MUST_CUDA(driver()->cuDevicePrimaryCtxRetain(&context, ordinal()));
	MUST_CUDA(driver()->cuCtxSetCurrent(context));
}

void allocation_enter_apart(void)
{
	MUST(!context);
	MUST_CUDA(driver()->cuCtxCreate(&context, 0, ordinal()));
}

void allocation_step_out(void)
{
	MUST_CUDA(driver()->cuCtxSetCurrent(NULL));
}

void allocation_leave(void)
{
	if (!context)
		return;
	MUST_CUDA(driver()->cuCtxSetCurrent(NULL));
	MUST_CUDA(driver()->cuDevicePrimaryCtxRelease(ordinal()));
	context = NULL;
}

void allocation_warm_up(void)
{
	ww_CUmemoryPool pool;

	if (driver_get())
		driver()->cuDeviceGetDefaultMemPool(&pool, ordinal());
}

void *allocation_at(const struct allocation *allocation, uint64_t offset)
{
	return (void *)(uintptr_t)(allocation->address + offset);
}

static bool make_in_pool(struct allocation *allocation, int handle_types)
{
	ww_CUmemPoolProps props;

	memset(&props, 0, sizeof(props));
	props.allocType = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	props.handleTypes = handle_types;
	props.location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	props.location.id = ordinal();
	if (driver()->cuMemPoolCreate(&allocation->pool, &props) != WW_CUDA_SUCCESS)
		return false;
	MUST_CUDA(driver()->cuStreamCreate(&allocation->stream, WW_CU_STREAM_NON_BLOCKING));
	MUST_CUDA(driver()->cuMemAllocFromPoolAsync(&allocation->address, allocation->bytes,
		allocation->pool, allocation->stream));
	MUST_CUDA(driver()->cuStreamSynchronize(allocation->stream));
	return true;
}

static void make_in_default_pool(struct allocation *allocation)
{
	MUST_CUDA(driver()->cuStreamCreate(&allocation->stream, WW_CU_STREAM_NON_BLOCKING));
	MUST_CUDA(driver()->cuMemAllocAsync(&allocation->address, allocation->bytes,
		allocation->stream));
	MUST_CUDA(driver()->cuStreamSynchronize(allocation->stream));
}

static bool make_vmm(struct allocation *allocation, int handle_types, size_t parts)
{
	const ww_CUmemAllocationProp prop = {
		.type = WW_CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = handle_types,
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, ordinal()},
	};
	const ww_CUmemAccessDesc access = {
		.location = {WW_CU_MEM_LOCATION_TYPE_DEVICE, ordinal()},
		.flags = WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	ww_CUmemGenericAllocationHandle handle;
	size_t granularity;

	MUST_CUDA(driver()->cuMemGetAllocationGranularity(&granularity, &prop,
		WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	allocation->part_bytes = (allocation->bytes / parts + granularity - 1) / granularity *
		granularity;
	allocation->bytes = parts * allocation->part_bytes;
	MUST_CUDA(driver()->cuMemAddressReserve(&allocation->address, allocation->bytes, 0, 0, 0));
	for (size_t i = 0; i < parts; i++) {
		if (driver()->cuMemCreate(&handle, allocation->part_bytes, &prop, 0) !=
			WW_CUDA_SUCCESS) {
			MUST_CUDA(
				driver()->cuMemAddressFree(allocation->address, allocation->bytes));
			return false;
		}
		MUST_CUDA(driver()->cuMemMap(allocation->address + i * allocation->part_bytes,
			allocation->part_bytes, 0, handle, 0));
		MUST_CUDA(driver()->cuMemRelease(handle));
	}
	MUST_CUDA(driver()->cuMemSetAccess(allocation->address, allocation->bytes, &access, 1));
	return true;
}

bool allocation_make(struct allocation *allocation, enum allocation_kind kind, uint64_t bytes)
{
	const int fd = WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	void *pinned;

	memset(allocation, 0, sizeof(*allocation));
	allocation->kind = kind;
	allocation->bytes = bytes;
	allocation_enter();
	switch (kind) {
	case ALLOCATION_LEGACY:
		MUST_CUDA(driver()->cuMemAlloc(&allocation->address, bytes));
		return true;
	case ALLOCATION_MANAGED:
		return driver()->cuMemAllocManaged(&allocation->address, bytes,
			       WW_CU_MEM_ATTACH_GLOBAL) == WW_CUDA_SUCCESS;
	case ALLOCATION_PINNED:
		MUST_CUDA(driver()->cuMemHostAlloc(&pinned, bytes, 0));
		allocation->address = (ww_CUdeviceptr)(uintptr_t)pinned;
		return true;
	case ALLOCATION_DEFAULT_POOL:
		make_in_default_pool(allocation);
		return true;
	case ALLOCATION_POOL:
		return make_in_pool(allocation, fd);
	case ALLOCATION_POOL_CLOSED:
		return make_in_pool(allocation, 0);
	case ALLOCATION_VMM_PARTS:
		return make_vmm(allocation, fd, 2);
	default:
		return make_vmm(allocation, kind == ALLOCATION_VMM ? fd : 0, 1);
	}
}

void allocation_free(struct allocation *allocation)
{
	allocation_enter();
	switch (allocation->kind) {
	case ALLOCATION_LEGACY:
	case ALLOCATION_MANAGED:
		MUST_CUDA(driver()->cuMemFree(allocation->address));
		break;
	case ALLOCATION_PINNED:
		MUST_CUDA(driver()->cuMemFreeHost(allocation_at(allocation, 0)));
		break;
	case ALLOCATION_DEFAULT_POOL:
	case ALLOCATION_POOL:
	case ALLOCATION_POOL_CLOSED:
		MUST_CUDA(driver()->cuMemFreeAsync(allocation->address, allocation->stream));
		MUST_CUDA(driver()->cuStreamSynchronize(allocation->stream));
		MUST_CUDA(driver()->cuStreamDestroy(allocation->stream));
		if (allocation->pool)
			MUST_CUDA(driver()->cuMemPoolDestroy(allocation->pool));
		break;
	default:
		for (size_t at = 0; at < allocation->bytes; at += allocation->part_bytes)
			MUST_CUDA(driver()->cuMemUnmap(allocation->address + at,
				allocation->part_bytes));
		MUST_CUDA(driver()->cuMemAddressFree(allocation->address, allocation->bytes));
	}
	allocation->address = 0;
}

void address_write(ww_CUdeviceptr address, uint64_t bytes, uint32_t seed)
{
	OWN(heap) uint8_t *pattern = malloc(bytes);

	MUST(pattern);
	pattern_make(pattern, bytes, seed);
	allocation_enter();
	MUST_CUDA(driver()->cuMemcpyHtoD(address, pattern, bytes));
	/* For few bytes it returns before the GPU has them, and another process may read next. */
	MUST_CUDA(driver()->cuStreamSynchronize(NULL));
}

void address_verify(ww_CUdeviceptr address, uint64_t bytes, uint32_t seed)
{
	OWN(heap) uint8_t *expected = malloc(bytes);
	OWN(heap) uint8_t *got = malloc(bytes);

	MUST(expected && got);
	pattern_make(expected, bytes, seed);
	allocation_enter();
	MUST_CUDA(driver()->cuMemcpyDtoH(got, address, bytes));
	MUST_MATCH(expected, got, bytes);
}

void allocation_write(const struct allocation *allocation, uint32_t seed)
{
	address_write(allocation->address, allocation->bytes, seed);
}

void allocation_verify(const struct allocation *allocation, uint32_t seed)
{
	address_verify(allocation->address, allocation->bytes, seed);
}
