/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.c - timelines: made, signalled, waited for, closed; see timeline.h and
 * wire/signal_page.h
 *
 * Signals of one timeline are made under its lock, so that they are submitted in the order of their
 * values. They complete in that order because a stream which signals after another one waits for
 * that one's value first, and the CPU signals only when no stream is yet to.
 *
 * `submitted` is stored after a signal was enqueued, and waits are enqueued after `submitted` was
 * seen. So what a wait waits for always stands before it in the order of all submissions, of all
 * processes; the first piece of work in that order that is not done can therefore always run,
 * whichever hardware queues streams share.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/eventfd.h"
#include "base/fd.h"
#include "base/params.h"
#include "base/process.h"
#include "sync/wait_result.h"
#include "sync/stream_wait.h"
#include "sync/timeline.h"

#define PARAMS_V1_BYTES sizeof(struct ww_timeline_params)
#define INFO_V1_BYTES   sizeof(struct ww_timeline_info)
#define WAIT_FLAGS      (WW_WAIT_UNSUBMITTED | WW_WAIT_OTHER_USER)

static struct ww_timeline *timeline_new(struct ww_signal_map *page, uint64_t offset)
{
	struct ww_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a timeline: out of memory");
		return NULL;
	}
	ww_ref_init(&timeline->ref);
	ww_list_init(&timeline->link);
	pthread_mutex_init(&timeline->lock, NULL);
	timeline->page = page;
	timeline->cell = ww_signal_map_cell(page, offset);
	timeline->offset = offset;
	return timeline;
}

static void timeline_free(struct ww_timeline *timeline)
{
	ww_stream_unref(timeline->closer);
	ww_attachments_fini(&timeline->attachments);
	ww_signal_map_unref(timeline->page);
	pthread_mutex_destroy(&timeline->lock);
	free(timeline);
}

/* --- closing --- */

/*
 * The closer of a GPU may be stuck behind waits of other streams, in a queue of the hardware that
 * they share. To wait for it could be for ever; a host stream is never stuck.
 */
static bool is_closer_busy(const struct ww_timeline *timeline)
{
	ww_stream *closer = timeline->closer;

	return closer && closer->device->backend->id != WW_BACKEND_HOST &&
		ww_stream_query(closer) == WW_NOT_READY;
}

/* Whether its streams have signalled all. */
static bool timeline_is_closed(struct ww_deferred *deferred)
{
	struct ww_timeline *timeline = ww_container(deferred, struct ww_timeline, deferred);

	return ww_signal_cell_finish(timeline->cell) && !is_closer_busy(timeline);
}

static void timeline_release_closed(struct ww_deferred *deferred)
{
	timeline_free(ww_container(deferred, struct ww_timeline, deferred));
}

static const struct ww_deferred_class closing_class = {
	.is_done = timeline_is_closed,
	.release = timeline_release_closed,
};

static void close_own(struct ww_timeline *timeline)
{
	struct ww_signal_map *page = timeline->page;
	struct ww_device *device;
	struct ww_stream_value poison;
	struct ww_error record;

	pthread_mutex_lock(&page->lock);
	ww_list_remove(&timeline->link);
	pthread_mutex_unlock(&page->lock);
	if (ww_signal_cell_close(timeline->cell)) {
		timeline_free(timeline);
		return;
	}
	/*
	 * Have the device poison the cell when all is signalled. Without memory for that
	 * timeline_is_closed() does it, later.
	 */
	device = timeline->last_word->device;
	ww_error_save(&record);
	if (ww_signal_map_stream_value(timeline->page, device, timeline->offset, WW_SIGNAL_POISON,
		    &poison) == WW_OK &&
		ww_stream_create(device, &timeline->closer) == WW_OK &&
		ww_stream_wait_enqueue(timeline->closer, timeline->page, timeline->offset,
			timeline->cell->submitted, false) == WW_OK)
		(void)device->backend->stream_write_value(timeline->closer, &poison);
	ww_error_restore(&record);
	ww_deferred_add(&timeline->deferred, &closing_class);
}

