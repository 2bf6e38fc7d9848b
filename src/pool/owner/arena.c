/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - which bytes of a pool's chunks are free, see arena.h
 *
 * A class is a range of sizes: the first 32 have one size each, then each power of two is divided
 * into 32. A row of classes has a word with a bit for each that has free blocks, the rows have one
 * word, so the next class that has any is found by two searches for a bit.
 *
 * A request takes a block of the first class in which all are large enough, so it need not look at
 * more than one. Only when there is none does it look at those that may be too small, or in the
 * wrong place for its alignment: that is rare and may take longer, but nothing is refused that a
 * free block could serve. (To look at blocks of a request's own class first was tried: it wastes no
 * less.)
 *
 * Blocks are described on the heap, for their bytes may be a GPU's. Descriptors come from slabs
 * that are kept until the end. Enough of them are made sure of before anything changes: a request
 * fails whole.
 */
#include "pool/owner/arena.h"

#include <stdlib.h>

#include "base/error.h"

#define UNIT         WW_POOL_ALIGNMENT
#define COLUMN_BITS  5
#define SLAB_BLOCKS  63
#define CUTS_AT_MOST 2 /* what is before an aligned block, what is behind it */

_Static_assert(WW_ARENA_COLUMNS == 1 << COLUMN_BITS, "a class's number is its row and its column");

struct ww_arena_slab {
	struct ww_arena_slab *next;
	struct ww_arena_block blocks[SLAB_BLOCKS];
};

/* What is asked for. */
struct request {
	uint64_t bytes;
	uint64_t alignment;
	uint64_t bytes_enough; /* in a block of so many it fits wherever that begins */
};

/* --- classes --- */

static int highest_bit(uint64_t word)
{
	return 63 - __builtin_clzll(word);
}

/* The class whose blocks have as many bytes as this, or somewhat more or less. */
static uint32_t class_of(uint64_t bytes)
{
	uint64_t units = bytes / UNIT;
	int shift;

	if (units < WW_ARENA_COLUMNS)
		return (uint32_t)units;
	shift = highest_bit(units) - COLUMN_BITS;
	return (uint32_t)(((uint64_t)shift << COLUMN_BITS) + (units >> shift));
}

/* The first class whose blocks all have as many bytes as this. */
static uint32_t class_from(uint64_t bytes)
{
	return class_of(bytes - UNIT) + 1;
}

static struct ww_list *list_of(struct ww_arena *arena, uint32_t class)
{
	return &arena->classes[class / WW_ARENA_COLUMNS][class % WW_ARENA_COLUMNS];
}

/* Return: the first class, from this one on, that has a free block; UINT32_MAX: none has. */
static uint32_t next_class(const struct ww_arena *arena, uint32_t class)
{
	uint32_t row = class / WW_ARENA_COLUMNS;
	uint32_t columns;
	uint64_t rows;

	if (row >= WW_ARENA_ROWS)
		return UINT32_MAX;
	columns = arena->columns[row] & (UINT32_MAX << class % WW_ARENA_COLUMNS);
	if (columns)
		return row * WW_ARENA_COLUMNS + (uint32_t)__builtin_ctz(columns);
	rows = arena->rows & (UINT64_MAX << row << 1);
	if (!rows)
		return UINT32_MAX;
	row = (uint32_t)__builtin_ctzll(rows);
	return row * WW_ARENA_COLUMNS + (uint32_t)__builtin_ctz(arena->columns[row]);
}

static struct ww_arena_block *block_of(struct ww_list *link)
{
	return ww_container(link, struct ww_arena_block, of_class);
}

static void push(struct ww_list *list, struct ww_list *link)
{
	ww_list_append(list->next, link); /* what was used last is in the cache */
}

