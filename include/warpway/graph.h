/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warpway/graph.h - nodes of CUDA graphs that signal timelines and wait for them
 *
 * A graph repeats its work, but each launch needs other values of timelines. So a program adds
 * nodes to the graph, and gives each launch the values of its nodes:
 *
 *   once:    ww_graph_node_create()            into a graph, or into the capture of a stream
 *            cuGraphInstantiate()              cudaGraphInstantiate() is the same
 *   often:   ww_graph_launch(..., values, ...) in place of cuGraphLaunch()
 *
 * A node signals when the nodes that it depends on have run; the nodes that depend on it run later.
 * So another process can use the first half of a graph's work while the second half runs. To
 * signal at the end of a graph, or to wait at its beginning, no node is needed: call
 * ww_timeline_stream_signal() after the launch and ww_timeline_stream_wait() before it.
 *
 * For a timeline a launch is what a signal or a wait of a stream is (timeline.h):
 *   - Values grow. A value is submitted when the launch has been enqueued. If a launch fails, none
 *     of its values is submitted, and the next launch may have the same ones.
 *   - The launch waits on the CPU until the values that its nodes wait for are submitted.
 *   - If a process ends that was to signal such a value, the node goes on, and the stream of the
 *     launch is lost: every later call on it returns WW_ERR_PEER_LOST.
 *   - If the process that launched ends before a node has signalled, waits for that value return
 *     WW_ERR_PEER_LOST.
 *
 * In a launch that gives a node no value, the node does nothing. The same is true if the program
 * launches the graph with CUDA's own call. Then a wait node does not wait: the work after it may
 * read what is not complete. And a signal node does not signal.
 *
 * A node belongs to the graph that it was added to. ww_graph_launch() finds it in each executable
 * graph that was made of that graph, so the graph must not be destroyed before the last launch. (In
 * PyTorch: torch.cuda.CUDAGraph(keep_graph=True).) Nodes of clones and of child graphs are not
 * found.
 *
 * Devices with WW_CAP_GRAPH have graphs.
 *
 * Threads: as CUDA has it: one thread at a time for a graph and what was made of it.
 * Fork:    a child cannot use its parent's nodes.
 */
#ifndef WARPWAY_GRAPH_H
#define WARPWAY_GRAPH_H

#include <warpway/base.h>
#include <warpway/cancel.h>
#include <warpway/device.h>
#include <warpway/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ww_graph_node ww_graph_node;

/* ww_graph_node_params.kind */
enum {
	WW_GRAPH_SIGNAL = 1, /* raises the timeline, which is of this process */
	WW_GRAPH_WAIT = 2    /* waits until the timeline has reached a value */
};

/**
 * struct ww_graph_node_params - what node to add, and where
 * @struct_size:       sizeof(struct ww_graph_node_params)
 * @kind:              WW_GRAPH_SIGNAL or WW_GRAPH_WAIT
 * @graph:             a CUgraph; NULL: the graph that the stream is captured into. The node comes
 *                     after the work of the stream so far, and before its further work
 * @dependencies:      CUgraphNodes of @graph that the node comes after
 * @dependency_count:  how many
 */
struct ww_graph_node_params {
	uint32_t struct_size;
	uint32_t kind;
	void *graph;
	void *const *dependencies;
	uint64_t dependency_count;
};

/**
 * ww_graph_node_create() - add a node to a CUDA graph
 * @timeline:  borrowed; the node keeps it. It is closed after the last unref of the node
 * @stream:    borrowed; the node runs on its device and in its context
 * @params:    borrowed
 * @out_node:  the caller's; NULL on failure
 *
 * The call does not end a capture. If the driver fails during a capture (WW_ERR_DEVICE...), the
 * graph may have an idle node that nobody keeps: do not use the graph. @stream must have been made
 * before its capture began (ww_stream_wrap() is refused during the capture).
 *
 * Return: WW_OK; WW_ERR_INVALID (@params); WW_ERR_ACCESS (a signal, but another process is the
 *         signaller); WW_ERR_STATE (no @params->graph, and @stream is not captured);
 *         WW_ERR_UNSUPPORTED (the device lacks WW_CAP_GRAPH, or takes no such nodes); as
 *         ww_timeline_prepare(); WW_ERR_FORKED.
 */
WW_API ww_status ww_graph_node_create(ww_timeline *timeline, ww_stream *stream,
	const struct ww_graph_node_params *params, ww_graph_node **out_node);

/**
 * ww_graph_node_ref() - take one more reference of a node
 * Return: @node.
 */
WW_API ww_graph_node *ww_graph_node_ref(ww_graph_node *node);

/**
 * ww_graph_node_unref() - release a reference of a node
 * @node:  may be NULL
 *
 * Call it when the graph, and all executable graphs that were made of it, have been destroyed: the
 * node stays in them.
 *
 * Return: NULL.
 */
WW_API ww_graph_node *ww_graph_node_unref(ww_graph_node *node);

/**
 * ww_graph_node_native() - the driver's own handle of a node, for nodes that depend on it
 *
 * Return: the CUgraphNode, borrowed.
 */
WW_API void *ww_graph_node_native(ww_graph_node *node);

#define WW_GRAPH_NODES_MAX 64 /* of one launch */

/**
 * ww_graph_launch() - launch a graph, with the values that its nodes signal and wait for
 * @stream:      borrowed; on which the graph is launched
 * @executable:  a CUgraphExec
 * @nodes:       borrowed; nodes of the graph that @executable was made of, each once
 * @values:      for each of @nodes. For a signal: as for ww_timeline_signal(). For a wait: at most
 *               WW_TIMELINE_MAX
 * @count:       of @nodes and of @values; at most WW_GRAPH_NODES_MAX. The other nodes do nothing
 * @timeout_ns:  how long to wait, on the CPU, until the values that nodes wait for are submitted;
 *               0: not at all; WW_FOREVER
 * @cancel:      borrowed; may be NULL: cancel.h; ends the wait on the CPU
 *
 * May block: until these values are submitted. If another stream has yet to signal a lower value of
 * a timeline that the graph signals, @stream waits for that stream before it runs the graph. A node
 * waits for the timeline of a lane of another user's server (ww_client_lane_timeline()) on the CPU,
 * during this call, until the value is reached.
 *
 * Return: WW_OK (launched); WW_TIMED_OUT or WW_CANCELLED (a value was not submitted in time; the
 *         graph was not launched); WW_ERR_INVALID (a value does not grow or is too high; a timeline
 *         is signalled twice; a node is not in @executable); WW_ERR_PEER_LOST (a process ended that
 *         was to signal a value, or the broker took this process for ended, or @stream is lost);
 *         WW_ERR_STATE (@stream is captured into a graph); WW_ERR_UNSUPPORTED; WW_ERR_NO_MEMORY;
 *         WW_ERR_DEVICE...; WW_ERR_FORKED. If it is not WW_OK, no value was submitted.
 */
WW_API ww_status ww_graph_launch(ww_stream *stream, void *executable, ww_graph_node *const *nodes,
	const uint64_t *values, uint32_t count, uint64_t timeout_ns, ww_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif
