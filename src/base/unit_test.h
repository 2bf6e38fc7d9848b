/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_test.h - what every unit test includes
 *
 * cmocka wants these headers before its own. A test file stands beside what it tests, needs one
 * process, no GPU and no sleep.
 */
#ifndef WW_BASE_UNIT_TEST_H
#define WW_BASE_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

/* The status, and the record that must go with it. */
#define assert_fails(call, expected)                                   \
	do {                                                           \
		assert_int_equal((call), (expected));                  \
		assert_int_equal(ww_error_last()->status, (expected)); \
		assert_true(ww_error_last()->message[0] != '\0');      \
	} while (0)

#endif
