/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments_test.c - arguments as bytes and back, and what an untrusted process may write
 */
#include "base/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "call/arguments.h"
#include "wire/token.h"

#define SPAN_BYTES 96

static const struct ww_dtype f32 = {WW_DTYPE_FLOAT, 32, 1};

/* As 3 x 4 complex numbers, the last row first: in 96 bytes. */
static const struct ww_array sample = {.struct_size = sizeof(sample),
	.dtype.code = WW_DTYPE_COMPLEX,
	.dtype.bits = 64,
	.dtype.lanes = 1,
	.ndim = 2,
	.offset = 64,
	.shape = {3, 4},
	.strides = {-32, 8}};

static struct ww_token token_of(uint32_t kind, const struct ww_array *array)
{
	static const uint8_t secret[WW_SECRET_BYTES] = {1, 2, 3};
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_token token;

	info.kind = kind;
	info.access = WW_ACCESS_READ;
	info.offset = 32;
	info.bytes = SPAN_BYTES;
	info.total_bytes = 4096;
	info.has_array = array != NULL;
	if (array)
		info.array = *array;
	assert_ok(ww_token_make(&info, secret, &token));
	return token;
}

/* A record of arguments, decoded from a block that ends where it ends. */
struct record {
	struct ww_call_args args;
	uint8_t bytes[WW_CALL_RECORD_MAX];
	size_t used;
};

static struct record *record_new(void)
{
	struct record *record = calloc(1, sizeof(*record));

	assert_non_null(record);
	return record;
}

static void encode(struct record *record)
{
	assert_ok(ww_call_args_encode(&record->args, record->bytes, sizeof(record->bytes),
		&record->used));
	assert_int_equal(record->used % 8, 0);
}

static ww_status decode(struct record *record)
{
	return ww_call_args_decode(record->bytes, record->used, &record->args);
}

UNIT_TEST(none)
{
	AUTO_FREE struct record *record = record_new();

	encode(record);
	assert_int_equal(record->used, 0);
	assert_ok(ww_call_args_decode(NULL, 0, &record->args));
	assert_int_equal(record->args.count, 0);
}

UNIT_TEST(golden_bytes)
{
	static const uint8_t golden[] = {
		0, 0, 0, 0, 0, 0, 0, 0,                             /* left out */
		1, 0, 2, 32, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, /* f32: 2.0 */
		2, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0,
		0, /* no bytes */
	};
	AUTO_FREE struct record *record = record_new();

	record->args.count = 4;
	ww_call_arg_none(&record->args.items[0]);
	ww_call_arg_scalar(f32, 0x40000000, &record->args.items[1]);
	ww_call_arg_bytes("abc", 3, &record->args.items[2]);
	ww_call_arg_bytes(NULL, 0, &record->args.items[3]);
	encode(record);
	assert_int_equal(record->used, sizeof(golden));
	assert_memory_equal(record->bytes, golden, sizeof(golden));
	memset(&record->args, 0xaa, sizeof(record->args));
	assert_ok(decode(record));
	assert_int_equal(record->args.count, 4);
	assert_int_equal(record->args.items[0].kind, WW_ARGUMENT_NONE);
	assert_int_equal(record->args.items[1].kind, WW_ARGUMENT_SCALAR);
	assert_memory_equal(&record->args.items[1].dtype, &f32, sizeof(f32));
	assert_int_equal(record->args.items[1].scalar, 0x40000000);
	assert_int_equal(record->args.items[2].bytes, 3);
	assert_memory_equal(record->args.items[2].data, "abc", 3);
	assert_int_equal(record->args.items[3].kind, WW_ARGUMENT_BYTES);
	assert_int_equal(record->args.items[3].bytes, 0);
}

