/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_line.h - the command line of a process of the daemon: its role and options
 *
 *   warpwayd OPTION...      the first process: prepares everything and becomes the supervisor
 *   --role supervisor ...   the supervisor; a broker whose supervisor was killed becomes one too
 *   --role broker ...       the broker, started by the supervisor
 *   --role receiver         receives descriptors for the broker, which starts it, see receiver.h
 *
 * All roles are the same program. One process passes its state to the next as arguments, which are
 * written and read here. The options of the roles are not for users, and no manual describes them.
 */
#ifndef WW_DAEMON_COMMAND_LINE_H
#define WW_DAEMON_COMMAND_LINE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <warpway/base.h>

#include "base/runtime_dir.h"

enum start_role {
	START_FIRST,
	START_SUPERVISOR,
	START_BROKER,
	START_RECEIVER
};

struct start {
	enum start_role role;
	char address[WW_RUNTIME_ADDRESS_BYTES]; /* absolute; "" in the first process: not given */
	char config[PATH_MAX];                  /* absolute; "": none */
	mode_t socket_mode;
	bool leaves_when_idle;
	int ready_fd;           /* see start_notice.h; -1: none */
	char program[PATH_MAX]; /* where this program is installed, for an upgrade */
	bool is_bound;          /* this daemon removes the socket's path; else systemd does */
	uint32_t fdstore_first;
	uint32_t fdstore_limit;
	uint32_t restarts;
	uint64_t started_ns;
	pid_t broker; /* of a supervisor: the broker that runs already; 0: none */
};

/*
 * Return: WW_OK; WW_END (help or version was printed); WW_ERR_INVALID (@out_start then has
 *         ready_fd, if it could be read).
 */
ww_status start_read(int count, char **arguments, struct start *out_start);

/* Room for a command line. */
struct start_line {
	char numbers[8][32];
	char *arguments[32]; /* ended by NULL, for execv() */
	uint32_t argument_count;
	uint32_t number_count;
};

/* The command line of another role; it points into @start and @line. */
char **start_write(const struct start *start, enum start_role role, struct start_line *line);

#endif
