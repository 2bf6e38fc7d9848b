/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_test.c - growth, equal hashes, removal
 */
#include "base/unit_test.h"

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"

#define COUNT 1000

struct item {
	struct ww_map_node node;
	uint64_t key;
};

static struct item items[COUNT];

static bool contains(const struct ww_map *map, const struct item *item)
{
	for (struct ww_map_node *node = ww_map_first(map, item->key % 100); node;
		node = ww_map_next(node)) {
		if (ww_container(node, struct item, node) == item)
			return true;
	}
	return false;
}

/* Ten items share each hash, and the table grows six times on the way. */
UNIT_TEST(everything_is_found_until_removed)
{
	struct ww_map map = {0};

	assert_null(ww_map_first(&map, 1));
	for (int i = 0; i < COUNT; i++) {
		items[i].key = (uint64_t)i;
		assert_ok(ww_map_insert(&map, &items[i].node, items[i].key % 100));
	}
	assert_int_equal(map.count, COUNT);
	assert_true(map.bucket_count >= COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_true(contains(&map, &items[i]));
	for (int i = 0; i < COUNT; i += 2)
		ww_map_remove(&map, &items[i].node);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(contains(&map, &items[i]), i % 2 == 1);
	assert_null(ww_map_first(&map, 100));
	for (int i = 1; i < COUNT; i += 2)
		ww_map_remove(&map, &items[i].node);
	ww_map_fini(&map);
	assert_null(map.buckets);
}

UNIT_MAIN("map")
