/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - requests that are answered later
 *
 * Two kinds: a get whose name is not there yet or whose object is being written, and a reservation of room. Both are
 * charged to their user, end with their connection, and can be cancelled. Reservations are met strictly in the order
 * in which a user's arrived: a small one does not overtake a large one, so the large one is met some day.
 */
#ifndef WW_BROKER_WAIT_H
#define WW_BROKER_WAIT_H

#include "broker/peer.h"

struct wait {
	struct ww_list of_peer;
	struct ww_map_node by_name; /* a get */
	struct ww_list turn;        /* a reservation, in server.turns */
	struct peer *peer;
	uint32_t serial;
	bool is_get;
	struct ww_wire_get get;
	struct charge charge; /* what a reservation asks for */
};

/* Return: WW_NOT_READY (it waits now); WW_ERR_QUOTA; WW_ERR_NO_MEMORY. */
ww_status wait_for_name(struct peer *peer, uint32_t serial, const struct ww_wire_get *get);
ww_status wait_for_room(struct peer *peer, uint32_t serial, const struct charge *charge);

/* Gives up a request: it is answered. Return: whether it was waiting. */
bool wait_cancel(struct peer *peer, uint32_t serial);

/* Gives up all of a peer that is going. */
void wait_end_all(struct peer *peer);

/* An object of this name is ready, or its writer ended: answers who waits for it. */
void wait_name_ready(struct server *server, struct object *object);
void wait_name_lost(struct server *server, const char *name, uint32_t maker_pid);

/* Something may have been given back: meets the reservations that fit now. */
void wait_serve_room(struct server *server);

#endif
