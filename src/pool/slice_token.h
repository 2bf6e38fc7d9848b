/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_token.h - tokens of slices: what they say, and the keys to make them
 *
 * The broker has one secret for each access of an object. A process asks for it once, and then
 * makes any number of tokens without the broker. The owner of a pool has keys, and so has every
 * process that imports.
 */
#ifndef WW_POOL_SLICE_TOKEN_H
#define WW_POOL_SLICE_TOKEN_H

#include <warpway/token.h>

#include "client/broker_client.h"
#include "memory/memory.h"
#include "share/get_reply.h"
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
bool ww_pool_keys_fit(const struct ww_pool_keys *keys, const struct ww_token_content *token);

/* What a token that the broker has accepted says. */
void ww_pool_keys_learn(struct ww_pool_keys *keys, const struct ww_token_content *token);

/* Asks the broker for the secret of an access, unless it is known. Return: as ww_pool_export(). */
ww_status ww_pool_keys_get(struct ww_pool_keys *keys, uint32_t access);

/*
 * @info:  the slice, and its span; the fields about the pool and its broker are filled in
 * May block: for a round trip, the first time of each access.
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_pool_keys_token(struct ww_pool_keys *keys, struct ww_token_info *info,
	struct ww_token *out_token);

/*
 * What a token of a slice says but the pool's own part: @info is filled.
 * @memory:  the view that is exported
 * @number:  of the slice
 */
void ww_slice_token_info(struct ww_token_info *info, const struct ww_memory *memory,
	uint64_t number, const struct ww_export_params *ours);

/* A slice as a token says it is. Return: as ww_object_info_write(). */
ww_status ww_slice_token_describe(const struct ww_token_info *token, uint32_t access,
	uint32_t memory_kind, bool is_own, struct ww_object_info *info);

/* How often a slice was had by its name, and was gone when it was to be imported. */
struct ww_slice_tries {
	uint64_t timeout_ns;
	uint64_t deadline_ns;
	uint64_t last; /* number of that slice */
	uint32_t count;
	struct ww_error record; /* as it was before: a call that succeeds in the end leaves it so */
};

void ww_slice_tries_begin(struct ww_slice_tries *tries, uint64_t timeout_ns);

/* How long the name may be waited for now. */
uint64_t ww_slice_tries_left_ns(const struct ww_slice_tries *tries);

/*
 * Whether the name is to be asked for again, since it may have passed to another slice.
 * @part: that was granted; 0: no slice
 */
bool ww_slice_tries_go_on(struct ww_slice_tries *tries, ww_status status, uint64_t part);

/* Records that the slice of a token is not there any more. Return: WW_ERR_NOT_FOUND. */
ww_status ww_fail_slice_gone(void);

#endif
