/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_test.c - what a child made by fork() has of its parent's state
 */
#include "base/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "base/ref.h"

static int counter WW_PER_PROCESS = 5;
static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_ref inherited;

/* The status with which a child exits that does this. */
static int in_child(int (*act)(void))
{
	int report;
	pid_t child = fork();

	if (child == 0)
		_exit(act());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &report, 0), child);
	assert_true(WIFEXITED(report));
	return WEXITSTATUS(report);
}

static int enter(void)
{
	return -ww_process_enter();
}

/* Return: 0; the line that failed. */
static int look_at_state(void)
{
	if (counter != 5)
		return __LINE__;
	if (pthread_mutex_trylock(&lock) != 0)
		return __LINE__;
	counter = 7;
	return 0;
}

static int look_at_ref(void)
{
	struct ww_ref own;

	if (ww_ref_check(&inherited, "a thing") != WW_ERR_FORKED)
		return __LINE__;
	if (!strstr(ww_error_last()->message, "a thing of the parent process"))
		return __LINE__;
	if (!ww_ref_try_get(&inherited) || ww_ref_put(&inherited))
		return __LINE__;
	if (ww_ref_put(&inherited) || ww_ref_put(&inherited))
		return __LINE__;
	ww_ref_init(&own);
	if (ww_ref_check(&own, "a thing") != WW_OK || !ww_ref_put(&own))
		return __LINE__;
	return 0;
}

static int look_in_grandchild(void)
{
	int failed = look_at_ref();

	return failed ? failed : in_child(look_at_ref);
}

UNIT_TEST(test_variables_are_initial)
{
	counter = 6;
	pthread_mutex_lock(&lock);
	assert_int_equal(in_child(look_at_state), 0);
	assert_int_equal(counter, 6);
	assert_int_equal(pthread_mutex_trylock(&lock), EBUSY);
	pthread_mutex_unlock(&lock);
}

UNIT_TEST(test_inherited_are_not_counted)
{
	ww_ref_init(&inherited);
	assert_int_equal(in_child(look_at_ref), 0);
	assert_int_equal(in_child(look_in_grandchild), 0);
	assert_ok(ww_ref_check(&inherited, "a thing"));
	assert_true(ww_ref_put(&inherited));
}

UNIT_TEST(test_a_gpu_bars_children)
{
	assert_int_equal(in_child(enter), 0);
	ww_process_set_uses_gpu(true);
	assert_int_equal(in_child(enter), -WW_ERR_FORKED);
	assert_ok(ww_process_enter());
	ww_process_set_uses_gpu(false);
	assert_int_equal(in_child(enter), 0);
}

UNIT_MAIN("process")
