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

ww_status listing_objects(struct peer *peer, uint32_t serial, const struct ww_wire_list *list);
ww_status listing_holders(struct peer *peer, uint32_t serial, uint64_t cursor);
ww_status listing_holds(struct peer *peer, uint32_t serial, uint64_t cursor);

/* How the broker is: its processes, and how much it keeps. */
ww_status listing_status(struct peer *peer, uint32_t serial);

/* An object as listings and events show it to a peer. */
void listing_fill_entry(const struct peer *peer, const struct object *object,
	struct ww_wire_entry *out_entry);

#endif
