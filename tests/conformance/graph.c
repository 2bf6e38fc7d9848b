/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - nodes of CUDA graphs that signal timelines and wait for them
 *
 * The graph of most cases is the capture of a stream: it fills the first half of a memory, signals
 * `half`, waits for `gate`, fills the second half, and signals `whole`. What has not happened yet
 * is held by another stream, which has to signal the gate and waits for the CPU.
 */
#include <pthread.h>

#include "conformance/conformance.h"
#include "support/allocation.h"
#include "support/broker_case.h"
#include "support/driver.h"
#include "support/timeline.h"

#define MUST_CUDA(call) MUST_EQUAL(WW_CUDA_SUCCESS, call)

#define HALF     512
#define LAUNCHES 3
#define RACES    20000 /* of each thread */
#define PATIENCE (120 * 1000 * MS)

#define GRAPHS (WW_CAP_GRAPH | WW_CAP_STREAM_WRAP)

/* A stream of the program, and an executable graph with what it was made of. */
struct graph {
	ww_device *device;
	ww_CUstream native;
	ww_stream *stream;
	ww_CUgraph graph;
	ww_CUgraphExec executable;
};

struct halves {
	struct graph graph;
	ww_memory *memory;
	ww_timeline *half, *gate, *whole;
	ww_graph_node *nodes[3]; /* in this order */
	ww_stream *holder;       /* signals the gate when it is released */
	ww_timeline *release;
};

static void graph_begin(struct graph *graph, ww_device *device)
{
	*graph = (struct graph){.device = device};
	MUST_CUDA(driver_get()->cuStreamCreate(&graph->native, WW_CU_STREAM_NON_BLOCKING));
	MUST_OK(ww_stream_wrap(device, graph->native, &graph->stream));
}

static void graph_end(struct graph *graph)
{
	const struct driver *driver = driver_get();

	MUST_OK(ww_stream_recover(graph->stream));
	MUST_OK(ww_stream_synchronize(graph->stream, PATIENCE, NULL));
	if (graph->executable)
		MUST_CUDA(driver->cuGraphExecDestroy(graph->executable));
	if (graph->graph)
		MUST_CUDA(driver->cuGraphDestroy(graph->graph));
	ww_stream_unref(graph->stream);
	MUST_CUDA(driver->cuStreamDestroy(graph->native));
}

