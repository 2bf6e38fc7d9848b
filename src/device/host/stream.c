/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - a host stream: a thread that does one piece of work after the other
 *
 * Nothing is done by the caller's own thread, not even a small copy: a program that forgets to wait
 * must see stale bytes here as it would on a GPU.
 *
 * Work is appended at the end of a list and taken from its front. `enqueued` counts what was ever
 * appended, `completed` what has run; both only grow, and waiting for the stream is waiting until
 * `completed` reaches what `enqueued` was. Work keeps the mappings it touches.
 *
 * A wait for a value in shared memory blocks the thread, for as long as it takes: asleep on the
 * futex beside the value, looking by itself only when that memory says that a GPU may store.
 * Closing a stream waits for that, too.
 *
 * Lock order: the stream's lock is held for the list and the counts only, never while work runs or
 * memory is let go.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/list.h"
#include "base/thread.h"
#include "device/host/host.h"
#include "device/mapping.h"
#include "device/native_stream.h"

enum work_kind {
	WORK_CALL,
	WORK_COPY,
	WORK_FILL,
	WORK_WAIT,
	WORK_WRITE
};

/* A word in shared memory, and those beside it: see struct ww_stream_value. */
struct word {
	uint64_t *at;
	uint32_t *wakes;
	const uint32_t *by_gpu;
	uint64_t value; /* to wait for, or to store */
};

struct work {
	struct ww_list link;
	enum work_kind kind;
	ww_stream_fn fn; /* call */
	void *context;
	void *destination; /* copy and fill */
	const void *source;
	uint64_t count; /* bytes of a copy, values of a fill */
	uint32_t value;
	uint32_t value_bytes;
	struct word word;             /* wait and write */
	struct ww_mapping *pinned[2]; /* references, or NULL */
};

struct host_stream {
	struct ww_stream base;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t has_work;      /* for the thread: the list or is_closing has changed */
	pthread_cond_t has_completed; /* for threads that wait */
	struct ww_list queue;         /* this and the next three under lock */
	uint64_t enqueued;
	uint64_t completed;
	bool is_closing;
	bool frees_itself; /* the thread's own: closed by a function that the stream called */
};

static struct host_stream *from_base(struct ww_stream *stream)
{
	return ww_container(stream, struct host_stream, base);
}

static enum ww_await_look look_at_word(void *context)
{
	const struct word *word = context;
	uint64_t seen = __atomic_load_n(word->at, __ATOMIC_ACQUIRE);

	if ((int64_t)(seen - word->value) >= 0)
		return WW_AWAIT_DONE;
	return __atomic_load_n(word->by_gpu, __ATOMIC_ACQUIRE) ? WW_AWAIT_POLL : WW_AWAIT_SLEEP;
}

static void run(struct work *work)
{
	const struct word *word;

	switch (work->kind) {
	case WORK_CALL:
		work->fn(work->context);
		break;
	case WORK_COPY:
		memmove(work->destination, work->source, work->count);
		break;
	case WORK_FILL:
		if (work->value_bytes == 1) {
			memset(work->destination, (int)work->value, work->count);
		} else if (work->value_bytes == 2) {
			uint16_t *values = work->destination;

			for (uint64_t i = 0; i < work->count; i++)
				values[i] = (uint16_t)work->value;
		} else {
			uint32_t *values = work->destination;

			for (uint64_t i = 0; i < work->count; i++)
				values[i] = work->value;
		}
		break;
	case WORK_WAIT:
		ww_await(work->word.wakes, look_at_word, &work->word, WW_NEVER);
		break;
	case WORK_WRITE:
		word = &work->word;
		__atomic_store_n(word->at, word->value, __ATOMIC_RELEASE);
		ww_await_wake(word->wakes);
		break;
	}
}

static void stream_free(struct host_stream *stream)
{
	pthread_cond_destroy(&stream->has_completed);
	pthread_cond_destroy(&stream->has_work);
	pthread_mutex_destroy(&stream->lock);
	ww_stream_fini(&stream->base);
	free(stream);
}

/* Waits for work. Return: NULL when the stream is closing and all has run. */
static struct work *take_work(struct host_stream *stream)
{
	struct ww_list *link;

	pthread_mutex_lock(&stream->lock);
	while (ww_list_is_empty(&stream->queue) && !stream->is_closing)
		pthread_cond_wait(&stream->has_work, &stream->lock);
	link = ww_list_take_first(&stream->queue);
	pthread_mutex_unlock(&stream->lock);
	return link ? ww_container(link, struct work, link) : NULL;
}

static void *stream_thread(void *argument)
{
	struct host_stream *stream = argument;
	struct work *work;

	while ((work = take_work(stream))) {
		run(work);
		/* Before it counts as run: a thread that waited may look for leaks next. */
		ww_mapping_unref(work->pinned[0]);
		ww_mapping_unref(work->pinned[1]);
		free(work);
		pthread_mutex_lock(&stream->lock);
		stream->completed++;
		pthread_cond_broadcast(&stream->has_completed);
		pthread_mutex_unlock(&stream->lock);
	}
	if (stream->frees_itself)
		stream_free(stream);
	return NULL;
}

