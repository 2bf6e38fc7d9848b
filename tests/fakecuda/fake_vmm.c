/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_vmm.c - virtual memory management: handles, reservations, mappings, descriptors
 *
 * A handle names memory; it is counted, and mappings keep the memory too, so that it may be
 * released while mapped. A mapping is always the whole of an allocation, lies in a reservation,
 * and is accessible to nobody until access is set, device by device. None of this needs a context.
 *
 * An exported descriptor is a new one each time. Importing it gives a distinct handle of the same
 * memory, which cannot be exported again. The location of imported memory is the index of its GPU
 * among ours, or -2 if we cannot see it.
 *
 * Where the driver lets a mistake pass, the fake does not: unmapping what is not mapped, a mapping
 * that sticks out of its reservation, and handle types that do not exist are INVALID_VALUE here.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define HANDLE_STEP 16

struct fake_handle {
	struct fake_handle *next;
	uint64_t id;
	uint32_t refs; /* releases owed; 0: only mappings keep it */
	uint32_t maps;
	struct fake_physical *physical;
};

static struct fake_handle *handles;

uint64_t fake_vmm_handle_count(void)
{
	uint64_t count = 0;
	for (const struct fake_handle *handle = handles; handle; handle = handle->next)
		count += handle->refs > 0;
	return count;
}

/* Consumes the reference to @physical, also on failure. */
static struct fake_handle *handle_new(struct fake_physical *physical)
{
	static uint64_t last = 0x7000;
	struct fake_handle *handle = calloc(1, sizeof(*handle));
	if (!handle) {
		fake_physical_unref(physical);
		return NULL;
	}
	last += HANDLE_STEP;
	handle->id = last;
	handle->refs = 1;
	handle->physical = physical;
	handle->next = handles;
	handles = handle;
	return handle;
}

static struct fake_handle *handle_find(ww_CUmemGenericAllocationHandle id)
{
	for (struct fake_handle *handle = handles; handle; handle = handle->next)
		if (handle->id == id && handle->refs)
			return handle;
	return NULL;
}

static void handle_free_if_unused(struct fake_handle *handle)
{
	if (handle->refs || handle->maps)
		return;
	for (struct fake_handle **at = &handles; *at; at = &(*at)->next) {
		if (*at == handle) {
			*at = handle->next;
			break;
		}
	}
	fake_physical_unref(handle->physical);
	free(handle);
}

