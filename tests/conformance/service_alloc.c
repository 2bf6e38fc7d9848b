/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_alloc.c - memories that a client has the server make
 */
#include <string.h>

#include "conformance/service_stage.h"
#include "conformance/token.h"

/* One memory: its token, as alloc returned it. */
static struct ww_token alloc_with(ww_client *client, const struct ww_value *values, uint32_t count)
{
	OWN(ticket) ww_ticket *ticket = stage_call_by(client, "warpway.alloc", values, count);
	struct ww_value result;
	struct ww_token token;

	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(WW_ARGUMENT_ARRAY, result.kind);
	token = *result.token;
	return token;
}

#define ALLOC(client, ...) \
	alloc_with(client, (const struct ww_value[]){__VA_ARGS__}, COUNT(__VA_ARGS__))

static void free_it(struct stage *stage, const struct ww_token *token)
{
	ww_ticket_unref(CALL(stage, "warpway.free", value_token(token)));
}

/* Whether the token opens nothing any more. */
static void is_gone(const struct ww_token *token)
{
	ww_object *object;

	MUST_STATUS(WW_ERR_NOT_FOUND, ww_object_import(scene.broker, token, NULL, &object, NULL));
}

static uint32_t life_of(const char *name, uint32_t *out_mode)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	MUST_OK(ww_broker_stat(scene.broker, name, &info));
	*out_mode = info.mode;
	MUST_EQUAL(WW_STATE_SHARED, info.state);
	return info.life;
}

static void has_no_name(const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	MUST_STATUS(WW_ERR_NOT_FOUND, ww_broker_stat(scene.broker, name, &info));
}

/* --- life --- */

CASE(builtin_alloc_and_free, SERVICES)
{
	struct ww_value result;
	struct ww_token token;
	ww_ticket *ticket;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_with(&stage, ALL_BUILTIN);
	ticket = CALL(&stage, "warpway.alloc", value_u64(100));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST(result.array->ndim == 1 && result.array->shape[0] == 100);
	token = *result.token;
	ww_ticket_unref(ticket);
	ticket = CALL(&stage, "warpway.read", value_token(&token), value_u64(100));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	for (uint32_t i = 0; i < 100; i++)
		MUST_EQUAL(0, ((const uint8_t *)result.data)[i]);
	ww_ticket_unref(ticket);
	ww_ticket_unref(
		CALL(&stage, "warpway.fill", value_token(&token), value_u32(5), value_u64(100)));
	ticket = CALL(&stage, "warpway.read", value_token(&token), value_u64(1), value_u64(99));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(5, *(const uint8_t *)result.data);
	ww_ticket_unref(ticket);
	free_it(&stage, &token);
	is_gone(&token);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		stage_try(stage.client, "warpway.free",
			(const struct ww_value[]){value_token(&token)}, 1, NULL));
}

/* Though nobody has taken the result yet. */
CASE(builtin_free_releases_the_result, SERVICES)
{
	struct ww_value result;
	ENDED_BY(stage_end) struct stage stage;
	OWN(ticket) ww_ticket *ticket;

	stage_begin_with(&stage, ALL_BUILTIN);
	ticket = CALL(&stage, "warpway.alloc", value_u64(100));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	free_it(&stage, result.token);
	is_gone(result.token);
}

CASE(builtin_free_refuses, SERVICES)
{
	struct ww_token tokens[3];
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *other;
	OWN(memory) ww_memory *ours;

	stage_begin_with(&stage, ALL_BUILTIN);
	other = scene_make(BYTES, 1);
	tokens[0] = token_of(other, WW_ACCESS_WRITE);
	REFUSED(&stage, WW_ERR_NOT_FOUND, "no memory to free", "warpway.free",
		value_token(&tokens[0]));
	tokens[1] = ALLOC(stage.client, value_u64(100));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &tokens[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &ours, NULL));
	tokens[2] = token_of(ours, WW_ACCESS_READ);
	REFUSED(&stage, WW_ERR_MISMATCH, "for reading only", "warpway.free",
		value_token(&tokens[2]));
	free_it(&stage, &tokens[1]);
}

/* What a process has mapped stays as it was. */
CASE(builtin_alloc_ends_with_the_client, SERVICES)
{
	struct ww_token tokens[2];
	ww_client *client;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *mapped;
	uint8_t byte;

	stage_begin_with(&stage, ALL_BUILTIN);
	client = stage_client(&stage);
	tokens[0] = ALLOC(client, value_u64(100));
	tokens[1] = ALLOC(client, value_u64(100), value_text("s/x"), value_u32(0644));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &tokens[1],
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &mapped,
		NULL));
	ww_ticket_unref(CALL(&stage, "warpway.fill", value_token(&tokens[1]), value_u32(9),
		value_u64(100)));
	ww_client_unref(client);
	stage_has_clients(&stage, 1);
	is_gone(&tokens[0]);
	has_no_name("s/x");
	memory_get(mapped, 99, &byte, 1);
	MUST_EQUAL(9, byte);
}

CASE(builtin_alloc_with_a_name, SERVICES)
{
	struct ww_token token;
	struct stage stage;
	uint32_t mode;

	stage_begin_with(&stage, ALL_BUILTIN);
	token = ALLOC(stage.client, value_u64(100), value_text("s/x"), value_u32(0640));
	MUST_EQUAL(WW_LIFE_OWNER, life_of("s/x", &mode));
	MUST_EQUAL(0640, mode);
	REFUSED(&stage, WW_ERR_EXISTS, "s/x", "warpway.alloc", value_u64(100), value_text("s/x"));
	free_it(&stage, &token);
	has_no_name("s/x");
	token = ALLOC(stage.client, value_u64(100), value_text("s/x"));
	MUST_EQUAL(WW_LIFE_OWNER, life_of("s/x", &mode));
	MUST_EQUAL(0600, mode);
	stage_end(&stage); /* ends with the service */
}

