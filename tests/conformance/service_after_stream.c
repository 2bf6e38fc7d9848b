/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_after_stream.c - streams of the server that wait for the values that calls start after
 *
 * A stream of the client signals the value. Before that it waits for the gate, a timeline that the
 * case signals: so the value is submitted, and not reached.
 */
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "conformance/service_stage.h"
#include "service/after_stream.h"
#include "wire/signal_page.h"

#define GPU_STREAMS (SERVICES | WW_CAP_STREAM_WRAP) /* the host device has threads instead */
#define LANES       6                               /* more than streams that may wait */
#define SOON_NS     UINT64_C(20000000)

struct gated {
	struct stage stage;
	ww_stream *stream;
	ww_timeline *gate;
	ww_timeline *timeline;
};

static void require_streams_that_wait(void)
{
	ww_device *device = subject_open();
	bool is_shared = device_info(device).mps == WW_MPS_ON;

	ww_device_unref(device);
	if (is_shared)
		check_skip("under MPS no stream of a service waits: there are two hardware queues");
}

/* The value, up to which the stream will signal, is submitted. Called before anything is open. */
static void gated_begin(struct gated *gated, uint32_t after_streams, uint64_t value)
{
	require_streams_that_wait();
	stage_open(&gated->stage, SERVICE(.after_streams = after_streams));
	MUST_OK(ww_timeline_create(NULL, &gated->gate));
	MUST_OK(ww_timeline_create(WW_PARAMS(struct ww_timeline_params, .flags = WW_TIMELINE_ALONE),
		&gated->timeline));
	MUST_OK(ww_stream_create(scene.device, &gated->stream));
	MUST_OK(ww_timeline_stream_wait(gated->gate, gated->stream, 1, WW_WAIT_UNSUBMITTED, 0,
		NULL));
	for (uint64_t each = 1; each <= value; each++)
		MUST_OK(ww_timeline_stream_signal(gated->timeline, gated->stream, each));
}

static void gated_open(struct gated *gated)
{
	MUST_OK(ww_timeline_signal(gated->gate, 1));
}

/* The gate is open. */
static void gated_release(struct gated *gated)
{
	MUST_OK(ww_stream_synchronize(gated->stream, FOREVER, NULL));
	ww_stream_unref(gated->stream);
	ww_timeline_unref(gated->timeline);
	ww_timeline_unref(gated->gate);
}

static void gated_end(struct gated *gated)
{
	gated_release(gated);
	stage_end(&gated->stage);
}

static ww_ticket *submit_after(struct gated *gated, uint32_t lane, uint64_t value,
	uint64_t deadline_ns)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(gated->stage.client, stage_find(gated->stage.client, "nop"), NULL,
		0,
		SUBMIT(.lane = lane, .after = gated->timeline, .after_value = value,
			.deadline_ns = deadline_ns),
		FOREVER, NULL, &ticket));
	return ticket;
}

static void must_end(ww_ticket *ticket, ww_status status)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_STATUS(status, ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST_EQUAL(status == WW_OK, info.has_started);
	ww_ticket_unref(ticket);
}

/* Another thread serves. */
static void await_waits(struct gated *gated, uint32_t count)
{
	while (ww_after_stream_count(gated->stage.service) != count)
		sched_yield();
}

/* By the thread of the case, which serves. */
static void serve_until_waits(struct gated *gated, uint32_t count)
{
	do
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(gated->stage.service, 0, NULL));
	while (ww_after_stream_count(gated->stage.service) != count);
}

/* The server finds the call, although it is not time yet to poll the timeline. */
CASE(service_stream_tells_of_value, GPU_STREAMS)
{
	ww_ticket *ticket;
	ENDED_BY(gated_end) struct gated gated;

	gated_begin(&gated, 1, 1);
	ticket = submit_after(&gated, 0, 1, 0);
	serve_until_waits(&gated, 1);
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(ticket, 0, NULL));
	gated_open(&gated);
	await_waits(&gated, 0);
	while (gated.stage.service->changes == gated.stage.service->changes_seen)
		sched_yield();
	gated.stage.service->after_look_ns = WW_NEVER;
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(gated.stage.service, 0, NULL));
	MUST_STATUS(WW_OK, ww_ticket_wait(ticket, 0, NULL));
	must_end(ticket, WW_OK);
}

/* A lane waits, by polling. */
static void serve_until_polled(struct gated *gated)
{
	do
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(gated->stage.service, 0, NULL));
	while (gated->stage.service->after_look_ns == WW_NEVER);
}

/* Neither without the option, nor for what is not submitted. */
CASE(service_stream_waits_for_what_is_submitted, GPU_STREAMS)
{
	struct gated gated;
	ww_ticket *ticket;

	for (uint32_t streams = 0; streams <= 1; streams++) {
		gated_begin(&gated, streams, 1);
		ticket = submit_after(&gated, 0, streams == 0 ? 1 : 2, 0);
		serve_until_polled(&gated);
		MUST_EQUAL(0, ww_after_stream_count(gated.stage.service));
		MUST_OK(ww_timeline_stream_signal(gated.timeline, gated.stream, 2));
		if (streams > 0)
			serve_until_waits(&gated, 1);
		gated_open(&gated);
		stage_start_thread(&gated.stage);
		must_end(ticket, WW_OK);
		gated_end(&gated);
	}
}

