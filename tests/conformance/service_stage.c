/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_stage.c - a service with built-in functions, see service_stage.h
 */
#include "conformance/service_stage.h"

#include <sched.h>
#include <string.h>

static void *serve(void *argument)
{
	struct stage *stage = argument;

	return (void *)(intptr_t)ww_service_serve(stage->service, FOREVER, stage->cancel);
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

void stage_begin(struct stage *stage, const char *name, const struct ww_service_params *params)
{
	scene_begin();
	MUST_OK(ww_cancel_create(&stage->cancel));
	MUST_OK(ww_service_create(scene.device, scene.broker, name, params, NULL, &stage->service));
	MUST_OK(ww_service_start(stage->service));
	MUST(!pthread_create(&stage->thread, NULL, serve, stage));
	stage->client = stage_client(stage);
}

void stage_begin_with(struct stage *stage, uint64_t builtin)
{
	stage_begin(stage, "s", SERVICE(.builtin = builtin, .alloc_bytes_max = 2 * UNIT));
}

void stage_stop(struct stage *stage)
{
	void *status;

	ww_client_unref(stage->client);
	ww_cancel_set(stage->cancel);
	MUST(!pthread_join(stage->thread, &status));
	MUST_EQUAL(WW_CANCELLED, (ww_status)(intptr_t)status);
	ww_service_unref(stage->service);
	ww_cancel_unref(stage->cancel);
}

void stage_end(struct stage *stage)
{
	stage_stop(stage);
	scene_has_objects(0);
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

ww_status stage_try(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count, ww_ticket **out_ticket)
{
	uint32_t function;

	MUST_OK(ww_client_find(client, name, NULL, 0, NULL, &function));
	return ww_client_call(client, function, values, count, NULL, FOREVER, NULL, out_ticket);
}

ww_ticket *stage_call(ww_client *client, const char *name, const struct ww_value *values,
	uint32_t count)
{
	ww_ticket *ticket;

	MUST_OK(stage_try(client, name, values, count, &ticket));
	return ticket;
}

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
