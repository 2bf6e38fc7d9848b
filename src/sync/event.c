/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - events: made, recorded, waited for; see event.h
 *
 * Where the driver has events between processes, an event is one of them, and all rules are the
 * driver's: no process learns that the recorder died, and a wait for its unfinished work ends only
 * by the caller's time limit.
 *
 * On host it is a timeline on a page of its own. To record is to have the stream signal the next
 * value, to wait is to wait for the value submitted last: 0 for an event that was never recorded,
 * and that is reached from the start. So the rules are those of timelines: a wait for a recorder
 * that ended is an error, and a stream that records after another one waits for the recording of
 * that one. The timeline's values come from an untrusted process: one beyond all values is taken
 * for the highest, which only that untrusted process's own end releases.
 *
 * Locks: events_lock for the list of own events, taken inside nothing; event->lock is held around a
 * timeline's.
 */
#include "sync/event.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "device/stream.h"
#include "sync/wait_result.h"

#define PARAMS_V1_BYTES sizeof(struct ww_event_params)

static pthread_mutex_t events_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
/* struct ww_event.link */
static struct ww_list own_events WW_PER_PROCESS = WW_LIST_INIT(own_events);

/* --- coming and going --- */

static struct ww_event *event_new(struct ww_device *device)
{
	struct ww_event *event = calloc(1, sizeof(*event));

	if (!event) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep an event: out of memory");
		return NULL;
	}
	ww_ref_init(&event->ref);
	ww_list_init(&event->link);
	pthread_mutex_init(&event->lock, NULL);
	event->device = ww_device_ref(device);
	return event;
}

ww_event *ww_event_ref(ww_event *event)
{
	if (event)
		ww_ref_get(&event->ref);
	return event;
}

ww_event *ww_event_unref(ww_event *event)
{
	bool has_timeline;

	if (!event || !ww_ref_put(&event->ref))
		return NULL;
	has_timeline = event->timeline;
	pthread_mutex_lock(&events_lock);
	ww_list_remove(&event->link);
	pthread_mutex_unlock(&events_lock);
	ww_attachments_fini(&event->attachments);
	if (event->native)
		event->device->backend->event_close(event->native);
	ww_timeline_drop(event->timeline);
	ww_device_unref(event->device);
	pthread_mutex_destroy(&event->lock);
	free(event);
	if (has_timeline)
		ww_deferred_reclaim();
	return NULL;
}

struct ww_event *ww_event_find_own(const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_event *found = NULL;

	pthread_mutex_lock(&events_lock);
	ww_list_for_each (link, &own_events) {
		struct ww_event *event = ww_container(link, struct ww_event, link);

		if (!memcmp(event->id, id, sizeof(event->id)) && ww_ref_try_get(&event->ref)) {
			found = event;
			break;
		}
	}
	pthread_mutex_unlock(&events_lock);
	return found;
}

struct ww_attachments *ww_event_attachments(struct ww_event *event)
{
	return event->timeline ? &event->timeline->attachments : &event->attachments;
}

static ww_status require_events(const struct ww_device *device)
{
	if (!(device->capabilities & WW_CAP_EVENT))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s has no events between processes: its driver lacks the calls; use a timeline",
			device->selector);
	return WW_OK;
}

ww_status ww_event_create(ww_device *device, const struct ww_event_params *params,
	ww_event **out_event)
{
	WW_AUTO_EVENT struct ww_event *event = NULL;
	struct ww_event_params ours;
	uint64_t unknown;
	const struct ww_backend *backend;

	ww_clear(out_event, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_event, "ww_event_create: device or out_event is NULL");
	memset(&ours, 0, sizeof(ours));
	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_event_params"));
	if (ours.flags & WW_EVENT_TIMING)
		return ww_fail(WW_ERR_INVALID,
			"an event between processes measures no time, CUDA has none that do; measure with "
			"events of one process (cuEventElapsedTime), or with a clock around "
			"ww_event_synchronize()");
	unknown = ours.reserved ? ours.reserved : ours.flags & ~WW_EVENT_BLOCKING_SYNC;
	if (unknown)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for an event", unknown);
	ww_try(require_events(device));
	event = event_new(device);
	if (!event)
		return WW_ERR_NO_MEMORY;
	ww_try(ww_random_bytes(event->id, sizeof(event->id)));
	backend = event->device->backend;
	if (backend->event_create) {
		ww_try(backend->event_create(event->device, ours.flags, &event->native));
	} else {
		ww_deferred_reclaim_no_wait();
		ww_try(ww_timeline_create_alone(&event->timeline));
	}
	event->is_own = true;
	pthread_mutex_lock(&events_lock);
	ww_list_append(&own_events, &event->link);
	pthread_mutex_unlock(&events_lock);
	*out_event = ww_steal(event);
	return WW_OK;
}

ww_status ww_event_open(struct ww_device *device, const uint8_t handle[WW_EVENT_HANDLE_BYTES],
	struct ww_event **out_event)
{
	WW_AUTO_EVENT struct ww_event *event = NULL;

	ww_try(require_events(device));
	event = event_new(device);
	if (!event)
		return WW_ERR_NO_MEMORY;
	ww_try(device->backend->event_open(device, handle, &event->native));
	*out_event = ww_steal(event);
	return WW_OK;
}

