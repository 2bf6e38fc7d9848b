/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_lock_test.c - one at a time: waited for, handed on, freed by death
 */
#include "base/unit_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "client/start_lock.h"

#define LONG_NS UINT64_C(60000000000)

static char folder[64];
static char path[96];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/warpway-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s.start", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

UNIT_TEST(held)
{
	struct ww_start_lock ours = WW_START_LOCK_INIT;
	struct ww_start_lock theirs = WW_START_LOCK_INIT;
	ww_cancel *cancel;

	assert_ok(ww_start_lock_take(&ours, path, ww_clock_deadline_ns(LONG_NS)));
	assert_int_equal(ww_start_lock_take(&theirs, path, ww_clock_now_ns()), WW_TIMED_OUT);
	assert_int_equal(theirs.lock, -1);
	assert_ok(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_int_equal(ww_start_lock_take(&theirs, path, WW_NEVER), WW_CANCELLED);
		assert_int_equal(theirs.lock, -1);
		ww_start_lock_end(&ours);
		assert_ok(ww_start_lock_take(&theirs, path, WW_NEVER));
	}
	ww_start_lock_end(&theirs);
	ww_start_lock_end(&theirs); /* harmless */
	ww_cancel_unref(cancel);
}

static void *wait_for_it(void *context)
{
	struct ww_start_lock turn = WW_START_LOCK_INIT;
	ww_status *status = context;

	*status = ww_start_lock_take(&turn, path, ww_clock_deadline_ns(LONG_NS));
	ww_start_lock_end(&turn);
	return NULL;
}

UNIT_TEST(handed_on)
{
	struct ww_start_lock turn = WW_START_LOCK_INIT;
	ww_status statuses[3] = {1, 1, 1};
	pthread_t threads[3];

	assert_ok(ww_start_lock_take(&turn, path, WW_NEVER));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wait_for_it, &statuses[i]), 0);
	ww_start_lock_end(&turn);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_ok(statuses[i]);
	}
}

/* A child takes it, says so, and waits to be killed. */
static pid_t start_holder(int *out_told)
{
	struct ww_start_lock turn = WW_START_LOCK_INIT;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		if (ww_start_lock_take(&turn, path, WW_NEVER) == WW_OK &&
			write(ends[1], "1", 1) == 1)
			pause();
		_exit(1);
	}
	close(ends[1]);
	*out_told = ends[0];
	return child;
}

static void must_be_freed_by_death_of(pid_t child)
{
	ww_status status = 1;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &status), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	pthread_join(thread, NULL);
	assert_ok(status);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

UNIT_TEST(freed_by_death)
{
	char byte;
	int told;
	pid_t child = start_holder(&told);

	assert_int_equal(read(told, &byte, 1), 1);
	close(told);
	must_be_freed_by_death_of(child);
}

/* A child takes only the lock, without being a writer, and is killed: as one that dies half way. */
UNIT_TEST(freed_half_way)
{
	char byte = 0;
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDONLY | O_NONBLOCK);

		if (fd >= 0 && flock(fd, LOCK_EX) == 0 && write(ends[1], "1", 1) == 1)
			pause();
		_exit(1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	must_be_freed_by_death_of(child);
}

UNIT_TEST(refused)
{
	struct ww_start_lock turn = WW_START_LOCK_INIT;
	int fd;

	unlink(path);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_fails(ww_start_lock_take(&turn, path, WW_NEVER), WW_ERR_ACCESS);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_fails(ww_start_lock_take(&turn, path, WW_NEVER), WW_ERR_SYSTEM);
	unlink(path);
	assert_fails(ww_start_lock_take(&turn, "/nonexistent/x", WW_NEVER), WW_ERR_SYSTEM);
}

UNIT_MAIN_WITH("turn", make_folder, remove_folder)