static void capture_begin(struct graph *graph)
{
	MUST_CUDA(driver_get()->cuStreamBeginCapture(graph->native,
		WW_CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void instantiate(struct graph *graph)
{
	MUST_CUDA(driver_get()->cuGraphInstantiateWithFlags(&graph->executable, graph->graph, 0));
}

static void capture_end(struct graph *graph)
{
	MUST_CUDA(driver_get()->cuStreamEndCapture(graph->native, &graph->graph));
	instantiate(graph);
}

static ww_graph_node *node_make(struct graph *graph, uint32_t kind, ww_timeline *timeline)
{
	ww_graph_node *node;

	MUST_OK(ww_graph_node_create(timeline, graph->stream,
		WW_PARAMS(struct ww_graph_node_params, .kind = kind), &node));
	MUST(ww_graph_node_native(node));
	return node;
}

/* One node in a capture of its own. */
static ww_graph_node *node_alone(struct graph *graph, uint32_t kind, ww_timeline *timeline)
{
	ww_graph_node *node;

	capture_begin(graph);
	node = node_make(graph, kind, timeline);
	capture_end(graph);
	return node;
}

static ww_status launch_one(struct graph *graph, ww_graph_node *node, uint64_t value)
{
	return ww_graph_launch(graph->stream, graph->executable, &node, &value, 1, 0, NULL);
}

static void fill_half(const struct halves *halves, uint32_t half)
{
	uint32_t *words = ww_memory_pointer(halves->memory);

	MUST_CUDA(driver_get()->cuMemsetD32Async((ww_CUdeviceptr)(uintptr_t)(words +
							 (size_t)half * HALF),
		half + 1, HALF, halves->graph.native));
}

static void halves_begin(struct halves *halves, ww_device *device)
{
	allocation_enter();
	graph_begin(&halves->graph, device);
	halves->memory = memory_make(device, WW_MEMORY_VMM, 2 * HALF * sizeof(uint32_t));
	halves->half = timeline_make(0, 0);
	halves->gate = timeline_make(0, 0);
	halves->whole = timeline_make(0, 0);
	halves->release = timeline_make(0, 0);
	halves->holder = stream_make(device);
	capture_begin(&halves->graph);
	fill_half(halves, 0);
	halves->nodes[0] = node_make(&halves->graph, WW_GRAPH_SIGNAL, halves->half);
	halves->nodes[1] = node_make(&halves->graph, WW_GRAPH_WAIT, halves->gate);
	fill_half(halves, 1);
	halves->nodes[2] = node_make(&halves->graph, WW_GRAPH_SIGNAL, halves->whole);
	capture_end(&halves->graph);
}

static void halves_end(struct halves *halves)
{
	graph_end(&halves->graph);
	for (size_t i = 0; i < CHECK_COUNT(halves->nodes); i++)
		ww_graph_node_unref(halves->nodes[i]);
	ww_stream_unref(halves->holder);
	ww_timeline_unref(halves->release);
	ww_timeline_unref(halves->whole);
	ww_timeline_unref(halves->gate);
	ww_timeline_unref(halves->half);
	ww_memory_unref(halves->memory);
	allocation_leave();
}

#define HALVES_CASE(case_name, case_needs)                     \
	static void case_name##_halves(struct halves *halves); \
	DEVICE_CASE(case_name, case_needs)                     \
	{                                                      \
		ENDED_BY(halves_end) struct halves halves;     \
                                                               \
		halves_begin(&halves, device);                 \
		case_name##_halves(&halves);                   \
	}                                                      \
	static void case_name##_halves(struct halves *halves)

static ww_status launch(const struct halves *halves, uint64_t value)
{
	const uint64_t values[] = {value, value, value};

	return ww_graph_launch(halves->graph.stream, halves->graph.executable, halves->nodes,
		values, 3, 0, NULL);
}

/* The gate is to reach this value, but not before the holder is released. */
static void submit_gate(const struct halves *halves, uint64_t value)
{
	stream_hold(halves->holder, halves->release, value);
	MUST_OK(ww_timeline_stream_signal(halves->gate, halves->holder, value));
}

static void words_must_be(const struct halves *halves, uint32_t first, uint32_t second)
{
	uint32_t words[2 * HALF];

	memory_get(halves->memory, 0, words, sizeof(words));
	for (size_t i = 0; i < 2 * HALF; i++)
		MUST_EQUAL(i < HALF ? first : second, words[i]);
}

HALVES_CASE(graph_signals_and_waits_in_its_middle, GRAPHS)
{
	static const uint32_t zeros[2 * HALF];

	for (uint64_t value = 1; value <= LAUNCHES; value++) {
		memory_put(halves->memory, 0, zeros, sizeof(zeros));
		submit_gate(halves, value);
		MUST_OK(launch(halves, value));
		MUST_OK(ww_timeline_wait(halves->half, value, PATIENCE, NULL));
		words_must_be(halves, 1, 0);
		timeline_must_be(halves->whole, WW_TIMELINE_LIVE, value, value - 1);
		MUST_OK(ww_timeline_signal(halves->release, value));
		MUST_OK(ww_timeline_wait(halves->whole, value, PATIENCE, NULL));
		words_must_be(halves, 1, 2);
	}
	MUST_OK(ww_stream_query(halves->graph.stream));
}

/* What is set for a launch does not change launches that have not run yet, and waits for none. */
HALVES_CASE(graph_launches_queue_up, GRAPHS)
{
	uint64_t value;

	for (value = 1; value <= LAUNCHES; value++) {
		submit_gate(halves, value);
		MUST_OK(launch(halves, value));
	}
	for (value = 1; value <= LAUNCHES; value++) {
		MUST_OK(ww_timeline_wait(halves->half, value, PATIENCE, NULL));
		timeline_must_be(halves->half, WW_TIMELINE_LIVE, LAUNCHES, value);
		timeline_must_be(halves->whole, WW_TIMELINE_LIVE, LAUNCHES, value - 1);
		MUST_OK(ww_timeline_signal(halves->release, value));
	}
	MUST_OK(ww_timeline_wait(halves->whole, LAUNCHES, PATIENCE, NULL));
}

static void launch_by_driver(const struct graph *graph)
{
	MUST_CUDA(driver_get()->cuGraphLaunch(graph->executable, graph->native));
	MUST_CUDA(driver_get()->cuStreamSynchronize(graph->native));
}

/* Nor does one that a launch does not name. */
HALVES_CASE(graph_nodes_without_values_do_nothing, GRAPHS)
{
	launch_by_driver(&halves->graph);
	words_must_be(halves, 1, 2);
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, 0, 0);
	MUST_OK(ww_timeline_signal(halves->gate, 5));
	MUST_OK(launch(halves, 5));
	MUST_OK(ww_timeline_wait(halves->whole, 5, PATIENCE, NULL));
	MUST_OK(ww_timeline_signal(halves->half, 6));
	launch_by_driver(&halves->graph);
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, 6, 6);
	MUST_OK(launch_one(&halves->graph, halves->nodes[2], 7));
	MUST_OK(ww_timeline_wait(halves->whole, 7, PATIENCE, NULL));
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, 6, 6);
	MUST_OK(ww_graph_launch(halves->graph.stream, halves->graph.executable, NULL, NULL, 0, 0,
		NULL));
	MUST_OK(ww_stream_synchronize(halves->graph.stream, PATIENCE, NULL));
	timeline_must_be(halves->whole, WW_TIMELINE_LIVE, 7, 7);
}

