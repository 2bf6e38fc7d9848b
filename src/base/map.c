/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c - a hash table of nodes inside the objects themselves, see map.h
 */
#include "base/map.h"

#include <stdlib.h>

#include "base/error.h"

#define FIRST_BUCKET_COUNT 16

static struct ww_map_node **bucket_of(const struct ww_map *map, uint64_t hash)
{
	/* Fibonacci hashing: the high bits of the product depend on all bits of the hash. */
	uint64_t mixed = hash * UINT64_C(0x9e3779b97f4a7c15);

	return &map->buckets[(mixed >> 32) & (map->bucket_count - 1)];
}

static void push(const struct ww_map *map, struct ww_map_node *node)
{
	struct ww_map_node **bucket = bucket_of(map, node->hash);

	node->next = *bucket;
	*bucket = node;
}

static void grow(struct ww_map *map)
{
	struct ww_map_node **old = map->buckets;
	size_t old_count = map->bucket_count;
	struct ww_map_node **larger = calloc(old_count * 2, sizeof(struct ww_map_node *));

	if (!larger)
		return;
	map->buckets = larger;
	map->bucket_count = old_count * 2;
	for (size_t i = 0; i < old_count; i++) {
		struct ww_map_node *node = old[i];

		while (node) {
			struct ww_map_node *next = node->next;

			push(map, node);
			node = next;
		}
	}
	free(old);
}

ww_status ww_map_insert(struct ww_map *map, struct ww_map_node *node, uint64_t hash)
{
	if (!map->buckets) {
		map->buckets = calloc(FIRST_BUCKET_COUNT, sizeof(struct ww_map_node *));
		if (!map->buckets)
			return ww_fail(WW_ERR_NO_MEMORY, "cannot make a table: out of memory");
		map->bucket_count = FIRST_BUCKET_COUNT;
	}
	if (map->count >= map->bucket_count)
		grow(map);
	node->hash = hash;
	push(map, node);
	map->count++;
	return WW_OK;
}

void ww_map_remove(struct ww_map *map, struct ww_map_node *node)
{
	struct ww_map_node **link = bucket_of(map, node->hash);

	while (*link != node) {
		ww_assert(*link);
		link = &(*link)->next;
	}
	*link = node->next;
	node->next = NULL;
	map->count--;
}

/* The first node of this hash in the chain that begins with @node. */
static struct ww_map_node *skip(struct ww_map_node *node, uint64_t hash)
{
	while (node && node->hash != hash)
		node = node->next;
	return node;
}

struct ww_map_node *ww_map_first(const struct ww_map *map, uint64_t hash)
{
	return map->buckets ? skip(*bucket_of(map, hash), hash) : NULL;
}

struct ww_map_node *ww_map_next(const struct ww_map_node *node)
{
	return skip(node->next, node->hash);
}

void ww_map_fini(struct ww_map *map)
{
	ww_assert(map->count == 0);
	free(map->buckets);
	map->buckets = NULL;
	map->bucket_count = 0;
}
