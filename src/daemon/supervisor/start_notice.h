/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_notice.h - tells the client that started this daemon whether it serves
 *
 * A client that finds no broker runs warpwayd with one end of a pipe. The daemon detaches from the
 * client at once. It writes one line into the pipe: "ready" when it serves, or "failed: REASON". If
 * the pipe ends without a line, the daemon was killed before.
 */
#ifndef WW_DAEMON_SUPERVISOR_START_NOTICE_H
#define WW_DAEMON_SUPERVISOR_START_NOTICE_H

#include <warpway/base.h>

/*
 * Continues in a child that has a session of its own, no terminal, and / as its folder. The parent
 * exits with 0.
 * Return: WW_OK (in the child); WW_ERR_LIMIT, WW_ERR_NO_MEMORY (no child).
 */
ww_status start_notice_leave(void);

/* Writes the line and closes the pipe; @fd is -1 afterwards. If it is -1 already, does nothing. */
void start_notice_ready(int *fd);
void start_notice_failed(int *fd, const char *reason);

#endif
