/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_test.c - silent until asked, and then whole lines
 */
#include "base/unit_test.h"

#include <string.h>

#include "base/log.h"

static int calls;
static char last[WW_LOG_LINE_BYTES];

static void keep(void *context, const char *line)
{
	assert_ptr_equal(context, &calls);
	calls++;
	strncpy(last, line, sizeof(last) - 1);
}

UNIT_TEST(lines_reach_the_receiver)
{
	char text[2 * WW_LOG_LINE_BYTES];

	ww_log_debug("nobody hears %d", 1);
	assert_int_equal(calls, 0);
	ww_log_set(keep, &calls);
	ww_log_debug("value %d", 42);
	assert_string_equal(last, "value 42");
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ww_log_debug("%s", text);
	assert_int_equal(strlen(last), WW_LOG_LINE_BYTES - 1);
	ww_log_set(NULL, NULL);
	ww_log_debug("nobody hears");
	assert_int_equal(calls, 2);
}

UNIT_MAIN("log")