ww_status ww_host_stream_create(struct ww_device *device, struct ww_stream **out_stream)
{
	struct host_stream *stream = calloc(1, sizeof(*stream));
	int error;

	if (!stream)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a stream: out of memory");
	ww_stream_init(&stream->base, device);
	pthread_mutex_init(&stream->lock, NULL);
	pthread_cond_init(&stream->has_work, NULL);
	ww_condition_init(&stream->has_completed);
	ww_list_init(&stream->queue);
	if (ww_native_stream_open(NULL, &stream->base.native) != WW_OK) {
		stream_free(stream);
		return WW_ERR_NO_MEMORY;
	}
	error = ww_thread_start(&stream->thread, NULL, stream_thread, stream);
	if (error) {
		stream_free(stream);
		return ww_fail_errno(error, error == EAGAIN ? "raise the limit (ulimit -u)" : NULL,
			"cannot start the thread of a stream");
	}
	*out_stream = &stream->base;
	return WW_OK;
}

static bool is_own_thread(const struct host_stream *stream)
{
	return pthread_equal(stream->thread, pthread_self());
}

void ww_host_stream_close(struct ww_stream *base)
{
	struct host_stream *stream = from_base(base);
	pthread_t thread = stream->thread;

	if (is_own_thread(stream)) {
		/* No thread is left to join it: it frees the stream when it has run all work. */
		stream->frees_itself = true;
		pthread_detach(thread);
	}
	pthread_mutex_lock(&stream->lock);
	stream->is_closing = true;
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&stream->lock);
	if (!stream->frees_itself) {
		pthread_join(thread, NULL);
		stream_free(stream);
	}
}

/* Under the lock. Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED. */
static ww_status wait_for(struct host_stream *stream, uint64_t goal, uint64_t deadline_ns)
{
	while (stream->completed < goal) {
		ww_status status = ww_cancel_check(deadline_ns);

		if (status != WW_OK)
			return status;
		ww_condition_wait(&stream->has_completed, &stream->lock, deadline_ns);
	}
	return WW_OK;
}

ww_status ww_host_stream_synchronize(struct ww_stream *base, uint64_t deadline_ns)
{
	struct host_stream *stream = from_base(base);
	ww_status status;

	if (is_own_thread(stream))
		return ww_fail(WW_ERR_INVALID,
			"a function that a stream calls cannot wait for that stream: it would wait for "
			"its own end");
	pthread_mutex_lock(&stream->lock);
	status = wait_for(stream, stream->enqueued, deadline_ns);
	pthread_mutex_unlock(&stream->lock);
	return status;
}

ww_status ww_host_stream_query(struct ww_stream *base)
{
	struct host_stream *stream = from_base(base);
	bool is_done;

	pthread_mutex_lock(&stream->lock);
	is_done = stream->completed == stream->enqueued;
	pthread_mutex_unlock(&stream->lock);
	return is_done ? WW_OK : WW_NOT_READY;
}

/* Enqueues a copy of @work, with references of its own to the mappings. */
static ww_status enqueue(struct ww_stream *base, const struct work *work)
{
	struct host_stream *stream = from_base(base);
	struct work *queued = malloc(sizeof(*queued));

	if (!queued)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot enqueue work on a stream: out of memory");
	*queued = *work;
	for (int i = 0; i < 2; i++) {
		if (queued->pinned[i])
			ww_mapping_ref(queued->pinned[i]);
	}
	pthread_mutex_lock(&stream->lock);
	ww_list_append(&stream->queue, &queued->link);
	stream->enqueued++;
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&stream->lock);
	return WW_OK;
}

ww_status ww_host_stream_call(struct ww_stream *stream, ww_stream_fn fn, void *context)
{
	return enqueue(stream, &(struct work){.kind = WORK_CALL, .fn = fn, .context = context});
}

ww_status ww_host_stream_copy(struct ww_stream *stream, void *destination, const void *source,
	uint64_t bytes, struct ww_mapping *const pinned[2])
{
	return enqueue(stream,
		&(struct work){
			.kind = WORK_COPY,
			.destination = destination,
			.source = source,
			.count = bytes,
			.pinned = {pinned[0], pinned[1]},
		});
}

ww_status ww_host_stream_fill(struct ww_stream *stream, void *destination, uint32_t value,
	uint32_t value_bytes, uint64_t count, struct ww_mapping *pinned)
{
	return enqueue(stream,
		&(struct work){
			.kind = WORK_FILL,
			.destination = destination,
			.count = count,
			.value = value,
			.value_bytes = value_bytes,
			.pinned = {pinned, NULL},
		});
}

static ww_status enqueue_word(struct ww_stream *stream, enum work_kind kind,
	const struct ww_stream_value *value)
{
	char *start = value->mapping->host_pointer;

	return enqueue(stream,
		&(struct work){
			.kind = kind,
			.word =
				{
					.at = (void *)(start + value->offset),
					.wakes = (void *)(start + value->wakes_offset),
					.by_gpu = (void *)(start + value->by_gpu_offset),
					.value = value->value,
				},
			.pinned = {value->mapping, NULL},
		});
}

ww_status ww_host_stream_wait_values(struct ww_stream *stream, const struct ww_stream_value *values,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ww_try(enqueue_word(stream, WORK_WAIT, &values[i]));
	return WW_OK;
}

ww_status ww_host_stream_write_value(struct ww_stream *stream, const struct ww_stream_value *value)
{
	return enqueue_word(stream, WORK_WRITE, value);
}
