/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - which bytes of a pool's chunks are free
 *
 * An arena divides chunks into blocks, free and used ones, without ever touching their bytes, which
 * may be a GPU's. It keeps free blocks in classes by their size, with a bit for each class that is
 * not empty, cuts off what is too much, and joins free neighbours when a block is given back.
 * Taking and giving cost the same however many blocks there are, but for a request that hardly
 * anything fits, which looks at all that may. While there is a free block of as many bytes as it
 * says to be the largest, a request of so many, of the least alignment, succeeds.
 *
 * Sizes and offsets are multiples of WW_POOL_ALIGNMENT. Not thread-safe: the pool's lock guards it.
 */
#ifndef WW_POOL_OWNER_ARENA_H
#define WW_POOL_OWNER_ARENA_H

#include <stdbool.h>

#include <warpway/pool.h>

#include "base/list.h"

#define WW_ARENA_COLUMNS 32 /* classes between a power of two and the next */
#define WW_ARENA_ROWS    52 /* enough for any uint64_t of bytes */

struct ww_arena_block {
	struct ww_list of_class;       /* of a free one: in its class's list */
	struct ww_arena_block *before; /* neighbours in the chunk; NULL: none */
	struct ww_arena_block *after;
	void *chunk; /* the pool's own name for it */
	uint64_t offset;
	uint64_t bytes;
	bool is_free;
};

struct ww_arena_slab;

/*
 * struct ww_arena - free blocks, by class
 * @rows:         a bit for each row that has a free block
 * @columns:      of each row: a bit for each class that has one
 * @classes:      their blocks, lately freed ones first
 * @spares:       descriptors that describe nothing
 * @spare_count:  of these
 * @slabs:        where all descriptors are
 * @free_bytes:   of all free blocks
 */
struct ww_arena {
	uint64_t rows;
	uint32_t columns[WW_ARENA_ROWS];
	struct ww_list classes[WW_ARENA_ROWS][WW_ARENA_COLUMNS];
	struct ww_list spares;
	size_t spare_count;
	struct ww_arena_slab *slabs;
	uint64_t free_bytes;
};

void ww_arena_init(struct ww_arena *arena);
void ww_arena_fini(struct ww_arena *arena); /* every chunk must have been removed */

/*
 * @bytes:  > 0, a multiple of WW_POOL_ALIGNMENT, as is every size here
 * @chunk:  what blocks of it say
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_arena_add(struct ww_arena *arena, void *chunk, uint64_t bytes,
	struct ww_arena_block **out_first);

/* @first: of a chunk without used blocks: the one block that it then has. */
void ww_arena_remove(struct ww_arena *arena, struct ww_arena_block *first);

/*
 * @alignment:  a power of two, >= WW_POOL_ALIGNMENT
 * @out_block:  used from now on
 * Return: WW_OK; WW_NOT_READY (no free block is large enough; nothing recorded); WW_ERR_NO_MEMORY.
 */
ww_status ww_arena_take(struct ww_arena *arena, uint64_t bytes, uint64_t alignment,
	struct ww_arena_block **out_block);

/* Joins it with free neighbours. Return: the free block that it is a part of now. */
struct ww_arena_block *ww_arena_give(struct ww_arena *arena, struct ww_arena_block *block);

/* Whether the free block is a whole chunk. */
bool ww_arena_is_chunk(const struct ww_arena_block *block);

uint64_t ww_arena_free_bytes(const struct ww_arena *arena);
uint64_t ww_arena_largest(const struct ww_arena
		*arena); /* bytes of the largest free block; may walk one class's list */

#endif
