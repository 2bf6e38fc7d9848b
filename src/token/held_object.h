/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_object.h - an object that is held without a mapping
 */
#ifndef WW_TOKEN_HELD_OBJECT_H
#define WW_TOKEN_HELD_OBJECT_H

#include "share/get_reply.h"

/*
 * Holds what a broker granted by its name: an object or a slice of a pool.
 * @token:  what a token of it would say, with the access that was asked for
 * Return: as ww_object_get().
 */
ww_status ww_object_take_grant(struct ww_get_reply *grant, const struct ww_token_content *token,
	struct ww_object **out_object);

#endif
