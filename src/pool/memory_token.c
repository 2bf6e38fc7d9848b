/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_token.c - memory by token, and slices by streams: to whom the calls go
 *
 * Memory is memory to the caller. Whether it is an object of a broker, a slice of a pool of this
 * process, or one of another process's pool, is decided here.
 */
#include <string.h>

#include "base/cancel.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/token_export.h"
#include "share/token_import.h"
#include "share/object_info.h"
#include "device/stream.h"
#include "pool/member/imported_slice.h"
#include "pool/owner/pool.h"

ww_broker *ww_memory_broker(ww_memory *memory)
{
	struct ww_slice *slice;
	struct ww_broker *broker;

	if (!memory || ww_process_is_forked())
		return NULL;
	if (ww_member_has(memory))
		return ww_member_broker(memory);
	slice = ww_slice_of(memory);
	if (!slice)
		return ww_hold_ref_only_broker(&ww_memory_whole(memory)->attachments);
	pthread_mutex_lock(&slice->pool->lock);
	broker = slice->pool->keys.broker;
	pthread_mutex_unlock(&slice->pool->lock);
	return broker;
}

/* As ww_choose_broker_of(), of slices too. */
static ww_status choose_broker(struct ww_memory *memory, struct ww_broker **broker,
	struct ww_broker **out_opened)
{
	if (!*broker)
		*broker = ww_memory_broker(memory);
	return ww_choose_broker(broker, out_opened, 0);
}

static ww_status export(struct ww_memory *memory, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	struct ww_slice *slice = ww_slice_of(memory);

	if (slice)
		return ww_slice_export(slice, memory, broker, ours, out_token);
	return ww_client_export(memory, broker, ours, out_token);
}

ww_status ww_memory_export(ww_memory *memory, ww_broker *broker,
	const struct ww_export_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	struct ww_export_params ours;

	ww_try(ww_process_enter());
	ww_require(memory && out_token, "ww_memory_export: memory or out_token is NULL");
	ww_try(ww_client_export_read(params, memory, &ours));
	if (ww_member_has(memory))
		return ww_member_export(memory, broker, &ours, out_token);
	ww_try(choose_broker(memory, &broker, &opened));
	return export(memory, broker, &ours, out_token);
}

ww_status ww_memory_revoke(ww_memory *memory, ww_broker *broker, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_slice *slice;

	ww_try(ww_process_enter());
	ww_require(memory, "ww_memory_revoke: memory is NULL");
	if (ww_member_has(memory))
		return ww_fail(WW_ERR_ACCESS,
			"cannot revoke tokens of a slice of another process's pool; its owner can");
	slice = ww_slice_of(memory);
	if (slice)
		return ww_slice_revoke(slice, broker);
	ww_try(choose_broker(memory, &broker, &opened));
	return ww_client_revoke(memory, broker);
}

static ww_status check_device(const struct ww_device *device, const struct ww_pool *pool)
{
	if (pool->device != device)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the slice is of a pool of this process on %s, which %s reaches by the same "
			"pointer or not at all; import it for %s",
			pool->device->selector, device->selector, pool->device->selector);
	return WW_OK;
}

/*
 * One whose secret this process has not seen yet, of the other access say, is shown to the pool's
 * own broker.
 */
static ww_status check_secret(struct ww_pool *pool, const struct ww_token_info *info,
	const struct ww_token *token)
{
	WW_AUTO_IMPORT struct ww_import import;
	WW_AUTO_BROKER struct ww_broker *broker = NULL;
	bool is_known;

	ww_import_init(&import, WW_OBJECT_POOL, info->access);
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	is_known = ww_pool_keys_fit(&pool->keys, info, token);
	broker = ww_broker_ref(pool->keys.broker);
	pthread_mutex_unlock(&pool->lock);
	if (is_known)
		return WW_OK;
	return broker ? ww_import_ask(&import, broker, token) : ww_fail_slice_gone();
}

/* A token that came home. */
static ww_status take_home(struct ww_pool *pool, struct ww_device *device,
	const struct ww_token_info *info, const struct ww_token *token,
	const struct ww_import_options *options, struct ww_memory **out_memory)
{
	ww_status status;

	ww_try(check_device(device, pool));
	ww_try(check_secret(pool, info, token));
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	status = ww_slice_take(pool, info, options, out_memory);
	pthread_mutex_unlock(&pool->lock);
	return status;
}

static void describe(const struct ww_token_info *token, const struct ww_memory *memory, bool is_own,
	struct ww_object_info *info)
{
	memset(info, 0, sizeof(*info));
	info->kind = WW_OBJECT_MEMORY;
	info->state = WW_STATE_SHARED;
	info->life = WW_LIFE_HELD;
	info->access = memory->access;
	info->own = is_own;
	info->has_array = token->has_array;
	info->bytes = memory->bytes;
	info->generation = token->generation;
	info->span_bytes = memory->bytes;
	memcpy(info->object_id, token->object_id, sizeof(info->object_id));
	memcpy(info->home_uuid, token->home_uuid, sizeof(info->home_uuid));
	info->array = token->array;
	info->memory_kind = memory->mapping->kind;
}

static ww_status import_slice(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_info *info, const struct ww_token *token,
	const struct ww_import_options *options, struct ww_memory **out_memory,
	struct ww_object_info *object)
{
	WW_AUTO_POOL struct ww_pool *pool = NULL;
	struct ww_object_info ours;

	ww_try(ww_import_check_access(info, options->access));
	ww_try(ww_import_options_refuse_own_mapping(options, "a chunk of a pool's slices"));
	pool = ww_pool_find(info->object_id);
	if (pool)
		ww_try(take_home(pool, device, info, token, options, out_memory));
	else
		ww_try(ww_member_import(device, broker, info, token, options, out_memory));
	if (!object)
		return WW_OK;
	describe(info, *out_memory, pool != NULL, &ours);
	return ww_object_info_write(object, &ours);
}

ww_status ww_memory_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	const struct ww_import_params *params, ww_cancel *cancel, ww_memory **out_memory,
	struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_info named = WW_INIT(struct ww_token_info);
	struct ww_import_options options;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && token && out_memory,
		"ww_memory_import: device, token or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_try(ww_token_info_get(token, &named));
	ww_members_reclaim();
	if (named.flags & WW_TOKEN_SLICE)
		return import_slice(device, broker, &named, token, &options, out_memory, info);
	return ww_client_import(device, broker, &named, token, &options, out_memory, info);
}

ww_status ww_pool_release(ww_memory *slice, ww_stream *stream)
{
	ww_try(ww_process_enter());
	ww_require(slice && stream, "ww_pool_release: slice or stream is NULL");
	ww_try(ww_stream_check(stream));
	if (ww_member_has(slice))
		return ww_member_stream_release(slice, stream);
	if (ww_slice_of(slice))
		return ww_slice_stream_release(slice, stream);
	return ww_fail(WW_ERR_INVALID,
		"this memory is no slice of a pool; synchronize the stream, then ww_memory_unref()");
}
