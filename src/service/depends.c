/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depends.c - calls that depend on earlier calls of the same client, see depends.h
 */
#include "service/depends.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

#define OUTCOME_MASK (WW_SERVICE_OUTCOMES - 1)

/* --- what a call depends on --- */

bool ww_depends_is_possible(const struct ww_taken_call *taken, uint64_t on)
{
	uint64_t call = taken->request.call;

	return on < call && (call - on < WW_SERVICE_DEPENDS_MAX || on == taken->before);
}

/*
 * Whether a call that was taken has not ended. If it has, the table has its outcome, or that of a
 * later call: then the slots are looked at.
 */
static bool is_under_way(const struct ww_client_view *view, uint64_t call)
{
	uint64_t ended = view->outcomes[call & OUTCOME_MASK].call;

	if (ended <= call)
		return ended < call;
	for (uint32_t slot = 0; slot < view->requests.slot_count; slot++) {
		if (view->calls[slot].is_used && view->calls[slot].request.call == call)
			return true;
	}
	return false;
}

/* Later calls of the lane may have ended already (late.h). */
static bool is_before_under_way(const struct ww_client_view *view,
	const struct ww_taken_call *taken)
{
	const struct ww_taken_call *before = &view->calls[taken->before_slot];

	return before->is_used && before->request.call == taken->before;
}

bool ww_depends_is_pending(const struct ww_client_view *view, const struct ww_taken_call *taken)
{
	for (uint32_t i = 0; i < WW_SUBMIT_DEPENDS_MAX; i++) {
		uint64_t on = ww_service_dependency(&taken->request, i);

		if (on &&
			(on == taken->before ? is_before_under_way(view, taken)
					     : is_under_way(view, on)))
			return true;
	}
	return false;
}

static bool depends_on(const struct ww_layout_service_request *request, uint64_t call)
{
	for (uint32_t i = 0; i < WW_SUBMIT_DEPENDS_MAX; i++) {
		if (ww_service_dependency(request, i) == call)
			return true;
	}
	return false;
}

/* --- what became of calls --- */

/* Of a call that has ended, or was never taken. Return: 0: it has not failed. */
static uint64_t failure_of(const struct ww_client_view *view, const struct ww_service_lane *lane,
	uint64_t call)
{
	const struct ww_call_outcome *outcome = &view->outcomes[call & OUTCOME_MASK];

	if (outcome->call != call)
		outcome = &lane->outcome;
	return outcome->call == call ? outcome->failed : 0;
}

/* The lane's own function, which gives the lane's timeline, is part of no chain. */
static bool is_in_chains(const struct ww_taken_call *taken)
{
	return taken->request.function != WW_SERVICE_LANE_FUNCTION;
}

void ww_depends_take(struct ww_client_view *view, struct ww_taken_call *taken)
{
	struct ww_service_lane *lane = &view->lanes[taken->request.lane];

	taken->before = lane->last_call;
	taken->before_slot = lane->last_slot;
	if (is_in_chains(taken)) {
		lane->last_call = taken->request.call;
		lane->last_slot = (uint32_t)(taken - view->calls);
	}
	taken->failed = 0;
	for (uint32_t i = 0; i < WW_SUBMIT_DEPENDS_MAX; i++) {
		uint64_t on = ww_service_dependency(&taken->request, i);
		uint64_t failed = on ? failure_of(view, lane, on) : 0;

		if (failed && (!taken->failed || failed < taken->failed))
			taken->failed = failed;
	}
}

static void note_outcome(struct ww_call_outcome *outcome, uint64_t call, uint64_t failed)
{
	if (call > outcome->call)
		*outcome = (struct ww_call_outcome){call, failed};
}

/*
 * A later call gets the same entry of the table only after all calls that may depend on this one
 * were taken.
 */
void ww_depends_end(struct ww_client_view *view, const struct ww_taken_call *ended, uint64_t failed)
{
	uint64_t call = ended->request.call;

	note_outcome(&view->outcomes[call & OUTCOME_MASK], call, failed);
	if (is_in_chains(ended))
		note_outcome(&view->lanes[ended->request.lane].outcome, call, failed);
	for (uint32_t i = 0; failed && i < view->requests.slot_count; i++) {
		struct ww_taken_call *taken = &view->calls[i];

		if (taken->is_used && !taken->failed && depends_on(&taken->request, call))
			taken->failed = failed;
	}
}

ww_status ww_depends_describe(uint64_t failed_call, char out_message[WW_ERROR_MESSAGE_BYTES])
{
	snprintf(out_message, WW_ERROR_MESSAGE_BYTES,
		"call %" PRIu64 ", which this one depends on, has failed", failed_call);
	return WW_ERR_DEPENDENCY_FAILED;
}

/* --- waiting --- */

static void look_by(struct ww_service *service, uint64_t look_ns)
{
	if (look_ns < service->depends_look_ns)
		service->depends_look_ns = look_ns;
}

static const struct ww_layout_service_request *first_of(const struct ww_client_view *view,
	uint32_t lane)
{
	return &view->calls[view->lanes[lane].first].request;
}

void ww_depends_wait(struct ww_service *service, struct ww_client_view *view, uint32_t lane)
{
	view->waiting |= UINT64_C(1) << lane;
	look_by(service, first_of(view, lane)->deadline_ns);
	look_by(service, ww_clock_deadline_ns(WW_PEER_LOOK_NS));
}

void ww_depends_look_at_all(struct ww_service *service, uint64_t now_ns)
{
	if (now_ns < service->depends_look_ns)
		return;
	service->depends_look_ns = WW_NEVER;
	ww_list_for_each (link, &service->active) {
		struct ww_client_view *view = ww_container(link, struct ww_client_view, active);

		if (view->is_refused || view->is_gone)
			continue;
		pthread_mutex_lock(&service->lock);
		for (uint64_t left = view->waiting; left; left &= left - 1) {
			uint32_t lane = (uint32_t)__builtin_ctzll(left);
			const struct ww_layout_service_request *request = first_of(view, lane);

			if (now_ns < request->deadline_ns &&
				!ww_service_requests_is_cancelled(&view->requests,
					view->lanes[lane].first, request->call)) {
				look_by(service, request->deadline_ns);
				look_by(service, now_ns + WW_PEER_LOOK_NS);
				continue;
			}
			view->waiting &= ~(UINT64_C(1) << lane);
			view->ready |= UINT64_C(1) << lane;
		}
		pthread_mutex_unlock(&service->lock);
	}
}
