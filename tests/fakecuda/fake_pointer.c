/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_pointer.c - what the driver tells about an address
 *
 * An address that is in no range has no attributes: INVALID_VALUE for one attribute, but success
 * and neutral answers when several are asked for at once. The answers for each kind of memory,
 * and how many bytes of the caller's variable each one fills, are those of driver 580.
 */
#include "fake.h"

#include <string.h>

static ww_CUresult put_int(void *data, int value)
{
	memcpy(data, &value, sizeof(value));
	return WW_CUDA_SUCCESS;
}

static ww_CUresult put_u64(void *data, uint64_t value)
{
	memcpy(data, &value, sizeof(value));
	return WW_CUDA_SUCCESS;
}

static bool is_host(const struct fake_range *range)
{
	return range->kind == FAKE_RANGE_HOST || range->kind == FAKE_RANGE_REGISTERED;
}

static bool has_context(const struct fake_range *range)
{
	return range->kind != FAKE_RANGE_VMM && range->kind != FAKE_RANGE_POOL;
}

static int access_flags(const struct fake_range *range)
{
	int device = fake_context_current_device();
	return device < 0 ? WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
			  : fake_range_access(range, device);
}

static ww_CUresult device_pointer(const struct fake_range *range, uint64_t address, void *data)
{
	if (fake_context_current_device() < 0)
		return WW_CUDA_ERROR_INVALID_CONTEXT;
	if (!access_flags(range))
		return WW_CUDA_ERROR_INVALID_VALUE;
	return put_u64(data, address);
}

static int handle_types(const struct fake_range *range)
{
	if (range->kind == FAKE_RANGE_POOL)
		return fake_pool_handle_types(range);
	return range->physical ? range->physical->handle_types : WW_CU_MEM_HANDLE_TYPE_NONE;
}

/*
 * Of what was opened by a handle, the opener's; of a pool that is on no GPU of this process, the
 * first. So driver 580.
 */
static int ordinal_of(const struct fake_range *range)
{
	if (range->kind == FAKE_RANGE_IPC)
		return range->context->device;
	return range->kind == FAKE_RANGE_POOL && range->device == FAKE_DEVICE_HIDDEN
		? 0
		: range->device;
}

/* The whole of which this is a part: a mapping's is its reservation. */
static const struct fake_span *whole_of(const struct fake_range *range)
{
	if (range->kind == FAKE_RANGE_VMM)
		return &fake_arena_find(range->span.address)->span;
	return &range->span;
}

static ww_CUresult get_word(const struct fake_range *range, ww_CUpointer_attribute attribute,
	uint64_t address, void *data)
{
	switch (attribute) {
	case WW_CU_POINTER_ATTRIBUTE_CONTEXT:
		return put_u64(data, has_context(range) ? (uint64_t)(uintptr_t)range->context : 0);
	case WW_CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return device_pointer(range, address, data);
	case WW_CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (range->physical)
			return WW_CUDA_ERROR_INVALID_VALUE;
		return put_u64(data, address);
	case WW_CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return put_u64(data, range->id);
	case WW_CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return put_u64(data, whole_of(range)->address);
	case WW_CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return put_u64(data, whole_of(range)->bytes);
	case WW_CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return put_u64(data, (uint64_t)handle_types(range));
	case WW_CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return put_u64(data, (uint64_t)(uintptr_t)fake_pool_handle(range));
	case WW_CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		return put_u64(data, range->span.bytes);
	case WW_CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return put_u64(data, range->span.address);
	case WW_CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return put_u64(data, range->physical ? range->physical->block_id : range->id);
	default:
		return WW_CUDA_ERROR_INVALID_VALUE;
	}
}

static ww_CUresult get(const struct fake_range *range, ww_CUpointer_attribute attribute,
	uint64_t address, void *data)
{
	switch (attribute) {
	case WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return put_int(data,
			is_host(range) ? WW_CU_MEMORYTYPE_HOST : WW_CU_MEMORYTYPE_DEVICE);
	case WW_CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case WW_CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return put_int(data, range->kind == FAKE_RANGE_MANAGED);
	case WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return put_int(data, ordinal_of(range));
	case WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case WW_CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return put_int(data, range->kind == FAKE_RANGE_ALLOC);
	case WW_CU_POINTER_ATTRIBUTE_MAPPED:
		return put_int(data, 1);
	case WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return put_int(data, access_flags(range));
	default:
		return get_word(range, attribute, address, data);
	}
}

FAKE_API cuPointerGetAttribute(void *out_value, ww_CUpointer_attribute attribute,
	ww_CUdeviceptr address)
{
	FAKE_ENTER(cuPointerGetAttribute);
	const struct fake_range *range = fake_range_find(address);
	if (!out_value || !range)
		return WW_CUDA_ERROR_INVALID_VALUE;
	return get(range, attribute, address, out_value);
}

/* What an attribute is for an address, or a kind of memory, that does not have it. */
static void put_neutral(ww_CUpointer_attribute attribute, void *data)
{
	switch (attribute) {
	case WW_CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put_int(data, WW_CU_DEVICE_INVALID);
		return;
	case WW_CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case WW_CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case WW_CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case WW_CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case WW_CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case WW_CU_POINTER_ATTRIBUTE_MAPPED:
	case WW_CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put_int(data, 0);
		return;
	default:
		put_u64(data, 0);
	}
}

FAKE_API cuPointerGetAttributes(unsigned int count, ww_CUpointer_attribute *attributes,
	void **out_values, ww_CUdeviceptr address)
{
	FAKE_ENTER(cuPointerGetAttributes);
	if (!count || !attributes || !out_values)
		return WW_CUDA_ERROR_INVALID_VALUE;
	const struct fake_range *range = fake_range_find(address);
	for (unsigned int i = 0; i < count; i++) {
		if (attributes[i] < WW_CU_POINTER_ATTRIBUTE_CONTEXT ||
			attributes[i] > WW_CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)
			return WW_CUDA_ERROR_INVALID_VALUE;
		if (!range || get(range, attributes[i], address, out_values[i]) != WW_CUDA_SUCCESS)
			put_neutral(attributes[i], out_values[i]);
	}
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemGetAddressRange_v2(ww_CUdeviceptr *out_base, size_t *out_bytes,
	ww_CUdeviceptr address)
{
	FAKE_ENTER_CONTEXT(cuMemGetAddressRange);
	const struct fake_range *range = fake_range_find(address);
	if (!range || !fake_range_access(range, context->device))
		return WW_CUDA_ERROR_NOT_FOUND;
	if (out_base)
		*out_base = range->span.address;
	if (out_bytes)
		*out_bytes = range->span.bytes;
	return WW_CUDA_SUCCESS;
}
