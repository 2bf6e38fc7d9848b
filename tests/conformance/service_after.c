/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_after.c - calls that start after a value of a timeline
 *
 * Client and server are in one process here. What becomes of the calls when the timeline's process
 * ends is seen in tests/integration/service_after.c.
 */
#include <string.h>

#include "conformance/service_stage.h"

#define BYTES 4096
#define MANY  100 /* timelines: more than the server keeps for a client */

#define SHORT_NS UINT64_C(20000000)
#define LONG_NS  WW_FOREVER /* for what must come */

static ww_timeline *timeline_make(void)
{
	ww_timeline *timeline;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	return timeline;
}

static struct ww_token timeline_token(ww_timeline *timeline)
{
	struct ww_token token;

	MUST_OK(ww_timeline_export(timeline, scene.broker,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	return token;
}

static ww_ticket *submit_nop(ww_client *client, const struct ww_submit_params *params)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(client, stage_find(client, "nop"), NULL, 0, params, FOREVER, NULL,
		&ticket));
	return ticket;
}

static void must_end(ww_ticket *ticket, ww_status status)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_STATUS(status, ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST_EQUAL(status == WW_OK, info.has_started);
	MUST_EQUAL(0, info.failed_call);
	ww_ticket_unref(ticket);
}

/* The serving thread has gone on since: the ticket's call is known to wait. */
static void must_wait(struct stage *stage, ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	for (uint32_t i = 0; i < 8; i++)
		must_end(submit_nop(stage->client, SUBMIT(.lane = 63)), WW_OK);
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST(!info.has_ended && !info.has_started);
}

STAGE_CASE(service_call_starts_after_value, SERVICES | NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *behind;
	ww_ticket *ticket;

	timeline = timeline_make();
	ticket = submit_nop(stage->client, SUBMIT(.after = timeline, .after_value = 5));
	behind = submit_nop(stage->client, NULL);
	must_wait(stage, ticket);
	MUST_OK(ww_timeline_signal(timeline, 4));
	must_wait(stage, ticket);
	must_wait(stage, behind);
	MUST_OK(ww_timeline_signal(timeline, 5));
	must_end(ticket, WW_OK);
	must_end(behind, WW_OK);
	must_end(submit_nop(stage->client, SUBMIT(.after = timeline, .after_value = 3)), WW_OK);
}

STAGE_CASE(service_call_starts_after_token, SERVICES | NO_DEVICE)
{
	struct ww_token token;
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *ticket;

	timeline = timeline_make();
	token = timeline_token(timeline);
	for (uint64_t value = 1; value < 4; value++) {
		ticket = submit_nop(stage->client,
			SUBMIT(.after_token = &token, .after_value = value));
		must_wait(stage, ticket);
		MUST_OK(ww_timeline_signal(timeline, value));
		must_end(ticket, WW_OK);
	}
}

/* What a stream of the client does before it signals, the function finds done. */
STAGE_CASE(service_call_starts_after_stream, SERVICES)
{
	struct ww_value values[2];
	OWN(timeline) ww_timeline *timeline;
	OWN(memory) ww_memory *memory;
	OWN(stream) ww_stream *stream;
	uint8_t byte;

	timeline = timeline_make();
	stream = stream_make(scene.device);
	memory = scene_make(BYTES, 1);
	values[0] = value_memory(memory);
	values[1] = value_u64(BYTES - 1);
	for (uint8_t i = 1; i <= 32; i++) {
		MUST_OK(ww_stream_fill(stream, ww_memory_pointer(memory), i, 1, BYTES));
		MUST_OK(ww_timeline_stream_signal(timeline, stream, i));
		MUST_OK(ww_client_call(stage->client, stage_find(stage->client, "mark"), values, 2,
			SUBMIT(.after = timeline, .after_value = i), FOREVER, NULL, NULL));
		MUST(service_marks_made() > 0);
		memory_get(memory, BYTES - 1, &byte, 1);
		MUST_EQUAL(i + 1, byte);
	}
}

