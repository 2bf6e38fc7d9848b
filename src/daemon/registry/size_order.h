/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_order.h - objects in the order of their sizes, and holders in that of the bytes they hold
 *
 * A monitor shows the largest ones. So that it need not list all of them, the broker keeps them in
 * order: in a red-black tree, where each change and each search takes a time that grows with the
 * logarithm of their number. The largest come first; of the same size, the one with the lower
 * number. The nodes belong to the items that they are part of.
 */
#ifndef WW_DAEMON_REGISTRY_SIZE_ORDER_H
#define WW_DAEMON_REGISTRY_SIZE_ORDER_H

#include <stdint.h>
#include <uv/tree.h>

struct size_node {
	RB_ENTRY(size_node) links;
	uint64_t bytes;
	uint64_t number;
	uint32_t index; /* of the record: two damaged records may have one number */
};

RB_HEAD(size_tree, size_node);

/* An all-zero tree is empty and ready. */

/* @node: bytes, number and index are set; it is in no tree */
void size_order_add(struct size_tree *tree, struct size_node *node);
void size_order_remove(struct size_tree *tree, struct size_node *node);

/* Moves a node of the tree to the place of another size. */
void size_order_change(struct size_tree *tree, struct size_node *node, uint64_t bytes);

/* The first node behind a place. Return: NULL: there is none. */
struct size_node *size_order_after(struct size_tree *tree, uint64_t bytes, uint64_t number);

/* Return: NULL: @node is the last one. */
struct size_node *size_order_next(struct size_node *node);

#endif
