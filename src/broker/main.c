/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - warpwayd: one program, three roles
 *
 *   first ──exec──> keeper ──fork, exec──> broker
 *                     ^                       │
 *                     └────────exec───────────┘ when the keeper was killed
 *
 * The first process finds every fault that can be found before anything is started: options, configuration,
 * address. Then it executes the program again as the keeper, which begins with nothing in its memory but what it
 * needs, like every keeper after it.
 *
 * The exit status: 0, it served until it was no longer needed, or somebody else serves there; 1, it could not
 * serve; 2, the command line is wrong.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "broker/config.h"
#include "broker/inherit.h"
#include "broker/keeper.h"
#include "broker/say.h"
#include "broker/server.h"
#include "broker/socket.h"
#include "broker/start.h"
#include "broker/starter.h"
#include "broker/systemd.h"

#define SELF             "/proc/self/exe"
#define EXIT_CANNOT      1
#define EXIT_USAGE       2
#define CONFIG_COPY_PATH "/proc/self/fd/6"

_Static_assert(KEEPER_CONFIG == 6, "CONFIG_COPY_PATH names it");

WW_DEFINE_CLEANUP(struct config, config_free)

static ww_status become_keeper(const struct start *start)
{
	struct start_line line;

	execv(SELF, start_write(start, START_KEEPER, &line));
	return ww_fail_errno(errno, "/proc is needed", "cannot run %s as the keeper", SELF);
}

/* Where this program is installed: there an upgrade finds another one. */
static ww_status find_program(struct start *start)
{
	ssize_t length = readlink(SELF, start->program, sizeof(start->program) - 1);

	if (length < 0)
		return ww_fail_errno(errno, "/proc is needed", "cannot read %s", SELF);
	start->program[length] = '\0';
	return WW_OK;
}

/* The keeper keeps a copy of the file, and only if there is nothing wrong with it. */
static ww_status keep_config(const struct start *start)
{
	WW_CLEANUP(config_free_p) struct config *config = NULL;
	WW_AUTO_FD int copy = -1;

	if (start->config[0] == '\0')
		return WW_OK;
	ww_try(config_read(start->config, &config));
	ww_try(inherit_config(start->config, &copy));
	return inherit_as(&copy, KEEPER_CONFIG);
}

/* Makes the socket listen. Return: WW_OK; WW_END (somebody else serves there); an error. */
static ww_status take_address(struct start *start, int *listener)
{
	WW_AUTO_FD int lock = -1;

	if (*listener < 0) {
		ww_status status;

		if (start->address[0] == '\0')
			ww_try(ww_runtime_address(start->address));
		status = socket_claim(start->address, start->socket_mode, listener, &lock);
		if (status != WW_OK)
			return status;
		start->is_bound = true;
		ww_try(inherit_aside(listener));
		ww_try(inherit_aside(&lock));
		ww_try(inherit_as(&lock, KEEPER_LOCK));
	}
	return inherit_as(listener, KEEPER_LISTENER);
}

/* Everything that a keeper begins with. Return: as take_address(). */
static ww_status prepare(struct start *start, int *listener)
{
	ww_try(inherit_only(listener, &start->ready_fd));
	ww_try(inherit_limits(&start->vault_first, &start->vault_limit));
	ww_try(keep_config(start));
	ww_try(find_program(start));
	start->started_ns = ww_clock_now_ns();
	return take_address(start, listener);
}

static int fail(struct start *start, int code)
{
	say("%s", ww_error_last()->message);
	starter_failed(&start->ready_fd, ww_error_last()->message);
	return code;
}

/* The descriptor that systemd hands over counts only where no other address was asked for. */
static ww_status find_listener(struct start *start, int *out_listener)
{
	*out_listener = -1;
	if (start->address[0] != '\0')
		return WW_OK;
	return systemd_listener(out_listener, start->address, sizeof(start->address));
}

static int run_first(struct start *start)
{
	int listener = -1;
	ww_status status;

	inherit_signals();
	if (inherit_streams() < 0 || find_listener(start, &listener) < 0)
		return fail(start, EXIT_CANNOT);
	if (start->ready_fd >= 0 && starter_leave() < 0)
		return fail(start, EXIT_CANNOT);
	status = prepare(start, &listener);
	if (status == WW_END) {
		say("already served by another process: %s", start->address);
		starter_ready(&start->ready_fd);
		return 0;
	}
	if (status == WW_OK && start->ready_fd >= 0) {
		status = inherit_as(&start->ready_fd, KEEPER_STARTER);
		start->ready_fd = KEEPER_STARTER;
	}
	if (status == WW_OK)
		become_keeper(start);
	if (start->is_bound)
		socket_remove(start->address, KEEPER_LOCK);
	return fail(start, EXIT_CANNOT);
}

/* The keeper was killed: this process has every descriptor that counts, and takes its place. */
static int take_over(struct start *start)
{
	start->restarts++;
	start->ready_fd = -1;
	start->broker = 0;
	say("the keeper has ended; process %d takes its place", (int)getpid());
	become_keeper(start);
	say("%s", ww_error_last()->message);
	return SERVER_CANNOT;
}

static int run_broker(struct start *start)
{
	WW_CLEANUP(config_free_p) struct config *config = NULL;
	struct server_setup setup = {
		.keeper = KEEPER_SOCKET,
		.listener = KEEPER_LISTENER,
		.vault_first = start->vault_first,
		.vault_limit = start->vault_limit,
		.restarts = start->restarts,
		.started_ns = start->started_ns,
		.leaves_when_idle = start->leaves_when_idle,
		.address = start->address,
	};
	int outcome;

	if (config_read(start->config[0] != '\0' ? CONFIG_COPY_PATH : NULL, &config) < 0) {
		say("%s (%s is %s)", ww_error_last()->message, CONFIG_COPY_PATH, start->config);
		return SERVER_CANNOT;
	}
	setup.config = config;
	outcome = server_run(&setup);
	return outcome == SERVER_KEEPER_LOST ? take_over(start) : outcome;
}

int main(int count, char **arguments)
{
	static struct start start;
	ww_status status = start_read(count, arguments, &start);

	if (status == WW_END)
		return 0;
	if (status < 0)
		return fail(&start, EXIT_USAGE);
	switch (start.role) {
	case START_KEEPER:
		return keeper_run(&start);
	case START_BROKER:
		return run_broker(&start);
	default:
		return run_first(&start);
	}
}
