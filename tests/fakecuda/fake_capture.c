/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_capture.c - captures of streams
 *
 * What a captured stream is given becomes a node of a graph (fake_graph.c), behind what it was
 * given before or what the program has made its dependency. Events are not for graphs here, nor are
 * graphs: only what the stream alone does.
 *
 * A call that is forbidden during a capture fails, and invalidates the capture:
 *   - one on the captured stream that is no work; on the legacy stream beside a captured blocking
 *     one; on the whole context, such as cuCtxRecordEvent(): always;
 *   - a potentially unsafe one, in the thread of a capture or, if its mode is global, in any
 *     thread: unless the calling thread is in a laxer mode. cuda.h names hardly any of these calls:
 *     here they are all that allocate, map, open, wait or query.
 */
#include "fake.h"

#include <stdlib.h>

struct fake_capture {
	struct fake_capture *next;
	struct fake_stream *stream;
	struct fake_graph *graph;
	struct fake_op *after; /* what the next node comes after; NULL: nothing */
	ww_CUstreamCaptureMode mode;
	uint64_t thread;
	bool is_invalid;
};

static struct fake_capture *captures;
static _Thread_local ww_CUstreamCaptureMode thread_mode;

static bool is_unsafe(enum fake_function function)
{
	switch (function) {
	case FAKE_cuDevicePrimaryCtxRetain:
	case FAKE_cuDevicePrimaryCtxRelease:
	case FAKE_cuMemCreate:
	case FAKE_cuMemRelease:
	case FAKE_cuMemAddressReserve:
	case FAKE_cuMemAddressFree:
	case FAKE_cuMemMap:
	case FAKE_cuMemUnmap:
	case FAKE_cuMemSetAccess:
	case FAKE_cuMemExportToShareableHandle:
	case FAKE_cuMemImportFromShareableHandle:
	case FAKE_cuMemRetainAllocationHandle:
	case FAKE_cuMemAlloc:
	case FAKE_cuMemFree:
	case FAKE_cuMemAllocManaged:
	case FAKE_cuMemHostAlloc:
	case FAKE_cuMemFreeHost:
	case FAKE_cuMemHostRegister:
	case FAKE_cuMemHostUnregister:
	case FAKE_cuMemcpy:
	case FAKE_cuMemcpyHtoD:
	case FAKE_cuMemcpyDtoH:
	case FAKE_cuMemcpyDtoD:
	case FAKE_cuMemsetD8:
	case FAKE_cuMemsetD16:
	case FAKE_cuMemsetD32:
	case FAKE_cuStreamCreate:
	case FAKE_cuStreamCreateWithPriority:
	case FAKE_cuStreamDestroy:
	case FAKE_cuStreamSynchronize:
	case FAKE_cuStreamQuery:
	case FAKE_cuEventQuery:
	case FAKE_cuEventSynchronize:
	case FAKE_cuIpcGetMemHandle:
	case FAKE_cuIpcOpenMemHandle:
	case FAKE_cuIpcCloseMemHandle:
	case FAKE_cuIpcGetEventHandle:
	case FAKE_cuIpcOpenEventHandle:
	case FAKE_cuMemPoolCreate:
	case FAKE_cuMemPoolDestroy:
	case FAKE_cuMemPoolSetAttribute:
	case FAKE_cuMemPoolGetAttribute:
	case FAKE_cuMemPoolSetAccess:
	case FAKE_cuMemPoolTrimTo:
	case FAKE_cuMemPoolExportToShareableHandle:
	case FAKE_cuMemPoolImportFromShareableHandle:
	case FAKE_cuMemPoolExportPointer:
	case FAKE_cuMemPoolImportPointer:
	case FAKE_cuModuleLoadData:
	case FAKE_cuModuleLoadDataEx:
	case FAKE_cuModuleUnload:
	case FAKE_cuFuncLoad:
		return true;
	default:
		return false;
	}
}

/* Whether a capture forbids the calling thread what is unsafe. */
static bool forbids(const struct fake_capture *capture)
{
	if (capture->thread == fake_thread_token())
		return capture->mode != WW_CU_STREAM_CAPTURE_MODE_RELAXED;
	return capture->mode == WW_CU_STREAM_CAPTURE_MODE_GLOBAL &&
		thread_mode == WW_CU_STREAM_CAPTURE_MODE_GLOBAL;
}

