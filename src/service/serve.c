/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - the threads that serve: finding what is to be run (run.h)
 *
 *   lead:  meet clients ──> end what streams have done ──> take calls ──> start the next one
 *
 * Clients take turns, and so do the lanes of one client. A call that cannot be started is ended
 * where it is found: late, cancelled, not allowed, of another signature.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/process.h"
#include "service/active.h"
#include "service/after.h"
#include "service/batch.h"
#include "service/depends.h"
#include "service/device_fault.h"
#include "service/late.h"
#include "service/eventfd.h"
#include "wire/signal_page.h"

/* A driver for the H200 waits with about 1,000 signals in a stream; a call may have two. */
#define STREAM_CALLS_MOST 256

/* --- starting a call --- */

/* What is to become of the first call of a lane. */
enum verdict {
	START,
	WAIT_FOR_LANE, /* the call before it runs */
	WAIT_FOR_CALL, /* one that it depends on has not ended */
	WAIT_FOR_TIMELINE,
	LOOK_UP, /* the timeline that it starts after is to be imported */
	END
};

struct judgement {
	ww_status status; /* END: what the call ends with */
	uint64_t failed_call;
	char message[WW_ERROR_MESSAGE_BYTES];
};

static bool contains(const uint32_t *ids, uint32_t count, uint32_t id)
{
	for (uint32_t i = 0; ids && i < count; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

static enum verdict end_with(struct judgement *out, ww_status status, const char *message)
{
	out->status = status;
	snprintf(out->message, sizeof(out->message), "%s", message);
	return END;
}

static enum verdict judge_function(const struct ww_service *service,
	const struct ww_client_view *view, const struct ww_layout_service_request *request,
	struct judgement *out)
{
	const struct ww_offer *offer = ww_service_offer_of(service, request->function);

	if (!offer)
		return end_with(out, WW_ERR_NOT_FOUND, "the service has no such function");
	if (request->hash != offer->signature->hash) {
		out->status = WW_ERR_MISMATCH;
		snprintf(out->message, sizeof(out->message),
			"the client goes by another signature of '%s' than '%.80s'; look the function "
			"up again",
			(const char *)offer->shared->name, offer->signature->text);
		return END;
	}
	if ((!offer->uids && !offer->gids) ||
		contains(offer->uids, offer->uid_count, view->member.uid) ||
		contains(offer->gids, offer->gid_count, view->member.gid))
		return START;
	out->status = WW_ERR_ACCESS;
	snprintf(out->message, sizeof(out->message),
		"user %" PRIu32 " in group %" PRIu32
		" may not call '%s': the server allows it to others only",
		view->member.uid, view->member.gid, (const char *)offer->shared->name);
	return END;
}

static enum verdict judge_dependency(const struct ww_client_view *view,
	const struct ww_taken_call *taken, struct judgement *out)
{
	for (uint32_t i = 0; i < WW_SUBMIT_DEPENDS_MAX; i++) {
		uint64_t on = ww_service_dependency(&taken->request, i);

		if (on && !ww_depends_is_possible(taken, on))
			return end_with(out, WW_ERR_PROTOCOL,
				"a call depends on a later one, or one of long ago");
	}
	if (taken->failed) {
		out->status = ww_depends_describe(taken->failed, out->message);
		out->failed_call = taken->failed;
		return END;
	}
	return ww_depends_is_pending(view, taken) ? WAIT_FOR_CALL : START;
}

/* While the service drains, no call of a client holds it up. */
static enum verdict judge_after(const struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, const struct ww_layout_service_request *request,
	struct judgement *out)
{
	ww_status status;

	if (request->after == 0)
		return START;
	if (request->after > WW_TIMELINE_MAX)
		return end_with(out, WW_ERR_PROTOCOL,
			"a call starts after a value that no timeline can have");
	if (!ww_service_after_recall(view, lane, request))
		return LOOK_UP;
	status = ww_service_after_look(view, lane, request->after, out->message);
	if (status == WW_NOT_READY && service->is_refusing)
		return end_with(out, WW_ERR_UNAVAILABLE,
			"the service is draining: it waits for no timeline of a client");
	if (status == WW_NOT_READY)
		return WAIT_FOR_TIMELINE;
	out->status = status;
	return status == WW_OK ? START : END;
}

static enum verdict judge_request(const struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, uint32_t slot, struct judgement *out)
{
	const struct ww_taken_call *taken = &view->calls[slot];
	const struct ww_layout_service_request *request = &taken->request;
	enum verdict verdict;

	memset(out, 0, offsetof(struct judgement, message));
	out->status = ww_late_judge(view, slot, out->message, &out->failed_call);
	if (out->status == WW_TIMED_OUT) {
		struct ww_signal_look look = {0};
		char why[WW_LATE_WHY_BYTES] = "";

		/* Of a call that is the first of its lane. */
		if (lane->after)
			ww_signal_cell_look(lane->after->timeline->cell, &look);
		if (ww_depends_is_pending(view, taken))
			snprintf(why, sizeof(why),
				"while it waited for a call that it depends on; wait longer");
		else if (lane->after && look.reached < request->after)
			snprintf(why, sizeof(why),
				"while it waited for value %" PRIu64
				" of a timeline, which was at %" PRIu64
				"; see what its signaller does, or wait longer",
				request->after, look.reached);
		ww_late_describe(service, taken, why[0] ? why : NULL, out->message);
	}
	if (out->status != WW_OK)
		return END;
	verdict = judge_function(service, view, request, out);
	if (verdict == START)
		verdict = judge_dependency(view, taken, out);
	return verdict == START ? judge_after(service, view, lane, request, out) : verdict;
}

/* Whether more work in it could make the driver wait, and thereby the thread that has the lock. */
static bool is_full(const struct ww_service_stream *stream)
{
	struct ww_signal_look look;

	ww_signal_cell_look(stream->timeline->cell, &look);
	return stream->value - look.reached >= STREAM_CALLS_MOST;
}

/*
 * A call that is not run ends when those before it in its lane have, since the lane's timeline goes
 * by their order.
 */
static enum verdict judge(const struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, uint32_t slot, struct judgement *out)
{
	const struct ww_offer *offer;
	enum verdict verdict;

	if (lane->is_running)
		return WAIT_FOR_LANE;
	verdict = judge_request(service, view, lane, slot, out);
	if (verdict == WAIT_FOR_CALL || verdict == WAIT_FOR_TIMELINE || lane->working == 0)
		return verdict;
	offer = ww_service_offer_of(service, view->calls[slot].request.function);
	return verdict == START && lane->only_enqueues && offer->flags & WW_FUNCTION_ENQUEUES &&
			!offer->batch /* its stream is that of other lanes, too */ &&
			!is_full(lane->stream)
		? START
		: WAIT_FOR_LANE;
}

/* Return: NULL: out of memory; the call has ended. */
static struct ww_call *call_begin(struct ww_service *service, struct ww_client_view *view,
	struct ww_service_lane *lane, uint32_t slot, bool is_lookup)
{
	const struct ww_taken_call *taken = &view->calls[slot];
	struct ww_call *call = ww_call_new(service);

	if (!call) {
		ww_client_view_end(service, view, slot, WW_ERR_NO_MEMORY,
			"the server is out of memory", 0);
		return NULL;
	}
	call->view = view;
	call->lane = lane;
	call->slot = slot;
	call->is_lookup = is_lookup;
	call->request = taken->request;
	call->offer = ww_service_offer_of(service, taken->request.function);
	lane->is_running = true;
	lane->running = slot;
	view->running++;
	service->running++;
	return call;
}

/* The first call of a lane, if it can be started. Locked. */
static struct ww_call *lane_start(struct ww_service *service, struct ww_client_view *view,
	uint32_t number)
{
	struct ww_service_lane *lane = &view->lanes[number];
	uint64_t bit = UINT64_C(1) << number;
	struct judgement judgement;

	view->waiting &= ~bit;
	view->waiting_after &= ~bit;
	while (lane->first != WW_SERVICE_NO_SLOT) {
		uint32_t slot = lane->first;
		enum verdict verdict = judge(service, view, lane, slot, &judgement);

		if (verdict == WAIT_FOR_LANE || verdict == WAIT_FOR_CALL ||
			verdict == WAIT_FOR_TIMELINE) {
			if (verdict == WAIT_FOR_CALL)
				ww_depends_wait(service, view, number);
			else if (verdict == WAIT_FOR_TIMELINE)
				ww_service_after_wait(service, view, number);
			break;
		}
		ww_service_after_leave(lane);
		lane->first = view->calls[lane->first].next;
		if (verdict == START || verdict == LOOK_UP)
			return call_begin(service, view, lane, slot, verdict == LOOK_UP);
		ww_call_count_not_started(service, view->calls[slot].request.function);
		ww_client_view_end(service, view, slot, judgement.status, judgement.message,
			judgement.failed_call);
	}
	view->ready &= ~bit;
	return NULL;
}

/* Of the client whose turn it is. Return: NULL: no client has a call that can be started. */
static struct ww_call *find_call(struct ww_service *service)
{
	struct ww_list *first = service->turn;
	struct ww_call *call = NULL;

	do {
		service->turn = service->turn->next;
		if (service->turn != &service->active) {
			struct ww_client_view *view = ww_service_active_of(service->turn);

			ww_client_view_absorb(service, view);
			if (!view->ready || view->is_refused || view->is_gone)
				continue;
			pthread_mutex_lock(&service->lock);
			call = NULL;
			while (!call && view->ready) {
				uint64_t later = view->ready &
					~((UINT64_C(1) << view->next_lane) - 1);
				uint32_t number = (uint32_t)__builtin_ctzll(
					later ? later : view->ready);

				call = lane_start(service, view, number);
				view->next_lane = (number + 1) % WW_SERVICE_LANES_MAX;
			}
			pthread_mutex_unlock(&service->lock);
		}
	} while (!call && service->turn != first);
	return call;
}

/* Return: whether there is something to be run. */
static bool find_run(struct ww_service *service, struct ww_run *run)
{
	struct ww_call *call;

	if (ww_batch_take(service, run))
		return true;
	while ((call = find_call(service))) {
		if (!call->offer->batch || call->is_lookup) {
			run->count = 1;
			run->calls[0] = call;
			return true;
		}
		if (ww_batch_add(service, call) && ww_batch_take(service, run))
			return true;
	}
	return ww_batch_take(service, run);
}

/* --- leading --- */

/* Also if another service was given the name: then no client can come. */
static bool is_draining(const struct ww_service *service)
{
	return ww_service_page_state(&service->page) == WW_WIRE_SERVICE_STATE_DRAINING ||
		ww_signal_page_is_replaced(service->timeline->page->header);
}

static enum ww_await_look look_for_call(void *context)
{
	struct ww_service *service = context;

	if (atomic_load_explicit(&service->changes, memory_order_relaxed) !=
			service->changes_seen ||
		ww_service_active_is_due(service) || ww_client_views_have_come(service) ||
		(is_draining(service) && !service->is_refusing))
		return WW_AWAIT_DONE;
	ww_list_for_each (link, &service->active) {
		const struct ww_client_view *view = ww_service_active_of(link);

		if (!view->is_refused &&
			ww_service_requests_published(&view->requests) != view->taken)
			return WW_AWAIT_DONE;
	}
	return WW_AWAIT_SLEEP;
}

/* The same, while streams work: a GPU wakes no thread. */
static enum ww_await_look look_for_work(void *context)
{
	struct ww_service *service = context;
	enum ww_await_look look = look_for_call(context);

	if (look == WW_AWAIT_DONE)
		return look;
	pthread_mutex_lock(&service->lock);
	look = WW_AWAIT_POLL;
	ww_list_for_each (link, &service->working) {
		if (ww_call_work_is_done(ww_container(link, struct ww_call, link)))
			look = WW_AWAIT_DONE;
	}
	pthread_mutex_unlock(&service->lock);
	return look;
}

static bool has_queued(const struct ww_service *service)
{
	ww_list_for_each (link, &service->active) {
		const struct ww_client_view *view = ww_service_active_of(link);

		if ((view->ready || view->waiting || view->waiting_after) && !view->is_refused &&
			!view->is_gone)
			return true;
	}
	return false;
}

static bool is_drained(struct ww_service *service)
{
	bool is_idle;

	if (!service->is_refusing)
		return false;
	pthread_mutex_lock(&service->lock);
	is_idle = service->running == 0 && !has_queued(service);
	pthread_mutex_unlock(&service->lock);
	return is_idle;
}

enum ww_await_look ww_service_look(struct ww_service *service)
{
	if (ww_service_page_state(&service->page) == WW_WIRE_SERVICE_STATE_STARTING)
		return WW_AWAIT_SLEEP;
	ww_list_for_each (link, &service->active) {
		const struct ww_client_view *view = ww_service_active_of(link);

		if (view->ready && !view->is_refused && !view->is_gone)
			return WW_AWAIT_DONE;
	}
	if (is_drained(service) || service->is_faulty ||
		ww_clock_now_ns() >= ww_batch_look_ns(service))
		return WW_AWAIT_DONE;
	return service->working_count > 0 ? look_for_work(service) : look_for_call(service);
}

void ww_service_sleep_longer(struct ww_service *service)
{
	if (service->sleep_ns < WW_PEER_LOOK_NS)
		service->sleep_ns *= 2;
}

uint64_t ww_service_sleep_until_ns(const struct ww_service *service, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + service->sleep_ns;
	uint64_t batch_ns = ww_batch_look_ns(service);
	uint64_t clients_ns = ww_client_views_look_ns(service);

	if (until_ns > service->after_look_ns)
		until_ns = service->after_look_ns;
	if (until_ns > service->depends_look_ns)
		until_ns = service->depends_look_ns;
	if (until_ns > ww_late_look_ns(service))
		until_ns = ww_late_look_ns(service);
	if (until_ns > clients_ns)
		until_ns = clients_ns;
	return until_ns < batch_ns ? until_ns : batch_ns;
}

void ww_client_views_forget_now_and_then(struct ww_service *service, uint64_t now_ns)
{
	if (now_ns < service->look_ns)
		return;
	service->look_ns = now_ns + WW_PEER_LOOK_NS;
	ww_client_views_forget(service);
}

static ww_status look_around(struct ww_service *service, uint64_t now_ns)
{
	service->changes_seen = atomic_load(&service->changes);
	ww_try(ww_client_views_meet(service));
	ww_service_active_take(service);
	/* Calls that are there when the service begins to drain are run; later ones are refused. */
	if (!service->is_refusing && is_draining(service)) {
		ww_service_page_set_state(&service->page, WW_WIRE_SERVICE_STATE_DRAINING);
		ww_list_for_each (link, &service->clients.members) {
			struct ww_client_view *view = ww_client_view_of(link);

			ww_client_view_absorb(service, view);
			if (view->ready && !view->is_refused)
				ww_service_active_add(service, view);
		}
		service->is_refusing = true;
	}
	ww_service_device_look(service, now_ns);
	ww_service_end_done(service);
	ww_try(ww_service_device_check(service));
	ww_service_after_look_at_all(service, now_ns);
	ww_depends_look_at_all(service, now_ns);
	ww_late_look_at_all(service, now_ns);
	ww_service_active_retire(service, now_ns);
	ww_client_views_forget_now_and_then(service, now_ns);
	return WW_OK;
}

/* Finds what to run. Return: WW_OK; as ww_service_serve(). */
static ww_status lead(struct ww_service *service, uint64_t deadline_ns, struct ww_run *out_run)
{
	ww_status status = WW_OK;

	while (status == WW_OK) {
		uint64_t now_ns = ww_clock_now_ns();
		bool is_working;
		uint64_t until_ns;

		ww_try(look_around(service, now_ns));
		if (find_run(service, out_run)) {
			service->sleep_ns = WW_SERVICE_FIRST_SLEEP_NS;
			return WW_OK;
		}
		if (is_drained(service))
			return WW_END;
		if (now_ns >= deadline_ns)
			return WW_TIMED_OUT;
		if (ww_cancel_is_pending())
			return WW_CANCELLED;
		is_working = service->working_count > 0;
		until_ns = ww_service_sleep_until_ns(service, now_ns);
		if (until_ns > deadline_ns)
			until_ns = deadline_ns;
		status = ww_service_await_call(&service->bell, &service->page,
			is_working ? look_for_work : look_for_call, service, until_ns);
		if (status == WW_TIMED_OUT)
			ww_service_sleep_longer(service);
		if (status == WW_TIMED_OUT && until_ns < deadline_ns)
			status = WW_OK;
	}
	return status;
}

static ww_status serve(struct ww_service *service, uint64_t deadline_ns)
{
	struct ww_run run;
	ww_status status;

	for (;;) {
		status = WW_OK;
		pthread_mutex_lock(&service->lock);
		service->waiting++;
		while (service->has_leader && status == WW_OK) {
			ww_condition_wait(&service->led, &service->lock, deadline_ns);
			status = service->has_leader ? ww_cancel_check(deadline_ns) : WW_OK;
		}
		service->waiting--;
		if (status == WW_OK)
			service->has_leader = true;
		pthread_mutex_unlock(&service->lock);
		if (status != WW_OK)
			return status;
		status = lead(service, deadline_ns, &run);
		pthread_mutex_lock(&service->lock);
		service->has_leader = false;
		if (status != WW_OK)
			pthread_cond_broadcast(&service->led);
		else if (service->waiting > 0)
			pthread_cond_signal(&service->led);
		pthread_mutex_unlock(&service->lock);
		if (status != WW_OK)
			return status;
		ww_run_calls(&run);
		if (ww_cancel_is_pending())
			return WW_CANCELLED;
		if (deadline_ns != WW_NEVER && deadline_ns != 0 && ww_clock_now_ns() >= deadline_ns)
			return WW_TIMED_OUT;
	}
}

ww_status ww_service_serve(ww_service *service, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(service, "ww_service_serve: service is NULL");
	ww_try(ww_ref_check(&service->ref, "a service"));
	if (ww_service_page_state(&service->page) == WW_WIRE_SERVICE_STATE_STARTING)
		return ww_fail(WW_ERR_STATE,
			"cannot serve: the service is not started; call ww_service_start() when its "
			"functions are offered");
	ww_service_eventfd_pause(service);
	status = serve(service, timeout_ns ? ww_clock_deadline_ns(timeout_ns) : 0);
	ww_service_eventfd_resume(service);
	return status;
}
