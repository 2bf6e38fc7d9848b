/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_pool.c - memory pools and stream-ordered allocation
 *
 * A pool is one piece of memory as large as its device, and allocations are cut from it first fit.
 * An allocation has its address at once; freeing it is an operation of the stream. Its pages go
 * back to the device when it is freed, so the release threshold is kept but changes nothing.
 *
 * A pool that allows it is exported as a descriptor. An importer maps the whole pool and reaches an
 * allocation by the 64 bytes that the exporter made of its address; it cannot allocate from it.
 * Imported again, by whatever descriptor, it is the same pool, to be destroyed once more, and not
 * while an allocation of it is open; an allocation imported again is at the same address, and freed
 * once for all. So driver 580 does. A pool of this process that was destroyed lives on until its
 * last allocation is freed.
 */
#include "fake.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char pointer_magic[8] = "fakepool";

struct pointer_data {
	char magic[8];
	int32_t maker_pid;
	uint32_t zero;
	uint64_t serial;
	uint64_t offset;
	uint64_t bytes;
	uint64_t zeros[3];
};
static_assert(sizeof(struct pointer_data) == sizeof(ww_CUmemPoolPtrExportData), "64 bytes");

struct fake_pool {
	struct fake_pool *next;
	uint32_t refs;  /* the handle, and every allocation */
	uint32_t opens; /* imported: how often */
	bool is_default;
	bool destroyed;
	bool exported; /* before that none of its allocations can be, as on driver 580 */
	int handle_types;
	struct fake_physical *physical;
	struct fake_place *place;
	int reuse[3];
	uint64_t threshold;
	uint64_t reserved;
	uint64_t reserved_high;
	uint64_t used;
	uint64_t used_high;
	uint8_t access[FAKECUDA_DEVICES_MAX];
};

static struct fake_pool *pools;

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
}

