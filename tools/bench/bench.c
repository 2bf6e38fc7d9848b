/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - the program `warpway-bench`, which `warpway bench` becomes: how long our calls take
 * beside the raw ones
 *
 * A table names the suites. Success does not depend on speed: goals matter only when --check asks
 * for it (goal.c). With --json standard output carries nothing but the results.
 */
#include "bench/bench.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device.h"
#include "common/option.h"
#include "common/standard_streams.h"

#define NS_PER_MS UINT64_C(1000000)

#define BUDGET_NS       (2000 * NS_PER_MS)
#define BUDGET_QUICK_NS (500 * NS_PER_MS)

#define SIZES       "4KiB,64KiB,1MiB,2MiB,16MiB,256MiB,1GiB,16GiB"
#define SIZES_QUICK "4KiB,2MiB,16MiB"

static const struct bench_suite *const suites[] = {
	&bench_memory,
	&bench_broker,
	&bench_sync,
	&bench_pool,
	&bench_foreign,
	&bench_channel,
	&bench_calls,
	&bench_mpi,
	&bench_pairs,
};

#define SUITE_COUNT (sizeof(suites) / sizeof(suites[0]))

/* What --help says of options that are whole numbers, and what they are where they are not said. */
static const struct number {
	const char *name;
	size_t offset; /* in struct bench */
	uint64_t usual;
	uint64_t quick;
	const char *help;
} numbers[] = {
	{"iterations", offsetof(struct bench, iterations), 200, 20,
		"at most so many of each measurement"},
	{"objects", offsetof(struct bench, objects), 100000, 4000,
		"put at most so many into a broker"},
	{"clients", offsetof(struct bench, clients), 1000, 100,
		"that are connected to it meanwhile"},
	{"kills", offsetof(struct bench, kills), 100, 10,
		"of holders, of signallers, and of the broker"},
	{"slices", offsetof(struct bench, slices), 1000000, 20000,
		"pass so many from process to process"},
	{"ranks", offsetof(struct bench, ranks), 2, 2, "processes of an MPI job"},
};

#define NUMBER_COUNT (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t *number_of(struct bench *bench, const struct number *number)
{
	return (uint64_t *)(void *)((char *)bench + number->offset);
}

static char *make_help(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *help = open_memstream(&text, &bytes);

	if (!help)
		return NULL;
	fputs("Usage: warpway bench [SUITE...] [OPTION...]\n\n"
	      "Measures our calls and the raw ones that do the same work, in turns, in one run.\n\n"
	      "Suites (default: all):\n",
		help);
	for (size_t i = 0; i < SUITE_COUNT; i++)
		fprintf(help, "  %-8s %s\n", suites[i]->name, suites[i]->summary);
	fputs("\n  --device NAME   host, cuda:N or cuda:UUID (default: a usable GPU, else host)\n"
	      "  --sizes LIST    sizes such as 4K,2MiB,1GiB (default " SIZES ";\n"
	      "                  of the suite mpi 8 bytes to 64MiB)\n",
		help);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		fprintf(help, "  --%s N%*s %s (default %llu)\n", numbers[i].name,
			11 - (int)strlen(numbers[i].name), "", numbers[i].help,
			(unsigned long long)numbers[i].usual);
	fputs("  --mpi NAME      openmpi or mpich (default: each that is installed)\n"
	      "  --quick         few sizes and iterations, small numbers\n"
	      "  --check         exit with 1 when a goal is not met, with 2 when one was not measured\n"
	      "  --json          results as JSON on standard output, the rest on standard error\n"
	      "  --help          this text\n\n"
	      "On a GPU a context is current all the time, for our calls and for the raw ones. Of fewer\n"
	      "than 100 turns, p99 is the largest value.\n\n"
	      "Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n",
		help);
	return fclose(help) ? NULL : text;
}

static bool add_size(struct bench *bench, const char *text, size_t length)
{
	uint64_t bytes;

	if (!number_parse_size(text, length, &bytes) || bytes > INT64_MAX)
		return false;
	for (size_t i = 0; i < bench->size_count; i++) {
		if (bench->sizes[i] == bytes)
			return true;
	}
	if (bench->size_count == BENCH_SIZES_MAX)
		return false;
	bench->sizes[bench->size_count++] = bytes;
	return true;
}

