/* SPDX-License-Identifier: Apache-2.0 */
/*
 * late.c - queued calls whose deadline passes while a call before them goes on, see late.h
 */
#include "service/late.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "service/active.h"
#include "service/after.h"
#include "service/depends.h"
#include "service/run.h"

/* Between two looks at all lanes other work has so many times what the first one took. */
#define PAUSE_FACTOR 8

/* --- what the client is told --- */

static ww_status end_with(char *out_message, ww_status status, const char *message)
{
	snprintf(out_message, WW_ERROR_MESSAGE_BYTES, "%s", message);
	return status;
}

ww_status ww_late_judge(const struct ww_client_view *view, uint32_t slot,
	char out_message[WW_ERROR_MESSAGE_BYTES], uint64_t *out_failed_call)
{
	const struct ww_taken_call *taken = &view->calls[slot];
	const struct ww_layout_service_request *request = &taken->request;

	if (taken->is_late)
		return end_with(out_message, WW_ERR_UNAVAILABLE,
			"the service is draining: it takes no more calls");
	if (ww_service_requests_is_cancelled(&view->requests, slot, request->call))
		return end_with(out_message, WW_CANCELLED,
			"the call was cancelled before it was started");
	if (request->deadline_ns == WW_NEVER || ww_clock_now_ns() < request->deadline_ns)
		return WW_OK;
	if (!taken->failed)
		return WW_TIMED_OUT;
	*out_failed_call = taken->failed;
	return ww_depends_describe(taken->failed, out_message);
}

static const char *name_of(const struct ww_service *service, uint32_t function)
{
	const struct ww_offer *offer = ww_service_offer_of(service, function);

	return offer && function != WW_SERVICE_LANE_FUNCTION ? (const char *)offer->shared->name
							     : "a function";
}

void ww_late_describe(const struct ww_service *service, const struct ww_taken_call *taken,
	const char *why, char out_message[WW_ERROR_MESSAGE_BYTES])
{
	uint64_t queued_ns = ww_clock_now_ns() - taken->taken_ns;

	if (!why)
		why = taken->taken_ns >= taken->request.deadline_ns
			? "before the server took it; wait longer, or have more threads serve"
			: "before a thread of the server could start it; wait longer, or have more "
			  "threads serve";
	snprintf(out_message, WW_ERROR_MESSAGE_BYTES,
		"call %" PRIu64 " of '%s' was not started: it was queued for %" PRIu64 ".%03" PRIu64
		" ms, and its deadline passed %s",
		taken->request.call, name_of(service, taken->request.function), queued_ns / 1000000,
		queued_ns / 1000 % 1000, why);
}

/* --- those that are late --- */

/*
 * Whether the lane's first call can be taken out of the queue here. If no call before it goes on,
 * it is judged anyway. Locked.
 */
static bool can_remove_first(const struct ww_client_view *view, const struct ww_service_lane *lane)
{
	if (lane->is_running)
		return !view->calls[lane->running].is_signalled;
	return lane->working > 0 && !lane->timeline;
}

/* @before: slot of the call before it, which raises the timeline for both. Locked. */
static void remove_call(struct ww_client_view *view, uint32_t number, uint32_t before,
	uint32_t slot)
{
	struct ww_service_lane *lane = &view->lanes[number];
	struct ww_taken_call *taken = &view->calls[slot];
	uint64_t bit = UINT64_C(1) << number;

	if (lane->first == slot) {
		view->waiting &= ~bit;
		view->waiting_after &= ~bit;
		if (!lane->is_running) /* else it belongs to a call that is looked up */
			ww_service_after_leave(lane);
		lane->first = taken->next;
		if (lane->first != WW_SERVICE_NO_SLOT)
			view->ready |= bit;
	} else {
		view->calls[before].next = taken->next;
	}
	if (lane->last == slot)
		lane->last = before;
	if (before != WW_SERVICE_NO_SLOT)
		view->calls[before].value = taken->value;
	taken->is_signalled = true;
}

/* @before: as for remove_call() */
static void end_late(struct ww_service *service, struct ww_client_view *view, uint32_t before,
	uint32_t slot)
{
	const struct ww_taken_call *taken = &view->calls[slot];
	char message[WW_ERROR_MESSAGE_BYTES];
	uint64_t failed_call = 0;
	ww_status status = ww_late_judge(view, slot, message, &failed_call);

	if (status == WW_TIMED_OUT) {
		char why[WW_LATE_WHY_BYTES];

		if (before == WW_SERVICE_NO_SLOT)
			snprintf(why, sizeof(why),
				"while a stream ran work of calls before it in lane %" PRIu32
				"; use another lane, or wait longer",
				taken->request.lane);
		else
			snprintf(why, sizeof(why),
				"behind call %" PRIu64 " of lane %" PRIu32
				", which has not ended; use another lane, or wait longer",
				view->calls[before].request.call, taken->request.lane);
		ww_late_describe(service, taken, why, message);
	}
	ww_call_count_not_started(service, taken->request.function);
	ww_client_view_end(service, view, slot, status, message, failed_call);
}

static void view_look(struct ww_service *service, struct ww_client_view *view, uint64_t now_ns)
{
	if (now_ns < view->late_look_ns) {
		ww_late_note(service, view, view->late_look_ns);
		return;
	}
	view->late_look_ns = WW_NEVER;
	pthread_mutex_lock(&service->lock);
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		struct ww_service_lane *lane = &view->lanes[i];
		/*
		 * It is WW_SERVICE_NO_SLOT if the function of the call before the first one has
		 * returned.
		 */
		uint32_t before = lane->is_running ? lane->running : WW_SERVICE_NO_SLOT;
		uint32_t next;

		for (uint32_t slot = lane->first; slot != WW_SERVICE_NO_SLOT; slot = next) {
			uint64_t deadline_ns = view->calls[slot].request.deadline_ns;

			next = view->calls[slot].next;
			if (now_ns >= deadline_ns &&
				(slot != lane->first || can_remove_first(view, lane))) {
				remove_call(view, i, before, slot);
				end_late(service, view, before, slot);
				continue;
			}
			ww_late_note(service, view,
				now_ns >= deadline_ns ? now_ns + WW_PEER_LOOK_NS : deadline_ns);
			before = slot;
		}
	}
	pthread_mutex_unlock(&service->lock);
}

void ww_late_look_at_all(struct ww_service *service, uint64_t now_ns)
{
	uint64_t began_ns;
	uint64_t end_ns;

	if (now_ns < ww_late_look_ns(service))
		return;
	began_ns = ww_clock_now_ns();
	service->late_look_ns = WW_NEVER;
	ww_list_for_each (link, &service->active) {
		struct ww_client_view *view = ww_service_active_of(link);

		if (!view->is_refused && !view->is_gone)
			view_look(service, view, began_ns);
	}
	end_ns = ww_clock_now_ns();
	service->late_pause_ns = end_ns + PAUSE_FACTOR * (end_ns - began_ns);
}