static void halves_must_be(const struct halves *halves, uint64_t value)
{
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, value, value);
	timeline_must_be(halves->whole, WW_TIMELINE_LIVE, value, value);
}

/* What is refused is not launched, and changes nothing. */
HALVES_CASE(graph_launch_refuses, GRAPHS)
{
	ww_graph_node *const twice[] = {halves->nodes[0], halves->nodes[0]};
	const uint64_t mixed[] = {2, 3, WW_TIMELINE_MAX + 1};
	const uint64_t too_high_wait[] = {2, WW_TIMELINE_MAX + 1, 2};
	struct graph *graph = &halves->graph;
	ww_CUgraph captured;

	MUST_OK(ww_timeline_signal(halves->gate, 1));
	MUST_OK(launch(halves, 1));
	MUST_OK(ww_stream_synchronize(graph->stream, PATIENCE, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "grow", launch(halves, 1));
	MUST_REFUSE(WW_ERR_INVALID, "grow", launch(halves, 0));
	MUST_STATUS(WW_TIMED_OUT, launch(halves, 2));
	MUST_OK(ww_timeline_signal(halves->gate, 3));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_graph_launch(graph->stream, graph->executable, halves->nodes, mixed, 3, 0,
			NULL));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_graph_launch(graph->stream, graph->executable, halves->nodes, too_high_wait, 3,
			0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "twice",
		ww_graph_launch(graph->stream, graph->executable, twice, mixed, 2, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "64 at most",
		ww_graph_launch(graph->stream, graph->executable, halves->nodes, mixed, 65, 0,
			NULL));
	capture_begin(graph);
	MUST_REFUSE(WW_ERR_STATE, "captured", launch(halves, 2));
	MUST_CUDA(driver_get()->cuStreamEndCapture(graph->native, &captured));
	MUST_CUDA(driver_get()->cuGraphDestroy(captured));
	halves_must_be(halves, 1);
	MUST_OK(launch(halves, 2));
	MUST_OK(ww_stream_synchronize(graph->stream, PATIENCE, NULL));
	halves_must_be(halves, 2);
}

/* The nodes of a launch are those of its graph. */
DEVICE_CASE(graph_refuses_nodes_of_others, GRAPHS)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	const uint64_t values[] = {1, 2};
	struct graph graph, other;
	ww_graph_node *nodes[2];

	allocation_enter();
	graph_begin(&graph, device);
	graph_begin(&other, device);
	nodes[0] = node_alone(&graph, WW_GRAPH_SIGNAL, timeline);
	nodes[1] = node_alone(&other, WW_GRAPH_SIGNAL, timeline);
	MUST_REFUSE(WW_ERR_INVALID, "use two timelines",
		ww_graph_launch(graph.stream, graph.executable, nodes, values, 2, 0, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "made of the graph", launch_one(&graph, nodes[1], 1));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 0, 0);
	MUST_OK(launch_one(&other, nodes[1], 1));
	MUST_OK(launch_one(&graph, nodes[0], 2));
	MUST_OK(ww_timeline_wait(timeline, 2, PATIENCE, NULL));
	graph_end(&other);
	graph_end(&graph);
	for (size_t i = 0; i < CHECK_COUNT(nodes); i++)
		ww_graph_node_unref(nodes[i]);
	allocation_leave();
}

