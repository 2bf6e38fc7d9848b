/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_measure.c - turns of our calls and the raw ones, and the results that are made of them
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define ITERATIONS_AT_LEAST 5
#define WARM_UP_TURNS       2

void pace_start(struct pace *pace, uint64_t iterations, uint64_t budget_ns)
{
	pace->iterations = iterations;
	pace->deadline_ns = link_now_ns() + budget_ns;
}

bool pace_goes_on(const struct pace *pace, uint64_t done)
{
	if (done >= pace->iterations)
		return false;
	return done < ITERATIONS_AT_LEAST || link_now_ns() < pace->deadline_ns;
}

/* One turn of each way. Who goes first follows no short period. */
static int take_turns(bench_turn turn, void *context, uint64_t number, uint64_t out_ns[BENCH_WAYS])
{
	int first = (int)(number * UINT64_C(0x9e3779b97f4a7c15) >> 63);

	return turn(context, first, &out_ns[first]) || turn(context, !first, &out_ns[!first]) ? -1
											      : 0;
}

int bench_measure(const struct bench *bench, bench_turn turn, void *context,
	struct samples out_samples[BENCH_WAYS])
{
	uint64_t ns[BENCH_WAYS] = {0};
	struct pace pace;

	for (uint64_t i = 0; i < WARM_UP_TURNS; i++) {
		if (take_turns(turn, context, i, ns))
			return -1;
	}
	pace_start(&pace, bench->iterations, bench->budget_ns);
	for (uint64_t i = 0; pace_goes_on(&pace, i); i++) {
		if (take_turns(turn, context, i, ns) ||
			samples_add(&out_samples[BENCH_OURS], ns[BENCH_OURS]) ||
			samples_add(&out_samples[BENCH_RAW], ns[BENCH_RAW]))
			return -1;
	}
	return 0;
}

int bench_add_in(struct bench *bench, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal)
{
	double scale = strcmp(unit, "ns") ? 1 : 1e3;
	double floor_p50 = floor ? samples_percentile_us(floor, 50) * scale : BENCH_NONE;
	struct bench_result result = {
		.unit = unit,
		.p50 = samples_percentile_us(ours, 50) * scale,
		.p99 = samples_percentile_us(ours, 99) * scale,
		.floor_p50 = floor_p50,
		.goal = goal ? goal(floor_p50) : BENCH_NONE,
	};

	snprintf(result.name, sizeof(result.name), "%s", name);
	return bench_add_result(bench, &result);
}

int bench_add(struct bench *bench, const char *name, struct samples *ours, struct samples *floor,
	bench_goal *goal)
{
	return bench_add_in(bench, name, "us", ours, floor, goal);
}
