/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream_wait.c - what streams of this process wait for, see stream_wait.h
 *
 *   made ──> on a stream ──asked, and reached──> gone
 *                 └──the stream ends──> orphan ──the cell lets the GPU go on──> gone
 *
 * Orphans keep their page until the GPU cannot look at it any more. That the cell has the value, or
 * poison, is enough: the GPU goes on then by itself.
 *
 * Locks: waits_lock for the list and is_orphan; value and watch.users are changed under the
 * stream's watch lock and read under either. Neither is taken inside the other.
 */
#include "sync/stream_wait.h"

#include <stddef.h>
#include <stdlib.h>

#include <warpway/timeline.h>

#include "base/error.h"
#include "base/process.h"
#include "sync/wait_result.h"

struct ww_stream_wait {
	struct ww_stream_watch watch;
	struct ww_list link;        /* in the list of all */
	struct ww_signal_map *page; /* a reference; constant, as are the next two */
	const struct ww_layout_signal_cell *cell;
	bool is_gpu;            /* a host stream's work keeps what it needs by itself */
	_Atomic uint64_t value; /* what watch.users are enqueuing comes after it */
	bool is_orphan;         /* no stream's */
};

static pthread_mutex_t waits_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list waits WW_PER_PROCESS = WW_LIST_INIT(waits);

static void wait_free(struct ww_stream_wait *wait)
{
	ww_signal_map_unref(wait->page);
	free(wait);
}

/* Whether a GPU may still look at the cell. */
static bool is_pending(const struct ww_stream_wait *wait)
{
	uint64_t completed = __atomic_load_n(&wait->cell->completed, __ATOMIC_ACQUIRE);

	return wait->is_gpu && (wait->watch.users > 0 || (int64_t)(completed - wait->value) < 0);
}

static ww_status check_watch(struct ww_stream_watch *watch)
{
	struct ww_stream_wait *wait = ww_container(watch, struct ww_stream_wait, watch);
	uint64_t value = wait->value;
	struct ww_signal_look look;
	ww_status status;

	ww_signal_cell_look(wait->cell, &look);
	status = ww_wait_result_of(&look, value);
	if (status < 0)
		return ww_wait_result_fail(wait->page, &look, value);
	return status;
}

static void free_watch(struct ww_stream_watch *watch)
{
	struct ww_stream_wait *wait = ww_container(watch, struct ww_stream_wait, watch);
	bool is_over;

	pthread_mutex_lock(&waits_lock);
	is_over = !is_pending(wait);
	if (is_over)
		ww_list_remove(&wait->link);
	else
		wait->is_orphan = true;
	pthread_mutex_unlock(&waits_lock);
	if (is_over)
		wait_free(wait);
}

static struct ww_stream_wait *wait_new(struct ww_stream *stream, struct ww_signal_map *page,
	uint64_t offset)
{
	struct ww_stream_wait *wait = calloc(1, sizeof(*wait));

	if (!wait) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot have a stream wait: out of memory");
		return NULL;
	}
	wait->page = ww_signal_map_ref(page);
	wait->cell = ww_signal_map_cell(page, offset);
	wait->is_gpu = stream->device->backend->id != WW_BACKEND_HOST;
	wait->watch.users = 1;
	wait->watch.owner = wait->cell;
	wait->watch.check = check_watch;
	wait->watch.free = free_watch;
	ww_list_init(&wait->link);
	return wait;
}

static void enter(struct ww_stream_wait *wait)
{
	pthread_mutex_lock(&waits_lock);
	ww_list_append(&waits, &wait->link);
	pthread_mutex_unlock(&waits_lock);
}

/* Return: the record of the stream and the cell, busy once more; NULL when there is none. */
static struct ww_stream_wait *find_record(struct ww_stream *stream, const void *cell,
	struct ww_stream_wait *made)
{
	struct ww_stream_wait *wait = NULL;
	struct ww_stream_watch *watch;

	ww_stream_watch_lock(stream);
	watch = ww_stream_watch_find(stream, cell);
	if (watch) {
		wait = ww_container(watch, struct ww_stream_wait, watch);
		wait->watch.users++;
	} else if (made) {
		ww_stream_watch_add(stream, &made->watch);
		wait = made;
	}
	ww_stream_watch_unlock(stream);
	return wait;
}

