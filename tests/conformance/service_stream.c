/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stream.c - calls behind a stream that stands still
 */
#include <sched.h>
#include <stdatomic.h>

#include "conformance/service_stage.h"
#include "support/stream_gate.h"

#define CALLS        600
#define IN_STREAM    256 /* the library starts no more of them behind each other */
#define TICKS_BEFORE (IN_STREAM - 1)

#define SHORT_NS UINT64_C(20000000)
#define LONG_NS  WW_FOREVER /* for what must come */

static struct gate gate;
static _Atomic uint32_t ticks;

static ww_status run_gate(void *context, ww_call *call)
{
	ww_stream *stream;

	(void)context;
	MUST_OK(ww_call_stream(call, &stream));
	gate_close(&gate, stream);
	return WW_OK;
}

/* The same, for a gate that is initialised, and may be open already. */
static ww_status run_pass(void *context, ww_call *call)
{
	ww_stream *stream;

	(void)context;
	MUST_OK(ww_call_stream(call, &stream));
	return ww_stream_call(stream, gate_pass, &gate);
}

static ww_status run_tick(void *context, ww_call *call)
{
	ww_stream *stream;

	(void)context;
	ticks++;
	return ww_call_stream(call, &stream);
}

static void offer(const struct stage *stage, const char *name, ww_service_fn fn)
{
	MUST_OK(ww_service_offer(stage->service, name, "", fn, NULL,
		WW_PARAMS(struct ww_function_params, .flags = WW_FUNCTION_ENQUEUES)));
}

/* The ticket's way to have a stream wait, of the own user's server. */
CASE(service_stream_waits_for_a_ticket, SERVICES)
{
	const uint64_t unknown = ~(WW_WAIT_UNSUBMITTED | WW_WAIT_OTHER_USER);
	ww_timeline *timeline;
	ww_ticket *tickets[2];
	ENDED_BY(stage_end) struct stage stage;
	OWN(stream) ww_stream *stream;

	gate_init(&gate);
	stage_begin(&stage, NULL);
	offer(&stage, "gate", run_pass);
	stream = stream_make(scene.device);
	tickets[0] = stage_submit(&stage, "gate", NULL, 0);
	MUST_REFUSE(WW_ERR_STATE, "ww_client_lane_timeline()",
		ww_ticket_stream_wait(tickets[0], stream, 0, FOREVER, NULL));
	gate_open(&gate);
	MUST_OK(ww_ticket_wait(tickets[0], FOREVER, NULL));
	MUST_OK(ww_ticket_stream_wait(tickets[0], stream, 0, FOREVER, NULL)); /* it has ended */
	MUST_OK(ww_client_lane_timeline(stage.client, 0, FOREVER, NULL, &timeline));
	ww_timeline_unref(timeline);
	tickets[1] = stage_submit(&stage, "gate", NULL, 0);
	MUST_REFUSE(WW_ERR_INVALID, "flags",
		ww_ticket_stream_wait(tickets[1], stream, unknown, FOREVER, NULL));
	MUST_OK(ww_ticket_stream_wait(tickets[1], stream, 0, FOREVER, NULL));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(stream));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, FOREVER, NULL));
	MUST_OK(ww_ticket_wait(tickets[1], FOREVER, NULL));
	for (int i = 0; i < 2; i++)
		ww_ticket_unref(tickets[i]);
}

/* A driver would wait when the stream is full, and the server with it. */
CASE(service_stream_is_not_overfilled, SERVICES)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *last = NULL;
	uint32_t tick;

	ticks = 0;
	stage_begin(&stage, SERVICE(.calls_max = 1024));
	offer(&stage, "gate", run_gate);
	offer(&stage, "tick", run_tick);
	tick = stage_find(stage.client, "tick");
	MUST_OK(ww_client_submit(stage.client, stage_find(stage.client, "gate"), NULL, 0, NULL,
		FOREVER, NULL, NULL));
	for (uint32_t i = 0; i < CALLS; i++)
		MUST_OK(ww_client_submit(stage.client, tick, NULL, 0, NULL, FOREVER, NULL,
			i + 1 == CALLS ? &last : NULL));
	while (ticks < TICKS_BEFORE)
		sched_yield();
	MUST_OK(ww_client_call(stage.client, stage_find(stage.client, "nop"), NULL, 0,
		SUBMIT(.lane = 1), FOREVER, NULL, NULL));
	MUST_EQUAL(TICKS_BEFORE, ticks);
	gate_open(&gate);
	MUST_OK(ww_ticket_wait(last, FOREVER, NULL));
	MUST_EQUAL(CALLS, ticks);
}

static ww_ticket *submit_nop(struct stage *stage, const struct ww_submit_params *params)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0, params,
		FOREVER, NULL, &ticket));
	return ticket;
}

/* The first of the late calls also waits for a timeline that the server has. */
STAGE_CASE(service_late_call_ends_behind_work_of_a_stream, SERVICES)
{
	OWN(timeline) ww_timeline *timeline;
	OWN(ticket) ww_ticket *working;
	ww_ticket *late[2];

	offer(stage, "gate", run_gate);
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_signal(timeline, 1));
	working = submit_nop(stage, SUBMIT(.after = timeline, .after_value = 1));
	MUST_OK(ww_ticket_wait(working, FOREVER, NULL));
	ww_ticket_unref(working);
	working = stage_submit(stage, "gate", NULL, 0);
	stage_wait_started(working);
	late[0] = submit_nop(stage,
		SUBMIT(.after = timeline, .after_value = 2, .deadline_ns = SHORT_NS));
	late[1] = submit_nop(stage, SUBMIT(.deadline_ns = SHORT_NS));
	for (int i = 0; i < 2; i++) {
		MUST_REFUSE(WW_TIMED_OUT, "while a stream ran work of calls before it in lane 0",
			ww_ticket_wait(late[i], LONG_NS, NULL));
		ww_ticket_unref(late[i]);
	}
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(working, 0, NULL));
	gate_open(&gate);
	MUST_OK(ww_ticket_wait(working, FOREVER, NULL));
}
