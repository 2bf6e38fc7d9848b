/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin.c - the functions that a service offers by itself, see warpway/service.h
 *
 * They get their arguments, set their results and use streams as the functions of any program do.
 * The client chooses offsets and counts, so each range is checked against the array before it is
 * used. The access is checked where the token is imported. allocation.c has alloc and free.
 */
#include "service/builtin.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "service/allocation.h"

#define NUMBERS_MAX 4 /* scalars of one function */

/* A part of an array: its bytes from an offset on. */
struct part {
	ww_memory *memory;
	uint64_t offset; /* from the start of the memory */
	void *pointer;
};

/* --- arguments --- */

/* The scalars @first, @first + 1, ... */
static ww_status get_numbers(ww_call *call, uint32_t first, uint32_t count, uint64_t *out_numbers)
{
	struct ww_value value;

	for (uint32_t i = 0; i < count; i++) {
		ww_try(ww_call_argument(call, first + i, &value));
		out_numbers[i] = value.scalar;
	}
	return WW_OK;
}

/* @offset: from the first element; the elements lie without gaps, as the signature asks */
static ww_status get_part(ww_call *call, uint32_t index, uint64_t offset, uint64_t bytes,
	struct part *out_part)
{
	struct ww_value value;
	uint64_t total;

	ww_try(ww_call_argument(call, index, &value));
	ww_try(ww_array_bytes(value.array, &total));
	if (offset > total || bytes > total - offset)
		return ww_fail(WW_ERR_INVALID,
			"%" PRIu64 " bytes at offset %" PRIu64 " leave the %" PRIu64
			" bytes of argument %" PRIu32,
			bytes, offset, total, index + 1);
	out_part->memory = value.memory;
	out_part->offset = value.array->offset + offset;
	out_part->pointer = (char *)value.pointer + offset;
	return WW_OK;
}

/* Where in its memory, allocation or chunk a part begins, and which one that is. */
static ww_status find_place(const struct part *part, uint64_t *out_first,
	uint8_t out_id[WW_OBJECT_ID_BYTES])
{
	struct ww_memory_info info = {.struct_size = sizeof(info)};

	ww_try(ww_memory_info_get(part->memory, &info));
	*out_first = info.offset + part->offset;
	memcpy(out_id, info.object_id, WW_OBJECT_ID_BYTES);
	return WW_OK;
}

/* --- functions --- */

/* any source, any destination, u64 bytes, u64 source_offset, u64 destination_offset */
static ww_status run_copy(void *context, ww_call *call)
{
	uint64_t numbers[NUMBERS_MAX];
	struct part source;
	struct part destination;
	ww_stream *stream;
	uint8_t ids[2][WW_OBJECT_ID_BYTES];
	uint64_t first[2];

	(void)context;
	ww_try(get_numbers(call, 2, 3, numbers));
	ww_try(get_part(call, 0, numbers[1], numbers[0], &source));
	ww_try(get_part(call, 1, numbers[2], numbers[0], &destination));
	/* Addresses do not tell: one memory is mapped twice, for reading and for writing. */
	ww_try(find_place(&source, &first[0], ids[0]));
	ww_try(find_place(&destination, &first[1], ids[1]));
	if (memcmp(ids[0], ids[1], sizeof(ids[0])) == 0 &&
		(first[0] < first[1] ? first[1] - first[0] : first[0] - first[1]) < numbers[0])
		return ww_fail(WW_ERR_INVALID,
			"source and destination overlap: they are %" PRIu64
			" bytes at offsets %" PRIu64 " and %" PRIu64 " of one memory",
			numbers[0], first[0], first[1]);
	ww_try(ww_call_stream(call, &stream));
	return ww_stream_copy(stream, destination.pointer, source.pointer, numbers[0]);
}

