/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - what a client may ask for, one function for each request
 *
 * A handler checks, changes the registry and answers. Or it returns an error, which
 * request_handle() sends. Or it returns WW_NOT_READY, and the answer comes later. request.c
 * dispatches, and handles the requests that open a connection and that look; request_put.c,
 * request_part.c and request_get.c handle those that change something.
 */
#ifndef WW_DAEMON_BROKER_REQUEST_H
#define WW_DAEMON_BROKER_REQUEST_H

#include "daemon/broker/peer.h"

struct hold;

/* Handles one packet of a peer; the descriptors that came with it are in peer->fds. */
void request_handle(struct peer *peer, const uint8_t *packet, size_t bytes);

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
ww_status request_revoke(void *context, const struct ww_wire_header *header,
	const struct ww_wire_revoke *revoke);
ww_status request_recall(void *context, const struct ww_wire_header *header,
	const struct ww_wire_recall *recall);
ww_status request_release(void *context, const struct ww_wire_header *header,
	const struct ww_wire_release *release);
ww_status request_remove(void *context, const struct ww_wire_header *header,
	const struct ww_wire_remove *remove);

/* request_part.c: of the parts of a pool that have names. */
ww_status request_parts(void *context, const struct ww_wire_header *header,
	const struct ww_wire_parts *parts);
ww_status request_renumber(void *context, const struct ww_wire_header *header,
	const struct ww_wire_renumber *renumber);

/*
 * request_get.c: has the process of a peer release an object, and stop waiting for names inside of
 * it.
 */
void request_let_go(struct peer *peer, struct hold *hold);

/*
 * request_put.c: returns the charge that was reserved for the process, so that its put can be
 * charged.
 */
void request_use_reservation(struct peer *peer);

#endif