ww_status ww_event_of_timeline(struct ww_device *device, struct ww_timeline *timeline,
	struct ww_event **out_event)
{
	struct ww_event *event = event_new(device);

	if (!event)
		return WW_ERR_NO_MEMORY;
	event->timeline = timeline;
	*out_event = event;
	return WW_OK;
}

ww_status ww_event_require_own(const struct ww_event *event, const char *action)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	if (event->is_own)
		return WW_OK;
	if (!event->timeline)
		return ww_fail(WW_ERR_ACCESS,
			"cannot %s this event: another process made it, and only its maker can",
			action);
	return ww_fail(WW_ERR_ACCESS, "cannot %s this event: %s made it, and only its maker can%s",
		action, ww_wait_result_process(event->timeline->page, process),
		strcmp(action, "record") ? ""
					 : " on the host device; make one for the other direction");
}

/* --- the timeline inside --- */

/* What stands for the last recording. */
static uint64_t last_value(const struct ww_event *event)
{
	struct ww_signal_look look;

	ww_signal_cell_look(event->timeline->cell, &look);
	return look.submitted < WW_TIMELINE_MAX ? look.submitted : WW_TIMELINE_MAX;
}

/* --- recording and waiting --- */

ww_status ww_event_record(ww_event *event, ww_stream *stream)
{
	ww_try(ww_process_enter());
	ww_require(event && stream, "ww_event_record: event or stream is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	if (stream->device != event->device)
		return ww_fail(WW_ERR_INVALID,
			"cannot record an event of %s by a stream of %s; make the event on the device that "
			"records it",
			event->device->selector, stream->device->selector);
	if (event->timeline) {
		ww_status status;

		ww_try(ww_event_require_own(event, "record"));
		pthread_mutex_lock(&event->lock);
		status = ww_timeline_stream_signal(event->timeline, stream, last_value(event) + 1);
		pthread_mutex_unlock(&event->lock);
		return status;
	}
	ww_try(ww_stream_check_order(stream));
	return event->device->backend->event_record(event->native, stream);
}

ww_status ww_event_stream_wait(ww_event *event, ww_stream *stream)
{
	const struct ww_backend *backend;

	ww_try(ww_process_enter());
	ww_require(event && stream, "ww_event_stream_wait: event or stream is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	ww_try(ww_ref_check(&stream->ref, "a stream"));
	backend = event->device->backend;
	if (stream->device->backend != backend ||
		(event->native && stream->device != event->device))
		return ww_fail(WW_ERR_INVALID,
			"a stream of %s cannot wait for an event of %s; open the event on the stream's "
			"device, or use a timeline",
			stream->device->selector, event->device->selector);
	/*
	 * It was submitted: there is no need to look for that, and an untrusted process's page may
	 * say otherwise by now.
	 */
	if (event->timeline)
		return ww_timeline_stream_wait(event->timeline, stream, last_value(event),
			WW_WAIT_UNSUBMITTED, 0, NULL);
	ww_try(ww_stream_check_order(stream));
	return backend->event_stream_wait(event->native, stream);
}

ww_status ww_event_query(ww_event *event)
{
	ww_try(ww_process_enter());
	ww_require(event, "ww_event_query: event is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	if (event->timeline)
		return ww_timeline_query(event->timeline, last_value(event));
	return event->device->backend->event_query(event->native);
}

struct awaited {
	struct ww_event *event;
	ww_status status;
};

static enum ww_await_look look(void *context)
{
	struct awaited *awaited = context;

	awaited->status = awaited->event->device->backend->event_query(awaited->event->native);
	return awaited->status == WW_NOT_READY ? WW_AWAIT_POLL : WW_AWAIT_DONE;
}

ww_status ww_event_synchronize(ww_event *event, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct awaited awaited = {.event = event};
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	const uint32_t nobodys = 0;
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(event, "ww_event_synchronize: event is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	if (event->timeline)
		return ww_timeline_wait(event->timeline, last_value(event), timeout_ns, NULL);
	/* Without a wake: the driver's own call, which sleeps or spins, has no limit on time. */
	if (deadline_ns == WW_NEVER && !ww_cancel_is_given())
		return event->device->backend->event_synchronize(event->native);
	status = ww_await(&nobodys, look, &awaited, deadline_ns);
	return status == WW_OK ? awaited.status : status;
}

/* --- handles of the driver --- */

static ww_status fail_no_handle(void)
{
	return ww_fail(WW_ERR_UNSUPPORTED,
		"events of the host device have no handle of CUDA's; export them by a token, or use a "
		"timeline");
}

ww_status ww_event_handle_get(ww_event *event, struct ww_event_handle *out_handle)
{
	ww_try(ww_process_enter());
	ww_require(event && out_handle, "ww_event_handle_get: event or out_handle is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	if (!event->native)
		return fail_no_handle();
	ww_try(ww_event_require_own(event, "get the handle of"));
	return event->device->backend->event_handle(event->native, out_handle->bytes);
}

ww_status ww_event_handle_open(ww_device *device, const struct ww_event_handle *handle,
	ww_event **out_event)
{
	ww_clear(out_event, NULL);
	ww_try(ww_process_enter());
	ww_require(device && handle && out_event,
		"ww_event_handle_open: device, handle or out_event is NULL");
	if (!device->backend->event_open)
		return fail_no_handle();
	return ww_event_open(device, handle->bytes, out_event);
}
