/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after.c - calls that start after a value of a timeline, see after.h
 */
#include "service/after.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "service/active.h"
#include "service/after_stream.h"
#include "service/call.h"
#include "sync/wait_result.h"

/* Between two looks at all timelines other work has so many times what the first one took. */
#define PAUSE_FACTOR 8

/* How soon the kernel says that a process has ended whose connection broke. */
#define END_NS UINT64_C(1000000000)

void ww_service_after_free(struct ww_service_after *after)
{
	if (!after)
		return;
	ww_timeline_drop(after->timeline);
	free(after);
}

/* --- the timelines of a client --- */

/* A copy of what an untrusted process has there. Return: false: a token cannot be there. */
static bool copy_token(const struct ww_client_view *view,
	const struct ww_layout_service_request *request, struct ww_token *out_token)
{
	uint32_t at = request->arguments_at;

	if (!ww_service_arguments_are_inside(request, view->requests.area_bytes))
		return false;
	memcpy(out_token, view->requests.area + at + ww_service_record_bytes(request),
		sizeof(*out_token));
	return true;
}

/* Locked. */
static void lane_take(struct ww_client_view *view, struct ww_service_lane *lane,
	struct ww_service_after *after)
{
	after->used = ++view->afters_used;
	after->lanes++;
	lane->after = after;
}

bool ww_service_after_recall(struct ww_client_view *view, struct ww_service_lane *lane,
	const struct ww_layout_service_request *request)
{
	struct ww_token token;

	if (lane->after)
		return true;
	if (view->afters_used == 0 || !copy_token(view, request, &token))
		return false;
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		struct ww_service_after *after = view->afters[i];

		if (!after || memcmp(&after->token, &token, sizeof(token)))
			continue;
		lane_take(view, lane, after);
		return true;
	}
	return false;
}

void ww_service_after_leave(struct ww_service_lane *lane)
{
	if (lane->after)
		lane->after->lanes--;
	lane->after = NULL;
	lane->has_stream = false;
}

ww_status ww_service_after_import(struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, const struct ww_layout_service_request *request)
{
	struct ww_service_after *after = calloc(1, sizeof(*after));
	uint64_t oldest = UINT64_MAX;
	struct ww_service_after *old;
	uint32_t place = 0;
	ww_status status;

	if (!after)
		return ww_fail(WW_ERR_NO_MEMORY, "the server is out of memory");
	if (!copy_token(view, request, &after->token))
		status = ww_fail(WW_ERR_PROTOCOL, "its token is outside the arguments");
	else
		status = ww_timeline_import(service->broker, &after->token, NULL, &after->timeline);
	if (status == WW_OK && ww_after_stream_may_wait(service, view, after->timeline))
		after->is_mapped = ww_timeline_prepare(after->timeline, service->device) == WW_OK;
	if (status != WW_OK) {
		ww_service_after_free(after);
		return status;
	}
	pthread_mutex_lock(&service->lock);
	/*
	 * The new one takes the place of the one that was used least recently, of those that no
	 * lane waits for. Since the lane that asks waits for none, there is one.
	 */
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		old = view->afters[i];
		if (old && (old->lanes > 0 || old->used >= oldest))
			continue;
		place = i;
		oldest = old ? old->used : 0;
	}
	old = view->afters[place];
	view->afters[place] = after;
	lane_take(view, lane, after);
	pthread_mutex_unlock(&service->lock);
	ww_service_after_free(old);
	return WW_OK;
}

/* --- waiting --- */

/*
 * The broker says that a timeline is lost when the connection of its process breaks, just before
 * the process ends. If that is the client itself, its lanes go on waiting until the server sees
 * that it has ended, and drops its calls: else those behind this one would be started.
 */
