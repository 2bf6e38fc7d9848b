/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.h - requests that are answered later
 *
 * Two kinds: a get whose name is not there yet or whose object is being written, and a reservation of room. Both are
 * charged to their user, end with their connection, and can be cancelled. Reservations are met strictly in the order
 * in which a user's arrived: a small one does not overtake a large one, so the large one is met some day.
 *
 * Whoever waits for a name inside an object waits no longer than that object is there, and held by its process.
 */
#ifndef WW_BROKER_WAIT_H
#define WW_BROKER_WAIT_H

#include "broker/peer.h"

struct wait {
	struct ww_list of_peer;
	struct ww_map_node by_name;  /* a get */
	struct ww_map_node by_outer; /* a get of a name inside an object: by that one's id */
	struct ww_list turn;         /* a reservation, in server.turns */
	struct peer *peer;
	uint32_t serial;
	bool is_get;
	bool is_inside;    /* in server.waits_by_outer */
	uint8_t outer[16]; /* then: the id */
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

/* An object ends; a process let go of one: answers who waits for a name inside of it. */
void wait_outer_ended(struct server *server, const struct ww_layout_object_record *outer,
	uint8_t what);
void wait_outer_released(struct server *server, const struct holder *holder, const uint8_t id[16]);

/* Something may have been given back: meets the reservations that fit now. */
void wait_serve_room(struct server *server);

#endif
