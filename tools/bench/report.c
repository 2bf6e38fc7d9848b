/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - results of `warpway bench`, as a table or as JSON
 *
 * The keys of the JSON and the names of the results are a promise to programs that compare runs.
 */
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "bench/bench.h"
#include "common/device.h"
#include "common/table.h"

#define DATE_BYTES 32

static void date_text(char out_text[DATE_BYTES])
{
	time_t now = time(NULL);
	struct tm parts;

	gmtime_r(&now, &parts);
	strftime(out_text, DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static double ratio_of(const struct bench_result *result)
{
	return result->floor_p50 > 0 ? result->p50 / result->floor_p50 : BENCH_NONE;
}

static json_t *json_number(double number)
{
	return isnan(number) ? json_null() : json_real(number);
}

static json_t *json_met(const struct bench_result *result)
{
	int met = bench_met(result);

	return met < 0 ? json_null() : json_boolean(met);
}

static json_t *json_of(const struct bench_result *result)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", result->name, "unit",
		result->unit, "p50", json_number(result->p50), "p99", json_number(result->p99),
		"floor_p50", json_number(result->floor_p50), "ratio", json_number(ratio_of(result)),
		"goal", json_number(result->goal), "met", json_met(result));
}

static int print_json(const struct bench *bench, const char *device, const char *date)
{
	json_t *results = json_array();
	json_t *root;

	for (size_t i = 0; i < bench->count; i++)
		json_array_append_new(results, json_of(&bench->results[i]));
	root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "device", device, "driver",
		bench->info.driver, "mps", device_mps_name(&bench->info), "date", date, "version",
		ww_version(), "results", results);
	return report_json(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}

static void add_number(struct table *table, const char *format, double number)
{
	char text[NUMBER_BYTES] = "-";

	if (!isnan(number))
		snprintf(text, sizeof(text), format[0] == '3' ? "%.3f" : "%.1f", number);
	table_add(table, "%s", text);
}

static void add_row(struct table *table, const struct bench_result *result)
{
	static const char *const verdicts[] = {"-", "no", "yes"};

	table_add(table, "%s\t%s", result->name, result->unit);
	add_number(table, "1", result->p50);
	add_number(table, "1", result->p99);
	add_number(table, "1", result->floor_p50);
	add_number(table, "3", ratio_of(result));
	add_number(table, "1", result->goal);
	table_add(table, "%s", verdicts[bench_met(result) + 1]);
}

static void print_table(const struct bench *bench, const char *device, const char *date)
{
	struct table table;

	printf("device   %s\ndriver   %s\nmps      %s\ndate     %s\nversion  %s\n\n", device,
		bench->info.driver, device_mps_name(&bench->info), date, ww_version());
	table_init(&table, "llrrrrrl");
	table_add(&table, "name\tunit\tp50\tp99\tfloor p50\tratio\tgoal\tmet");
	for (size_t i = 0; i < bench->count; i++)
		add_row(&table, &bench->results[i]);
	table_print(&table, stdout);
	table_fini(&table);
}

int bench_report(const struct bench *bench)
{
	char device[160];
	char date[DATE_BYTES];

	snprintf(device, sizeof(device), "%s (%s)", bench->info.selector, bench->info.name);
	date_text(date);
	if (bench->json)
		return print_json(bench, device, date);
	print_table(bench, device, date);
	return 0;
}