static void file_free(struct ww_arena *arena, struct ww_arena_block *block)
{
	uint32_t class = class_of(block->bytes);
	uint32_t row = class / WW_ARENA_COLUMNS;

	block->is_free = true;
	push(list_of(arena, class), &block->of_class);
	arena->columns[row] |= UINT32_C(1) << class % WW_ARENA_COLUMNS;
	arena->rows |= UINT64_C(1) << row;
	arena->free_bytes += block->bytes;
}

static void unfile_free(struct ww_arena *arena, struct ww_arena_block *block)
{
	uint32_t class = class_of(block->bytes);
	uint32_t row = class / WW_ARENA_COLUMNS;

	block->is_free = false;
	ww_list_remove(&block->of_class);
	arena->free_bytes -= block->bytes;
	if (!ww_list_is_empty(list_of(arena, class)))
		return;
	arena->columns[row] &= ~(UINT32_C(1) << class % WW_ARENA_COLUMNS);
	if (!arena->columns[row])
		arena->rows &= ~(UINT64_C(1) << row);
}

/* --- descriptors --- */

static void put_spare(struct ww_arena *arena, struct ww_arena_block *block)
{
	push(&arena->spares, &block->of_class);
	arena->spare_count++;
}

/* One more after reserve_spares() is there. */
static struct ww_arena_block *take_spare(struct ww_arena *arena)
{
	ww_assert(arena->spare_count > 0);
	arena->spare_count--;
	return block_of(ww_list_take_first(&arena->spares));
}

static ww_status reserve_spares(struct ww_arena *arena, size_t count)
{
	struct ww_arena_slab *slab;

	if (arena->spare_count >= count)
		return WW_OK;
	slab = malloc(sizeof(*slab));
	if (!slab)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot describe a slice: out of memory");
	slab->next = arena->slabs;
	arena->slabs = slab;
	for (size_t i = SLAB_BLOCKS; i > 0; i--)
		put_spare(arena, &slab->blocks[i - 1]);
	return WW_OK;
}

/* --- blocks --- */

/* Cuts all but the first @bytes off. Return: what was cut off; neither is filed. */
static struct ww_arena_block *cut(struct ww_arena *arena, struct ww_arena_block *block,
	uint64_t bytes)
{
	struct ww_arena_block *rest = take_spare(arena);

	rest->before = block;
	rest->after = block->after;
	if (rest->after)
		rest->after->before = rest;
	block->after = rest;
	rest->chunk = block->chunk;
	rest->offset = block->offset + bytes;
	rest->bytes = block->bytes - bytes;
	rest->is_free = false;
	block->bytes = bytes;
	return rest;
}

/* Adds the block behind it, neither of them filed. */
static void join_after(struct ww_arena *arena, struct ww_arena_block *block)
{
	struct ww_arena_block *rest = block->after;

	block->bytes += rest->bytes;
	block->after = rest->after;
	if (block->after)
		block->after->before = block;
	put_spare(arena, rest);
}

/* Bytes before the first place in the block that is aligned. */
static uint64_t bytes_before(const struct ww_arena_block *block, uint64_t alignment)
{
	return -block->offset & (alignment - 1);
}

static bool fits(const struct ww_arena_block *block, const struct request *request)
{
	uint64_t before = bytes_before(block, request->alignment);

	return before <= block->bytes && request->bytes <= block->bytes - before;
}

/* Return: the first block of the class that fits; NULL: none does. */
static struct ww_arena_block *find_in_class(struct ww_arena *arena, uint32_t class,
	const struct request *request)
{
	ww_list_for_each (link, list_of(arena, class)) {
		if (fits(block_of(link), request))
			return block_of(link);
	}
	return NULL;
}

/* Looks at every block that may fit though not all of its class do. */
static struct ww_arena_block *find_anywhere(struct ww_arena *arena, const struct request *request)
{
	uint32_t last = class_from(request->bytes_enough);
	uint32_t class = next_class(arena, class_of(request->bytes));

	for (; class < last; class = next_class(arena, class + 1)) {
		struct ww_arena_block *block = find_in_class(arena, class, request);

		if (block)
			return block;
	}
	return NULL;
}

