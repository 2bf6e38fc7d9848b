/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.c - how long many things took, in little memory
 */
#include "warpway/histogram.h"

#include <inttypes.h>
#include <stdbool.h>

#define PARTS_BITS 4 /* of a power of two: 16 buckets */
#define PARTS      (1u << PARTS_BITS)
#define BAR_MAX    40

/* Below PARTS each time has a bucket of its own. */
static size_t bucket_of(uint64_t ns)
{
	unsigned int power;

	if (ns < PARTS)
		return (size_t)ns;
	power = 63 - (unsigned int)__builtin_clzll(ns);
	return (size_t)(power - PARTS_BITS + 1) * PARTS +
		(size_t)(ns >> (power - PARTS_BITS) & (PARTS - 1));
}

/* The longest time that a bucket counts. */
static uint64_t bucket_end(size_t bucket)
{
	unsigned int shift;
	uint64_t part;

	if (bucket < PARTS)
		return bucket;
	shift = (unsigned int)(bucket / PARTS) - 1;
	part = PARTS + bucket % PARTS;
	return (part << shift) + ((UINT64_C(1) << shift) - 1);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	if (histogram->count == 0 || ns < histogram->least_ns)
		histogram->least_ns = ns;
	if (ns > histogram->most_ns)
		histogram->most_ns = ns;
	histogram->counts[bucket_of(ns)]++;
	histogram->count++;
}

uint64_t histogram_percentile_ns(const struct histogram *histogram, unsigned int permille)
{
	/* Thousandths of what is counted, rounded up, without an overflow. */
	uint64_t rank = histogram->count / 1000 * permille +
		(histogram->count % 1000 * permille + 999) / 1000;
	uint64_t seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->counts[i];
		if (seen >= rank && seen > 0)
			return bucket_end(i) < histogram->most_ns ? bucket_end(i)
								  : histogram->most_ns;
	}
	return 0;
}

void histogram_time_text(uint64_t ns, char out_text[HISTOGRAM_TIME_BYTES])
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	size_t unit = 0;

	for (; value >= 1000 && unit < 3; unit++)
		value /= 1000;
	snprintf(out_text, HISTOGRAM_TIME_BYTES, unit && value < 100 ? "%.1f %s" : "%.0f %s", value,
		units[unit]);
}

/* A power of two: the buckets from @first on, and how many times they count. */
struct row {
	size_t first;
	uint64_t end_ns;
	uint64_t count;
};

static struct row row_at(const struct histogram *histogram, size_t first)
{
	struct row row = {.first = first, .end_ns = bucket_end(first + PARTS - 1)};

	for (size_t i = first; i < first + PARTS; i++)
		row.count += histogram->counts[i];
	return row;
}

/* Whether there is one more, from that of the least time to that of the most. */
static bool next_row(const struct histogram *histogram, struct row *row)
{
	size_t first = row->end_ns ? row->first + PARTS
				   : bucket_of(histogram->least_ns) / PARTS * PARTS;

	if (histogram->count == 0 || first > bucket_of(histogram->most_ns))
		return false;
	*row = row_at(histogram, first);
	return true;
}

void histogram_print(const struct histogram *histogram, FILE *file)
{
	static const char bar[BAR_MAX + 1] = "########################################";
	struct row row = {0};
	char text[HISTOGRAM_TIME_BYTES];

	while (next_row(histogram, &row)) {
		int length = (int)((double)row.count / (double)histogram->count * BAR_MAX);

		histogram_time_text(row.end_ns, text);
		fprintf(file, "  up to %9s  %10" PRIu64 "%s%.*s\n", text, row.count,
			length ? "  " : "", length, bar);
	}
}

static json_t *json_of_rows(const struct histogram *histogram)
{
	json_t *list = json_array();
	struct row row = {0};

	while (next_row(histogram, &row))
		json_array_append_new(list,
			json_pack("{s:I, s:I}", "up_to_ns", (json_int_t)row.end_ns, "frames",
				(json_int_t)row.count));
	return list;
}

json_t *histogram_json(const struct histogram *histogram)
{
	if (histogram->count == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "least", (json_int_t)histogram->least_ns,
		"p50", (json_int_t)histogram_percentile_ns(histogram, 500), "p99",
		(json_int_t)histogram_percentile_ns(histogram, 990), "p99_9",
		(json_int_t)histogram_percentile_ns(histogram, 999), "most",
		(json_int_t)histogram->most_ns, "histogram", json_of_rows(histogram));
}