/* The record is in the list of all before anything is enqueued. */
struct ww_stream_wait *ww_stream_wait_begin(struct ww_stream *stream, struct ww_signal_map *page,
	uint64_t offset)
{
	struct ww_stream_wait *wait = find_record(stream, ww_signal_map_cell(page, offset), NULL);
	struct ww_stream_wait *made;

	if (wait)
		return wait;
	made = wait_new(stream, page, offset);
	if (!made)
		return NULL;
	enter(made);
	wait = find_record(stream, made->cell, made);
	if (wait != made) { /* another thread was faster */
		made->watch.users = 0;
		free_watch(&made->watch);
	}
	return wait;
}

void ww_stream_wait_end(struct ww_stream *stream, struct ww_stream_wait *wait, uint64_t value)
{
	ww_stream_watch_lock(stream);
	if (value > wait->value)
		wait->value = value;
	wait->watch.users--;
	ww_stream_watch_unlock(stream);
}

static ww_status enqueue_watched(struct ww_stream *stream, const struct ww_stream_wait_for *cell)
{
	struct ww_stream_value word;
	struct ww_stream_wait *wait;
	ww_status status;

	ww_try(ww_signal_map_stream_value(cell->page, stream->device, cell->offset, cell->value,
		&word));
	wait = ww_stream_wait_begin(stream, cell->page, cell->offset);
	if (!wait)
		return WW_ERR_NO_MEMORY;
	status = stream->device->backend->stream_wait_values(stream, &word, 1);
	ww_stream_wait_end(stream, wait, status == WW_OK ? cell->value : 0);
	return status;
}

/* At most WW_STREAM_VALUES_MAX. */
static ww_status enqueue_some(struct ww_stream *stream, const struct ww_stream_wait_for *cells,
	uint32_t count)
{
	struct ww_stream_value words[WW_STREAM_VALUES_MAX];
	struct ww_stream_wait *made[WW_STREAM_VALUES_MAX];
	uint32_t made_count = 0;
	ww_status status = WW_OK;

	while (status == WW_OK && made_count < count) {
		const struct ww_stream_wait_for *cell = &cells[made_count];

		status = ww_signal_map_stream_value(cell->page, stream->device, cell->offset,
			cell->value, &words[made_count]);
		if (status != WW_OK)
			break;
		made[made_count] = wait_new(stream, cell->page, cell->offset);
		if (made[made_count])
			enter(made[made_count++]);
		else
			status = WW_ERR_NO_MEMORY;
	}
	if (status == WW_OK)
		status = stream->device->backend->stream_wait_values(stream, words, count);
	for (uint32_t i = 0; i < made_count; i++) {
		ww_stream_wait_end(stream, made[i], status == WW_OK ? cells[i].value : 0);
		free_watch(&made[i]->watch);
	}
	return status;
}

ww_status ww_stream_waits_enqueue(struct ww_stream *stream, const struct ww_stream_wait_for *cells,
	uint32_t count)
{
	while (count > 0) {
		uint32_t now = count < WW_STREAM_VALUES_MAX ? count : WW_STREAM_VALUES_MAX;

		ww_try(enqueue_some(stream, cells, now));
		cells += now;
		count -= now;
	}
	return WW_OK;
}

ww_status ww_stream_wait_enqueue(struct ww_stream *stream, struct ww_signal_map *page,
	uint64_t offset, uint64_t value, bool is_watched)
{
	const struct ww_stream_wait_for cell = {page, offset, value};

	return is_watched ? enqueue_watched(stream, &cell) : enqueue_some(stream, &cell, 1);
}

/* Under the lock. Takes out a wait that is over and whose stream has ended. Return: NULL: there is
 * none. */
static struct ww_stream_wait *take_over(bool *out_is_pending)
{
	ww_list_for_each (link, &waits) {
		struct ww_stream_wait *wait = ww_container(link, struct ww_stream_wait, link);

		if (is_pending(wait)) {
			*out_is_pending = true;
		} else if (wait->is_orphan) {
			ww_list_remove(&wait->link);
			return wait;
		}
	}
	return NULL;
}

bool ww_stream_waits_pending(void)
{
	struct ww_stream_wait *wait;
	bool is_any_pending;

	do {
		is_any_pending = false;
		pthread_mutex_lock(&waits_lock);
		wait = take_over(&is_any_pending);
		pthread_mutex_unlock(&waits_lock);
		if (wait)
			wait_free(wait);
	} while (wait);
	return is_any_pending;
}