static struct ww_arena_block *find(struct ww_arena *arena, const struct request *request)
{
	uint32_t class = next_class(arena, class_from(request->bytes_enough));

	if (class != UINT32_MAX)
		return block_of(list_of(arena, class)->next);
	return find_anywhere(arena, request);
}

/* --- what the pool calls --- */

void ww_arena_init(struct ww_arena *arena)
{
	*arena = (struct ww_arena){0};
	ww_list_init(&arena->spares);
	for (uint32_t class = 0; class < WW_ARENA_ROWS * WW_ARENA_COLUMNS; class ++)
		ww_list_init(list_of(arena, class));
}

void ww_arena_fini(struct ww_arena *arena)
{
	ww_assert(arena->free_bytes == 0);
	while (arena->slabs) {
		struct ww_arena_slab *slab = arena->slabs;

		arena->slabs = slab->next;
		free(slab);
	}
}

ww_status ww_arena_add(struct ww_arena *arena, void *chunk, uint64_t bytes,
	struct ww_arena_block **out_first)
{
	struct ww_arena_block *block;

	*out_first = NULL;
	ww_assert(bytes > 0 && bytes % UNIT == 0);
	ww_try(reserve_spares(arena, 1));
	block = take_spare(arena);
	*block = (struct ww_arena_block){.chunk = chunk, .bytes = bytes};
	file_free(arena, block);
	*out_first = block;
	return WW_OK;
}

void ww_arena_remove(struct ww_arena *arena, struct ww_arena_block *first)
{
	ww_assert(first->is_free && ww_arena_is_chunk(first));
	unfile_free(arena, first);
	put_spare(arena, first);
}

ww_status ww_arena_take(struct ww_arena *arena, uint64_t bytes, uint64_t alignment,
	struct ww_arena_block **out_block)
{
	struct request request = {.bytes = bytes, .alignment = alignment};
	struct ww_arena_block *block;
	uint64_t before;

	*out_block = NULL;
	ww_assert(bytes > 0 && bytes % UNIT == 0);
	if (__builtin_add_overflow(bytes, alignment - UNIT, &request.bytes_enough))
		return WW_NOT_READY;
	ww_try(reserve_spares(arena, CUTS_AT_MOST));
	block = find(arena, &request);
	if (!block)
		return WW_NOT_READY;
	unfile_free(arena, block);
	before = bytes_before(block, alignment);
	if (before) {
		struct ww_arena_block *front = block;

		block = cut(arena, front, before);
		file_free(arena, front);
	}
	if (block->bytes > bytes)
		file_free(arena, cut(arena, block, bytes));
	*out_block = block;
	return WW_OK;
}

struct ww_arena_block *ww_arena_give(struct ww_arena *arena, struct ww_arena_block *block)
{
	ww_assert(!block->is_free);
	if (block->after && block->after->is_free) {
		unfile_free(arena, block->after);
		join_after(arena, block);
	}
	if (block->before && block->before->is_free) {
		block = block->before;
		unfile_free(arena, block);
		join_after(arena, block);
	}
	file_free(arena, block);
	return block;
}

bool ww_arena_is_chunk(const struct ww_arena_block *block)
{
	return !block->before && !block->after;
}

uint64_t ww_arena_free_bytes(const struct ww_arena *arena)
{
	return arena->free_bytes;
}

uint64_t ww_arena_largest(const struct ww_arena *arena)
{
	uint64_t largest = 0;
	uint32_t row;
	uint32_t column;

	if (!arena->rows)
		return 0;
	row = (uint32_t)highest_bit(arena->rows);
	column = (uint32_t)highest_bit(arena->columns[row]);
	ww_list_for_each (link, (struct ww_list *)&arena->classes[row][column]) {
		uint64_t bytes = block_of(link)->bytes;

		largest = bytes > largest ? bytes : largest;
	}
	return largest;
}
