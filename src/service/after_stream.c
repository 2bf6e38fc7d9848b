/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after_stream.c - streams of a GPU that wait for the values that calls start after, see
 * after_stream.h
 */
#include "service/after_stream.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "device/deferred_release.h"
#include "device/stream.h"
#include "wire/signal_page.h"

/* A stream, and what a thread of the driver calls when its wait is over. */
struct after_stream {
	struct ww_after_streams *all;
	ww_stream *stream; /* owned; NULL: it was given up */
	_Atomic(bool) is_waiting;
};

/* Of one service. They end when none waits any more (device/deferred_release.h). */
struct ww_after_streams {
	struct ww_deferred deferred;
	_Atomic(bool) has_told;
	pthread_mutex_t lock;       /* of the next one */
	struct ww_service *service; /* NULL: it has ended */
	uint32_t count;
	struct after_stream items[WW_SERVICE_AFTER_STREAMS_MAX];
};

/* Streams that wait, of all services of this process. */
static _Atomic(uint32_t) waiting_count WW_PER_PROCESS;

/* No CUDA. When the stream waits no more, nothing else is touched. */
static void notify(void *context)
{
	struct after_stream *item = context;
	struct ww_after_streams *all = item->all;

	atomic_fetch_sub(&waiting_count, 1);
	pthread_mutex_lock(&all->lock);
	if (all->service) {
		atomic_store(&all->has_told, true);
		ww_service_note_change(all->service);
	}
	pthread_mutex_unlock(&all->lock);
	atomic_store(&item->is_waiting, false);
}

/* --- life --- */

static bool are_over(struct ww_deferred *deferred)
{
	struct ww_after_streams *all = ww_container(deferred, struct ww_after_streams, deferred);

	for (uint32_t i = 0; i < all->count; i++) {
		if (atomic_load(&all->items[i].is_waiting))
			return false;
	}
	return true;
}

static void release(struct ww_deferred *deferred)
{
	struct ww_after_streams *all = ww_container(deferred, struct ww_after_streams, deferred);

	for (uint32_t i = 0; i < all->count; i++)
		ww_stream_unref(all->items[i].stream);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static const struct ww_deferred_class ending_class = {
	.is_done = are_over,
	.release = release,
	.may_block = true, /* the end of a stream also releases what its waits kept */
};

/* Under MPS a process has two hardware queues: a stream that waits stops half of the others. */
static bool may_streams_wait(const struct ww_service *service)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	return service->device->backend->id != WW_BACKEND_HOST &&
		ww_device_info_get(service->device, &info) == WW_OK && info.mps != WW_MPS_ON;
}

ww_status ww_after_streams_create(struct ww_service *service)
{
	struct ww_after_streams *all;

	if (service->params.after_streams == 0 || !may_streams_wait(service))
		return WW_OK;
	all = calloc(1, sizeof(*all));
	if (!all)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a service: out of memory");
	all->service = service;
	pthread_mutex_init(&all->lock, NULL);
	service->after_streams = all;
	while (all->count < service->params.after_streams) {
		struct after_stream *item = &all->items[all->count];

		ww_try(ww_stream_create(service->device, &item->stream));
		item->all = all;
		all->count++;
	}
	return WW_OK;
}

void ww_after_streams_fini(struct ww_service *service)
{
	struct ww_after_streams *all = ww_steal(service->after_streams);

	if (!all)
		return;
	pthread_mutex_lock(&all->lock);
	all->service = NULL;
	pthread_mutex_unlock(&all->lock);
	if (are_over(&all->deferred))
		release(&all->deferred);
	else
		ww_deferred_add(&all->deferred, &ending_class);
}

/* --- waiting --- */

/* A client may pass on a timeline of another user. */
bool ww_after_stream_may_wait(const struct ww_service *service, const struct ww_client_view *view,
	const struct ww_timeline *timeline)
{
	return service->after_streams && view->member.uid == geteuid() &&
		(timeline->is_own || timeline->page->creator.uid == geteuid());
}

/* Whether a stream of the signaller is about to reach it. */
static bool is_submitted(const struct ww_service_lane *lane, uint64_t value)
{
	struct ww_signal_look look;

	ww_signal_cell_look(lane->after->timeline->cell, &look);
	return look.state == WW_WIRE_CELL_STATE_LIVE && look.submitted >= value &&
		look.reached < value;
}

/* Return: NULL: none is free. */
static struct after_stream *find_stream(struct ww_after_streams *all)
{
	for (uint32_t i = 0; i < all->count; i++) {
		if (all->items[i].stream && !atomic_load(&all->items[i].is_waiting))
			return &all->items[i];
	}
	return NULL;
}

/* Counts one more. Return: false: as many wait as may. */
static bool count_one(void)
{
	if (atomic_fetch_add(&waiting_count, 1) < WW_SERVICE_AFTER_STREAMS_MAX)
		return true;
	atomic_fetch_sub(&waiting_count, 1);
	return false;
}

/*
 * If the stream waits, and cannot notify, it is used no more: it waits as long as it must.
 * Return: whether it will notify.
 */
static bool enqueue(struct after_stream *item, ww_timeline *timeline, uint64_t value)
{
	(void)ww_stream_recover(item->stream); /* after an earlier wait that ended by poison */
	if (ww_timeline_stream_wait(timeline, item->stream, value, 0, 0, NULL) != WW_OK)
		return false;
	atomic_store(&item->is_waiting, true);
	if (ww_stream_call(item->stream, notify, item) == WW_OK)
		return true;
	(void)ww_stream_recover(item->stream); /* the signaller may have ended just now */
	if (ww_stream_call(item->stream, notify, item) == WW_OK)
		return true;
	atomic_store(&item->is_waiting, false);
	item->stream = NULL;
	return false;
}

void ww_after_stream_wait(struct ww_service *service, const struct ww_client_view *view,
	struct ww_service_lane *lane)
{
	uint64_t value = view->calls[lane->first].request.after;
	struct after_stream *item;
	struct ww_error record;

	if (lane->has_stream || !lane->after->is_mapped || service->is_refusing ||
		!is_submitted(lane, value))
		return;
	item = find_stream(service->after_streams);
	if (!item || !count_one())
		return;
	ww_error_save(&record);
	lane->has_stream = enqueue(item, lane->after->timeline, value);
	ww_error_restore(&record);
	if (!lane->has_stream)
		atomic_fetch_sub(&waiting_count, 1);
}

bool ww_after_stream_has_told(struct ww_service *service)
{
	return service->after_streams && atomic_load(&service->after_streams->has_told) &&
		atomic_exchange(&service->after_streams->has_told, false);
}

uint32_t ww_after_stream_count(const struct ww_service *service)
{
	uint32_t count = 0;

	for (uint32_t i = 0; service->after_streams && i < service->after_streams->count; i++)
		count += atomic_load(&service->after_streams->items[i].is_waiting);
	return count;
}
