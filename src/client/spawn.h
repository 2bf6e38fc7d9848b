/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.h - starts the user's own broker, when no process listens at its address
 *
 * If several processes try at once, one of them starts the broker; the others wait for the lock
 * (start_lock.h) and find the broker running. The broker is no child of this process: the program
 * forks, and its first process has ended when the call returns. It inherits no descriptor.
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
