/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import.h - asking a broker for the object that a token names, of whatever kind
 */
#ifndef WW_CLIENT_IMPORT_H
#define WW_CLIENT_IMPORT_H

#include "client/grant.h"

struct ww_import {
	struct ww_token_info token; /* what it says, once asked */
	struct ww_wire_import message;
	struct ww_grant grant;
	struct ww_broker *opened; /* a reference, or NULL: the caller's broker is used */
};

/* @access: plain. Return: WW_OK; WW_ERR_ACCESS. */
ww_status ww_import_check_access(const struct ww_token_info *token, uint32_t access);

void ww_import_init(struct ww_import *import, uint16_t kind, uint32_t access);
void ww_import_fini(struct ww_import *import); /* lets go of what was not kept */
#define WW_AUTO_IMPORT WW_CLEANUP(ww_import_fini)

/*
 * @broker: borrowed; NULL: that of WARPWAY_BROKER, else the one at the token's address, opened for this
 * Return: WW_OK (granted, and it is what the token names); as ww_memory_import().
 */
ww_status ww_import_ask(struct ww_import *import, struct ww_broker *broker,
	const struct ww_token *token);

/*
 * The memory that a token names, which is no slice of a pool: all of it. What this process holds by this token already is
 * not asked for again.
 * @broker:  as for ww_import_ask()
 * @named:   what the token says
 * @access:  checked; with WW_STRICT perhaps
 * @info:    NULL, or the caller's, of checked size
 * Return: as ww_memory_import(); on failure *out_memory is untouched.
 */
ww_status ww_client_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_info *named, const struct ww_token *token, uint32_t access,
	struct ww_memory **out_memory, struct ww_object_info *info);

#endif
