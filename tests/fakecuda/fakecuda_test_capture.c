/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakecuda_test_capture.c - what a capture forbids, to whom, and what its graph does
 */
#include "fakecuda_test.h"

#include <pthread.h>
#include <stdio.h>

#define GLOBAL       WW_CU_STREAM_CAPTURE_MODE_GLOBAL
#define THREAD_LOCAL WW_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
#define RELAXED      WW_CU_STREAM_CAPTURE_MODE_RELAXED

static ww_CUresult end(ww_CUstream stream)
{
	ww_CUgraph graph = NULL;
	ww_CUresult error = cu.cuStreamEndCapture(stream, &graph);

	if (error == WW_CUDA_SUCCESS)
		OK(cu.cuGraphDestroy(graph));
	else
		assert_null(graph);
	return error;
}

static ww_CUresult make_unsafe_call(ww_CUstreamCaptureMode mode)
{
	ww_CUdeviceptr address;
	ww_CUresult error;

	OK(cu.cuThreadExchangeStreamCaptureMode(&mode));
	error = cu.cuMemAlloc(&address, 1);
	OK(cu.cuThreadExchangeStreamCaptureMode(&mode));
	if (error == WW_CUDA_SUCCESS) {
		mode = RELAXED;
		OK(cu.cuThreadExchangeStreamCaptureMode(&mode));
		OK(cu.cuMemFree(address));
		OK(cu.cuThreadExchangeStreamCaptureMode(&mode));
	}
	return error;
}

struct caller {
	ww_CUcontext context;
	ww_CUstreamCaptureMode mode;
	ww_CUresult result;
};

static void *call_elsewhere(void *context)
{
	struct caller *caller = context;

	OK(cu.cuCtxSetCurrent(caller->context));
	caller->result = make_unsafe_call(caller->mode);
	return NULL;
}

static ww_CUresult make_unsafe_call_elsewhere(ww_CUstreamCaptureMode mode)
{
	struct caller caller = {.mode = mode};
	pthread_t thread;

	OK(cu.cuCtxGetCurrent(&caller.context));
	assert_int_equal(pthread_create(&thread, NULL, call_elsewhere, &caller), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return caller.result;
}

/* By the mode of the capture and of the calling thread, as cuda.h says. */
TEST(test_unsafe_calls_end_captures)
{
	static const bool is_forbidden[3][3] = {{true, true, false}, {true, true, false}};
	static const bool is_forbidden_elsewhere[3][3] = {{true, false, false}};
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);

	for (int of = GLOBAL; of <= RELAXED; of++) {
		for (int by = GLOBAL; by <= RELAXED; by++) {
			bool is_ended = is_forbidden[of][by];

			OK(cu.cuStreamBeginCapture(stream, of));
			assert_int_equal(make_unsafe_call(by),
				is_ended ? WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0);
			assert_int_equal(end(stream),
				is_ended ? WW_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : 0);
			is_ended = is_forbidden_elsewhere[of][by];
			OK(cu.cuStreamBeginCapture(stream, of));
			assert_int_equal(make_unsafe_call_elsewhere(by),
				is_ended ? WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0);
			assert_int_equal(end(stream),
				is_ended ? WW_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : 0);
		}
	}
	OK(cu.cuStreamDestroy(stream));
}

#define ENDS_CAPTURE(stream, call, error)                       \
	do {                                                    \
		OK(cu.cuStreamBeginCapture(stream, RELAXED));   \
		FAILS(call, error);                             \
		FAILS(end(stream), STREAM_CAPTURE_INVALIDATED); \
	} while (0)

