/* SPDX-License-Identifier: Apache-2.0 */
#include "base/unit_test.h"

#include "base/error.h"
#include "pool/slice_token.h"

/* A call that gets the next slice of the name has not failed. */
UNIT_TEST(tries_leave_the_record)
{
	struct ww_slice_tries tries;

	(void)ww_fail(WW_ERR_QUOTA, "before");
	ww_slice_tries_begin(&tries, 0);
	assert_true(ww_slice_tries_go_on(&tries, ww_fail_slice_gone(), 1));
	assert_int_equal(WW_ERR_QUOTA, ww_error_last()->status);
	assert_true(ww_slice_tries_go_on(&tries, ww_fail_slice_gone(), 2));
	assert_false(ww_slice_tries_go_on(&tries, ww_fail_slice_gone(), 2));
	assert_int_equal(WW_ERR_NOT_FOUND, ww_error_last()->status);
	assert_false(ww_slice_tries_go_on(&tries, WW_OK, 3));
}

/* The time is over after the first try, and that a name may be waited for is not. */
UNIT_TEST(tries_go_on_with_a_time_limit)
{
	struct ww_slice_tries tries;

	ww_slice_tries_begin(&tries, 1);
	assert_true(ww_slice_tries_go_on(&tries, ww_fail_slice_gone(), 1));
	assert_int_equal(1, ww_slice_tries_left_ns(&tries));
	ww_slice_tries_begin(&tries, 0);
	assert_true(ww_slice_tries_go_on(&tries, ww_fail_slice_gone(), 1));
	assert_int_equal(0, ww_slice_tries_left_ns(&tries));
}

UNIT_MAIN("slice_token")
