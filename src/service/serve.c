/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - the threads that serve: finding a call, running it, ending it
 *
 *   lead:  meet clients ──> end what streams have done ──> take calls ──> start the next one
 *   run:   copy and check the arguments ──> function ──> results ──> end, or wait for the stream
 *
 * A thread also runs what asks the broker for a client: the lookup of a timeline (after.h).
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
#include "service/after.h"
#include "service/call.h"
#include "service/watch.h"
#include "wire/signal_page.h"

#define LATENCY_FIRST_BIT 1 /* a latency below 2 ns is in the first entry */

/* --- ending a call --- */

static uint32_t latency_entry(uint64_t ns)
{
	uint32_t bit = 63 - (uint32_t)__builtin_clzll(ns | LATENCY_FIRST_BIT);
	uint32_t entry = bit * 2 + (bit > 0 && (ns >> (bit - 1) & 1));

	return entry < WW_SERVICE_LATENCIES ? entry : WW_SERVICE_LATENCIES - 1;
}

static void count_run(struct ww_layout_service_function *shared, uint64_t run_ns)
{
	uint64_t *entry = &shared->latency[latency_entry(run_ns)];

	__atomic_store_n(&shared->run_ns, shared->run_ns + run_ns, __ATOMIC_RELAXED);
	__atomic_store_n(entry, *entry + 1, __ATOMIC_RELAXED);
}

/* @function: may be none */
static void count_not_started(const struct ww_service *service, uint32_t function)
{
	struct ww_layout_service_function *shared;

	if (function != WW_SERVICE_LANE_FUNCTION &&
		function >= ww_service_page_count(&service->page))
		return;
	shared = ww_service_offer_of(service, function)->shared;
	__atomic_store_n(&shared->not_started, shared->not_started + 1, __ATOMIC_RELAXED);
}

/* So that the thread that leads looks again. */
static void note_change(struct ww_service *service)
{
	atomic_fetch_add(&service->changes, 1);
	if (__atomic_load_n(&service->page.header->is_asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&service->bell.header->wakes);
}

/* The lane may start its next call. Locked. */
static void lane_go_on(struct ww_call *call)
{
	uint32_t number = (uint32_t)(call->lane - call->peer->lanes);

	if (call->lane->first != WW_SERVICE_NO_SLOT)
		call->peer->ready |= UINT64_C(1) << number;
}

/* Another lane may use its stream. Locked. */
static void lane_give_stream_back(struct ww_service_lane *lane)
{
	if (!lane->stream || lane->working > 0 || lane->is_running)
		return;
	lane->stream->lanes--;
	lane->stream = NULL;
}

/* Its work is complete. Not locked. */
static void call_end(struct ww_call *call, bool was_working)
{
	struct ww_service *service = call->service;
	struct ww_service_peer *peer = call->peer;

	ww_call_release(call);
	peer->replies.slots[call->slot].results_bytes = call->result_record_bytes;
	pthread_mutex_lock(&service->lock);
	if (call->start_ns)
		count_run(call->offer->shared, ww_clock_now_ns() - call->start_ns);
	else
		count_not_started(call->service, call->request.function);
	if (was_working)
		call->lane->working--;
	else
		call->lane->is_running = false;
	lane_give_stream_back(call->lane);
	lane_go_on(call);
	ww_service_peer_end(service, peer, call->slot, call->status, call->message, 0);
	ww_list_append(&service->free_calls, &call->link);
	peer->running--;
	service->running--;
	pthread_mutex_unlock(&service->lock);
	note_change(service);
}

static bool work_is_done(const struct ww_call *call)
{
	struct ww_signal_look look;

	ww_signal_cell_look(call->stream->timeline->cell, &look);
	return look.reached >= call->work;
}

/* Takes the first call out whose work is complete. Return: NULL: there is none. */
static struct ww_call *take_done(struct ww_service *service)
{
	struct ww_call *found = NULL;

	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->working) {
		struct ww_call *call = ww_container(link, struct ww_call, link);

		if (!work_is_done(call))
			continue;
		ww_list_remove(link);
		service->working_count--;
		found = call;
		break;
	}
	pthread_mutex_unlock(&service->lock);
	return found;
}