static bool may_have_ended(const struct ww_client_view *view, struct ww_service_after *after)
{
	const struct ww_page_creator *creator = &after->timeline->page->creator;
	const struct ww_page_creator *client = &view->member.page->creator;
	bool may_be_client = creator->uid == client->uid &&
		(creator->pid == client->pid || creator->pid == 0);

	if (!may_be_client || !ww_signal_page_is_lost(after->timeline->page->header))
		return false;
	if (after->lost_until_ns == 0)
		after->lost_until_ns = ww_clock_now_ns() + END_NS;
	return ww_clock_now_ns() < after->lost_until_ns;
}

static ww_status look_at(struct ww_client_view *view, const struct ww_service_lane *lane,
	uint64_t value, struct ww_signal_look *look)
{
	ww_status status;

	ww_signal_cell_look(lane->after->timeline->cell, look);
	status = ww_wait_result_of(look, value);
	return status < 0 && may_have_ended(view, lane->after) ? WW_NOT_READY : status;
}

ww_status ww_service_after_look(struct ww_client_view *view, const struct ww_service_lane *lane,
	uint64_t value, char *out_message)
{
	struct ww_signal_look look;
	ww_status status = look_at(view, lane, value, &look);
	struct ww_error record;

	if (status >= 0)
		return status;
	ww_error_save(&record);
	(void)ww_wait_result_fail(lane->after->timeline->page, &look, value);
	memcpy(out_message, ww_error_last()->message, WW_ERROR_MESSAGE_BYTES);
	ww_error_restore(&record);
	return WW_ERR_DEPENDENCY_FAILED;
}

/* Soon, while the waits are short. */
static uint64_t soonest_look_ns(const struct ww_service *service, uint64_t now_ns)
{
	uint64_t look_ns = ww_await_poll_ns(service->after_since_ns, now_ns);

	return look_ns > service->after_pause_ns ? look_ns : service->after_pause_ns;
}

void ww_service_after_wait(struct ww_service *service, struct ww_client_view *view, uint32_t lane)
{
	uint64_t look_ns;

	view->waiting_after |= UINT64_C(1) << lane;
	ww_after_stream_wait(service, view, &view->lanes[lane]);
	service->after_since_ns = ww_clock_now_ns();
	look_ns = soonest_look_ns(service, service->after_since_ns);
	if (look_ns < service->after_look_ns)
		service->after_look_ns = look_ns;
}

static bool waits_no_longer(const struct ww_service *service, struct ww_client_view *view,
	const struct ww_service_lane *lane, uint64_t now_ns)
{
	const struct ww_layout_service_request *request = &view->calls[lane->first].request;
	struct ww_signal_look look;

	return service->is_refusing || now_ns >= request->deadline_ns ||
		look_at(view, lane, request->after, &look) != WW_NOT_READY ||
		ww_service_requests_is_cancelled(&view->requests, lane->first, request->call);
}

void ww_service_after_look_at_all(struct ww_service *service, uint64_t now_ns)
{
	bool is_waiting = false;
	uint64_t began_ns;
	uint64_t end_ns;

	if (!ww_after_stream_has_told(service) && now_ns < service->after_look_ns)
		return;
	began_ns = ww_clock_now_ns();
	service->after_look_ns = WW_NEVER;
	ww_list_for_each (link, &service->active) {
		struct ww_client_view *view = ww_service_active_of(link);

		if (!view->waiting_after || view->is_refused || view->is_gone)
			continue;
		pthread_mutex_lock(&service->lock);
		for (uint64_t left = view->waiting_after; left; left &= left - 1) {
			struct ww_service_lane *lane = &view->lanes[__builtin_ctzll(left)];
			uint64_t bit = left & -left;

			if (!waits_no_longer(service, view, lane, began_ns)) {
				ww_after_stream_wait(service, view, lane);
				continue;
			}
			view->waiting_after &= ~bit;
			view->ready |= bit;
		}
		pthread_mutex_unlock(&service->lock);
		is_waiting = is_waiting || view->waiting_after;
	}
	end_ns = ww_clock_now_ns();
	service->after_pause_ns = end_ns + PAUSE_FACTOR * (end_ns - began_ns);
	if (is_waiting)
		service->after_look_ns = soonest_look_ns(service, end_ns);
}
