/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_order_test.c - items in the order of their sizes
 */
#include "base/unit_test.h"

#include <stdlib.h>

#include "daemon/registry/key_hash.h"
#include "daemon/registry/size_order.h"

#define COUNT   5000
#define CHANGES 20000
#define DEEP    100 /* levels; a list would have COUNT, a tree that is in balance has 13 */

struct item {
	uint64_t other;
	struct size_node by_size;
	struct size_key key;
	bool is_in;
};

static struct item items[COUNT];
static uint8_t *chunks[COUNT / TABLE_CHUNK + 1];
static const struct table table = {.items = chunks, .item_bytes = sizeof(struct item)};

static struct size_key item_key(const struct table *of, uint32_t index)
{
	return ((const struct item *)table_item(of, index))->key;
}

static void open_order(struct size_order *order)
{
	assert_ok(key_hash_open());
	for (size_t i = 0; i < COUNT; i += TABLE_CHUNK)
		chunks[i / TABLE_CHUNK] = (uint8_t *)&items[i];
	for (size_t i = 0; i < COUNT; i++)
		items[i] = (struct item){.key.number = i + 1};
	size_order_init(order, &table, offsetof(struct item, by_size), item_key);
}

static void add(struct size_order *order, uint32_t index, uint64_t bytes)
{
	items[index].key.bytes = bytes;
	items[index].is_in = true;
	size_order_add(order, index);
}

static void drop(struct size_order *order, uint32_t index)
{
	size_order_remove(order, index);
	items[index].is_in = false;
}

static int compare(const void *a, const void *b)
{
	const struct size_key *one = &(*(struct item *const *)a)->key;
	const struct size_key *other = &(*(struct item *const *)b)->key;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

/* Against qsort(): from the first one on, and from the place of each one on. */
static void check_order(const struct size_order *order)
{
	static struct item *sorted[COUNT + 1];
	const struct item *found = size_order_after(order, UINT64_MAX, 0);
	size_t count = 0;

	for (size_t i = 0; i < COUNT; i++) {
		if (items[i].is_in)
			sorted[count++] = &items[i];
	}
	qsort(sorted, count, sizeof(sorted[0]), compare);
	sorted[count] = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct size_key *key = &sorted[i]->key;

		assert_ptr_equal(found, sorted[i]);
		assert_ptr_equal(size_order_after(order, key->bytes, key->number), sorted[i + 1]);
		assert_ptr_equal(size_order_after(order, key->bytes, key->number - 1), sorted[i]);
		found = size_order_next(order, (uint32_t)(found - items));
	}
	assert_null(found);
}

UNIT_TEST(items_come_largest_first)
{
	struct size_order order;

	srandom(1);
	open_order(&order);
	assert_null(size_order_after(&order, UINT64_MAX, 0));
	for (int i = 0; i < CHANGES; i++) {
		uint32_t index = (uint32_t)random() % COUNT;

		if (items[index].is_in)
			drop(&order, index);
		else /* few sizes, so that many have the same one */
			add(&order, index, (uint64_t)random() % 100);
		if (i % (CHANGES / 10) == 0)
			check_order(&order);
	}
	check_order(&order);
	for (uint32_t i = 0; i < COUNT; i++) {
		if (items[i].is_in)
			drop(&order, i);
	}
	assert_null(size_order_after(&order, UINT64_MAX, 0));
}

static uint32_t levels_under(uint32_t top)
{
	uint32_t before;
	uint32_t after;

	if (!top)
		return 0;
	before = levels_under(items[top - 1].by_size.before);
	after = levels_under(items[top - 1].by_size.after);
	return 1 + (before > after ? before : after);
}

/* However the sizes come, the tree does not become a list. */
UNIT_TEST(no_sizes_make_it_a_list)
{
	for (int way = 0; way < 3; way++) {
		struct size_order order;

		open_order(&order);
		for (uint32_t i = 0; i < COUNT; i++)
			add(&order, i, way == 0 ? i : way == 1 ? COUNT - i : 7);
		assert_in_range(levels_under(order.top), 13, DEEP);
		check_order(&order);
	}
}

/* Records that were damaged may have one number: each is found once, and can be removed. */
UNIT_TEST(records_of_one_number_are_found_once)
{
	struct size_order order;

	open_order(&order);
	for (uint32_t i = 0; i < 10; i++) {
		items[i].key.number = 1;
		add(&order, i, 5);
	}
	for (uint32_t i = 0; i < 9; i++)
		assert_ptr_equal(size_order_next(&order, i), &items[i + 1]);
	assert_null(size_order_after(&order, 5, 1));
	for (uint32_t i = 0; i < 10; i++) {
		assert_ptr_equal(size_order_after(&order, 6, 0), &items[i]);
		drop(&order, i);
	}
	assert_null(size_order_after(&order, UINT64_MAX, 0));
}

UNIT_MAIN("size_order")
