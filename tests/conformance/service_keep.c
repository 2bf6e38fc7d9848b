/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_keep.c - memories that a server keeps after the calls that had them as arguments
 */
#include "conformance/pool.h"
#include "conformance/service_stage.h"

static void export(ww_memory *memory, struct ww_token *out_token)
{
	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, out_token));
}

/* A memory that a call has filled, which nobody has any more but perhaps the server. */
static void use_memory(struct stage *stage, struct ww_token *out_token)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);
	const struct ww_value values[] = {value_token(out_token), value_u8(9)};

	export(memory, out_token);
	ww_ticket_unref(stage_call(stage, "fill", values, 2));
}

static ww_status look(const struct ww_token *token)
{
	ww_object *object;
	ww_status status = ww_object_import(scene.broker, token, NULL, &object, NULL);

	if (status == WW_OK)
		ww_object_unref(object);
	return status;
}

STAGE_CASE(service_releases_memory_after_call, SERVICES)
{
	struct ww_token token;

	use_memory(stage, &token);
	MUST_STATUS(WW_ERR_NOT_FOUND, look(&token));
}

CASE(service_keeps_memories_of_last_calls, SERVICES)
{
	struct ww_token tokens[WW_SERVICE_KEEP_MEMORIES + 1];
	ww_client *other;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin(&stage, SERVICE(.keep_ns = WW_FOREVER));
	for (int i = 0; i < WW_SERVICE_KEEP_MEMORIES; i++)
		use_memory(&stage, &tokens[i]);
	MUST_OK(look(&tokens[0]));
	use_memory(&stage, &tokens[WW_SERVICE_KEEP_MEMORIES]);
	MUST_STATUS(WW_ERR_NOT_FOUND, look(&tokens[0]));
	for (int i = 1; i <= WW_SERVICE_KEEP_MEMORIES; i++)
		MUST_OK(look(&tokens[i]));

	/* They are released with the client. */
	other = stage_client(&stage);
	stage_has_clients(&stage, 2);
	ww_client_unref(stage.client);
	stage.client = other;
	stage_has_clients(&stage, 1);
	for (int i = 1; i <= WW_SERVICE_KEEP_MEMORIES; i++)
		MUST_STATUS(WW_ERR_NOT_FOUND, look(&tokens[i]));
}

CASE(service_keeps_memory_for_a_while, SERVICES)
{
	struct ww_token token;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin(&stage, SERVICE(.keep_ns = 1));
	use_memory(&stage, &token);
	while (look(&token) != WW_ERR_NOT_FOUND)
		;
}

CASE(service_releases_kept_memories_at_its_end, SERVICES)
{
	struct ww_token token;
	struct stage stage;

	stage_begin(&stage, SERVICE(.keep_ns = WW_FOREVER));
	use_memory(&stage, &token);
	MUST_OK(look(&token));
	stage_stop(&stage);
	MUST_STATUS(WW_ERR_NOT_FOUND, look(&token));
	scene_end();
}

/* What is kept gives no rights to a token that was revoked. */
CASE(service_keeps_no_rights, SERVICES)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	struct ww_token token;

	stage_begin(&stage, SERVICE(.keep_ns = WW_FOREVER));
	memory = scene_make(BYTES, 1);
	export(memory, &token);
	ww_ticket_unref(CALL(&stage, "fill", value_token(&token), value_u8(9)));
	MUST_OK(ww_memory_revoke(memory, scene.broker, NULL));
	REFUSED(&stage, WW_ERR_ACCESS, "revoked", "fill", value_token(&token), value_u8(9));
}

/* What the server has made for a client is free as soon as the client says so. */
CASE(service_keeps_no_allocation, SERVICES)
{
	struct ww_value result;
	struct ww_token token;
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_builtin(&stage, "s", SERVICE(.keep_ns = WW_FOREVER, .builtin = ALL_BUILTIN));
	ticket = CALL(&stage, "warpway.alloc", value_u64(BYTES));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	token = *result.token;
	ww_ticket_unref(ticket);
	ww_ticket_unref(CALL(&stage, "warpway.write", value_token(&token), value_text("kept?")));
	MUST_OK(look(&token));
	ww_ticket_unref(CALL(&stage, "warpway.free", value_token(&token)));
	MUST_STATUS(WW_ERR_NOT_FOUND, look(&token));
}

/* The place of a slice can be used again at once. */
CASE(service_keeps_no_slice, SERVICES)
{
	struct ww_token token;
	ww_memory *slice;
	ENDED_BY(stage_end) struct stage stage;
	OWN(pool) ww_pool *pool;

	stage_begin(&stage, SERVICE(.keep_ns = WW_FOREVER));
	pool = pool_make(scene.device, 0, 0, 1);
	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_pool_alloc(pool, BYTES, 0, 0, NULL, &slice));
		export(slice, &token);
		ww_ticket_unref(CALL(&stage, "fill", value_token(&token), value_u8(9)));
		ww_memory_unref(slice);
	}
}
