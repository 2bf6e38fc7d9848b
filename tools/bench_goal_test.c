/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_goal_test.c - what may cost how much, and what a run's exit code is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static void imports_have_goals_on_a_gpu(void **state)
{
	bench_goal *small = bench_import_goal(WW_BACKEND_CUDA, 2 * MIB);
	bench_goal *large = bench_import_goal(WW_BACKEND_CUDA, 16 * GIB);

	(void)state;
	assert_non_null(small);
	assert_true(small(0) == 10 && small(100) == 110);
	assert_non_null(large);
	assert_true(large(0) == 0 && large(1000) == 1050);
	assert_null(bench_import_goal(WW_BACKEND_CUDA, 4 * MIB));
	assert_null(bench_import_goal(WW_BACKEND_CUDA, 2 * MIB + 1));
	assert_null(bench_import_goal(WW_BACKEND_HOST, 2 * MIB));
	assert_null(bench_import_goal(WW_BACKEND_HOST, 16 * GIB));
}

static void a_broker_may_cost_a_multiple(void **state)
{
	(void)state;
	assert_true(bench_exchange_goal(10) == 30);
	assert_true(bench_lookup_goal(10) == 20);
	assert_true(bench_listing_goal(10) == 30);
	assert_true(isnan(bench_listing_goal(BENCH_NONE)));
}

static struct bench_result result_of(double p50, double goal)
{
	return (struct bench_result){.name = "test", .unit = "us", .p50 = p50, .goal = goal};
}

static void goals_are_met_up_to_their_value(void **state)
{
	const struct bench_result results[] = {
		result_of(9, 10),
		result_of(10, 10),
		result_of(10.001, 10),
		result_of(10, BENCH_NONE),
	};

	(void)state;
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

static void only_what_was_measured_succeeds(void **state)
{
	struct bench_result none = result_of(10, BENCH_NONE);

	(void)state;
	assert_int_equal(verdict(NULL, 0, 0, false), EXIT_CANNOT);
	assert_int_equal(verdict(NULL, 0, 0, true), EXIT_CANNOT);
	assert_int_equal(verdict(&none, 1, 0, false), EXIT_DONE);
	assert_int_equal(verdict(&none, 1, 1, false), EXIT_DONE);
	assert_int_equal(verdict(&none, 1, 0, true), EXIT_CANNOT);
}

static void checking_wants_every_goal_met(void **state)
{
	struct bench_result met[] = {result_of(10, BENCH_NONE), result_of(9, 10)};
	struct bench_result missed[] = {result_of(11, 10), result_of(9, 10)};

	(void)state;
	assert_int_equal(verdict(met, 2, 0, true), EXIT_DONE);
	assert_int_equal(verdict(met, 2, 1, true), EXIT_CANNOT);
	assert_int_equal(verdict(missed, 2, 0, true), EXIT_FAILED);
	assert_int_equal(verdict(missed, 2, 1, true), EXIT_FAILED);
	assert_int_equal(verdict(missed, 2, 0, false), EXIT_DONE);
}

static void slices_have_goals_on_every_machine(void **state)
{
	(void)state;
	assert_true(bench_slice_goal(BENCH_NONE) == 200);
	assert_true(bench_hand_over_goal(1) == 5);
	assert_true(bench_mapped_goal(BENCH_NONE) == 2);
	assert_true(bench_foreign_goal(90) == 100);
}

static void a_group_that_cannot_run_here_is_told_from_want_of_room(void **state)
{
	struct bench bench = {.groups_skipped = 1};

	(void)state;
	assert_int_equal(bench_verdict(&bench), EXIT_CANNOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(imports_have_goals_on_a_gpu),
		cmocka_unit_test(a_broker_may_cost_a_multiple),
		cmocka_unit_test(slices_have_goals_on_every_machine),
		cmocka_unit_test(goals_are_met_up_to_their_value),
		cmocka_unit_test(only_what_was_measured_succeeds),
		cmocka_unit_test(a_group_that_cannot_run_here_is_told_from_want_of_room),
		cmocka_unit_test(checking_wants_every_goal_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