/* Consumes the reference to @physical, also on failure. */
static ww_CUresult pool_new(struct fake_physical *physical, int handle_types,
	struct fake_pool **out_pool)
{
	struct fake_pool *pool = calloc(1, sizeof(*pool));
	struct fake_place *place = pool ? fake_arena_take(physical->bytes, FAKE_GRANULARITY, 0)
					: NULL;
	if (!place) {
		free(pool);
		fake_physical_unref(physical);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	pool->refs = 1;
	pool->opens = 1;
	pool->handle_types = handle_types;
	pool->physical = physical;
	pool->place = place;
	for (int i = 0; i < 3; i++)
		pool->reuse[i] = 1;
	if (physical->device >= 0)
		pool->access[physical->device] = FAKE_NEED_WRITE;
	pool->next = pools;
	pools = pool;
	*out_pool = pool;
	return WW_CUDA_SUCCESS;
}

static void pool_unref(struct fake_pool *pool)
{
	if (--pool->refs > 0)
		return;
	struct fake_pool **at = &pools;
	while (*at != pool)
		at = &(*at)->next;
	*at = pool->next;
	fake_arena_give(pool->place);
	fake_physical_unref(pool->physical);
	free(pool);
}

static struct fake_pool *pool_find(ww_CUmemoryPool handle)
{
	for (struct fake_pool *pool = pools; pool; pool = pool->next)
		if ((ww_CUmemoryPool)pool == handle && !pool->destroyed)
			return pool;
	return NULL;
}

uint64_t fake_pool_count(void)
{
	uint64_t count = 0;
	for (const struct fake_pool *pool = pools; pool; pool = pool->next)
		count += !pool->is_default && !pool->destroyed;
	return count;
}

/* The devices' own pools: made when first asked for, and there to stay. */
uint64_t fake_pool_default_count(void)
{
	uint64_t count = 0;
	for (const struct fake_pool *pool = pools; pool; pool = pool->next)
		count += pool->is_default;
	return count;
}

void *fake_pool_handle(const struct fake_range *range)
{
	return range->kind == FAKE_RANGE_POOL ? range->pool : NULL;
}

int fake_pool_handle_types(const struct fake_range *range)
{
	return range->pool->handle_types;
}

static ww_CUresult pool_create(int device, int handle_types, uint64_t bytes,
	struct fake_pool **out_pool)
{
	struct fake_physical *physical;
	ww_CUresult error = fake_physical_create(FAKE_KIND_POOL, device, bytes, handle_types,
		&physical);
	return error ? error : pool_new(physical, handle_types, out_pool);
}

static ww_CUresult props_check(const ww_CUmemPoolProps *props)
{
	const ww_CUmemLocation *location = &props->location;
	if (props->allocType != WW_CU_MEM_ALLOCATION_TYPE_PINNED ||
		props->handleTypes & ~WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
		location->type != WW_CU_MEM_LOCATION_TYPE_DEVICE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(location->id))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	return props->handleTypes && fake_config()->no_fd ? WW_CUDA_ERROR_NOT_SUPPORTED
							  : WW_CUDA_SUCCESS;
}

FAKE_API cuMemPoolCreate(ww_CUmemoryPool *out_pool, const ww_CUmemPoolProps *props)
{
	FAKE_ENTER(cuMemPoolCreate);
	if (!out_pool || !props)
		return WW_CUDA_ERROR_INVALID_VALUE;
	ww_CUresult error = props_check(props);
	if (error)
		return error;
	uint64_t bytes = fake_config()->bytes;
	if (props->maxSize && props->maxSize < bytes)
		bytes = page_up(props->maxSize);
	struct fake_pool *pool;
	error = pool_create(props->location.id, props->handleTypes, bytes, &pool);
	if (!error)
		*out_pool = (ww_CUmemoryPool)pool;
	return error;
}

/* What a stream is to free is not. */
static bool is_in_use(const struct fake_pool *pool)
{
	for (size_t i = 0; i < fake_ranges.count; i++) {
		const struct fake_range *range = (struct fake_range *)fake_ranges.spans[i];
		if (range->kind == FAKE_RANGE_POOL && range->pool == pool && !range->free_pending)
			return true;
	}
	return false;
}

FAKE_API cuMemPoolDestroy(ww_CUmemoryPool handle)
{
	FAKE_ENTER(cuMemPoolDestroy);
	struct fake_pool *pool = pool_find(handle);
	if (!pool || pool->is_default || (pool->physical->imported && is_in_use(pool)))
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (--pool->opens > 0)
		return WW_CUDA_SUCCESS;
	pool->destroyed = true;
	pool_unref(pool);
	return WW_CUDA_SUCCESS;
}

static ww_CUresult default_pool(int device, struct fake_pool **out_pool)
{
	struct fake_device *owner = fake_device_get(device);
	if (!owner)
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (!owner->pool) {
		ww_CUresult error = pool_create(device, WW_CU_MEM_HANDLE_TYPE_NONE,
			fake_config()->bytes, &owner->pool);
		if (error)
			return error;
		owner->pool->is_default = true;
	}
	*out_pool = owner->pool;
	return WW_CUDA_SUCCESS;
}

static ww_CUresult device_pool(ww_CUmemoryPool *out_pool, ww_CUdevice device)
{
	struct fake_pool *pool;
	ww_CUresult error = out_pool ? default_pool(device, &pool) : WW_CUDA_ERROR_INVALID_VALUE;
	if (!error)
		*out_pool = (ww_CUmemoryPool)pool;
	return error;
}

FAKE_API cuDeviceGetDefaultMemPool(ww_CUmemoryPool *out_pool, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetDefaultMemPool);
	return device_pool(out_pool, device);
}

FAKE_API cuDeviceGetMemPool(ww_CUmemoryPool *out_pool, ww_CUdevice device)
{
	FAKE_ENTER(cuDeviceGetMemPool);
	return device_pool(out_pool, device);
}

static struct fake_range *range_in_pool(struct fake_pool *pool, uint64_t address, uint64_t bytes)
{
	struct fake_range *range = fake_range_create(FAKE_RANGE_POOL, address, bytes);
	if (!range)
		return NULL;
	range->physical = fake_physical_ref(pool->physical);
	range->offset = address - pool->place->span.address;
	range->pool = pool;
	range->device = pool->physical->device;
	memcpy(range->access, pool->access, sizeof(range->access));
	pool->refs++;
	pool->used += bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	return range;
}

