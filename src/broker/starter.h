/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starter.h - the client that started this daemon, and what it is told
 *
 * A client that finds no broker runs warpwayd with one end of a pipe. The daemon becomes a process of its own at
 * once; one line in the pipe says when it serves ("ready") or that it cannot ("failed: REASON"). The pipe's end
 * without a line: it was killed on the way.
 */
#ifndef WW_BROKER_STARTER_H
#define WW_BROKER_STARTER_H

#include <warpway/base.h>

/*
 * Goes on in a child that belongs to no session, terminal or folder of the caller's; the parent exits with 0.
 * Return: WW_OK (in the child); WW_ERR_LIMIT, WW_ERR_NO_MEMORY (no child).
 */
ww_status starter_leave(void);

/* Says so and closes the pipe; nothing where @fd is -1, which it is afterwards. */
void starter_ready(int *fd);
void starter_failed(int *fd, const char *reason);

#endif
