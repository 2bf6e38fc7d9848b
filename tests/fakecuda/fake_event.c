/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_event.c - events
 *
 * An event is two counters: how often it was recorded, and how many of these records a stream has
 * reached. To wait is to note the first and to wait until the second has come so far; an event
 * that was never recorded is complete. The counters of an event for other processes lie in shared
 * memory, so a wait for those looks again and again.
 *
 * An event may be destroyed while streams still use it: they hold references. One for other
 * processes that a stream of another context waits for crashes the driver, and so does it here.
 */
#include "fake.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_NS 100000
#define FLAGS_KNOWN \
	(WW_CU_EVENT_BLOCKING_SYNC | WW_CU_EVENT_DISABLE_TIMING | WW_CU_EVENT_INTERPROCESS)

static struct fake_event *events;

static bool is_complete(const struct fake_event *event, uint64_t ticket)
{
	return atomic_load(&event->state->completed) >= ticket;
}

static bool is_shared(const struct fake_event *event)
{
	return event->state != &event->own;
}

static void event_unref(struct fake_event *event)
{
	if (--event->refs > 0)
		return;
	fake_ipc_event_unshare(event);
	free(event);
}

struct fake_event *fake_event_find(ww_CUevent handle)
{
	for (struct fake_event *event = events; event; event = event->next)
		if ((ww_CUevent)event == handle)
			return event;
	return NULL;
}

uint64_t fake_event_count(void)
{
	uint64_t count = 0;
	for (const struct fake_event *event = events; event; event = event->next)
		count++;
	return count;
}

ww_CUresult fake_event_new(struct fake_context *context, unsigned int flags,
	struct fake_event **out_event)
{
	struct fake_event *event = calloc(1, sizeof(*event));
	if (!event)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	event->context = context;
	event->flags = flags;
	event->refs = 1;
	event->state = &event->own;
	event->slot = -1;
	event->next = events;
	events = event;
	*out_event = event;
	return WW_CUDA_SUCCESS;
}

static void event_destroy(struct fake_event *event)
{
	struct fake_event **at = &events;
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
	event_unref(event);
}

void fake_event_destroy_of(const struct fake_context *context)
{
	struct fake_event *next;
	for (struct fake_event *event = events; event; event = next) {
		next = event->next;
		if (event->context == context)
			event_destroy(event);
	}
}

