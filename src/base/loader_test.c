/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader_test.c - children of fork() while other threads are inside of the dynamic linker
 */
#include "base/unit_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loader.h"

/* Without the mutex about one child in six crashes or hangs. */
#define CHILDREN 200
#define THREADS  2

#define CHILD_LIMIT_S 60 /* only ends a hang */

static _Atomic bool is_over;

static bool finds_nothing(void)
{
	return !ww_loader_open("libwarpway-no-such-file.so", RTLD_NOW | RTLD_LOCAL);
}

static void *look_again_and_again(void *unused)
{
	(void)unused;
	while (!atomic_load(&is_over))
		ww_assert(finds_nothing());
	return NULL;
}

static int load_in_child(void)
{
	void *library;
	bool is_right;

	alarm(CHILD_LIMIT_S);
	library = ww_loader_open("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	is_right = library && ww_loader_symbol(library, "cos") && finds_nothing();

	if (is_right)
		ww_loader_close(library);
	return is_right ? 0 : 1;
}

UNIT_TEST(children_while_others_load)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_again_and_again, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		int report;

		if (child == 0)
			_exit(load_in_child());
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &report, 0), child);
		assert_int_equal(report, 0);
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

UNIT_MAIN("loader")
