/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - running calls, and ending them, see run.h
 *
 *   copy and check the arguments ──> function ──> results ──> end, or wait for the stream
 *
 * A thread also runs what asks the broker for a client: the lookup of a timeline (after.h).
 */
#include "service/run.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "device/deferred_release.h"
#include "service/after.h"
#include "service/device_fault.h"
#include "wire/signal_page.h"

#define LATENCY_FIRST_BIT 1 /* a latency below 2 ns is in the first entry */

/* --- ending a call --- */

static void note_failure(struct ww_call *call, ww_status status)
{
	const struct ww_error *error = ww_error_last();

	call->status = status;
	if (call->message[0] != 0)
		return;
	snprintf(call->message, sizeof(call->message), "%s",
		error->status == status ? error->message : ww_status_text(status));
}

static uint32_t latency_entry(uint64_t ns)
{
	uint32_t bit = 63 - (uint32_t)__builtin_clzll(ns | LATENCY_FIRST_BIT);
	uint32_t entry = bit * 2 + (bit > 0 && (ns >> (bit - 1) & 1));

	return entry < WW_SERVICE_LATENCIES ? entry : WW_SERVICE_LATENCIES - 1;
}

void ww_call_count_not_started(const struct ww_service *service, uint32_t function)
{
	struct ww_layout_service_function *shared;

	if (function != WW_SERVICE_LANE_FUNCTION &&
		function >= ww_service_page_count(&service->page))
		return;
	shared = ww_service_offer_of(service, function)->shared;
	__atomic_store_n(&shared->not_started, shared->not_started + 1, __ATOMIC_RELAXED);
}

/* The lane may start its next call. Locked. */
static void lane_go_on(struct ww_call *call)
{
	uint32_t number = (uint32_t)(call->lane - call->view->lanes);

	if (call->lane->first != WW_SERVICE_NO_SLOT)
		call->view->ready |= UINT64_C(1) << number;
}

void ww_call_end(struct ww_call *call, bool was_working)
{
	struct ww_service *service = call->service;
	struct ww_client_view *view = call->view;
	struct ww_service_lane *lane;

	ww_call_release(call);
	if (call->status == WW_ERR_DEVICE)
		service->is_suspect = true;
	view->replies.slots[call->slot].results_bytes = call->result_record_bytes;
	pthread_mutex_lock(&service->lock);
	if (call->start_ns) {
		struct ww_layout_service_function *shared = call->offer->shared;
		uint64_t run_ns = ww_clock_now_ns() - call->start_ns;
		uint64_t *entry = &shared->latency[latency_entry(run_ns)];

		__atomic_store_n(&shared->run_ns, shared->run_ns + run_ns, __ATOMIC_RELAXED);
		__atomic_store_n(entry, *entry + 1, __ATOMIC_RELAXED);
	} else {
		ww_call_count_not_started(call->service, call->request.function);
	}
	if (was_working)
		call->lane->working--;
	else
		call->lane->is_running = false;
	/* Another lane may use its stream. */
	lane = call->lane;
	if (lane->stream && lane->working <= 0 && !lane->is_running) {
		lane->stream->lanes--;
		lane->stream = NULL;
	}
	lane_go_on(call);
	ww_client_view_end(service, view, call->slot, call->status, call->message, 0);
	ww_list_append(&service->free_calls, &call->link);
	view->running--;
	service->running--;
	pthread_mutex_unlock(&service->lock);
	ww_service_note_change(service);
}

bool ww_call_work_is_done(const struct ww_call *call)
{
	struct ww_signal_look look;

	ww_signal_cell_look(call->stream->timeline->cell, &look);
	return look.reached >= call->work;
}

/* Takes out the first call whose work is complete, or never will be. Return: NULL: none. */
static struct ww_call *take_done(struct ww_service *service)
{
	struct ww_call *found = NULL;