/* A launch that fails leaves no value behind. */
HALVES_CASE(graph_launch_fails, GRAPHS | NEEDS_FAKE)
{
	const struct fake *fake = fake_get();

	MUST_OK(ww_timeline_signal(halves->gate, 2));
	fake->fail("cuGraphLaunch", 1, WW_CUDA_ERROR_OUT_OF_MEMORY);
	MUST_STATUS(WW_ERR_DEVICE_MEMORY, launch(halves, 1));
	for (unsigned int i = 1; i <= 3; i++) {
		fake->fail("cuGraphExecBatchMemOpNodeSetParams", i, WW_CUDA_ERROR_OUT_OF_MEMORY);
		MUST_STATUS(WW_ERR_DEVICE_MEMORY, launch(halves, 1));
	}
	launch_by_driver(&halves->graph);
	halves_must_be(halves, 0);
	MUST_OK(launch(halves, 1));
	MUST_OK(ww_stream_synchronize(halves->graph.stream, PATIENCE, NULL));
	halves_must_be(halves, 1);
}

/* Values of a timeline complete in their order, whichever streams and graphs signal them. */
HALVES_CASE(graph_signals_come_after_those_of_other_streams, GRAPHS)
{
	MUST_OK(ww_timeline_signal(halves->gate, 2));
	stream_hold(halves->holder, halves->release, 1);
	MUST_OK(ww_timeline_stream_signal(halves->half, halves->holder, 1));
	MUST_OK(launch(halves, 2));
	MUST_OK(ww_timeline_stream_signal(halves->half, halves->holder, 3));
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, 3, 0);
	MUST_OK(ww_timeline_signal(halves->release, 1));
	MUST_OK(ww_timeline_wait(halves->half, 3, PATIENCE, NULL));
	MUST_OK(ww_stream_synchronize(halves->graph.stream, PATIENCE, NULL));
	timeline_must_be(halves->half, WW_TIMELINE_LIVE, 3, 3);
}

/* By its dependencies, which a graph without captures has: waits, then signals. */
HALVES_CASE(graph_may_be_built, GRAPHS)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_graph_node *nodes[2];
	const uint64_t values[] = {1, 7};
	struct graph built;
	void *wait;

	graph_begin(&built, halves->graph.device);
	MUST_CUDA(driver_get()->cuGraphCreate(&built.graph, 0));
	MUST_OK(ww_graph_node_create(halves->gate, built.stream,
		WW_PARAMS(struct ww_graph_node_params, .kind = WW_GRAPH_WAIT, .graph = built.graph),
		&nodes[0]));
	wait = ww_graph_node_native(nodes[0]);
	MUST_OK(ww_graph_node_create(timeline, built.stream,
		WW_PARAMS(struct ww_graph_node_params, .kind = WW_GRAPH_SIGNAL,
			.graph = built.graph, .dependencies = &wait, .dependency_count = 1),
		&nodes[1]));
	instantiate(&built);
	submit_gate(halves, 1);
	MUST_OK(ww_graph_launch(built.stream, built.executable, nodes, values, 2, 0, NULL));
	timeline_must_be(timeline, WW_TIMELINE_LIVE, 7, 0);
	MUST_OK(ww_timeline_signal(halves->release, 1));
	MUST_OK(ww_timeline_wait(timeline, 7, PATIENCE, NULL));
	graph_end(&built);
	for (size_t i = 0; i < CHECK_COUNT(nodes); i++)
		ww_graph_node_unref(nodes[i]);
}