/* The token goes with as many arguments as there are. */
STAGE_CASE(service_call_after_value_has_its_arguments, SERVICES | NO_DEVICE)
{
	const struct ww_value values[] = {value_i64(-2), value_i64(44)};
	OWN(timeline) ww_timeline *timeline;
	OWN(ticket) ww_ticket *ticket;

	timeline = timeline_make();
	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "add"), values, 2,
		SUBMIT(.after = timeline, .after_value = 1), FOREVER, NULL, &ticket));
	must_wait(stage, ticket);
	MUST_OK(ww_timeline_signal(timeline, 1));
	MUST_OK(ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_EQUAL(42, result_scalar(ticket, 0));
}

static struct ww_ticket_info info_of(ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_OK(ww_ticket_info_get(ticket, &info));
	return info;
}

static uint64_t reached(ww_timeline *timeline)
{
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	MUST_OK(ww_timeline_info_get(timeline, &info));
	return info.completed;
}

/* Calls of one lane; that before the second never starts until its value is signalled. */
struct queue {
	struct stage stage;
	ww_timeline *timeline; /* that the first call starts after */
	ww_timeline *values;   /* of the lane */
	ww_ticket *first;
	ww_ticket *late;
	ww_ticket *last;
};

static void queue_begin(struct queue *queue)
{
	stage_begin(&queue->stage, NULL);
	queue->timeline = timeline_make();
	MUST_OK(ww_client_lane_timeline(queue->stage.client, 0, FOREVER, NULL, &queue->values));
	queue->first = submit_nop(queue->stage.client,
		SUBMIT(.after = queue->timeline, .after_value = 1));
	queue->late = submit_nop(queue->stage.client, SUBMIT(.deadline_ns = SHORT_NS));
	queue->last = submit_nop(queue->stage.client, SUBMIT(.flags = WW_SUBMIT_CHAIN));
}

static void queue_end(struct queue *queue)
{
	ww_timeline_unref(queue->values);
	ww_timeline_unref(queue->timeline);
	stage_end(&queue->stage);
}

/* The values of the lane's timeline go by the order of its calls, not by that of the replies. */
CASE(service_late_call_ends_behind_one_that_waits, SERVICES)
{
	ENDED_BY(queue_end) struct queue queue;

	queue_begin(&queue);
	MUST_REFUSE(WW_TIMED_OUT, "call 3 of 'nop' was not started: it was queued for ",
		ww_ticket_wait(queue.late, LONG_NS, NULL));
	MUST_REFUSE(WW_TIMED_OUT, "behind call 2 of lane 0", ww_ticket_wait(queue.late, 0, NULL));
	MUST(!info_of(queue.late).has_started);
	must_wait(&queue.stage, queue.first);
	must_wait(&queue.stage, queue.last);
	MUST_EQUAL(info_of(queue.first).value - 1, reached(queue.values));
	MUST_OK(ww_timeline_signal(queue.timeline, 1));
	must_end(queue.first, WW_OK);
	MUST_OK(ww_timeline_wait(queue.values, info_of(queue.late).value, FOREVER, NULL));
	MUST_STATUS(WW_ERR_DEPENDENCY_FAILED, ww_ticket_wait(queue.last, FOREVER, NULL));
	MUST_EQUAL(info_of(queue.late).number, info_of(queue.last).failed_call);
	MUST_OK(ww_timeline_wait(queue.values, info_of(queue.last).value, FOREVER, NULL));
	ww_ticket_unref(queue.late);
	ww_ticket_unref(queue.last);
}

/* A stream that waits for the late call waits for the calls before it. */
CASE(service_stream_waits_though_a_call_is_late, SERVICES)
{
	ENDED_BY(queue_end) struct queue queue;
	OWN(stream) ww_stream *stream;

	queue_begin(&queue);
	stream = stream_make(scene.device);
	MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(queue.late, LONG_NS, NULL));
	MUST_STATUS(WW_NOT_READY, ww_ticket_stream_wait(queue.late, stream, 0, 0, NULL));
	MUST_OK(ww_ticket_stream_wait(queue.late, stream, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_stream_synchronize(stream, 0, NULL));
	MUST_OK(ww_timeline_signal(queue.timeline, 1));
	MUST_OK(ww_stream_synchronize(stream, FOREVER, NULL));
	must_end(queue.first, WW_OK);
	MUST_OK(ww_ticket_stream_wait(queue.late, stream, 0, 0, NULL));
	ww_ticket_unref(queue.late);
	ww_ticket_unref(queue.last);
}

