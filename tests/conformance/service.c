/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - calls between the server and clients of one process
 *
 * A thread serves, and the case calls. That processes do the same, and what happens when they end,
 * is seen in tests/integration.
 */
#include <string.h>
#include <unistd.h>

#include "conformance/service_stage.h"
#include "support/readable.h"

#define BYTES 4096

/* --- making and opening --- */

SCENE_CASE(service_create_refuses, NO_DEVICE)
{
	ww_service *service;

	MUST_REFUSE(WW_ERR_INVALID, "power of two",
		ww_service_create(scene.device, scene.broker, "s", SERVICE(.calls_max = 3), NULL,
			&service));
	MUST_REFUSE(WW_ERR_INVALID, "1024",
		ww_service_create(scene.device, scene.broker, "s", SERVICE(.calls_max = 2048), NULL,
			&service));
	MUST_REFUSE(WW_ERR_INVALID, "4096",
		ww_service_create(scene.device, scene.broker, "s", SERVICE(.clients_max = 4097),
			NULL, &service));
	MUST(!service);
}

static ww_status nothing(void *context, ww_call *one)
{
	(void)context;
	(void)one;
	return WW_OK;
}

/* Whether it may be written or not. */
CASE(service_open_refuses_other_objects, SERVICES)
{
	static const char *const names[] = {"sealed", "shared"};
	const uint32_t states[] = {WW_STATE_SEALED, WW_STATE_SHARED};
	ww_client *client;
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, NULL);
	for (uint32_t i = 0; i < 2; i++) {
		ww_memory *memory = scene_make(BYTES, 1);

		scene_put(memory, names[i], 0600, WW_LIFE_HELD, states[i]);
		MUST_REFUSE(WW_ERR_UNSUPPORTED, "kind memory",
			ww_client_open(scene.broker, names[i], NULL, 0, NULL, &client));
		MUST(!client);
		MUST_REFUSE(WW_ERR_UNSUPPORTED, "kind memory",
			ww_client_open(scene.broker, names[i],
				WW_PARAMS(struct ww_client_params, .flags = WW_CLIENT_OBSERVE), 0,
				NULL, &client));
		ww_memory_unref(memory);
	}
}

SCENE_CASE(service_open_says_what_did_not_come, SERVICES | NO_DEVICE)
{
	ww_client *client;

	MUST_REFUSE(WW_ERR_NOT_FOUND, "absent",
		ww_client_open(scene.broker, "absent", NULL, 0, NULL, &client));
	MUST_REFUSE(WW_TIMED_OUT, "no service of that name came within 2 ms; start its server",
		ww_client_open(scene.broker, "absent", NULL, 2000000, NULL, &client));
	MUST_REFUSE(WW_TIMED_OUT, "'absent'",
		ww_client_open(scene.broker, "absent", NULL, 1, NULL, &client));
	MUST(!client);
}

/* A function may fail as if its server had ended: that is its answer. */
STAGE_CASE(service_answer_is_not_repeated, SERVICES | NO_DEVICE)
{
	const struct ww_value value = value_i32(WW_ERR_PEER_LOST);
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	OWN(ticket) ww_ticket *ticket;

	MUST_STATUS(WW_ERR_PEER_LOST,
		ww_client_call(stage->client, stage_find(stage->client, "fail"), &value, 1,
			WW_PARAMS(struct ww_submit_params, .flags = WW_SUBMIT_REPEAT), FOREVER,
			NULL, &ticket));
	MUST_OK(ww_service_info_get(stage->service, &info));
	MUST_EQUAL(1, info.calls);
}

/* A caller that waits for nothing learns that the function may come yet. */
SCENE_CASE(service_find_while_it_starts, SERVICES | NO_DEVICE)
{
	OWN(service) ww_service *service;
	OWN(client) ww_client *client;
	uint32_t found;

	MUST_OK(ww_service_create(scene.device, scene.broker, "s", NULL, NULL, &service));
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &client));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no function 'late' yet, as it is still starting",
		ww_client_find(client, "late", NULL, 0, NULL, &found));
	MUST_OK(ww_service_start(service));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no function 'late'; see `warpway functions`",
		ww_client_find(client, "late", NULL, 0, NULL, &found));
}