void ww_timeline_close(ww_timeline *timeline)
{
	(void)ww_signal_cell_close(timeline->cell);
}

/* --- coming and going --- */

static ww_status create_own(bool is_alone, uint64_t value, struct ww_timeline **out_timeline)
{
	WW_AUTO_SIGNAL_MAP struct ww_signal_map *page = NULL;
	struct ww_timeline *timeline;
	uint64_t offset = 0;

	ww_try(ww_signal_map_take_cell(is_alone, &page, &offset));
	timeline = timeline_new(page, offset);
	if (!timeline)
		return WW_ERR_NO_MEMORY;
	timeline->is_own = true;
	ww_signal_cell_open(timeline->cell, value);
	pthread_mutex_lock(&page->lock);
	ww_list_append(&page->timelines, &timeline->link);
	pthread_mutex_unlock(&page->lock);
	(void)ww_steal(page);
	*out_timeline = timeline;
	return WW_OK;
}

ww_status ww_timeline_create_alone(ww_timeline **out_timeline)
{
	return create_own(true, 0, out_timeline);
}

ww_status ww_timeline_create(const struct ww_timeline_params *params, ww_timeline **out_timeline)
{
	struct ww_timeline_params ours;

	ww_clear(out_timeline, NULL);
	ww_try(ww_process_enter());
	ww_require(out_timeline, "ww_timeline_create: out_timeline is NULL");
	memset(&ours, 0, sizeof(ours));
	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_timeline_params"));
	if (ours.reserved || ours.flags & ~WW_TIMELINE_ALONE)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a timeline",
			ours.reserved ? (uint64_t)ours.reserved : ours.flags);
	if (ours.value > WW_TIMELINE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a timeline cannot begin at %" PRIu64 ": the highest value is 2^62",
			ours.value);
	ww_deferred_reclaim_no_wait();
	return create_own(ours.flags & WW_TIMELINE_ALONE, ours.value, out_timeline);
}

ww_status ww_timeline_open(struct ww_signal_map *page, uint64_t offset, ww_timeline **out_timeline)
{
	const struct ww_layout_signal_cell *cell = ww_signal_map_cell(page, offset);
	struct ww_timeline *found = NULL;

	if (!cell || __atomic_load_n(&cell->state, __ATOMIC_ACQUIRE) == 0)
		return ww_fail(WW_ERR_MISMATCH,
			"there is no timeline at byte %" PRIu64 " of a page of %" PRIu64 " bytes",
			offset, page->cpu->bytes);
	pthread_mutex_lock(&page->lock);
	ww_list_for_each (link, &page->timelines) {
		struct ww_timeline *timeline = ww_container(link, struct ww_timeline, link);

		if (timeline->offset == offset && ww_ref_try_get(&timeline->ref)) {
			found = timeline;
			break;
		}
	}
	pthread_mutex_unlock(&page->lock);
	*out_timeline = found;
	if (*out_timeline) {
		ww_signal_map_unref(page);
		return WW_OK;
	}
	ww_deferred_reclaim_no_wait();
	*out_timeline = timeline_new(page, offset);
	return *out_timeline ? WW_OK : WW_ERR_NO_MEMORY;
}

ww_timeline *ww_timeline_ref(ww_timeline *timeline)
{
	if (timeline)
		ww_ref_get(&timeline->ref);
	return timeline;
}

ww_timeline *ww_timeline_drop(ww_timeline *timeline)
{
	if (!timeline || !ww_ref_put(&timeline->ref))
		return NULL;
	if (timeline->is_own)
		close_own(timeline);
	else
		timeline_free(timeline);
	return NULL;
}

ww_timeline *ww_timeline_unref(ww_timeline *timeline)
{
	if (!timeline)
		return NULL;
	ww_timeline_drop(timeline);
	ww_deferred_reclaim();
	return NULL;
}