/* With a description of its own, with the token's, with none. */
UNIT_TEST(arrays)
{
	struct ww_token plain = token_of(WW_OBJECT_MEMORY, NULL);
	struct ww_token described = token_of(WW_OBJECT_MEMORY, &sample);
	AUTO_FREE struct record *record = record_new();
	const struct ww_call_arg *items = record->args.items;

	record->args.count = 3;
	assert_ok(ww_call_arg_array(&plain, &sample, &record->args.items[0]));
	assert_ok(ww_call_arg_array(&described, NULL, &record->args.items[1]));
	assert_ok(ww_call_arg_array(&plain, NULL, &record->args.items[2]));
	encode(record);
	assert_int_equal(record->used, 3 * (8 + 512) + 272);
	memset(&record->args, 0xaa, sizeof(record->args));
	assert_ok(decode(record));
	for (uint32_t i = 0; i < 2; i++)
		assert_memory_equal(&items[i].array, &sample, sizeof(sample));
	assert_true(items[0].has_array && !items[1].has_array && !items[2].has_array);
	assert_int_equal(items[2].array.dtype.code, WW_DTYPE_UINT);
	assert_int_equal(items[2].array.dtype.bits, 8);
	assert_int_equal(items[2].array.ndim, 1);
	assert_true(items[2].array.shape[0] == SPAN_BYTES);
	assert_true(items[2].span_bytes == SPAN_BYTES);
	assert_int_equal(items[2].access, WW_ACCESS_READ);
	assert_memory_equal(items[1].token, &described, sizeof(described));
}

UNIT_TEST(timelines)
{
	struct ww_token token = token_of(WW_OBJECT_TIMELINE, NULL);
	struct ww_token memory = token_of(WW_OBJECT_MEMORY, NULL);
	AUTO_FREE struct record *record = record_new();
	struct ww_call_arg *items = record->args.items;

	record->args.count = 1;
	assert_ok(ww_call_arg_timeline(&token, &items[0]));
	encode(record);
	assert_int_equal(record->used, 8 + 512);
	assert_ok(decode(record));
	assert_int_equal(items[0].kind, WW_ARGUMENT_TIMELINE);
	assert_memory_equal(items[0].token, &token, sizeof(token));
	assert_fails(ww_call_arg_timeline(&memory, &items[0]), WW_ERR_INVALID);
	assert_fails(ww_call_arg_array(&token, NULL, &items[0]), WW_ERR_INVALID);
	memset(&token, 0, sizeof(token));
	assert_fails(ww_call_arg_timeline(&token, &items[0]), WW_ERR_PROTOCOL);
	assert_fails(ww_call_arg_array(&token, NULL, &items[0]), WW_ERR_PROTOCOL);
}

UNIT_TEST(an_array_outside_its_span)
{
	struct ww_token token = token_of(WW_OBJECT_MEMORY, NULL);
	struct ww_array array = sample;
	struct ww_call_arg arg;

	array.offset = 65;
	assert_fails(ww_call_arg_array(&token, &array, &arg), WW_ERR_MISMATCH);
}

UNIT_TEST(limits)
{
	static const uint8_t zeros[WW_CALL_BYTES_MAX + 1];
	struct ww_token token = token_of(WW_OBJECT_MEMORY, NULL);
	AUTO_FREE struct record *record = record_new();
	size_t used;

	record->args.count = WW_CALL_ARGS_MAX;
	for (uint32_t i = 0; i < WW_CALL_ARGS_MAX; i++)
		assert_ok(ww_call_arg_array(&token, &sample, &record->args.items[i]));
	encode(record);
	assert_ok(decode(record));
	assert_int_equal(record->args.count, WW_CALL_ARGS_MAX);
	assert_fails(ww_call_args_encode(&record->args, record->bytes, record->used - 1, &used),
		WW_ERR_LIMIT);
	record->args.count = 1;
	ww_call_arg_bytes(zeros, WW_CALL_BYTES_MAX, &record->args.items[0]);
	encode(record);
	assert_ok(decode(record));
	ww_call_arg_bytes(zeros, WW_CALL_BYTES_MAX + 1, &record->args.items[0]);
	assert_fails(ww_call_args_encode(&record->args, record->bytes, sizeof(record->bytes),
			     &used),
		WW_ERR_LIMIT);
}

UNIT_TEST(too_many)
{
	static const uint8_t zeros[(size_t)8 * (WW_CALL_ARGS_MAX + 1)];
	AUTO_FREE struct record *record = record_new();

	assert_ok(ww_call_args_decode(zeros, (size_t)8 * WW_CALL_ARGS_MAX, &record->args));
	assert_fails(ww_call_args_decode(zeros, sizeof(zeros), &record->args), WW_ERR_PROTOCOL);
}

