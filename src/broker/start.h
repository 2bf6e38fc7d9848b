/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.h - what a process of the daemon is to do, as its command line says
 *
 *   warpwayd OPTION...      the first process: makes everything ready and becomes the keeper
 *   --role keeper ...       the keeper: also a broker whose keeper was killed becomes one
 *   --role broker ...       the broker, started by the keeper
 *
 * All are the same program, and what one hands to the next is written as arguments and read back here. The options
 * of the roles are not for people and stand in no manual.
 */
#ifndef WW_BROKER_START_H
#define WW_BROKER_START_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <warpway/base.h>

#include "base/runtime.h"

enum start_role {
	START_FIRST,
	START_KEEPER,
	START_BROKER
};

struct start {
	enum start_role role;
	char address[WW_RUNTIME_ADDRESS_BYTES]; /* absolute; "" in the first process: not said */
	char config[PATH_MAX];                  /* absolute; "": none */
	mode_t socket_mode;
	bool leaves_when_idle;
	int ready_fd;           /* see starter.h; -1: none */
	char program[PATH_MAX]; /* where this program is installed, for an upgrade */
	bool is_bound;          /* the socket's path is ours to remove; else systemd's */
	uint32_t vault_first;
	uint32_t vault_limit;
	uint32_t restarts;
	uint64_t started_ns;
	pid_t broker; /* of a keeper: one that runs already; 0: none */
};

/*
 * Return: WW_OK; WW_END (help or version was printed); WW_ERR_INVALID (@out_start then has ready_fd, if it could be read).
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