void ww_service_end_done(struct ww_service *service)
{
	struct ww_call *call;

	if (service->working_count == 0)
		return;
	while ((call = take_done(service)))
		call_end(call, true);
}

/* --- running a call --- */

static void note_failure(struct ww_call *call, ww_status status)
{
	const struct ww_error *error = ww_error_last();

	call->status = status;
	if (call->message[0] != 0)
		return;
	snprintf(call->message, sizeof(call->message), "%s",
		error->status == status ? error->message : ww_status_text(status));
}

/* Has the stream raise its own timeline, and the lane's if there is one. Locked. */
static ww_status signal_by_stream(struct ww_call *call)
{
	struct ww_service_stream *stream = call->stream;
	struct ww_taken_call *taken = &call->peer->calls[call->slot];

	if (call->lane->timeline) {
		ww_try(ww_timeline_stream_signal(call->lane->timeline, stream->stream,
			taken->value));
		taken->is_signalled = true;
	}
	return ww_timeline_stream_signal(stream->timeline, stream->stream, stream->value + 1);
}

/* The call's work on its stream ends later. Return: false: there is none, or it has ended. */
static bool begin_work(struct ww_call *call)
{
	struct ww_service *service = call->service;
	struct ww_service_stream *stream = call->stream;
	struct ww_service_lane *lane = call->lane;
	ww_status status;

	pthread_mutex_lock(&service->lock);
	/* The lane's timeline follows the order of its calls: after those whose work goes on. */
	if (!stream && call->lane->timeline && lane->working > 0)
		stream = call->stream = lane->stream;
	if (!stream) {
		pthread_mutex_unlock(&service->lock);
		return false;
	}
	status = signal_by_stream(call);
	if (status == WW_OK) {
		call->work = ++stream->value;
		lane->only_enqueues = (lane->working == 0 || lane->only_enqueues) &&
			(call->offer->flags & WW_FUNCTION_ENQUEUES);
		lane->working++;
		lane->is_running = false;
		ww_list_append(&service->working, &call->link);
		service->working_count++;
		lane_go_on(call);
	}
	pthread_mutex_unlock(&service->lock);
	if (status == WW_OK) {
		note_change(service);
		return true;
	}
	note_failure(call, status);
	(void)ww_stream_synchronize(stream->stream, WW_FOREVER, NULL);
	return false;
}

/* A status that a function may end a call with. */
static ww_status check_status(struct ww_call *call, ww_status status)
{
	if (status <= WW_OK)
		return status;
	return ww_fail(WW_ERR_STATE, "the function '%s' returned %d, which is no error's number",
		(const char *)call->offer->shared->name, (int)status);
}

static void run_function(struct ww_call *call)
{
	ww_status status = ww_call_read(call);

	if (status == WW_OK) {
		__atomic_store_n(&call->peer->replies.slots[call->slot].started, call->request.call,
			__ATOMIC_RELEASE);
		call->start_ns = ww_clock_now_ns();
		status = check_status(call, call->offer->fn(call->offer->context, call));
	}
	if (status == WW_OK)
		status = ww_call_write(call);
	if (status != WW_OK)
		note_failure(call, status);
	if (!begin_work(call))
		call_end(call, false);
}

/* --- looking up a timeline --- */

/* The call is the first of its lane again. */
static void lookup_end(struct ww_call *call)
{
	struct ww_service *service = call->service;

	pthread_mutex_lock(&service->lock);
	ww_service_peer_requeue(call->peer, call->request.lane, call->slot);
	call->lane->is_running = false;
	ww_list_append(&service->free_calls, &call->link);
	call->peer->running--;
	service->running--;
	pthread_mutex_unlock(&service->lock);
	note_change(service);
}

