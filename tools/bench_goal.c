/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_goal.c - what may cost how much, and what a run's exit code is
 *
 * A goal is the largest median allowed, computed from the floor of the same run. Nothing here touches a
 * device.
 */
#include "bench.h"

#define SMALL_BYTES (UINT64_C(2) << 20)
#define LARGE_BYTES (UINT64_C(16) << 30)

static double small_import_goal(double floor_p50)
{
	return floor_p50 + 10;
}

static double large_import_goal(double floor_p50)
{
	return floor_p50 * 1.05;
}

bench_goal *bench_import_goal(uint32_t backend, uint64_t bytes)
{
	if (backend != WW_BACKEND_CUDA)
		return NULL;
	if (bytes == SMALL_BYTES)
		return small_import_goal;
	return bytes == LARGE_BYTES ? large_import_goal : NULL;
}

double bench_exchange_goal(double floor_p50)
{
	return 3 * floor_p50;
}

double bench_lookup_goal(double empty)
{
	return 2 * empty;
}

double bench_listing_goal(double half)
{
	return 2 * 1.5 * half;
}

double bench_slice_goal(double floor_p50)
{
	(void)floor_p50;
	return 200;
}

double bench_hand_over_goal(double floor_p50)
{
	(void)floor_p50;
	return 5;
}

double bench_mapped_goal(double floor_p50)
{
	(void)floor_p50;
	return 2;
}

double bench_foreign_goal(double floor_p50)
{
	return floor_p50 + 10;
}

int bench_met(const struct bench_result *result)
{
	return isnan(result->goal) ? -1 : result->p50 <= result->goal;
}

int bench_verdict(const struct bench *bench)
{
	size_t goals = 0;
	size_t missed = 0;

	if (bench->count == 0 && bench->groups_skipped)
		return refuse("nothing was measured: what was asked for needs another device");
	if (bench->count == 0)
		return refuse("nothing was measured: no size that was asked for has room");
	for (size_t i = 0; bench->check && i < bench->count; i++) {
		const struct bench_result *result = &bench->results[i];
		int met = bench_met(result);

		goals += met >= 0;
		missed += met == 0;
		if (met == 0)
			complain("%s takes %.1f %s, more than the %.1f allowed", result->name,
				result->p50, result->unit, result->goal);
	}
	if (missed)
		return EXIT_FAILED;
	if (bench->check && bench->goals_skipped)
		return refuse("--check: %zu of the sizes that have a goal had no room",
			bench->goals_skipped);
	if (bench->check && goals == 0)
		return refuse(
			"--check: nothing that was measured has a goal; on a GPU the sizes 2MiB "
			"and 16GiB have one, and the groups broker, sync, pool and foreign have "
			"some");
	return EXIT_DONE;
}
