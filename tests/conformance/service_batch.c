/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_batch.c - functions that run several calls at once
 *
 * Where a case serves by itself, all calls that were made before are taken at once. So it is known
 * which of them are run together. LONG_NS stands for a wait that does not end.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "conformance/service_stage.h"
#include "support/child.h"

#define LONG_NS  UINT64_C(60000000000)
#define SHORT_NS UINT64_C(1000000)

/* What a call of "next" gives to fail alone, or to have all calls of its batch fail. */
#define FAILS_ALONE UINT64_C(1000)
#define FAILS_ALL   UINT64_C(1001)

/* --- functions --- */

/* "u64 a -> u64 next, u64 calls": a + 1, and how many were run together */
static ww_status run_next(void *context, ww_call *const *calls, uint32_t count)
{
	ww_status status = WW_OK;

	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		const struct ww_value together = value_u64(count);
		struct ww_value value;

		MUST_OK(ww_call_argument(calls[i], 0, &value));
		if (value.scalar == FAILS_ALONE)
			ww_call_fail(calls[i], WW_ERR_EXISTS, "it fails alone");
		if (value.scalar == FAILS_ALL)
			status = WW_ERR_QUOTA;
		value.scalar++;
		MUST_OK(ww_call_result(calls[i], 0, &value));
		MUST_OK(ww_call_result(calls[i], 1, &together));
	}
	return status;
}

/* "u8[*] x write, u8 value": all of them by the stream of the last call */
static ww_status run_fill(void *context, ww_call *const *calls, uint32_t count)
{
	ww_stream *stream;

	(void)context;
	MUST_OK(ww_call_stream(calls[count - 1], &stream));
	for (uint32_t i = 0; i < count; i++) {
		struct ww_value value;
		struct ww_value x;

		MUST_OK(ww_call_argument(calls[i], 0, &x));
		MUST_OK(ww_call_argument(calls[i], 1, &value));
		MUST_OK(ww_stream_fill(stream, x.pointer, (uint32_t)value.scalar, 1, BYTES));
	}
	return WW_OK;
}

static ww_status run_alone(void *context, ww_call *call)
{
	(void)context;
	(void)call;
	return WW_OK;
}

#define BATCH(...) WW_PARAMS(struct ww_function_params, __VA_ARGS__)

/* A service, which nobody serves yet, with the function "next". */
static void open_with(struct stage *stage, uint32_t calls_max, uint64_t wait_ns)
{
	stage_open(stage, NULL);
	MUST_OK(ww_service_offer_batch(stage->service, "next", "u64 a -> u64 next, u64 calls",
		run_next, NULL, BATCH(.batch_calls_max = calls_max, .batch_wait_ns = wait_ns)));
}

/* --- calls --- */

static ww_ticket *submit_by(ww_client *client, uint64_t a, const struct ww_submit_params *params)
{
	const struct ww_value value = value_u64(a);
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(client, stage_find(client, "next"), &value, 1, params, FOREVER,
		NULL, &ticket));
	return ticket;
}

static ww_ticket *submit(struct stage *stage, uint64_t a, uint32_t lane)
{
	return submit_by(stage->client, a, SUBMIT(.lane = lane));
}

