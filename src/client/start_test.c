/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_test.c - starting a broker: what the program says, and what it is given
 *
 * The programs are scripts. None of them serves, so every start fails, each in its own words.
 */
#include "base/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/start.h"

#define SOON_NS UINT64_C(300000000)
#define LONG_NS UINT64_C(20000000000)

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
	assert_int_equal(ww_address_own(&address), WW_OK);
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
	struct ww_link *link;
	static const struct ww_caller caller = {.is_watcher = false};
	ww_status status = ww_start(&address, &caller, ww_clock_deadline_ns(timeout_ns), &link);

	assert_null(link);
	return status;
}

static void assert_says(const char *part)
{
	if (!strstr(ww_error_last()->message, part))
		fail_msg("no \"%s\" in \"%s\"", part, ww_error_last()->message);
}

static void no_program(void **state)
{
	(void)state;
	unlink(program);
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("WARPWAYD");
}

static void it_fails(void **state)
{
	(void)state;
	write_program("echo \"failed: the moon is full\" >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("the moon is full");
}

/* It is given the address, the pipe, and nothing of ours: not even a standard stream. */
static void what_it_is_given(void **state)
{
	(void)state;
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

/* It has something to say to its own service manager only. */
static void whom_it_tells(void **state)
{
	(void)state;
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

static void ready_but_not_there(void **state)
{
	(void)state;
	write_program("echo ready >&3");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
	assert_says("no broker listens");
	write_program("exit 0");
	assert_fails(start(LONG_NS), WW_ERR_NO_BROKER);
}

/* What says nothing and stays is ended when the time is up. */
static void it_hangs(void **state)
{
	(void)state;
	write_program("exec sleep 1000");
	assert_fails(start(SOON_NS), WW_ERR_NO_BROKER);
	assert_says("in time");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_program),
		cmocka_unit_test(it_fails),
		cmocka_unit_test(what_it_is_given),
		cmocka_unit_test(whom_it_tells),
		cmocka_unit_test(ready_but_not_there),
		cmocka_unit_test(it_hangs),
	};

	return cmocka_run_group_tests_name("start", tests, make_folder, remove_folder);
}