CASE(service_offer_refuses, SERVICES | NO_DEVICE)
{
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, SERVICE(.functions_max = 10));
	MUST_REFUSE(WW_ERR_EXISTS, "'add'",
		ww_service_offer(stage.service, "add", "", nothing, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "NULL",
		ww_service_offer(stage.service, NULL, "", nothing, NULL, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "no name of a function",
		ww_service_offer(stage.service, "a b", "", nothing, NULL, NULL));
	MUST_STATUS(WW_ERR_INVALID,
		ww_service_offer(stage.service, "x", "f33 x", nothing, NULL, NULL));
	MUST_REFUSE(WW_ERR_LIMIT, "functions_max",
		ww_service_offer(stage.service, "x", "", nothing, NULL, NULL));
}

CASE(service_tells_what_it_offers, SERVICES | NO_DEVICE)
{
	struct ww_function_info function = WW_INIT(struct ww_function_info);
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	uint32_t found;
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, SERVICE(.version = "2.1"));
	MUST_OK(ww_client_service_info_get(stage.client, &info));
	MUST_EQUAL(WW_SERVICE_READY, info.state);
	MUST_EQUAL(10, info.functions);
	MUST(!strcmp(info.version, "2.1"));
	MUST_OK(ww_client_function_info_get(stage.client, 1, &function));
	MUST(!strcmp(function.name, "add"));
	MUST(!strcmp(function.signature, "i64 a, i64 b = 10 -> i64 sum"));
	MUST_STATUS(WW_END, ww_client_function_info_get(stage.client, 10, &function));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'sub'",
		ww_client_find(stage.client, "sub", NULL, 0, NULL, &found));
	MUST_REFUSE(WW_ERR_MISMATCH, "i64 a, i64 b = 10 -> i64 sum",
		ww_client_find(stage.client, "add", "i64 a -> i64 sum", 0, NULL, &found));
	MUST_OK(ww_client_find(stage.client, "add", "i64 a,i64 b=10->i64 sum", 0, NULL, &found));
}

CASE(service_observer_sees_and_cannot_call, SERVICES | NO_DEVICE)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);
	ENDED_BY(stage_end) struct stage stage;
	OWN(client) ww_client *observer;

	stage_open(&stage, SERVICE(.mode = 0600));
	MUST_OK(ww_client_open(scene.broker, "s",
		WW_PARAMS(struct ww_client_params, .flags = WW_CLIENT_OBSERVE), 0, NULL,
		&observer));
	MUST_OK(ww_client_service_info_get(observer, &info));
	MUST_OK(ww_client_wait_ready(observer, 0, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "observes",
		ww_client_submit(observer, stage_find(observer, "nop"), NULL, 0, NULL, 0, NULL,
			NULL));
}

STAGE_CASE(service_opens_by_token, SERVICES | NO_DEVICE)
{
	const struct ww_value values[] = {value_i64(2), value_i64(3)};
	const struct ww_token_params *no_escrow = WW_PARAMS(struct ww_token_params,
		.escrow_ns = WW_ESCROW_NONE);
	struct ww_token reading;
	struct ww_token token;
	ww_client *client;

	MUST_OK(ww_service_export(stage->service, WW_ACCESS_WRITE, no_escrow, NULL, &token));
	MUST_OK(ww_service_export(stage->service, WW_ACCESS_READ, no_escrow, NULL, &reading));
	MUST_STATUS(WW_ERR_ACCESS, ww_client_import(scene.broker, &reading, NULL, NULL, &client));
	ww_client_unref(stage->client);
	MUST_OK(ww_client_import(scene.broker, &token, NULL, NULL, &stage->client));
	ww_ticket_unref(stage_call(stage, "add", values, 2));
}