/* Every byte of a record is one that must be there. */
UNIT_TEST(records_that_end_early)
{
	struct ww_token token = token_of(WW_OBJECT_MEMORY, NULL);
	AUTO_FREE struct record *record = record_new();

	record->args.count = 3;
	ww_call_arg_scalar(f32, 1, &record->args.items[0]);
	ww_call_arg_bytes("abc", 3, &record->args.items[1]);
	assert_ok(ww_call_arg_array(&token, &sample, &record->args.items[2]));
	encode(record);
	for (size_t bytes = 1; bytes < record->used; bytes++) {
		uint8_t *cut = malloc(bytes); /* of this size, so that a sanitizer sees its end */
		bool is_whole = bytes == 16 || bytes == 32;

		assert_non_null(cut);
		memcpy(cut, record->bytes, bytes);
		if (is_whole)
			assert_ok(ww_call_args_decode(cut, bytes, &record->args));
		else
			assert_fails(ww_call_args_decode(cut, bytes, &record->args),
				WW_ERR_TRUNCATED);
		free(cut);
	}
}

UNIT_TEST(what_cannot_be)
{
	static const struct {
		uint8_t bytes[16];
		size_t used;
	} wrong[] = {
		{{5}, 8},                         /* no kind */
		{{0xff}, 8},                      /* no kind */
		{{0, 1}, 8},                      /* none with flags */
		{{0, 0, 2}, 8},                   /* none with a type */
		{{0, 0, 0, 32}, 8},               /* none with a type */
		{{0, 0, 0, 0, 1}, 8},             /* none with bytes */
		{{1, 1, 2, 32}, 16},              /* a scalar with flags */
		{{1, 0, 2, 32, 8}, 16},           /* a scalar with bytes */
		{{1, 0, 2, 33}, 16},              /* no type */
		{{1, 0, 5, 64}, 16},              /* a type that no scalar has */
		{{1, 0, 0, 128}, 16},             /* a type that no scalar has */
		{{1, 0, 0, 0}, 16},               /* no type */
		{{1, 0, 2, 32, [12] = 1}, 16},    /* bits above the value */
		{{1, 0, 6, 8, [8] = 2}, 16},      /* neither true nor false */
		{{2, 1, 0, 0, 1}, 16},            /* bytes with flags */
		{{2, 0, 2, 32, 1}, 16},           /* bytes with a type */
		{{2, 0, 0, 0, 1, [9] = 1}, 16},   /* something behind the bytes */
		{{2, 0, 0, 0, 1, 0x10, 0, 0}, 8}, /* 4097 bytes */
		{{2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 8},
		{{3, 2}, 8},          /* an array with unknown flags */
		{{3, 0, 2, 32}, 8},   /* an array with a type in its head */
		{{4, 1}, 8},          /* a timeline with flags */
		{{4, 0, 0, 0, 1}, 8}, /* a timeline with bytes */
	};
	AUTO_FREE struct record *record = record_new();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memset(record->bytes, 0, 1024);
		memcpy(record->bytes, wrong[i].bytes, sizeof(wrong[i].bytes));
		record->used = wrong[i].used;
		if (decode(record) != WW_ERR_PROTOCOL)
			fail_msg("item %zu is accepted", i);
	}
}

UNIT_TEST(tokens_that_cannot_be)
{
	struct ww_token timeline = token_of(WW_OBJECT_TIMELINE, NULL);
	struct ww_token memory = token_of(WW_OBJECT_MEMORY, NULL);
	AUTO_FREE struct record *record = record_new();

	record->args.count = 1;
	assert_ok(ww_call_arg_array(&memory, &sample, &record->args.items[0]));
	encode(record);
	record->bytes[8 + 512] = 0xff; /* there is no array, and then its numbers */
	assert_fails(decode(record), WW_ERR_PROTOCOL);
	memset(record->bytes + 8 + 512 + 1, 0, 271);
	assert_fails(decode(record), WW_ERR_PROTOCOL); /* there is no array at all */
	record->args.count = 1;
	assert_ok(ww_call_arg_array(&memory, &sample, &record->args.items[0]));
	encode(record);
	record->bytes[8 + 512 + 8] = 65; /* offset */
	assert_fails(decode(record), WW_ERR_PROTOCOL);
	record->bytes[8 + 512 + 8] = 64;
	memcpy(record->bytes + 8, &timeline, sizeof(timeline));
	assert_fails(decode(record), WW_ERR_PROTOCOL);
	record->bytes[8 + 100] ^= 1;
	assert_fails(decode(record), WW_ERR_PROTOCOL);
	record->bytes[0] = WW_ARGUMENT_TIMELINE;
	record->bytes[1] = 0;
	record->used = 8 + 512;
	memcpy(record->bytes + 8, &memory, sizeof(memory));
	assert_fails(decode(record), WW_ERR_PROTOCOL);
}

UNIT_MAIN("arguments")
