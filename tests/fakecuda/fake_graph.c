/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_graph.c - graphs, what is made of them, and their launches
 *
 * A graph is a list of operations, its nodes, in an order that they can run in. A new node is put
 * right behind the last node that it depends on: so if a dependency is missing, it runs too early.
 * An executable graph is a copy of the list, and a launch gives a copy of that to a stream. So what
 * changes an executable graph does not change launches before.
 *
 * Of the calls that add nodes there is the one for words of memory, and a node has one of them.
 */
#include "fake.h"

#include <stdlib.h>

struct fake_graph {
	uint32_t refs; /* its handle, what was made of it, and operations that were launched */
	struct fake_op *first;
	struct fake_graph *origin; /* what an executable one was made of: a reference; else NULL */
	bool is_destroyed;         /* it has no handle any more */
};

struct fake_graph *fake_graph_new(void)
{
	struct fake_graph *graph = calloc(1, sizeof(*graph));

	if (graph)
		graph->refs = 1;
	return graph;
}

void fake_graph_unref(struct fake_graph *graph)
{
	if (!graph || --graph->refs > 0)
		return;
	for (struct fake_op *op = graph->first; op;) {
		struct fake_op *next = op->next;

		if (graph->origin)
			op->staging = NULL; /* what a copy has of its node stays the node's */
		fake_op_free(op);
		op = next;
	}
	fake_graph_unref(graph->origin);
	free(graph);
}

void fake_graph_insert(struct fake_graph *graph, struct fake_op *op, struct fake_op *after)
{
	struct fake_op **at = after ? &after->next : &graph->first;

	op->next = *at;
	*at = op;
}

bool fake_graph_has(const struct fake_graph *graph, const void *node)
{
	for (const struct fake_op *op = graph->first; op; op = op->next)
		if (op == node)
			return true;
	return false;
}

FAKE_API cuGraphCreate(ww_CUgraph *out_graph, unsigned int flags)
{
	FAKE_ENTER(cuGraphCreate);
	if (!out_graph || flags)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_graph = (ww_CUgraph)fake_graph_new();
	return *out_graph ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_OUT_OF_MEMORY;
}

/* Return: the last of the dependencies in the order of the list; NULL: there is none. */
static struct fake_op *find_last(const struct fake_graph *graph, const ww_CUgraphNode *dependencies,
	size_t count)
{
	struct fake_op *last = NULL;

	for (struct fake_op *op = graph->first; op; op = op->next)
		for (size_t i = 0; i < count; i++)
			if (op == (const void *)dependencies[i])
				last = op;
	return last;
}

/* Return: the operation of a node; NULL: *out_error says why. */
static struct fake_op *read_params(const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS *params,
	ww_CUresult *out_error)
{
	const struct fake_context *context = fake_contexts;
	struct fake_op *op;

	*out_error = WW_CUDA_ERROR_INVALID_VALUE;
	if (!params || params->count != 1 || !params->paramArray || params->flags)
		return NULL;
	while (context && (context != (const void *)params->ctx || context->destroyed))
		context = context->next;
	if (!context)
		return NULL;
	*out_error = fake_value_check(context->device, params->paramArray);
	if (*out_error)
		return NULL;
	op = fake_value_op(params->paramArray);
	*out_error = op ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_OUT_OF_MEMORY;
	if (op)
		op->node_context = context;
	return op;
}

FAKE_API cuGraphAddBatchMemOpNode(ww_CUgraphNode *out_node, ww_CUgraph handle,
	const ww_CUgraphNode *dependencies, size_t count,
	const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	FAKE_ENTER(cuGraphAddBatchMemOpNode);
	struct fake_graph *graph = (struct fake_graph *)handle;
	ww_CUresult error;
	if (fake_config()->no_sync)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (!out_node || !graph || (count && !dependencies))
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!fake_graph_has(graph, dependencies[i]))
			return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_op *op = read_params(params, &error);
	if (!op)
		return error;
	fake_graph_insert(graph, op, find_last(graph, dependencies, count));
	*out_node = (ww_CUgraphNode)op;
	return WW_CUDA_SUCCESS;
}

