/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_keys.c - what this process needs to make tokens of a pool's slices, see token_keys.h
 */
#include "pool/token_keys.h"

#include <string.h>

#include "share/token_export.h"

void ww_pool_keys_set(struct ww_pool_keys *keys, struct ww_broker *broker)
{
	struct ww_broker *former = keys->broker;

	keys->broker = ww_broker_ref(broker);
	keys->generation = 0;
	keys->accepted = 0;
	keys->own = 0;
	ww_broker_unref(former);
}

static bool is_same_object(const struct ww_pool_keys *keys, const struct ww_token_info *info)
{
	return info->generation == keys->generation &&
		!memcmp(info->broker_id, keys->broker_id, sizeof(keys->broker_id));
}

bool ww_pool_keys_fit(const struct ww_pool_keys *keys, const struct ww_token_info *info,
	const struct ww_token *token)
{
	uint32_t bit = 1U << info->access;
	uint8_t secret[WW_SECRET_BYTES];

	if (!is_same_object(keys, info))
		return false;
	ww_token_secret(token, secret);
	return (keys->accepted & bit &&
		       !memcmp(secret, keys->accepted_secrets[info->access], sizeof(secret))) ||
		(keys->own & bit &&
			!memcmp(secret, keys->own_secrets[info->access], sizeof(secret)));
}

/* Secrets of an object that the broker has lost, and that was put anew, are worth nothing. */
static void follow(struct ww_pool_keys *keys, const struct ww_token_info *info)
{
	if (is_same_object(keys, info))
		return;
	keys->accepted = 0;
	keys->own = 0;
	keys->generation = info->generation;
	keys->broker_uid = info->broker_uid;
	memcpy(keys->broker_id, info->broker_id, sizeof(keys->broker_id));
}

void ww_pool_keys_learn(struct ww_pool_keys *keys, const struct ww_token_info *info,
	const struct ww_token *token)
{
	follow(keys, info);
	ww_token_secret(token, keys->accepted_secrets[info->access]);
	keys->accepted |= 1U << info->access;
}

static ww_status ask(struct ww_pool_keys *keys, struct ww_token_info *info,
	struct ww_token *out_token)
{
	const struct ww_escrow none = {.ns = WW_ESCROW_NONE}; /* the pool lives by other means */

	ww_try(ww_export_object(keys->broker, info, &none, out_token));
	follow(keys, info);
	ww_token_secret(out_token, keys->own_secrets[info->access]);
	keys->own |= 1U << info->access;
	return WW_OK;
}

ww_status ww_pool_keys_token(struct ww_pool_keys *keys, struct ww_token_info *info,
	struct ww_token *out_token)
{
	memcpy(info->object_id, keys->pool_id, sizeof(info->object_id));
	if (!(keys->own & 1U << info->access))
		return ask(keys, info, out_token);
	info->generation = keys->generation;
	memcpy(info->broker_id, keys->broker_id, sizeof(info->broker_id));
	info->broker_uid = keys->broker_uid;
	memcpy(info->address, keys->broker->address.path, sizeof(info->address));
	return ww_token_make(info, keys->own_secrets[info->access], out_token);
}
