/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - the program `warpway-bench`, which `warpway bench` becomes: how long our calls take
 * beside the raw ones
 *
 * A table names the suites, each of which runs in a process of its own (run_suites.c). Success does
 * not depend on speed: goals matter only when --check asks for it (goal.c). With --json standard
 * output carries nothing but the results.
 */
#include "bench/bench.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/run_file.h"
#include "common/device.h"
#include "common/option.h"
#include "common/standard_streams.h"

#define NS_PER_MS UINT64_C(1000000)

#define BUDGET_NS       (2000 * NS_PER_MS)
#define BUDGET_QUICK_NS (500 * NS_PER_MS)

#define ALL "all"

#define SIZES       "4KiB,64KiB,1MiB,2MiB,16MiB,256MiB,1GiB,16GiB"
#define SIZES_QUICK "4KiB,2MiB,16MiB"

const struct bench_step bench_steps[BENCH_SUITE_COUNT] = {
	{&bench_memory, 60, 1},
	{&bench_broker, 25, 3},
	{&bench_sync, 12, 1},
	{&bench_pool, 10, 1},
	{&bench_foreign, 5, 1},
	{&bench_channel, 100, 10},
	{&bench_calls, 30, 10},
	{&bench_mpi, 600, 120},
	{&bench_python, 60, 15},
	{&bench_pairs, 40, 10},
};