/* A copy of an operation of @graph, which the copy keeps. */
static struct fake_op *op_copy(const struct fake_op *op, struct fake_graph *graph,
	void (*drop)(struct fake_op *op))
{
	struct fake_op *copy = fake_op_new();

	if (!copy)
		return NULL;
	*copy = *op;
	copy->next = NULL;
	copy->graph = graph;
	copy->drop = drop;
	return copy;
}

FAKE_API cuGraphInstantiateWithFlags(ww_CUgraphExec *out_exec, ww_CUgraph handle,
	unsigned long long flags)
{
	FAKE_ENTER(cuGraphInstantiateWithFlags);
	struct fake_graph *graph = (struct fake_graph *)handle;
	if (!out_exec || !graph || flags)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_graph *made = fake_graph_new();
	struct fake_op *last = NULL;
	if (!made)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	made->origin = graph;
	graph->refs++;
	for (const struct fake_op *op = graph->first; op; op = op->next) {
		struct fake_op *copy = op_copy(op, graph, NULL);
		if (!copy) {
			fake_graph_unref(made);
			return WW_CUDA_ERROR_OUT_OF_MEMORY;
		}
		copy->node = op;
		fake_graph_insert(made, copy, last);
		last = copy;
	}
	*out_exec = (ww_CUgraphExec)made;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuGraphExecBatchMemOpNodeSetParams(ww_CUgraphExec handle, ww_CUgraphNode node,
	const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
	FAKE_ENTER(cuGraphExecBatchMemOpNodeSetParams);
	const struct fake_graph *graph = (const struct fake_graph *)handle;
	ww_CUresult error;
	if (!graph || !node || graph->origin->is_destroyed)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_op *op = graph->first;
	while (op && op->node != (const void *)node)
		op = op->next;
	struct fake_op *changed = read_params(params, &error);
	if (changed && op && changed->run == op->run && changed->node_context == op->node_context) {
		op->to = changed->to;
		op->from = changed->from;
		op->value = changed->value;
		op->flags = changed->flags;
	} else if (changed) {
		error = WW_CUDA_ERROR_INVALID_VALUE;
	}
	if (changed)
		fake_op_free(changed);
	return error;
}

static void launched_drop(struct fake_op *op)
{
	op->staging = NULL; /* the node's */
	fake_graph_unref(op->graph);
}

FAKE_API cuGraphLaunch(ww_CUgraphExec handle, ww_CUstream stream_handle)
{
	FAKE_ENTER_STREAM(cuGraphLaunch, stream_handle);
	struct fake_graph *graph = (struct fake_graph *)handle;
	if (!graph)
		return WW_CUDA_ERROR_INVALID_VALUE;
	error = fake_capture_refuse(stream);
	for (const struct fake_op *op = graph->first; op && !error; op = op->next) {
		struct fake_op *copy = op_copy(op, graph, launched_drop);
		if (!copy)
			return WW_CUDA_ERROR_OUT_OF_MEMORY;
		graph->refs++;
		error = fake_stream_push(stream, copy);
	}
	return error;
}

FAKE_API cuGraphExecDestroy(ww_CUgraphExec handle)
{
	FAKE_ENTER(cuGraphExecDestroy);
	if (!handle)
		return WW_CUDA_ERROR_INVALID_VALUE;
	fake_graph_unref((struct fake_graph *)handle);
	return WW_CUDA_SUCCESS;
}

FAKE_API cuGraphDestroy(ww_CUgraph handle)
{
	FAKE_ENTER(cuGraphDestroy);
	struct fake_graph *graph = (struct fake_graph *)handle;
	if (!graph)
		return WW_CUDA_ERROR_INVALID_VALUE;
	graph->is_destroyed = true;
	fake_graph_unref(graph);
	return WW_CUDA_SUCCESS;
}
