/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keeping.h - a memory that stands for a hold in a broker
 *
 * As long as a memory lives that was put or got, this process holds the object: the memory keeps one count of the hold,
 * and the broker open. There is one keeping for each memory and broker; a second put or get finds it there.
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

/* Hands one count of the hold of @memory's object over to the memory. Takes over @keeping. */
void ww_keeping_attach(struct ww_keeping *keeping, struct ww_memory *memory);

/* Whether this process holds @memory's object in @broker by way of it; what the broker lost does not count. */
bool ww_keeping_is_held(struct ww_memory *memory, struct ww_broker *broker);

#endif
