/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stream.c - calls that only enqueue, behind a stream that stands still
 */
#include <sched.h>
#include <stdatomic.h>

#include "conformance/service_stage.h"
#include "support/stream_gate.h"

#define CALLS        600
#define IN_STREAM    256 /* the library starts no more of them behind each other */
#define TICKS_BEFORE (IN_STREAM - 1)

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

/* A driver would wait when the stream is full, and the server with it. */
CASE(service_stream_is_not_overfilled, SERVICES)
{
	struct stage stage;
	ww_ticket *last = NULL;
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
	ww_ticket_unref(last);
	stage_end(&stage);
}
