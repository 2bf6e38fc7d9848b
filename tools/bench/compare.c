/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - two runs of `warpway bench`, row by row
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/run_file.h"
#include "common/table.h"

#define TEXT_BYTES 512

struct comparison {
	const json_t *runs[2];
	json_t *warnings;
	json_t *rows;
	json_t *only[2];
	size_t lost; /* goals that are met in the first only */
};

/* --- what differs --- */

/* What figures depend on. Those of older files say less. */
static const struct fact {
	const char *title;
	const char *group; /* NULL: of the run itself */
	const char *key;
} facts[] = {
	{"device", NULL, "device"},
	{"driver", NULL, "driver"},
	{"MPS", NULL, "mps"},
	{"processor", "host", "cpu"},
	{"number of processors", "host", "cpus"},
	{"kernel", "host", "kernel"},
	{"setting --quick", NULL, "quick"},
};

static const json_t *fact_of(const json_t *run, const struct fact *fact)
{
	return json_object_get(fact->group ? json_object_get(run, fact->group) : run, fact->key);
}

static void fact_text(const json_t *value, char *out_text, size_t room)
{
	char *text = value && !json_is_string(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	snprintf(out_text, room, "%s",
		json_is_string(value) ? json_string_value(value)
			: text        ? text
				      : "unknown");
	free(text);
}

__attribute__((format(printf, 2, 3))) static void warn(struct comparison *comparison,
	const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_array_append_new(comparison->warnings, json_string(text));
}

static void compare_facts(struct comparison *comparison)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const json_t *a = fact_of(comparison->runs[0], &facts[i]);
		const json_t *b = fact_of(comparison->runs[1], &facts[i]);
		char texts[2][TEXT_BYTES / 3];

		if (json_equal(a, b) || (!a && !b))
			continue;
		fact_text(a, texts[0], sizeof(texts[0]));
		fact_text(b, texts[1], sizeof(texts[1]));
		warn(comparison, "the %s differs: %s and %s", facts[i].title, texts[0], texts[1]);
	}
	for (size_t i = 0; i < 2; i++) {
		if (!run_is_complete(comparison->runs[i]))
			warn(comparison, "run %c is incomplete", (int)('A' + i));
	}
}

/* --- rows --- */

static json_t *json_or_null(const json_t *row, const char *key)
{
	json_t *value = json_object_get(row, key);

	return value ? json_incref(value) : json_null();
}

static const char *change_of(int met_a, int met_b)
{
	return met_a == 1 && met_b == 0 ? "unmet" : met_a == 0 && met_b == 1 ? "met" : "none";
}

static void compare_rows(struct comparison *comparison, const json_t *a, const json_t *b)
{
	bool is_same_unit = !strcmp(run_text(a, "unit"), run_text(b, "unit"));
	double before = run_number(a, "p50");
	const char *change = change_of(run_met(a), run_met(b));

	if (!is_same_unit)
		warn(comparison, "the units of %s differ: %s and %s", run_text(a, "name"),
			run_text(a, "unit"), run_text(b, "unit"));
	comparison->lost += !strcmp(change, "unmet");
	json_array_append_new(comparison->rows,
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "name", run_text(a, "name"),
			"unit", run_text(a, "unit"), "p50_a", json_or_null(a, "p50"), "p50_b",
			json_or_null(b, "p50"), "ratio",
			is_same_unit && before > 0 ? json_real(run_number(b, "p50") / before)
						   : json_null(),
			"met_a", json_or_null(a, "met"), "met_b", json_or_null(b, "met"), "change",
			change));
}

/* Of a run; borrowed rows by their names. */
static json_t *index_of(const json_t *run)
{
	json_t *names = json_object();
	size_t index;
	json_t *row;

	json_array_foreach(run_results(run), index, row)
		json_object_set(names, run_text(row, "name"), row);
	return names;
}

static void compare_all(struct comparison *comparison)
{
	OWN(json) json_t *names_a = index_of(comparison->runs[0]);
	OWN(json) json_t *names_b = index_of(comparison->runs[1]);
	const char *name;
	size_t index;
	json_t *row;

	compare_facts(comparison);
	json_array_foreach(run_results(comparison->runs[0]), index, row)
	{
		const json_t *other = json_object_get(names_b, run_text(row, "name"));

		if (other)
			compare_rows(comparison, row, other);
		else
			json_array_append(comparison->only[0], json_object_get(row, "name"));
	}
	json_array_foreach(run_results(comparison->runs[1]), index, row)
	{
		name = run_text(row, "name");
		if (!json_object_get(names_a, name))
			json_array_append(comparison->only[1], json_object_get(row, "name"));
	}
}

