/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - a hash table of nodes inside the objects themselves
 *
 * The table knows hashes, not keys: ww_map_first() and ww_map_next() walk the nodes of one hash,
 * and the caller compares its own keys. Several nodes may have the same key.
 *
 * Chained; the buckets are a power of two and double when there are more nodes than buckets. Only
 * the first insertion can fail: a table that cannot grow gets slower, not wrong. The owner brings
 * its own lock.
 */
#ifndef WW_BASE_MAP_H
#define WW_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <warpway/base.h>

struct ww_map_node {
	struct ww_map_node *next;
	uint64_t hash;
};

struct ww_map {
	struct ww_map_node **buckets; /* NULL until the first insertion */
	size_t bucket_count;
	size_t count;
};

/* An all-zero map is empty and ready. */

/* Frees the table once it is empty of nodes, which stay their owners'. */
void ww_map_fini(struct ww_map *map);

/* Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_map_insert(struct ww_map *map, struct ww_map_node *node, uint64_t hash);

/* @node must be in the map. */
void ww_map_remove(struct ww_map *map, struct ww_map_node *node);

/* Return: NULL when there is none (any more). */
struct ww_map_node *ww_map_first(const struct ww_map *map, uint64_t hash);
struct ww_map_node *ww_map_next(const struct ww_map_node *node);

#define ww_map_for_each(node, map, hash) \
	for (struct ww_map_node *node = ww_map_first(map, hash); node; node = ww_map_next(node))

#endif
