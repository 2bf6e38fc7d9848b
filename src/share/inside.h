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

#include "sync/signal_page_map.h"

/* How many were put inside the object of a page so far: it has grown when one has come. */
uint32_t ww_inside_count(const struct ww_signal_map *page);

/*
 * Gets to know one object. Return: WW_OK; WW_ERR_NOT_FOUND, WW_ERR_UNSUPPORTED, WW_ERR_ACCESS or
 * WW_ERR_STATE: nobody is there; any other error: somebody may be.
 */
typedef ww_status (*ww_inside_fn)(void *context, const struct ww_object_info *info);

/*
 * Calls @look for each object of a snapshot. One that cannot be had, or is of another kind, is
 * nobody's: its process is gone by now, or shows nothing.
 * Return: WW_OK; the first error of @look after which somebody may be there.
 */
ww_status ww_inside_look(ww_snapshot *snapshot, ww_inside_fn look, void *context);

#endif
