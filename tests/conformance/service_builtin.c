/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_builtin.c - the functions that a service offers by itself, but for alloc and free
 *
 * Arrays reach the server as tokens, so what the cases do, a client without a device can do.
 */
#include <stddef.h>
#include <string.h>

#include "conformance/service_stage.h"
#include "conformance/token.h"

/* --- which functions there are --- */

CASE(builtin_functions_are_off, SERVICES | NO_DEVICE)
{
	uint32_t found;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_with(&stage, 0);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_client_find(stage.client, "warpway.copy", NULL, 0, NULL, &found));
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_client_find(stage.client, "warpway.alloc", NULL, 0, NULL, &found));
}

CASE(builtin_functions_are_asked_for, SERVICES | NO_DEVICE)
{
	static const char *const names[] = {"copy", "fill", "read", "write", "alloc", "free"};
	struct ww_function_info info = WW_INIT(struct ww_function_info);
	uint32_t found;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	MUST_OK(ww_client_find(stage.client, "warpway.write", NULL, 0, NULL, &found));
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_client_find(stage.client, "warpway.alloc", NULL, 0, NULL, &found));
	stage_end(&stage);
	stage_begin_with(&stage, ALL_BUILTIN);
	for (uint32_t i = 0; i < 6; i++) {
		MUST_OK(ww_client_function_info_get(stage.client, i, &info));
		MUST(!strncmp(info.name, "warpway.", 8) && !strcmp(info.name + 8, names[i]));
	}
}

static ww_status nothing(void *context, ww_call *one)
{
	(void)context;
	(void)one;
	return WW_OK;
}

CASE(builtin_create_and_offer_refuse, SERVICES | NO_DEVICE)
{
	ww_service *service;
	ENDED_BY(stage_end) struct stage stage;

	scene_begin();
	MUST_REFUSE(WW_ERR_INVALID, "builtin",
		ww_service_create(scene.device, scene.broker, "s", SERVICE(.builtin = 4), NULL,
			&service));
	MUST_REFUSE(WW_ERR_LIMIT, "functions_max",
		ww_service_create(scene.device, scene.broker, "s",
			SERVICE(.builtin = ALL_BUILTIN, .functions_max = 5), NULL, &service));
	MUST(!service);
	scene_end();
	stage_begin_with(&stage, 0);
	MUST_REFUSE(WW_ERR_INVALID, "built-in",
		ww_service_offer(stage.service, "warpway.mine", "", nothing, NULL, NULL));
	MUST_OK(ww_service_offer(stage.service, "warpway", "", nothing, NULL, NULL));
}

/* A program that was built before there were built-in functions. */
CASE(builtin_params_of_the_first_version, SERVICES | NO_DEVICE)
{
	struct ww_service_params params = {
		.struct_size = offsetof(struct ww_service_params, builtin),
		.builtin = UINT64_MAX,
		.alloc_bytes_max = 1,
	};
	uint32_t found;
	ENDED_BY(stage_end) struct stage stage;

	stage_begin_builtin(&stage, "s", &params);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_client_find(stage.client, "warpway.copy", NULL, 0, NULL, &found));
}

/* --- data --- */

CASE(builtin_copy_copies, SERVICES)
{
	uint8_t before[BYTES];
	uint8_t from[BYTES];
	uint8_t after[BYTES];
	struct ww_token source;
	struct ww_token target;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *a;
	OWN(memory) ww_memory *b;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	a = scene_make(BYTES, 1);
	b = scene_make(BYTES, 2);
	memory_get(a, 0, from, BYTES);
	memory_get(b, 0, before, BYTES);
	source = token_of(a, WW_ACCESS_READ);
	target = token_of(b, WW_ACCESS_WRITE);
	ww_ticket_unref(CALL(&stage, "warpway.copy", value_token(&source), value_token(&target),
		value_u64(100), value_u64(10), value_u64(BYTES - 100)));
	ww_ticket_unref(CALL(&stage, "warpway.copy", value_token(&source), value_token(&target),
		value_u64(3)));
	ww_ticket_unref(CALL(&stage, "warpway.copy", value_token(&source), value_token(&target),
		value_u64(0), value_u64(7)));
	memory_get(b, 0, after, BYTES);
	MUST(!memcmp(after + BYTES - 100, from + 10, 100) && !memcmp(after, from, 3));
	MUST(!memcmp(after + 3, before + 3, BYTES - 103));
}