/* More lanes than streams: those that have none are found by polling. */
CASE(service_few_streams_wait_for_many_lanes, GPU_STREAMS)
{
	ww_ticket *tickets[LANES];
	ENDED_BY(gated_end) struct gated gated;

	gated_begin(&gated, WW_SERVICE_AFTER_STREAMS_MAX, LANES);
	stage_start_thread(&gated.stage);
	for (uint32_t i = 0; i < LANES; i++)
		tickets[i] = submit_after(&gated, i, i + 1, 0);
	await_waits(&gated, WW_SERVICE_AFTER_STREAMS_MAX);
	for (uint32_t i = 0; i < LANES; i++)
		MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[i], 0, NULL));
	gated_open(&gated);
	for (uint32_t i = 0; i < LANES; i++)
		must_end(tickets[i], WW_OK);
	await_waits(&gated, 0);
}

static void serve_until_ended(struct gated *gated, ww_ticket *ticket, ww_status status)
{
	ww_status found;

	do {
		(void)ww_service_serve(gated->stage.service, 0, NULL);
		found = ww_ticket_wait(ticket, 0, NULL);
	} while (found == WW_NOT_READY);
	must_end(ticket, status);
}

/* The calls end as without the option, and so does the service, though the value does not come. */
CASE(service_ends_while_a_stream_waits, GPU_STREAMS)
{
	struct gated gated;
	ww_ticket *chained;
	ww_ticket *ticket;

	gated_begin(&gated, 3, 1);
	ticket = submit_after(&gated, 0, 1, 0);
	MUST_OK(ww_client_submit(gated.stage.client, stage_find(gated.stage.client, "nop"), NULL, 0,
		SUBMIT(.flags = WW_SUBMIT_CHAIN), FOREVER, NULL, &chained));
	serve_until_waits(&gated, 1);
	ww_ticket_cancel(ticket);
	serve_until_ended(&gated, ticket, WW_CANCELLED);
	serve_until_ended(&gated, chained, WW_ERR_DEPENDENCY_FAILED);
	serve_until_ended(&gated, submit_after(&gated, 1, 1, SOON_NS), WW_TIMED_OUT);
	ticket = submit_after(&gated, 2, 1, 0);
	serve_until_waits(&gated, 3);
	MUST_OK(ww_service_drain(gated.stage.service));
	MUST_STATUS(WW_END, ww_service_serve(gated.stage.service, FOREVER, NULL));
	must_end(ticket, WW_ERR_UNAVAILABLE);
	stage_stop(&gated.stage);
	gated_open(&gated);
	gated_release(&gated);
	scene_end();
}

/* Another service of the process has its streams when those of the first have gone on. */
CASE(service_streams_of_a_process_are_few, GPU_STREAMS)
{
	ww_ticket *tickets[WW_SERVICE_AFTER_STREAMS_MAX];
	ENDED_BY(gated_end) struct gated gated;
	OWN(service) ww_service *other;
	ww_ticket *ticket;
	uint32_t nop;
	OWN(client) ww_client *client;

	gated_begin(&gated, WW_SERVICE_AFTER_STREAMS_MAX, 1);
	for (uint32_t i = 0; i < WW_SERVICE_AFTER_STREAMS_MAX; i++)
		tickets[i] = submit_after(&gated, i, 1, 0);
	serve_until_waits(&gated, WW_SERVICE_AFTER_STREAMS_MAX);
	MUST_OK(ww_service_create(scene.device, scene.broker, "other", SERVICE(.after_streams = 1),
		NULL, &other));
	service_offer_all(other, scene.device);
	MUST_OK(ww_client_open(scene.broker, "other", NULL, 0, NULL, &client));
	nop = stage_find(client, "nop");
	MUST_OK(ww_client_submit(client, nop, NULL, 0,
		SUBMIT(.after = gated.timeline, .after_value = 1), FOREVER, NULL, &ticket));
	do
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(other, 0, NULL));
	while (other->after_look_ns == WW_NEVER);
	MUST_EQUAL(0, ww_after_stream_count(other));
	gated_open(&gated);
	for (uint32_t i = 0; i < WW_SERVICE_AFTER_STREAMS_MAX; i++)
		serve_until_ended(&gated, tickets[i], WW_OK);
	while (ww_ticket_wait(ticket, 0, NULL) == WW_NOT_READY)
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(other, 0, NULL));
	must_end(ticket, WW_OK);
}

/* The signaller ends: the wait is over, and the call is not run. The stream can wait again. */
CASE(service_stream_waits_for_what_is_lost, GPU_STREAMS)
{
	struct gated gated;
	ww_ticket *ticket;

	for (uint32_t i = 0; i < 2; i++) {
		struct ww_signal_map *page;

		gated_begin(&gated, 1, 1);
		stage_start_thread(&gated.stage);
		ticket = submit_after(&gated, 0, 1, 0);
		await_waits(&gated, 1);
		page = gated.timeline->page;
		ww_signal_page_poison(page->header, page->cpu->bytes, (uint32_t)getpid(),
			"signaller", true);
		must_end(ticket, WW_ERR_DEPENDENCY_FAILED);
		await_waits(&gated, 0);
		gated_open(&gated);
		gated_end(&gated);
	}
}