ww_status ww_timeline_prepare(ww_timeline *timeline, ww_device *device)
{
	struct ww_mapping *mapping;

	ww_try(ww_process_enter());
	ww_require(timeline && device, "ww_timeline_prepare: timeline or device is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	return ww_signal_map_map(timeline->page, device, &mapping);
}

/* --- signalling --- */

ww_status ww_timeline_require_own(const ww_timeline *timeline, const char *action)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	if (timeline->is_own)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot %s this timeline: %s is its signaller; make one of your own for the other "
		"direction",
		action, ww_wait_result_process(timeline->page, process));
}

/* Under timeline->lock, but not the broker and ww_timeline_fail(), which change the state. */
static ww_status check_signal(const struct ww_timeline *timeline, uint64_t value)
{
	struct ww_signal_look look;

	ww_signal_cell_look(timeline->cell, &look);
	if (look.failure[0])
		return ww_fail(WW_ERR_PEER_LOST,
			"cannot signal %" PRIu64
			": this process failed the timeline at value %" PRIu64
			": %s; make a new timeline",
			value, look.reached, look.failure);
	if (look.state == WW_WIRE_CELL_STATE_LOST)
		return ww_fail(WW_ERR_PEER_LOST,
			"cannot signal %" PRIu64
			": the connection to the broker broke at value %" PRIu64
			", which has told the waiters that this process ended; make a new timeline",
			value, look.reached);
	if (value <= look.submitted)
		return ww_fail(WW_ERR_INVALID,
			"cannot signal %" PRIu64 ": the timeline is at %" PRIu64
			" already, and its values grow; signal a higher one",
			value, look.submitted);
	if (value > WW_TIMELINE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"cannot signal %" PRIu64 ": the highest value is 2^62", value);
	return WW_OK;
}

static bool has_pending_stream(const struct ww_timeline *timeline)
{
	return __atomic_load_n(&timeline->cell->completed, __ATOMIC_ACQUIRE) <
		timeline->cell->submitted;
}

/* Under the lock. */
static ww_status signal_now(struct ww_timeline *timeline, uint64_t value)
{
	ww_try(check_signal(timeline, value));
	if (has_pending_stream(timeline))
		return ww_fail(WW_ERR_STATE,
			"cannot signal %" PRIu64 " now: a stream has yet to signal %" PRIu64
			"; wait for that, or let the stream signal this one too",
			value, timeline->cell->submitted);
	ww_signal_cell_complete(timeline->cell, value);
	/* A thread that sees a later store of this thread sees that the value is reached. */
	atomic_thread_fence(memory_order_release);
	return WW_OK;
}

ww_status ww_timeline_signal(ww_timeline *timeline, uint64_t value)
{
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(timeline, "ww_timeline_signal: timeline is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_timeline_require_own(timeline, "signal"));
	pthread_mutex_lock(&timeline->lock);
	status = signal_now(timeline, value);
	pthread_mutex_unlock(&timeline->lock);
	return status;
}

ww_status ww_timeline_fail(ww_timeline *timeline, const char *why)
{
	ww_try(ww_process_enter());
	ww_require(timeline && why && why[0],
		"ww_timeline_fail: timeline is NULL, or why says nothing");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_timeline_require_own(timeline, "fail"));
	ww_signal_cell_fail(timeline->cell, why);
	return WW_OK;
}

static bool is_gpu(const struct ww_stream *stream)
{
	return stream->device->backend->id != WW_BACKEND_HOST;
}

ww_status ww_timeline_signal_begin(struct ww_timeline *timeline, struct ww_stream *stream,
	uint64_t value, struct ww_stream_value *out_word)
{
	ww_try(check_signal(timeline, value));
	ww_try(ww_signal_map_stream_value(timeline->page, stream->device, timeline->offset, value,
		out_word));
	if (is_gpu(stream) && !timeline->cell->by_gpu)
		ww_signal_cell_mark_gpu(timeline->cell);
	/* Perhaps all that the stream does comes after the last signal anyway. */
	if ((stream->serial != 0 && stream->serial == timeline->last_stream) ||
		!has_pending_stream(timeline))
		return WW_OK;
	return ww_stream_wait_enqueue(stream, timeline->page, timeline->offset,
		timeline->cell->submitted, false);
}

