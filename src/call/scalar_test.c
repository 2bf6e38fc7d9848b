/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_test.c - values of scalars as text and back
 */
#include "base/unit_test.h"

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "call/scalar.h"

static const struct ww_dtype f16 = {WW_DTYPE_FLOAT, 16, 1};
static const struct ww_dtype bf16 = {WW_DTYPE_BFLOAT, 16, 1};
static const struct ww_dtype f32 = {WW_DTYPE_FLOAT, 32, 1};
static const struct ww_dtype f64 = {WW_DTYPE_FLOAT, 64, 1};
static const struct ww_dtype i8 = {WW_DTYPE_INT, 8, 1};
static const struct ww_dtype i64 = {WW_DTYPE_INT, 64, 1};
static const struct ww_dtype u8 = {WW_DTYPE_UINT, 8, 1};
static const struct ww_dtype u64 = {WW_DTYPE_UINT, 64, 1};
static const struct ww_dtype boolean = {WW_DTYPE_BOOL, 8, 1};

static const struct {
	const struct ww_dtype *dtype;
	const char *text;
	uint64_t scalar;
	const char *back;
} known[] = {
	{&boolean, "true", 1, "true"},
	{&boolean, "false", 0, "false"},
	{&i8, "-128", 0x80, "-128"},
	{&i8, "127", 0x7f, "127"},
	{&i8, "-1", 0xff, "-1"},
	{&i8, "-0", 0, "0"},
	{&u8, "255", 0xff, "255"},
	{&u8, "-0", 0, "0"},
	{&i64, "-9223372036854775808", UINT64_C(1) << 63, "-9223372036854775808"},
	{&i64, "9223372036854775807", INT64_MAX, "9223372036854775807"},
	{&u64, "18446744073709551615", UINT64_MAX, "18446744073709551615"},
	{&f64, "0.1", 0x3fb999999999999a, "0.1"},
	{&f64, "-0", 0x8000000000000000, "-0.0"},
	{&f64, "1.7976931348623157e308", 0x7fefffffffffffff, "1.7976931348623157e+308"},
	{&f64, "5e-324", 1, "5e-324"},
	{&f64, "100000", 0x40f86a0000000000, "100000.0"},
	{&f64, "1e-400", 0, "0.0"},
	{&f64, "nan", 0x7ff8000000000000, "nan"},
	{&f64, "-inf", 0xfff0000000000000, "-inf"},
	{&f32, "0.1", 0x3dcccccd, "0.1"},
	{&f32, "16777217", 0x4b800000, "16777216.0"},
	/* rounded once: by way of a double it would be 0x3f800000 */
	{&f32, "1.00000005960464477540", 0x3f800001, "1.0000001"},
	{&f32, "nan", 0x7fc00000, "nan"},
	{&f32, "inf", 0x7f800000, "inf"},
	{&f16, "1", 0x3c00, "1.0"},
	{&f16, "0.1", 0x2e66, "0.1"},
	{&f16, "65504", 0x7bff, "65504.0"},
	{&f16, "65519.99", 0x7bff, "65504.0"},
	{&f16, "2049", 0x6800, "2048.0"},
	{&f16, "2051", 0x6802, "2052.0"},
	{&f16, "6e-8", 1, "6e-08"},
	{&f16, "2.9e-8", 0, "0.0"},
	{&f16, "6.1035e-5", 0x0400, "6.104e-05"},
	{&f64, "0.00012345", 0x3f202e4b6ce5dc68, "0.00012345"},
	{&f64, "123456789012345678", 0x437b69b4ba630f35, "1.2345678901234568e+17"},
	{&f64, "1234567890123456", 0x43118b54f22aeb00, "1234567890123456.0"},
	{&f16, "-0", 0x8000, "-0.0"},
	{&f16, "nan", 0x7e00, "nan"},
	{&f16, "-inf", 0xfc00, "-inf"},
	{&bf16, "1", 0x3f80, "1.0"},
	{&bf16, "3.14159", 0x4049, "3.14"},
	{&bf16, "1e-40", 0x0001, "9e-41"},
	{&bf16, "3.38e38", 0x7f7e, "3.38e+38"},
	{&bf16, "nan", 0x7fc0, "nan"},
};

UNIT_TEST(values)
{
	char text[WW_SCALAR_TEXT_BYTES];
	uint64_t scalar;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_ok(ww_scalar_parse(known[i].dtype, known[i].text, &scalar));
		if (scalar != known[i].scalar)
			fail_msg("%s: %#llx", known[i].text, (unsigned long long)scalar);
		assert_ok(ww_scalar_text(known[i].dtype, scalar, text));
		assert_string_equal(text, known[i].back);
	}
}

UNIT_TEST(no_values)
{
	static const struct {
		const struct ww_dtype *dtype;
		const char *text;
	} wrong[] = {
		{&boolean, "1"},
		{&boolean, "True"},
		{&boolean, ""},
		{&i8, "128"},
		{&i8, "-129"},
		{&i8, ""},
		{&i8, "-"},
		{&i8, "+1"},
		{&i8, " 1"},
		{&i8, "1 "},
		{&i8, "1.0"},
		{&i8, "0x1"},
		{&u8, "256"},
		{&u8, "-1"},
		{&i64, "9223372036854775808"},
		{&i64, "-9223372036854775809"},
		{&u64, "18446744073709551616"},
		{&u64, "99999999999999999999999"},
		{&f64, ""},
		{&f64, "-"},
		{&f64, "."},
		{&f64, "1."},
		{&f64, ".5"},
		{&f64, "1,5"},
		{&f64, "1e"},
		{&f64, "1e+"},
		{&f64, "1e5.0"},
		{&f64, "0x1p3"},
		{&f64, "infinity"},
		{&f64, "INF"},
		{&f64, "-nan"},
		{&f64, "nan(1)"},
		{&f64, "1e309"},
		{&f32, "3.5e38"},
		{&f16, "65520"},
		{&f16, "1e300"},
		{&bf16, "3.4e38"},
		{&f64, "\x1b[2J"},
	};
	uint64_t scalar = 7;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_fails(ww_scalar_parse(wrong[i].dtype, wrong[i].text, &scalar),
			WW_ERR_INVALID);
	assert_null(strchr(ww_error_last()->message, '\x1b'));
	assert_int_equal(scalar, 7);
}