/* --- calls --- */

STAGE_CASE(service_calls_with_scalars_and_bytes, SERVICES | NO_DEVICE)
{
	const struct ww_value values[] = {value_i64(-2), value_i64(44)};
	const struct ww_value data = value_bytes("warpway", 7);
	struct ww_value value;
	OWN(ticket) ww_ticket *ticket;

	ww_ticket_unref(stage_call(stage, "nop", NULL, 0));
	ticket = stage_call(stage, "add", values, 2);
	MUST_EQUAL(42, result_scalar(ticket, 0));
	MUST_STATUS(WW_END, ww_ticket_result(ticket, 1, &value));
	ww_ticket_unref(ticket);
	ticket = stage_call(stage, "add", values, 1);
	MUST_EQUAL(8, result_scalar(ticket, 0));
	ww_ticket_unref(ticket);
	ticket = stage_call(stage, "echo", &data, 1);
	MUST_OK(ww_ticket_result(ticket, 0, &value));
	MUST_EQUAL(7, value.bytes);
	MUST(!memcmp(value.data, "warpway", 7));
}

STAGE_CASE(service_calls_with_memory, SERVICES)
{
	struct ww_value values[2];
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	uint8_t bytes[BYTES];

	memory = scene_make(BYTES, 1);
	values[0] = value_memory(memory);
	values[1] = value_u8(7);
	ww_ticket_unref(stage_call(stage, "fill", values, 2));
	memory_get(memory, 0, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		MUST_EQUAL(7, bytes[i]);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	values[0] = value_token(&token);
	values[1] = value_u64(BYTES - 1);
	ww_ticket_unref(stage_call(stage, "mark", values, 2));
	MUST(service_marks_made() > 0);
	memory_get(memory, 0, bytes, sizeof(bytes));
	MUST_EQUAL(8, bytes[BYTES - 1]);
}

/* Calls of one lane whose work is on a stream: the last one's value stays. */
STAGE_CASE(service_lane_is_in_order, SERVICES)
{
	struct ww_value values[2];
	ww_ticket *tickets[32];
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	uint8_t byte;

	memory = scene_make(BYTES, 1);
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	values[0] = value_token(&token);
	for (uint8_t i = 0; i < 32; i++) {
		values[1] = value_u8(i);
		tickets[i] = stage_submit(stage, "fill", values, 2);
	}
	for (uint32_t i = 32; i-- > 0;) {
		MUST_OK(ww_ticket_wait(tickets[i], FOREVER, NULL));
		ww_ticket_unref(tickets[i]);
	}
	memory_get(memory, BYTES - 1, &byte, 1);
	MUST_EQUAL(31, byte);
}

STAGE_CASE(service_returns_arrays, SERVICES)
{
	const struct ww_value values[] = {value_u64(BYTES), value_u8(9)};
	struct ww_value result;
	OWN(memory) ww_memory *memory;
	ww_ticket *ticket;
	uint8_t byte;

	ticket = stage_call(stage, "make", values, 2);
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(WW_ARGUMENT_ARRAY, result.kind);
	MUST_OK(ww_memory_import(scene.device, scene.broker, result.token, NULL, NULL, &memory,
		NULL));
	ww_ticket_unref(ticket);
	memory_get(memory, BYTES - 1, &byte, 1);
	MUST_EQUAL(9, byte);
}

/* What a client has not taken is limited, and is released with its ticket. */
CASE(service_limits_arrays_of_a_client, SERVICES)
{
	const struct ww_value values[] = {value_u64(1), value_u8(9)};
	ww_ticket *first;
	ww_ticket *second;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin(&stage, SERVICE(.memory_bytes_max = UINT64_C(3) << 20));
	first = stage_call(&stage, "make", values, 2);
	MUST_REFUSE(WW_ERR_QUOTA, "memory_bytes_max",
		ww_client_call(stage.client, stage_find(stage.client, "make"), values, 2, NULL,
			FOREVER, NULL, &second));
	ww_ticket_unref(first);
	ww_ticket_unref(stage_call(&stage, "make", values, 2));
}

STAGE_CASE(service_failures_reach_the_client, SERVICES | NO_DEVICE)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	const struct ww_value wrong = value_u8(1);
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_ticket *ticket;

	ticket = stage_submit(stage, "fail", &status, 1);
	MUST_REFUSE(WW_ERR_EXISTS, "failed as it was told", ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST(info.has_ended && info.has_started);
	MUST_EQUAL(WW_ERR_EXISTS, info.status);
	ww_ticket_unref(ticket);
	MUST_REFUSE(WW_ERR_MISMATCH, "status",
		ww_client_submit(stage->client, stage_find(stage->client, "fail"), &wrong, 1, NULL,
			0, NULL, &ticket));
	MUST_STATUS(WW_ERR_INVALID,
		ww_client_submit(stage->client, 99, NULL, 0, NULL, 0, NULL, &ticket));
}

STAGE_CASE(service_gives_caller, SERVICES | NO_DEVICE)
{
	OWN(ticket) ww_ticket *ticket;

	ww_ticket_unref(stage_call(stage, "nop", NULL, 0));
	ticket = stage_call(stage, "who", NULL, 0);
	MUST_EQUAL(geteuid(), result_scalar(ticket, 0));
	MUST_EQUAL((uint32_t)getpid(), result_scalar(ticket, 1));
	MUST_EQUAL(2, result_scalar(ticket, 2));
}

CASE(service_limits_function_to_users, SERVICES | NO_DEVICE)
{
	const uint32_t others[] = {geteuid() + 1};
	const uint32_t ours[] = {geteuid()};
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, NULL);
	MUST_OK(ww_service_offer(stage.service, "theirs", "", nothing, NULL,
		WW_PARAMS(struct ww_function_params, .uids = others, .uid_count = 1)));
	MUST_OK(ww_service_offer(stage.service, "ours", "", nothing, NULL,
		WW_PARAMS(struct ww_function_params, .uids = ours, .uid_count = 1)));
	stage_start_thread(&stage);
	ww_ticket_unref(stage_call(&stage, "ours", NULL, 0));
	MUST_REFUSE(WW_ERR_ACCESS, "'theirs'",
		ww_client_call(stage.client, stage_find(stage.client, "theirs"), NULL, 0, NULL,
			FOREVER, NULL, NULL));
}

