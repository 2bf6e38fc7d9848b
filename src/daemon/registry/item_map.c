/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item_map.c - a hash table of the items of a table, see item_map.h
 */
#include "daemon/registry/item_map.h"

#include <stdlib.h>

#include "base/error.h"

#define FIRST_BUCKET_COUNT 16
#define ITEMS_PER_BUCKET   2 /* at most, if there is memory */

static struct item_node *item_node_of(const struct item_map *map, uint32_t index)
{
	return (void *)((uint8_t *)table_item(map->table, index) + map->offset);
}

/* The high bits of the product depend on all bits of the hash, as in base/map.c. */
static uint32_t hash_shorten(uint64_t hash)
{
	return (uint32_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static uint32_t *bucket_of(const struct item_map *map, uint32_t hash)
{
	return &map->buckets[hash & (map->bucket_count - 1)];
}

static void item_map_push(const struct item_map *map, uint32_t index)
{
	struct item_node *node = item_node_of(map, index);
	uint32_t *bucket = bucket_of(map, node->hash);

	node->next = *bucket;
	*bucket = index + 1;
}

/* Without memory the map gets slower, not wrong. */
static void item_map_grow(struct item_map *map)
{
	uint32_t *old = map->buckets;
	uint32_t old_count = map->bucket_count;
	uint32_t *larger = calloc((size_t)old_count * 2, sizeof(*larger));

	if (!larger)
		return;
	map->buckets = larger;
	map->bucket_count = old_count * 2;
	for (uint32_t i = 0; i < old_count; i++) {
		for (uint32_t at = old[i], next; at; at = next) {
			next = item_node_of(map, at - 1)->next;
			item_map_push(map, at - 1);
		}
	}
	free(old);
}

void item_map_init(struct item_map *map, const struct table *table, size_t offset)
{
	*map = (struct item_map){.table = table, .offset = (uint32_t)offset};
}

void item_map_fini(struct item_map *map)
{
	free(map->buckets);
	item_map_init(map, map->table, map->offset);
}

ww_status item_map_insert(struct item_map *map, uint32_t index, uint64_t hash)
{
	if (!map->buckets) {
		map->buckets = calloc(FIRST_BUCKET_COUNT, sizeof(*map->buckets));
		if (!map->buckets)
			return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
		map->bucket_count = FIRST_BUCKET_COUNT;
	}
	if (map->count / ITEMS_PER_BUCKET >= map->bucket_count)
		item_map_grow(map);
	item_node_of(map, index)->hash = hash_shorten(hash);
	item_map_push(map, index);
	map->count++;
	return WW_OK;
}

void item_map_remove(struct item_map *map, uint32_t index)
{
	struct item_node *node = item_node_of(map, index);
	uint32_t *link = bucket_of(map, node->hash);

	while (*link != index + 1) {
		ww_assert(*link);
		link = &item_node_of(map, *link - 1)->next;
	}
	*link = node->next;
	node->next = 0;
	map->count--;
}

/* The first item of this hash in the chain that begins with a link. */
static void *item_map_skip(const struct item_map *map, uint32_t link, uint32_t hash)
{
	while (link && item_node_of(map, link - 1)->hash != hash)
		link = item_node_of(map, link - 1)->next;
	return link ? table_item(map->table, link - 1) : NULL;
}

void *item_map_first(const struct item_map *map, uint64_t hash)
{
	uint32_t shortened = hash_shorten(hash);

	return map->buckets ? item_map_skip(map, *bucket_of(map, shortened), shortened) : NULL;
}

void *item_map_next(const struct item_map *map, const void *item)
{
	const struct item_node *node = (const void *)((const uint8_t *)item + map->offset);

	return item_map_skip(map, node->next, node->hash);
}
