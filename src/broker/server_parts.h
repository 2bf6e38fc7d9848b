/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server_parts.h - what the parts of the broker process share
 */
#ifndef WW_BROKER_SERVER_PARTS_H
#define WW_BROKER_SERVER_PARTS_H

#include "broker/peer.h"
#include "broker/server.h"
#include "broker/wait.h"

struct server {
	uv_loop_t loop;
	uv_poll_t listener;
	uv_poll_t keeper;
	uv_signal_t terminate;
	uv_timer_t idle;
	uv_timer_t grace; /* for holders that no pidfd speaks for */
	uv_timer_t retry; /* of accepting and sending, when descriptors or memory had run out */
	uv_prepare_t turn;
	const struct server_setup *setup;
	struct vault vault;
	struct registry registry;
	uv_timer_t linger;
	struct ww_list peers;
	struct ww_list lingering; /* peers, see peer_close() */
	struct ww_list watchers;
	struct ww_list turns; /* struct wait.turn: reservations, in order of arrival */
	struct ww_map waits_by_name;
	struct ww_map waits_by_outer;
	uint32_t peer_count;
	uint32_t peer_limit;
	uint32_t unread_fds;  /* how many of a user may be sent and not read */
	uint32_t waiting_fds; /* how many of a user may wait to be sent, and as many to be closed */
	uint32_t wait_count;
	uint64_t round; /* of wait_serve_room() */
	int vigil;      /* epoll(7) */
	uint32_t vigil_count;
	uint64_t vigil_ns; /* when it was last looked at */
	int outcome;
	bool is_listening;
	bool is_starved;  /* the last accept failed */
	bool has_stalled; /* a peer whose user has too many descriptors to be closed */
	bool is_idle;
	uint8_t in[WW_WIRE_PACKET_BYTES];
	uint8_t out[WW_WIRE_PACKET_BYTES];
};

/* Ends the loop; the first reason counts. */
void server_stop(struct server *server, int outcome);

/* Listens (again): there is room for another connection. */
void server_listen(struct server *server);

/* Tries again soon what failed for want of descriptors or memory. */
void server_retry(struct server *server);

/* Has the kernel say when a holder's process ends. */
ww_status server_watch_holder(struct server *server, struct holder *holder);

/* Handles one packet of a peer; what came with it is in peer->fds. */
void request_handle(struct peer *peer, const uint8_t *packet, size_t bytes);

/* Gives a peer what it asked for: a hold, and the descriptors. Answers, or returns why not. */
ww_status request_grant(struct peer *peer, uint32_t serial, struct object *object, uint8_t access);

/* Whether a get of this peer can be met: WW_OK; WW_NOT_READY (it is being written); WW_ERR_ACCESS. */
ww_status request_may_get(const struct peer *peer, const struct object *object,
	const struct ww_wire_get *get);

/* Handlers of requests that change something: request_put.c, request_get.c. */
ww_status request_put(void *context, const struct ww_wire_header *header,
	const struct ww_wire_put *message);
ww_status request_seal(void *context, const struct ww_wire_header *header,
	const struct ww_wire_seal *seal);
ww_status request_get(void *context, const struct ww_wire_header *header,
	const struct ww_wire_get *get);
ww_status request_import(void *context, const struct ww_wire_header *header,
	const struct ww_wire_import *import);
ww_status request_export(void *context, const struct ww_wire_header *header,
	const struct ww_wire_export *export);
ww_status request_release(void *context, const struct ww_wire_header *header,
	const struct ww_wire_release *release);
ww_status request_remove(void *context, const struct ww_wire_header *header,
	const struct ww_wire_remove *remove);

/* A text that can be a name, on a connection of this version. Return: WW_OK; WW_ERR_INVALID. */
ww_status request_check_name(const struct peer *peer, const char *name);

/*
 * Who uses a name inside an object must hold that, with as much access.
 * Return: WW_OK, also for other names; WW_ERR_NOT_FOUND; WW_ERR_ACCESS.
 */
ww_status request_check_inside(const struct peer *peer, const char *name, uint8_t access);

/* The object that a name is inside of; NULL: none. */
struct object *request_find_outer(const struct peer *peer, const char *name);

/*
 * Its user, root, and who made the object that it is inside of, may; but a member its own process alone.
 * @action:  "remove"
 * Return: WW_OK; WW_ERR_ACCESS; WW_ERR_STATE.
 */
ww_status request_check_remove(const struct peer *peer, const struct object *object,
	const char *action);
ww_status request_fail_not_found(const char *name);
ww_status request_fail_reserved(void);

/* Has the process of a peer let go of an object, and of waiting for what may be put inside of it. */
void request_let_go(struct peer *peer, struct hold *hold);

/* Gives back what was reserved for the process, so that its put can be charged. */
void request_use_reservation(struct peer *peer);

/* An object as lists and events tell of it. */
void entry_fill(const struct peer *peer, const struct object *object,
	struct ww_wire_entry *out_entry);

/* Handlers of requests that look: page.c. */
ww_status page_list(struct peer *peer, uint32_t serial, const struct ww_wire_list *list);
ww_status page_holders(struct peer *peer, uint32_t serial, uint64_t cursor);
ww_status page_holds(struct peer *peer, uint32_t serial, uint64_t cursor);
ww_status page_status(struct peer *peer, uint32_t serial);

/* watch.c */
ww_status watch_begin(struct peer *peer, const struct ww_wire_watch *watch);
void watch_end(struct peer *peer);
void watch_tell(struct server *server, const struct object *object, uint8_t what);
void watch_go_on(struct peer *peer); /* there is room again */

/* descriptor.c */

/*
 * Looks at descriptors that a stranger sent, by calls that no file system serves.
 * @out_bytes:      of the memory among them
 * @out_is_memory:  there are some, and all are memory
 * Return: WW_OK; WW_ERR_DESCRIPTOR (one that the broker does not keep).
 */
ww_status descriptor_check(const int *fds, size_t count, uint64_t *out_bytes, bool *out_is_memory);

/* Closes what a stranger sent; what might keep us waiting, from another thread. */
void descriptor_discard(struct peer *peer);

/* Whether so many of the user's descriptors wait to be closed that no more can be taken. */
bool descriptor_is_flooded(const struct peer *peer);

#endif
