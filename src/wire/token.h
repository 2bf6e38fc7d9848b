/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - making tokens, and what in them is not for the public
 *
 * The bytes are the record `token` of the protocol. What a token says is checked in one place, when
 * it is read; one that was made is read at once, so that nothing leaves this process that others
 * would refuse.
 */
#ifndef WW_WIRE_TOKEN_H
#define WW_WIRE_TOKEN_H

#include <warpway/token.h>

#define WW_SECRET_BYTES 16

/* A token that was read. */
struct ww_token_content {
	struct ww_token_info info;       /* what it says */
	uint8_t secret[WW_SECRET_BYTES]; /* from the broker; opens the object */
};

/*
 * A call reads a token once, and passes the content on.
 * Return: as ww_token_info_get().
 */
ww_status ww_token_read(const struct ww_token *token, struct ww_token_content *out_content);

/*
 * @info:    its size is not looked at; without has_array neither is its array
 * @secret:  from the broker; opens the object
 * Return: WW_OK; WW_ERR_INVALID (this cannot be in a token; the record says what).
 */
ww_status ww_token_make(const struct ww_token_info *info, const uint8_t secret[WW_SECRET_BYTES],
	struct ww_token *out_token);

#endif