	pthread_mutex_lock(&service->lock);
	ww_list_for_each (link, &service->working) {
		struct ww_call *call = ww_container(link, struct ww_call, link);

		if (!ww_call_work_is_done(call) && !service->is_faulty)
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
	while ((call = take_done(service))) {
		if (call->status == WW_OK && !ww_call_work_is_done(call))
			note_failure(call, ww_service_device_check(service));
		ww_call_end(call, true);
	}
}

/* --- running a call --- */

/* Has the stream raise the lanes' timelines, where there are some, and its own. Locked. */
static ww_status signal_by_stream(struct ww_call *const *calls, uint32_t count)
{
	struct ww_service_stream *stream = calls[0]->stream;

	for (uint32_t i = 0; i < count; i++) {
		struct ww_taken_call *taken = &calls[i]->view->calls[calls[i]->slot];

		if (!calls[i]->lane->timeline)
			continue;
		ww_try(ww_timeline_stream_signal(calls[i]->lane->timeline, stream->stream,
			taken->value));
		taken->is_signalled = true;
	}
	ww_try(ww_timeline_stream_signal(stream->timeline, stream->stream, stream->value + 1));
	stream->value++;
	return WW_OK;
}

/* Return: WW_OK; WW_END: there is no work on a stream; why the stream cannot tell of its end. */
static ww_status begin_work(struct ww_call *const *calls, uint32_t count)
{
	struct ww_call *first = calls[0];
	ww_status status;

	/* The lane's timeline follows the order of its calls: after those whose work goes on. */
	if (!first->stream && first->lane->timeline && first->lane->working > 0)
		first->stream = first->lane->stream;
	if (!first->stream)
		return WW_END;
	/* The lanes of the other calls use the stream of the first, and none yet. */
	for (uint32_t i = 1; i < count; i++) {
		calls[i]->stream = calls[0]->stream;
		calls[i]->lane->stream = calls[0]->stream;
		calls[0]->stream->lanes++;
	}
	status = signal_by_stream(calls, count);
	for (uint32_t i = 0; status == WW_OK && i < count; i++) {
		struct ww_call *call = calls[i];
		struct ww_service *service = call->service;
		struct ww_service_lane *lane = call->lane;

		call->work = call->stream->value;
		lane->only_enqueues = (lane->working == 0 || lane->only_enqueues) &&
			(call->offer->flags & WW_FUNCTION_ENQUEUES);
		lane->working++;
		lane->is_running = false;
		ww_list_append(&service->working, &call->link);
		service->working_count++;
		lane_go_on(call);
	}
	return status;
}

/* They end now, or when their work on the stream is complete. Not locked. */
static void finish(struct ww_call *const *calls, uint32_t count)
{
	struct ww_service *service = calls[0]->service;
	ww_status status;

	pthread_mutex_lock(&service->lock);
	status = begin_work(calls, count);
	pthread_mutex_unlock(&service->lock);
	if (status == WW_OK) {
		ww_service_note_change(service);
		return;
	}
	status = ww_service_device_explain(service, status);
	for (uint32_t i = 0; status < 0 && i < count; i++)
		note_failure(calls[i], status);
	if (status < 0)
		(void)ww_stream_synchronize(calls[0]->stream->stream, WW_FOREVER, NULL);
	for (uint32_t i = 0; i < count; i++)
		ww_call_end(calls[i], false);
}

/* Those whose arguments cannot be read end. The others stay, in their order. */
static void read_arguments(struct ww_run *run)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->count; i++) {
		struct ww_call *call = run->calls[i];
		ww_status status = ww_call_read(call);

		if (status != WW_OK) {
			note_failure(call, status);
			finish(&call, 1);
			continue;
		}
		run->calls[count++] = call;
		call->first = run->calls[0];
	}
	run->count = count;
}

/* @status: what the function has returned; a call of a batch can have failed alone */
static void note_result(struct ww_call *call, ww_status status)
{
	if (call->offer->batch && call->status != WW_OK)
		status = call->status;
	call->status = WW_OK;
	/* A function may end a call only with WW_OK or an error. */
	if (status > WW_OK)
		status = ww_fail(WW_ERR_STATE,
			"the function '%s' returned %d, which is no error's number",
			(const char *)call->offer->shared->name, (int)status);
	if (status == WW_OK)
		status = ww_call_write(call);
	if (status != WW_OK)
		note_failure(call, status);
}

/* --- looking up a timeline --- */

static void look_up(struct ww_call *call)
{
	ww_status status;

	ww_deferred_reclaim(); /* the pages of clients that have ended */
	status = ww_service_after_import(call->service, call->view, call->lane, &call->request);
	if (status >= 0) { /* if it was cancelled, another thread looks it up */
		struct ww_service *service = call->service;

		/* The call is the first of its lane again. */
		pthread_mutex_lock(&service->lock);
		ww_client_view_requeue(call->view, call->request.lane, call->slot);
		call->lane->is_running = false;
		ww_list_append(&service->free_calls, &call->link);
		call->view->running--;
		service->running--;
		pthread_mutex_unlock(&service->lock);
		ww_service_note_change(service);
		return;
	}
	if (ww_peer_process_ask(call->view->member.process))
		call->view->is_gone = true; /* the calls behind this one are not run */
	call->status = status;
	snprintf(call->message, sizeof(call->message), "the timeline to start after: %.200s",
		ww_error_last()->message);
	ww_call_end(call, false);
}

void ww_run_calls(struct ww_run *run)
{
	for (uint32_t i = 0; i < run->count; i++)
		ww_call_reset(run->calls[i]);
	if (run->calls[0]->is_lookup) {
		look_up(run->calls[0]);
	} else {
		uint64_t now_ns;
		ww_status status;
		const struct ww_offer *offer;

		read_arguments(run);
		if (run->count == 0)
			return;
		now_ns = ww_clock_now_ns();
		for (uint32_t i = 0; i < run->count; i++) {
			struct ww_call *call = run->calls[i];

			__atomic_store_n(&call->view->replies.slots[call->slot].started,
				call->request.call, __ATOMIC_RELEASE);
			call->start_ns = now_ns;
		}
		offer = run->calls[0]->offer;
		status = offer->batch ? offer->batch_fn(offer->context, run->calls, run->count)
				      : offer->fn(offer->context, run->calls[0]);
		for (uint32_t i = 0; i < run->count; i++)
			note_result(run->calls[i], status);
		finish(run->calls, run->count);
	}
}
