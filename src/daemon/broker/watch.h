/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - watches: a connection is told what changes among the objects of a prefix
 *
 * A connection whose hello says watcher may have one watch. Events that it does not read are
 * dropped beyond a bound, and it is told that events were dropped.
 */
#ifndef WW_DAEMON_BROKER_WATCH_H
#define WW_DAEMON_BROKER_WATCH_H

#include "daemon/broker/peer.h"

/* Return: WW_OK; WW_ERR_INVALID; WW_ERR_QUOTA. */
ww_status watch_begin(struct peer *peer, const struct ww_wire_watch *watch);
void watch_end(struct peer *peer);

/* Sends an event of a name of an object to all whose watch includes it. */
void watch_tell(struct server *server, struct name name, uint8_t what);

/* There is room for more events. */
void watch_go_on(struct peer *peer);

#endif
