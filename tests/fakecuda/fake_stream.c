/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_stream.c - a stream is a thread with a queue
 *
 * Operations of a stream run in the order they were pushed. Every operation of the process has a
 * sequence number, and that is all the order between streams there is: an operation of the legacy
 * stream (0 or 1) waits for all earlier ones of the context's blocking streams, and theirs wait for
 * all earlier ones of the legacy stream. Each thread has a blocking stream of its own (2).
 *
 * The streams of a context share hardware queues, eight unless CUDA_DEVICE_MAX_CONNECTIONS says
 * otherwise: a new stream gets the queue that the fewest others have. A wait (for a value or an
 * event) that is not over holds up everything that any stream of its queue was given later. So
 * eight streams that wait block a ninth, even if that one would have released them; measured on an
 * H200, where the 1st, 9th and 17th stream share a queue.
 *
 * When an operation faults, its context is broken: what is queued in any of its streams is dropped,
 * and every later call reports the fault. The thread is started by the first operation, and ends
 * when the stream is destroyed and its queue is empty; it then frees the stream.
 */
#include "fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define POLL_FIRST_NS 20000
#define POLL_LAST_NS  400000

static uint64_t last_sequence;

static bool is_blocking(const struct fake_stream *stream)
{
	return !stream->legacy && !(stream->flags & WW_CU_STREAM_NON_BLOCKING);
}

/* The order between the legacy stream and the blocking ones. */
static bool is_its_turn(const struct fake_stream *stream, const struct fake_op *op)
{
	if (!stream->legacy && !is_blocking(stream))
		return true;
	for (const struct fake_stream *other = stream->context->streams; other;
		other = other->next) {
		bool counts = stream->legacy ? is_blocking(other) : other->legacy;
		if (counts && other->head && other->head->sequence < op->sequence)
			return false;
	}
	return true;
}

/* Whether an earlier wait of another stream stands before @op in the hardware's queue. */
static bool is_held_up(const struct fake_stream *stream, const struct fake_op *op)
{
	for (const struct fake_stream *other = stream->context->streams; other;
		other = other->next) {
		if (other == stream || other->queue != stream->queue)
			continue;
		for (const struct fake_op *earlier = other->head;
			earlier && earlier->sequence < op->sequence; earlier = earlier->next)
			if (earlier->ready)
				return true;
	}
	return false;
}

static bool is_broken(const struct fake_stream *stream)
{
	return stream->abandoned || stream->context->fault;
}

static void wait_until_ready(struct fake_stream *stream, const struct fake_op *op)
{
	int64_t poll_ns = POLL_FIRST_NS;

	while (!is_broken(stream)) {
		bool turn = is_its_turn(stream, op) && !is_held_up(stream, op);
		if (turn && (!op->ready || op->ready(stream, op)))
			return;
		if (!turn || !op->foreign) {
			fake_wait();
			continue;
		}
		fake_wait_ns(poll_ns);
		poll_ns = poll_ns * 2 < POLL_LAST_NS ? poll_ns * 2 : POLL_LAST_NS;
	}
}

void fake_op_free(struct fake_op *op)
{
	if (op->drop)
		op->drop(op);
	free(op->staging);
	free(op);
}

static void run_head(struct fake_stream *stream)
{
	struct fake_op *op = stream->head;

	wait_until_ready(stream, op);
	if (op->run && (!is_broken(stream) || op->even_broken))
		op->run(stream, op);
	stream->head = op->next;
	if (!stream->head)
		stream->tail = &stream->head;
	fake_op_free(op);
	fake_wake();
}

static void stream_unlink(struct fake_stream *stream)
{
	struct fake_stream **at = &stream->context->streams;
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	fake_wake();
}

static void *stream_main(void *argument)
{
	struct fake_stream *stream = argument;

	fake_lock();
	for (;;) {
		while (!stream->head && !stream->closing)
			fake_wait();
		if (!stream->head)
			break;
		run_head(stream);
	}
	while (stream->users)
		fake_wait();
	stream_unlink(stream);
	free(stream);
	fake_unlock();
	return NULL;
}

/* The application's signals are not for this thread. */
static bool thread_start(struct fake_stream *stream)
{
	sigset_t all;
	sigset_t before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&thread, NULL, stream_main, stream);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return false;
	pthread_detach(thread);
	return true;
}

struct fake_op *fake_op_new(void)
{
	return calloc(1, sizeof(struct fake_op));
}