static ww_CUresult alloc(struct fake_pool *pool, uint64_t bytes, ww_CUdeviceptr *out_address)
{
	uint64_t pages = page_up(bytes);
	int device = pool->physical->device;

	*out_address = 0;
	if (!bytes)
		return WW_CUDA_SUCCESS;
	if (pages < bytes || !fake_device_charge(device, pages))
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t address = fake_span_gap(&fake_ranges, &pool->place->span, pages, FAKE_PAGE);
	if (!address || !range_in_pool(pool, address, bytes)) {
		fake_device_discharge(device, pages);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	pool->reserved += pages;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	*out_address = address;
	return WW_CUDA_SUCCESS;
}

/* Gives an allocation back to its pool; an imported one is only unmapped. */
void fake_pool_release(struct fake_range *range)
{
	struct fake_pool *pool = range->pool;
	uint64_t offset = range->offset;
	uint64_t bytes = range->span.bytes;

	fake_range_destroy(range);
	pool->used -= bytes;
	if (!pool->physical->imported) {
		fallocate(pool->physical->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)offset, (off_t)page_up(bytes));
		fake_device_discharge(pool->physical->device, page_up(bytes));
		pool->reserved -= page_up(bytes);
	}
	pool_unref(pool);
}

FAKE_API cuMemAllocAsync(ww_CUdeviceptr *out_address, size_t bytes, ww_CUstream handle)
{
	FAKE_ENTER(cuMemAllocAsync);
	struct fake_stream *stream;
	struct fake_pool *pool;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error)
		return error;
	if (!out_address)
		return WW_CUDA_ERROR_INVALID_VALUE;
	error = default_pool(stream->context->device, &pool);
	return error ? error : alloc(pool, bytes, out_address);
}

FAKE_API cuMemAllocFromPoolAsync(ww_CUdeviceptr *out_address, size_t bytes,
	ww_CUmemoryPool pool_handle, ww_CUstream handle)
{
	FAKE_ENTER_STREAM(cuMemAllocFromPoolAsync, handle);
	struct fake_pool *pool = pool_find(pool_handle);
	if (!out_address || !pool || pool->physical->imported)
		return WW_CUDA_ERROR_INVALID_VALUE;
	return alloc(pool, bytes, out_address);
}

/* The allocation may have gone with its context in the meantime. */
static void free_run(struct fake_stream *stream, struct fake_op *op)
{
	struct fake_range *range = fake_range_find_base(op->to);
	(void)stream;
	if (range && range->id == op->value)
		fake_memory_release(range);
}

FAKE_API cuMemFreeAsync(ww_CUdeviceptr address, ww_CUstream handle)
{
	FAKE_ENTER(cuMemFreeAsync);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (error || !address)
		return error;
	struct fake_range *range = fake_range_find_base(address);
	if (!range || range->free_pending ||
		(range->kind != FAKE_RANGE_POOL && range->kind != FAKE_RANGE_ALLOC))
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = free_run;
	op->even_broken = true;
	op->to = address;
	op->value = range->id;
	error = fake_stream_push(stream, op);
	range->free_pending = !error;
	return error;
}

static uint64_t *word_of(struct fake_pool *pool, ww_CUmemPool_attribute attribute)
{
	switch (attribute) {
	case WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &pool->threshold;
	case WW_CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &pool->reserved;
	case WW_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &pool->reserved_high;
	case WW_CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &pool->used;
	case WW_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &pool->used_high;
	default:
		return NULL;
	}
}

static int *switch_of(struct fake_pool *pool, ww_CUmemPool_attribute attribute)
{
	int index = attribute - WW_CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
	return index >= 0 && index < 3 ? &pool->reuse[index] : NULL;
}