/* The same behind a call whose function runs; a second thread serves. */
STAGE_CASE(service_late_call_ends_behind_one_that_runs, SERVICES)
{
	OWN(timeline) ww_timeline *values;
	ww_ticket *running;
	ww_ticket *late[2];

	stage_start_thread(stage);
	MUST_OK(ww_client_lane_timeline(stage->client, 0, FOREVER, NULL, &values));
	running = stage_submit(stage, "hold", NULL, 0);
	for (int i = 0; i < 2; i++)
		late[i] = submit_nop(stage->client, SUBMIT(.deadline_ns = SHORT_NS));
	for (int i = 0; i < 2; i++)
		MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(late[i], LONG_NS, NULL));
	MUST_EQUAL(info_of(running).value - 1, reached(values));
	must_end(submit_nop(stage->client, SUBMIT(.lane = 1)), WW_OK);
	ww_ticket_cancel(running);
	MUST_STATUS(WW_ERR_GIVEN_UP, ww_ticket_wait(running, FOREVER, NULL));
	MUST_OK(ww_timeline_wait(values, info_of(late[1]).value, FOREVER, NULL));
	must_end(submit_nop(stage->client, NULL), WW_OK);
	ww_ticket_unref(running);
	for (int i = 0; i < 2; i++)
		ww_ticket_unref(late[i]);
}

/* Nobody serves until the call is cancelled. */
CASE(service_late_call_was_cancelled, SERVICES | NO_DEVICE)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *first;
	ww_ticket *late;

	stage_open(&stage, NULL);
	timeline = timeline_make();
	first = submit_nop(stage.client, SUBMIT(.after = timeline, .after_value = 1));
	late = submit_nop(stage.client, SUBMIT(.deadline_ns = SHORT_NS));
	ww_ticket_cancel(late);
	stage_start_thread(&stage);
	must_end(late, WW_CANCELLED);
	must_wait(&stage, first);
	MUST_OK(ww_timeline_signal(timeline, 1));
	must_end(first, WW_OK);
}

static ww_ticket *fail_in_lane(struct stage *stage, uint32_t lane)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "fail"), &status, 1,
		SUBMIT(.lane = lane), FOREVER, NULL, &ticket));
	MUST_STATUS(WW_ERR_EXISTS, ww_ticket_wait(ticket, FOREVER, NULL));
	return ticket;
}