/* --- time, cancelling, room --- */

STAGE_CASE(service_queued_call_is_cancelled, SERVICES | NO_DEVICE)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	OWN(ticket) ww_ticket *running;
	OWN(ticket) ww_ticket *queued;

	running = stage_submit(stage, "hold", NULL, 0);
	queued = stage_submit(stage, "nop", NULL, 0);
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(queued, 0, NULL));
	ww_ticket_cancel(queued);
	stage_wait_started(running);
	ww_ticket_cancel(running);
	MUST_REFUSE(WW_ERR_GIVEN_UP, "cancelled while it ran",
		ww_ticket_wait(running, FOREVER, NULL));
	MUST_STATUS(WW_CANCELLED, ww_ticket_wait(queued, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(queued, &info));
	MUST(info.has_ended && !info.has_started);
}

CASE(service_late_call_is_not_started, SERVICES | NO_DEVICE)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *ticket;

	stage_open(&stage, NULL);
	MUST_OK(ww_client_submit(stage.client, stage_find(stage.client, "nop"), NULL, 0,
		SUBMIT(.deadline_ns = 1), 0, NULL, &ticket));
	stage_start_thread(&stage);
	MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST(!info.has_started);
}

/* On a slow machine the call is not started in time: then it gets more time. */
STAGE_CASE(service_running_call_sees_its_deadline, SERVICES | NO_DEVICE)
{
	uint64_t deadline_ns = UINT64_C(50000000);
	ww_ticket *ticket;
	ww_status status;

	do {
		MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "hold"), NULL, 0,
			SUBMIT(.deadline_ns = deadline_ns), FOREVER, NULL, &ticket));
		status = ww_ticket_wait(ticket, FOREVER, NULL);
		ww_ticket_unref(ticket);
		deadline_ns *= 2;
	} while (status == WW_TIMED_OUT);
	MUST_STATUS(WW_ERR_GIVEN_UP, status);
}

