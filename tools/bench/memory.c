/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the suite `memory`: create, export, import + map, unmap, release
 *
 * Two kinds of turns in this process: create and release; and export, each time of memory that was
 * never exported before. Imports are measured in a second process, which gets a descriptor once and
 * then imports and unmaps in turns through the library and through raw calls: each import finds the
 * memory unknown to the process, so each is a first one.
 */
#include "bench/bench.h"

#define WARM_UP_TURNS 3

/* Of all memory of a turn: what was asked for, as the device rounds it. */
static uint64_t bytes_of(const struct bench *bench)
{
	uint64_t granularity = bench->info.granularity ? bench->info.granularity : 1;

	return (bench->size + granularity - 1) / granularity * granularity;
}

static int ours_create_release(struct bench *bench, uint64_t out_ns[])
{
	ww_memory *memory;
	uint64_t at = link_now_ns();

	if (bench_memory_create(bench, bytes_of(bench), &memory))
		return -1;
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int raw_create_release(struct bench *bench, uint64_t out_ns[])
{
	struct raw *raw = bench->raw;
	struct raw_memory memory;
	uint64_t at = link_now_ns();

	if (raw->ops->create(raw, bytes_of(bench), &memory))
		return -1;
	out_ns[0] = bench_lap(&at);
	if (raw->ops->unmap(raw, &memory))
		return -1;
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int ours_export(struct bench *bench, uint64_t out_ns[])
{
	OWN(memory) ww_memory *memory = NULL;
	OWN(fd) int fd = -1;
	struct ww_memory_description description;
	uint64_t at;

	if (bench_memory_create(bench, bytes_of(bench), &memory))
		return -1;
	at = link_now_ns();
	if (ww_memory_export_fd(memory, WW_ACCESS_WRITE, &fd, &description) != WW_OK)
		return complain_record("export");
	out_ns[0] = bench_lap(&at);
	return 0;
}

static int raw_export(struct bench *bench, uint64_t out_ns[])
{
	struct raw *raw = bench->raw;
	OWN(fd) int fd = -1;
	struct raw_memory memory;
	uint64_t at;
	int result;

	if (raw->ops->create(raw, bytes_of(bench), &memory))
		return -1;
	at = link_now_ns();
	result = raw->ops->export_fd(raw, &memory, &fd);
	out_ns[0] = bench_lap(&at);
	return raw->ops->unmap(raw, &memory) ? -1 : result;
}

/* --- imports --- */

static int ours_import_unmap(struct bench *bench, uint64_t out_ns[])
{
	ww_memory *memory;
	uint64_t at = link_now_ns();

	if (ww_memory_import_fd(bench->device, bench->lent_fd, &bench->lent,
		    WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE),
		    &memory) != WW_OK)
		return complain_record("import");
	out_ns[0] = bench_lap(&at);
	ww_memory_unref(memory);
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int raw_import_unmap(struct bench *bench, uint64_t out_ns[])
{
	struct raw *raw = bench->raw;
	struct raw_memory memory;
	uint64_t at = link_now_ns();

	if (raw->ops->import_map(raw, bench->lent_fd, bytes_of(bench), &memory))
		return -1;
	out_ns[0] = bench_lap(&at);
	if (raw->ops->unmap(raw, &memory))
		return -1;
	out_ns[1] = bench_lap(&at);
	return 0;
}

static int lend_memory(struct bench *bench, ww_memory **out_memory)
{
	return bench_memory_create(bench, bytes_of(bench), out_memory);
}

/* --- all sizes --- */

/* On a GPU the second process needs room for its context; the CPU's memory is others' too. */
static int check_room(struct bench *bench, bool *out_has_room)
{
	char available[NUMBER_BYTES];
	uint64_t free_bytes;
	uint64_t limit;

	if (ww_device_free_bytes(bench->device, &free_bytes) != WW_OK)
		return complain_record("cannot ask %s for its free memory", bench->info.selector);
	limit = bench->info.backend == WW_BACKEND_HOST ? free_bytes / 4
						       : free_bytes - free_bytes / 8;
	*out_has_room = bench->size <= limit;
	if (*out_has_room)
		return 0;
	bench->goals_skipped += !isnan(
		bench_goal_value(bench_import_goal(bench->size), bench->info.backend, 0));
	number_size_text(free_bytes, available);
	say("memory.*.%s is skipped: %s has %s free, of which %s is used at most", bench->variant,
		bench->info.selector, available,
		bench->info.backend == WW_BACKEND_HOST ? "a quarter" : "7/8");
	return 0;
}

static int run_sizes(struct bench *bench)
{
	int result = 0;

	for (size_t i = 0; i < bench->size_count && !result; i++) {
		char name[NUMBER_BYTES];
		bool has_room = false;

		bench->size = bench->sizes[i];
		number_size_name(bench->size, name);
		bench->variant = name;
		result = check_room(bench, &has_room);
		if (!result && has_room)
			result = bench_cases_run(bench);
	}
	bench->variant = NULL;
	return result;
}

static const struct bench_case cases[] = {
	{.rows = {{"create", "us", .floor = BENCH_SERIES(BENCH_RAW, 0)},
		 {"release", "us", .series = BENCH_SERIES(BENCH_OURS, 1),
			 .floor = BENCH_SERIES(BENCH_RAW, 1)}},
		.turns = {ours_create_release, raw_create_release},
		.parts = 2,
		.warm_up = WARM_UP_TURNS},
	{.rows = {{"export", "us", .floor = BENCH_SERIES(BENCH_RAW, 0)}},
		.turns = {ours_export, raw_export},
		.warm_up = WARM_UP_TURNS},
	{.rows = {{"import_map", "us", .floor = BENCH_SERIES(BENCH_RAW, 0), .is_import = true},
		 {"unmap", "us", .series = BENCH_SERIES(BENCH_OURS, 1),
			 .floor = BENCH_SERIES(BENCH_RAW, 1)}},
		.turns = {ours_import_unmap, raw_import_unmap},
		.parts = 2,
		.warm_up = WARM_UP_TURNS,
		.lend = lend_memory},
};

const struct bench_suite bench_memory = {
	.name = "memory",
	.summary = "create, export, import + map, unmap, release",
	.needs = BENCH_NEED_RAW,
	BENCH_LIST(cases, cases, case_count),
	.run = run_sizes,
};
