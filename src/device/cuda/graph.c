/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - nodes of CUDA graphs that wait for a word, or store one
 *
 * A launch gives the nodes of an executable graph their words, launches it, and makes them idle
 * again. CUDA takes the words at the launch: what is changed later concerns later launches only. So
 * a launch of the same graph by the program itself neither waits for an old value nor stores one.
 *
 * A node is in a context, which cannot be changed: that of the stream that it was made with.
 */
#include <string.h>

#include "device/cuda/cuda.h"

static ww_CUstreamBatchMemOpParams operation(const struct ww_device_node *node,
	const struct ww_stream_value *word)
{
	ww_CUstreamBatchMemOpParams write;

	if (!node->is_signal)
		return ww_cuda_wait_operation(word);
	memset(&write, 0, sizeof(write));
	write.writeValue.operation = WW_CU_STREAM_MEM_OP_WRITE_VALUE_64;
	write.writeValue.address = ww_cuda_word_address(word);
	write.writeValue.value64 = word->value;
	write.writeValue.flags = WW_CU_STREAM_WRITE_VALUE_DEFAULT;
	return write;
}

static ww_CUresult add(const struct ww_cuda_driver *driver, ww_CUgraph graph,
	const ww_CUgraphNode *dependencies, size_t count, struct ww_device_node *node)
{
	ww_CUstreamBatchMemOpParams idle = operation(node, &node->idle);
	ww_CUDA_BATCH_MEM_OP_NODE_PARAMS params = {.count = 1, .paramArray = &idle};
	ww_CUgraphNode native = NULL;
	ww_CUresult result = driver->cuCtxGetCurrent(&params.ctx);

	if (result == WW_CUDA_SUCCESS)
		result = driver->cuGraphAddBatchMemOpNode(&native, graph, dependencies, count,
			&params);
	node->native = native;
	node->context = params.ctx;
	return result;
}

ww_status ww_cuda_graph_add(struct ww_stream *stream, void *graph, void *const *dependencies,
	uint64_t count, struct ww_device_node *node)
{
	const struct ww_cuda_driver *driver = ww_cuda_device(stream->device)->driver;
	const ww_CUgraphNode *after = (const ww_CUgraphNode *)dependencies;
	ww_CUstream native = ww_cuda_stream_native(stream);
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	size_t after_count = count;
	ww_CUgraph into = graph;
	ww_CUresult result;

	ww_try(ww_cuda_stream_enter(stream, &scope));
	if (!into) {
		ww_CUstreamCaptureStatus status = WW_CU_STREAM_CAPTURE_STATUS_NONE;

		/*
		 * Find the graph into which the stream is captured, and what the next piece of work
		 * comes after.
		 */
		result = driver->cuStreamGetCaptureInfo(native, &status, NULL, &into, &after,
			&after_count);
		if (result != WW_CUDA_SUCCESS)
			return ww_cuda_fail(driver, result, NULL,
				"cannot find the graph that stream %p is captured into",
				(void *)native);
		if (status != WW_CU_STREAM_CAPTURE_STATUS_ACTIVE)
			return ww_fail(WW_ERR_STATE,
				"stream %p is not captured into a CUDA graph%s: begin a capture, or give the graph",
				(void *)native,
				status == WW_CU_STREAM_CAPTURE_STATUS_NONE
					? ""
					: " any more, since a call ended that");
	}
	result = add(driver, into, after, after_count, node);
	if (result == WW_CUDA_SUCCESS && !graph)
		result = driver->cuStreamUpdateCaptureDependencies(native,
			(ww_CUgraphNode *)&node->native, 1, WW_CU_STREAM_SET_CAPTURE_DEPENDENCIES);
	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	return ww_cuda_fail_as(result == WW_CUDA_ERROR_INVALID_VALUE ? WW_ERR_INVALID
								     : ww_cuda_status(result),
		driver, result, NULL, "cannot add a node to CUDA graph %p of %s", (void *)into,
		stream->device->selector);
}

static ww_CUresult set(const struct ww_cuda_driver *driver, ww_CUgraphExec executable,
	const struct ww_device_node *node, const struct ww_stream_value *word)
{
	ww_CUstreamBatchMemOpParams params = operation(node, word);
	const ww_CUDA_BATCH_MEM_OP_NODE_PARAMS all = {node->context, 1, &params, 0};

	return driver->cuGraphExecBatchMemOpNodeSetParams(executable, node->native, &all);
}

ww_status ww_cuda_graph_launch(struct ww_stream *stream, void *executable,
	const struct ww_device_node *const *nodes, const struct ww_stream_value *words,
	uint32_t count)
{
	const struct ww_cuda_driver *driver = ww_cuda_device(stream->device)->driver;
	WW_AUTO_CUDA_SCOPE struct ww_cuda_scope scope = {NULL};
	ww_CUresult result = WW_CUDA_SUCCESS;
	bool is_set;
	uint32_t i;

	ww_try(ww_cuda_stream_enter(stream, &scope));
	for (i = 0; i < count && result == WW_CUDA_SUCCESS; i++)
		result = set(driver, executable, nodes[i], &words[i]);
	is_set = result == WW_CUDA_SUCCESS;
	if (is_set)
		result = driver->cuGraphLaunch(executable, ww_cuda_stream_native(stream));
	while (i-- > 0)
		(void)set(driver, executable, nodes[i], &nodes[i]->idle);
	if (result == WW_CUDA_SUCCESS)
		return WW_OK;
	return ww_cuda_fail_as(result == WW_CUDA_ERROR_INVALID_VALUE ? WW_ERR_INVALID
								     : ww_cuda_status(result),
		driver, result,
		is_set ? NULL
		       : "was it made of the graph that has these nodes, and is that still there?",
		"cannot launch executable CUDA graph %p on %s", executable,
		stream->device->selector);
}