CASE(service_full_ring_times_out, SERVICES | NO_DEVICE)
{
	ww_ticket *tickets[4];
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *fifth;

	stage_open(&stage, SERVICE(.calls_max = 4));
	for (int i = 0; i < 4; i++)
		tickets[i] = stage_submit(&stage, "nop", NULL, 0);
	MUST_REFUSE(WW_TIMED_OUT,
		"the call of 'nop' was not made: there was no room in time beside 4",
		ww_client_submit(stage.client, stage_find(stage.client, "nop"), NULL, 0, NULL, 0,
			NULL, &fifth));
	stage_start_thread(&stage);
	fifth = stage_submit(&stage, "nop", NULL, 0);
	for (int i = 0; i < 4; i++) {
		MUST_OK(ww_ticket_wait(tickets[i], FOREVER, NULL));
		ww_ticket_unref(tickets[i]);
	}
	MUST_OK(ww_ticket_wait(fifth, FOREVER, NULL));
}

/* Arguments fill their area before the slots are used up. */
CASE(service_full_area_waits, SERVICES | NO_DEVICE)
{
	static const uint8_t data[WW_CALL_BYTES_MAX] = {1};
	const struct ww_value value = value_bytes(data, sizeof(data));
	ww_ticket *tickets[40];
	ENDED_BY(stage_end) struct stage stage;

	stage_begin(&stage, SERVICE(.arguments_bytes = 20000, .results_bytes = 20000));
	for (int i = 0; i < 40; i++)
		tickets[i] = stage_submit(&stage, "echo", &value, 1);
	for (int i = 0; i < 40; i++) {
		struct ww_value same;

		MUST_OK(ww_ticket_wait(tickets[i], FOREVER, NULL));
		MUST_OK(ww_ticket_result(tickets[i], 0, &same));
		MUST(same.bytes == sizeof(data) && !memcmp(same.data, data, sizeof(data)));
		ww_ticket_unref(tickets[i]);
	}
}

CASE(service_refuses_what_is_larger_than_its_area, SERVICES | NO_DEVICE)
{
	static const uint8_t data[WW_CALL_BYTES_MAX] = {1};
	const struct ww_value value = value_bytes(data, sizeof(data));
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	stage_open(&stage, SERVICE(.arguments_bytes = 1024));
	MUST_REFUSE(WW_ERR_LIMIT, "arguments_bytes",
		ww_client_submit(stage.client, stage_find(stage.client, "echo"), &value, 1, NULL, 0,
			NULL, &ticket));
}

STAGE_CASE(service_failed_dependency_ends_what_depends, SERVICES | NO_DEVICE)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_ticket *tickets[3];

	tickets[0] = stage_submit(stage, "fail", &status, 1);
	for (uint32_t i = 1; i < 3; i++)
		MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0,
			SUBMIT(.lane = i, .depends_on = i), FOREVER, NULL, &tickets[i]));
	MUST_STATUS(WW_ERR_EXISTS, ww_ticket_wait(tickets[0], FOREVER, NULL));
	for (uint32_t i = 1; i < 3; i++) {
		MUST_STATUS(WW_ERR_DEPENDENCY_FAILED, ww_ticket_wait(tickets[i], FOREVER, NULL));
		MUST_OK(ww_ticket_info_get(tickets[i], &info));
		MUST_EQUAL(1, info.failed_call);
		MUST(!info.has_started);
	}
	for (int i = 0; i < 3; i++)
		ww_ticket_unref(tickets[i]);
}

