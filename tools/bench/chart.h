/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.h - which rows of a run make a plot
 *
 * Rows whose names differ in a size alone are a curve; curves of one kind share a chart. A row with
 * samples is a histogram.
 */
#ifndef TOOLS_BENCH_CHART_H
#define TOOLS_BENCH_CHART_H

#include <jansson.h>
#include <stddef.h>

#define CHART_NAME_BYTES 80
#define CHART_SERIES_MAX 8
#define CHART_POINTS_MAX 32
#define CHART_BINS       20
#define CHARTS_MAX       200

enum chart_kind {
	CHART_TIME,      /* by size */
	CHART_BANDWIDTH, /* GB/s, by size */
	CHART_HISTOGRAM  /* one series: how many samples (y) from x to the next x */
};

struct chart_point {
	double x;
	double y;
	double floor; /* BENCH_NONE: there is none */
};

struct chart_series {
	char name[CHART_NAME_BYTES];
	struct chart_point points[CHART_POINTS_MAX];
	size_t count;
};

struct chart {
	enum chart_kind kind;
	char title[CHART_NAME_BYTES]; /* as of rows, see run_file.h */
	const char *unit;
	struct chart_series series[CHART_SERIES_MAX];
	size_t count;
};

/* Return: the caller's, free() it; NULL: no memory. What is more than CHARTS_MAX is left out. */
struct chart *chart_list(const json_t *run, size_t *out_count);

/**
 * plot_chart() - have a chart drawn by gnuplot
 * @number:  of the chart in the page; names in the drawing begin with it
 * Return: an element svg, the caller's; NULL: gnuplot is not there, or does not do it.
 */
char *plot_chart(const struct chart *chart, size_t number);

#endif
