/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - how long many things took, in little memory
 *
 * Times are counted in buckets, 16 for each power of two: so a percentile is at most 1/16 above the
 * true one, however many times there are.
 */
#ifndef TOOLS_WARPWAY_HISTOGRAM_H
#define TOOLS_WARPWAY_HISTOGRAM_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_BUCKETS    976
#define HISTOGRAM_TIME_BYTES 24

/* Zero is an empty one. */
struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
	uint64_t count;
	uint64_t least_ns;
	uint64_t most_ns;
};

void histogram_add(struct histogram *histogram, uint64_t ns);

/* What so many thousandths of the times do not exceed; 0 for none. */
uint64_t histogram_percentile_ns(const struct histogram *histogram, unsigned int permille);

/* "850 ns", "12.3 us", "4.5 ms", "2.0 s". */
void histogram_time_text(uint64_t ns, char out_text[HISTOGRAM_TIME_BYTES]);

/* A line for each power of two between the least and the most. */
void histogram_print(const struct histogram *histogram, FILE *file);

/* Percentiles, and a list of what histogram_print() prints; null for no times. */
json_t *histogram_json(const struct histogram *histogram);

#endif
