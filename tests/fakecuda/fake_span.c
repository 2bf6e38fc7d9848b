/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_span.c - sorted spans of addresses, and the arena that device addresses come from
 *
 * The arena is one large piece of address space that nothing is ever mapped into: the CPU dies if
 * it touches it, as it does with a GPU's addresses. Handing out is first fit, so a size that was
 * just freed comes back at the same address, which is what GPUs do and what catches caches that are
 * keyed on addresses.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct fake_span arena;
static struct fake_span_table places;

/* The index of the first span that ends after 'address'. */
static size_t first_after(const struct fake_span_table *table, uint64_t address)
{
	size_t low = 0;
	size_t high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct fake_span *span = table->spans[middle];
		if (span->address + span->bytes > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct fake_span *fake_span_next(const struct fake_span_table *table, uint64_t address)
{
	size_t index = first_after(table, address);
	return index < table->count ? table->spans[index] : NULL;
}

struct fake_span *fake_span_find(const struct fake_span_table *table, uint64_t address)
{
	struct fake_span *span = fake_span_next(table, address);
	return span && span->address <= address ? span : NULL;
}

bool fake_span_insert(struct fake_span_table *table, struct fake_span *span)
{
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 64;
		struct fake_span **spans = realloc(table->spans, room * sizeof(*spans));
		if (!spans)
			return false;
		table->spans = spans;
		table->room = room;
	}
	size_t index = first_after(table, span->address);
	memmove(&table->spans[index + 1], &table->spans[index],
		(table->count - index) * sizeof(table->spans[0]));
	table->spans[index] = span;
	table->count++;
	return true;
}

void fake_span_remove(struct fake_span_table *table, const struct fake_span *span)
{
	size_t index = first_after(table, span->address);
	table->count--;
	memmove(&table->spans[index], &table->spans[index + 1],
		(table->count - index) * sizeof(table->spans[0]));
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) / alignment * alignment;
}

/* The lowest free and aligned address for 'bytes' inside 'within', or 0. */
uint64_t fake_span_gap(const struct fake_span_table *table, const struct fake_span *within,
	uint64_t bytes, uint64_t alignment)
{
	uint64_t end = within->address + within->bytes;
	uint64_t at = align_up(within->address, alignment);

	for (size_t i = first_after(table, at); i < table->count; i++) {
		const struct fake_span *span = table->spans[i];
		if (span->address >= at && span->address - at >= bytes)
			break;
		at = align_up(span->address + span->bytes, alignment);
	}
	return at < end && end - at >= bytes ? at : 0;
}

bool fake_arena_open(void)
{
	for (uint64_t bytes = (uint64_t)256 << 30; bytes >= (uint64_t)16 << 30; bytes /= 2) {
		void *address = mmap(NULL, bytes, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (address == MAP_FAILED)
			continue;
		arena.address = (uint64_t)(uintptr_t)address;
		arena.bytes = bytes;
		return true;
	}
	return false;
}

bool fake_arena_contains(uint64_t address)
{
	return address >= arena.address && address - arena.address < arena.bytes;
}

static uint64_t place_for(uint64_t bytes, uint64_t alignment, uint64_t hint)
{
	if (hint && fake_arena_contains(hint) && hint % alignment == 0) {
		struct fake_span wish = {.address = hint, .bytes = bytes};
		uint64_t end = arena.address + arena.bytes;
		if (bytes <= end - hint && fake_span_gap(&places, &wish, bytes, alignment) == hint)
			return hint;
	}
	return fake_span_gap(&places, &arena, bytes, alignment);
}

struct fake_place *fake_arena_take(uint64_t bytes, uint64_t alignment, uint64_t hint)
{
	if (bytes > arena.bytes)
		return NULL;
	uint64_t address = place_for(bytes, alignment, hint);
	struct fake_place *place = address ? calloc(1, sizeof(*place)) : NULL;
	if (!place)
		return NULL;
	place->span.address = address;
	place->span.bytes = bytes;
	if (!fake_span_insert(&places, &place->span)) {
		free(place);
		return NULL;
	}
	return place;
}

struct fake_place *fake_arena_find(uint64_t address)
{
	return (struct fake_place *)fake_span_find(&places, address);
}

void fake_arena_give(struct fake_place *place)
{
	if (!place)
		return;
	fake_span_remove(&places, &place->span);
	free(place);
}

uint64_t fake_arena_reservations(void)
{
	uint64_t count = 0;
	for (size_t i = 0; i < places.count; i++)
		count += ((const struct fake_place *)places.spans[i])->reservation;
	return count;
}