CASE(builtin_copy_refuses, SERVICES)
{
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *a;
	OWN(memory) ww_memory *b;
	struct ww_value source;
	struct ww_value target;
	struct ww_token tokens[3];
	uint64_t bytes;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	a = scene_make(BYTES, 1);
	b = scene_make(BYTES, 2);
	bytes = memory_info(a).bytes;
	tokens[0] = token_of(a, WW_ACCESS_READ);
	tokens[1] = token_of(b, WW_ACCESS_WRITE);
	tokens[2] = token_of(a, WW_ACCESS_WRITE);
	source = value_token(&tokens[0]);
	target = value_token(&tokens[1]);
	REFUSED(&stage, WW_ERR_INVALID, "leave the", "warpway.copy", source, target,
		value_u64(bytes + 1));
	REFUSED(&stage, WW_ERR_INVALID, "argument 1", "warpway.copy", source, target, value_u64(2),
		value_u64(bytes - 1));
	REFUSED(&stage, WW_ERR_INVALID, "argument 2", "warpway.copy", source, target, value_u64(2),
		value_u64(0), value_u64(bytes - 1));
	REFUSED(&stage, WW_ERR_INVALID, "argument 1", "warpway.copy", source, target, value_u64(2),
		value_u64(UINT64_MAX));
	REFUSED(&stage, WW_ERR_INVALID, "argument 2", "warpway.copy", source, target,
		value_u64(100), value_u64(0), value_u64(UINT64_MAX - 50));
	REFUSED(&stage, WW_ERR_MISMATCH, "for reading only", "warpway.copy", source, source,
		value_u64(1));
	target = value_token(&tokens[2]);
	REFUSED(&stage, WW_ERR_INVALID, "overlap", "warpway.copy", source, target, value_u64(10),
		value_u64(0), value_u64(9));
	REFUSED(&stage, WW_ERR_INVALID, "overlap", "warpway.copy", source, target, value_u64(10),
		value_u64(9), value_u64(0));
	ww_ticket_unref(CALL(&stage, "warpway.copy", source, target, value_u64(10), value_u64(0),
		value_u64(10)));
}

CASE(builtin_fill_fills, SERVICES)
{
	static const uint8_t expected[] = {7, 7, 0x34, 0x12, 1, 0, 0, 0x80, 1, 0, 0, 0x80};
	uint8_t bytes[sizeof(expected) + 1];
	struct ww_token token;
	struct ww_value target;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	uint8_t behind;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	memory = scene_make(BYTES, 1);
	memory_get(memory, sizeof(expected), &behind, 1);
	token = token_of(memory, WW_ACCESS_WRITE);
	target = value_token(&token);
	ww_ticket_unref(CALL(&stage, "warpway.fill", target, value_u32(0x107), value_u64(2)));
	ww_ticket_unref(CALL(&stage, "warpway.fill", target, value_u32(0x1234), value_u64(1),
		value_u32(2), value_u64(2)));
	ww_ticket_unref(CALL(&stage, "warpway.fill", target, value_u32(0x80000001), value_u64(2),
		value_u32(4), value_u64(4)));
	memory_get(memory, 0, bytes, sizeof(bytes));
	MUST(!memcmp(bytes, expected, sizeof(expected)));
	MUST_EQUAL(behind, bytes[sizeof(expected)]);
}

CASE(builtin_fill_refuses, SERVICES)
{
	struct ww_token tokens[2];
	struct ww_value target;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	uint64_t bytes;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	memory = scene_make(BYTES, 1);
	bytes = memory_info(memory).bytes;
	tokens[0] = token_of(memory, WW_ACCESS_WRITE);
	tokens[1] = token_of(memory, WW_ACCESS_READ);
	target = value_token(&tokens[0]);
	REFUSED(&stage, WW_ERR_INVALID, "leave the", "warpway.fill", target, value_u32(0),
		value_u64(bytes / 4 + 1), value_u32(4));
	REFUSED(&stage, WW_ERR_OVERFLOW, "counted", "warpway.fill", target, value_u32(0),
		value_u64(UINT64_C(1) << 62), value_u32(4));
	REFUSED(&stage, WW_ERR_INVALID, "leave the", "warpway.fill", target, value_u32(0),
		value_u64(1), value_u32(1), value_u64(UINT64_MAX));
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.fill", target, value_u32(0), value_u64(1),
		value_u32(3));
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.fill", target, value_u32(0), value_u64(1),
		value_u32(0));
	REFUSED(&stage, WW_ERR_INVALID, "", "warpway.fill", target, value_u32(0), value_u64(1),
		value_u32(4), value_u64(2));
	target = value_token(&tokens[1]);
	REFUSED(&stage, WW_ERR_MISMATCH, "for reading only", "warpway.fill", target, value_u32(0),
		value_u64(1));
}

