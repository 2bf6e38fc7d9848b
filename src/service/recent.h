/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent.h - the memories that a client's last calls had as arguments
 *
 * A call that comes with the token of a memory which this process has imported asks no broker and
 * maps nothing. So for the next calls it is enough that the server keeps a reference for a while
 * (ww_service_params.keep_ns). Not kept are slices of pools, since their chunks stay mapped anyway
 * and their owner may wait for them, and memories that this process made for clients, since those
 * count for a limit (allocation.h).
 */
#ifndef WW_SERVICE_RECENT_H
#define WW_SERVICE_RECENT_H

#include <warpway/service.h>

#include "memory/memory.h"

struct ww_recent {
	struct {
		ww_memory *memory; /* a reference; NULL: a free place */
		uint64_t used_ns;
	} places[WW_SERVICE_KEEP_MEMORIES];
};

/*
 * Takes over a reference of the caller; the least recently used memory is released. Locked.
 * Return: a reference that is to be released without the lock; or NULL.
 */
ww_memory *ww_recent_keep(struct ww_recent *recent, ww_memory *memory, uint64_t now_ns);

/*
 * Takes one out that was used last before a time. Locked.
 * Return: a reference that is to be released without the lock; NULL: there is none.
 */
ww_memory *ww_recent_take(struct ww_recent *recent, uint64_t before_ns);

#endif