/* It was run together with so many others, or with some, if these are 0. */
static void must_have(ww_ticket *ticket, uint64_t next, uint64_t together)
{
	MUST_OK(ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_EQUAL(next, result_scalar(ticket, 0));
	if (together > 0)
		MUST_EQUAL(together, result_scalar(ticket, 1));
	ww_ticket_unref(ticket);
}

static void must_end(ww_ticket *ticket, ww_status status, bool has_started)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_STATUS(status, ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST_EQUAL(has_started, info.has_started);
	ww_ticket_unref(ticket);
}

/* Serves what is there; the call waits then. */
static void must_wait(struct stage *stage, ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage->service, 0, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST(!info.has_ended && !info.has_started);
}

static void function_info(struct stage *stage, const char *name, struct ww_function_info *info)
{
	*info = WW_INIT(struct ww_function_info);
	MUST_OK(ww_client_function_info_get(stage->client, stage_find(stage->client, name), info));
}

/* --- when a batch is run --- */

CASE(service_batch_refuses, SERVICES | NO_DEVICE)
{
	struct ww_function_info info;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 0, 0);
	MUST_REFUSE(WW_ERR_INVALID, "at most 256",
		ww_service_offer_batch(stage.service, "x", "", run_next, NULL,
			BATCH(.batch_calls_max = 257)));
	MUST_REFUSE(WW_ERR_INVALID, "batch_wait_ns",
		ww_service_offer_batch(stage.service, "x", "", run_next, NULL,
			BATCH(.batch_wait_ns = WW_FOREVER)));
	MUST_REFUSE(WW_ERR_INVALID, "ww_service_offer_batch",
		ww_service_offer(stage.service, "x", "", run_alone, NULL,
			BATCH(.batch_calls_max = 2)));
	MUST_REFUSE(WW_ERR_EXISTS, "'next'",
		ww_service_offer_batch(stage.service, "next", "", run_next, NULL, NULL));
	function_info(&stage, "next", &info);
	MUST_EQUAL(64, info.batch_calls_max);
	function_info(&stage, "nop", &info);
	MUST_EQUAL(0, info.batch_calls_max);
}

CASE(service_batch_is_run_when_full, SERVICES | NO_DEVICE)
{
	struct ww_function_info info;
	ww_ticket *tickets[3];
	uint64_t runs = 0;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, LONG_NS);
	stage_start_thread(&stage);
	for (uint32_t i = 0; i < 3; i++)
		tickets[i] = submit(&stage, i, i);
	for (uint32_t i = 0; i < 3; i++)
		must_have(tickets[i], i + 1, 3);
	function_info(&stage, "next", &info);
	MUST_EQUAL(3, info.calls);
	MUST_EQUAL(1, info.batches);
	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++)
		runs += info.latency[i];
	MUST_EQUAL(3, runs);
}

/* The fourth call of a batch of three is in the next one. */
CASE(service_batch_is_no_larger_than_it_may_be, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[7];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, 0);
	for (uint32_t i = 0; i < 7; i++)
		tickets[i] = submit(&stage, i, i);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	for (uint32_t i = 0; i < 7; i++)
		must_have(tickets[i], i + 1, i < 6 ? 3 : 1);
}

CASE(service_batch_without_wait_takes_what_is_there, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[5];
	ENDED_BY(stage_end) struct stage stage;
	OWN(client) ww_client *other;

	open_with(&stage, 0, 0);
	other = stage_client(&stage);
	for (uint32_t i = 0; i < 5; i++)
		tickets[i] = submit_by(i % 2 ? other : stage.client, i, SUBMIT(.lane = i));
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	for (uint32_t i = 0; i < 5; i++)
		must_have(tickets[i], i + 1, 5);
}

CASE(service_batch_is_run_when_time_has_passed, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[2];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 0, SHORT_NS);
	for (uint32_t i = 0; i < 2; i++)
		tickets[i] = submit(&stage, i, i);
	stage_start_thread(&stage);
	for (uint32_t i = 0; i < 2; i++)
		must_have(tickets[i], i + 1, 2);
}

/* Nobody serves while the time passes. */
CASE(service_batch_makes_descriptor_readable, SERVICES | NO_DEVICE)
{
	struct pollfd look = {.events = POLLIN};
	struct stage stage;
	ww_ticket *ticket;

	open_with(&stage, 0, SHORT_NS);
	MUST_OK(ww_service_eventfd(stage.service, &look.fd));
	ticket = submit(&stage, 1, 0);
	while (ww_ticket_wait(ticket, 0, NULL) == WW_NOT_READY) {
		MUST_EQUAL(1, poll(&look, 1, child_limit_ms()));
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	}
	must_have(ticket, 2, 1);
	stage_end(&stage);
	close(look.fd);
}

CASE(service_batch_is_run_when_service_drains, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[3];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, LONG_NS);
	tickets[0] = submit(&stage, 1, 0);
	tickets[1] = submit(&stage, 2, 1);
	tickets[2] = submit(&stage, 3, 1); /* behind it */
	must_wait(&stage, tickets[0]);
	MUST_OK(ww_service_drain(stage.service));
	MUST_STATUS(WW_END, ww_service_serve(stage.service, FOREVER, NULL));
	must_have(tickets[0], 2, 2);
	must_have(tickets[1], 3, 2);
	must_have(tickets[2], 4, 1);
}

