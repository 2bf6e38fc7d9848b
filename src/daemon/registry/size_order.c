/* SPDX-License-Identifier: Apache-2.0 */
/*
 * size_order.c - objects and holders in the order of their sizes, see size_order.h
 */
#include "daemon/registry/size_order.h"

#include <stddef.h>

static int node_compare(const struct size_node *a, const struct size_node *b)
{
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

RB_GENERATE_STATIC(size_tree, size_node, links, node_compare)

void size_order_add(struct size_tree *tree, struct size_node *node)
{
	(void)RB_INSERT(size_tree, tree, node);
}

void size_order_remove(struct size_tree *tree, struct size_node *node)
{
	(void)RB_REMOVE(size_tree, tree, node);
}

void size_order_change(struct size_tree *tree, struct size_node *node, uint64_t bytes)
{
	size_order_remove(tree, node);
	node->bytes = bytes;
	size_order_add(tree, node);
}

struct size_node *size_order_after(struct size_tree *tree, uint64_t bytes, uint64_t number)
{
	/* No record has this index, so no node is equal to it. */
	struct size_node place = {.bytes = bytes, .number = number, .index = UINT32_MAX};

	return RB_NFIND(size_tree, tree, &place);
}

struct size_node *size_order_next(struct size_node *node)
{
	return RB_NEXT(size_tree, NULL, node);
}