/* A stream that waits for it waits for the calls before it. */
STAGE_CASE(service_late_call_depends_on_one_that_failed, SERVICES)
{
	OWN(timeline) ww_timeline *timeline;
	OWN(timeline) ww_timeline *values;
	OWN(stream) ww_stream *stream;
	OWN(ticket) ww_ticket *failed;
	ww_ticket *first;
	OWN(ticket) ww_ticket *late;

	timeline = timeline_make();
	stream = stream_make(scene.device);
	MUST_OK(ww_client_lane_timeline(stage->client, 0, FOREVER, NULL, &values));
	failed = fail_in_lane(stage, 1);
	first = submit_nop(stage->client, SUBMIT(.after = timeline, .after_value = 1));
	late = submit_nop(stage->client,
		SUBMIT(.depends_on = info_of(failed).number, .deadline_ns = SHORT_NS));
	MUST_STATUS(WW_ERR_DEPENDENCY_FAILED, ww_ticket_wait(late, LONG_NS, NULL));
	MUST_EQUAL(info_of(failed).number, info_of(late).failed_call);
	must_wait(stage, first);
	MUST_STATUS(WW_NOT_READY, ww_ticket_stream_wait(late, stream, 0, 0, NULL));
	MUST_OK(ww_timeline_signal(timeline, 1));
	must_end(first, WW_OK);
	MUST_OK(ww_ticket_stream_wait(late, stream, 0, FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(stream, FOREVER, NULL));
}

/* On a slow machine the server does not have the timeline in time: then the call gets more time. */
STAGE_CASE(service_late_call_names_its_value, SERVICES | NO_DEVICE)
{
	uint64_t deadline_ns = SHORT_NS;
	OWN(timeline) ww_timeline *timeline;
	bool is_named;

	timeline = timeline_make();
	do {
		ww_ticket *ticket = submit_nop(stage->client,
			SUBMIT(.after = timeline, .after_value = 1, .deadline_ns = deadline_ns));

		MUST_REFUSE(WW_TIMED_OUT, "deadline passed", ww_ticket_wait(ticket, LONG_NS, NULL));
		is_named = strstr(ww_error_last()->message,
			"while it waited for value 1 of a timeline, which was at 0");
		ww_ticket_unref(ticket);
		deadline_ns *= 2;
	} while (!is_named);
}

STAGE_CASE(service_waiting_call_is_cancelled, SERVICES | NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *ticket;

	timeline = timeline_make();
	ticket = submit_nop(stage->client, SUBMIT(.after = timeline, .after_value = 1));
	must_wait(stage, ticket);
	ww_ticket_cancel(ticket);
	must_end(ticket, WW_CANCELLED);
	ticket = submit_nop(stage->client,
		SUBMIT(.after = timeline, .after_value = 1, .deadline_ns = UINT64_C(50000000)));
	MUST_REFUSE(WW_TIMED_OUT, "of 'nop' was not started",
		ww_ticket_wait(ticket, LONG_NS, NULL));
	must_end(ticket, WW_TIMED_OUT);
	MUST_REFUSE(WW_TIMED_OUT, "of 'nop' has not ended in time",
		ww_client_call(stage->client, stage_find(stage->client, "nop"), NULL, 0,
			SUBMIT(.after = timeline, .after_value = 1), UINT64_C(20000000), NULL,
			NULL));
	must_end(submit_nop(stage->client, NULL), WW_OK);
}

/* What the server cannot import ends the call that names it, and no other one. */
STAGE_CASE(service_timeline_that_is_none_ends_its_call, SERVICES)
{
	ww_timeline *timeline;
	struct ww_token token;
	ww_memory *memory;
	ww_ticket *ticket;

	MUST_REFUSE(WW_ERR_INVALID, "after_token",
		ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0,
			SUBMIT(.after_value = 1), FOREVER, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "2^62",
		ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0,
			SUBMIT(.after_value = WW_TIMELINE_MAX + 1), FOREVER, NULL, NULL));
	memory = scene_make(BYTES, 1);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_STATUS(WW_ERR_INVALID,
		ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0,
			SUBMIT(.after_token = &token, .after_value = 1), FOREVER, NULL, NULL));
	ww_memory_unref(memory);
	MUST_OK(ww_timeline_create(WW_PARAMS(struct ww_timeline_params, .flags = WW_TIMELINE_ALONE),
		&timeline));
	token = timeline_token(timeline);
	ww_timeline_unref(timeline);
	ticket = submit_nop(stage->client, SUBMIT(.after_token = &token, .after_value = 1));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "the timeline to start after",
		ww_ticket_wait(ticket, FOREVER, NULL));
	must_end(ticket, WW_ERR_NOT_FOUND);
	must_end(submit_nop(stage->client, NULL), WW_OK);
}