/* @place: the bench */
static int parse_sizes(void *place, const char *list)
{
	struct bench *bench = place;

	bench->size_count = 0;
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");

		if (!add_size(bench, at, length))
			return refuse("'--sizes %s': up to %d sizes with commas between are needed, "
				      "each a whole number > 0 with nothing, K, M, G, T, KiB, MiB, "
				      "GiB or TiB behind it, such as 4K,2MiB",
				list, BENCH_SIZES_MAX);
		at += length;
		if (!*at)
			return 0;
	}
}

#define NUMBER(name, field, least, most) \
	OPTION(name, NUMBER, struct bench, field, .value = (least), .maximum = (most))

static const struct option_row options[] = {
	OPTION("device", TEXT, struct bench, device_name),
	{"sizes", OPTION_TAKEN, .take = parse_sizes},
	NUMBER("iterations", iterations, 1, 1000000),
	NUMBER("objects", objects, 4, 10000000),
	NUMBER("clients", clients, 1, 100000),
	NUMBER("kills", kills, 1, 1000000),
	NUMBER("slices", slices, 1, 1000000000),
	NUMBER("ranks", ranks, 2, 32),
	OPTION("mpi", TEXT, struct bench, mpi),
	OPTION("quick", FLAG, struct bench, quick),
	OPTION("check", FLAG, struct bench, check),
	OPTION("json", FLAG, struct bench, json),
	OPTION_END,
};

static const struct bench_suite *find_suite(const char *name)
{
	for (size_t i = 0; i < SUITE_COUNT; i++) {
		if (!strcmp(name, suites[i]->name))
			return suites[i];
	}
	return NULL;
}

static int refuse_suite(const char *name)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < SUITE_COUNT && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
			suites[i]->name);
	return refuse("unknown suite '%s'; suites are %s", name, list);
}

static int parse(int argc, char *argv[], struct bench *bench)
{
	OWN(heap) char *help = make_help();
	int code = help ? option_read(argc, argv, options, help, bench) : EXIT_FAILED;

	if (code >= 0)
		return code;
	for (int i = optind; i < argc; i++) {
		if (!find_suite(argv[i]))
			return refuse_suite(argv[i]);
	}
	if (bench->mpi && !bench_mpi_is_known(bench->mpi))
		return refuse("--mpi %s: the MPIs are openmpi and mpich", bench->mpi);
	bench->has_sizes = bench->size_count > 0;
	if (!bench->has_sizes)
		parse_sizes(bench, bench->quick ? SIZES_QUICK : SIZES);
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		uint64_t *value = number_of(bench, &numbers[i]);

		if (*value == 0)
			*value = bench->quick ? numbers[i].quick : numbers[i].usual;
	}
	bench->budget_ns = bench->quick ? BUDGET_QUICK_NS : BUDGET_NS;
	return -1;
}

/* No words: all suites. Each suite runs once, however often it is named. */
static int run_suites(struct bench *bench, char *words[], int count)
{
	for (size_t s = 0; s < SUITE_COUNT; s++) {
		bool wanted = count == 0;

		for (int i = 0; i < count; i++)
			wanted = wanted || find_suite(words[i]) == suites[s];
		if (wanted && bench_suite_run(bench, suites[s]))
			return -1;
	}
	return 0;
}

static int bench_run(int argc, char *argv[])
{
	struct bench bench = {BENCH_NONE_OPEN};
	OWN(redirect) struct reserved_stdout redirect = REDIRECT_NONE;
	int code = parse(argc, argv, &bench);

	if (code >= 0)
		return code;
	if (bench.json && reserved_stdout_start(&redirect))
		return EXIT_FAILED;
	code = device_choose(bench.device_name, &bench.device, &bench.info);
	if (code == 0 && run_suites(&bench, argv + optind, argc - optind))
		code = EXIT_FAILED;
	reserved_stdout_end(&redirect);
	if (code == 0)
		code = bench_report(&bench) ? EXIT_FAILED : bench_verdict(&bench);
	ww_device_unref(bench.device);
	free(bench.results);
	return code;
}

static int bench_run_child(int argc, char *argv[])
{
	const struct bench_suite *suite = argc > 1 ? find_suite(argv[1]) : NULL;

	report_set("bench", "child");
	child_begin();
	if (!suite)
		return refuse("this verb is for processes that `warpway bench` starts itself");
	return bench_child_run(suite, argc - 1, argv + 1);
}

int main(int argc, char *argv[])
{
	standard_streams_open();
	report_set("bench", NULL);
	if (argc > 1 && !strcmp(argv[1], "bench-child"))
		return standard_streams_flush(bench_run_child(argc - 1, argv + 1));
	return standard_streams_flush(bench_run(argc, argv));
}