CASE(service_closed_ends_calls_of_batch, SERVICES | NO_DEVICE)
{
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 2, LONG_NS);
	ticket = submit(&stage, 1, 0);
	must_wait(&stage, ticket);
	stage.service = ww_service_unref(stage.service);
	must_end(ticket, WW_ERR_UNAVAILABLE, false);
}

/* --- calls that leave it --- */

CASE(service_batch_goes_on_without_late_call, SERVICES | NO_DEVICE)
{
	struct ww_function_info info;
	ww_ticket *others[2];
	ww_ticket *late;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 2, LONG_NS);
	late = submit_by(stage.client, 1, SUBMIT(.deadline_ns = SHORT_NS));
	stage_start_thread(&stage);
	must_end(late, WW_TIMED_OUT, false);
	others[0] = submit(&stage, 2, 0);
	others[1] = submit(&stage, 3, 1);
	must_have(others[0], 3, 2);
	must_have(others[1], 4, 2);
	function_info(&stage, "next", &info);
	MUST_EQUAL(1, info.not_started);
	MUST_EQUAL(1, info.batches);
}

CASE(service_batch_goes_on_without_cancelled_call, SERVICES | NO_DEVICE)
{
	ww_ticket *cancelled;
	ww_ticket *others[2];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 2, LONG_NS);
	cancelled = submit(&stage, 1, 0);
	must_wait(&stage, cancelled);
	ww_ticket_cancel(cancelled);
	others[0] = submit(&stage, 2, 1);
	must_wait(&stage, others[0]); /* it would be the second of two */
	must_end(cancelled, WW_CANCELLED, false);
	others[1] = submit(&stage, 3, 0);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	must_have(others[0], 3, 2);
	must_have(others[1], 4, 2);
}

/* Nothing else happens then. */
CASE(service_cancelled_call_of_batch_ends_soon, SERVICES | NO_DEVICE)
{
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 2, LONG_NS);
	ticket = submit(&stage, 1, 0);
	must_wait(&stage, ticket);
	ww_ticket_cancel(ticket);
	stage_start_thread(&stage);
	must_end(ticket, WW_CANCELLED, false);
}

CASE(service_batch_goes_on_without_client, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[3];
	ww_client *other;
	ww_ticket *lost;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, LONG_NS);
	other = stage_client(&stage);
	lost = submit_by(other, 1, NULL);
	tickets[0] = submit(&stage, 2, 0);
	must_wait(&stage, lost);
	ww_ticket_unref(lost);
	ww_client_unref(other);
	stage_start_thread(&stage);
	stage_has_clients(&stage, 1);
	tickets[1] = submit(&stage, 3, 1);
	tickets[2] = submit(&stage, 4, 2);
	for (uint32_t i = 0; i < 3; i++)
		must_have(tickets[i], i + 3, 3);
}

/* --- failures --- */

CASE(service_call_of_batch_fails_alone, SERVICES | NO_DEVICE)
{
	struct ww_function_info info;
	ww_ticket *tickets[3];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, LONG_NS);
	tickets[0] = submit(&stage, 1, 0);
	tickets[1] = submit(&stage, FAILS_ALONE, 1);
	tickets[2] = submit(&stage, 2, 2);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	must_have(tickets[0], 2, 3);
	MUST_REFUSE(WW_ERR_EXISTS, "it fails alone", ww_ticket_wait(tickets[1], FOREVER, NULL));
	must_end(tickets[1], WW_ERR_EXISTS, true);
	must_have(tickets[2], 3, 3);
	function_info(&stage, "next", &info);
	MUST_EQUAL(1, info.failed);
}