FAKE_API cuMemPoolGetAttribute(ww_CUmemoryPool handle, ww_CUmemPool_attribute attribute,
	void *out_value)
{
	FAKE_ENTER(cuMemPoolGetAttribute);
	struct fake_pool *pool = pool_find(handle);
	if (!pool || !out_value)
		return WW_CUDA_ERROR_INVALID_VALUE;
	const int *on = switch_of(pool, attribute);
	const uint64_t *word = word_of(pool, attribute);
	if (on)
		memcpy(out_value, on, sizeof(*on));
	else if (word)
		memcpy(out_value, word, sizeof(*word));
	return on || word ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_INVALID_VALUE;
}

/* A high-water mark can only be set to zero, which means: to what it is now. */
static ww_CUresult set_word(struct fake_pool *pool, ww_CUmemPool_attribute attribute,
	const void *value)
{
	uint64_t number;
	memcpy(&number, value, sizeof(number));
	switch (attribute) {
	case WW_CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->threshold = number;
		return WW_CUDA_SUCCESS;
	case WW_CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		pool->reserved_high = number ? pool->reserved_high : pool->reserved;
		return number ? WW_CUDA_ERROR_INVALID_VALUE : WW_CUDA_SUCCESS;
	case WW_CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		pool->used_high = number ? pool->used_high : pool->used;
		return number ? WW_CUDA_ERROR_INVALID_VALUE : WW_CUDA_SUCCESS;
	default:
		return WW_CUDA_ERROR_INVALID_VALUE;
	}
}

FAKE_API cuMemPoolSetAttribute(ww_CUmemoryPool handle, ww_CUmemPool_attribute attribute,
	void *value)
{
	FAKE_ENTER(cuMemPoolSetAttribute);
	struct fake_pool *pool = pool_find(handle);
	if (!pool || !value)
		return WW_CUDA_ERROR_INVALID_VALUE;
	int *on = switch_of(pool, attribute);
	if (!on)
		return set_word(pool, attribute, value);
	memcpy(on, value, sizeof(*on));
	return WW_CUDA_SUCCESS;
}

static ww_CUresult access_check(const struct fake_pool *pool, const ww_CUmemAccessDesc *access)
{
	int device = access->location.id;
	if (access->location.type != WW_CU_MEM_LOCATION_TYPE_DEVICE ||
		access->flags & ~WW_CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!fake_device_get(device))
		return WW_CUDA_ERROR_INVALID_DEVICE;
	if (device == pool->physical->device)
		return access->flags ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_INVALID_DEVICE;
	return access->flags && !fake_device_reaches(device, &pool->physical->uuid)
		? WW_CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
		: WW_CUDA_SUCCESS;
}

FAKE_API cuMemPoolSetAccess(ww_CUmemoryPool handle, const ww_CUmemAccessDesc *access, size_t count)
{
	FAKE_ENTER(cuMemPoolSetAccess);
	struct fake_pool *pool = pool_find(handle);
	if (!pool || !access || !count)
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		ww_CUresult error = access_check(pool, &access[i]);
		if (error)
			return error;
	}
	for (size_t i = 0; i < count; i++)
		pool->access[access[i].location.id] = (uint8_t)access[i].flags;
	for (size_t i = 0; i < fake_ranges.count; i++) {
		struct fake_range *range = (struct fake_range *)fake_ranges.spans[i];
		if (range->kind == FAKE_RANGE_POOL && range->pool == pool)
			memcpy(range->access, pool->access, sizeof(range->access));
	}
	return WW_CUDA_SUCCESS;
}

/* Nothing is ever held back, so there is nothing to trim. */
FAKE_API cuMemPoolTrimTo(ww_CUmemoryPool handle, size_t bytes_to_keep)
{
	FAKE_ENTER(cuMemPoolTrimTo);
	(void)bytes_to_keep;
	return pool_find(handle) ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_INVALID_VALUE;
}

FAKE_API cuMemPoolExportToShareableHandle(void *out_shareable, ww_CUmemoryPool handle,
	ww_CUmemAllocationHandleType type, unsigned long long flags)
{
	FAKE_ENTER(cuMemPoolExportToShareableHandle);
	struct fake_pool *pool = pool_find(handle);
	if (!out_shareable || !pool || flags ||
		type != WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !(pool->handle_types & type))
		return WW_CUDA_ERROR_INVALID_VALUE;
	int fd;
	ww_CUresult error = fake_physical_export(pool->physical, &fd);
	if (!error) {
		memcpy(out_shareable, &fd, sizeof(fd));
		pool->exported = true;
	}
	return error;
}

