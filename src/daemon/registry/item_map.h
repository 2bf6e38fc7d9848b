/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item_map.h - a hash table of the items of a table
 *
 * As base/map.h, but a node names the next one by the index of its item (record_table.h), in half
 * the bytes of a pointer. So an item costs 13 bytes in each map rather than 26: a broker may keep a
 * million objects.
 */
#ifndef WW_DAEMON_REGISTRY_ITEM_MAP_H
#define WW_DAEMON_REGISTRY_ITEM_MAP_H

#include "daemon/registry/record_table.h"

struct item_node {
	uint32_t next; /* 1 + the index of the next item of the bucket; 0: none */
	uint32_t hash;
};

struct item_map {
	const struct table *table;
	uint32_t offset;   /* of the node in an item */
	uint32_t *buckets; /* as struct item_node.next; NULL until the first insertion */
	uint32_t bucket_count;
	uint32_t count;
};

void item_map_init(struct item_map *map, const struct table *table, size_t offset);

/* Frees the buckets; no item of the map is used any more. */
void item_map_fini(struct item_map *map);

/* Several items may have the same key. Return: WW_OK; WW_ERR_NO_MEMORY (the first time only). */
ww_status item_map_insert(struct item_map *map, uint32_t index, uint64_t hash);

/* @index: of an item of the map */
void item_map_remove(struct item_map *map, uint32_t index);

/*
 * Walks the items of one hash, and some of others: the caller compares its own keys. Return: NULL
 * when there is none (any more).
 */
void *item_map_first(const struct item_map *map, uint64_t hash);
void *item_map_next(const struct item_map *map, const void *item);

#define item_map_for_each(item, map, hash) \
	for (void *item = item_map_first(map, hash); item; item = item_map_next(map, item))

#endif
