/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_keys.h - what this process needs to make tokens of a pool's slices
 *
 * The broker has one secret for each access of an object. It is asked for once; with it any number
 * of tokens is made without anybody's help. The owner has keys, and so has every process that
 * imports.
 */
#ifndef WW_POOL_TOKEN_KEYS_H
#define WW_POOL_TOKEN_KEYS_H

#include <warpway/token.h>

#include "client/broker_client.h"
#include "wire/token.h"

struct ww_pool_keys {
	struct ww_broker *broker; /* a reference; NULL: the pool is in none yet */
	uint8_t broker_id[WW_WIRE_ID_BYTES];
	uint8_t pool_id[WW_WIRE_ID_BYTES];
	uint32_t broker_uid;
	uint64_t generation; /* of the pool in its broker; 0: not known yet */
	uint32_t
		/* a bit for each WW_ACCESS_... that a token had which the broker has accepted */
		accepted;
	uint32_t
		/*
		 * ... for which the broker has given this process a secret: tokens are made of
		 * these alone
		 */
		own;
	uint8_t accepted_secrets[WW_ACCESS_WRITE + 1][WW_SECRET_BYTES];
	uint8_t own_secrets[WW_ACCESS_WRITE + 1][WW_SECRET_BYTES];
};

/* Forgets all but the pool's id. Takes a reference of the broker, which may be NULL. */
void ww_pool_keys_set(struct ww_pool_keys *keys, struct ww_broker *broker);

/* Whether a token that was read is for this pool, in this broker, and opens it. */
bool ww_pool_keys_fit(const struct ww_pool_keys *keys, const struct ww_token_info *info,
	const struct ww_token *token);

/* What a token that the broker has accepted says. */
void ww_pool_keys_learn(struct ww_pool_keys *keys, const struct ww_token_info *info,
	const struct ww_token *token);

/*
 * @info:  the slice, and its span; the fields about the pool and its broker are filled in
 * May block: for a round trip, the first time of each access.
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_pool_keys_token(struct ww_pool_keys *keys, struct ww_token_info *info,
	struct ww_token *out_token);

#endif
