/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn_test.c - starting a broker: what the program says, and what it is given
 *
 * The programs are scripts. None of them serves, so every start fails, each in its own words.
 */
#include "base/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "client/spawn.h"

#define SOON_NS UINT64_C(1000000000)
#define LONG_NS UINT64_C(60000000000)

static char folder[64];
static char program[96];
static struct ww_address address;

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/warpway-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/program", folder);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	setenv("WARPWAYD", program, 1);
	assert_ok(ww_address_own(&address));
	return 0;
}

static int remove_folder(void **state)
{
	char path[160];

	(void)state;
	unlink(program);
	snprintf(path, sizeof(path), "%s.start", address.path);
	unlink(path);
	snprintf(path, sizeof(path), "%s/warpway", folder);
	rmdir(path);
	return rmdir(folder);
}

static void write_program(const char *script)
{
	FILE *file = fopen(program, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(program, 0700), 0);
}

static ww_status start(uint64_t timeout_ns)
{
	struct ww_connection *connection;
	static const struct ww_caller caller = {.is_watcher = false};
	ww_status status = ww_start(&address, &caller, ww_clock_deadline_ns(timeout_ns),
		&connection);

	assert_null(connection);
	return status;
}

static ww_cancel *to_set;

static void *set_when_it_runs(void *path)
{
	while (access(path, F_OK) < 0)
		sched_yield();
	ww_cancel_set(to_set);
	return NULL;
}

static void assert_says(const char *part)
{
	if (!strstr(ww_error_last()->message, part))
		fail_msg("no \"%s\" in \"%s\"", part, ww_error_last()->message);
}

UNIT_TEST(no_program)
{
	unlink(program);
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("WARPWAYD");
}

UNIT_TEST(it_fails)
{
	write_program("echo \"failed: the moon is full\" >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("the moon is full");
}

/*
 * The program gets the address and the pipe, and no other descriptor, not even a standard stream.
 */
UNIT_TEST(what_it_is_given)
{
	write_program(
		"echo \"failed: $* $(readlink /proc/$$/fd/1) $(readlink /proc/$$/fd/2)\" >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says(address.path);
	assert_says("--leave-when-idle --ready-fd 3 /dev/null /dev/null");
	write_program("test -e /proc/$$/fd/77 && echo 'failed: 77' >&3; echo 'failed: clean' >&3");
	assert_int_equal(dup2(1, 77), 77);
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	close(77);
	assert_says("clean");
}

/* A daemon notifies its own service manager only. */
UNIT_TEST(notify_variables_are_removed)
{
	setenv("NOTIFY_SOCKET", "/run/notify", 1);
	setenv("LISTEN_FDS", "1", 1);
	setenv("LISTEN_PID", "1", 1);
	setenv("OTHER", "other", 1);
	write_program("echo \"failed: <$NOTIFY_SOCKET$LISTEN_FDS$LISTEN_PID$OTHER>\" >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("<other>");
	assert_string_equal(getenv("NOTIFY_SOCKET"), "/run/notify");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
}

UNIT_TEST(ready_but_not_there)
{
	write_program("echo ready >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("no broker listens");
	write_program("exit 0");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
}

/* What says nothing and stays is ended when the time is up. */
UNIT_TEST(it_hangs)
{
	write_program("exec sleep 1000");
	assert_fails(start(SOON_NS), WW_ERR_NO_BROKER);
	assert_says("in time");
}

/*
 * A caller that waits no longer starts none; and one that is cancelled while it waits ends what it
 * has started.
 */
UNIT_TEST(cancelled)
{
	char command[128];
	ww_cancel *cancel;
	pthread_t thread;

	assert_ok(ww_cancel_create(&cancel));
	snprintf(command, sizeof(command), "echo x > %s/run; exec sleep 1000", folder);
	write_program(command);
	snprintf(command, sizeof(command), "%s/run", folder);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		ww_cancel_set(cancel);
		assert_int_equal(start(LONG_NS), WW_CANCELLED);
		assert_int_equal(access(command, F_OK), -1);
	}
	ww_cancel_clear(cancel);
	to_set = cancel;
	assert_int_equal(pthread_create(&thread, NULL, set_when_it_runs, command), 0);
	{
		WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

		assert_int_equal(start(LONG_NS), WW_CANCELLED);
	}
	pthread_join(thread, NULL);
	assert_int_equal(waitpid(-1, NULL, 0), -1); /* no child is left */
	assert_int_equal(unlink(command), 0);
	ww_cancel_unref(cancel);
}

UNIT_MAIN_WITH("start", make_folder, remove_folder)
