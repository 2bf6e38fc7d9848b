/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.c - `warpway bench`: how long our calls take beside the raw ones
 *
 * A table names the groups. Success does not depend on speed: goals matter only when --check asks for it
 * (bench_goal.c). With --json standard output carries nothing but the results.
 */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "diversion.h"
#include "option.h"
#include "verbs.h"

#define NS_PER_MS UINT64_C(1000000)

#define ITERATIONS       200
#define ITERATIONS_QUICK 20
#define ITERATIONS_MAX   1000000
#define BUDGET_NS        (2000 * NS_PER_MS)
#define BUDGET_QUICK_NS  (500 * NS_PER_MS)

/* Of the group broker. */
#define OBJECTS       100000
#define OBJECTS_QUICK 4000
#define OBJECTS_MAX   10000000
#define CLIENTS       1000
#define CLIENTS_QUICK 100
#define CLIENTS_MAX   100000
#define KILLS         100
#define KILLS_QUICK   10
#define KILLS_MAX     1000000

/* Of the group pool. */
#define SLICES       1000000
#define SLICES_QUICK 20000
#define SLICES_MAX   1000000000

#define SIZES       "4KiB,64KiB,1MiB,2MiB,16MiB,256MiB,1GiB,16GiB"
#define SIZES_QUICK "4KiB,2MiB,16MiB"

struct group {
	const char *name;
	const char *summary;
	int (*run)(struct bench *bench);
	int (*child)(int argc, char *argv[]);
};

static const struct group groups[] = {
	{"memory", "create, export, import + map, unmap, release", bench_memory,
		bench_memory_importer},
	{"broker", "put, get, look-ups among many objects, ends of processes", bench_broker,
		bench_broker_child},
	{"sync", "round trips between processes, cost of calls, ends of signallers", bench_sync,
		bench_sync_child},
	{"pool", "slices: cut, let go of, handed to other processes, by the million", bench_pool,
		bench_pool_child},
	{"foreign", "memory of CUDA's own calls: wrap, export, import", bench_foreign,
		bench_foreign_child},
};

#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

static const struct option options[] = {
	{"device", required_argument, NULL, 'd'},
	{"sizes", required_argument, NULL, 's'},
	{"iterations", required_argument, NULL, 'i'},
	{"objects", required_argument, NULL, 'o'},
	{"clients", required_argument, NULL, 'C'},
	{"kills", required_argument, NULL, 'k'},
	{"slices", required_argument, NULL, 'S'},
	{"quick", no_argument, NULL, 'q'},
	{"check", no_argument, NULL, 'c'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int print_help(void)
{
	printf("Usage: warpway bench [GROUP...] [OPTION...]\n\n"
	       "Measures our calls and the raw ones that do the same work, in turns, in one run.\n\n"
	       "Groups (default: all):\n");
	for (size_t i = 0; i < GROUP_COUNT; i++)
		printf("  %-8s %s\n", groups[i].name, groups[i].summary);
	printf("\n  --device NAME   host, cuda:N or cuda:UUID (default: a usable GPU, else host)\n"
	       "  --sizes LIST    sizes such as 4K,2MiB,1GiB (default %s)\n"
	       "  --iterations N  at most so many of each measurement (default %d)\n"
	       "  --objects N     put at most so many into a broker (default %d)\n"
	       "  --clients N     that are connected to it meanwhile (default %d)\n"
	       "  --kills N       of holders, of signallers, and of the broker (default %d)\n"
	       "  --slices N      pass so many from process to process (default %d)\n"
	       "  --quick         few sizes and iterations, small numbers\n"
	       "  --check         exit with 1 when a goal is not met, with 2 when one was not measured\n"
	       "  --json          results as JSON on standard output, the rest on standard error\n"
	       "  --help          this text\n\n"
	       "On a GPU a context is current all the time, for our calls and for the raw ones. Of fewer\n"
	       "than 100 turns, p99 is the largest value.\n\n"
	       "Exit codes: 0 done, 1 failed, 2 cannot run here or wrong use.\n",
		SIZES, ITERATIONS, OBJECTS, CLIENTS, KILLS, SLICES);
	return EXIT_DONE;
}

int bench_add_result(struct bench *bench, const struct bench_result *result)
{
	if (bench->count == bench->capacity) {
		size_t capacity = bench->capacity ? 2 * bench->capacity : 64;
		struct bench_result *grown = realloc(bench->results, capacity * sizeof(*grown));

		if (!grown)
			return complain("out of memory");
		bench->results = grown;
		bench->capacity = capacity;
	}
	bench->results[bench->count++] = *result;
	return 0;
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

static int parse_sizes(struct bench *bench, const char *list)
{
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

/* Takes one option; returns -1, or the exit code when the run ends here. */
static int parse_option(struct bench *bench, int result, char *argv[])
{
	int refused = 0;

	switch (result) {
	case 'h':
		return print_help();
	case 'd':
		bench->device_name = optarg;
		break;
	case 's':
		refused = parse_sizes(bench, optarg);
		break;
	case 'i':
		refused = option_number("iterations", optarg, 1, ITERATIONS_MAX,
			&bench->iterations);
		break;
	case 'o':
		refused = option_number("objects", optarg, 4, OBJECTS_MAX, &bench->objects);
		break;
	case 'C':
		refused = option_number("clients", optarg, 1, CLIENTS_MAX, &bench->clients);
		break;
	case 'k':
		refused = option_number("kills", optarg, 1, KILLS_MAX, &bench->kills);
		break;
	case 'S':
		refused = option_number("slices", optarg, 1, SLICES_MAX, &bench->slices);
		break;
	case 'q':
		bench->quick = true;
		break;
	case 'c':
		bench->check = true;
		break;
	case 'j':
		bench->json = true;
		break;
	default:
		refused = option_refuse(result, argv, options);
	}
	return refused ? refused : -1;
}

static const struct group *find_group(const char *name)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		if (!strcmp(name, groups[i].name))
			return &groups[i];
	}
	return NULL;
}

static int refuse_group(const char *name)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < GROUP_COUNT && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
			groups[i].name);
	return refuse("unknown group '%s'; groups are %s", name, list);
}

