/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_order.c - objects and holders in the order of their sizes, see size_order.h
 *
 * The tree is a treap: each node has a weight, a hash of its index, and is above all nodes of less
 * weight in its part of the tree. So the tree has the shape that random insertions give, whatever
 * sizes come, and no node needs a word for its balance. The hash has a random seed, so no client
 * can choose the shape.
 */
#include "daemon/registry/size_order.h"

#include <stdbool.h>

#include "base/error.h"
#include "daemon/registry/key_hash.h"

/* A key, and the index of its record: two damaged records may have one number. */
struct place {
	struct size_key key;
	uint32_t index;
};

static struct size_node *node_of(const struct size_order *order, uint32_t index)
{
	return (void *)((uint8_t *)table_item(order->table, index) + order->offset);
}

static struct place place_of(const struct size_order *order, uint32_t index)
{
	return (struct place){order->key_of(order->table, index), index};
}

static bool is_before(const struct place *a, const struct place *b)
{
	if (a->key.bytes != b->key.bytes)
		return a->key.bytes > b->key.bytes;
	if (a->key.number != b->key.number)
		return a->key.number < b->key.number;
	return a->index < b->index;
}

static uint64_t weight_of(uint32_t index)
{
	return key_hash_pair(index, 0);
}

/* Divides a part of the tree into what is before a place and what is after it. */
static void tree_divide(const struct size_order *order, uint32_t top, const struct place *place,
	struct size_node *out_parts)
{
	uint32_t *before = &out_parts->before;
	uint32_t *after = &out_parts->after;

	while (top) {
		struct size_node *node = node_of(order, top - 1);
		struct place here = place_of(order, top - 1);

		if (is_before(&here, place)) {
			*before = top;
			before = &node->after;
			top = node->after;
		} else {
			*after = top;
			after = &node->before;
			top = node->before;
		}
	}
	*before = 0;
	*after = 0;
}

/* Return: one part of the tree that has all of two, of which one is before the other. */
static uint32_t tree_join(const struct size_order *order, struct size_node parts)
{
	uint32_t top;
	uint32_t *link = &top;

	while (parts.before && parts.after) {
		if (weight_of(parts.before - 1) > weight_of(parts.after - 1)) {
			*link = parts.before;
			link = &node_of(order, parts.before - 1)->after;
			parts.before = *link;
		} else {
			*link = parts.after;
			link = &node_of(order, parts.after - 1)->before;
			parts.after = *link;
		}
	}
	*link = parts.before ? parts.before : parts.after;
	return top;
}

void size_order_init(struct size_order *order, const struct table *table, size_t offset,
	size_key_of key_of)
{
	*order = (struct size_order){
		.table = table,
		.key_of = key_of,
		.offset = (uint32_t)offset,
	};
}

/* The part of the tree where a place is to be looked for, below the top of another one. */
static uint32_t *tree_toward(const struct size_order *order, uint32_t top,
	const struct place *place)
{
	struct size_node *node = node_of(order, top - 1);
	struct place here = place_of(order, top - 1);

	return is_before(place, &here) ? &node->before : &node->after;
}

void size_order_add(struct size_order *order, uint32_t index)
{
	struct place place = place_of(order, index);
	uint64_t weight = weight_of(index);
	uint32_t *link = &order->top;

	while (*link && weight_of(*link - 1) >= weight)
		link = tree_toward(order, *link, &place);
	tree_divide(order, *link, &place, node_of(order, index));
	*link = index + 1;
}

void size_order_remove(struct size_order *order, uint32_t index)
{
	struct place place = place_of(order, index);
	uint32_t *link = &order->top;

	while (*link != index + 1) {
		ww_assert(*link);
		link = tree_toward(order, *link, &place);
	}
	*link = tree_join(order, *node_of(order, index));
}

static void *size_order_behind(const struct size_order *order, const struct place *place)
{
	uint32_t top = order->top;
	void *found = NULL;

	while (top) {
		const struct size_node *node = node_of(order, top - 1);
		struct place here = place_of(order, top - 1);

		if (is_before(place, &here)) {
			found = table_item(order->table, top - 1);
			top = node->before;
		} else {
			top = node->after;
		}
	}
	return found;
}

void *size_order_after(const struct size_order *order, uint64_t bytes, uint64_t number)
{
	/* No record has this index, so every node of this key is before the place. */
	const struct place place = {{bytes, number}, UINT32_MAX};

	return size_order_behind(order, &place);
}

void *size_order_next(const struct size_order *order, uint32_t index)
{
	const struct place place = place_of(order, index);

	return size_order_behind(order, &place);
}