#define REFUSE_NODE(status, word, stream, ...)                                                \
	do {                                                                                  \
		ww_graph_node *made = (ww_graph_node *)&timeline;                             \
                                                                                              \
		MUST_REFUSE(status, word,                                                     \
			ww_graph_node_create(timeline, stream,                                \
				WW_PARAMS(struct ww_graph_node_params, __VA_ARGS__), &made)); \
		MUST(!made);                                                                  \
	} while (0)

DEVICE_CASE(graph_node_create_refuses, GRAPHS)
{
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	struct graph graph;

	allocation_enter();
	graph_begin(&graph, device);
	REFUSE_NODE(WW_ERR_STATE, "not captured", graph.stream, .kind = WW_GRAPH_SIGNAL);
	REFUSE_NODE(WW_ERR_INVALID, "kind", graph.stream, .kind = 3);
	REFUSE_NODE(WW_ERR_INVALID, "no graph", graph.stream, .kind = WW_GRAPH_WAIT,
		.dependency_count = 1);
	REFUSE_NODE(WW_ERR_INVALID, "no array", graph.stream, .kind = WW_GRAPH_WAIT,
		.graph = &graph, .dependency_count = 1);
	graph_end(&graph);
	allocation_leave();
}

/* The capture goes on, and what was added in spite of the failure does nothing. */
HALVES_CASE(graph_node_create_fails, GRAPHS | NEEDS_FAKE)
{
	static const char *const functions[] = {"cuStreamGetCaptureInfo",
		"cuGraphAddBatchMemOpNode", "cuStreamUpdateCaptureDependencies"};
	ww_timeline *timeline = halves->half;
	struct graph graph;

	graph_begin(&graph, halves->graph.device);
	capture_begin(&graph);
	for (size_t i = 0; i < CHECK_COUNT(functions); i++) {
		fake_get()->fail(functions[i], 1, WW_CUDA_ERROR_NOT_SUPPORTED);
		REFUSE_NODE(WW_ERR_UNSUPPORTED, "graph", graph.stream, .kind = WW_GRAPH_SIGNAL);
	}
	capture_end(&graph);
	launch_by_driver(&graph);
	halves_must_be(halves, 0);
	graph_end(&graph);
}

/* On the host device, and with a driver that has no such nodes. */
static void must_be_unsupported(void)
{
	OWN(device) ww_device *device = subject_open();
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);

	MUST(!(device_info(device).capabilities & WW_CAP_GRAPH));
	REFUSE_NODE(WW_ERR_UNSUPPORTED, "has no graphs", stream, .kind = WW_GRAPH_SIGNAL);
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "has no graphs",
		ww_graph_launch(stream, stream, NULL, NULL, 0, 0, NULL));
}

CASE_CALL(graph_is_nothing_for_the_host, NEEDS_HOST_BACKEND, must_be_unsupported())

ROLE(without_graphs)
{
	must_be_unsupported();
}

CASE(graph_needs_the_driver, WW_CAP_GRAPH | NEEDS_FAKE)
{
	const char *const settings[] = {"FAKECUDA_NO_GRAPH=1", NULL};
	ENDED_BY(child_finish) struct child child;

	child_start(&child, "without_graphs", &(struct child_options){.environment = settings});
}

/* --- several timelines at once --- */

struct racer {
	struct halves *halves;
	ww_graph_node *nodes[2]; /* of half and whole, in some order */
	struct graph graph;
	pthread_t thread;
};

/* The other thread may have signalled more meanwhile. */
static void *race(void *context)
{
	struct racer *racer = context;
	int launched = 0;

	while (launched < RACES) {
		uint64_t value = timeline_info(racer->halves->half).submitted + 1;
		const uint64_t values[] = {value, value};
		ww_status status = ww_graph_launch(racer->graph.stream, racer->graph.executable,
			racer->nodes, values, 2, 0, NULL);

		MUST(status == WW_OK || status == WW_ERR_INVALID);
		launched += status == WW_OK;
	}
	return NULL;
}

