/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - warpwayd: one program, four roles
 *
 *   first ──exec──> supervisor ──fork, exec──> broker ──clone, exec──> receiver, see receiver.h
 *                     ^                       │
 *                     └────────exec───────────┘ when the supervisor was killed
 *
 * The first process checks all that can be checked before anything is started: options,
 * configuration, address. Then it executes the program again as the supervisor, so that every
 * supervisor begins with the same small memory.
 *
 * The exit status is 0 if it served until it was no longer needed, or another process serves the
 * address; 1 if it could not serve; 2 if the command line is wrong.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "daemon/config.h"
#include "daemon/inherited.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/receiver_process.h"
#include "daemon/admin_log.h"
#include "daemon/broker/server.h"
#include "daemon/supervisor/listen_address.h"
#include "daemon/command_line.h"
#include "daemon/supervisor/start_notice.h"
#include "daemon/supervisor/systemd.h"

#define SELF             "/proc/self/exe"
#define EXIT_CANNOT      1
#define EXIT_USAGE       2
#define CONFIG_COPY_PATH "/proc/self/fd/6"

_Static_assert(SUPERVISOR_CONFIG == 6, "CONFIG_COPY_PATH names it");

WW_DEFINE_CLEANUP(struct config, config_free)

static ww_status start_become_supervisor(const struct start *start)
{
	struct start_line line;

	execv(SELF, start_write(start, START_SUPERVISOR, &line));
	return ww_fail_errno(errno, "/proc is needed", "cannot run %s as the supervisor", SELF);
}

/* Makes the copy of the configuration that the supervisor keeps, if it has no errors. */
static ww_status start_keep_config(const struct start *start)
{
	WW_CLEANUP(config_free_p) struct config *config = NULL;
	WW_AUTO_FD int copy = -1;

	if (start->config[0] == '\0')
		return WW_OK;
	ww_try(config_read(start->config, &config));
	ww_try(inherit_config(start->config, &copy));
	return inherit_as(&copy, SUPERVISOR_CONFIG);
}

/* Makes the socket listen. Return: WW_OK; WW_END (another process serves the address); an error. */
static ww_status start_take_address(struct start *start, int *listener)
{
	WW_AUTO_FD int lock = -1;

	if (*listener < 0) {
		ww_status status;

		if (start->address[0] == '\0')
			ww_try(ww_runtime_address(start->address));
		status = listen_address_claim(start->address, start->socket_mode, listener, &lock);
		if (status != WW_OK)
			return status;
		start->is_bound = true;
		ww_try(inherit_aside(listener));
		ww_try(inherit_aside(&lock));
		ww_try(inherit_as(&lock, SUPERVISOR_LOCK));
	}
	return inherit_as(listener, SUPERVISOR_LISTENER);
}

/* Everything that a supervisor begins with. Return: as start_take_address(). */
static ww_status start_prepare(struct start *start, int *listener)
{
	ssize_t length;

	ww_try(inherit_only(listener, &start->ready_fd));
	ww_try(inherit_check_limits());
	ww_try(inherit_limits(&start->fdstore_first, &start->fdstore_limit));
	ww_try(start_keep_config(start));
	/* An upgrade starts another program at this path. */
	length = readlink(SELF, start->program, sizeof(start->program) - 1);
	if (length < 0)
		return ww_fail_errno(errno, "/proc is needed", "cannot read %s", SELF);
	start->program[length] = '\0';
	start->started_ns = ww_clock_now_ns();
	return start_take_address(start, listener);
}

static int start_fail(struct start *start, int code)
{
	admin_log("%s", ww_error_last()->message);
	start_notice_failed(&start->ready_fd, ww_error_last()->message);
	return code;
}

/* Uses the socket that systemd passes, if no address was given on the command line. */
static ww_status start_find_listener(struct start *start, int *out_listener)
{
	*out_listener = -1;
	if (start->address[0] != '\0')
		return WW_OK;
	return systemd_listener(out_listener, start->address, sizeof(start->address));
}

static int first_run(struct start *start)
{
	int listener = -1;
	ww_status status;

	inherit_signals();
	if (inherit_streams() < 0 || start_find_listener(start, &listener) < 0)
		return start_fail(start, EXIT_CANNOT);
	if (start->ready_fd >= 0 && start_notice_leave() < 0)
		return start_fail(start, EXIT_CANNOT);
	status = start_prepare(start, &listener);
	if (status == WW_END) {
		admin_log("already served by another process: %s", start->address);
		start_notice_ready(&start->ready_fd);
		return 0;
	}
	if (status == WW_OK && start->ready_fd >= 0) {
		status = inherit_as(&start->ready_fd, SUPERVISOR_STARTER);
		start->ready_fd = SUPERVISOR_STARTER;
	}
	if (status == WW_OK)
		start_become_supervisor(start);
	if (start->is_bound)
		listen_address_remove(start->address, SUPERVISOR_LOCK);
	return start_fail(start, EXIT_CANNOT);
}

/* The supervisor was killed: this broker has all descriptors, and becomes the supervisor. */
static int broker_become_supervisor(struct start *start)
{
	start->restarts++;
	start->ready_fd = -1;
	start->broker = 0;
	admin_log("the supervisor has ended; process %d takes its place", (int)getpid());
	start_become_supervisor(start);
	admin_log("%s", ww_error_last()->message);
	return SERVER_CANNOT;
}

static int broker_run(struct start *start)
{
	WW_CLEANUP(config_free_p) struct config *config = NULL;
	struct server_setup setup = {
		.supervisor = SUPERVISOR_SOCKET,
		.listener = SUPERVISOR_LISTENER,
		.fdstore_first = start->fdstore_first,
		.fdstore_limit = start->fdstore_limit,
		.restarts = start->restarts,
		.started_ns = start->started_ns,
		.leaves_when_idle = start->leaves_when_idle,
		.address = start->address,
	};
	int outcome;

	if (config_read(start->config[0] != '\0' ? CONFIG_COPY_PATH : NULL, &config) < 0) {
		admin_log("%s (%s is %s)", ww_error_last()->message, CONFIG_COPY_PATH,
			start->config);
		return SERVER_CANNOT;
	}
	setup.config = config;
	outcome = server_run(&setup);
	return outcome == SERVER_SUPERVISOR_LOST ? broker_become_supervisor(start) : outcome;
}

int main(int count, char **arguments)
{
	static struct start start;
	ww_status status = start_read(count, arguments, &start);

	if (status == WW_END)
		return 0;
	if (status < 0)
		return start_fail(&start, EXIT_USAGE);
	switch (start.role) {
	case START_SUPERVISOR:
		return supervisor_run(&start);
	case START_BROKER:
		return broker_run(&start);
	case START_RECEIVER:
		return receiver_process_run();
	default:
		return first_run(&start);
	}
}
