/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_order.h - objects in the order of their sizes, and holders in that of the bytes they hold
 *
 * A monitor shows the largest ones. So that it need not list all of them, the broker keeps them in
 * order: in a search tree, where each change and each search takes a time that grows with the
 * logarithm of their number. The largest come first; of the same size, the one with the lower
 * number.
 *
 * A node is part of an item (record_table.h), and names others by the indexes of their items. It is
 * 8 bytes, where one of a red-black tree with pointers and keys has 56: a broker may keep a million
 * objects.
 */
#ifndef WW_DAEMON_REGISTRY_SIZE_ORDER_H
#define WW_DAEMON_REGISTRY_SIZE_ORDER_H

#include "daemon/registry/record_table.h"

/* 1 + the indexes of the items at the tops of two parts of the tree; 0: the part is empty. */
struct size_node {
	uint32_t before; /* what is larger */
	uint32_t after;
};

struct size_key {
	uint64_t bytes;
	uint64_t number;
};

/* The key of a taken record and its item, which does not change while the item is in the order. */
typedef struct size_key (*size_key_of)(const struct table *table, uint32_t index);

struct size_order {
	const struct table *table;
	size_key_of key_of;
	uint32_t offset; /* of the node in an item */
	uint32_t top;    /* as in struct size_node */
};

void size_order_init(struct size_order *order, const struct table *table, size_t offset,
	size_key_of key_of);

/* @index: of an item that is not in the order, and is from now on; or is, and is no longer */
void size_order_add(struct size_order *order, uint32_t index);
void size_order_remove(struct size_order *order, uint32_t index);

/* The first item behind a place. Return: NULL: there is none. */
void *size_order_after(const struct size_order *order, uint64_t bytes, uint64_t number);

/* The item behind that of @index. Return: NULL: it is the last one. */
void *size_order_next(const struct size_order *order, uint32_t index);

#endif