void ww_timeline_signal_end(struct ww_timeline *timeline, struct ww_stream *stream,
	const struct ww_stream_value *word)
{
	timeline->last_stream = stream->serial;
	timeline->last_word = word->mapping;
	ww_signal_cell_submit(timeline->cell, word->value, !is_gpu(stream));
}

/* Under the lock. */
static ww_status signal_by(struct ww_timeline *timeline, struct ww_stream *stream, uint64_t value)
{
	struct ww_stream_value word;

	ww_try(ww_timeline_signal_begin(timeline, stream, value, &word));
	ww_try(stream->device->backend->stream_write_value(stream, &word));
	ww_timeline_signal_end(timeline, stream, &word);
	return WW_OK;
}

ww_status ww_timeline_stream_signal(ww_timeline *timeline, ww_stream *stream, uint64_t value)
{
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(timeline && stream, "ww_timeline_stream_signal: timeline or stream is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_timeline_require_own(timeline, "signal"));
	ww_try(ww_stream_check_order(stream));
	pthread_mutex_lock(&timeline->lock);
	status = signal_by(timeline, stream, value);
	pthread_mutex_unlock(&timeline->lock);
	return status;
}

/* --- waiting --- */

struct awaited {
	const struct ww_layout_signal_cell *cell;
	struct ww_signal_look look;
	uint64_t value;
	bool is_submission; /* to be submitted is enough */
};

static ww_status outcome(const struct awaited *awaited)
{
	ww_status status = ww_wait_result_of(&awaited->look, awaited->value);

	if (status == WW_NOT_READY && awaited->is_submission &&
		awaited->value <= awaited->look.submitted)
		return WW_OK;
	return status;
}

static enum ww_await_look look(void *context)
{
	struct awaited *awaited = context;

	ww_signal_cell_look(awaited->cell, &awaited->look);
	if (outcome(awaited) != WW_NOT_READY)
		return WW_AWAIT_DONE;
	return awaited->look.by_gpu ? WW_AWAIT_POLL : WW_AWAIT_SLEEP;
}

static ww_status await(struct ww_timeline *timeline, struct awaited *awaited, uint64_t timeout_ns)
{
	ww_status status;

	awaited->cell = timeline->cell;
	if (look(awaited) != WW_AWAIT_DONE) {
		if (timeout_ns == 0)
			return WW_TIMED_OUT;
		status = ww_await(&timeline->cell->wakes, look, awaited,
			ww_clock_deadline_ns(timeout_ns));
		if (status != WW_OK)
			return status;
	}
	status = outcome(awaited);
	if (status < 0)
		return ww_wait_result_fail(timeline->page, &awaited->look, awaited->value);
	return WW_OK;
}

static ww_status check_wait(uint64_t value, uint64_t flags)
{
	if (flags & ~WAIT_FLAGS)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a wait of a stream",
			flags & ~WAIT_FLAGS);
	if (value > WW_TIMELINE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"value %" PRIu64 " will never be reached: the highest is 2^62", value);
	return WW_OK;
}

