/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starting the user's own broker, when nobody listens at its address
 *
 * Of many processes that come at once one starts it; the others wait for their turn and find it
 * running. The broker is no child of this process: it forks, and what was spawned here is gone when
 * this returns. It has none of our descriptors.
 */
#ifndef WW_CLIENT_SPAWN_H
#define WW_CLIENT_SPAWN_H

#include "client/connection.h"

/*
 * Starts the broker and connects to it, or connects to one that was started meanwhile.
 * @address:  the user's own
 * Return: WW_OK; WW_ERR_NO_BROKER (the program was not found, or could not serve; the record has
 *         its reason); as ww_connection_open().
 */
ww_status ww_start(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection);

#endif
