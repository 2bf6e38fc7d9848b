/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_table_test.c - what a slot says of its owner's tokens
 */
#include "base/unit_test.h"

#include "base/clock.h"
#include "pool/slice_table.h"

#define S   UINT64_C(1000000000)
#define DAY (24 * 3600 * S)

UNIT_TEST(open_and_over)
{
	assert_true(ww_escrow_is_open(WW_ESCROW_OWNER_HAS, 1000, UINT64_MAX));
	assert_false(ww_escrow_is_open(WW_ESCROW_OVER, 0, 0));
	assert_false(ww_escrow_is_open(WW_ESCROW_OVER, 0, 5 * S));
}

UNIT_TEST(ends_with_imports)
{
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t escrow = ww_escrow(3, now_ns + 60 * S);

	assert_true(ww_escrow_is_open(escrow, 2, now_ns));
	assert_true(ww_escrow_is_open(escrow, 2, 0));
	assert_false(ww_escrow_is_open(escrow, 3, now_ns));
	assert_false(ww_escrow_is_open(escrow, 3, 0));
	/* More than it counts is as many as may be. */
	escrow = ww_escrow(WW_ESCROW_UNCOUNTED, now_ns + 60 * S);
	assert_true(ww_escrow_is_open(escrow, WW_ESCROW_UNCOUNTED, now_ns));
	escrow = ww_escrow(UINT64_MAX, now_ns + 60 * S);
	assert_true(ww_escrow_is_open(escrow, 1000000, now_ns));
	escrow = ww_escrow(WW_ESCROW_UNCOUNTED - 1, now_ns + 60 * S);
	assert_false(ww_escrow_is_open(escrow, WW_ESCROW_UNCOUNTED - 1, now_ns));
}

/* Never too early, and hardly too late. */
UNIT_TEST(ends_in_time)
{
	static const uint64_t after[] = {1, 1000, S / 50, S, 60 * S, 40 * 3600 * S, 1000 * DAY};
	uint64_t now_ns = ww_clock_now_ns();

	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		/*
		 * Not so soon that the clock may pass it meanwhile: it is then over when it is
		 * written.
		 */
		uint64_t until_ns = now_ns + 3600 * S + after[i];
		uint64_t escrow = ww_escrow(1, until_ns);

		assert_true(ww_escrow_is_open(escrow, 0, now_ns));
		assert_true(ww_escrow_is_open(escrow, 0, until_ns));
		assert_false(ww_escrow_is_open(escrow, 0, until_ns + 256));
		assert_true(ww_escrow_is_open(escrow, 0, 0));
	}
}

/* Whenever somebody looks. */
UNIT_TEST(stays_over)
{
	uint64_t until_ns = ww_clock_now_ns() + 60 * S;
	uint64_t escrow = ww_escrow(1, until_ns);

	for (uint64_t hours = 1; hours < 24 * 365; hours++)
		assert_false(ww_escrow_is_open(escrow, 0, until_ns + hours * 3600 * S));
	assert_false(ww_escrow_is_open(escrow, 0, UINT64_MAX));
}

/* The process that writes it may be late. */
UNIT_TEST(is_over_when_written)
{
	uint64_t now_ns = ww_clock_now_ns();

	assert_int_equal(WW_ESCROW_OVER, ww_escrow(1, 1));
	assert_int_equal(WW_ESCROW_OVER, ww_escrow(1, now_ns - S / 50));
}

/* What is past the clock's end has none. */
UNIT_TEST(never_ends)
{
	assert_true(ww_escrow_is_open(ww_escrow(1, WW_NEVER), 0, UINT64_MAX));
	assert_true(ww_escrow_is_open(ww_escrow(1, WW_NEVER), 0, 0));
	assert_false(ww_escrow_is_open(ww_escrow(1, WW_NEVER), 1, 1));
}

UNIT_MAIN("table")
