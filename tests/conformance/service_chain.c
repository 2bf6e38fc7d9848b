/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_chain.c - calls that depend on several others, and chains of calls
 *
 * Each call is in a lane of its own, unless the case is about chains, so that the lane does not
 * order them.
 */
#include "conformance/service_stage.h"

#define LANE_OF_NOBODY 63
#define WAIT_NS        WW_FOREVER /* for what must come */

static ww_ticket *submit(struct stage *stage, const char *name,
	const struct ww_submit_params *params)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	bool is_fail = name[0] == 'f';
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, name),
		is_fail ? &status : NULL, is_fail, params, FOREVER, NULL, &ticket));
	return ticket;
}

static struct ww_ticket_info info_of(ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_OK(ww_ticket_info_get(ticket, &info));
	return info;
}

/* @failed: number of the call because of which it was not run; 0: it succeeds */
static void must_end(ww_ticket *ticket, uint64_t failed)
{
	MUST_STATUS(failed ? WW_ERR_DEPENDENCY_FAILED : WW_OK,
		ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_EQUAL(failed, info_of(ticket).failed_call);
	MUST_EQUAL(failed == 0, info_of(ticket).has_started);
	ww_ticket_unref(ticket);
}

/* The serving thread has gone on since. */
static void must_wait(struct stage *stage, ww_ticket *ticket)
{
	for (uint32_t i = 0; i < 8; i++)
		must_end(submit(stage, "nop", SUBMIT(.lane = LANE_OF_NOBODY)), 0);
	MUST(!info_of(ticket).has_ended && !info_of(ticket).has_started);
}

/* Each of the calls starts after another value. */
STAGE_CASE(service_call_starts_when_all_have_ended, SERVICES | NO_DEVICE)
{
	uint64_t numbers[WW_SUBMIT_DEPENDS_MAX];
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *ticket;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	for (uint32_t i = 0; i < WW_SUBMIT_DEPENDS_MAX; i++) {
		ticket = submit(stage, "nop",
			SUBMIT(.lane = i, .after = timeline,
				.after_value = WW_SUBMIT_DEPENDS_MAX - i));
		numbers[i] = info_of(ticket).number;
		ww_ticket_unref(ticket);
	}
	ticket = submit(stage, "nop",
		SUBMIT(.lane = WW_SUBMIT_DEPENDS_MAX, .depends_on = numbers[0],
			.depends_more = &numbers[1],
			.depends_more_count = WW_SUBMIT_DEPENDS_MAX - 1));
	for (uint64_t value = 1; value <= WW_SUBMIT_DEPENDS_MAX; value++) {
		must_wait(stage, ticket);
		MUST_OK(ww_timeline_signal(timeline, value));
	}
	must_end(ticket, 0);
}

/* Whichever of the calls it is, and whether it has ended before or fails later. */
STAGE_CASE(service_one_failure_of_several_ends_a_call, SERVICES | NO_DEVICE)
{
	uint64_t numbers[3];
	ww_ticket *tickets[3];
	ww_ticket *ticket;

	tickets[0] = submit(stage, "nop", NULL);
	tickets[1] = submit(stage, "fail", SUBMIT(.lane = 1));
	for (uint32_t i = 0; i < 2; i++)
		MUST_STATUS(i ? WW_ERR_EXISTS : WW_OK, ww_ticket_wait(tickets[i], FOREVER, NULL));
	stage_start_thread(stage);
	tickets[2] = submit(stage, "hold", SUBMIT(.lane = 2));
	for (uint32_t i = 0; i < 3; i++)
		numbers[i] = info_of(tickets[i]).number;
	must_end(submit(stage, "nop",
			 SUBMIT(.lane = 3, .depends_more = numbers, .depends_more_count = 2)),
		numbers[1]);
	ticket = submit(stage, "nop",
		SUBMIT(.lane = 4, .depends_on = numbers[0], .depends_more = &numbers[2],
			.depends_more_count = 1));
	must_wait(stage, ticket);
	ww_ticket_cancel(tickets[2]);
	must_end(ticket, numbers[2]);
	for (uint32_t i = 0; i < 3; i++)
		ww_ticket_unref(tickets[i]);
}

STAGE_CASE(service_chain_ends_at_its_first_failure, SERVICES)
{
	OWN(timeline) ww_timeline *timeline;
	uint64_t failed;
	ww_ticket *ticket;

	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), 0);
	ticket = submit(stage, "fail", SUBMIT(.flags = WW_SUBMIT_CHAIN));
	failed = info_of(ticket).number;
	ww_ticket_unref(ticket);
	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), failed);
	must_end(submit(stage, "nop", SUBMIT(.lane = 1, .flags = WW_SUBMIT_CHAIN)), 0);
	MUST_OK(ww_client_lane_timeline(stage->client, 0, FOREVER, NULL, &timeline));
	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), failed);

	/* Another one begins. */
	must_end(submit(stage, "nop", NULL), 0);
	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), 0);
}

