/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record_test.c - an array as 272 bytes: golden, none, and what an untrusted process may
 * write
 */
#include "base/unit_test.h"

#include <string.h>

#include "wire/array_record.h"

/* clang-format off */
static const uint8_t golden[WW_ARRAY_RECORD_BYTES] = {
	5, 64, 1, 0, 2, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
	3, 0, 0, 0, 0, 0, 0, 0, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	4, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,
};
/* clang-format on */

/* 3 x 4 complex numbers, the last row first. */
static const struct ww_array sample = {.struct_size = sizeof(sample),
	.dtype.code = WW_DTYPE_COMPLEX,
	.dtype.bits = 64,
	.dtype.lanes = 1,
	.ndim = 2,
	.offset = 64,
	.shape = {3, 4},
	.strides = {-32, 8}};

UNIT_TEST(golden_bytes)
{
	uint8_t bytes[WW_ARRAY_RECORD_BYTES];
	struct ww_array array;
	bool has = false;

	ww_array_record_encode(&sample, bytes);
	assert_memory_equal(bytes, golden, sizeof(golden));
	assert_ok(ww_array_record_decode(golden, 96, &array, &has));
	assert_true(has);
	assert_memory_equal(&array, &sample, sizeof(sample));
}

UNIT_TEST(none)
{
	uint8_t bytes[WW_ARRAY_RECORD_BYTES];
	const struct ww_array zero = {.struct_size = 0};
	struct ww_array array;
	bool has = true;

	ww_array_record_encode(NULL, bytes);
	assert_int_equal(bytes[0], 0xff);
	assert_ok(ww_array_record_decode(bytes, 0, &array, &has));
	assert_false(has);
	assert_memory_equal(&array, &zero, sizeof(zero));
	for (size_t at = 1; at < sizeof(bytes); at++) {
		bytes[at] = 1;
		assert_fails(ww_array_record_decode(bytes, 4096, &array, &has), WW_ERR_PROTOCOL);
		assert_false(has);
		bytes[at] = 0;
	}
}

UNIT_TEST(what_does_not_fit)
{
	const struct ww_array zero = {.struct_size = 0};
	struct ww_array array;
	bool has = true;

	assert_fails(ww_array_record_decode(golden, 95, &array, &has), WW_ERR_PROTOCOL);
	assert_non_null(strstr(ww_error_last()->message, "1 bytes behind its end"));
	assert_false(has);
	assert_memory_equal(&array, &zero, sizeof(zero));
}

UNIT_TEST(what_cannot_be)
{
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {{0, 7}, {1, 0}, {1, 8}, {1, 63}, {2, 0}, {4, 1}, {4, 17}, {7, 0x80}, {8, 63},
		{15, 0x80}, {23, 0x80}, {23, 0x7f}, {31, 0x80}, {48, 1}, {56, 1}, {271, 1}};

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		uint8_t bytes[WW_ARRAY_RECORD_BYTES];
		struct ww_array array;
		bool has = true;

		memcpy(bytes, golden, sizeof(bytes));
		bytes[changes[i].at] = changes[i].value;
		assert_fails(ww_array_record_decode(bytes, 96, &array, &has), WW_ERR_PROTOCOL);
		assert_false(has);
	}
}

UNIT_MAIN("array_record")
