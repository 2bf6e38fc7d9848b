/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.c - which rows of a run make a plot, see chart.h
 */
#include "bench/chart.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run_file.h"

/* --- names --- */

/* A size as number_size_name() writes it, such as 64B or 4KiB. */
static bool parse_size(const char *text, size_t length, uint64_t *out_bytes)
{
	bool is_bytes = length > 1 && text[length - 1] == 'B' &&
		isdigit((unsigned char)text[length - 2]);

	if (length < 2 || text[length - 1] != 'B')
		return false;
	return number_parse_size(text, is_bytes ? length - 1 : length, out_bytes);
}

/* Finds the size in a name. @out_rest: the name without it */
static bool split_size(const char *name, char out_rest[CHART_NAME_BYTES], uint64_t *out_bytes)
{
	for (const char *at = name; *at;) {
		size_t length = strcspn(at, ".");
		const char *next = at + length + (at[length] == '.');

		if (parse_size(at, length, out_bytes)) {
			size_t before = at > name ? (size_t)(at - name) - 1 : 0;

			snprintf(out_rest, CHART_NAME_BYTES, "%.*s%s%s", (int)before, name,
				*next ? "." : "", next);
			return true;
		}
		at = next;
	}
	return false;
}

/* Of the names of a suite: how many words name the chart; those behind name the curve. */
static size_t title_words(const char *name)
{
	static const struct {
		const char *prefix;
		size_t words;
	} suites[] = {{"mpi.", 3}, {"channel.", 2}};

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		if (!strncmp(name, suites[i].prefix, strlen(suites[i].prefix)))
			return suites[i].words;
	}
	return 1;
}

/* Cuts a name in two. Return: the second part, in place. */
static const char *split_title(char *name)
{
	char *at = name;

	for (size_t words = title_words(name); words > 0; words--) {
		at += strcspn(at, ".");
		if (!*at)
			return "";
		at++;
	}
	at[-1] = 0;
	return at;
}

/* Whether a time is that of so many bytes as the name says; it makes a bandwidth then. */
static bool moves_bytes(const char *name)
{
	static const char *const prefixes[] = {"channel.rate.", "calls.array."};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return !strncmp(name, "mpi.", 4) && strstr(name, ".latency.");
}

/* Seconds of a unit of time; 0: it is none. */
static double unit_seconds(const char *unit)
{
	return !strcmp(unit, "ns")    ? 1e-9
		: !strcmp(unit, "us") ? 1e-6
		: !strcmp(unit, "ms") ? 1e-3
				      : 0;
}

/* --- charts --- */

struct charts {
	struct chart *all;
	size_t count;
};

/* The one with room for that series; a new one if there is none. NULL: there are too many. */
static struct chart_series *find_series(struct charts *charts, enum chart_kind kind,
	const char *title, const char *unit, const char *name)
{
	struct chart *chart = NULL;

	for (size_t i = 0; i < charts->count; i++) {
		struct chart *at = &charts->all[i];

		if (at->kind != kind || strcmp(at->title, title) != 0 ||
			strcmp(at->unit, unit) != 0)
			continue;
		for (size_t s = 0; s < at->count; s++) {
			if (!strcmp(at->series[s].name, name))
				return &at->series[s];
		}
		if (at->count < CHART_SERIES_MAX)
			chart = at;
	}
	if (!chart && charts->count == CHARTS_MAX)
		return NULL;
	if (!chart) {
		chart = &charts->all[charts->count++];
		*chart = (struct chart){.kind = kind, .unit = unit};
		snprintf(chart->title, sizeof(chart->title), "%s", title);
	}
	snprintf(chart->series[chart->count].name, CHART_NAME_BYTES, "%s", name);
	return &chart->series[chart->count++];
}

/* In the order of x. Axes are logarithmic, so only positive numbers have a place. */
static void add_point(struct chart_series *series, double x, double y, double floor)
{
	size_t at;

	if (!series || series->count == CHART_POINTS_MAX || !(x > 0) || !(y > 0))
		return;
	for (at = series->count++; at > 0 && series->points[at - 1].x > x; at--)
		series->points[at] = series->points[at - 1];
	series->points[at] = (struct chart_point){x, y, floor > 0 ? floor : BENCH_NONE};
}

static void add_sized(struct charts *charts, const json_t *row)
{
	const char *row_name = run_text(row, "name");
	const char *unit = bench_unit(run_text(row, "unit"));
	double seconds = unit_seconds(unit);
	double p50 = run_number(row, "p50");
	double floor = run_number(row, "floor_p50");
	char title[CHART_NAME_BYTES];
	const char *name;
	uint64_t bytes;

	/* Of the slowest there are rows, and no curves: there would be twice as many. */
	if (!split_size(row_name, title, &bytes) || strstr(row_name, ".p99_9"))
		return;
	name = split_title(title);
	if (!strcmp(unit, "MB/s"))
		add_point(find_series(charts, CHART_BANDWIDTH, title, "GB/s", name), (double)bytes,
			p50 / 1e3, floor / 1e3);
	if (seconds == 0)
		return;
	add_point(find_series(charts, CHART_TIME, title, unit, name), (double)bytes, p50, floor);
	if (moves_bytes(row_name))
		add_point(find_series(charts, CHART_BANDWIDTH, title, "GB/s", name), (double)bytes,
			(double)bytes / (p50 * seconds) / 1e9,
			(double)bytes / (floor * seconds) / 1e9);
}

static void add_histogram(struct charts *charts, const json_t *row)
{
	const json_t *samples = json_object_get(row, "samples");
	double least = INFINITY;
	double most = 0;
	struct chart_series *series;
	size_t index;
	const json_t *value;
	double width;

	json_array_foreach(samples, index, value)
	{
		double number = json_number_value(value);

		least = number > 0 && number < least ? number : least;
		most = number > most ? number : most;
	}
	if (!(most > 0))
		return;
	series = find_series(charts, CHART_HISTOGRAM, run_text(row, "name"),
		bench_unit(run_text(row, "unit")), "samples");
	if (!series || series->count)
		return;
	width = most > least ? pow(most / least, 1.0 / CHART_BINS) : 2;
	series->count = most > least ? CHART_BINS : 1;
	for (size_t i = 0; i < series->count; i++)
		series->points[i].x = least * pow(width, (double)i);
	json_array_foreach(samples, index, value)
	{
		double number = json_number_value(value);
		size_t bin = series->count;

		while (bin-- > 1 && number < series->points[bin].x)
			;
		series->points[bin].y += 1;
	}
}

/* A curve has two points at least, and a chart one curve. */
static void drop_short(struct charts *charts)
{
	size_t kept = 0;

	for (size_t i = 0; i < charts->count; i++) {
		struct chart *chart = &charts->all[i];
		size_t count = 0;

		for (size_t s = 0; s < chart->count; s++) {
			if (chart->kind == CHART_HISTOGRAM || chart->series[s].count >= 2)
				chart->series[count++] = chart->series[s];
		}
		chart->count = count;
		if (count > 0)
			charts->all[kept++] = *chart;
	}
	charts->count = kept;
}

struct chart *chart_list(const json_t *run, size_t *out_count)
{
	struct charts charts = {.all = calloc(CHARTS_MAX, sizeof(struct chart))};
	size_t index;
	const json_t *row;

	if (!charts.all)
		return NULL;
	json_array_foreach(run_results(run), index, row)
	{
		add_sized(&charts, row);
		add_histogram(&charts, row);
	}
	drop_short(&charts);
	*out_count = charts.count;
	return charts.all;
}
