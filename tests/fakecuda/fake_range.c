/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_range.c - the map from addresses to memory
 *
 * Every address that the driver knows lies in one range: a VMM mapping, an allocation, registered
 * host memory, and so on. An address in the arena but in no range is an error wherever it is used.
 * An address outside of both is plain memory of the CPU and nobody's business.
 *
 * Copies look at this map twice: when they are enqueued, to refuse what cannot work, and when they
 * run, because the map may have changed since. Then they borrow a run of bytes and the range stays
 * where it is until they give it back.
 */
#include "fake.h"

#include <stdlib.h>

struct fake_span_table fake_ranges;

static uint64_t counts[FAKE_RANGE_KINDS];
static uint64_t last_id;

struct fake_range *fake_range_create(enum fake_range_kind kind, uint64_t address, uint64_t bytes)
{
	struct fake_range *range = calloc(1, sizeof(*range));
	if (!range)
		return NULL;
	range->span.address = address;
	range->span.bytes = bytes;
	range->kind = kind;
	range->id = ++last_id;
	if (!fake_span_insert(&fake_ranges, &range->span)) {
		free(range);
		return NULL;
	}
	counts[kind]++;
	return range;
}

/* Gives back what the range owns; the memory's other owners are untouched. */
void fake_range_destroy(struct fake_range *range)
{
	range->freeing = true;
	while (range->pins)
		fake_wait();
	fake_span_remove(&fake_ranges, &range->span);
	counts[range->kind]--;
	fake_arena_give(range->place);
	fake_physical_unref(range->physical);
	free(range);
	fake_wake();
}

struct fake_range *fake_range_find(uint64_t address)
{
	struct fake_range *range = (struct fake_range *)fake_span_find(&fake_ranges, address);
	return range && !range->freeing ? range : NULL;
}

struct fake_range *fake_range_find_base(uint64_t address)
{
	struct fake_range *range = fake_range_find(address);
	return range && range->span.address == address ? range : NULL;
}

uint64_t fake_range_count(enum fake_range_kind kind)
{
	return counts[kind];
}

/* The driver's access bits that a device has. */
int fake_range_access(const struct fake_range *range, int device)
{
	switch (range->kind) {
	case FAKE_RANGE_VMM:
	case FAKE_RANGE_POOL:
		return range->access[device];
	case FAKE_RANGE_REGISTERED:
		return range->read_only ? FAKE_NEED_READ : FAKE_NEED_WRITE;
	default:
		return FAKE_NEED_WRITE;
	}
}

void *fake_range_cpu(const struct fake_range *range, uint64_t address)
{
	if (!range->physical)
		return (void *)(uintptr_t)address;
	return range->physical->shadow + range->offset + (address - range->span.address);
}

static enum fake_memory memory_of(const struct fake_range *range)
{
	bool host = range->kind == FAKE_RANGE_HOST || range->kind == FAKE_RANGE_REGISTERED;
	return host ? FAKE_MEMORY_PINNED : FAKE_MEMORY_DEVICE;
}

/* Mappings that follow each other are one piece of memory for a copy; allocations are not. */
static struct fake_range *range_after(const struct fake_range *range)
{
	struct fake_range *next = fake_range_find(range->span.address + range->span.bytes);
	if (!next || range->kind != FAKE_RANGE_VMM || next->kind != FAKE_RANGE_VMM)
		return NULL;
	return next;
}

/*
 * Whether 'bytes' from 'address' on can be used by a device as needed. Plain memory always can.
 */
ww_CUresult fake_range_check(uint64_t address, uint64_t bytes, int device, enum fake_need need,
	enum fake_memory *out_memory)
{
	const struct fake_range *range = fake_range_find(address);

	*out_memory = FAKE_MEMORY_PLAIN;
	if (!range)
		return fake_arena_contains(address) ? WW_CUDA_ERROR_INVALID_VALUE : WW_CUDA_SUCCESS;
	*out_memory = memory_of(range);
	for (;;) {
		if ((fake_range_access(range, device) & (int)need) != (int)need)
			return WW_CUDA_ERROR_INVALID_VALUE;
		uint64_t rest = range->span.address + range->span.bytes - address;
		if (bytes <= rest)
			return WW_CUDA_SUCCESS;
		bytes -= rest;
		address += rest;
		range = range_after(range);
		if (!range)
			return WW_CUDA_ERROR_INVALID_VALUE;
	}
}

bool fake_range_lend(uint64_t address, uint64_t bytes, int device, enum fake_need need,
	struct fake_loan *out_loan)
{
	struct fake_range *range = fake_range_find(address);

	out_loan->range = range;
	out_loan->bytes = bytes;
	out_loan->cpu = (void *)(uintptr_t)address;
	if (!range)
		return !fake_arena_contains(address);
	if ((fake_range_access(range, device) & (int)need) != (int)need)
		return false;
	uint64_t rest = range->span.address + range->span.bytes - address;
	if (out_loan->bytes > rest)
		out_loan->bytes = rest;
	out_loan->cpu = fake_range_cpu(range, address);
	range->pins++;
	return true;
}

void fake_range_give_back(struct fake_loan *loan)
{
	if (loan->range && --loan->range->pins == 0)
		fake_wake();
	loan->range = NULL;
}