CASE(builtin_alloc_refuses, SERVICES)
{
	char long_name[WW_NAME_BYTES];
	const struct ww_value bytes = value_u64(100);
	ENDED_BY(stage_end) struct stage stage;

	memset(long_name, 'x', sizeof(long_name));
	stage_begin_with(&stage, ALL_BUILTIN);
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = {"t/x", "s", "sx/y", "s/../t"};

		MUST_STATUS(i < 3 ? WW_ERR_ACCESS : WW_ERR_INVALID,
			stage_try(stage.client, "warpway.alloc",
				(const struct ww_value[]){bytes, value_text(names[i])}, 2, NULL));
	}
	REFUSED(&stage, WW_ERR_INVALID, "zero byte", "warpway.alloc", bytes,
		value_bytes("s/\0x", 4));
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.alloc", bytes, value_bytes("", 0));
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.alloc", bytes, value_bytes("s/\n", 3));
	REFUSED(&stage, WW_ERR_MISMATCH, "name", "warpway.alloc", bytes,
		value_bytes(long_name, sizeof(long_name)));
	REFUSED(&stage, WW_ERR_INVALID, "mode", "warpway.alloc", bytes, value_text("s/x"),
		value_u32(01000));
	REFUSED(&stage, WW_ERR_INVALID, "under a name", "warpway.alloc", bytes, value_none(),
		value_u32(0), value_true());
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.alloc", value_u64(0));
	ALLOC(stage.client, value_u64(2 * UNIT)); /* nothing is counted of all these */
}

CASE(builtin_alloc_of_a_service_without_a_name, SERVICES)
{
	struct ww_token token;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_builtin(&stage, NULL, SERVICE(.builtin = ALL_BUILTIN));
	REFUSED(&stage, WW_ERR_UNSUPPORTED, "without a name", "warpway.alloc", value_u64(1),
		value_text("s/x"));
	token = ALLOC(stage.client, value_u64(1));
	free_it(&stage, &token);
}

/* --- limits --- */

static void is_full(struct stage *stage, uint64_t bytes)
{
	REFUSED(stage, WW_ERR_QUOTA, "alloc_bytes_max", "warpway.alloc", value_u64(bytes));
}

CASE(builtin_alloc_is_limited_for_a_user, SERVICES)
{
	struct ww_token tokens[2];
	ww_client *other;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_with(&stage, ALL_BUILTIN);
	is_full(&stage, UINT64_MAX);
	is_full(&stage, UINT64_MAX - UNIT);
	is_full(&stage, 2 * UNIT + 1);
	tokens[0] = ALLOC(stage.client, value_u64(1));
	is_full(&stage, UNIT + 1); /* is rounded up */
	other = stage_client(&stage);
	tokens[1] = ALLOC(other, value_u64(UNIT));
	is_full(&stage, 1);
	MUST_STATUS(WW_ERR_QUOTA,
		stage_try(other, "warpway.alloc", (const struct ww_value[]){value_u64(1)}, 1,
			NULL));
	free_it(&stage, &tokens[1]); /* that of another client of this user */
	tokens[1] = ALLOC(other, value_u64(UNIT));
	is_full(&stage, 1);
	ww_client_unref(other);
	stage_has_clients(&stage, 1);
	tokens[1] = ALLOC(stage.client, value_u64(UNIT));
	free_it(&stage, &tokens[0]);
	free_it(&stage, &tokens[1]);
	ALLOC(stage.client, value_u64(2 * UNIT));
}

/* Of the client that made it nothing is left; it counts until it is removed. */
CASE(builtin_alloc_kept_stays, SERVICES)
{
	struct ww_token token;
	ww_client *client;
	uint32_t mode;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_with(&stage, ALL_BUILTIN);
	client = stage_client(&stage);
	token = ALLOC(client, value_u64(UNIT), value_text("s/kept"), value_u32(0600), value_true());
	ALLOC(client, value_u64(UNIT), value_text("s/other"), value_u32(0600), value_true());
	ww_ticket_unref(CALL(&stage, "warpway.write", value_token(&token), value_text("stays")));
	ww_client_unref(client);
	stage_has_clients(&stage, 1);
	MUST_EQUAL(WW_LIFE_KEPT, life_of("s/kept", &mode));
	is_full(&stage, 1);
	free_it(&stage, &token);
	has_no_name("s/kept");
	token = ALLOC(stage.client, value_u64(UNIT));
	is_full(&stage, 1);
	MUST_OK(ww_broker_remove(scene.broker, "s/other"));
	ALLOC(stage.client, value_u64(UNIT)); /* what was removed counts no more */
	is_full(&stage, 1);
}

CASE(builtin_alloc_kept_outlives_the_service, SERVICES)
{
	struct stage stage;
	uint32_t mode;

	stage_begin_with(&stage, ALL_BUILTIN);
	ALLOC(stage.client, value_u64(1), value_text("s/kept"), value_u32(0600), value_true());
	ALLOC(stage.client, value_u64(1), value_text("s/mine"));
	stage_stop(&stage);
	has_no_name("s/mine");
	MUST_EQUAL(WW_LIFE_KEPT, life_of("s/kept", &mode));
	MUST_OK(ww_broker_remove(scene.broker, "s/kept"));
	scene_end();
}