/* What --help says of options that are whole numbers, and what they are where they are not said. */
const struct bench_number bench_numbers[BENCH_NUMBER_COUNT] = {
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

static char *make_help(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *help = open_memstream(&text, &bytes);

	if (!help)
		return NULL;
	fputs("Usage: warpway bench [all | SUITE...] [OPTION...]\n"
	      "       warpway bench --from FILE [--html PAGE] [--json] [--check]\n"
	      "       warpway bench --compare A.json B.json [--json]\n\n"
	      "Measures our calls and the raw ones that do the same work, in turns, in one run.\n\n"
	      "Suites (default: all):\n",
		help);
	for (size_t i = 0; i < BENCH_SUITE_COUNT; i++)
		fprintf(help, "  %-8s %s\n", bench_steps[i].suite->name,
			bench_steps[i].suite->summary);
	fputs("\n  --device NAME   host, cuda:N or cuda:UUID (default: a usable GPU, else host)\n"
	      "  --sizes LIST    sizes such as 4K,2MiB,1GiB (default " SIZES ";\n"
	      "                  of the suite mpi 8 bytes to 64MiB)\n",
		help);
	for (size_t i = 0; i < BENCH_NUMBER_COUNT; i++)
		fprintf(help, "  --%s N%*s %s (default %llu)\n", bench_numbers[i].name,
			11 - (int)strlen(bench_numbers[i].name), "", bench_numbers[i].help,
			(unsigned long long)bench_numbers[i].usual);
	fputs("  --mpi NAME      openmpi or mpich (default: each that is installed)\n"
	      "  --quick         few sizes and iterations, small numbers\n"
	      "  --check         exit with 1 when a goal is not met, with 2 when one was not measured\n"
	      "  --json          results as JSON on standard output, the rest on standard error\n"
	      "  -o, --output FILE  write that JSON to FILE after each row: if the run is interrupted\n"
	      "                  or killed, FILE has the rows until then, and what was not run\n"
	      "  --html PAGE     one page to send to others, with plots if gnuplot is found\n"
	      "  --from FILE     show the run in FILE, which --json or --output has written\n"
	      "  --compare       two such files row by row; exit with 1 when a goal that is met in the\n"
	      "                  first is not met in the second\n"
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

	bench->sizes_text = list;
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
	OPTION("output", TEXT, struct bench, output, .letter = 'o'),
	OPTION("html", TEXT, struct bench, html),
	OPTION("from", TEXT, struct bench, from),
	OPTION("compare", FLAG, struct bench, compare),
	OPTION_END,
};

const struct bench_suite *bench_find_suite(const char *name)
{
	for (size_t i = 0; i < BENCH_SUITE_COUNT; i++) {
		if (!strcmp(name, bench_steps[i].suite->name))
			return bench_steps[i].suite;
	}
	return NULL;
}

static int refuse_suite(const char *name)
{
	char list[256] = "all";
	size_t used = strlen(list);

	for (size_t i = 0; i < BENCH_SUITE_COUNT && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s",
			bench_steps[i].suite->name);
	return refuse("unknown suite '%s'; suites are %s", name, list);
}

/* The words are suites, or "all", or two files, or none. */
static int check_words(const struct bench *bench, char *words[], int count)
{
	if (bench->compare && (bench->from || bench->html || bench->output || bench->check))
		return refuse("--compare goes with --json only");
	if (bench->compare)
		return option_words(count, 2, 2, "two FILEs");
	if (bench->from && (bench->output || count > 0))
		return refuse("--from shows what was measured: it takes neither suites nor "
			      "--output");
	for (int i = 0; i < count; i++) {
		if (!strcmp(words[i], ALL) && count > 1)
			return refuse("'all' are all suites: name no other");
		if (strcmp(words[i], ALL) != 0 && !bench_find_suite(words[i]))
			return refuse_suite(words[i]);
	}
	return 0;
}

static int parse(int argc, char *argv[], struct bench *bench)
{
	OWN(heap) char *help = make_help();
	int code = help ? option_read(argc, argv, options, help, bench) : EXIT_FAILED;

	if (code >= 0)
		return code;
	code = check_words(bench, argv + optind, argc - optind);
	if (code)
		return code;
	if (bench->mpi && !bench_mpi_is_known(bench->mpi))
		return refuse("--mpi %s: the MPIs are openmpi and mpich", bench->mpi);
	bench->has_sizes = bench->size_count > 0;
	if (!bench->has_sizes) {
		parse_sizes(bench, bench->quick ? SIZES_QUICK : SIZES);
		bench->sizes_text = NULL;
	}
	for (size_t i = 0; i < BENCH_NUMBER_COUNT; i++) {
		uint64_t *value = bench_number_of(bench, &bench_numbers[i]);

		if (*value == 0)
			*value = bench->quick ? bench_numbers[i].quick : bench_numbers[i].usual;
	}
	bench->budget_ns = bench->quick ? BUDGET_QUICK_NS : BUDGET_NS;
	return -1;
}

/* Standard output carries only the results where they are JSON. */
static int make_page(const struct bench *bench, const json_t *run)
{
	OWN(redirect) struct reserved_stdout redirect = REDIRECT_NONE;

	if (bench->json && reserved_stdout_start(&redirect))
		return EXIT_FAILED;
	return bench_page(run, bench->html);
}

/* What was measured, now or before: shown, and as a page. @code: until here */
static int show(struct bench *bench, json_t *run, int code)
{
	if (bench->html && make_page(bench, run))
		code = EXIT_FAILED;
	if (bench_report(run, bench->json))
		code = EXIT_FAILED;
	return code ? code : bench_verdict(bench);
}

static int show_file(struct bench *bench)
{
	OWN(json) json_t *run = run_load(bench->from);
	size_t index;
	json_t *row;

	if (!run)
		return EXIT_CANNOT;
	json_array_foreach(json_object_get(run, "results"), index, row)
	{
		if (bench_take_row(bench, row))
			return EXIT_FAILED;
	}
	return show(bench, run, 0);
}

static int measure(struct bench *bench, char *words[], int count)
{
	OWN(json) json_t *run = run_create(bench->quick);
	OWN(redirect) struct reserved_stdout redirect = REDIRECT_NONE;
	int code;

	if (!run) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	if (bench->json && reserved_stdout_start(&redirect))
		return EXIT_FAILED;
	if (count == 1 && !strcmp(words[0], ALL))
		count = 0;
	code = bench_run_suites(bench, words, count, run);
	reserved_stdout_end(&redirect);
	return run_has_heading(run) ? show(bench, run, code) : code;
}

static int bench_run(int argc, char *argv[])
{
	struct bench bench = {BENCH_NONE_OPEN};
	int code = parse(argc, argv, &bench);

	if (code < 0 && bench.compare)
		code = bench_compare(argv[optind], argv[optind + 1], bench.json);
	else if (code < 0 && bench.from)
		code = show_file(&bench);
	else if (code < 0)
		code = measure(&bench, argv + optind, argc - optind);
	free(bench.results);
	return code;
}

/* --- the process of a suite, see suite_process.h --- */

static int send_heading(struct bench *bench)
{
	char device[160];
	uint32_t gpus = 0;

	if (bench->info.backend == WW_BACKEND_CUDA &&
		bench_expect(ww_device_count(WW_BACKEND_CUDA, &gpus), "cannot count the GPUs"))
		return -1;
	snprintf(device, sizeof(device), "%s (%s)", bench->info.selector, bench->info.name);
	return bench_send(bench,
		json_pack("{s:s, s:s, s:s, s:s, s:i}", "device", device, "driver",
			bench->info.driver, "mps", device_mps_name(&bench->info), "selector",
			bench->info.selector, "gpus", (int)gpus));
}

static int send_end(struct bench *bench)
{
	return bench_send(bench,
		json_pack("{s:I, s:I}", "goals_skipped", (json_int_t)bench->goals_skipped,
			"suites_skipped", (json_int_t)bench->suites_skipped));
}

static int bench_run_suite(int argc, char *argv[])
{
	struct bench bench = {BENCH_NONE_OPEN};
	const struct bench_suite *suite = argc > 1 ? bench_find_suite(argv[1]) : NULL;
	struct stat status;
	int code;

	if (!suite || fstat(BENCH_ROWS_FD, &status) || !S_ISFIFO(status.st_mode) ||
		fcntl(BENCH_ROWS_FD, F_SETFD, FD_CLOEXEC))
		return refuse("this verb is for processes that `warpway bench` starts itself");
	child_begin();
	code = parse(argc, argv, &bench);
	if (code >= 0)
		return code;
	bench.rows_fd = BENCH_ROWS_FD;
	code = device_choose(bench.device_name, &bench.device, &bench.info);
	if (code == 0 &&
		(send_heading(&bench) || bench_suite_run(&bench, suite) || send_end(&bench)))
		code = EXIT_FAILED;
	ww_device_unref(bench.device);
	free(bench.results);
	return code;
}

static int bench_run_child(int argc, char *argv[])
{
	const struct bench_suite *suite = argc > 1 ? bench_find_suite(argv[1]) : NULL;

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
	if (argc > 1 && !strcmp(argv[1], "bench-suite"))
		return standard_streams_flush(bench_run_suite(argc - 1, argv + 1));
	return standard_streams_flush(bench_run(argc, argv));
}