/* --- what is shown --- */

static void print_row(struct table *table, const json_t *row)
{
	static const char *const verdicts[] = {"-", "no", "yes"};
	int met_a = json_is_null(json_object_get(row, "met_a"))
		? -1
		: json_is_true(json_object_get(row, "met_a"));
	int met_b = json_is_null(json_object_get(row, "met_b"))
		? -1
		: json_is_true(json_object_get(row, "met_b"));
	double ratio = run_number(row, "ratio");
	char text[NUMBER_BYTES] = "-";

	if (!isnan(ratio))
		snprintf(text, sizeof(text), "%.3f", ratio);
	table_add(table, "%s\t%s\t%.1f\t%.1f\t%s\t%s\t%s\t%s", run_text(row, "name"),
		run_text(row, "unit"), run_number(row, "p50_a"), run_number(row, "p50_b"), text,
		verdicts[met_a + 1], verdicts[met_b + 1],
		!strcmp(run_text(row, "change"), "none") ? "" : run_text(row, "change"));
}

static void print_list(const json_t *list, const char *heading)
{
	size_t index;
	const json_t *value;

	if (json_array_size(list) > 0)
		printf("\n%s\n", heading);
	json_array_foreach(list, index, value) printf("  %s\n", json_string_value(value));
}

static void print_table(const struct comparison *comparison, const char *const paths[])
{
	struct table table;
	size_t index;
	const json_t *row;

	for (size_t i = 0; i < 2; i++)
		printf("%c  %s: %s, driver %s, %s, version %s\n", (int)('A' + i), paths[i],
			run_text(comparison->runs[i], "device"),
			run_text(comparison->runs[i], "driver"),
			run_text(comparison->runs[i], "date"),
			run_text(comparison->runs[i], "version"));
	json_array_foreach(comparison->warnings, index, row)
		printf("Beware: %s\n", json_string_value(row));
	putchar('\n');
	table_init(&table, "llrrrlll");
	table_add(&table, "name\tunit\tp50 A\tp50 B\tB / A\tmet A\tmet B\tgoal");
	json_array_foreach(comparison->rows, index, row) print_row(&table, row);
	table_print(&table, stdout);
	table_fini(&table);
	print_list(comparison->only[0], "only in A:");
	print_list(comparison->only[1], "only in B:");
}

static json_t *heading_json(const json_t *run, const char *path)
{
	json_t *heading = json_pack("{s:s}", "file", path);

	for (size_t i = 0; i < RUN_HEADING_COUNT; i++)
		json_object_set_new(heading, run_heading[i], json_or_null(run, run_heading[i]));
	return heading;
}

static int print_json(const struct comparison *comparison, const char *const paths[])
{
	return report_json(json_pack("{s:o, s:o, s:O, s:O, s:O, s:O}", "a",
				   heading_json(comparison->runs[0], paths[0]), "b",
				   heading_json(comparison->runs[1], paths[1]), "warnings",
				   comparison->warnings, "rows", comparison->rows, "only_a",
				   comparison->only[0], "only_b", comparison->only[1]),
		RUN_JSON_FLAGS);
}

int bench_compare(const char *path_a, const char *path_b, bool is_json)
{
	const char *const paths[] = {path_a, path_b};
	OWN(json) json_t *a = run_load(path_a);
	OWN(json) json_t *b = a ? run_load(path_b) : NULL;
	OWN(json) json_t *warnings = json_array();
	OWN(json) json_t *rows = json_array();
	OWN(json) json_t *only_a = json_array();
	OWN(json) json_t *only_b = json_array();
	struct comparison comparison = {
		.runs = {a, b},
		.warnings = warnings,
		.rows = rows,
		.only = {only_a, only_b},
	};

	if (!a || !b)
		return EXIT_CANNOT;
	compare_all(&comparison);
	if (!is_json)
		print_table(&comparison, paths);
	else if (print_json(&comparison, paths))
		return EXIT_FAILED;
	return comparison.lost ? EXIT_FAILED : EXIT_DONE;
}