/* However many calls have ended since, a call that failed is known to those that depend on it. */
STAGE_CASE(service_remembers_failure_for_queued_dependent, SERVICES | NO_DEVICE)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	OWN(ticket) ww_ticket *failed;
	OWN(ticket) ww_ticket *held;
	OWN(ticket) ww_ticket *dependent;
	ww_ticket *ticket;
	uint32_t nop;

	stage_start_thread(stage);
	nop = stage_find(stage->client, "nop");
	failed = stage_submit(stage, "fail", &status, 1);
	MUST_STATUS(WW_ERR_EXISTS, ww_ticket_wait(failed, FOREVER, NULL));
	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "hold"), NULL, 0,
		SUBMIT(.lane = 1), FOREVER, NULL, &held));
	MUST_OK(ww_client_submit(stage->client, nop, NULL, 0, SUBMIT(.lane = 1, .depends_on = 1),
		FOREVER, NULL, &dependent));
	for (uint32_t i = 0; i < WW_SERVICE_DEPENDS_MAX; i++)
		ww_ticket_unref(stage_call(stage, "nop", NULL, 0));
	MUST_REFUSE(WW_ERR_INVALID, "wait for its ticket",
		ww_client_submit(stage->client, nop, NULL, 0, SUBMIT(.depends_on = 1), FOREVER,
			NULL, &ticket));
	ww_ticket_cancel(held);
	MUST_STATUS(WW_ERR_GIVEN_UP, ww_ticket_wait(held, FOREVER, NULL));
	MUST_STATUS(WW_ERR_DEPENDENCY_FAILED, ww_ticket_wait(dependent, FOREVER, NULL));
}

/* A stream of the client goes on when the value of a call is reached, and nobody waits for it. */
STAGE_CASE(service_stream_waits_for_calls, SERVICES)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	struct ww_value values[2];
	OWN(timeline) ww_timeline *timeline;
	ww_ticket *tickets[3];
	OWN(memory) ww_memory *memory;
	OWN(stream) ww_stream *stream;
	OWN(memory) ww_memory *copy;
	uint8_t byte;

	stream = stream_make(scene.device);
	memory = scene_make(BYTES, 1);
	copy = scene_make(BYTES, 2);
	MUST_OK(ww_client_lane_timeline(stage->client, 0, FOREVER, NULL, &timeline));
	values[0] = value_memory(memory);
	for (uint8_t i = 0; i < 3; i++) {
		values[1] = value_u8(i + 5);
		tickets[i] = stage_submit(stage, "fill", values, 2);
	}
	MUST_OK(ww_ticket_info_get(tickets[2], &info));
	MUST_EQUAL(4, info.value); /* the first call was that for the timeline */
	MUST_OK(ww_timeline_stream_wait(timeline, stream, info.value, 0, FOREVER, NULL));
	MUST_OK(ww_stream_copy(stream, ww_memory_pointer(copy), ww_memory_pointer(memory), BYTES));
	MUST_OK(ww_stream_synchronize(stream, FOREVER, NULL));
	memory_get(copy, BYTES - 1, &byte, 1);
	MUST_EQUAL(7, byte);
	for (int i = 0; i < 3; i++)
		ww_ticket_unref(tickets[i]);
}

/* Also a call that is not run, or fails, raises the timeline. */
STAGE_CASE(service_value_of_every_call_is_reached, SERVICES)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	OWN(timeline) ww_timeline *timeline;
	OWN(ticket) ww_ticket *late;

	MUST_OK(ww_client_lane_timeline(stage->client, 3, FOREVER, NULL, &timeline));
	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "fail"), &status, 1,
		SUBMIT(.lane = 3), 0, NULL, NULL));
	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, "nop"), NULL, 0,
		SUBMIT(.lane = 3, .deadline_ns = 1), 0, NULL, &late));
	MUST_OK(ww_ticket_info_get(late, &info));
	MUST_EQUAL(3, info.value);
	MUST_OK(ww_timeline_wait(timeline, info.value, FOREVER, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_ticket_wait(late, FOREVER, NULL));
}

