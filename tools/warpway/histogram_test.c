/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram_test.c - percentiles of times, and how they are told
 */
#include "base/unit_test.h"

#include <string.h>

#include "warpway/histogram.h"

UNIT_TEST(nothing_has_no_times)
{
	static struct histogram histogram;
	json_t *root = histogram_json(&histogram);

	assert_int_equal(histogram_percentile_ns(&histogram, 500), 0);
	assert_true(json_is_null(root));
	json_decref(root);
}

UNIT_TEST(percentiles_are_near)
{
	static struct histogram histogram;
	static const unsigned int shown[] = {1, 500, 990, 999, 1000};

	for (uint64_t ns = 1; ns <= 100000; ns++)
		histogram_add(&histogram, ns);
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		uint64_t exact = UINT64_C(100) * shown[i];
		uint64_t found = histogram_percentile_ns(&histogram, shown[i]);

		assert_in_range(found, exact, exact + exact / 16);
	}
	assert_int_equal(histogram.least_ns, 1);
	assert_int_equal(histogram.most_ns, 100000);
	assert_int_equal(histogram_percentile_ns(&histogram, 1000), 100000);
}

UNIT_TEST(the_greatest_times_fit)
{
	static struct histogram histogram;

	histogram_add(&histogram, 0);
	histogram_add(&histogram, UINT64_MAX);
	assert_int_equal(histogram_percentile_ns(&histogram, 500), 0);
	assert_true(histogram_percentile_ns(&histogram, 1000) == UINT64_MAX);
	assert_int_equal(histogram.counts[HISTOGRAM_BUCKETS - 1], 1);
}

UNIT_TEST(rows_count_every_time)
{
	static struct histogram histogram;
	json_t *root;
	json_t *rows;
	json_int_t count = 0;
	json_int_t before = -1;

	for (uint64_t ns = 3; ns < 100000; ns = ns * 3 / 2 + 1)
		histogram_add(&histogram, ns);
	root = histogram_json(&histogram);
	rows = json_object_get(root, "histogram");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		count += json_integer_value(json_object_get(row, "frames"));
		assert_true(json_integer_value(json_object_get(row, "up_to_ns")) > before);
		before = json_integer_value(json_object_get(row, "up_to_ns"));
	}
	assert_int_equal(count, histogram.count);
	assert_true((uint64_t)before >= histogram.most_ns);
	json_decref(root);
}

UNIT_TEST(times_have_units)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {{0, "0 ns"}, {999, "999 ns"}, {1500, "1.5 us"}, {123456, "123 us"},
		{5000000, "5.0 ms"}, {60000000000, "60.0 s"}, {3600000000000, "3600 s"}};
	char text[HISTOGRAM_TIME_BYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		histogram_time_text(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
}

UNIT_MAIN("histogram")
