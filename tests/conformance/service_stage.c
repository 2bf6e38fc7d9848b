/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stage.c - a service and a client of it, see service_stage.h
 */
#include "conformance/service_stage.h"

#include <sched.h>
#include <string.h>

/*
 * What streams of the server have written is read by a client in the same process. The reply orders
 * both, and has an address in each of two mappings, which the thread sanitizer takes for two words.
 */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
	return "race:service_calls_with_memory\n"
	       "race:service_lane_is_in_order\n"
	       "race:service_returns_arrays\n"
	       "race:service_stream_waits_for_calls\n"
	       "race:service_call_starts_after_stream\n"
	       "race:builtin_alloc_ends_with_the_client\n"
	       "race:builtin_copy_copies\n"
	       "race:builtin_fill_fills\n"
	       "race:builtin_offsets_are_inside_the_array\n";
}

static void *serve(void *argument)
{
	struct stage *stage = argument;

	return (void *)(intptr_t)ww_service_serve(stage->service, FOREVER, stage->cancel);
}

void stage_start_thread(struct stage *stage)
{
	MUST(!pthread_create(&stage->threads[stage->thread_count++], NULL, serve, stage));
}

void stage_open(struct stage *stage, const struct ww_service_params *params)
{
	*stage = (struct stage){.thread_count = 0};
	scene_begin();
	MUST_OK(ww_cancel_create(&stage->cancel));
	MUST_OK(ww_service_create(scene.device, scene.broker, "s", params, NULL, &stage->service));
	service_offer_all(stage->service, scene.device);
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &stage->client));
}

void stage_begin(struct stage *stage, const struct ww_service_params *params)
{
	stage_open(stage, params);
	stage_start_thread(stage);
}

ww_client *stage_client(struct stage *stage)
{
	struct ww_token token;
	ww_client *client;

	MUST_OK(ww_service_export(stage->service, WW_ACCESS_WRITE,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_OK(ww_client_import(scene.broker, &token, NULL, NULL, &client));
	return client;
}

void stage_begin_builtin(struct stage *stage, const char *name,
	const struct ww_service_params *params)
{
	*stage = (struct stage){.thread_count = 0};
	scene_begin();
	MUST_OK(ww_cancel_create(&stage->cancel));
	MUST_OK(ww_service_create(scene.device, scene.broker, name, params, NULL, &stage->service));
	MUST_OK(ww_service_start(stage->service));
	stage_start_thread(stage);
	stage->client = stage_client(stage);
}

void stage_begin_with(struct stage *stage, uint64_t builtin)
{
	stage_begin_builtin(stage, "s", SERVICE(.builtin = builtin, .alloc_bytes_max = 2 * UNIT));
}

static void stage_join(struct stage *stage, ww_status expected)
{
	for (uint32_t i = 0; i < stage->thread_count; i++) {
		void *status;

		MUST(!pthread_join(stage->threads[i], &status));
		MUST_EQUAL(expected, (ww_status)(intptr_t)status);
	}
	stage->thread_count = 0;
}

void stage_stop(struct stage *stage)
{
	ww_client_unref(stage->client);
	ww_cancel_set(stage->cancel);
	stage_join(stage, WW_CANCELLED);
	ww_service_unref(stage->service);
	ww_cancel_unref(stage->cancel);
}

void stage_end(struct stage *stage)
{
	stage_stop(stage);
	scene_end();
}

void stage_has_clients(struct stage *stage, uint32_t count)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(stage->service, &info));
		sched_yield();
	} while (info.clients != count);
}

uint32_t stage_find(ww_client *client, const char *name)
{
	uint32_t function;

	MUST_OK(ww_client_find(client, name, NULL, 0, NULL, &function));
	return function;
}

ww_ticket *stage_submit(struct stage *stage, const char *name, const struct ww_value *values,
	uint32_t count)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(stage->client, stage_find(stage->client, name), values, count,
		NULL, FOREVER, NULL, &ticket));
	return ticket;
}

ww_ticket *stage_call(struct stage *stage, const char *name, const struct ww_value *values,
	uint32_t count)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_call(stage->client, stage_find(stage->client, name), values, count, NULL,
		FOREVER, NULL, &ticket));
	return ticket;
}

void stage_wait_started(ww_ticket *ticket)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	while (!info.has_started)
		MUST_OK(ww_ticket_info_get(ticket, &info));
}

ww_status stage_try(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count, ww_ticket **out_ticket)
{
	return ww_client_call(client, stage_find(client, name), values, count, NULL, FOREVER, NULL,
		out_ticket);
}

ww_ticket *stage_call_by(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count)
{
	ww_ticket *ticket;

	MUST_OK(stage_try(client, name, values, count, &ticket));
	return ticket;
}

/* --- values --- */

struct ww_value value_u32(uint32_t value)
{
	struct ww_value made = value_u64(value);

	made.dtype.bits = 32;
	return made;
}

struct ww_value value_true(void)
{
	struct ww_value made = value_u64(1);

	made.dtype = (struct ww_dtype){WW_DTYPE_BOOL, 8, 1};
	return made;
}

struct ww_value value_text(const char *text)
{
	return value_bytes(text, strlen(text));
}

struct ww_value value_none(void)
{
	return (struct ww_value){.kind = WW_ARGUMENT_NONE};
}
