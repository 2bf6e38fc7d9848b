/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.h - the request for the sums that the broker keeps
 *
 * The sums change with each object, hold and request, so this request walks over users only, a
 * bounded number at a time. Root, and the user that the broker runs as, are told of all users.
 * Another user is told of itself, and the sums of all users together that `status` tells too.
 */
#ifndef WW_DAEMON_BROKER_TOTALS_H
#define WW_DAEMON_BROKER_TOTALS_H

#include "daemon/broker/peer.h"

/* The handler of the request. @context: the peer */
ww_status totals_answer(void *context, const struct ww_wire_header *header,
	const struct ww_wire_totals *totals);

#endif