/* In any mode. */
TEST(test_calls_on_what_is_captured_end_captures)
{
	ww_CUstream stream = stream_new(WW_CU_STREAM_DEFAULT);
	ww_CUstreamCaptureStatus status;
	unsigned long long id;
	ww_CUcontext context;
	ww_CUevent event;

	OK(cu.cuCtxGetCurrent(&context));
	OK(cu.cuEventCreate(&event, WW_CU_EVENT_DISABLE_TIMING));
	ENDS_CAPTURE(stream, cu.cuStreamGetId(stream, &id), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuStreamQuery(stream), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuStreamSynchronize(stream), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuCtxSynchronize(), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuCtxRecordEvent(context, event), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuEventRecord(event, stream), STREAM_CAPTURE_UNSUPPORTED);
	ENDS_CAPTURE(stream, cu.cuStreamQuery(NULL), STREAM_CAPTURE_IMPLICIT);
	OK(cu.cuStreamBeginCapture(stream, GLOBAL));
	OK(cu.cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, WW_CU_STREAM_CAPTURE_STATUS_ACTIVE);
	FAILS(cu.cuStreamIsCapturing(NULL, &status), STREAM_CAPTURE_IMPLICIT);
	OK(end(stream));
	OK(cu.cuStreamIsCapturing(stream, &status));
	assert_int_equal(status, WW_CU_STREAM_CAPTURE_STATUS_NONE);
	FAILS(end(stream), STREAM_CAPTURE_UNMATCHED);
	OK(cu.cuEventDestroy(event));
	OK(cu.cuStreamDestroy(stream));
}

/* A stream that is destroyed takes its capture along. */
TEST(test_captured_stream_is_destroyed)
{
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);

	OK(cu.cuStreamBeginCapture(stream, RELAXED));
	OK(cu.cuMemsetD8Async(0, 0, 0, stream));
	OK(cu.cuStreamDestroy(stream));
}

