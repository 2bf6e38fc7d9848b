/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtype_test.c - names of types there and back, and types that cannot be
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <string.h>

#include <warpway/array.h>

static const struct {
	const char *name;
	struct ww_dtype dtype;
} known[] = {
	{"int8", {WW_DTYPE_INT, 8, 1}},
	{"int64", {WW_DTYPE_INT, 64, 1}},
	{"uint16", {WW_DTYPE_UINT, 16, 1}},
	{"uint4x2", {WW_DTYPE_UINT, 4, 2}},
	{"float16", {WW_DTYPE_FLOAT, 16, 1}},
	{"float32", {WW_DTYPE_FLOAT, 32, 1}},
	{"float32x4", {WW_DTYPE_FLOAT, 32, 4}},
	{"float64x65535", {WW_DTYPE_FLOAT, 64, 65535}},
	{"opaque16", {WW_DTYPE_OPAQUE, 16, 1}},
	{"opaque248", {WW_DTYPE_OPAQUE, 248, 1}},
	{"bfloat16", {WW_DTYPE_BFLOAT, 16, 1}},
	{"complex64", {WW_DTYPE_COMPLEX, 64, 1}},
	{"bool", {WW_DTYPE_BOOL, 8, 1}},
	{"boolx2", {WW_DTYPE_BOOL, 8, 2}},
	{"float8_e3m4", {7, 8, 1}},
	{"float8_e4m3", {8, 8, 1}},
	{"float8_e4m3b11fnuz", {9, 8, 1}},
	{"float8_e4m3fn", {10, 8, 1}},
	{"float8_e4m3fnuz", {11, 8, 1}},
	{"float8_e5m2", {12, 8, 1}},
	{"float8_e5m2fnuz", {13, 8, 1}},
	{"float8_e8m0fnu", {14, 8, 1}},
	{"float6_e2m3fnx4", {15, 6, 4}},
	{"float6_e3m2fnx8", {16, 6, 8}},
	{"float4_e2m1fnx2", {17, 4, 2}},
	{"float8_e4m3b11fnuzx65535", {9, 8, 65535}},
};

UNIT_TEST(names_go_there_and_back)
{
	struct ww_dtype dtype;
	char text[WW_DTYPE_NAME_BYTES];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_ok(ww_dtype_parse(known[i].name, &dtype));
		assert_memory_equal(&dtype, &known[i].dtype, sizeof(dtype));
		assert_ok(ww_dtype_name(&known[i].dtype, text));
		assert_string_equal(text, known[i].name);
	}
	assert_ok(ww_dtype_parse("float4_e2m1fn_x2", &dtype));
	assert_memory_equal(&dtype, (&(struct ww_dtype){17, 4, 2}), sizeof(dtype));
}

UNIT_TEST(what_is_no_name)
{
	static const char *const texts[] = {"", "float", "float33", "float256", "float032",
		"float32x", "float32x0", "float32x01", "float32x65536", "float32x4294967297",
		"float32 ", "float32_", "Float32", "int12", "int4", "int1x4", "float4_e2m1fn",
		"float4_e2m1fnx3", "float6_e2m3fnx2", "bool8", "boolx", "float8", "float8_e4m3f",
		"float8_e4m3fnx1x1", "opaque12", "opaque256", "complex8", "complex256", "x4",
		"99999999999999999999", "float-32", "e4m3"};
	struct ww_dtype dtype = {1, 2, 3};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strcmp(texts[i], "float8")) /* of no known form, but there is such a number */
			assert_ok(ww_dtype_parse(texts[i], &(struct ww_dtype){0}));
		else
			assert_fails(ww_dtype_parse(texts[i], &dtype), WW_ERR_INVALID);
	}
	assert_memory_equal(&dtype, (&(struct ww_dtype){1, 2, 3}), sizeof(dtype));
}

UNIT_TEST(a_type_that_was_never_set)
{
	const struct ww_dtype dtype = {0};
	struct ww_array array;

	assert_fails(ww_array_set(&array, &dtype, 0, NULL, NULL, 0), WW_ERR_INVALID);
	assert_non_null(strstr(ww_error_last()->message, "is not filled in"));
}

/*
 * Every type that can be has a name, which leads back to it; every other is refused by name and by
 * array.
 */
UNIT_TEST(every_type)
{
	static const uint16_t lanes[] = {0, 1, 2, 3, 4, 8, 65535};
	const int64_t shape = 3;
	uint32_t named = 0;

	for (uint32_t i = 0; i < 256 * 256 * 7; i++) {
		struct ww_dtype dtype = {(uint8_t)(i & 255), (uint8_t)(i >> 8 & 255),
			lanes[i >> 16]};
		struct ww_dtype back;
		struct ww_array array;
		char text[WW_DTYPE_NAME_BYTES];
		uint64_t bytes;

		if (ww_dtype_name(&dtype, text) != WW_OK) {
			assert_string_equal(text, "");
			assert_fails(ww_array_set(&array, &dtype, 1, &shape, NULL, 0),
				WW_ERR_INVALID);
			continue;
		}
		named++;
		assert_ok(ww_dtype_parse(text, &back));
		assert_memory_equal(&dtype, &back, sizeof(back));
		assert_ok(ww_array_set(&array, &dtype, 1, &shape, NULL, 0));
		assert_ok(ww_array_bytes(&array, &bytes));
		assert_int_equal(bytes, 3u * dtype.bits * dtype.lanes / 8);
	}
	/* whole bytes in any of 6 numbers of lanes; the others only in 2, 4 and 8, 4 and 8, or 8 */
	assert_int_equal(named, (5 + 5 + 5 + 31 + 5 + 4 + 1 + 8) * 6 + (3 + 2 + 1) * 2 + 2 * 2 + 3);
}

UNIT_MAIN("dtype")
