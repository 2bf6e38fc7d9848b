/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_test.h - what every unit test includes
 *
 * cmocka wants these headers before its own. A test file stands beside what it tests, needs one
 * process, no GPU and no sleep. It ends with UNIT_MAIN(), which runs its tests in their order.
 */
#ifndef WW_BASE_UNIT_TEST_H
#define WW_BASE_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/error.h"

#define UNIT_TESTS_MOST 64

__attribute__((unused)) static struct CMUnitTest unit_tests[UNIT_TESTS_MOST];
__attribute__((unused)) static size_t unit_test_count;

/*
 * Defines a test, which enters itself before main(), so that it is listed nowhere else. Its body
 * sees what the tests share in @state:
 *
 *   UNIT_TEST(an_empty_list_has_no_first_item)
 *   {
 *           assert_null(...);
 *   }
 */
#define UNIT_TEST(test_name) UNIT_TEST_WITH(test_name, NULL, NULL)

/* A test with functions of its own that are called before and after it. */
#define UNIT_TEST_WITH(test_name, set_up_test, tear_down_test)                             \
	static void test_name(void **state);                                               \
	__attribute__((constructor)) static void test_name##_enter(void)                   \
	{                                                                                  \
		static const struct CMUnitTest self = {#test_name, test_name, set_up_test, \
			tear_down_test, NULL};                                             \
                                                                                           \
		ww_assert(unit_test_count < UNIT_TESTS_MOST);                              \
		unit_tests[unit_test_count++] = self;                                      \
	}                                                                                  \
	static void test_name(__attribute__((unused)) void **state)

/* The same; its body has what set_up_test() puts into *state as @subject, "struct pair *pair". */
#define UNIT_TEST_ON(test_name, set_up_test, tear_down_test, subject) \
	static void test_name##_body(subject);                        \
	UNIT_TEST_WITH(test_name, set_up_test, tear_down_test)        \
	{                                                             \
		test_name##_body(*state);                             \
	}                                                             \
	static void test_name##_body(__attribute__((unused)) subject)

/* main() of a file of tests; with functions that are called before and after all of them. */
#define UNIT_MAIN(group) UNIT_MAIN_WITH(group, NULL, NULL)
#define UNIT_MAIN_WITH(group, set_up, tear_down)                                           \
	int main(void)                                                                     \
	{                                                                                  \
		return _cmocka_run_group_tests(group, unit_tests, unit_test_count, set_up, \
			tear_down);                                                        \
	}

/*
 * Ends a test that cannot run here. We do not use cmocka's skip(): the release in Debian 12 reports
 * it as a failure.
 */
#define UNIT_SKIP(why)                                                      \
	do {                                                                \
		print_message("# %s cannot run here: %s\n", __func__, why); \
		return;                                                     \
	} while (0)

/* For a pointer that malloc() gave: it is freed when its block ends. */
#define AUTO_FREE __attribute__((cleanup(unit_free)))

static inline void unit_free(void *pointer)
{
	free(*(void **)pointer);
}

/* A failure is printed with its record. */
#define assert_ok(call) unit_must_be_ok((call), #call, __FILE__, __LINE__)

static inline void unit_must_be_ok(ww_status status, const char *call, const char *file, int line)
{
	if (status == WW_OK)
		return;
	print_error("%s: %d, %s\n", call, status, status < 0 ? ww_error_last()->message : "");
	_fail(file, line);
}

/* The status, and the record that must go with it. */
#define assert_fails(call, expected)                                   \
	do {                                                           \
		assert_int_equal((call), (expected));                  \
		assert_int_equal(ww_error_last()->status, (expected)); \
		assert_true(ww_error_last()->message[0] != '\0');      \
	} while (0)

#endif
