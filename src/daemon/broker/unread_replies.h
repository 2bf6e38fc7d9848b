/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unread_replies.h - what was sent to users and is not read yet: bytes and descriptors
 *
 * An answer that is not read occupies memory of the kernel that is charged to the broker, not to
 * the receiving process. The descriptors in it count against the broker's limit. So both are
 * counted for each user. The kernel reports no event when something was read. So a connection is
 * measured when something is sent to it. When a user has too much unread, the connections that were
 * measured the longest time ago are measured again.
 *
 *   bytes: while a user has too much unread, no request of that user is read.
 *   descriptors: a request that needs some is refused.
 */
#ifndef WW_DAEMON_BROKER_UNREAD_REPLIES_H
#define WW_DAEMON_BROKER_UNREAD_REPLIES_H

#include "daemon/broker/peer.h"

/*
 * How much room a connection's small answers have in the kernel: SO_SNDBUF, as the kernel counts
 * it.
 */
#define UNREAD_ROOM 32768

/* Limits the room of a connection to UNREAD_ROOM; widens it for one packet that needs more. */
void unread_bound(int socket);
void unread_widen(int socket, size_t bytes);

/* Measures a connection. Return: how many bytes its socket has that are not read. */
uint32_t unread_measure(struct peer *peer);

/* Stops counting what the connection has not read. */
void unread_forget(struct peer *peer);

/* Whether the peer has read everything that was sent to it, as far as the kernel knows. */
bool unread_is_none(struct peer *peer);

/* Whether a user has so much unread that no request of that user may be read. */
bool unread_is_too_much(struct account *account);

/* Counts descriptors that are about to be sent. Return: WW_OK; WW_ERR_QUOTA. */
ww_status unread_charge_fds(struct peer *peer, size_t fd_count);
void unread_return_fds(struct peer *peer, size_t fd_count);
ww_status unread_fail_fds(const struct peer *peer);

/* Refuses a user that has too much unread. Return: WW_ERR_QUOTA. */
ww_status unread_fail(const struct account *account);

#endif