/* any destination, u32 value, u64 count, u32 value_bytes, u64 offset */
static ww_status run_fill(void *context, ww_call *call)
{
	uint64_t numbers[NUMBERS_MAX];
	struct part destination;
	ww_stream *stream;
	uint64_t bytes;

	(void)context;
	ww_try(get_numbers(call, 1, 4, numbers));
	if (__builtin_mul_overflow(numbers[1], numbers[2], &bytes))
		return ww_fail(WW_ERR_OVERFLOW,
			"%" PRIu64 " values of %" PRIu64 " bytes are more than can be counted",
			numbers[1], numbers[2]);
	ww_try(get_part(call, 0, numbers[3], bytes, &destination));
	ww_try(ww_call_stream(call, &stream));
	return ww_stream_fill(stream, destination.pointer, (uint32_t)numbers[0],
		(uint32_t)numbers[2], numbers[1]);
}

/* any source, u64 bytes, u64 offset -> bytes data */
static ww_status run_read(void *context, ww_call *call)
{
	uint8_t data[WW_CALL_BYTES_MAX];
	uint64_t numbers[NUMBERS_MAX];
	struct ww_value result = {.kind = WW_ARGUMENT_BYTES, .data = data};
	struct part source;

	(void)context;
	ww_try(get_numbers(call, 1, 2, numbers));
	if (numbers[0] > sizeof(data))
		return ww_fail(WW_ERR_LIMIT,
			"a call reads at most %zu bytes, not %" PRIu64
			"; copy them into a memory that you can map, or read parts",
			sizeof(data), numbers[0]);
	ww_try(get_part(call, 0, numbers[1], numbers[0], &source));
	result.bytes = numbers[0];
	ww_try(ww_memory_read(source.memory, source.offset, data, result.bytes, WW_FOREVER, NULL));
	return ww_call_result(call, 0, &result);
}

/* any destination, bytes data, u64 offset */
static ww_status run_write(void *context, ww_call *call)
{
	struct ww_value data;
	struct part destination;
	uint64_t offset;

	(void)context;
	ww_try(ww_call_argument(call, 1, &data));
	ww_try(get_numbers(call, 2, 1, &offset));
	ww_try(get_part(call, 0, offset, data.bytes, &destination));
	return ww_memory_write(destination.memory, destination.offset, data.data, data.bytes,
		WW_FOREVER, NULL);
}

/* --- offering --- */

static const struct {
	const char *name;
	const char *signature;
	ww_service_fn fn;
	uint64_t kind;  /* WW_SERVICE_BUILTIN_... */
	uint32_t flags; /* WW_FUNCTION_... */
} functions[] = {
	{WW_BUILTIN_PREFIX "copy",
		"any[...] source read, any[...] destination write, u64 bytes, "
		"u64 source_offset = 0, u64 destination_offset = 0",
		run_copy, WW_SERVICE_BUILTIN_DATA, WW_FUNCTION_ENQUEUES},
	{WW_BUILTIN_PREFIX "fill",
		"any[...] destination write, u32 value, u64 count, u32 value_bytes = 1, "
		"u64 offset = 0",
		run_fill, WW_SERVICE_BUILTIN_DATA, WW_FUNCTION_ENQUEUES},
	{WW_BUILTIN_PREFIX "read", "any[...] source read, u64 bytes, u64 offset = 0 -> bytes data",
		run_read, WW_SERVICE_BUILTIN_DATA, WW_FUNCTION_IDEMPOTENT},
	{WW_BUILTIN_PREFIX "write", "any[...] destination write, bytes data, u64 offset = 0",
		run_write, WW_SERVICE_BUILTIN_DATA, WW_FUNCTION_IDEMPOTENT},
	{WW_BUILTIN_PREFIX "alloc",
		"u64 bytes, bytes[191] name = none, u32 mode = 0, bool kept = false "
		"-> u8[*] memory",
		ww_allocation_run_alloc, WW_SERVICE_BUILTIN_ALLOC, 0},
	{WW_BUILTIN_PREFIX "free", "any[...] memory write strided", ww_allocation_run_free,
		WW_SERVICE_BUILTIN_ALLOC, 0},
};

ww_status ww_builtin_offer(struct ww_service *service)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const struct ww_function_params params = {
			.struct_size = sizeof(params),
			.flags = functions[i].flags,
		};
		const struct ww_offer what = {.fn = functions[i].fn, .context = service};

		if (service->params.builtin & functions[i].kind)
			ww_try(ww_service_add_function(service, functions[i].name,
				functions[i].signature, &what, &params));
	}
	return WW_OK;
}
