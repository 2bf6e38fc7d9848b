/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_token.c - tokens of slices: what they say, and the keys to make them, see slice_token.h
 */
#include "pool/slice_token.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "share/object_info.h"
#include "share/token_export.h"

#define TRIES_MOST 64 /* while another process replaces the name all the time */

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

bool ww_pool_keys_fit(const struct ww_pool_keys *keys, const struct ww_token_content *token)
{
	uint32_t access = token->info.access;
	uint32_t bit = 1U << access;

	return is_same_object(keys, &token->info) &&
		((keys->accepted & bit &&
			 !memcmp(token->secret, keys->accepted_secrets[access], WW_SECRET_BYTES)) ||
			(keys->own & bit &&
				!memcmp(token->secret, keys->own_secrets[access],
					WW_SECRET_BYTES)));
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

void ww_pool_keys_learn(struct ww_pool_keys *keys, const struct ww_token_content *token)
{
	const struct ww_token_info *info = &token->info;

	follow(keys, info);
	if (!(info->flags & WW_TOKEN_SLICE))
		return; /* a token of the pool itself: its secret may be good for one import only */
	memcpy(keys->accepted_secrets[info->access], token->secret, WW_SECRET_BYTES);
	keys->accepted |= 1U << info->access;
}

ww_status ww_pool_keys_get(struct ww_pool_keys *keys, uint32_t access)
{
	const struct ww_escrow none = {.ns = WW_ESCROW_NONE}; /* the pool lives by other means */
	struct ww_token_content token;

	if (keys->own & 1U << access)
		return WW_OK;
	token.info.access = access;
	memcpy(token.info.object_id, keys->pool_id, sizeof(token.info.object_id));
	ww_try(ww_export_content(keys->broker, &token, &none));
	follow(keys, &token.info);
	memcpy(keys->own_secrets[access], token.secret, WW_SECRET_BYTES);
	keys->own |= 1U << access;
	return WW_OK;
}

ww_status ww_pool_keys_token(struct ww_pool_keys *keys, struct ww_token_info *info,
	struct ww_token *out_token)
{
	ww_try(ww_pool_keys_get(keys, info->access));
	memcpy(info->object_id, keys->pool_id, sizeof(info->object_id));
	info->generation = keys->generation;
	memcpy(info->broker_id, keys->broker_id, sizeof(info->broker_id));
	info->broker_uid = keys->broker_uid;
	memcpy(info->address, keys->broker->address.path, sizeof(info->address));
	return ww_token_make(info, keys->own_secrets[info->access], out_token);
}

void ww_slice_token_info(struct ww_token_info *info, const struct ww_memory *memory,
	uint64_t number, const struct ww_export_params *ours)
{
	memset(info, 0, offsetof(struct ww_token_info, array));
	info->struct_size = sizeof(*info);
	info->kind = WW_OBJECT_MEMORY;
	info->flags = WW_TOKEN_SLICE;
	info->slice = number;
	info->access = ours->access;
	info->offset = memory->offset + ours->offset;
	info->bytes = ours->bytes;
	info->total_bytes = memory->mapping->bytes;
	memcpy(info->home_uuid, memory->whole->description.home_uuid, sizeof(info->home_uuid));
	if (ours->array) {
		info->has_array = 1;
		info->array = *ours->array;
	}
}

ww_status ww_slice_token_describe(const struct ww_token_info *token, uint32_t access,
	uint32_t memory_kind, bool is_own, struct ww_object_info *info)
{
	struct ww_object_info ours = {
		.kind = WW_OBJECT_MEMORY,
		.state = WW_STATE_SHARED,
		.life = WW_LIFE_HELD,
		.access = access,
		.is_own = is_own,
		.bytes = token->bytes,
		.generation = token->generation,
		.span_bytes = token->bytes,
		.has_array = token->has_array,
		.array = token->array,
		.memory_kind = memory_kind,
		.is_slice = 1,
	};

	memcpy(ours.object_id, token->object_id, sizeof(ours.object_id));
	memcpy(ours.home_uuid, token->home_uuid, sizeof(ours.home_uuid));
	return ww_object_info_write(info, &ours);
}

void ww_slice_tries_begin(struct ww_slice_tries *tries, uint64_t timeout_ns)
{
	*tries = (struct ww_slice_tries){
		.timeout_ns = timeout_ns,
		.deadline_ns = ww_clock_deadline_ns(timeout_ns),
	};
	ww_error_save(&tries->record);
}

uint64_t ww_slice_tries_left_ns(const struct ww_slice_tries *tries)
{
	uint64_t left_ns = ww_clock_left_ns(tries->deadline_ns);

	if (tries->count == 0 || tries->timeout_ns == 0)
		return tries->timeout_ns;
	return left_ns ? left_ns : 1; /* not 0: a name that does not come has timed out */
}

bool ww_slice_tries_go_on(struct ww_slice_tries *tries, ww_status status, uint64_t part)
{
	bool goes_on = status == WW_ERR_NOT_FOUND && part != 0 && part != tries->last &&
		++tries->count < TRIES_MOST;

	tries->last = part;
	if (goes_on)
		ww_error_restore(&tries->record);
	return goes_on;
}

ww_status ww_fail_slice_gone(void)
{
	return ww_fail(WW_ERR_NOT_FOUND,
		"the slice that the token names was released before it was imported, or its tokens were "
		"revoked; ask its owner for a new token (ww_export_params.escrow_ns gives it more time)");
}
