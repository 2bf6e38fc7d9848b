/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.h - what a process gets of an object: a hold, and the descriptors for its access
 *
 * By name, the mode decides whether a process may have an object. What is granted is the same by
 * name and by token.
 */
#ifndef WW_DAEMON_BROKER_GRANT_H
#define WW_DAEMON_BROKER_GRANT_H

#include "daemon/broker/peer.h"

/*
 * Whether a get of this peer can be met: WW_OK; WW_NOT_READY (the object is being written);
 * WW_ERR_ACCESS.
 */
ww_status grant_check(const struct peer *peer, struct name name, const struct ww_wire_get *get);

/*
 * Gives a peer what it asked for: a hold, and the descriptors. Sends the answer, or returns why
 * not.
 * @secret:  of the object, which the answer is to tell; NULL: none
 */
ww_status grant_send(struct peer *peer, uint32_t serial, struct name name, uint8_t access,
	const uint8_t secret[WW_WIRE_ID_BYTES]);

#endif
