/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_test.c - the record says what was tried, what the system answered and what to do
 */
#include "base/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static void own_failure(void **state)
{
	(void)state;
	assert_int_equal(ww_fail(WW_ERR_MISMATCH, "%d is not %d", 1, 2), WW_ERR_MISMATCH);
	assert_int_equal(ww_error_last()->status, WW_ERR_MISMATCH);
	assert_int_equal(ww_error_last()->domain, WW_DOMAIN_WARPWAY);
	assert_int_equal(ww_error_last()->native, 0);
	assert_string_equal(ww_error_last()->message, "1 is not 2");
}

/* However often a macro needs it. */
static void status_is_evaluated_once(void **state)
{
	ww_status status = WW_ERR_INVALID;

	(void)state;
	assert_int_equal(ww_fail(status--, "once"), WW_ERR_INVALID);
	assert_int_equal(ww_error_last()->status, WW_ERR_INVALID);
	assert_int_equal(status, WW_ERR_INVALID - 1);
}

static void kernel_failure(void **state)
{
	(void)state;
	assert_int_equal(ww_fail_errno(EMFILE, "close some", "cannot open %s", "x"), WW_ERR_LIMIT);
	assert_int_equal(ww_error_last()->domain, WW_DOMAIN_ERRNO);
	assert_int_equal(ww_error_last()->native, EMFILE);
	assert_string_equal(ww_error_last()->message,
		"cannot open x: Too many open files (EMFILE); close some");
	ww_fail_errno_as(WW_ERR_DESCRIPTOR, EINVAL, NULL, "no");
	assert_int_equal(ww_error_last()->status, WW_ERR_DESCRIPTOR);
	assert_string_equal(ww_error_last()->message, "no: Invalid argument (EINVAL)");
	ww_fail_errno(99999, NULL, "odd");
	assert_string_equal(ww_error_last()->message, "odd: unknown error (no name)");
}

static void long_messages_are_cut(void **state)
{
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ww_fail_errno(ENOMEM, "and this is lost", "%s", text);
	assert_int_equal(strlen(ww_error_last()->message), WW_ERROR_MESSAGE_BYTES - 1);
	assert_int_equal(ww_error_last()->status, WW_ERR_NO_MEMORY);
}

static void record_may_be_its_own_argument(void **state)
{
	(void)state;
	ww_fail(WW_ERR_INVALID, "inner");
	ww_fail(WW_ERR_INVALID, "outer: %s", ww_error_last()->message);
	assert_string_equal(ww_error_last()->message, "outer: inner");
}

static void *other_thread(void *argument)
{
	(void)argument;
	ww_fail(WW_ERR_DEVICE, "theirs");
	return NULL;
}

static void each_thread_has_its_own(void **state)
{
	pthread_t thread;

	(void)state;
	ww_fail(WW_ERR_ACCESS, "mine");
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(ww_error_last()->message, "mine");
}

static void saved_and_restored(void **state)
{
	struct ww_error record;

	(void)state;
	ww_fail(WW_ERR_ACCESS, "before");
	ww_error_save(&record);
	ww_fail(WW_ERR_DEVICE, "meanwhile");
	ww_error_restore(&record);
	assert_int_equal(ww_error_last()->status, WW_ERR_ACCESS);
	assert_string_equal(ww_error_last()->message, "before");
}

static void every_status_has_a_name(void **state)
{
	(void)state;
	for (ww_status status = WW_ERR_DEPENDENCY_FAILED; status <= WW_CANCELLED; status++) {
		assert_string_not_equal(ww_status_name(status), "WW_UNKNOWN");
		assert_string_not_equal(ww_status_text(status), "unknown status");
	}
	assert_string_equal(ww_status_name(WW_ERR_DEPENDENCY_FAILED - 1), "WW_UNKNOWN");
	assert_string_equal(ww_status_name(WW_CANCELLED + 1), "WW_UNKNOWN");
	assert_string_equal(ww_status_name(WW_ERR_ACCESS), "WW_ERR_ACCESS");
	assert_string_equal(ww_version(), WW_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_failure),
		cmocka_unit_test(status_is_evaluated_once),
		cmocka_unit_test(kernel_failure),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(record_may_be_its_own_argument),
		cmocka_unit_test(each_thread_has_its_own),
		cmocka_unit_test(saved_and_restored),
		cmocka_unit_test(every_status_has_a_name),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
