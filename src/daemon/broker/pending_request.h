/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_request.h - requests that are answered later
 *
 * Two kinds of requests wait: a get whose name does not exist yet or whose object is being written,
 * and a reservation of room. Both are charged to their user, end with their connection, and can be
 * cancelled. The reservations of a user are met strictly in the order in which they arrived: a
 * small one does not overtake a large one, or the large one might never be met.
 *
 * A get of a name inside an object waits only while that object exists and the waiting process
 * holds it.
 */
#ifndef WW_DAEMON_BROKER_PENDING_REQUEST_H
#define WW_DAEMON_BROKER_PENDING_REQUEST_H

#include "daemon/broker/peer.h"

struct wait {
	struct ww_list of_peer;
	struct ww_map_node by_name;   /* a get */
	struct ww_map_node by_serial; /* and by its connection */
	struct ww_map_node by_outer;  /* a get of a name inside an object: by that one's id */
	struct ww_map_node by_holder; /* the same, by that id and the process */
	struct ww_list turn;          /* a reservation, in account.turns */
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

/* Cancels a request, if it waits: it is answered with an error. */
void wait_cancel(const struct peer *peer, uint32_t serial);

/* Ends all waiting requests of a peer that closes; they are not answered. */
void wait_end_all(struct peer *peer);

/* An object of this name is ready, or its writer ended: answers the gets that wait for it. */
void wait_name_ready(struct server *server, struct name name);
void wait_name_lost(struct server *server, const char *name, uint32_t maker_pid);

/* An object ends, or a process released it: answers the gets that wait for a name inside of it. */
void wait_outer_ended(struct server *server, const struct ww_layout_object_record *outer,
	uint8_t what);
void wait_outer_released(struct server *server, const struct holder *holder, const uint8_t id[16]);

/*
 * The creator of an object that stays has ended: answers the gets that wait for other names inside
 * of the same outer object.
 */
void wait_outer_left(struct server *server, const struct object *object);

/* @left_pid: of that creator. Return: WW_ERR_PEER_LOST. */
ww_status wait_fail_left(const char *name, uint32_t left_pid);

/* A process may have one reservation. Return: WW_ERR_STATE. */
ww_status wait_fail_reserved(void);

/* Something may have been returned: meets the reservations that fit now. */
void wait_serve_room(struct server *server);

#endif