ww_status ww_timeline_wait(ww_timeline *timeline, uint64_t value, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct awaited awaited = {.value = value};

	ww_try(ww_process_enter());
	ww_require(timeline, "ww_timeline_wait: timeline is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(check_wait(value, 0));
	return await(timeline, &awaited, timeout_ns);
}

ww_status ww_timeline_query(ww_timeline *timeline, uint64_t value)
{
	struct awaited awaited = {.value = value};
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(timeline, "ww_timeline_query: timeline is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(check_wait(value, 0));
	/* What this thread has read so far, it has read before it looks. */
	atomic_thread_fence(memory_order_acquire);
	status = await(timeline, &awaited, 0);
	return status == WW_TIMED_OUT ? WW_NOT_READY : status;
}

ww_status ww_timeline_await_submission(struct ww_timeline *timeline, uint64_t value, uint64_t flags,
	uint64_t timeout_ns, bool *out_is_reached)
{
	struct awaited awaited = {.value = value, .is_submission = true};
	bool is_at_once = flags & WW_WAIT_UNSUBMITTED;
	ww_status status;

	*out_is_reached = true;
	ww_try(check_wait(value, flags));
	if (timeline->is_guarded && !(flags & WW_WAIT_OTHER_USER)) {
		awaited.is_submission = false;
		return await(timeline, &awaited, timeout_ns);
	}
	status = await(timeline, &awaited, is_at_once ? 0 : timeout_ns);
	if (status < 0 || (status != WW_OK && !is_at_once))
		return status;
	*out_is_reached = status == WW_OK && value <= awaited.look.reached;
	return WW_OK;
}

ww_status ww_timeline_stream_wait(ww_timeline *timeline, ww_stream *stream, uint64_t value,
	uint64_t flags, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	bool is_reached;
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(timeline && stream, "ww_timeline_stream_wait: timeline or stream is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(ww_stream_check_order(stream));
	status = ww_timeline_await_submission(timeline, value, flags, timeout_ns, &is_reached);
	if (status != WW_OK || is_reached)
		return status;
	return ww_stream_wait_enqueue(stream, timeline->page, timeline->offset, value, true);
}

/* --- event loops --- */

/* Runs on a stream's thread, or on one of the driver's: no CUDA, nothing of ours. */
static void make_readable(void *context)
{
	int fd = (int)(intptr_t)context;

	(void)eventfd_write(fd, 1);
	close(fd);
}

/* The stream closes its own duplicate. */
static ww_status enqueue_readable(ww_stream *stream, int fd)
{
	ww_status status;
	int own;

	ww_try(ww_fd_duplicate(fd, &own));
	status = ww_stream_call(stream, make_readable, (void *)(intptr_t)own);
	if (status < 0)
		ww_fd_close(own);
	return status;
}

ww_status ww_timeline_eventfd(ww_timeline *timeline, ww_stream *stream, uint64_t value, int *out_fd)
{
	WW_AUTO_FD int fd = -1;

	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(timeline && stream && out_fd,
		"ww_timeline_eventfd: timeline, stream or out_fd is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	ww_try(check_wait(value, 0));
	/* That the stream waits is no harm where no other work can be stuck behind it. */
	if (timeline->is_guarded && stream->device->backend->id != WW_BACKEND_HOST)
		return ww_fail(WW_ERR_ACCESS,
			"a stream of a GPU cannot wait for this timeline to make a descriptor readable: "
			"its server is of another user; use a stream of the host device");
	ww_try(ww_stream_check_order(stream));
	ww_try(ww_eventfd_open(&fd));
	ww_try(ww_stream_wait_enqueue(stream, timeline->page, timeline->offset, value, false));
	ww_try(enqueue_readable(stream, fd));
	*out_fd = ww_fd_steal(&fd);
	return WW_OK;
}

/* --- looking --- */

ww_status ww_timeline_info_get(ww_timeline *timeline, struct ww_timeline_info *info)
{
	struct ww_timeline_info ours = {0};
	const struct ww_page_creator *creator;
	struct ww_signal_look look;

	ww_try(ww_process_enter());
	ww_require(timeline && info, "ww_timeline_info_get: timeline or info is NULL");
	ww_try(ww_ref_check(&timeline->ref, "a timeline"));
	creator = &timeline->page->creator;
	ww_signal_cell_look(timeline->cell, &look);
	ours.state = look.state;
	ours.is_own = timeline->is_own;
	ours.pid = creator->pid;
	ours.uid = creator->uid;
	ours.submitted = look.submitted;
	ours.completed = look.reached;
	memcpy(ours.program, creator->program, sizeof(ours.program));
	if (look.state == WW_WIRE_CELL_STATE_LOST)
		ours.lost_ns = timeline->page->header->lost_ns;
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_timeline_info");
}
