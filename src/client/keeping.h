/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeping.h - a thing that stands for a hold in a broker
 *
 * As long as a memory, a page of timelines or a membership lives that was put or got, this process holds the object:
 * the thing keeps one count of the hold, and the broker open. There is one keeping for each thing and broker; a
 * second put or get of the same object finds it there. After the broker was lost a thing may be put anew, as another
 * object; then the new one counts.
 */
#ifndef WW_CLIENT_KEEPING_H
#define WW_CLIENT_KEEPING_H

#include "client/connection.h"
#include "memory/object.h"

struct ww_keeping;

/* Made before it is needed, so that what was granted can be kept. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_keeping_new(struct ww_broker *broker, struct ww_keeping **out_keeping);
void ww_keeping_free(struct ww_keeping *keeping);

WW_DEFINE_CLEANUP(struct ww_keeping, ww_keeping_free)
#define WW_AUTO_KEEPING WW_CLEANUP(ww_keeping_free_p)

/* Hands one count of the hold of the object @id over to the thing. Takes over @keeping. */
void ww_keeping_attach(struct ww_keeping *keeping, struct ww_attachments *thing,
	const uint8_t id[WW_OBJECT_ID_BYTES]);

/* Whether this process holds an object in @broker by way of the thing; what the broker lost does not count. */
bool ww_keeping_is_held(struct ww_attachments *thing, struct ww_broker *broker);

/* The same. @out_id: of that object, unless it returns false */
bool ww_keeping_find(struct ww_attachments *thing, struct ww_broker *broker,
	uint8_t out_id[WW_OBJECT_ID_BYTES]);

#endif
