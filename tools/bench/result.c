/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c - results of a suite: how they are added, and how they reach the process that keeps them
 *
 * The process of a suite sends each result as a line of JSON as soon as it is there, to
 * BENCH_ROWS_FD; so what is measured is not lost when that process fails, or the user ends the run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run_file.h"
#include "common/file_io.h"

const char *bench_unit(const char *name)
{
	static const char *const units[] = {"us", "ns", "ms", "MB/s", "MiB", "bytes", "%"};

	for (size_t i = 0; name && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(name, units[i]))
			return units[i];
	}
	return NULL;
}

/* Nanoseconds of a unit of time. */
static double unit_ns(const char *unit)
{
	return !strcmp(unit, "ns") ? 1 : !strcmp(unit, "ms") ? 1e6 : 1e3;
}

/* --- as JSON --- */

static json_t *json_number(double number)
{
	return isnan(number) ? json_null() : json_real(number);
}

static json_t *json_met(const struct bench_result *result)
{
	int met = bench_met(result);

	return met < 0 ? json_null() : json_boolean(met);
}

/* Of many samples as many as a row may have, evenly chosen in their order. */
static json_t *json_samples(const struct samples *samples, const char *unit)
{
	size_t count = samples->count < RUN_SAMPLES_MAX ? samples->count : RUN_SAMPLES_MAX;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		uint64_t ns = samples->ns[i * samples->count / count];

		json_array_append_new(list, json_real((double)ns / unit_ns(unit)));
	}
	return list;
}

json_t *bench_result_json(const struct bench_result *result)
{
	double ratio = result->floor_p50 > 0 ? result->p50 / result->floor_p50 : BENCH_NONE;
	json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", result->name,
		"unit", result->unit, "p50", json_number(result->p50), "p99",
		json_number(result->p99), "floor_p50", json_number(result->floor_p50), "ratio",
		json_number(ratio), "goal", json_number(result->goal), "met", json_met(result));

	if (result->samples)
		json_object_set_new(row, "samples", json_samples(result->samples, result->unit));
	return row;
}

int bench_send(struct bench *bench, json_t *message)
{
	char *line = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
	int result = 0;

	json_decref(message);
	if (!line)
		return complain("out of memory");
	if (flow_write(bench->rows_fd, line, strlen(line)) || flow_write(bench->rows_fd, "\n", 1))
		result = complain("cannot hand over a result: %s", strerror(errno));
	free(line);
	return result;
}

/* --- as they are kept --- */

static struct bench_result *push(struct bench *bench)
{
	if (bench->count == bench->capacity) {
		size_t capacity = bench->capacity ? 2 * bench->capacity : 64;
		struct bench_result *grown = realloc(bench->results, capacity * sizeof(*grown));

		if (!grown) {
			complain("out of memory");
			return NULL;
		}
		bench->results = grown;
		bench->capacity = capacity;
	}
	return &bench->results[bench->count++];
}

int bench_take_row(struct bench *bench, const json_t *row)
{
	struct bench_result *own = push(bench);

	if (!own)
		return -1;
	*own = (struct bench_result){
		.unit = bench_unit(run_text(row, "unit")),
		.p50 = run_number(row, "p50"),
		.p99 = run_number(row, "p99"),
		.floor_p50 = run_number(row, "floor_p50"),
		.goal = run_number(row, "goal"),
	};
	snprintf(own->name, sizeof(own->name), "%s", run_text(row, "name"));
	return 0;
}

int bench_add_result(struct bench *bench, const char *name, const struct bench_result *result)
{
	bool has_variant = bench->variant != NULL;
	struct bench_result *own = push(bench);

	if (!own)
		return -1;
	*own = *result;
	snprintf(own->name, sizeof(own->name), "%s.%s%s%s", bench->suite->name, name,
		has_variant ? "." : "", has_variant ? bench->variant : "");
	if (bench->rows_fd >= 0 && bench_send(bench, bench_result_json(own)))
		return -1;
	own->samples = NULL; /* they are the caller's */
	return 0;
}

int bench_add_number(struct bench *bench, const char *name, const char *unit, double number,
	double floor, double goal)
{
	struct bench_result result = {
		.unit = unit,
		.p50 = number,
		.p99 = BENCH_NONE,
		.floor_p50 = floor,
		.goal = goal,
	};

	return bench_add_result(bench, name, &result);
}

int bench_add_series(struct bench *bench, const struct bench_row *row, struct samples *series,
	struct samples *floor)
{
	double scale = 1e3 / unit_ns(row->unit);
	bool has_floor = floor && floor->count > 0;
	double floor_p50 = has_floor ? samples_percentile_us(floor, 50) * scale : BENCH_NONE;
	enum bench_goal goal = row->is_import ? bench_import_goal(bench->size) : row->goal;
	struct bench_result result = {
		.unit = row->unit,
		.p50 = samples_percentile_us(series, row->is_slowest ? 100 : 50) * scale,
		.p99 = row->is_slowest ? BENCH_NONE : samples_percentile_us(series, 99) * scale,
		.floor_p50 = floor_p50,
		.goal = bench_goal_value(goal, bench->info.backend, floor_p50),
	};

	if (row->is_with_floor && !has_floor)
		return 0;
	if (row->has_samples)
		result.samples = series;
	return bench_add_result(bench, row->name, &result);
}
