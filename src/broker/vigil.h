/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vigil.h - the connections whose end must not wait for its turn
 *
 * The loop serves connections in the order in which something came. Of a thousand that ask at once the last waits for
 * ten milliseconds, and so would the poison of whoever died meanwhile. So the connections of processes that have
 * left testaments are watched a second time, for their ends alone, and that is looked at again and again between the
 * requests of others.
 */
#ifndef WW_BROKER_VIGIL_H
#define WW_BROKER_VIGIL_H

#include "broker/peer.h"

/* Return: WW_OK; WW_ERR_LIMIT; WW_ERR_SYSTEM. */
ww_status vigil_open(struct server *server);

/* Watches over a connection, until it is closed; again: nothing. */
void vigil_keep(struct peer *peer);
void vigil_leave(struct peer *peer);

/* Closes those that have ended, their testaments first. Costs nothing if it was done just now. */
void vigil_look(struct server *server);

#endif