/* Lanes do not wait for each other; two threads run both. */
STAGE_CASE(service_lanes_run_beside_each_other, SERVICES | NO_DEVICE)
{
	OWN(ticket) ww_ticket *running;

	stage_start_thread(stage);
	running = stage_submit(stage, "hold", NULL, 0);
	MUST_OK(ww_client_call(stage->client, stage_find(stage->client, "nop"), NULL, 0,
		SUBMIT(.lane = 1), FOREVER, NULL, NULL));
	ww_ticket_cancel(running);
	MUST_STATUS(WW_ERR_GIVEN_UP, ww_ticket_wait(running, FOREVER, NULL));
}

/* --- the end --- */

CASE(service_descriptor_shows_calls, SERVICES | NO_DEVICE)
{
	struct stage stage;
	ww_ticket *ticket;
	OWN(fd) int fd;

	stage_open(&stage, NULL);
	MUST_OK(ww_service_eventfd(stage.service, &fd));
	MUST(becomes_readable(fd)); /* the client has come */
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	MUST(!is_readable(fd));
	for (int i = 0; i < 100; i++) {
		ticket = stage_submit(&stage, "nop", NULL, 0);
		MUST(becomes_readable(fd));
		MUST_STATUS(WW_NOT_READY, ww_ticket_wait(ticket, 0, NULL));
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
		MUST(!is_readable(fd));
		MUST_OK(ww_ticket_wait(ticket, 0, NULL));
		ww_ticket_unref(ticket);
	}
	MUST_OK(ww_service_drain(stage.service));
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_END, ww_service_serve(stage.service, 0, NULL));
	stage_end(&stage);
	MUST(is_readable(fd)); /* for ever */
}

/* The call's function has returned, and its work on a stream ends the call later. */
CASE(service_descriptor_shows_end_of_work, SERVICES)
{
	struct ww_value values[2];
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	OWN(ticket) ww_ticket *ticket;
	OWN(fd) int fd;

	stage_open(&stage, NULL);
	memory = scene_make(BYTES, 1);
	MUST_OK(ww_service_eventfd(stage.service, &fd));
	values[0] = value_memory(memory);
	values[1] = value_u8(7);
	ticket = stage_submit(&stage, "fill", values, 2);
	while (ww_ticket_wait(ticket, 0, NULL) == WW_NOT_READY) {
		MUST(becomes_readable(fd));
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	}
	MUST_OK(ww_ticket_wait(ticket, 0, NULL));
}

static int ticket_fd(ww_ticket *ticket)
{
	int fd;

	MUST_OK(ww_ticket_eventfd(ticket, &fd));
	return fd;
}

/* Of two calls in flight, one that is cancelled, one whose ticket is released, and the last. */
CASE(ticket_descriptor_shows_end, SERVICES | NO_DEVICE)
{
	struct stage stage;
	ww_ticket *tickets[4];
	int fds[4];
	int late;

	stage_open(&stage, NULL);
	for (int i = 0; i < 3; i++) {
		tickets[i] = stage_submit(&stage, "nop", NULL, 0);
		fds[i] = ticket_fd(tickets[i]);
	}
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[0], 0, NULL));
	ww_ticket_cancel(tickets[1]);
	for (int i = 0; i < 3; i++)
		MUST(!is_readable(fds[i]));
	ww_ticket_unref(tickets[2]);
	MUST(is_readable(fds[2]));
	while (ww_ticket_wait(tickets[0], 0, NULL) == WW_NOT_READY)
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	MUST(becomes_readable(fds[1]));
	MUST_STATUS(WW_CANCELLED, ww_ticket_wait(tickets[1], 0, NULL));
	late = ticket_fd(tickets[0]);
	MUST(is_readable(late));
	close(late);
	tickets[3] = stage_submit(&stage, "nop", NULL, 0);
	fds[3] = ticket_fd(tickets[3]);
	ww_ticket_unref(tickets[0]);
	ww_ticket_unref(tickets[1]);
	for (int i = 0; i < 4; i++)
		MUST_EQUAL(i < 3, is_readable(fds[i]));
	stage.service = ww_service_unref(stage.service);
	MUST(becomes_readable(fds[3]));
	MUST_REFUSE(WW_ERR_UNAVAILABLE, "closed", ww_ticket_wait(tickets[3], 0, NULL));
	ww_ticket_unref(tickets[3]);
	stage_end(&stage);
	for (int i = 0; i < 4; i++) {
		MUST(is_readable(fds[i]));
		close(fds[i]);
	}
}