ww_CUresult fake_capture_check(enum fake_function function)
{
	ww_CUresult error = WW_CUDA_SUCCESS;

	if (thread_mode == WW_CU_STREAM_CAPTURE_MODE_RELAXED || !is_unsafe(function))
		return error;
	for (struct fake_capture *capture = captures; capture; capture = capture->next) {
		if (!forbids(capture))
			continue;
		capture->is_invalid = true;
		error = WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return error;
}

ww_CUresult fake_capture_refuse(const struct fake_stream *stream)
{
	if (!stream->capture)
		return WW_CUDA_SUCCESS;
	stream->capture->is_invalid = true;
	return WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

ww_CUresult fake_capture_refuse_context(const struct fake_context *context)
{
	ww_CUresult error = WW_CUDA_SUCCESS;

	for (const struct fake_capture *capture = captures; capture; capture = capture->next)
		if (capture->stream->context == context)
			error = fake_capture_refuse(capture->stream);
	return error;
}

static bool is_beside_blocking(const struct fake_capture *capture,
	const struct fake_context *context)
{
	return capture->stream->context == context &&
		!(capture->stream->flags & WW_CU_STREAM_NON_BLOCKING);
}

ww_CUresult fake_capture_refuse_legacy(const struct fake_context *context)
{
	ww_CUresult error = WW_CUDA_SUCCESS;

	for (struct fake_capture *capture = captures; capture; capture = capture->next) {
		if (!is_beside_blocking(capture, context))
			continue;
		capture->is_invalid = true;
		error = WW_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return error;
}

/* Return: its graph, which is the caller's. */
static struct fake_graph *capture_end(struct fake_capture *capture)
{
	struct fake_capture **at = &captures;
	struct fake_graph *graph = capture->graph;

	while (*at != capture)
		at = &(*at)->next;
	*at = capture->next;
	capture->stream->capture = NULL;
	free(capture);
	return graph;
}

void fake_capture_drop(const struct fake_stream *stream)
{
	if (stream->capture)
		fake_graph_unref(capture_end(stream->capture));
}

/* Consumes @op. */
ww_CUresult fake_capture_push(struct fake_capture *capture, struct fake_op *op)
{
	bool is_kept = !capture->is_invalid && !op->drop;

	if (is_kept) {
		fake_graph_insert(capture->graph, op, capture->after);
		capture->after = op;
		return WW_CUDA_SUCCESS;
	}
	fake_op_free(op);
	if (capture->is_invalid)
		return WW_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return fake_capture_refuse(capture->stream);
}

FAKE_API cuThreadExchangeStreamCaptureMode(ww_CUstreamCaptureMode *mode)
{
	FAKE_ENTER(cuThreadExchangeStreamCaptureMode);
	if (!mode || *mode < WW_CU_STREAM_CAPTURE_MODE_GLOBAL ||
		*mode > WW_CU_STREAM_CAPTURE_MODE_RELAXED)
		return WW_CUDA_ERROR_INVALID_VALUE;
	ww_CUstreamCaptureMode before = thread_mode;
	thread_mode = *mode;
	*mode = before;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamIsCapturing(ww_CUstream handle, ww_CUstreamCaptureStatus *out_status)
{
	FAKE_ENTER(cuStreamIsCapturing);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_look(handle, &stream);
	if (error)
		return error;
	if (!out_status)
		return WW_CUDA_ERROR_INVALID_VALUE;
	for (const struct fake_capture *capture = captures; capture && stream->legacy;
		capture = capture->next)
		if (is_beside_blocking(capture, stream->context))
			return WW_CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (!stream->capture)
		*out_status = WW_CU_STREAM_CAPTURE_STATUS_NONE;
	else if (stream->capture->is_invalid)
		*out_status = WW_CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	else
		*out_status = WW_CU_STREAM_CAPTURE_STATUS_ACTIVE;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamBeginCapture_v2(ww_CUstream handle, ww_CUstreamCaptureMode mode)
{
	FAKE_ENTER(cuStreamBeginCapture);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_look(handle, &stream);
	if (error)
		return error;
	if (stream->legacy)
		return WW_CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return WW_CUDA_ERROR_ILLEGAL_STATE;
	struct fake_capture *capture = calloc(1, sizeof(*capture));
	struct fake_graph *graph = fake_graph_new();
	if (!capture || !graph) {
		free(capture);
		free(graph);
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	}
	*capture = (struct fake_capture){.next = captures,
		.stream = stream,
		.graph = graph,
		.mode = mode,
		.thread = fake_thread_token()};
	captures = capture;
	stream->capture = capture;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamEndCapture(ww_CUstream handle, ww_CUgraph *out_graph)
{
	FAKE_ENTER(cuStreamEndCapture);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_look(handle, &stream);
	if (error)
		return error;
	struct fake_capture *capture = stream->capture;
	if (!capture)
		return WW_CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != WW_CU_STREAM_CAPTURE_MODE_RELAXED &&
		capture->thread != fake_thread_token())
		return WW_CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	bool is_invalid = capture->is_invalid;
	struct fake_graph *graph = capture_end(capture);
	if (is_invalid)
		fake_graph_unref(graph);
	*out_graph = is_invalid ? NULL : (ww_CUgraph)graph;
	return is_invalid ? WW_CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : WW_CUDA_SUCCESS;
}

FAKE_API cuStreamGetCaptureInfo_v2(ww_CUstream handle, ww_CUstreamCaptureStatus *out_status,
	uint64_t *out_id, ww_CUgraph *out_graph, const ww_CUgraphNode **out_dependencies,
	size_t *out_count)
{
	FAKE_ENTER(cuStreamGetCaptureInfo);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_look(handle, &stream);
	if (error)
		return error;
	struct fake_capture *capture = stream->capture;
	if (!out_status || out_id)
		return WW_CUDA_ERROR_INVALID_VALUE; /* captures have no number here */
	*out_status = WW_CU_STREAM_CAPTURE_STATUS_NONE;
	if (capture && capture->is_invalid)
		*out_status = WW_CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	if (!capture || capture->is_invalid)
		return WW_CUDA_SUCCESS;
	*out_status = WW_CU_STREAM_CAPTURE_STATUS_ACTIVE;
	*out_graph = (ww_CUgraph)capture->graph;
	*out_dependencies = (const ww_CUgraphNode *)&capture->after;
	*out_count = capture->after ? 1 : 0;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamUpdateCaptureDependencies(ww_CUstream handle, ww_CUgraphNode *dependencies,
	size_t count, unsigned int flags)
{
	FAKE_ENTER(cuStreamUpdateCaptureDependencies);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_look(handle, &stream);
	if (error)
		return error;
	if (!stream->capture || stream->capture->is_invalid)
		return WW_CUDA_ERROR_ILLEGAL_STATE;
	if (!dependencies || count != 1 || flags != WW_CU_STREAM_SET_CAPTURE_DEPENDENCIES ||
		!fake_graph_has(stream->capture->graph, dependencies[0]))
		return WW_CUDA_ERROR_INVALID_VALUE;
	stream->capture->after = (struct fake_op *)dependencies[0];
	return WW_CUDA_SUCCESS;
}