/* Offsets count from the first element of an array, and end with its last one. */
CASE(builtin_offsets_are_inside_the_array, SERVICES)
{
	const int64_t shape[] = {2, 4};
	struct ww_array array;
	struct ww_value part;
	struct ww_value data;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	uint8_t bytes[3];
	ww_ticket *ticket;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	memory = scene_make(BYTES, 1);
	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 64));
	part = value_memory(memory);
	part.array = &array;
	ww_ticket_unref(CALL(&stage, "warpway.write", part, value_text("abc"), value_u64(29)));
	memory_get(memory, 64 + 29, bytes, 3);
	MUST(!memcmp(bytes, "abc", 3));
	ticket = CALL(&stage, "warpway.read", part, value_u64(2), value_u64(30));
	MUST_OK(ww_ticket_result(ticket, 0, &data));
	MUST(data.bytes == 2 && !memcmp(data.data, "bc", 2));
	ww_ticket_unref(ticket);
	REFUSED(&stage, WW_ERR_INVALID, "32 bytes of argument 1", "warpway.write", part,
		value_text("abc"), value_u64(30));
	REFUSED(&stage, WW_ERR_INVALID, "32 bytes of argument 1", "warpway.read", part,
		value_u64(33));
	REFUSED(&stage, WW_ERR_INVALID, "32 bytes of argument 1", "warpway.fill", part,
		value_u32(0), value_u64(33));
}

CASE(builtin_read_and_write, SERVICES)
{
	uint8_t data[WW_CALL_BYTES_MAX];
	struct ww_token tokens[2];
	struct ww_value result;
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *memory;
	ww_ticket *ticket;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	memory = scene_make(2 * WW_CALL_BYTES_MAX, 1);
	tokens[0] = token_of(memory, WW_ACCESS_READ);
	tokens[1] = token_of(memory, WW_ACCESS_WRITE);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	ww_ticket_unref(CALL(&stage, "warpway.write", value_token(&tokens[1]),
		value_bytes(data, sizeof(data)), value_u64(5)));
	ticket = CALL(&stage, "warpway.read", value_token(&tokens[0]), value_u64(sizeof(data)),
		value_u64(5));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST(result.bytes == sizeof(data) && !memcmp(result.data, data, sizeof(data)));
	ww_ticket_unref(ticket);
	ticket = CALL(&stage, "warpway.read", value_token(&tokens[0]), value_u64(0));
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	MUST_EQUAL(0, result.bytes);
	ww_ticket_unref(ticket);
	REFUSED(&stage, WW_ERR_LIMIT, "at most 4096 bytes", "warpway.read", value_token(&tokens[0]),
		value_u64(WW_CALL_BYTES_MAX + 1));
	REFUSED(&stage, WW_ERR_INVALID, "leave the", "warpway.read", value_token(&tokens[0]),
		value_u64(1), value_u64(UINT64_MAX));
	REFUSED(&stage, WW_ERR_MISMATCH, "for reading only", "warpway.write",
		value_token(&tokens[0]), value_text("x"));
}

/* What was enqueued before in the lane is seen, and a later write does not overtake it. */
CASE(builtin_functions_keep_the_order_of_a_lane, SERVICES)
{
	struct ww_token tokens[2];
	struct ww_value result;
	ww_ticket *tickets[16];
	ENDED_BY(stage_end) struct stage stage;
	OWN(memory) ww_memory *a;
	OWN(memory) ww_memory *b;
	uint32_t fill;
	uint32_t copy;
	uint32_t read;

	stage_begin_with(&stage, WW_SERVICE_BUILTIN_DATA);
	a = scene_make(UNIT, 1);
	b = scene_make(UNIT, 2);
	tokens[0] = token_of(a, WW_ACCESS_WRITE);
	tokens[1] = token_of(b, WW_ACCESS_WRITE);
	MUST_OK(ww_client_find(stage.client, "warpway.fill", NULL, 0, NULL, &fill));
	MUST_OK(ww_client_find(stage.client, "warpway.copy", NULL, 0, NULL, &copy));
	MUST_OK(ww_client_find(stage.client, "warpway.read", NULL, 0, NULL, &read));
	for (uint32_t i = 0; i < 16; i++) {
		struct ww_value fills[] = {value_token(&tokens[0]), value_u32(i + 1),
			value_u64(UNIT)};
		struct ww_value copies[] = {value_token(&tokens[0]), value_token(&tokens[1]),
			value_u64(UNIT)};
		struct ww_value reads[] = {value_token(&tokens[1]), value_u64(1),
			value_u64(UNIT - 1)};

		MUST_OK(ww_client_submit(stage.client, fill, fills, 3, NULL, FOREVER, NULL, NULL));
		MUST_OK(ww_client_submit(stage.client, copy, copies, 3, NULL, FOREVER, NULL, NULL));
		MUST_OK(ww_client_submit(stage.client, read, reads, 3, NULL, FOREVER, NULL,
			&tickets[i]));
	}
	for (uint32_t i = 0; i < 16; i++) {
		MUST_OK(ww_ticket_wait(tickets[i], FOREVER, NULL));
		MUST_OK(ww_ticket_result(tickets[i], 0, &result));
		MUST_EQUAL(i + 1, *(const uint8_t *)result.data);
		ww_ticket_unref(tickets[i]);
	}
}
