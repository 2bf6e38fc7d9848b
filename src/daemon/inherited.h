/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.h - what a process of the daemon inherits: descriptors, signals, limits
 *
 * The first process inherits whatever its parent had. These functions bring it into the state that
 * the supervisor expects; the numbers of descriptors are in supervisor.h. Later processes inherit
 * that state from the supervisor.
 */
#ifndef WW_DAEMON_INHERITED_H
#define WW_DAEMON_INHERITED_H

#include <stdint.h>

#include <warpway/base.h>

/* Opens /dev/null for closed standard streams, so that no other descriptor gets their numbers. */
ww_status inherit_streams(void);

/* Unblocks all signals and resets their actions; SIGPIPE and SIGXFSZ are ignored. */
void inherit_signals(void);

/*
 * Closes all inherited descriptors except the standard streams and two others, which are moved
 * above the fixed numbers. @listener, @ready: -1: none; close-on-exec afterwards
 */
ww_status inherit_only(int *listener, int *ready);

/*
 * Moves a descriptor above the fixed numbers, close-on-exec. -1 stays -1. Return: WW_OK;
 * WW_ERR_LIMIT.
 */
ww_status inherit_aside(int *fd);

/*
 * Puts a descriptor at a fixed number, where it survives exec.
 * @fd:  one that is aside; closed, and -1 afterwards
 */
ww_status inherit_as(int *fd, int number);

/*
 * Raises the limit of open files as far as possible, and divides the numbers: the upper ones are
 * for the fdstore, the lower ones for sockets.
 */
ww_status inherit_limits(uint32_t *out_fdstore_first, uint32_t *out_fdstore_limit);

/*
 * Raises the limits of address space and file sizes as far as possible; warns if tables will be
 * full early.
 * Return: WW_OK; WW_ERR_LIMIT (they are too low for a broker).
 */
ww_status inherit_check_limits(void);

/*
 * Sets the limit of open files: a broker lowers it, see fdstore.c, and a supervisor needs all of
 * it.
 */
ww_status inherit_files(uint32_t count);

/* Return: the number above the highest that is open, at least @first; @limit if that is unknown. */
uint32_t inherit_top(uint32_t first, uint32_t limit);

/*
 * Copies a file into memory, see SUPERVISOR_CONFIG. @path: "": there is none, and the result is -1.
 */
ww_status inherit_config(const char *path, int *out_copy);

#endif
