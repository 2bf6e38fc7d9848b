/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_test.c - the record says what was tried, what the system answered and what to do
 */
#include "base/unit_test.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

UNIT_TEST(own_failure)
{
	assert_int_equal(ww_fail(WW_ERR_MISMATCH, "%d is not %d", 1, 2), WW_ERR_MISMATCH);
	assert_int_equal(ww_error_last()->status, WW_ERR_MISMATCH);
	assert_int_equal(ww_error_last()->domain, WW_DOMAIN_WARPWAY);
	assert_int_equal(ww_error_last()->native, 0);
	assert_string_equal(ww_error_last()->message, "1 is not 2");
}

/* However often a macro needs it. */
UNIT_TEST(status_is_evaluated_once)
{
	ww_status status = WW_ERR_INVALID;

	assert_int_equal(ww_fail(status--, "once"), WW_ERR_INVALID);
	assert_int_equal(ww_error_last()->status, WW_ERR_INVALID);
	assert_int_equal(status, WW_ERR_INVALID - 1);
}

UNIT_TEST(kernel_failure)
{
	assert_int_equal(ww_fail_errno(EMFILE, "close some", "cannot open %s", "x"), WW_ERR_LIMIT);
	assert_int_equal(ww_error_last()->domain, WW_DOMAIN_ERRNO);
	assert_int_equal(ww_error_last()->native, EMFILE);
	assert_string_equal(ww_error_last()->message,
		"cannot open x: Too many open files (EMFILE); close some");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){100, 200}), 0);
	ww_fail_errno(EMFILE, NULL, "no file");
	assert_string_equal(ww_error_last()->message,
		"no file: Too many open files (EMFILE); this process may have 100 descriptors; raise the "
		"limit (ulimit -n)");
	ww_fail_errno_as(WW_ERR_DESCRIPTOR, EINVAL, NULL, "no");
	assert_int_equal(ww_error_last()->status, WW_ERR_DESCRIPTOR);
	assert_string_equal(ww_error_last()->message, "no: Invalid argument (EINVAL)");
	ww_fail_errno(99999, NULL, "odd");
	assert_string_equal(ww_error_last()->message, "odd: unknown error (no name)");
}

UNIT_TEST(long_messages_are_cut)
{
	char text[1000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ww_fail_errno(ENOMEM, "and this is lost", "%s", text);
	assert_int_equal(strlen(ww_error_last()->message), WW_ERROR_MESSAGE_BYTES - 1);
	assert_int_equal(ww_error_last()->status, WW_ERR_NO_MEMORY);
}

UNIT_TEST(record_may_be_its_own_argument)
{
	ww_fail(WW_ERR_INVALID, "inner");
	ww_fail(WW_ERR_INVALID, "outer: %s", ww_error_last()->message);
	assert_string_equal(ww_error_last()->message, "outer: inner");
}

UNIT_TEST(saved_and_restored)
{
	struct ww_error record;

	ww_fail(WW_ERR_ACCESS, "before");
	ww_error_save(&record);
	ww_fail(WW_ERR_DEVICE, "meanwhile");
	ww_error_restore(&record);
	assert_int_equal(ww_error_last()->status, WW_ERR_ACCESS);
	assert_string_equal(ww_error_last()->message, "before");
}

UNIT_TEST(every_status_has_a_name)
{
	for (ww_status status = WW_ERR_DEPENDENCY_FAILED; status <= WW_CANCELLED; status++) {
		assert_string_not_equal(ww_status_name(status), "WW_UNKNOWN");
		assert_string_not_equal(ww_status_text(status), "unknown status");
	}
	assert_string_equal(ww_status_name(WW_ERR_DEPENDENCY_FAILED - 1), "WW_UNKNOWN");
	assert_string_equal(ww_status_name(WW_CANCELLED + 1), "WW_UNKNOWN");
	assert_string_equal(ww_status_name(WW_ERR_ACCESS), "WW_ERR_ACCESS");
	assert_string_equal(ww_version(), WW_VERSION);
}

UNIT_MAIN("error")
