/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refusal.h - requests and connections that are refused: counted, and written to the log
 *
 * Every refusal is counted. Those that tell an administrator of a limit, a missing right or a
 * broken client are logged, with the user, the process, the request and the reason. Answers that
 * programs expect, such as "there is no such name", are not.
 *
 * A user cannot fill the log: there is at most one line of each user, and ten lines of all, in ten
 * seconds. A line says how many were left out before it. If standard error takes no data just now,
 * the line is left out too, since the broker never waits.
 */
#ifndef WW_DAEMON_BROKER_REFUSAL_H
#define WW_DAEMON_BROKER_REFUSAL_H

#include "daemon/broker/peer.h"

/* A request came. @code: of its message; 0: it is no request */
void refusal_count_request(const struct peer *peer, uint16_t code);

/* It is refused; the thread's error record has the reason. */
void refusal_note(const struct peer *peer, uint16_t code, ww_status status);

/* The same, of a connection. peer->account may be NULL. */
void refusal_note_connection(const struct peer *peer, ww_status status);

#endif
