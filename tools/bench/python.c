/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.c - the suite `python`: what handing over an array costs in Python
 *
 * `python3 -m warpway.bench` measures, where python3 finds the package; this suite takes its rows.
 * A row's floor is what its ratio is to. A row of a library that is not installed has a reason in
 * place of figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bench/bench.h"

#define COMMAND_BYTES 1024
#define LIMIT_S       "600"

/* Nothing of the current folder is imported. Without the package: why, and no rows. */
static const char program[] = "import sys; sys.path = [path for path in sys.path if path]\n"
			      "try:\n"
			      "    import numpy, warpway.bench\n"
			      "except ImportError as error:\n"
			      "    import json; print(json.dumps({\"missing\": str(error)}))\n"
			      "else:\n"
			      "    warpway.bench.main()\n";

static double number_of(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_is_number(value) ? json_number_value(value) : BENCH_NONE;
}

static int add_row(struct bench *bench, const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *missing = json_string_value(json_object_get(row, "missing"));
	double ratio = number_of(row, "ratio");
	struct bench_result result = {
		.unit = "us",
		.p50 = number_of(row, "p50_us"),
		.p99 = number_of(row, "p99_us"),
	};

	if (name && missing) {
		say("python.%s is not measured: %s", name, missing);
		return 0;
	}
	if (!name || isnan(result.p50))
		return complain("a row of the package warpway.bench makes no sense");
	result.floor_p50 = ratio > 0 ? result.p50 / ratio : BENCH_NONE;
	result.goal = number_of(row, "goal") * result.floor_p50;
	return bench_add_result(bench, name, &result);
}

static int take(struct bench *bench, const json_t *root)
{
	const char *missing = json_string_value(json_object_get(root, "missing"));
	size_t index;
	const json_t *row;

	if (missing) {
		say("python.* is skipped: python3 does not find what it needs: %s", missing);
		bench->suites_skipped++;
		return 0;
	}
	json_array_foreach(json_object_get(root, "rows"), index, row)
	{
		if (add_row(bench, row))
			return -1;
	}
	return 0;
}

static int run(struct bench *bench)
{
	char command[COMMAND_BYTES];
	json_error_t error;
	json_t *root;
	FILE *output;
	int status;
	int result;

	/* The selector of a device that was opened has no characters that a shell knows. */
	snprintf(command, sizeof(command),
		"exec timeout " LIMIT_S " python3 -c '%s' --json --device %s --rounds %llu",
		program, bench->info.selector, (unsigned long long)bench->iterations);
	setenv("WARPWAY_BROKER", bench->address, 1);
	output = popen(command, "re");
	if (!output)
		return complain("cannot start python3");
	root = json_loadf(output, 0, &error);
	status = pclose(output);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		say("python.* is skipped: there is no python3, or no timeout");
		bench->suites_skipped++;
		result = 0;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == 124) {
		result = complain("the package warpway.bench has not ended within " LIMIT_S " s");
	} else if (status || !root) {
		result = complain("the package warpway.bench has failed in python3");
	} else {
		result = take(bench, root);
	}
	json_decref(root);
	return result;
}

const struct bench_suite bench_python = {
	.name = "python",
	.summary = "arrays, frames and calls in Python, beside other libraries",
	.needs = BENCH_NEED_BROKER,
	.run = run,
};