/* A call that waits for another one need not wait for its end: it is cancelled, or too late. */
STAGE_CASE(service_call_that_depends_ends_before_the_other, SERVICES | NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *other;
	OWN(ticket) ww_ticket *late;
	OWN(ticket) ww_ticket *cancelled;
	uint64_t number;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	other = submit(stage, "nop", SUBMIT(.after = timeline, .after_value = 1));
	number = info_of(other).number;
	late = submit(stage, "nop",
		SUBMIT(.lane = 1, .depends_on = number, .deadline_ns = UINT64_C(20000000)));
	cancelled = submit(stage, "nop", SUBMIT(.lane = 2, .depends_on = number));
	must_wait(stage, cancelled);
	ww_ticket_cancel(cancelled);
	MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(late, WAIT_NS, NULL));
	MUST_STATUS(WW_CANCELLED, ww_ticket_wait(cancelled, WAIT_NS, NULL));
	MUST(!info_of(other).has_ended && !info_of(late).has_started);
	MUST_OK(ww_timeline_signal(timeline, 1));
	must_end(other, 0);
}

static void call_often(struct stage *stage, uint32_t lane)
{
	for (uint32_t i = 0; i < WW_SERVICE_DEPENDS_MAX; i++)
		must_end(submit(stage, "nop", SUBMIT(.lane = lane)), 0);
}

/* The call before in the chain can be long ago, by the numbers of calls. */
STAGE_CASE(service_chain_of_a_lane_that_seldom_calls, SERVICES | NO_DEVICE)
{
	uint64_t failed;
	ww_ticket *ticket;

	must_end(submit(stage, "nop", NULL), 0);
	call_often(stage, 1);
	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), 0);
	ticket = submit(stage, "fail", SUBMIT(.flags = WW_SUBMIT_CHAIN));
	failed = info_of(ticket).number;
	ww_ticket_unref(ticket);
	call_often(stage, 1);
	must_end(submit(stage, "nop", SUBMIT(.flags = WW_SUBMIT_CHAIN)), failed);
}

STAGE_CASE(service_dependencies_are_checked, SERVICES | NO_DEVICE)
{
	const uint64_t numbers[WW_SUBMIT_DEPENDS_MAX + 1] = {1, 2, 3, 4, 5, 6, 7};
	const uint64_t same[WW_SUBMIT_DEPENDS_MAX + 1] = {1, 1, 1, 1, 1, 1, 1};
	const uint64_t later = 1000;
	ww_ticket *ticket;
	uint32_t nop;

	for (size_t i = 0; i < CHECK_COUNT(numbers); i++)
		must_end(submit(stage, "nop", NULL), 0);
	nop = stage_find(stage->client, "nop");
	MUST_REFUSE(WW_ERR_INVALID, "more than 6 others",
		ww_client_submit(stage->client, nop, NULL, 0,
			SUBMIT(.depends_more = numbers, .depends_more_count = CHECK_COUNT(numbers)),
			FOREVER, NULL, &ticket));
	MUST_REFUSE(WW_ERR_INVALID, "not made yet",
		ww_client_submit(stage->client, nop, NULL, 0,
			SUBMIT(.depends_more = &later, .depends_more_count = 1), FOREVER, NULL,
			&ticket));
	MUST_REFUSE(WW_ERR_INVALID, "depends_more is NULL",
		ww_client_submit(stage->client, nop, NULL, 0, SUBMIT(.depends_more_count = 1),
			FOREVER, NULL, &ticket));
	MUST_REFUSE(WW_ERR_INVALID, "unknown",
		ww_client_submit(stage->client, nop, NULL, 0, SUBMIT(.flags = 4), FOREVER, NULL,
			&ticket));
	must_end(submit(stage, "nop",
			 SUBMIT(.depends_more = numbers,
				 .depends_more_count = WW_SUBMIT_DEPENDS_MAX)),
		0);
	must_end(submit(stage, "nop",
			 SUBMIT(.depends_on = 1, .depends_more = same,
				 .depends_more_count = CHECK_COUNT(same),
				 .flags = WW_SUBMIT_CHAIN)),
		0);
}