/* Consumes @op, also on failure. */
ww_CUresult fake_stream_push(struct fake_stream *stream, struct fake_op *op)
{
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	if (stream->capture)
		return fake_capture_push(stream->capture, op);
	if (!stream->started) {
		stream->started = thread_start(stream);
		if (!stream->started) {
			fake_op_free(op);
			return WW_CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	op->sequence = ++last_sequence;
	op->next = NULL;
	*stream->tail = op;
	stream->tail = &op->next;
	fake_wake();
	return WW_CUDA_SUCCESS;
}

static bool is_done(const struct fake_stream *stream, uint64_t sequence)
{
	return !stream->head || stream->head->sequence > sequence;
}

static bool are_blocking_done(const struct fake_context *context, uint64_t sequence)
{
	for (const struct fake_stream *stream = context->streams; stream; stream = stream->next)
		if (is_blocking(stream) && !is_done(stream, sequence))
			return false;
	return true;
}

/* The legacy stream is finished when the blocking ones are, too. */
ww_CUresult fake_stream_finish(struct fake_stream *stream)
{
	const struct fake_context *context = stream->context;
	uint64_t sequence = last_sequence;

	stream->users++;
	while (!is_done(stream, sequence) ||
		(stream->legacy && !are_blocking_done(context, sequence)))
		fake_wait();
	ww_CUresult fault = stream->context->fault;
	stream->users--;
	fake_wake();
	return fault;
}

static bool is_context_done(const struct fake_context *context, uint64_t sequence)
{
	for (const struct fake_stream *stream = context->streams; stream; stream = stream->next)
		if (!is_done(stream, sequence))
			return false;
	return true;
}

void fake_stream_finish_context(const struct fake_context *context)
{
	uint64_t sequence = last_sequence;
	while (!is_context_done(context, sequence))
		fake_wait();
}

/* What freeing memory does: waits for all that was pushed so far in the process. */
void fake_stream_finish_all(void)
{
	uint64_t sequence = last_sequence;
	bool done;

	do {
		done = true;
		for (const struct fake_context *context = fake_contexts; context && done;
			context = context->next)
			done = is_context_done(context, sequence);
		if (!done)
			fake_wait();
	} while (!done);
}

bool fake_stream_is_idle(const struct fake_stream *stream)
{
	return !stream->head;
}

void fake_stream_break(struct fake_stream *stream, ww_CUresult fault)
{
	if (!stream->context->fault)
		stream->context->fault = fault;
	fake_wake();
}

/* The stream is gone for the caller; its thread finishes the queue. */
void fake_stream_close(struct fake_stream *stream)
{
	fake_capture_drop(stream);
	stream->closing = true;
	if (stream->started) {
		fake_wake();
		return;
	}
	stream_unlink(stream);
	free(stream);
}

void fake_stream_abandon_all(struct fake_context *context)
{
	struct fake_stream *next;
	for (struct fake_stream *stream = context->streams; stream; stream = next) {
		next = stream->next;
		stream->abandoned = true;
		fake_stream_close(stream);
	}
	while (context->streams)
		fake_wait();
}

static unsigned int least_used_queue(const struct fake_context *context)
{
	unsigned int users[FAKE_QUEUES_MAX] = {0};
	unsigned int least = 0;

	for (const struct fake_stream *stream = context->streams; stream; stream = stream->next)
		users[stream->queue]++;
	for (unsigned int i = 1; i < fake_config()->queues; i++)
		if (users[i] < users[least])
			least = i;
	return least;
}

static struct fake_stream *stream_new(struct fake_context *context, unsigned int flags)
{
	static uint64_t last_id;
	struct fake_stream *stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->id = ++last_id;
	stream->context = context;
	stream->flags = flags;
	stream->queue = least_used_queue(context);
	stream->tail = &stream->head;
	stream->next = context->streams;
	context->streams = stream;
	return stream;
}

/* The legacy stream of the current context, or the calling thread's own one, made when needed. */
static ww_CUresult find_implicit(bool legacy, struct fake_stream **out_stream)
{
	struct fake_context *context;
	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	uint64_t token = legacy ? 0 : fake_thread_token();
	for (struct fake_stream *stream = context->streams; stream; stream = stream->next) {
		if (legacy ? stream->legacy : stream->thread_token == token) {
			*out_stream = stream;
			return WW_CUDA_SUCCESS;
		}
	}
	struct fake_stream *stream = stream_new(context, WW_CU_STREAM_DEFAULT);
	if (!stream)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	stream->legacy = legacy;
	stream->thread_token = token;
	*out_stream = stream;
	return WW_CUDA_SUCCESS;
}

static struct fake_stream *find_explicit(ww_CUstream handle)
{
	for (struct fake_context *context = fake_contexts; context; context = context->next)
		for (struct fake_stream *stream = context->streams; stream; stream = stream->next)
			if ((ww_CUstream)stream == handle && !stream->closing)
				return stream;
	return NULL;
}

/* The implicit streams need a current context; created ones bring their own. */
ww_CUresult fake_stream_look(ww_CUstream handle, struct fake_stream **out_stream)
{
	if (!handle || handle == WW_CU_STREAM_LEGACY)
		return find_implicit(true, out_stream);
	if (handle == WW_CU_STREAM_PER_THREAD)
		return find_implicit(false, out_stream);
	struct fake_stream *stream = find_explicit(handle);
	if (!stream)
		return WW_CUDA_ERROR_INVALID_HANDLE;
	*out_stream = stream;
	return stream->context->fault;
}

ww_CUresult fake_stream_find(ww_CUstream handle, struct fake_stream **out_stream)
{
	ww_CUresult error = fake_stream_look(handle, out_stream);

	if (!error && (*out_stream)->legacy)
		error = fake_capture_refuse_legacy((*out_stream)->context);
	return error;
}

static bool is_created(const struct fake_stream *stream)
{
	return !stream->closing && !stream->legacy && !stream->thread_token;
}

uint64_t fake_stream_count(void)
{
	uint64_t count = 0;
	for (const struct fake_context *context = fake_contexts; context; context = context->next)
		for (const struct fake_stream *stream = context->streams; stream;
			stream = stream->next)
			count += is_created(stream);
	return count;
}

static ww_CUresult create(ww_CUstream *out_stream, unsigned int flags)
{
	struct fake_context *context;
	ww_CUresult error = fake_context_current(&context);
	if (error)
		return error;
	if (!out_stream || flags & ~(unsigned int)WW_CU_STREAM_NON_BLOCKING)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_stream *stream = stream_new(context, flags);
	if (!stream)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	*out_stream = (ww_CUstream)stream;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamCreate(ww_CUstream *out_stream, unsigned int flags)
{
	FAKE_ENTER(cuStreamCreate);
	return create(out_stream, flags);
}

/* Any priority is taken, as by the driver, which clamps it; here it changes nothing. */
FAKE_API cuStreamCreateWithPriority(ww_CUstream *out_stream, unsigned int flags, int priority)
{
	FAKE_ENTER(cuStreamCreateWithPriority);
	(void)priority;
	return create(out_stream, flags);
}

FAKE_API cuStreamDestroy_v2(ww_CUstream handle)
{
	FAKE_ENTER(cuStreamDestroy);
	struct fake_stream *stream = find_explicit(handle);
	if (!stream || !is_created(stream))
		return WW_CUDA_ERROR_INVALID_HANDLE;
	ww_CUresult fault = stream->context->fault;
	fake_stream_close(stream);
	return fault;
}

FAKE_API cuStreamSynchronize(ww_CUstream handle)
{
	FAKE_ENTER(cuStreamSynchronize);
	struct fake_stream *stream;
	ww_CUresult error = fake_stream_find(handle, &stream);
	if (!error)
		error = fake_capture_refuse(stream);
	return error ? error : fake_stream_finish(stream);
}

FAKE_API cuStreamQuery(ww_CUstream handle)
{
	FAKE_ENTER_STREAM(cuStreamQuery, handle);
	error = fake_capture_refuse(stream);
	if (error)
		return error;
	return stream->head ? WW_CUDA_ERROR_NOT_READY : WW_CUDA_SUCCESS;
}

FAKE_API cuStreamGetCtx(ww_CUstream handle, ww_CUcontext *out_context)
{
	FAKE_ENTER_STREAM(cuStreamGetCtx, handle);
	if (!out_context)
		return WW_CUDA_ERROR_INVALID_VALUE;
	*out_context = (ww_CUcontext)stream->context;
	return WW_CUDA_SUCCESS;
}

FAKE_API cuStreamGetId(ww_CUstream handle, unsigned long long *out_id)
{
	FAKE_ENTER_STREAM(cuStreamGetId, handle);
	if (!out_id)
		return WW_CUDA_ERROR_INVALID_VALUE;
	error = fake_capture_refuse(stream);
	if (error)
		return error;
	*out_id = stream->id;
	return WW_CUDA_SUCCESS;
}

static void host_function_run(struct fake_stream *stream, struct fake_op *op)
{
	(void)stream;
	fake_unlock();
	fake_callback_begin();
	op->function(op->user_data);
	fake_callback_end();
	fake_lock();
}

FAKE_API cuLaunchHostFunc(ww_CUstream handle, ww_CUhostFn function, void *user_data)
{
	FAKE_ENTER_STREAM(cuLaunchHostFunc, handle);
	if (!function)
		return WW_CUDA_ERROR_INVALID_VALUE;
	struct fake_op *op = fake_op_new();
	if (!op)
		return WW_CUDA_ERROR_OUT_OF_MEMORY;
	op->run = host_function_run;
	op->function = function;
	op->user_data = user_data;
	return fake_stream_push(stream, op);
}
