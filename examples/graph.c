/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - a CUDA graph that signals and waits in its middle
 *
 * The graph fills the first half of a memory and signals a timeline. Then it waits until another
 * stream has an input ready, and copies that into the second half. Each launch has values of its
 * own. So a process that waits for the first timeline, as this one does, uses the first half while
 * the graph runs.
 *
 *   graph [DEVICE]      such as "cuda:0" or "host"; default: a usable GPU, else host
 */
#include <stdio.h>
#include <stdlib.h>

#include <warpway/warpway.h>

#include "cuda_driver.h"

#define HALF   (1 << 20)
#define ROUNDS 3

/* A call that fails (status < 0) leaves a sentence that says why. */
static void check(ww_status status)
{
	if (status != WW_OK) {
		fprintf(stderr, "%s: %s\n", ww_status_name(status),
			status < 0 ? ww_error_last()->message : ww_status_text(status));
		exit(1);
	}
}

/* What is captured, once. */
struct work {
	ww_stream *stream;
	ww_memory *memory;
	ww_memory *input;
	ww_timeline *first;       /* the first half is there */
	ww_timeline *ready;       /* the input is there */
	ww_graph_node *nodes[2];  /* of both */
	void *graph, *executable; /* CUgraph, CUgraphExec */
};

static void capture(const struct cuda_driver *cuda, struct work *work)
{
	char *bytes = ww_memory_pointer(work->memory);

	cuda_check("cuStreamBeginCapture", cuda->capture_begin(ww_stream_native(work->stream), 0));
	check(ww_stream_fill(work->stream, bytes, 1, 1, HALF));
	check(ww_graph_node_create(work->first, work->stream,
		WW_PARAMS(struct ww_graph_node_params, .kind = WW_GRAPH_SIGNAL), &work->nodes[0]));
	check(ww_graph_node_create(work->ready, work->stream,
		WW_PARAMS(struct ww_graph_node_params, .kind = WW_GRAPH_WAIT), &work->nodes[1]));
	check(ww_stream_copy(work->stream, bytes + HALF, ww_memory_pointer(work->input), HALF));
	cuda_check("cuStreamEndCapture",
		cuda->capture_end(ww_stream_native(work->stream), &work->graph));
	cuda_check("cuGraphInstantiate", cuda->instantiate(&work->executable, work->graph, 0));
}

/* The other stream could be that of another process. */
static void launch(const struct work *work, ww_stream *other, uint64_t round)
{
	const uint64_t values[] = {round, round};
	unsigned char got[2] = {0};

	check(ww_stream_fill(other, ww_memory_pointer(work->input), (uint32_t)round, 1, HALF));
	check(ww_timeline_stream_signal(work->ready, other, round));
	check(ww_graph_launch(work->stream, work->executable, work->nodes, values, 2, WW_FOREVER,
		NULL));
	check(ww_timeline_wait(work->first, round, WW_FOREVER, NULL));
	check(ww_memory_read(work->memory, 0, &got[0], 1, WW_FOREVER, NULL));
	check(ww_stream_synchronize(work->stream, WW_FOREVER, NULL));
	check(ww_memory_read(work->memory, HALF, &got[1], 1, WW_FOREVER, NULL));
	printf("launch %d: the halves have %d and %d\n", (int)round, got[0], got[1]);
	if (got[0] != 1 || got[1] != round)
		exit(1);
}

static void run(ww_device *device, uint32_t index)
{
	struct cuda_driver cuda = cuda_start((int)index);
	struct work work = {0};
	ww_stream *other;

	check(ww_memory_create(device, WW_PARAMS(struct ww_memory_params, .bytes = 2 * HALF),
		&work.memory));
	check(ww_memory_create(device, WW_PARAMS(struct ww_memory_params, .bytes = HALF),
		&work.input));
	check(ww_timeline_create(NULL, &work.first));
	check(ww_timeline_create(NULL, &work.ready));
	check(ww_stream_create(device, &work.stream));
	check(ww_stream_create(device, &other));
	capture(&cuda, &work);
	for (uint64_t round = 1; round <= ROUNDS; round++)
		launch(&work, other, round);
	cuda_check("cuGraphExecDestroy", cuda.executable_destroy(work.executable));
	cuda_check("cuGraphDestroy", cuda.graph_destroy(work.graph));
	ww_graph_node_unref(work.nodes[0]);
	ww_graph_node_unref(work.nodes[1]);
	ww_stream_unref(other);
	ww_stream_unref(work.stream);
	ww_timeline_unref(work.ready);
	ww_timeline_unref(work.first);
	ww_memory_unref(work.input);
	ww_memory_unref(work.memory);
}

int main(int argc, char **argv)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	ww_device *device;

	check(ww_device_open(argc > 1 ? argv[1] : NULL, &device));
	check(ww_device_info_get(device, &info));
	if (info.capabilities & WW_CAP_GRAPH)
		run(device, info.index);
	else
		printf("%s has no graphs in which nodes signal and wait\n", info.selector);
	ww_device_unref(device);
	return 0;
}