FAKE_API cuEventCreate(ww_CUevent *out_event, unsigned int flags)
{
	FAKE_ENTER_CONTEXT(cuEventCreate);
	bool shared = flags & WW_CU_EVENT_INTERPROCESS;
	if (shared && fake_config()->no_sync)
		return WW_CUDA_ERROR_NOT_SUPPORTED;
	if (!out_event || flags & ~(unsigned int)FLAGS_KNOWN ||
		(shared && !(flags & WW_CU_EVENT_DISABLE_TIMING)))
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_event *event;
	error = fake_event_new(context, flags, &event);
	if (error)
		return error;
	if (shared)
		error = fake_ipc_event_share(event);
	if (error) {
		event_destroy(event);
		return error;
	}
	*out_event = (ww_CUevent)event;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuEventDestroy_v2(ww_CUevent handle)
{
	FAKE_ENTER(cuEventDestroy);
	struct fake_event *event = fake_event_find(handle);
	if (!event)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	ww_CUresult fault = event->context->fault;
	event_destroy(event);
	return fault;
}

static void event_drop(struct fake_op *op)
{
	event_unref(op->event);
}

static void record_run(struct fake_stream *stream, struct fake_op *op)
{
	struct fake_event *event = op->event;

	(void)stream;
	clock_gettime(CLOCK_MONOTONIC, &event->time);
	uint64_t seen = atomic_load(&event->state->completed);
	while (seen < op->value &&
		!atomic_compare_exchange_weak(&event->state->completed, &seen, op->value))
		;
}

FAKE_API cuEventRecord(ww_CUevent handle, ww_CUstream stream_handle)
{
	FAKE_ENTER_STREAM(cuEventRecord, stream_handle);
	struct fake_event *event = fake_event_find(handle);
	if (!event || event->context != stream->context)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = record_run;
	op->drop = event_drop;
	op->even_broken = true;
	op->event = event;
	event->refs++;
	op->value = atomic_fetch_add(&event->state->recorded, 1) + 1;
	error = fake_stream_push(stream, op);
	if (error)
		atomic_fetch_sub(&event->state->recorded, 1);
	return error;
}

static void join_run(struct fake_stream *stream, struct fake_op *op)
{
	if (op->value == op->event->joined && --op->event->joining == 0)
		record_run(stream, op);
}

static ww_CUresult join(struct fake_stream *stream, struct fake_event *event)
{
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = join_run;
	op->drop = event_drop;
	op->even_broken = true;
	op->event = event;
	op->value = event->joined;
	event->refs++;
	event->joining++;
	return fake_stream_push(stream, op);
}

/* Behind all that the streams of the context have been given. */
FAKE_API cuCtxRecordEvent(ww_CUcontext handle, ww_CUevent event_handle)
{
	FAKE_ENTER(cuCtxRecordEvent);
	struct fake_event *event = fake_event_find(event_handle);
	if (!event || (ww_CUcontext)event->context != handle)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	struct fake_context *context = event->context;
	ww_CUresult error = context->fault;
	if (!error)
		error = fake_capture_refuse_context(context);
	if (error)
		return error;
	event->joined = atomic_fetch_add(&event->state->recorded, 1) + 1;
	event->joining = 0;
	for (struct fake_stream *stream = context->streams; stream && !error; stream = stream->next)
		if (!fake_stream_is_idle(stream))
			error = join(stream, event);
	if (event->joining == 0)
		atomic_store(&event->state->completed, event->joined);
	return error;
}

FAKE_API cuEventQuery(ww_CUevent handle)
{
	FAKE_ENTER(cuEventQuery);
	const struct fake_event *event = fake_event_find(handle);
	if (!event)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (event->context->fault)
		return event->context->fault;
	uint64_t ticket = atomic_load(&event->state->recorded);
	return is_complete(event, ticket) ? WW_CUDA_SUCCESS : WW_CUDA_ERROR_NOT_READY;
}

FAKE_API cuEventSynchronize(ww_CUevent handle)
{
	FAKE_ENTER(cuEventSynchronize);
	struct fake_event *event = fake_event_find(handle);
	if (!event)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	uint64_t ticket = atomic_load(&event->state->recorded);
	event->refs++;
	while (!event->context->fault && !is_complete(event, ticket)) {
		if (is_shared(event))
			fake_wait_ns(POLL_NS);
		else
			fake_wait();
	}
	ww_CUresult fault = event->context->fault;
	event_unref(event);
	return fault;
}

FAKE_API cuEventElapsedTime(float *out_ms, ww_CUevent start_handle, ww_CUevent end_handle)
{
	FAKE_ENTER(cuEventElapsedTime);
	const struct fake_event *start = fake_event_find(start_handle);
	const struct fake_event *end = fake_event_find(end_handle);
	if (!out_ms)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (!start || !end || (start->flags | end->flags) & WW_CU_EVENT_DISABLE_TIMING)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	uint64_t start_ticket = atomic_load(&start->state->recorded);
	uint64_t end_ticket = atomic_load(&end->state->recorded);
	if (!start_ticket || !end_ticket)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (!is_complete(start, start_ticket) || !is_complete(end, end_ticket))
		return WW_CUDA_ERROR_NOT_READY;
	*out_ms = (float)(end->time.tv_sec - start->time.tv_sec) * 1e3f +
		(float)(end->time.tv_nsec - start->time.tv_nsec) / 1e6f;
	return WW_CUDA_SUCCESS;
}

static bool wait_ready(struct fake_stream *stream, const struct fake_op *op)
{
	(void)stream;
	return is_complete(op->event, op->value);
}

FAKE_API cuStreamWaitEvent(ww_CUstream stream_handle, ww_CUevent handle, unsigned int flags)
{
	FAKE_ENTER_STREAM(cuStreamWaitEvent, stream_handle);
	struct fake_event *event = fake_event_find(handle);
	if (!event)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	if (flags != WW_CU_EVENT_WAIT_DEFAULT)
		return WW_CUDA_ERROR_INVALID_VALUE;
	if (is_shared(event) && event->context != stream->context) {
		fprintf(stderr, "fakecuda: such a wait, in another context, crashes the driver\n");
		abort();
	}
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->ready = wait_ready;
	op->drop = event_drop;
	op->foreign = is_shared(event);
	op->event = event;
	event->refs++;
	op->value = atomic_load(&event->state->recorded);
	return fake_stream_push(stream, op);
}
