/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inside.h - the objects inside another one: the processes that use a pool, or consume a channel
 *
 * Each of them has put an object there ("@ID/..."), and the broker counts these on the outer
 * object's signal page (`members`), which its owner reads to learn that one has come.
 */
#ifndef WW_SHARE_INSIDE_H
#define WW_SHARE_INSIDE_H

#include <warpway/broker.h>

#include "client/broker_client.h"
#include "sync/signal_page_map.h"

/* How many were put inside the object of a page so far: it has grown when one has come. */
uint32_t ww_inside_count(const struct ww_signal_map *page);

/*
 * Notes one object. Return: WW_OK; WW_ERR_NOT_FOUND, WW_ERR_UNSUPPORTED, WW_ERR_ACCESS or
 * WW_ERR_STATE: no process is there; any other error: one may be.
 */
typedef ww_status (*ww_inside_fn)(void *context, const struct ww_object_info *info);

/*
 * Calls @look for each object of a snapshot. If an object cannot be got, or is of another kind, it
 * belongs to no process that counts: its process has ended meanwhile, or has no valid pages. If
 * another user has put the object, and this process the outer object, it is removed, because each
 * look would find it again; if there are many, some of them.
 * @owner:  the broker, borrowed; NULL: another process has put the outer object
 * Return: WW_OK; the first error of @look after which a process may be there.
 */
ww_status ww_inside_look(ww_snapshot *snapshot, struct ww_broker *owner, ww_inside_fn look,
	void *context);

/* Takes out what another user has put inside an object of this process. Return: whether it has. */
bool ww_inside_expel(struct ww_broker *broker, const struct ww_object_info *info);

/*
 * Takes an object out of the broker, if that answers within a second. Return: whether it has: then
 * it had that name, and this id.
 */
bool ww_inside_remove(struct ww_broker *broker, const char *name,
	const uint8_t id[WW_WIRE_ID_BYTES]);

#endif
