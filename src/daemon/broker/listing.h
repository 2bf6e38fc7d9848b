/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.h - requests that look: listings of objects, holders and holds in pages; how the broker
 * is
 *
 * A request names a cursor, and its answer is one page of the listing with the next cursor.
 */
#ifndef WW_DAEMON_BROKER_LISTING_H
#define WW_DAEMON_BROKER_LISTING_H

#include "daemon/broker/peer.h"

struct hold;
struct holder;

/* Handlers of requests. @context: the peer */
ww_status listing_objects(void *context, const struct ww_wire_header *header,
	const struct ww_wire_list *list);
ww_status listing_holders(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holders *holders);
ww_status listing_holds(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holds *holds);

/* How the broker is: its processes, and how much it keeps. */
ww_status listing_status(void *context, const struct ww_wire_header *header,
	const struct ww_wire_status *status);

/* An object as listings and events show it to a peer, under one of its names. */
void listing_fill_entry(const struct peer *peer, struct name name, struct ww_wire_entry *out_entry);

/* The same of a holder, and of a hold. */
void listing_fill_holder(const struct registry *registry, const struct holder *holder,
	struct ww_wire_holder *out_holder);
void listing_fill_hold(const struct peer *peer, const struct hold *hold,
	struct ww_wire_hold *out_hold);

#endif
