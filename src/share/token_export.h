/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_export.h - a token for an object that this process holds, of whatever kind
 */
#ifndef WW_SHARE_TOKEN_EXPORT_H
#define WW_SHARE_TOKEN_EXPORT_H

#include "client/broker_client.h"
#include "memory/memory.h"

#define WW_ESCROW_NS (60 * UINT64_C(1000000000)) /* where the caller does not say */

/* How the object is kept while its token travels, as in struct ww_export_params. */
struct ww_escrow {
	uint64_t ns;   /* 0: 60 s; UINT64_MAX: not at all */
	uint32_t uses; /* 0: any number */
};

/*
 * @info:  what the token is to say; generation and the broker's fields are filled in
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_export_object(struct ww_broker *broker, struct ww_token_info *info,
	const struct ww_escrow *escrow, struct ww_token *out_token);

#endif
