/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - a run of `warpway bench`, as a table or as JSON
 *
 * The keys of the JSON and the names of the results are a promise to programs that compare runs.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run_file.h"
#include "common/table.h"

static void add_number(struct table *table, const char *format, double number)
{
	char text[NUMBER_BYTES] = "-";

	if (!isnan(number))
		snprintf(text, sizeof(text), format[0] == '3' ? "%.3f" : "%.1f", number);
	table_add(table, "%s", text);
}

static void add_row(struct table *table, const json_t *row)
{
	static const char *const verdicts[] = {"-", "no", "yes"};

	table_add(table, "%s\t%s", run_text(row, "name"), run_text(row, "unit"));
	add_number(table, "1", run_number(row, "p50"));
	add_number(table, "1", run_number(row, "p99"));
	add_number(table, "1", run_number(row, "floor_p50"));
	add_number(table, "3", run_number(row, "ratio"));
	add_number(table, "1", run_number(row, "goal"));
	table_add(table, "%s", verdicts[run_met(row) + 1]);
}

static void print_results(const json_t *run)
{
	struct table table;
	size_t index;
	const json_t *row;

	table_init(&table, "llrrrrrl");
	table_add(&table, "name\tunit\tp50\tp99\tfloor p50\tratio\tgoal\tmet");
	json_array_foreach(run_results(run), index, row) add_row(&table, row);
	table_print(&table, stdout);
	table_fini(&table);
}

/* Suites of which rows are missing. */
static void print_missing(const json_t *run)
{
	const char *heading = "\nnot measured:\n";
	size_t index;
	const json_t *suite;

	json_array_foreach(json_object_get(run, "suites"), index, suite)
	{
		const char *reason = run_text(suite, "reason");
		const char *state = run_text(suite, "state");

		if (!strcmp(state, RUN_DONE))
			continue;
		printf("%s  %s: %s%s%s\n", heading, run_text(suite, "name"),
			!strcmp(state, RUN_RUNNING) ? RUN_INTERRUPTED : state,
			!strcmp(reason, "-") ? "" : ": ", !strcmp(reason, "-") ? "" : reason);
		heading = "";
	}
}

int bench_report(json_t *run, bool is_json)
{
	if (is_json)
		return report_json(json_incref(run), RUN_JSON_FLAGS);
	for (size_t i = 0; i < RUN_HEADING_COUNT; i++)
		printf("%-7s  %s\n", run_heading[i], run_text(run, run_heading[i]));
	if (!run_is_complete(run))
		printf("%-7s  %s\n", "state", "incomplete");
	putchar('\n');
	print_results(run);
	print_missing(run);
	return 0;
}