/* Each launch does all that was captured, with the arguments of then. */
TEST(test_graph_is_launched_often)
{
	char text[4096];
	ww_CUmodule module;
	ww_CUfunction kernel;
	ww_CUgraph graph;
	ww_CUgraphExec executable;
	ww_CUdeviceptr address;
	uint32_t first = 8;
	uint32_t count = 3;
	void *arguments[] = {&address, &first, &count};

	snprintf(text, sizeof(text),
		".version 6.0\n// fakecuda: %s\n.visible .entry fill_numbers(.param .u64 x,\n"
		"	.param .b32 first, .param .b32 count) { bra anywhere; }\n",
		getenv("WW_TEST_KERNELS"));
	OK(cu.cuModuleLoadData(&module, text));
	OK(cu.cuModuleGetFunction(&kernel, module, "fill_numbers"));
	OK(cu.cuMemAlloc(&address, GRANULARITY));
	write_word(address, 1);
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	OK(cu.cuStreamBeginCapture(stream, GLOBAL));
	OK(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
	OK(cu.cuMemcpyAsync(address + 4, address, 4, stream));
	OK(cu.cuStreamEndCapture(stream, &graph));
	OK(cu.cuGraphInstantiateWithFlags(&executable, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	assert_int_equal(read_word(address), 1);
	first = 9;
	for (int i = 0; i < 3; i++) {
		write_word(address, 1);
		write_word(address + 4, 1);
		OK(cu.cuGraphLaunch(executable, stream));
		OK(cu.cuStreamSynchronize(stream));
		assert_int_equal(read_word(address), 8);
		assert_int_equal(read_word(address + 4), 8);
		assert_int_equal(read_word(address + 8), 10);
	}
	OK(cu.cuGraphExecDestroy(executable));
	OK(cu.cuMemFree(address));
	OK(cu.cuModuleUnload(module));
	OK(cu.cuStreamDestroy(stream));
}

static ww_CUgraphNode node_add(ww_CUgraph graph, ww_CUgraphNode after, ww_CUdeviceptr to,
	uint64_t value)
{
	ww_CUstreamBatchMemOpParams write = {
		.writeValue = {.operation = WW_CU_STREAM_MEM_OP_WRITE_VALUE_64,
			.address = to,
			.value64 = value}};
	ww_CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &write};
	ww_CUgraphNode node;

	OK(cu.cuCtxGetCurrent(&params.ctx));
	OK(cu.cuGraphAddBatchMemOpNode(&node, graph, &after, after ? 1 : 0, &params));
	return node;
}

static ww_CUresult node_set(ww_CUgraphExec executable, ww_CUgraphNode node, ww_CUdeviceptr to,
	uint64_t value)
{
	ww_CUstreamBatchMemOpParams write = {
		.writeValue = {.operation = WW_CU_STREAM_MEM_OP_WRITE_VALUE_64,
			.address = to,
			.value64 = value}};
	ww_CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &write};

	OK(cu.cuCtxGetCurrent(&params.ctx));
	return cu.cuGraphExecBatchMemOpNodeSetParams(executable, node, &params);
}

static void run(ww_CUgraphExec executable, ww_CUstream stream)
{
	OK(cu.cuGraphLaunch(executable, stream));
	OK(cu.cuStreamSynchronize(stream));
}

/* They run behind what they depend on; what is set is so in one executable graph, from then on. */
TEST(test_nodes_are_added_and_set)
{
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	ww_CUgraphExec executables[2];
	ww_CUdeviceptr address;
	ww_CUgraph graph;

	OK(cu.cuMemAlloc(&address, GRANULARITY));
	OK(cu.cuGraphCreate(&graph, 0));
	ww_CUgraphNode first = node_add(graph, NULL, address, 1);
	ww_CUgraphNode behind = node_add(graph, first, address, 2);
	node_add(graph, NULL, address, 3);
	for (int i = 0; i < 2; i++)
		OK(cu.cuGraphInstantiateWithFlags(&executables[i], graph, 0));
	run(executables[0], stream);
	assert_int_equal(read_word(address), 2);
	OK(node_set(executables[0], behind, address, 4));
	run(executables[1], stream);
	assert_int_equal(read_word(address), 2);
	run(executables[0], stream);
	assert_int_equal(read_word(address), 4);
	FAILS(node_set(executables[0], (ww_CUgraphNode)graph, address, 4), INVALID_VALUE);
	FAILS(node_set(executables[0], behind, address + 4, 4), INVALID_VALUE);
	OK(cu.cuGraphDestroy(graph));
	FAILS(node_set(executables[0], behind, address, 5), INVALID_VALUE);
	for (int i = 0; i < 2; i++)
		OK(cu.cuGraphExecDestroy(executables[i]));
	OK(cu.cuMemFree(address));
	OK(cu.cuStreamDestroy(stream));
}

/* What a capture is given next comes behind the node only if that is made its dependency. */
TEST(test_nodes_are_added_to_captures)
{
	ww_CUstream stream = stream_new(WW_CU_STREAM_NON_BLOCKING);
	ww_CUstreamCaptureStatus status;
	const ww_CUgraphNode *after;
	ww_CUgraphExec executable;
	ww_CUdeviceptr address;
	ww_CUgraph graph;
	size_t count;

	OK(cu.cuMemAlloc(&address, GRANULARITY));
	OK(cu.cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, &count));
	assert_int_equal(status, WW_CU_STREAM_CAPTURE_STATUS_NONE);
	for (uint32_t is_behind = 0; is_behind < 2; is_behind++) {
		OK(cu.cuStreamBeginCapture(stream, GLOBAL));
		OK(cu.cuMemsetD32Async(address, 1, 1, stream));
		OK(cu.cuStreamGetCaptureInfo(stream, &status, NULL, &graph, &after, &count));
		assert_int_equal(status, WW_CU_STREAM_CAPTURE_STATUS_ACTIVE);
		assert_int_equal(count, 1);
		ww_CUgraphNode node = node_add(graph, after[0], address, 2);
		if (is_behind)
			OK(cu.cuStreamUpdateCaptureDependencies(stream, &node, 1,
				WW_CU_STREAM_SET_CAPTURE_DEPENDENCIES));
		OK(cu.cuMemsetD32Async(address, 3, 1, stream));
		OK(cu.cuStreamEndCapture(stream, &graph));
		OK(cu.cuGraphInstantiateWithFlags(&executable, graph, 0));
		run(executable, stream);
		assert_int_equal(read_word(address), is_behind ? 3 : 2);
		OK(cu.cuGraphExecDestroy(executable));
		OK(cu.cuGraphDestroy(graph));
	}
	OK(cu.cuMemFree(address));
	OK(cu.cuStreamDestroy(stream));
}
