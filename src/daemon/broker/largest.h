/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest.h - requests of monitors that show the largest objects and holders, and one object
 *
 * The registry keeps objects and holders in order of their bytes (size_order.h), so a page costs
 * what it contains. A page that is filtered looks at LARGEST_LOOKS of them at most.
 */
#ifndef WW_DAEMON_BROKER_LARGEST_H
#define WW_DAEMON_BROKER_LARGEST_H

#include "daemon/broker/peer.h"

/* Handlers of requests. @context: the peer */
ww_status largest_objects(void *context, const struct ww_wire_header *header,
	const struct ww_wire_largest *largest);
ww_status largest_holders(void *context, const struct ww_wire_header *header,
	const struct ww_wire_largest_holders *largest);

/* The processes that hold one object. */
ww_status largest_object_holds(void *context, const struct ww_wire_header *header,
	const struct ww_wire_object_holds *message);

#endif
