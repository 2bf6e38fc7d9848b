/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_test.c - a forked child is told so, and only if its parent had used the library
 */
#include "base/unit_test.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

/* What the child's first call answers; the child exits by its status alone. */
static int first_call_in_child(void)
{
	int report;
	pid_t child = fork();

	if (child == 0)
		_exit(ww_process_enter() == WW_OK ? 1 : ww_process_is_forked() ? 2 : 3);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &report, 0), child);
	assert_true(WIFEXITED(report));
	return WEXITSTATUS(report);
}

static void children(void **state)
{
	(void)state;
	assert_int_equal(first_call_in_child(), 1);
	assert_int_equal(ww_process_enter(), WW_OK);
	assert_int_equal(first_call_in_child(), 2);
	assert_int_equal(ww_process_enter(), WW_OK);
	assert_false(ww_process_is_forked());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children),
	};

	return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