/* Threads whose launches signal the same timelines in another order do not block each other. */
HALVES_CASE(graph_launches_of_threads, GRAPHS)
{
	struct racer racers[2];

	for (int i = 0; i < 2; i++) {
		racers[i].halves = halves;
		graph_begin(&racers[i].graph, halves->graph.device);
		capture_begin(&racers[i].graph);
		racers[i].nodes[i] = node_make(&racers[i].graph, WW_GRAPH_SIGNAL, halves->half);
		racers[i].nodes[1 - i] = node_make(&racers[i].graph, WW_GRAPH_SIGNAL,
			halves->whole);
		capture_end(&racers[i].graph);
	}
	for (int i = 0; i < 2; i++)
		MUST_EQUAL(0, pthread_create(&racers[i].thread, NULL, race, &racers[i]));
	for (int i = 0; i < 2; i++)
		MUST_EQUAL(0, pthread_join(racers[i].thread, NULL));
	for (int i = 0; i < 2; i++) {
		graph_end(&racers[i].graph);
		ww_graph_node_unref(racers[i].nodes[0]);
		ww_graph_node_unref(racers[i].nodes[1]);
	}
	halves_must_be(halves, 2 * RACES);
}

/* --- processes that end --- */

/* A graph that waits for a process which ends goes on, and its stream is lost. */
SCENE_CASE(graph_wait_ends_with_its_signaller, GRAPHS | WW_CAP_HOST_READ_ONLY)
{
	OWN(timeline) ww_timeline *theirs = NULL;
	struct signaller signaller;
	ww_graph_node *node;
	struct graph graph;

	signaller_begin(&signaller);
	signaller_name(&signaller, "t", 0);
	MUST_OK(ww_timeline_get(scene.broker, "t", 0, NULL, &theirs));
	allocation_enter();
	graph_begin(&graph, scene.device);
	capture_begin(&graph);
	MUST_REFUSE(WW_ERR_ACCESS, "is its signaller",
		ww_graph_node_create(theirs, graph.stream,
			WW_PARAMS(struct ww_graph_node_params, .kind = WW_GRAPH_SIGNAL), &node));
	node = node_make(&graph, WW_GRAPH_WAIT, theirs);
	capture_end(&graph);
	MUST_STATUS(WW_TIMED_OUT, launch_one(&graph, node, 1));
	page_cell(&signaller.page, 0)->submitted = 1;
	MUST_OK(launch_one(&graph, node, 1));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(graph.stream));
	signaller_poison(&signaller);
	stream_must_be_lost(graph.stream, "(raw)");
	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", launch_one(&graph, node, 1));
	MUST_OK(ww_stream_recover(graph.stream));
	MUST_REFUSE(WW_ERR_PEER_LOST, "(raw)", launch_one(&graph, node, 1));
	graph_end(&graph);
	ww_graph_node_unref(node);
	signaller_end(&signaller);
	allocation_leave();
}

/* Launches a graph that stays in the middle, and waits for its end. */
ROLE(graph_signaller)
{
	OWN(device) ww_device *device = subject_open();
	struct halves halves;

	halves_begin(&halves, device);
	MUST_OK(ww_timeline_put(halves.half, NULL, "half", NULL, NULL));
	MUST_OK(ww_timeline_put(halves.whole, NULL, "whole", NULL, NULL));
	submit_gate(&halves, 1);
	MUST_OK(launch(&halves, 1));
	role_tell("launched");
	role_hear("never");
}

SCENE_CASE(graph_signaller_is_killed, GRAPHS | WW_CAP_HOST_READ_ONLY)
{
	OWN(timeline) ww_timeline *half = NULL;
	OWN(timeline) ww_timeline *whole = NULL;
	struct child child;

	child_start(&child, "graph_signaller", NULL);
	child_hear(&child, "launched");
	MUST_OK(ww_timeline_get(scene.broker, "half", 0, NULL, &half));
	MUST_OK(ww_timeline_get(scene.broker, "whole", 0, NULL, &whole));
	MUST_OK(ww_timeline_wait(half, 1, PATIENCE, NULL));
	MUST_EQUAL(1, timeline_info(whole).submitted);
	child_kill(&child);
	MUST_STATUS(WW_ERR_PEER_LOST, ww_timeline_wait(whole, 1, PATIENCE, NULL));
	MUST_OK(ww_timeline_wait(half, 1, 0, NULL));
}
