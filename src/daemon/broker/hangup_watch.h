/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangup_watch.h - notices at once when a connection of a process with last wills is closed
 *
 * The loop serves connections in the order in which something came. If a thousand send requests at
 * once, the last one waits for ten milliseconds. The poison for a process that died must not wait
 * that long. So the connections of processes that have left last wills are polled a second time,
 * for their ends only, between the requests of others.
 */
#ifndef WW_DAEMON_BROKER_HANGUP_WATCH_H
#define WW_DAEMON_BROKER_HANGUP_WATCH_H

#include "daemon/broker/peer.h"

/* How many ends are reported at a time. */
#define HANGUP_WATCH_ENDS 16

/* Return: WW_OK; WW_ERR_LIMIT; WW_ERR_SYSTEM. */
ww_status hangup_watch_open(struct server *server);

/* Watches a connection until it is closed. If it is watched already, does nothing. */
void hangup_watch_keep(struct peer *peer);
void hangup_watch_leave(struct peer *peer);

/*
 * Looks for connections that have ended; if it was done just now, it returns 0 at once. Return: how
 * many of them there are.
 */
size_t hangup_watch_look(struct server *server, struct peer *out_peers[HANGUP_WATCH_ENDS]);

#endif
