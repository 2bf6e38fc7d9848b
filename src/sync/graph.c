/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - nodes of CUDA graphs that signal timelines and wait for them, and launches
 *
 * A launch is for the timelines what a signal or a wait of the stream is:
 *   - it waits on the CPU until the values that its nodes wait for are submitted, and puts a watch
 *     on the stream, so that the loss of a signaller is seen;
 *   - its signals are checked and submitted under the locks of their timelines, which are held
 *     across the launch. Before that the stream waits for signals of other streams. So values
 *     complete in growing order: a graph signals a timeline once, and launches of one graph run one
 *     after the other.
 *
 * A node keeps its timeline, and so the page that its graph has the address of.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include <warpway/graph.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "sync/stream_wait.h"
#include "sync/timeline.h"

#define PARAMS_V1_BYTES sizeof(struct ww_graph_node_params)

struct ww_graph_node {
	struct ww_ref ref;
	struct ww_timeline *timeline; /* a reference */
	struct ww_device_node node;
};

/* --- nodes --- */

static ww_status require_graphs(const struct ww_stream *stream)
{
	if (stream->device->capabilities & WW_CAP_GRAPH)
		return WW_OK;
	return ww_fail(WW_ERR_UNSUPPORTED,
		"%s has no graphs in which nodes signal and wait: signal and wait on the stream, before and "
		"after its other work",
		stream->device->selector);
}

static ww_status node_add(struct ww_graph_node *node, ww_stream *stream,
	const struct ww_graph_node_params *params)
{
	node->node.is_signal = params->kind == WW_GRAPH_SIGNAL;
	/*
	 * Every value is at least 0, so waiting for that waits for nothing. The reserved bytes of a
	 * cell are 0.
	 */
	ww_try(ww_signal_map_stream_value(node->timeline->page, stream->device,
		node->timeline->offset, 0, &node->node.idle));
	if (node->node.is_signal)
		node->node.idle.offset += offsetof(struct ww_layout_signal_cell, reserved);
	return stream->device->backend->graph_add(stream, params->graph, params->dependencies,
		params->dependency_count, &node->node);
}

ww_status ww_graph_node_create(ww_timeline *timeline, ww_stream *stream,
	const struct ww_graph_node_params *params, ww_graph_node **out_node)
{
	struct ww_graph_node_params ours = {0};
	struct ww_graph_node *node;
	ww_status status;

	ww_clear(out_node, NULL);
	ww_try(ww_process_enter());
	ww_require(timeline && stream && params && out_node,
		"ww_graph_node_create: timeline, stream, params or out_node is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
		"ww_graph_node_params"));
	if (ours.kind != WW_GRAPH_SIGNAL && ours.kind != WW_GRAPH_WAIT)
		return ww_fail(WW_ERR_INVALID,
			"a node of a graph has kind WW_GRAPH_SIGNAL or WW_GRAPH_WAIT, not %" PRIu32,
			ours.kind);
	if (ours.dependency_count > 0 && (!ours.graph || !ours.dependencies))
		return ww_fail(WW_ERR_INVALID, "%" PRIu64 " dependencies of a node, but no %s",
			ours.dependency_count,
			ours.graph ? "array of them" : "graph that they are in");
	ww_try(require_graphs(stream));
	if (ours.kind == WW_GRAPH_SIGNAL)
		ww_try(ww_timeline_require_own(timeline, "signal"));
	node = calloc(1, sizeof(*node));
	if (!node)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a node of a graph: out of memory");
	ww_ref_init(&node->ref);
	node->timeline = ww_timeline_ref(timeline);
	status = node_add(node, stream, &ours);
	if (status == WW_OK)
		*out_node = node;
	else
		ww_graph_node_unref(node);
	return status;
}

ww_graph_node *ww_graph_node_ref(ww_graph_node *node)
{
	if (node)
		ww_ref_get(&node->ref);
	return node;
}

ww_graph_node *ww_graph_node_unref(ww_graph_node *node)
{
	if (node && ww_ref_put(&node->ref)) {
		ww_timeline_unref(node->timeline);
		free(node);
	}
	return NULL;
}

void *ww_graph_node_native(ww_graph_node *node)
{
	return node && !ww_ref_is_inherited(&node->ref) ? node->node.native : NULL;
}

/* --- launches --- */

struct launch {
	ww_stream *stream;
	ww_graph_node *const *nodes;
	const uint64_t *values;
	uint32_t count;
	const struct ww_device_node *natives[WW_GRAPH_NODES_MAX];
	struct ww_stream_value words[WW_GRAPH_NODES_MAX]; /* what the nodes do in this launch */
	struct ww_stream_wait *waits[WW_GRAPH_NODES_MAX]; /* of those that wait on the GPU */
	uint32_t signals[WW_GRAPH_NODES_MAX]; /* indexes of nodes, in the order of their locks */
	uint32_t signal_count;
};