CASE(service_batch_fails_as_a_whole, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[3];
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 3, LONG_NS);
	tickets[0] = submit(&stage, 1, 0);
	tickets[1] = submit(&stage, FAILS_ALONE, 1);
	tickets[2] = submit(&stage, FAILS_ALL, 2);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	must_end(tickets[0], WW_ERR_QUOTA, true);
	must_end(tickets[1], WW_ERR_EXISTS, true);
	must_end(tickets[2], WW_ERR_QUOTA, true);
}

/* "-> u64 x": the result of one call is missing, and an odd status is that of another */
static ww_status run_wrongly(void *context, ww_call *const *calls, uint32_t count)
{
	const struct ww_value value = value_u64(count);

	(void)context;
	MUST_OK(ww_call_result(calls[0], 0, &value));
	(void)ww_call_fail(calls[1], 5, NULL);
	return WW_OK;
}

CASE(service_batch_that_is_wrong_harms_no_other_call, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[3];
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, NULL);
	MUST_OK(ww_service_offer_batch(stage.service, "wrong", "-> u64 x", run_wrongly, NULL,
		NULL));
	for (uint32_t i = 0; i < 3; i++)
		MUST_OK(ww_client_submit(stage.client, stage_find(stage.client, "wrong"), NULL, 0,
			SUBMIT(.lane = i), FOREVER, NULL, &tickets[i]));
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	MUST_OK(ww_ticket_wait(tickets[0], 0, NULL));
	MUST_EQUAL(3, result_scalar(tickets[0], 0));
	MUST_STATUS(WW_ERR_STATE, ww_ticket_wait(tickets[1], 0, NULL));
	MUST_REFUSE(WW_ERR_STATE, "did not set its result", ww_ticket_wait(tickets[2], 0, NULL));
	for (uint32_t i = 0; i < 3; i++)
		ww_ticket_unref(tickets[i]);
}

/* --- order --- */

/* A call that depends on one of a batch is not in the same. */
CASE(service_batch_has_no_call_that_must_wait, SERVICES | NO_DEVICE)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *tickets[4];

	open_with(&stage, 2, LONG_NS);
	MUST_OK(ww_timeline_create(NULL, &timeline));
	tickets[0] = submit(&stage, 1, 0);
	tickets[1] = submit_by(stage.client, 2, SUBMIT(.lane = 1, .depends_on = 1));
	tickets[2] = submit_by(stage.client, 3,
		SUBMIT(.lane = 2, .after = timeline, .after_value = 1));
	must_wait(&stage, tickets[0]);
	must_wait(&stage, tickets[1]);
	must_wait(&stage, tickets[2]);
	stage_start_thread(&stage);
	MUST_OK(ww_timeline_signal(timeline, 1));
	must_have(tickets[0], 2, 2);
	must_have(tickets[2], 4, 2);
	tickets[3] = submit(&stage, 4, 0);
	must_have(tickets[3], 5, 2);
	must_have(tickets[1], 3, 2);
}

CASE(service_call_depends_on_failed_one_of_batch, SERVICES | NO_DEVICE)
{
	ww_ticket *failed;
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 0, 0);
	failed = submit(&stage, FAILS_ALONE, 0);
	ticket = submit_by(stage.client, 2, SUBMIT(.lane = 1, .depends_on = 1));
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	must_end(failed, WW_ERR_EXISTS, true);
	must_end(ticket, WW_ERR_DEPENDENCY_FAILED, false);
}

/* The lane of a call that waits does, too; others go on, and so does another function's batch. */
CASE(service_batch_stops_no_other_lane, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[2];
	ww_ticket *behind;
	ww_ticket *other;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 2, LONG_NS);
	MUST_OK(ww_service_offer_batch(stage.service, "other", "u64 a -> u64 next, u64 calls",
		run_next, NULL, NULL));
	tickets[0] = submit(&stage, 1, 0);
	behind = stage_submit(&stage, "nop", NULL, 0); /* of lane 0 */
	MUST_OK(ww_client_submit(stage.client, stage_find(stage.client, "other"),
		(const struct ww_value[]){value_u64(7)}, 1, SUBMIT(.lane = 1), FOREVER, NULL,
		&other));
	must_wait(&stage, behind);
	must_have(other, 8, 1);
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[0], 0, NULL));
	tickets[1] = submit(&stage, 2, 1);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	must_have(tickets[0], 2, 2);
	must_have(tickets[1], 3, 2);
	must_end(behind, WW_OK, true);
}

