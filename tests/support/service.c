/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - a service with functions whose results tell what they did, see service.h
 */
#include "support/service.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <warpway/memory.h>

#include "support/check.h"

/* --- functions --- */

static ww_status run_nop(void *context, ww_call *call)
{
	(void)context;
	(void)call;
	return WW_OK;
}

static ww_status run_add(void *context, ww_call *call)
{
	struct ww_value a;
	struct ww_value b;
	struct ww_value sum;
	ww_status status = ww_call_argument(call, 0, &a);

	(void)context;
	if (status == WW_OK)
		status = ww_call_argument(call, 1, &b);
	if (status != WW_OK)
		return status;
	sum = value_i64((int64_t)(a.scalar + b.scalar));
	return ww_call_result(call, 0, &sum);
}

static ww_status run_echo(void *context, ww_call *call)
{
	struct ww_value data;
	ww_status status = ww_call_argument(call, 0, &data);

	(void)context;
	return status == WW_OK ? ww_call_result(call, 0, &data) : status;
}

static ww_status run_fail(void *context, ww_call *call)
{
	struct ww_value value;
	ww_status status = ww_call_argument(call, 0, &value);

	(void)context;
	return status == WW_OK
		? ww_call_fail(call, (ww_status)value.scalar, "failed as it was told")
		: status;
}

static atomic_uint marks_made;

uint32_t service_marks_made(void)
{
	return atomic_load(&marks_made);
}

static ww_status run_mark(void *context, ww_call *call)
{
	struct ww_value x;
	struct ww_value at;
	uint8_t byte = 0;
	ww_status status = ww_call_argument(call, 0, &x);

	(void)context;
	if (status == WW_OK)
		status = ww_call_argument(call, 1, &at);
	if (status == WW_OK)
		status = ww_memory_read(x.memory, x.array->offset + at.scalar, &byte, 1, WW_FOREVER,
			NULL);
	byte++;
	if (status == WW_OK)
		status = ww_memory_write(x.memory, x.array->offset + at.scalar, &byte, 1,
			WW_FOREVER, NULL);
	atomic_fetch_add(&marks_made, 1);
	return status;
}

static ww_status fill(ww_call *call, void *pointer, uint64_t bytes, uint8_t value)
{
	ww_stream *stream;
	ww_status status = ww_call_stream(call, &stream);

	return status == WW_OK ? ww_stream_fill(stream, pointer, value, 1, bytes) : status;
}

static ww_status run_fill(void *context, ww_call *call)
{
	struct ww_value x;
	struct ww_value value;
	ww_status status = ww_call_argument(call, 0, &x);

	(void)context;
	if (status == WW_OK)
		status = ww_call_argument(call, 1, &value);
	if (status != WW_OK)
		return status;
	return fill(call, x.pointer, (uint64_t)x.array->shape[0], (uint8_t)value.scalar);
}

static ww_status run_make(void *context, ww_call *call)
{
	ww_device *device = context;
	struct ww_value bytes;
	struct ww_value value;
	ww_memory *memory;
	struct ww_value x;
	ww_status status = ww_call_argument(call, 0, &bytes);

	if (status == WW_OK)
		status = ww_call_argument(call, 1, &value);
	if (status == WW_OK)
		status = ww_memory_create(device,
			WW_PARAMS(struct ww_memory_params, .bytes = bytes.scalar), &memory);
	if (status != WW_OK)
		return status;
	x = value_memory(memory);
	status = fill(call, ww_memory_pointer(memory), bytes.scalar, (uint8_t)value.scalar);
	if (status == WW_OK)
		status = ww_call_result(call, 0, &x);
	ww_memory_unref(memory);
	return status;
}

static struct ww_value value_u32(uint32_t value)
{
	return (struct ww_value){
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {WW_DTYPE_UINT, 32, 1},
		.scalar = value,
	};
}