static struct fake_pool *find_imported(const struct fake_physical *physical)
{
	for (struct fake_pool *pool = pools; pool; pool = pool->next) {
		const struct fake_physical *known = pool->physical;
		if (!pool->destroyed && known->imported && known->serial == physical->serial &&
			known->maker_pid == physical->maker_pid &&
			!memcmp(&known->uuid, &physical->uuid, sizeof(known->uuid)))
			return pool;
	}
	return NULL;
}

FAKE_API cuMemPoolImportFromShareableHandle(ww_CUmemoryPool *out_pool, void *shareable,
	ww_CUmemAllocationHandleType type, unsigned long long flags)
{
	FAKE_ENTER(cuMemPoolImportFromShareableHandle);
	if (!out_pool || flags || type == WW_CU_MEM_HANDLE_TYPE_NONE)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (type != WW_CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fake_config()->no_fd)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	struct fake_physical *physical;
	struct fake_pool *pool;
	ww_CUresult error = fake_physical_import(FAKE_KIND_POOL, (int)(intptr_t)shareable,
		&physical);
	if (error)
		return error;
	pool = find_imported(physical);
	if (pool) {
		fake_physical_unref(physical);
		pool->opens++;
	} else {
		error = pool_new(physical, WW_CU_MEM_HANDLE_TYPE_NONE, &pool);
	}
	if (!error)
		*out_pool = (ww_CUmemoryPool)pool;
	return error;
}

FAKE_API cuMemPoolExportPointer(ww_CUmemPoolPtrExportData *out_data, ww_CUdeviceptr address)
{
	FAKE_ENTER(cuMemPoolExportPointer);
	const struct fake_range *range = fake_range_find(address);
	if (!out_data || !range || range->kind != FAKE_RANGE_POOL || !range->pool->exported)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct pointer_data data = {
		.maker_pid = range->physical->maker_pid,
		.serial = range->physical->serial,
		.offset = range->offset,
		.bytes = range->span.bytes,
	};
	memcpy(data.magic, pointer_magic, sizeof(data.magic));
	/* As the real driver, which leaves the rest as it was. */
	memcpy(out_data, &data, offsetof(struct pointer_data, zeros));
	return WW_CUDA_SUCCESS;
}

static bool is_from_pool(const struct pointer_data *data, const struct fake_pool *pool)
{
	const struct fake_physical *physical = pool->physical;
	return !memcmp(data->magic, pointer_magic, sizeof(data->magic)) && !data->zeros[0] &&
		!data->zeros[1] && !data->zeros[2] && data->serial == physical->serial &&
		data->maker_pid == physical->maker_pid && data->bytes &&
		data->bytes <= physical->bytes && data->offset <= physical->bytes - data->bytes &&
		data->offset % FAKE_PAGE == 0;
}

FAKE_API cuMemPoolImportPointer(ww_CUdeviceptr *out_address, ww_CUmemoryPool handle,
	ww_CUmemPoolPtrExportData *bytes)
{
	FAKE_ENTER(cuMemPoolImportPointer);
	struct fake_pool *pool = pool_find(handle);
	if (!out_address || !bytes || !pool || !pool->physical->imported)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct pointer_data data;
	memcpy(&data, bytes, sizeof(data));
	if (!is_from_pool(&data, pool))
		return WW_CUDA_ERROR_INVALID_VALUE;
	uint64_t address = pool->place->span.address + data.offset;
	const struct fake_range *open = fake_range_find_base(address);
	if (open && open->span.bytes == data.bytes && !open->free_pending) {
		*out_address = address;
		return WW_CUDA_SUCCESS;
	}
	const struct fake_span *next = fake_span_next(&fake_ranges, address);
	if (next && next->address < address + data.bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!range_in_pool(pool, address, data.bytes))
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	*out_address = address;
	return WW_CUDA_SUCCESS;
}
