/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fair_queue.h - the order in which requests are served: users take turns, not connections
 *
 * The loop reports all connections on which something came. Each is added to the queue of its user.
 * Then the users are served in turn, one request of each. If two users send requests all the time,
 * each is served half of the time, even if one of them uses a thousand connections. A request waits
 * for at most one request of each other user.
 *
 * After one request of each user, or after FAIR_QUEUE_SLICE_NS of a single user, the loop polls for
 * new packets, even if not all that are known were served. So a user that asks seldom is served as
 * soon as the others' present requests are done.
 */
#ifndef WW_DAEMON_BROKER_FAIR_QUEUE_H
#define WW_DAEMON_BROKER_FAIR_QUEUE_H

#include "daemon/broker/peer.h"

/* Return: WW_OK; WW_ERR_SYSTEM. */
ww_status fair_queue_open(struct server *server);

/*
 * Something came from a peer, or there is room for an answer to it: it is served in its turn.
 * Return: false: it waits for its turn already.
 */
bool fair_queue_join(struct peer *peer);
void fair_queue_leave(struct peer *peer);

/* Looks again at the users that were not served because they had too much unread. */
void fair_queue_resume(struct server *server);

#endif
