/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_memory.c - cuMemAlloc, managed memory, and freeing
 *
 * An allocation belongs to the context that was current and goes with it. Device memory is charged
 * to its GPU by whole pages; managed memory lives where the CPU can touch it and is not charged.
 *
 * cuMemFree first waits for everything that was enqueued in the process, in any stream. That is
 * what the driver does, and why freeing blocks while some stream waits for a value.
 */
#include "fake.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALLOC_ALIGNMENT 512

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
}

FAKE_API cuMemGetInfo_v2(size_t *out_free, size_t *out_total)
{
	FAKE_ENTER_CONTEXT(cuMemGetInfo);
	if (!out_free || !out_total)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_total = fake_config()->bytes;
	*out_free = fake_config()->bytes - fake_device_get(context->device)->used;
	return WW_CUDA_SUCCESS;
}

static ww_CUresult alloc(struct fake_context *context, uint64_t bytes, uint64_t *out_address)
{
	struct fake_physical *physical;
	ww_CUresult error = bytes > fake_config()->bytes
		? WW_CUDA_ERROR_OUT_OF_MEMORY
		: fake_physical_create(FAKE_KIND_LEGACY, context->device, page_up(bytes), 0,
			  &physical);
	if (error)
		return error;
	struct fake_place *place = fake_arena_take(bytes, ALLOC_ALIGNMENT, 0);
	struct fake_range *range = place
		? fake_range_create(FAKE_RANGE_ALLOC, place->span.address, bytes)
		: NULL;
	if (!range) {
		fake_arena_give(place);
		fake_physical_unref(physical);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->physical = physical;
	range->place = place;
	range->context = context;
	range->device = context->device;
	*out_address = range->span.address;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuMemAlloc_v2(ww_CUdeviceptr *out_address, size_t bytes)
{
	FAKE_ENTER_CONTEXT(cuMemAlloc);
	if (!out_address || !bytes)
		return WW_CUDA_ERROR_INVALID_VALUE;
	uint64_t address;
	error = alloc(context, bytes, &address);
	if (!error)
		*out_address = address;
	return error;
}

FAKE_API cuMemAllocManaged(ww_CUdeviceptr *out_address, size_t bytes, unsigned int flags)
{
	FAKE_ENTER_CONTEXT(cuMemAllocManaged);
	if (!out_address || !bytes ||
		(flags != WW_CU_MEM_ATTACH_GLOBAL && flags != WW_CU_MEM_ATTACH_HOST))
		return WW_CUDA_ERROR_INVALID_VALUE;
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (address == MAP_FAILED)
		return fake_error_from_errno(errno);
	struct fake_range *range = fake_range_create(FAKE_RANGE_MANAGED,
		(uint64_t)(uintptr_t)address, bytes);
	if (!range) {
		munmap(address, bytes);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	range->context = context;
	range->device = context->device;
	*out_address = range->span.address;
	return WW_CUDA_SUCCESS;
}

static bool is_freeable(const struct fake_range *range)
{
	return range && !range->free_pending &&
		(range->kind == FAKE_RANGE_ALLOC || range->kind == FAKE_RANGE_MANAGED ||
			range->kind == FAKE_RANGE_POOL);
}

/* Frees an allocation of any kind that has a free function of its own. */
void fake_memory_release(struct fake_range *range)
{
	void *cpu = range->physical ? NULL : (void *)(uintptr_t)range->span.address;
	uint64_t bytes = range->span.bytes;
	bool ours = range->kind == FAKE_RANGE_MANAGED || range->kind == FAKE_RANGE_HOST;

	if (range->kind == FAKE_RANGE_POOL) {
		fake_pool_release(range);
		return;
	}
	fake_range_destroy(range);
	if (ours)
		munmap(cpu, bytes);
}

FAKE_API cuMemFree_v2(ww_CUdeviceptr address)
{
	FAKE_ENTER(cuMemFree);
	if (!address)
		return WW_CUDA_SUCCESS;
	struct fake_range *range = fake_range_find_base(address);
	if (!is_freeable(range))
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (range->context && range->context->fault)
		return range->context->fault;
	fake_stream_finish_all();
	range = fake_range_find_base(address);
	if (!is_freeable(range))
		return WW_CUDA_ERROR_INVALID_VALUE;
	fake_memory_release(range);
	return WW_CUDA_SUCCESS;
}

void fake_memory_free_of(const struct fake_context *context)
{
	for (size_t i = 0; i < fake_ranges.count;) {
		struct fake_range *range = (struct fake_range *)fake_ranges.spans[i];
		if (range->context != context || range->freeing) {
			i++;
			continue;
		}
		/* It may wait, and the table may have changed after that. */
		fake_memory_release(range);
		i = 0;
	}
}