static void look_up(struct ww_call *call)
{
	ww_status status = ww_service_after_import(call->service, call->peer, call->lane,
		&call->request);

	if (status >= 0) { /* if it was cancelled, another thread looks it up */
		lookup_end(call);
		return;
	}
	call->status = status;
	snprintf(call->message, sizeof(call->message), "the timeline to start after: %.200s",
		ww_error_last()->message);
	call_end(call, false);
}

static void call_run(struct ww_call *call)
{
	ww_call_reset(call);
	if (call->is_lookup)
		look_up(call);
	else
		run_function(call);
}

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
	for (uint32_t i = 0; i < count; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

static bool may_call(const struct ww_offer *offer, const struct ww_service_peer *peer)
{
	return (!offer->uids && !offer->gids) ||
		contains(offer->uids, offer->uid_count, peer->uid) ||
		contains(offer->gids, offer->gid_count, peer->gid);
}

static enum verdict end_with(struct judgement *out, ww_status status, const char *message)
{
	out->status = status;
	snprintf(out->message, sizeof(out->message), "%s", message);
	return END;
}

static enum verdict judge_function(const struct ww_service *service,
	const struct ww_service_peer *peer, const struct ww_layout_service_request *request,
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
	if (may_call(offer, peer))
		return START;
	out->status = WW_ERR_ACCESS;
	snprintf(out->message, sizeof(out->message),
		"user %" PRIu32 " in group %" PRIu32
		" may not call '%s': the server allows it to others only",
		peer->uid, peer->gid, (const char *)offer->shared->name);
	return END;
}

/* Whether a call was taken and has not ended. */
static bool is_under_way(const struct ww_service *service, const struct ww_service_peer *peer,
	uint64_t call)
{
	for (uint32_t slot = 0; slot < service->form.calls_max; slot++) {
		if (peer->calls[slot].is_used && peer->calls[slot].request.call == call)
			return true;
	}
	return false;
}

static enum verdict end_with_dependency(struct judgement *out, uint64_t failed_call)
{
	out->status = WW_ERR_DEPENDENCY_FAILED;
	out->failed_call = failed_call;
	snprintf(out->message, sizeof(out->message),
		"call %" PRIu64 ", which this one depends on, has failed", failed_call);
	return END;
}

static enum verdict judge_dependency(const struct ww_service *service,
	const struct ww_service_peer *peer, const struct ww_taken_call *taken,
	struct judgement *out)
{
	uint64_t on = taken->request.depends_on;

	if (on == 0)
		return START;
	if (on >= taken->request.call || taken->request.call - on > WW_SERVICE_DEPENDS_MAX - 1)
		return end_with(out, WW_ERR_PROTOCOL,
			"a call depends on a later one, or one of long ago");
	if (taken->failed)
		return end_with_dependency(out, taken->failed);
	return is_under_way(service, peer, on) ? WAIT_FOR_CALL : START;
}

/* While the service drains, no call of a client holds it up. */
static enum verdict judge_after(const struct ww_service *service, struct ww_service_peer *peer,
	struct ww_service_lane *lane, const struct ww_layout_service_request *request,
	struct judgement *out)
{
	ww_status status;

	if (request->after == 0)
		return START;
	if (request->after > WW_TIMELINE_MAX)
		return end_with(out, WW_ERR_PROTOCOL,
			"a call starts after a value that no timeline can have");
	if (!ww_service_after_recall(peer, lane, request))
		return LOOK_UP;
	status = ww_service_after_look(lane, request->after, out->message);
	if (status == WW_NOT_READY && service->is_refusing)
		return end_with(out, WW_ERR_UNAVAILABLE,
			"the service is draining: it waits for no timeline of a client");
	if (status == WW_NOT_READY)
		return WAIT_FOR_TIMELINE;
	out->status = status;
	return status == WW_OK ? START : END;
}

static enum verdict judge_request(const struct ww_service *service, struct ww_service_peer *peer,
	struct ww_service_lane *lane, uint32_t slot, struct judgement *out)
{
	const struct ww_taken_call *taken = &peer->calls[slot];
	const struct ww_layout_service_request *request = &taken->request;
	enum verdict verdict;

	memset(out, 0, offsetof(struct judgement, message));
	if (taken->is_late)
		return end_with(out, WW_ERR_UNAVAILABLE,
			"the service is draining: it takes no more calls");
	if (ww_service_requests_is_cancelled(&peer->requests, slot, request->call))
		return end_with(out, WW_CANCELLED, "the call was cancelled before it was started");
	if (request->deadline_ns != WW_NEVER && ww_clock_now_ns() >= request->deadline_ns)
		return end_with(out, WW_TIMED_OUT,
			"the call's deadline passed before it was started");
	verdict = judge_function(service, peer, request, out);
	if (verdict == START)
		verdict = judge_dependency(service, peer, taken, out);
	return verdict == START ? judge_after(service, peer, lane, request, out) : verdict;
}

/*
 * A call that is not run ends when those before it in its lane have, since the lane's timeline goes
 * by their order.
 */
static enum verdict judge(const struct ww_service *service, struct ww_service_peer *peer,
	struct ww_service_lane *lane, uint32_t slot, struct judgement *out)
{
	const struct ww_offer *offer;
	enum verdict verdict;

	if (lane->is_running)
		return WAIT_FOR_LANE;
	verdict = judge_request(service, peer, lane, slot, out);
	if (verdict == WAIT_FOR_CALL || verdict == WAIT_FOR_TIMELINE || lane->working == 0)
		return verdict;
	offer = ww_service_offer_of(service, peer->calls[slot].request.function);
	return verdict == START && lane->only_enqueues && offer->flags & WW_FUNCTION_ENQUEUES
		? START
		: WAIT_FOR_LANE;
}

static void lane_pop(struct ww_service_peer *peer, struct ww_service_lane *lane)
{
	ww_service_after_leave(lane);
	lane->first = peer->calls[lane->first].next;
}

static void lane_wait(struct ww_service *service, struct ww_service_peer *peer, uint32_t number,
	enum verdict verdict)
{
	if (verdict == WAIT_FOR_CALL)
		peer->waiting |= UINT64_C(1) << number;
	else if (verdict == WAIT_FOR_TIMELINE)
		ww_service_after_wait(service, peer, number);
}

/* Return: NULL: out of memory; the call has ended. */
static struct ww_call *call_begin(struct ww_service *service, struct ww_service_peer *peer,
	struct ww_service_lane *lane, uint32_t slot, bool is_lookup)
{
	const struct ww_taken_call *taken = &peer->calls[slot];
	struct ww_call *call = ww_call_new(service);

	if (!call) {
		ww_service_peer_end(service, peer, slot, WW_ERR_NO_MEMORY,
			"the server is out of memory", 0);
		return NULL;
	}
	call->peer = peer;
	call->lane = lane;
	call->slot = slot;
	call->is_lookup = is_lookup;
	call->request = taken->request;
	call->offer = ww_service_offer_of(service, taken->request.function);
	lane->is_running = true;
	peer->running++;
	service->running++;
	return call;
}

/* The first call of a lane, if it can be started. Locked. */
static struct ww_call *lane_start(struct ww_service *service, struct ww_service_peer *peer,
	uint32_t number)
{
	struct ww_service_lane *lane = &peer->lanes[number];
	uint64_t bit = UINT64_C(1) << number;
	struct judgement judgement;

	peer->waiting_after &= ~bit;
	while (lane->first != WW_SERVICE_NO_SLOT) {
		uint32_t slot = lane->first;
		enum verdict verdict = judge(service, peer, lane, slot, &judgement);

		if (verdict == WAIT_FOR_LANE || verdict == WAIT_FOR_CALL ||
			verdict == WAIT_FOR_TIMELINE) {
			lane_wait(service, peer, number, verdict);
			break;
		}
		lane_pop(peer, lane);
		if (verdict == START || verdict == LOOK_UP)
			return call_begin(service, peer, lane, slot, verdict == LOOK_UP);
		count_not_started(service, peer->calls[slot].request.function);
		ww_service_peer_end(service, peer, slot, judgement.status, judgement.message,
			judgement.failed_call);
	}
	peer->ready &= ~bit;
	return NULL;
}

/* Locked. */
static struct ww_call *peer_start(struct ww_service *service, struct ww_service_peer *peer)
{
	struct ww_call *call = NULL;

	while (!call && peer->ready) {
		uint64_t later = peer->ready & ~((UINT64_C(1) << peer->next_lane) - 1);
		uint32_t number = (uint32_t)__builtin_ctzll(later ? later : peer->ready);

		call = lane_start(service, peer, number);
		peer->next_lane = (number + 1) % WW_SERVICE_LANES_MAX;
	}
	return call;
}

/* Of the client whose turn it is. Return: NULL: nobody has one that can be started. */
static struct ww_call *find_call(struct ww_service *service)
{
	struct ww_list *first = service->turn;
	struct ww_call *call = NULL;

	do {
		service->turn = service->turn->next;
		if (service->turn != &service->peers) {
			struct ww_service_peer *peer = ww_service_peer_of(service->turn);

			ww_service_peer_absorb(service, peer);
			if (!peer->ready || peer->is_refused || peer->is_gone)
				continue;
			pthread_mutex_lock(&service->lock);
			call = peer_start(service, peer);
			pthread_mutex_unlock(&service->lock);
		}
	} while (!call && service->turn != first);
	return call;
}

/* --- leading --- */

static bool is_draining(const struct ww_service *service)
{
	return ww_service_page_state(&service->page) == WW_WIRE_SERVICE_STATE_DRAINING;
}

static enum ww_await_look look_for_call(void *context)
{
	struct ww_service *service = context;

	if (atomic_load_explicit(&service->changes, memory_order_relaxed) !=
			service->changes_seen ||
		ww_service_peers_have_come(service) ||
		(is_draining(service) && !service->is_refusing))
		return WW_AWAIT_DONE;
	ww_list_for_each (link, &service->peers) {
		const struct ww_service_peer *peer = ww_service_peer_of(link);

		if (!peer->is_refused &&
			ww_service_requests_published(&peer->requests) != peer->taken)
			return WW_AWAIT_DONE;
	}
	return WW_AWAIT_SLEEP;
}

/* The same, while streams work: a GPU wakes nobody. */
static enum ww_await_look look_for_work(void *context)
{
	struct ww_service *service = context;
	enum ww_await_look look = look_for_call(context);

	if (look == WW_AWAIT_DONE)
		return look;
	pthread_mutex_lock(&service->lock);
	look = WW_AWAIT_POLL;
	ww_list_for_each (link, &service->working) {
		if (work_is_done(ww_container(link, struct ww_call, link)))
			look = WW_AWAIT_DONE;
	}
	pthread_mutex_unlock(&service->lock);
	return look;
}

static bool has_queued(const struct ww_service *service)
{
	ww_list_for_each (link, &service->peers) {
		const struct ww_service_peer *peer = ww_service_peer_of(link);

		if ((peer->ready || peer->waiting || peer->waiting_after) && !peer->is_refused &&
			!peer->is_gone)
			return true;
	}
	return false;
}

/* Calls that are there when the service begins to drain are run; later ones are refused. */
static void look_at_state(struct ww_service *service)
{
	if (service->is_refusing || !is_draining(service))
		return;
	ww_list_for_each (link, &service->peers)
		ww_service_peer_absorb(service, ww_service_peer_of(link));
	service->is_refusing = true;
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
	ww_list_for_each (link, &service->peers) {
		const struct ww_service_peer *peer = ww_service_peer_of(link);

		if (peer->ready && !peer->is_refused && !peer->is_gone)
			return WW_AWAIT_DONE;
	}
	if (is_drained(service))
		return WW_AWAIT_DONE;
	return service->working_count > 0 ? look_for_work(service) : look_for_call(service);
}

void ww_service_sleep_longer(struct ww_service *service)
{
	if (service->sleep_ns < WW_PEER_LOOK_NS)
		service->sleep_ns *= 2;
}

static ww_status wait_for_call(struct ww_service *service, uint64_t now_ns, uint64_t deadline_ns)
{
	bool is_working = service->working_count > 0;
	uint64_t until_ns = now_ns + service->sleep_ns;
	ww_status status;

	if (until_ns > service->after_look_ns)
		until_ns = service->after_look_ns;
	if (until_ns > deadline_ns)
		until_ns = deadline_ns;
	status = ww_service_await_call(&service->bell, &service->page,
		is_working ? look_for_work : look_for_call, service, until_ns);
	if (status == WW_TIMED_OUT)
		ww_service_sleep_longer(service);
	if (status == WW_TIMED_OUT && until_ns < deadline_ns)
		return WW_OK;
	return status;
}

void ww_service_peers_forget_now_and_then(struct ww_service *service, uint64_t now_ns)
{
	if (now_ns < service->look_ns)
		return;
	service->look_ns = now_ns + WW_PEER_LOOK_NS;
	ww_service_peers_forget(service);
}

static ww_status look_around(struct ww_service *service, uint64_t now_ns)
{
	service->changes_seen = atomic_load(&service->changes);
	ww_try(ww_service_peers_meet(service));
	look_at_state(service);
	ww_service_end_done(service);
	ww_service_after_look_at_all(service, now_ns);
	ww_service_peers_forget_now_and_then(service, now_ns);
	return WW_OK;
}

/* Finds a call to run. Return: WW_OK (*out_call); as ww_service_serve(). */
static ww_status lead(struct ww_service *service, uint64_t deadline_ns, struct ww_call **out_call)
{
	ww_status status = WW_OK;

	while (status == WW_OK) {
		uint64_t now_ns = ww_clock_now_ns();

		ww_try(look_around(service, now_ns));
		*out_call = find_call(service);
		if (*out_call) {
			service->sleep_ns = WW_SERVICE_FIRST_SLEEP_NS;
			return WW_OK;
		}
		if (is_drained(service))
			return WW_END;
		if (now_ns >= deadline_ns)
			return WW_TIMED_OUT;
		if (ww_cancel_is_pending())
			return WW_CANCELLED;
		status = wait_for_call(service, now_ns, deadline_ns);
	}
	return status;
}

/* Return: WW_OK (this thread leads); WW_TIMED_OUT; WW_CANCELLED. */
static ww_status begin_to_lead(struct ww_service *service, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

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
	return status;
}

static void end_to_lead(struct ww_service *service, bool is_over)
{
	pthread_mutex_lock(&service->lock);
	service->has_leader = false;
	if (is_over)
		pthread_cond_broadcast(&service->led);
	else if (service->waiting > 0)
		pthread_cond_signal(&service->led);
	pthread_mutex_unlock(&service->lock);
}

static ww_status serve(struct ww_service *service, uint64_t deadline_ns)
{
	ww_status status;

	for (;;) {
		struct ww_call *call = NULL;

		status = begin_to_lead(service, deadline_ns);
		if (status != WW_OK)
			return status;
		status = lead(service, deadline_ns, &call);
		end_to_lead(service, status != WW_OK);
		if (status != WW_OK)
			return status;
		call_run(call);
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
	ww_service_watch_pause(service);
	status = serve(service, timeout_ns ? ww_clock_deadline_ns(timeout_ns) : 0);
	ww_service_watch_resume(service);
	return status;
}