static ww_status run_who(void *context, ww_call *call)
{
	struct ww_call_info info = WW_INIT(struct ww_call_info);
	ww_status status = ww_call_info_get(call, &info);
	const struct ww_value values[] = {value_u32(info.uid), value_u32(info.pid),
		value_u64(info.number)};

	(void)context;
	for (uint32_t i = 0; i < 3 && status == WW_OK; i++)
		status = ww_call_result(call, i, &values[i]);
	return status;
}

static ww_status run_hold(void *context, ww_call *call)
{
	(void)context;
	while (!ww_call_is_cancelled(call))
		sched_yield();
	return ww_call_fail(call, WW_ERR_GIVEN_UP, "cancelled while it ran");
}

static ww_status run_pair(void *context, ww_call *const *calls, uint32_t count)
{
	const struct ww_value value = value_u32(count);
	ww_status status = WW_OK;

	(void)context;
	for (uint32_t i = 0; i < count && status == WW_OK; i++)
		status = ww_call_result(calls[i], 0, &value);
	return status;
}

void service_offer_all(ww_service *service, ww_device *device)
{
	static const struct {
		const char *name;
		const char *signature;
		ww_service_fn fn;
		uint32_t flags;
	} functions[] = {
		{"nop", "", run_nop, WW_FUNCTION_IDEMPOTENT},
		{"add", "i64 a, i64 b = 10 -> i64 sum", run_add, WW_FUNCTION_IDEMPOTENT},
		{"echo", "bytes data -> bytes same", run_echo, 0},
		{"fail", "i32 status", run_fail, WW_FUNCTION_IDEMPOTENT},
		{"mark", "u8[n] x write, u64 at", run_mark, 0},
		{"fill", "u8[*] x write, u8 value", run_fill, WW_FUNCTION_ENQUEUES},
		{"make", "u64 bytes, u8 value -> u8[*] x", run_make, 0},
		{"who", "-> u32 uid, u32 pid, u64 call", run_who, 0},
		{"hold", "", run_hold, WW_FUNCTION_IDEMPOTENT},
	};

	for (size_t i = 0; i < CHECK_COUNT(functions); i++)
		MUST_OK(ww_service_offer(service, functions[i].name, functions[i].signature,
			functions[i].fn, device,
			WW_PARAMS(struct ww_function_params, .flags = functions[i].flags)));
	MUST_OK(ww_service_offer_batch(service, "pair", "-> u32 calls", run_pair, NULL,
		WW_PARAMS(struct ww_function_params, .batch_calls_max = 2,
			.batch_wait_ns = UINT64_C(60000000000))));
	MUST_OK(ww_service_start(service));
}

/* --- values --- */

static struct ww_value value_scalar(uint8_t code, uint8_t bits, uint64_t scalar)
{
	return (struct ww_value){
		.kind = WW_ARGUMENT_SCALAR,
		.dtype = {code, bits, 1},
		.scalar = scalar,
	};
}

struct ww_value value_i64(int64_t value)
{
	return value_scalar(WW_DTYPE_INT, 64, (uint64_t)value);
}

struct ww_value value_u64(uint64_t value)
{
	return value_scalar(WW_DTYPE_UINT, 64, value);
}

struct ww_value value_i32(int32_t value)
{
	return value_scalar(WW_DTYPE_INT, 32, (uint32_t)value);
}

struct ww_value value_u8(uint8_t value)
{
	return value_scalar(WW_DTYPE_UINT, 8, value);
}

struct ww_value value_bytes(const void *data, uint64_t bytes)
{
	return (struct ww_value){.kind = WW_ARGUMENT_BYTES, .data = data, .bytes = bytes};
}

struct ww_value value_memory(ww_memory *memory)
{
	return (struct ww_value){.kind = WW_ARGUMENT_ARRAY, .memory = memory};
}

struct ww_value value_token(const struct ww_token *token)
{
	return (struct ww_value){.kind = WW_ARGUMENT_ARRAY, .token = token};
}

uint64_t result_scalar(ww_ticket *ticket, uint32_t index)
{
	struct ww_value value;

	MUST_OK(ww_ticket_result(ticket, index, &value));
	MUST_EQUAL(WW_ARGUMENT_SCALAR, value.kind);
	return value.scalar;
}
