/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item_map_test.c - growth, equal hashes, removal
 */
#include "base/unit_test.h"

#include "daemon/registry/item_map.h"

#define COUNT  1000
#define HASHES 100

struct item {
	uint64_t other;
	struct item_node node;
	uint32_t index;
};

static struct item items[COUNT];
static uint8_t *chunks[COUNT / TABLE_CHUNK + 1];
static const struct table table = {.items = chunks, .item_bytes = sizeof(struct item)};

static void open_map(struct item_map *map)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		chunks[i / TABLE_CHUNK] = (uint8_t *)&items[i - i % TABLE_CHUNK];
		items[i].index = i;
	}
	item_map_init(map, &table, offsetof(struct item, node));
}

/* How often the map has an item. */
static int count_of(const struct item_map *map, uint32_t index)
{
	int count = 0;

	item_map_for_each (item, map, index % HASHES)
		count += ((struct item *)item)->index == index;
	return count;
}

/* Ten items share each hash, and the map grows five times on the way. */
UNIT_TEST(everything_is_found_until_removed)
{
	struct item_map map;

	open_map(&map);
	assert_null(item_map_first(&map, 1));
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ok(item_map_insert(&map, i, i % HASHES));
	assert_int_equal(map.count, COUNT);
	assert_true(map.bucket_count >= COUNT / 2);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(count_of(&map, i), 1);
	for (uint32_t i = 0; i < COUNT; i += 2)
		item_map_remove(&map, i);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(count_of(&map, i), i % 2);
	assert_null(item_map_first(&map, HASHES));
	for (uint32_t i = 1; i < COUNT; i += 2)
		item_map_remove(&map, i);
	assert_int_equal(map.count, 0);
	item_map_fini(&map);
	assert_null(map.buckets);
}

UNIT_MAIN("item_map")
