/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_import.h - asking a broker for the object that a token names, of whatever kind
 */
#ifndef WW_SHARE_TOKEN_IMPORT_H
#define WW_SHARE_TOKEN_IMPORT_H

#include "share/get_reply.h"

struct ww_import {
	struct ww_token_info token; /* what it says, once asked */
	struct ww_wire_import message;
	struct ww_get_reply grant;
	struct ww_broker *opened; /* a reference, or NULL: the caller's broker is used */
	bool is_granted; /* by the opened one, which is worth keeping open for the next token */
	bool is_astray;  /* the broker is not the token's */
};

/* @access: plain. Return: WW_OK; WW_ERR_UNSUPPORTED (of another kind); WW_ERR_ACCESS. */
ww_status ww_import_check(const struct ww_token_info *token, uint16_t kind, uint32_t access);

/* @access: plain. Return: WW_OK; WW_ERR_ACCESS. */
ww_status ww_import_check_access(const struct ww_token_info *token, uint32_t access);

void ww_import_init(struct ww_import *import, uint16_t kind, uint32_t access);
void ww_import_fini(struct ww_import *import); /* lets go of what was not kept */
#define WW_AUTO_IMPORT WW_CLEANUP(ww_import_fini)

/*
 * @broker: borrowed; NULL: that of WARPWAY_BROKER, else the one at the token's address, opened for
 *          this
 * Return: WW_OK (granted, and it is what the token names); as ww_memory_import().
 */
ww_status ww_import_ask(struct ww_import *import, struct ww_broker *broker,
	const struct ww_token *token);

/* The same by a token that was read. */
ww_status ww_import_ask_read(struct ww_import *import, struct ww_broker *broker,
	const struct ww_token_content *token);

/*
 * The secret by which this process may import the object again: of a counted token the object's
 * own, which the broker told with the answer; one of version 5 or less does not, then the token's.
 */
const uint8_t *ww_import_secret(const struct ww_import *import);

/* Whether a memory has as many bytes as the token says. Return: WW_OK; WW_ERR_MISMATCH. */
ww_status ww_import_check_bytes(const struct ww_token_info *token, uint64_t bytes);

/*
 * @ours:  of the object; gets the span, and its array instead of that of the whole
 * @info:  the caller's, of checked size
 */
ww_status ww_import_write_info(const struct ww_token_info *token, struct ww_object_info *ours,
	struct ww_object_info *info);

#endif
