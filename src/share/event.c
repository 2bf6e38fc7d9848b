/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.c - events between processes, by token
 *
 * On host what crosses is the page of the timeline inside, as for timelines: the broker poisons the
 * timelines of a process that ends.
 *
 * On a GPU it is the 64 bytes that CUDA knows the event by, and no descriptor: nothing of it is in
 * the broker that could outlive its maker. So the object's life is `owner`: it ends when its
 * creator has ended or released it, even if processes or tokens in escrow hold it. CUDA itself
 * would open such a handle, and a wait for work that a dead process did not complete would never
 * end.
 *
 * Handles are about processes by the number of their pid: CUDA takes one of a process with the same
 * number, in another container, for its own. So the description has 128 random bits of the maker
 * too. They are not the bits by which brokers identify the process, because a process that has
 * those could act in its name.
 *
 * Locks: process_lock, taken inside nothing.
 */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "share/choose_broker.h"
#include "share/token_import.h"
#include "share/sync_object.h"
#include "sync/event.h"

static pthread_mutex_t process_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static uint8_t process_id[WW_WIRE_ID_BYTES]; /* under the lock until it is set */
static bool has_process_id WW_PER_PROCESS;

static ww_status get_process_id(uint8_t out_id[WW_WIRE_ID_BYTES])
{
	ww_status status = WW_OK;

	pthread_mutex_lock(&process_lock);
	if (!has_process_id)
		status = ww_random_bytes(process_id, sizeof(process_id));
	if (status == WW_OK) {
		has_process_id = true;
		memcpy(out_id, process_id, sizeof(process_id));
	}
	pthread_mutex_unlock(&process_lock);
	return status;
}

/* --- export --- */

static ww_status describe(const struct ww_event *event, struct ww_put_request *request)
{
	struct ww_wire_event_ref ref = {.pid = (uint32_t)getpid()};

	memcpy(ref.device_uuid, event->device->uuid, sizeof(ref.device_uuid));
	ww_try(get_process_id(ref.process_id));
	if (event->native)
		ww_try(event->device->backend->event_handle(event->native, ref.handle));
	if (event->timeline)
		ww_sync_object_write_timeline(event->timeline->page, event->timeline->offset,
			ref.timeline);
	ww_event_ref_write(&ref, request->put.description);
	request->put.description_bytes = WW_EVENT_REF_BYTES;
	memcpy(request->put.home_uuid, event->device->uuid, sizeof(request->put.home_uuid));
	return WW_OK;
}

/* Has this process hold the event's object, put there if it is not yet. */
static ww_status share(struct ww_event *event, struct ww_broker *broker)
{
	struct ww_attachments *thing = ww_event_attachments(event);
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_try(ww_sync_object_require_broker(broker));
	if (event->timeline)
		ww_try(ww_sync_object_require_alive(event->timeline->page));
	if (ww_hold_ref_is_held(thing, broker))
		return WW_OK;
	ww_sync_object_request_init(&request, WW_OBJECT_EVENT, event->id, NULL);
	ww_try(describe(event, &request));
	if (event->timeline)
		ww_try(ww_sync_object_add_page(&request, event->timeline->page));
	else
		request.put.life = WW_LIFE_OWNER;
	return ww_put_request_put_unnamed(&request, thing, broker);
}

static ww_status export_event(struct ww_event *event, struct ww_broker *broker,
	const struct ww_escrow *escrow, struct ww_token *out_token)
{
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_EVENT,
		.access = WW_ACCESS_READ,
	};

	ww_try(share(event, broker));
	memcpy(info.object_id, event->id, sizeof(info.object_id));
	memcpy(info.home_uuid, event->device->uuid, sizeof(info.home_uuid));
	return ww_export_object(broker, &info, escrow, out_token);
}

ww_status ww_event_export(ww_event *event, ww_broker *broker, const struct ww_token_params *params,
	ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(event && out_token, "ww_event_export: event or out_token is NULL");
	ww_try(ww_ref_check(&event->ref, "an event"));
	ww_try(ww_sync_object_read_token(params, &escrow));
	ww_try(ww_event_require_own(event, "export"));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return export_event(event, broker, &escrow, out_token);
}

/* --- import --- */

/* Only devices of the backend that made it can open an event. */
static ww_status check_backend(const struct ww_device *device, bool is_of_host)
{
	if (is_of_host == !device->backend->event_open)
		return WW_OK;
	return ww_fail(WW_ERR_UNSUPPORTED,
		"the event is one of %s, and %s cannot open it; import it on %s, or use a timeline",
		is_of_host ? "the host device" : "a GPU", device->selector,
		is_of_host ? "the host device" : "a GPU");
}

static ww_status find_own(const struct ww_get_reply *grant, struct ww_event **out_event)
{
	*out_event = ww_event_find_own(grant->granted.id);
	if (*out_event)
		return WW_OK;
	return ww_fail(WW_ERR_NOT_FOUND,
		"this process made the token's event, and has released it since");
}

static ww_status open_handle(const struct ww_wire_event_ref *ref, struct ww_device *device,
	struct ww_event **out_event)
{
	if (ref->pid == (uint32_t)getpid())
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot open the event: its maker is another process with the same pid value %u, as in "
			"two containers, and CUDA takes it for this one; start one of them with another pid, or "
			"use a timeline",
			ref->pid);
	return ww_event_open(device, ref->handle, out_event);
}

static ww_status open_timeline(const struct ww_get_reply *grant,
	const struct ww_wire_event_ref *ref, struct ww_device *device, struct ww_event **out_event)
{
	WW_AUTO_SIGNAL_MAP struct ww_signal_map *page = NULL;
	WW_AUTO_TIMELINE struct ww_timeline *timeline = NULL;
	struct ww_wire_timeline_ref inside;

	ww_try(ww_timeline_ref_read(ref->timeline, sizeof(ref->timeline), &inside));
	ww_try(ww_get_reply_map_page(grant, inside.page_bytes, inside.page_id, &page));
	ww_try(ww_timeline_open(page, inside.cell_offset, &timeline));
	(void)ww_steal(page);
	ww_try(ww_event_of_timeline(device, timeline, out_event));
	(void)ww_steal(timeline);
	return WW_OK;
}

/* What was granted is an event, as far as its description says. */
static ww_status open_granted(struct ww_get_reply *grant, struct ww_device *device,
	struct ww_event **out_event)
{
	const struct ww_wire_granted *granted = &grant->granted;
	uint8_t own_process[WW_WIRE_ID_BYTES];
	struct ww_wire_event_ref ref;
	bool is_of_host;

	ww_try(ww_event_ref_read(granted->description, granted->description_bytes, &ref));
	is_of_host = !ww_is_zero(ref.timeline, sizeof(ref.timeline));
	ww_try(check_backend(device, is_of_host));
	ww_try(get_process_id(own_process));
	if (!memcmp(ref.process_id, own_process, sizeof(own_process)))
		return find_own(grant, out_event);
	if (is_of_host)
		ww_try(open_timeline(grant, &ref, device, out_event));
	else
		ww_try(open_handle(&ref, device, out_event));
	ww_get_reply_keep(grant, ww_event_attachments(*out_event));
	return WW_OK;
}

ww_status ww_event_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_event **out_event)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_IMPORT struct ww_import import;

	ww_clear(out_event, NULL);
	ww_import_init(&import, WW_OBJECT_EVENT, WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(device && token && out_event,
		"ww_event_import: device, token or out_event is NULL");
	ww_try(ww_import_ask(&import, broker, token));
	return open_granted(&import.grant, device, out_event);
}
