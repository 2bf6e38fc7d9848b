/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock_test.c - deadlines saturate and never run backwards
 */
#include "base/unit_test.h"

#include "base/clock.h"

UNIT_TEST(deadlines)
{
	uint64_t before = ww_clock_now_ns();
	uint64_t deadline = ww_clock_deadline_ns(1000);
	uint64_t after = ww_clock_now_ns();

	assert_true(deadline >= before + 1000 && deadline <= after + 1000);
	assert_true(ww_clock_deadline_ns(UINT64_MAX) == WW_NEVER);
	assert_true(ww_clock_deadline_ns(UINT64_MAX - 1) == WW_NEVER);
	assert_true(ww_clock_sooner_ns(1000, before) == before);
	assert_true(ww_clock_sooner_ns(1000, WW_NEVER) <= ww_clock_now_ns() + 1000);
}

UNIT_TEST(time_left)
{
	uint64_t hour = UINT64_C(3600) * 1000000000;
	struct timespec left;

	assert_null(ww_clock_left(WW_NEVER, &left));
	assert_non_null(ww_clock_left(0, &left));
	assert_int_equal(left.tv_sec, 0);
	assert_int_equal(left.tv_nsec, 0);
	assert_non_null(ww_clock_left(ww_clock_now_ns() + hour, &left));
	assert_true(left.tv_sec <= 3600 && left.tv_sec > 0);
	assert_true(left.tv_nsec >= 0 && left.tv_nsec < 1000000000);
}

UNIT_MAIN("clock")