/* Of calls in several lanes, some are waited for, and the others only polled. */
STAGE_CASE(ticket_descriptor_misses_nothing, SERVICES | NO_DEVICE)
{
	uint32_t nop = stage_find(stage->client, "nop");
	ww_ticket *tickets[8];
	int fds[8];

	stage_start_thread(stage);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			MUST_OK(ww_client_submit(stage->client, nop, NULL, 0, SUBMIT(.lane = i),
				FOREVER, NULL, &tickets[i]));
			fds[i] = ticket_fd(tickets[i]);
		}
		MUST_OK(ww_ticket_wait(tickets[round % 8], FOREVER, NULL));
		for (uint32_t i = 0; i < 8; i++) {
			MUST(becomes_readable(fds[i]));
			MUST_OK(ww_ticket_wait(tickets[i], 0, NULL));
			ww_ticket_unref(tickets[i]);
			close(fds[i]);
		}
	}
}

CASE(service_drains, SERVICES | NO_DEVICE)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *before;
	ww_ticket *after;

	stage_open(&stage, NULL);
	before = stage_submit(&stage, "nop", NULL, 0);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(stage.service, 0, NULL));
	MUST_OK(ww_ticket_wait(before, 0, NULL));
	ww_ticket_unref(before);
	before = stage_submit(&stage, "nop", NULL, 0);
	MUST_OK(ww_service_drain(stage.service));
	MUST_STATUS(WW_ERR_UNAVAILABLE,
		ww_client_submit(stage.client, stage_find(stage.client, "nop"), NULL, 0, NULL, 0,
			NULL, &after));
	MUST_STATUS(WW_ERR_UNAVAILABLE, ww_client_wait_ready(stage.client, 0, NULL));
	MUST_STATUS(WW_END, ww_service_serve(stage.service, FOREVER, NULL));
	MUST_OK(ww_ticket_wait(before, 0, NULL));
}

/* Calls that were not started have the reason. */
CASE(service_closed_ends_calls, SERVICES | NO_DEVICE)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *ticket;

	stage_open(&stage, NULL);
	ticket = stage_submit(&stage, "nop", NULL, 0);
	stage.service = ww_service_unref(stage.service);
	MUST_REFUSE(WW_ERR_UNAVAILABLE, "closed", ww_ticket_wait(ticket, FOREVER, NULL));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST(!info.has_started);
}

STAGE_CASE(service_counts_calls, SERVICES | NO_DEVICE)
{
	const struct ww_value status = value_i32(WW_ERR_EXISTS);
	struct ww_function_info info = WW_INIT(struct ww_function_info);
	ww_ticket *ticket;
	uint64_t runs = 0;

	ticket = stage_submit(stage, "fail", &status, 1);
	MUST_STATUS(WW_ERR_EXISTS, ww_ticket_wait(ticket, FOREVER, NULL));
	ww_ticket_unref(ticket);
	MUST_OK(ww_client_function_info_get(stage->client, stage_find(stage->client, "fail"),
		&info));
	MUST_EQUAL(1, info.calls);
	MUST_EQUAL(1, info.failed);
	MUST_EQUAL(0, info.not_started);
	for (uint32_t i = 0; i < WW_SERVICE_LATENCIES; i++)
		runs += info.latency[i];
	MUST_EQUAL(1, runs);
}