UNIT_TEST(types_that_no_scalar_has)
{
	static const struct ww_dtype wrong[] = {{WW_DTYPE_COMPLEX, 64, 1}, {WW_DTYPE_FLOAT, 32, 4},
		{WW_DTYPE_INT, 128, 1}, {WW_DTYPE_FLOAT8_E5M2, 8, 1}, {99, 8, 1}, {0, 0, 0}};
	char text[WW_SCALAR_TEXT_BYTES] = "before";
	uint64_t scalar;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_fails(ww_scalar_parse(&wrong[i], "1", &scalar), WW_ERR_INVALID);
		assert_fails(ww_scalar_text(&wrong[i], 1, text), WW_ERR_INVALID);
		assert_string_equal(text, "");
	}
}

/* Every value of 16 bits has a text of its own, which leads back to it. */
UNIT_TEST(every_half)
{
	static const struct ww_dtype types[] = {{WW_DTYPE_FLOAT, 16, 1}, {WW_DTYPE_BFLOAT, 16, 1}};

	for (uint32_t i = 0; i < 2 * 65536; i++) {
		const struct ww_dtype *dtype = &types[i >> 16];
		char text[WW_SCALAR_TEXT_BYTES];
		uint64_t back;

		assert_ok(ww_scalar_text(dtype, i & 0xffff, text));
		assert_ok(ww_scalar_parse(dtype, text, &back));
		if (strcmp(text, "nan") != 0)
			assert_int_equal(back, i & 0xffff);
	}
}

static uint64_t bfloat_of(uint32_t float_bits)
{
	uint64_t scalar = 0;
	char text[256];
	float value;

	memcpy(&value, &float_bits, sizeof(value));
	snprintf(text, sizeof(text), "%.120e", (double)value); /* exact */
	assert_ok(ww_scalar_parse(&bf16, text, &scalar));
	return scalar;
}

/*
 * Between two neighbours: the middle goes to the even one, what is beside it to the nearer one.
 */
UNIT_TEST(rounds_to_the_nearest)
{
	for (uint32_t i = 0; i < 65536; i++) {
		if ((i & 0x7fff) >= 0x7f7f)
			continue;
		assert_int_equal(bfloat_of(i << 16 | 0x7fff), i);
		assert_int_equal(bfloat_of(i << 16 | 0x8000), i + (i & 1));
		assert_int_equal(bfloat_of(i << 16 | 0x8001), i + 1);
	}
}

UNIT_TEST(counts)
{
	int64_t count;
	uint64_t scalar;

	assert_true(ww_scalar_to_count(i8, 127, &count) && count == 127);
	assert_false(ww_scalar_to_count(i8, 0x80, &count));
	assert_true(ww_scalar_to_count(u8, 0x80, &count) && count == 128);
	assert_false(ww_scalar_to_count(u64, UINT64_MAX, &count));
	assert_true(ww_scalar_from_count(i8, 127, &scalar) && scalar == 127);
	assert_false(ww_scalar_from_count(i8, 128, &scalar));
	assert_true(ww_scalar_from_count(u8, 255, &scalar) && scalar == 255);
	assert_false(ww_scalar_from_count(u8, 256, &scalar));
	assert_true(ww_scalar_from_count(i64, INT64_MAX, &scalar) && scalar == INT64_MAX);
}

UNIT_TEST(bits_of_a_peer)
{
	assert_true(ww_scalar_is_valid(boolean, 1));
	assert_false(ww_scalar_is_valid(boolean, 2));
	assert_true(ww_scalar_is_valid(u8, 255));
	assert_false(ww_scalar_is_valid(u8, 256));
	assert_true(ww_scalar_is_valid(f32, UINT32_MAX));
	assert_false(ww_scalar_is_valid(f32, (uint64_t)UINT32_MAX + 1));
	assert_true(ww_scalar_is_valid(u64, UINT64_MAX));
}

#define COMMA_LOCALE "de_DE.UTF-8" /* it writes a comma, where it is installed */

/* The last test. */
UNIT_TEST(the_locale_has_no_influence)
{
	char text[WW_SCALAR_TEXT_BYTES];
	uint64_t scalar;

	assert_non_null(setlocale(LC_NUMERIC, COMMA_LOCALE));
	assert_ok(ww_scalar_parse(&f64, "1.5", &scalar));
	assert_ok(ww_scalar_text(&f64, scalar, text));
	setlocale(LC_NUMERIC, "C");
	assert_string_equal(text, "1.5");
}

int main(void)
{
	size_t missing = setlocale(LC_NUMERIC, COMMA_LOCALE) ? 0 : 1;

	setlocale(LC_NUMERIC, "C");
	return _cmocka_run_group_tests("scalar", unit_tests, unit_test_count - missing, NULL, NULL);
}