/* All is filled by one stream; the lanes' timelines and the next calls of the lanes follow it. */
STAGE_CASE(service_batch_has_one_stream, SERVICES)
{
	ww_timeline *timelines[2];
	ww_memory *memories[2];
	ww_ticket *tickets[4];

	MUST_OK(ww_service_offer_batch(stage->service, "fills", "u8[*] x write, u8 value", run_fill,
		NULL,
		BATCH(.flags = WW_FUNCTION_ENQUEUES, .batch_calls_max = 2,
			.batch_wait_ns = LONG_NS)));
	for (uint32_t i = 0; i < 2; i++) {
		memories[i] = scene_make(BYTES, 1);
		MUST_OK(ww_client_lane_timeline(stage->client, i, FOREVER, NULL, &timelines[i]));
	}
	for (uint32_t i = 0; i < 4; i++) { /* the second pair by an ordinary function */
		const struct ww_value values[] = {value_memory(memories[i % 2]),
			value_u8((uint8_t)i)};

		MUST_OK(ww_client_submit(stage->client,
			stage_find(stage->client, i < 2 ? "fills" : "fill"), values, 2,
			SUBMIT(.lane = i % 2), FOREVER, NULL, &tickets[i]));
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
		uint8_t byte;

		MUST_OK(ww_ticket_info_get(tickets[2 + i], &info));
		MUST_OK(ww_timeline_wait(timelines[i], info.value, FOREVER, NULL));
		must_end(tickets[i], WW_OK, true);
		must_end(tickets[2 + i], WW_OK, true);
		MUST_OK(ww_memory_read(memories[i], BYTES - 1, &byte, 1, FOREVER, NULL));
		MUST_EQUAL(2 + i, byte);
		ww_timeline_unref(timelines[i]);
		ww_memory_unref(memories[i]);
	}
}

/* --- many --- */

#define CLIENTS 4
#define LANES   8
#define ROUNDS  20

static void submit_round(ww_client *const clients[CLIENTS], ww_ticket *tickets[CLIENTS][LANES])
{
	for (uint32_t i = 0; i < CLIENTS * LANES; i++)
		tickets[i / LANES][i % LANES] = submit_by(clients[i / LANES],
			i % 7 ? i : FAILS_ALONE,
			SUBMIT(.lane = i % LANES, .deadline_ns = i % 11 ? 0 : SHORT_NS));
}

static void end_round(ww_ticket *tickets[CLIENTS][LANES])
{
	for (uint32_t i = 0; i < CLIENTS * LANES; i++) {
		ww_ticket *ticket = tickets[i / LANES][i % LANES];
		ww_status status;

		if (i % 13 == 0)
			ww_ticket_cancel(ticket);
		status = ww_ticket_wait(ticket, FOREVER, NULL);
		if (status == WW_OK)
			MUST_EQUAL(i + 1, result_scalar(ticket, 0));
		else if (status == WW_TIMED_OUT)
			MUST_EQUAL(0, i % 11);
		else
			MUST(i % 13 == 0 || status == WW_ERR_EXISTS);
		ww_ticket_unref(ticket);
	}
}

/* By several threads, with calls that fail, are late or are cancelled. */
CASE(service_batches_of_many, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[CLIENTS][LANES];
	ww_client *clients[CLIENTS];
	struct ww_function_info info;
	ENDED_BY(stage_end) struct stage stage;

	open_with(&stage, 8, SHORT_NS);
	for (uint32_t i = 0; i < CLIENTS; i++)
		clients[i] = stage_client(&stage);
	for (uint32_t i = 0; i < 3; i++)
		stage_start_thread(&stage);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		submit_round(clients, tickets);
		end_round(tickets);
	}
	function_info(&stage, "next", &info);
	MUST_EQUAL(ROUNDS * CLIENTS * LANES, info.calls);
	MUST((info.calls - info.not_started) <= info.batches * 8);
	for (uint32_t i = 0; i < CLIENTS; i++)
		ww_client_unref(clients[i]);
}