/* A call that waits for another one and for a timeline starts after both. */
STAGE_CASE(service_call_depends_and_starts_after_value, SERVICES | NO_DEVICE)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	OWN(timeline) ww_timeline *timeline;
	OWN(ticket) ww_ticket *failed;
	OWN(ticket) ww_ticket *ticket;

	timeline = timeline_make();
	ww_ticket_unref(stage_submit(stage, "nop", NULL, 0));
	ticket = submit_nop(stage->client,
		SUBMIT(.lane = 1, .depends_on = 1, .after = timeline, .after_value = 1));
	must_wait(stage, ticket);
	MUST_OK(ww_timeline_signal(timeline, 1));
	must_end(ticket, WW_OK);
	failed = stage_submit(stage, "fail", &status, 1);
	MUST_OK(ww_ticket_info_get(failed, &info));
	ticket = submit_nop(stage->client,
		SUBMIT(.lane = 1, .depends_on = info.number, .after = timeline, .after_value = 2));
	MUST_STATUS(WW_ERR_DEPENDENCY_FAILED, ww_ticket_wait(ticket, FOREVER, NULL));
}

/* All lanes of a client wait for ever: another one's calls are served all the same. */
STAGE_CASE(service_lanes_that_wait_harm_nobody_else, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[WW_SERVICE_LANES_MAX];
	ww_timeline *timelines[WW_SERVICE_LANES_MAX];
	const struct ww_value values[] = {value_i64(1), value_i64(2)};
	OWN(client) ww_client *victim;

	stage_start_thread(stage);
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &victim));
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		timelines[i] = timeline_make();
		tickets[i] = submit_nop(stage->client,
			SUBMIT(.lane = i, .after = timelines[i], .after_value = 1));
	}
	for (int i = 0; i < 2000; i++)
		MUST_OK(ww_client_call(victim, stage_find(victim, "add"), values, 2,
			SUBMIT(.lane = i % 64U), FOREVER, NULL, NULL));
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[i], 0, NULL));
		if (i % 2 == 0)
			MUST_OK(ww_timeline_signal(timelines[i], 1));
	}
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		if (i % 2 == 1)
			ww_ticket_cancel(tickets[i]);
		must_end(tickets[i], i % 2 ? WW_CANCELLED : WW_OK);
		ww_timeline_unref(timelines[i]);
	}
}

/* The server lets go of those that were used least recently, and imports them again. */
STAGE_CASE(service_call_starts_after_one_of_many_timelines, SERVICES | NO_DEVICE)
{
	struct ww_token tokens[MANY];
	ww_timeline *timelines[MANY];
	ww_ticket *ticket;

	for (uint32_t i = 0; i < MANY; i++) {
		timelines[i] = timeline_make();
		tokens[i] = timeline_token(timelines[i]);
	}
	for (uint64_t i = 0; i < UINT64_C(3) * MANY; i++) {
		ticket = submit_nop(stage->client,
			SUBMIT(.lane = i % WW_SERVICE_LANES_MAX, .after_token = &tokens[i % MANY],
				.after_value = i / MANY + 1));
		MUST_OK(ww_timeline_signal(timelines[i % MANY], i / MANY + 1));
		must_end(ticket, WW_OK);
	}
	for (uint32_t i = 0; i < MANY; i++)
		ww_timeline_unref(timelines[i]);
}

CASE(service_drains_though_a_call_waits, SERVICES | NO_DEVICE)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *behind;
	ww_ticket *ticket;

	stage_open(&stage, NULL);
	timeline = timeline_make();
	ticket = submit_nop(stage.client, SUBMIT(.after = timeline, .after_value = 1));
	behind = submit_nop(stage.client, NULL);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	MUST_OK(ww_service_drain(stage.service));
	MUST_STATUS(WW_END, ww_service_serve(stage.service, FOREVER, NULL));
	must_end(ticket, WW_ERR_UNAVAILABLE);
	must_end(behind, WW_OK);
}

/* Both the client and the service may end while calls wait. */
STAGE_CASE(service_ends_while_a_call_waits, SERVICES | NO_DEVICE)
{
	OWN(timeline) ww_timeline *timeline;
	OWN(client) ww_client *other;
	OWN(ticket) ww_ticket *ticket;

	timeline = timeline_make();
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &other));
	ww_ticket_unref(submit_nop(other, SUBMIT(.after = timeline, .after_value = 1)));
	ticket = submit_nop(stage->client, SUBMIT(.after = timeline, .after_value = 1));
	must_wait(stage, ticket);
}