/* The addresses of timelines grow along launch->signals. */
static void add_signal(struct launch *launch, uint32_t index)
{
	uint32_t at = launch->signal_count++;

	for (; at > 0; at--) {
		uint32_t before = launch->signals[at - 1];

		if (launch->nodes[before]->timeline < launch->nodes[index]->timeline)
			break;
		launch->signals[at] = before;
	}
	launch->signals[at] = index;
}

static ww_status check_nodes(struct launch *launch)
{
	if (launch->count > WW_GRAPH_NODES_MAX)
		return ww_fail(WW_ERR_INVALID,
			"%" PRIu32 " nodes in a launch of a graph: it can have %d at most",
			launch->count, WW_GRAPH_NODES_MAX);
	for (uint32_t i = 0; i < launch->count; i++) {
		ww_graph_node *node = launch->nodes[i];

		ww_require(node, "ww_graph_launch: a node is NULL");
		ww_try(ww_ref_check(&node->ref, "a node of a graph"));
		for (uint32_t j = 0; j < i; j++) {
			const struct ww_graph_node *other = launch->nodes[j];

			if (node == other)
				return ww_fail(WW_ERR_INVALID,
					"a launch of a graph names a node twice");
			if (node->node.is_signal && other->node.is_signal &&
				node->timeline == other->timeline)
				return ww_fail(WW_ERR_INVALID,
					"a launch of a graph cannot signal a timeline twice: use two timelines");
		}
		launch->natives[i] = &node->node;
		launch->words[i] = node->node.idle;
		if (node->node.is_signal)
			add_signal(launch, i);
	}
	return WW_OK;
}

/* What has been reached already, the GPU does not wait for. */
static ww_status begin_waits(struct launch *launch, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < launch->count; i++) {
		struct ww_timeline *timeline = launch->nodes[i]->timeline;
		bool is_reached;
		ww_status status;

		if (launch->natives[i]->is_signal)
			continue;
		status = ww_timeline_await_submission(timeline, launch->values[i], 0,
			ww_clock_left_ns(deadline_ns), &is_reached);
		if (status != WW_OK)
			return status;
		if (is_reached)
			continue;
		launch->waits[i] = ww_stream_wait_begin(launch->stream, timeline->page,
			timeline->offset);
		if (!launch->waits[i])
			return WW_ERR_NO_MEMORY;
		launch->words[i].value = launch->values[i];
	}
	return WW_OK;
}

static struct ww_timeline *signalled(const struct launch *launch, uint32_t i)
{
	return launch->nodes[launch->signals[i]]->timeline;
}

/* Under the locks of the timelines that are signalled. */
static ww_status launch_locked(struct launch *launch, void *executable)
{
	/*
	 * The nodes may be of other devices than the stream: the word is the same, but not its
	 * mapping.
	 */
	for (uint32_t i = 0; i < launch->signal_count; i++) {
		struct ww_stream_value *own = &launch->words[launch->signals[i]];
		struct ww_stream_value word;

		ww_try(ww_timeline_signal_begin(signalled(launch, i), launch->stream,
			launch->values[launch->signals[i]], &word));
		own->offset = word.offset;
		own->value = word.value;
	}
	ww_try(launch->stream->device->backend->graph_launch(launch->stream, executable,
		launch->natives, launch->words, launch->count));
	for (uint32_t i = 0; i < launch->signal_count; i++)
		ww_timeline_signal_end(signalled(launch, i), launch->stream,
			&launch->words[launch->signals[i]]);
	return WW_OK;
}

ww_status ww_graph_launch(ww_stream *stream, void *executable, ww_graph_node *const *nodes,
	const uint64_t *values, uint32_t count, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct launch launch = {.stream = stream, .nodes = nodes, .values = values, .count = count};
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(stream && executable && (!count || (nodes && values)),
		"ww_graph_launch: stream, executable, nodes or values is NULL");
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	ww_try(require_graphs(stream));
	ww_try(check_nodes(&launch));
	ww_try(ww_stream_check_order(stream));
	status = begin_waits(&launch, deadline_ns);
	if (status == WW_OK) {
		for (uint32_t i = 0; i < launch.signal_count; i++)
			pthread_mutex_lock(&signalled(&launch, i)->lock);
		status = launch_locked(&launch, executable);
		for (uint32_t i = 0; i < launch.signal_count; i++)
			pthread_mutex_unlock(&signalled(&launch, i)->lock);
	}
	for (uint32_t i = 0; i < launch.count; i++)
		if (launch.waits[i])
			ww_stream_wait_end(launch.stream, launch.waits[i],
				status == WW_OK ? launch.values[i] : 0);
	return status;
}
