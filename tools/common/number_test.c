/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_test.c - what is a number on the command line, and what is none
 */
#include "base/unit_test.h"

#include <string.h>

#include "common/number.h"
#include "common/samples.h"

UNIT_TEST(numbers_are_strict)
{
	static const char *const refused[] = {"", " 1", "1 ", "+1", "-1", "1x", "0x10", "1.0",
		"1e3", "18446744073709551616", "99999999999999999999999999"};
	uint64_t value = 7;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(number_parse(refused[i], 0, UINT64_MAX, &value));
	assert_false(number_parse("4", 5, 9, &value));
	assert_false(number_parse("10", 5, 9, &value));
	assert_int_equal(value, 7);
	assert_true(number_parse("5", 5, 9, &value));
	assert_int_equal(value, 5);
	assert_true(number_parse("18446744073709551615", 0, UINT64_MAX, &value));
	assert_true(value == UINT64_MAX);
}

static bool size_of(const char *text, uint64_t *out_bytes)
{
	return number_parse_size(text, strlen(text), out_bytes);
}

UNIT_TEST(sizes_have_units)
{
	static const char *const refused[] = {"", "K", "0", "0K", "-1K", "4k", "4KB", "4 K",
		"16777216T", "18446744073709551616"};
	uint64_t bytes = 7;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(size_of(refused[i], &bytes));
	assert_int_equal(bytes, 7);
	assert_true(size_of("4096", &bytes) && bytes == 4096);
	assert_true(size_of("4096B", &bytes) && bytes == 4096);
	assert_true(size_of("4K", &bytes) && bytes == 4096);
	assert_true(size_of("2MiB", &bytes) && bytes == UINT64_C(2) << 20);
	assert_true(size_of("16777215T", &bytes) && bytes == UINT64_C(16777215) << 40);
	assert_true(number_parse_size("1G,2G", 2, &bytes) && bytes == UINT64_C(1) << 30);
}

UNIT_TEST(sizes_have_names)
{
	char text[NUMBER_BYTES];

	number_size_name(UINT64_C(2) << 20, text);
	assert_string_equal(text, "2MiB");
	number_size_name(1536, text);
	assert_string_equal(text, "1536B");
	number_size_name(UINT64_C(1) << 63, text);
	assert_string_equal(text, "8388608TiB");
	number_size_text(4, text);
	assert_string_equal(text, "4 B");
	number_size_text(UINT64_C(5) << 19, text);
	assert_string_equal(text, "2.5 MiB");
}

UNIT_TEST(seconds_have_decimals)
{
	static const char *const refused[] = {"", ".", ".5", "1.", "-1", "1s", "1e3", " 1",
		"1.0000000001", "1.5.2", "1000000001", "99999999999999999999", "0x1", "1.-5"};
	uint64_t ns = 7;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(number_parse_seconds(refused[i], &ns));
	assert_int_equal(ns, 7);
	assert_true(number_parse_seconds("0", &ns) && ns == 0);
	assert_true(number_parse_seconds("30", &ns) && ns == UINT64_C(30000000000));
	assert_true(number_parse_seconds("0.5", &ns) && ns == 500000000);
	assert_true(number_parse_seconds("1.000000001", &ns) && ns == 1000000001);
	assert_true(number_parse_seconds("1000000000.999999999", &ns) &&
		ns == UINT64_C(1000000000999999999));
}

UNIT_TEST(percentiles_are_values_of_the_series)
{
	struct samples samples = {0};

	assert_true(samples_percentile_us(&samples, 50) == 0);
	for (uint64_t i = 1000; i > 0; i--)
		assert_int_equal(samples_add(&samples, i * 1000), 0);
	assert_true(samples_percentile_us(&samples, 0) == 1);
	assert_true(samples_percentile_us(&samples, 50) == 500);
	assert_true(samples_percentile_us(&samples, 99) == 990);
	assert_true(samples_percentile_us(&samples, 100) == 1000);
	samples_fini(&samples);
	assert_int_equal(samples_add(&samples, 3000), 0);
	assert_true(samples_percentile_us(&samples, 99) == 3);
	samples_fini(&samples);
}

UNIT_MAIN("number")