FAKE_API cuMemGetAllocationGranularity(size_t *out_bytes, const ww_CUmemAllocationProp *prop,
	ww_CUmemAllocationGranularity_flags option)
{
	FAKE_ENTER(cuMemGetAllocationGranularity);
	if (!out_bytes || !prop || option < WW_CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
		option > WW_CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_bytes = FAKE_GRANULARITY;
	return WW_CUDA_SUCCESS;
}

static ww_CUresult handle_types_check(int types)
{
	if (types & WW_CU_MEM_HANDLE_TYPE_FABRIC)
		return WW_CUDA_ERROR_NOT_PERMITTED;
	if (types & ~WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return WW_CUDA_ERROR_INVALID_VALUE;
	return types && fake_config()->no_fd ? WW_CUDA_ERROR_NOT_SUPPORTED : WW_CUDA_SUCCESS;
}

static ww_CUresult prop_check(const ww_CUmemAllocationProp *prop)
{
	if (!prop || prop->type != WW_CU_MEM_ALLOCATION_TYPE_PINNED)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == WW_CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (prop->location.type != WW_CU_MEM_LOCATION_TYPE_DEVICE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(prop->location.id))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	return handle_types_check(prop->requestedHandleTypes);
}

FAKE_API cuMemCreate(ww_CUmemGenericAllocationHandle *out_handle, size_t bytes,
	const ww_CUmemAllocationProp *prop, unsigned long long flags)
{
	FAKE_ENTER(cuMemCreate);
	if (!out_handle || flags || !bytes || bytes % FAKE_GRANULARITY)
		return WW_CUDA_ERROR_INVALID_VALUE;
	ww_CUresult error = prop_check(prop);
	struct fake_physical *physical;
	if (!error)
		error = fake_physical_create(FAKE_KIND_VMM, prop->location.id, bytes,
			prop->requestedHandleTypes, &physical);
	if (error)
		return error;
	struct fake_handle *handle = handle_new(physical);
	if (!handle)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	*out_handle = handle->id;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemRelease(ww_CUmemGenericAllocationHandle id)
{
	FAKE_ENTER(cuMemRelease);
	struct fake_handle *handle = handle_find(id);
	if (!handle)
		return WW_CUDA_ERROR_INVALID_VALUE;
	handle->refs--;
	handle_free_if_unused(handle);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemAddressReserve(ww_CUdeviceptr *out_address, size_t bytes, size_t alignment,
	ww_CUdeviceptr hint, unsigned long long flags)
{
	FAKE_ENTER(cuMemAddressReserve);
	if (!out_address || flags || !bytes || bytes % FAKE_GRANULARITY ||
		alignment & (alignment - 1) || hint % FAKE_PAGE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (alignment < FAKE_GRANULARITY)
		alignment = FAKE_GRANULARITY;
	struct fake_place *place = fake_arena_take(bytes, alignment, hint);
	if (!place)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	place->reservation = true;
	*out_address = place->span.address;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemAddressFree(ww_CUdeviceptr address, size_t bytes)
{
	FAKE_ENTER(cuMemAddressFree);
	struct fake_place *place = fake_arena_find(address);
	if (!place || !place->reservation || place->span.address != address ||
		place->span.bytes != bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	const struct fake_span *mapped = fake_span_next(&fake_ranges, address);
	if (mapped && mapped->address < address + bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	fake_arena_give(place);
	return WW_CUDA_SUCCESS;
}

/* Whether a mapping may lie there: inside one reservation, over nothing else. */
static bool is_free_place(uint64_t address, uint64_t bytes)
{
	const struct fake_place *place = fake_arena_find(address);
	if (!place || !place->reservation || address % FAKE_GRANULARITY)
		return false;
	if (bytes > place->span.address + place->span.bytes - address)
		return false;
	const struct fake_span *next = fake_span_next(&fake_ranges, address);
	return !next || next->address >= address + bytes;
}

FAKE_API cuMemMap(ww_CUdeviceptr address, size_t bytes, size_t offset,
	ww_CUmemGenericAllocationHandle id, unsigned long long flags)
{
	FAKE_ENTER(cuMemMap);
	struct fake_handle *handle = handle_find(id);
	if (!handle || flags || !bytes || bytes % FAKE_GRANULARITY)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (offset || bytes != handle->physical->bytes)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (!is_free_place(address, bytes))
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_range *range = fake_range_create(FAKE_RANGE_VMM, address, bytes);
	if (!range)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	range->physical = fake_physical_ref(handle->physical);
	range->device = handle->physical->device;
	range->handle = handle;
	handle->maps++;
	return WW_CUDA_SUCCESS;
}

/* The first mapping that lies in part inside [address, address + bytes), or NULL. */
static struct fake_range *mapping_in(uint64_t address, uint64_t bytes)
{
	struct fake_range *range = (struct fake_range *)fake_span_next(&fake_ranges, address);
	if (!range || range->span.address >= address + bytes || range->kind != FAKE_RANGE_VMM ||
		range->freeing)
		return NULL;
	return range;
}

static bool is_whole_mappings(uint64_t address, uint64_t bytes)
{
	const struct fake_range *range = mapping_in(address, bytes);
	if (!range || range->span.address < address)
		return false;
	while (range) {
		uint64_t end = range->span.address + range->span.bytes;
		if (end > address + bytes)
			return false;
		range = mapping_in(end, address + bytes - end);
	}
	return true;
}

FAKE_API cuMemUnmap(ww_CUdeviceptr address, size_t bytes)
{
	FAKE_ENTER(cuMemUnmap);
	if (!is_whole_mappings(address, bytes))
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (;;) {
		struct fake_range *range = mapping_in(address, bytes);
		if (!range)
			return WW_CUDA_SUCCESS;
		struct fake_handle *handle = range->handle;
		fake_range_destroy(range);
		handle->maps--;
		handle_free_if_unused(handle);
	}
}

static ww_CUresult access_check(const ww_CUmemAccessDesc *access)
{
	const ww_CUmemLocation *location = &access->location;

	if (access->flags != WW_CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		access->flags != WW_CU_MEM_ACCESS_FLAGS_PROT_READ &&
		access->flags != WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (location->type == WW_CU_MEM_LOCATION_TYPE_HOST ||
		location->type == WW_CU_MEM_LOCATION_TYPE_HOST_NUMA ||
		location->type == WW_CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (location->type != WW_CU_MEM_LOCATION_TYPE_DEVICE || !fake_device_get(location->id))
		return WW_CUDA_ERROR_INVALID_VALUE;
	return WW_CUDA_SUCCESS;
}

/* The span must be filled by whole mappings with no hole, and reachable from every device named. */
static ww_CUresult set_access_check(uint64_t address, uint64_t bytes,
	const ww_CUmemAccessDesc *access, size_t count)
{
	if (!access || !count || !bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		ww_CUresult error = access_check(&access[i]);
		if (error)
			return error;
	}
	uint64_t end = address + bytes;
	while (address < end) {
		const struct fake_range *range = fake_range_find_base(address);
		if (!range || range->kind != FAKE_RANGE_VMM || range->span.bytes > end - address)
			return WW_CUDA_ERROR_INVALID_VALUE;
		for (size_t i = 0; i < count; i++)
			if (access[i].flags && access[i].location.id != range->device &&
				!fake_device_reaches(access[i].location.id, &range->physical->uuid))
				return WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
		address += range->span.bytes;
	}
	return WW_CUDA_SUCCESS;
}

static int granted(int flags)
{
	bool is_read = flags == WW_CU_MEM_ACCESS_FLAGS_PROT_READ;

	return is_read && fake_lacks(FAKE_LACK_READ_ONLY) ? WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE
							  : flags;
}

FAKE_API cuMemSetAccess(ww_CUdeviceptr address, size_t bytes, const ww_CUmemAccessDesc *access,
	size_t count)
{
	FAKE_ENTER(cuMemSetAccess);
	ww_CUresult error = set_access_check(address, bytes, access, count);
	if (error)
		return error;
	for (uint64_t at = address; at < address + bytes;) {
		struct fake_range *range = fake_range_find_base(at);
		for (size_t i = 0; i < count; i++)
			range->access[access[i].location.id] = (uint8_t)granted(access[i].flags);
		at += range->span.bytes;
	}
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemGetAccess(unsigned long long *out_flags, const ww_CUmemLocation *location,
	ww_CUdeviceptr address)
{
	FAKE_ENTER(cuMemGetAccess);
	if (!out_flags || !location || location->type != WW_CU_MEM_LOCATION_TYPE_DEVICE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(location->id))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	const struct fake_range *range = fake_range_find(address);
	if (!range || range->kind != FAKE_RANGE_VMM)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_flags = range->access[location->id];
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemExportToShareableHandle(void *out_shareable, ww_CUmemGenericAllocationHandle id,
	ww_CUmemAllocationHandleType type, unsigned long long flags)
{
	FAKE_ENTER(cuMemExportToShareableHandle);
	const struct fake_handle *handle = handle_find(id);
	if (!out_shareable || !handle || flags ||
		type != WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
		!(handle->physical->handle_types & type))
		return WW_CUDA_ERROR_INVALID_VALUE;
	int fd;
	ww_CUresult error = fake_physical_export(handle->physical, &fd);
	if (!error)
		memcpy(out_shareable, &fd, sizeof(fd));
	return error;
}

FAKE_API cuMemImportFromShareableHandle(ww_CUmemGenericAllocationHandle *out_handle,
	void *shareable, ww_CUmemAllocationHandleType type)
{
	FAKE_ENTER(cuMemImportFromShareableHandle);
	if (!out_handle || type == WW_CU_MEM_HANDLE_TYPE_NONE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (type != WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fake_config()->no_fd)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	struct fake_physical *physical;
	ww_CUresult error = fake_physical_import(FAKE_KIND_VMM, (int)(intptr_t)shareable,
		&physical);
	if (error)
		return error;
	struct fake_handle *handle = handle_new(physical);
	if (!handle)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	*out_handle = handle->id;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemGetAllocationPropertiesFromHandle(ww_CUmemAllocationProp *out_prop,
	ww_CUmemGenericAllocationHandle id)
{
	FAKE_ENTER(cuMemGetAllocationPropertiesFromHandle);
	const struct fake_handle *handle = handle_find(id);
	if (!out_prop || !handle)
		return WW_CUDA_ERROR_INVALID_VALUE;
	memset(out_prop, 0, sizeof(*out_prop));
	out_prop->type = WW_CU_MEM_ALLOCATION_TYPE_PINNED;
	out_prop->requestedHandleTypes = handle->physical->handle_types;
	out_prop->location.type = WW_CU_MEM_LOCATION_TYPE_DEVICE;
	out_prop->location.id = handle->physical->device;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemRetainAllocationHandle(ww_CUmemGenericAllocationHandle *out_handle, void *address)
{
	FAKE_ENTER(cuMemRetainAllocationHandle);
	const struct fake_range *range = fake_range_find((uint64_t)(uintptr_t)address);
	if (!out_handle || !range || range->kind != FAKE_RANGE_VMM)
		return WW_CUDA_ERROR_INVALID_VALUE;
	range->handle->refs++;
	*out_handle = range->handle->id;
	return WW_CUDA_SUCCESS;
}