static int parse(int argc, char *argv[], struct bench *bench)
{
	int result;

	opterr = 0;
	while ((result = getopt_long(argc, argv, OPTION_SHORT, options, NULL)) != -1) {
		int code = parse_option(bench, result, argv);

		if (code >= 0)
			return code;
	}
	for (int i = optind; i < argc; i++) {
		if (!find_group(argv[i]))
			return refuse_group(argv[i]);
	}
	if (bench->size_count == 0)
		parse_sizes(bench, bench->quick ? SIZES_QUICK : SIZES);
	if (bench->iterations == 0)
		bench->iterations = bench->quick ? ITERATIONS_QUICK : ITERATIONS;
	if (bench->objects == 0)
		bench->objects = bench->quick ? OBJECTS_QUICK : OBJECTS;
	if (bench->clients == 0)
		bench->clients = bench->quick ? CLIENTS_QUICK : CLIENTS;
	if (bench->kills == 0)
		bench->kills = bench->quick ? KILLS_QUICK : KILLS;
	if (bench->slices == 0)
		bench->slices = bench->quick ? SLICES_QUICK : SLICES;
	bench->budget_ns = bench->quick ? BUDGET_QUICK_NS : BUDGET_NS;
	return -1;
}

/* No words: all groups. Each group runs once, however often it is named. */
static int run_groups(struct bench *bench, char *words[], int count)
{
	for (size_t g = 0; g < GROUP_COUNT; g++) {
		bool wanted = count == 0;

		for (int i = 0; i < count; i++)
			wanted = wanted || find_group(words[i]) == &groups[g];
		if (wanted && groups[g].run(bench))
			return -1;
	}
	return 0;
}

int verb_bench(int argc, char *argv[])
{
	struct bench bench = {0};
	OWN(diversion) struct diversion diversion = DIVERSION_NONE;
	int code = parse(argc, argv, &bench);

	if (code >= 0)
		return code;
	if (bench.json && diversion_start(&diversion))
		return EXIT_FAILED;
	code = device_choose(bench.device_name, &bench.device, &bench.info);
	if (code == 0 && run_groups(&bench, argv + optind, argc - optind))
		code = EXIT_FAILED;
	diversion_end(&diversion);
	if (code == 0)
		code = bench_report(&bench) ? EXIT_FAILED : bench_verdict(&bench);
	ww_device_unref(bench.device);
	free(bench.results);
	return code;
}

int verb_bench_child(int argc, char *argv[])
{
	const struct group *group = argc > 1 ? find_group(argv[1]) : NULL;

	voice_set("bench", "child");
	child_begin();
	if (!group)
		return refuse("this verb is for processes that `warpway bench` starts itself");
	return group->child(argc - 1, argv + 1);
}
