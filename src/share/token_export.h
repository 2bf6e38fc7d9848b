/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_export.h - a token for an object that this process holds, of whatever kind
 */
#ifndef WW_SHARE_TOKEN_EXPORT_H
#define WW_SHARE_TOKEN_EXPORT_H

#include "client/broker_client.h"
#include "memory/memory.h"
#include "wire/token.h"

#define WW_ESCROW_NS (60 * UINT64_C(1000000000)) /* where the caller does not say */

/* How the object is kept while its token travels, as in struct ww_export_params. */
struct ww_escrow {
	uint64_t ns;    /* WW_ESCROW_DEFAULT: 60 s; WW_ESCROW_NONE: not at all */
	uint32_t uses;  /* 0: any number */
	uint32_t flags; /* WW_EXPORT_... */
};

/* Return: WW_OK; WW_ERR_INVALID (unknown flags, or a delivery that can never end by its uses). */
ww_status ww_escrow_check(const struct ww_escrow *escrow);

/* What this process may have in flight, of each pool, and of all other objects together. */
struct ww_in_flight_most {
	uint32_t count;
	uint64_t bytes;
};

struct ww_in_flight_most ww_in_flight_most(void);
void ww_in_flight_set_most(struct ww_in_flight_most most); /* 0: the default */

/*
 * @content:  what the token is to say; generation, secret and the broker's fields are filled in
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_export_content(struct ww_broker *broker, struct ww_token_content *content,
	const struct ww_escrow *escrow);

/* The same, as bytes for another process. */
ww_status ww_export_object(struct ww_broker *broker, const struct ww_token_info *info,
	const struct ww_escrow *escrow, struct ww_token *out_token);

#endif
