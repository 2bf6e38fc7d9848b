/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_object.h - an object that is held without a mapping
 */
#ifndef WW_TOKEN_HELD_OBJECT_H
#define WW_TOKEN_HELD_OBJECT_H

#include "share/get_reply.h"

/*
 * Holds what a broker granted by its name: an object or a slice of a pool.
 * @access:  that the caller asked for
 * @info:    what the broker said of it
 * Return: as ww_object_get().
 */
ww_status ww_object_take_grant(struct ww_get_reply *grant, uint32_t access,
	const struct ww_object_info *info, struct ww_object **out_object);

#endif
