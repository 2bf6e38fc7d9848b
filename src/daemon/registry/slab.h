/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slab.h - items beside the records of a table, under the same indexes
 *
 * A record outlives the process and holds no pointers; the pointers are in its item. Items are
 * allocated in chunks, so they never move, and have no header of their own.
 */
#ifndef WW_DAEMON_REGISTRY_SLAB_H
#define WW_DAEMON_REGISTRY_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

#define SLAB_CHUNK 64

struct slab {
	size_t item_bytes;
	uint8_t **chunks;
	uint32_t chunk_count;
};

/*
 * Makes sure that the item of an index exists, all zero when it is new. Return: WW_OK;
 * WW_ERR_NO_MEMORY.
 */
ww_status slab_reserve(struct slab *slab, uint32_t index);

/* @index was reserved. */
static inline void *slab_item(const struct slab *slab, uint32_t index)
{
	return slab->chunks[index / SLAB_CHUNK] + index % SLAB_CHUNK * slab->item_bytes;
}

/* Frees all memory. */
void slab_clear(struct slab *slab);

#endif
