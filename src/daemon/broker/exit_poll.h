/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_poll.h - the ends of processes, by their pidfds
 *
 * A process that holds objects may end without its connections: another process may have a
 * duplicate of a socket. So the loop polls the pidfd of each holder. When it fires, the connections
 * of the process are closed, and the holder ends.
 */
#ifndef WW_DAEMON_BROKER_EXIT_POLL_H
#define WW_DAEMON_BROKER_EXIT_POLL_H

#include <warpway/base.h>

struct holder;
struct server;

/*
 * Polls the pidfd of a holder; one without a pidfd is left alone. Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status exit_poll_start(struct server *server, struct holder *holder);

/* The same for all holders that a former broker left. */
void exit_poll_start_all(struct server *server);

#endif
