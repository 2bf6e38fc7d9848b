/* SPDX-License-Identifier: Apache-2.0 */
/*
 * goal_test.c - what may cost how much, and what a run's exit code is
 */
#include "base/unit_test.h"

#include "bench/bench.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static double value(enum bench_goal goal, double floor)
{
	return bench_goal_value(goal, WW_BACKEND_HOST, floor);
}

static double import_value(uint32_t backend, uint64_t bytes, double floor)
{
	return bench_goal_value(bench_import_goal(bytes), backend, floor);
}

UNIT_TEST(imports_have_goals_on_a_gpu)
{
	assert_true(import_value(WW_BACKEND_CUDA, 2 * MIB, 0) == 10);
	assert_true(import_value(WW_BACKEND_CUDA, 2 * MIB, 100) == 110);
	assert_true(import_value(WW_BACKEND_CUDA, 16 * GIB, 0) == 0);
	assert_true(import_value(WW_BACKEND_CUDA, 16 * GIB, 1000) == 1050);
	assert_true(isnan(import_value(WW_BACKEND_CUDA, 4 * MIB, 1)));
	assert_true(isnan(import_value(WW_BACKEND_CUDA, 2 * MIB + 1, 1)));
	assert_true(isnan(import_value(WW_BACKEND_HOST, 2 * MIB, 1)));
	assert_true(isnan(import_value(WW_BACKEND_HOST, 16 * GIB, 1)));
}

UNIT_TEST(a_broker_may_cost_a_multiple)
{
	assert_true(value(BENCH_GOAL_EXCHANGE, 10) == 30);
	assert_true(value(BENCH_GOAL_LOOKUP, 10) == 20);
	assert_true(value(BENCH_GOAL_LISTING, 10) == 30);
	assert_true(isnan(value(BENCH_GOAL_LISTING, BENCH_NONE)));
}

UNIT_TEST(waits_have_goals_on_a_gpu)
{
	const enum bench_goal goal = BENCH_GOAL_ROUND_TRIP;

	assert_true(bench_goal_value(goal, WW_BACKEND_CUDA, 10) == 11);
	assert_true(isnan(bench_goal_value(goal, WW_BACKEND_HOST, 10)));
	assert_true(isnan(value(BENCH_GOAL_NONE, 10)));
}

UNIT_TEST(channels_have_goals)
{
	assert_true(value(BENCH_GOAL_RATE, 10) == 1000);
	assert_true(value(BENCH_GOAL_ONE_WAY, 10) == 20);
	assert_true(value(BENCH_GOAL_SIZE, 10) == 12);
	assert_true(value(BENCH_GOAL_SLOW, 10) == 12);
	assert_true(bench_goal_value(BENCH_GOAL_ONE_WAY_STREAM, WW_BACKEND_CUDA, 10) == 12);
	assert_true(isnan(value(BENCH_GOAL_ONE_WAY_STREAM, 10)));
	assert_true(bench_goal_value(BENCH_GOAL_PUBLISH, WW_BACKEND_CUDA, 0) == 3000);
	assert_true(bench_goal_value(BENCH_GOAL_PUBLISH_8, WW_BACKEND_CUDA, 0) == 10000);
	assert_true(isnan(value(BENCH_GOAL_PUBLISH, 0)));
}

UNIT_TEST(calls_have_goals)
{
	assert_true(value(BENCH_GOAL_CALL, 10) == 3);
	assert_true(value(BENCH_GOAL_CALL_ASLEEP, 10) == 25);
	assert_true(
		value(BENCH_GOAL_CALL_RATE, 10) > 3333 && value(BENCH_GOAL_CALL_RATE, 10) < 3334);
	assert_true(value(BENCH_GOAL_IDLE, 10) == 20);
}

static struct bench_result result_of(double p50, double goal)
{
	return (struct bench_result){.name = "test", .unit = "us", .p50 = p50, .goal = goal};
}

UNIT_TEST(goals_are_met_up_to_their_value)
{
	const struct bench_result results[] = {
		result_of(9, 10),
		result_of(10, 10),
		result_of(10.001, 10),
		result_of(10, BENCH_NONE),
	};

	assert_int_equal(bench_met(&results[0]), 1);
	assert_int_equal(bench_met(&results[1]), 1);
	assert_int_equal(bench_met(&results[2]), 0);
	assert_int_equal(bench_met(&results[3]), -1);
}

static int verdict(struct bench_result *results, size_t count, size_t goals_skipped, bool check)
{
	const struct bench bench = {
		.results = results,
		.count = count,
		.goals_skipped = goals_skipped,
		.check = check,
	};

	return bench_verdict(&bench);
}

UNIT_TEST(only_what_was_measured_succeeds)
{
	struct bench_result none = result_of(10, BENCH_NONE);

	assert_int_equal(verdict(NULL, 0, 0, false), EXIT_CANNOT);
	assert_int_equal(verdict(NULL, 0, 0, true), EXIT_CANNOT);
	assert_int_equal(verdict(&none, 1, 0, false), EXIT_DONE);
	assert_int_equal(verdict(&none, 1, 1, false), EXIT_DONE);
	assert_int_equal(verdict(&none, 1, 0, true), EXIT_CANNOT);
}

UNIT_TEST(checking_wants_every_goal_met)
{
	struct bench_result met[] = {result_of(10, BENCH_NONE), result_of(9, 10)};
	struct bench_result missed[] = {result_of(11, 10), result_of(9, 10)};

	assert_int_equal(verdict(met, 2, 0, true), EXIT_DONE);
	assert_int_equal(verdict(met, 2, 1, true), EXIT_CANNOT);
	assert_int_equal(verdict(missed, 2, 0, true), EXIT_FAILED);
	assert_int_equal(verdict(missed, 2, 1, true), EXIT_FAILED);
	assert_int_equal(verdict(missed, 2, 0, false), EXIT_DONE);
}

UNIT_TEST(mpi_has_goals)
{
	assert_true(bench_goal_value(BENCH_GOAL_MPI_NO_CONTEXT, WW_BACKEND_CUDA, 5) == 35);
	assert_true(bench_goal_value(BENCH_GOAL_MPI_16M, WW_BACKEND_CUDA, 3000) == 100);
	assert_true(bench_goal_value(BENCH_GOAL_MPI_NCCL, WW_BACKEND_CUDA, 10) == 30);
	assert_true(isnan(value(BENCH_GOAL_MPI_NCCL, 10)));
}

UNIT_TEST(slices_have_goals_on_every_machine)
{
	assert_true(value(BENCH_GOAL_SLICE, BENCH_NONE) == 200);
	assert_true(value(BENCH_GOAL_HAND_OVER, 1) == 5);
	assert_true(value(BENCH_GOAL_MAPPED, BENCH_NONE) == 2);
	assert_true(value(BENCH_GOAL_FOREIGN, 90) == 100);
}

UNIT_TEST(a_suite_that_cannot_run_here_is_told_from_want_of_room)
{
	struct bench bench = {.suites_skipped = 1};

	assert_int_equal(bench_verdict(&bench), EXIT_CANNOT);
}

UNIT_MAIN("goal")
