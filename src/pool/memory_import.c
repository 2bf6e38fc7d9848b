/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_import.c - a memory by its token: an object of a broker, a slice of a pool of this
 * process, or a slice of another process's pool
 */
#include "base/cancel.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/process.h"
#include "pool/memory_import.h"
#include "pool/owner/slice.h"
#include "share/object_info.h"
#include "share/token_import.h"

/*
 * One whose secret this process has not seen yet, of the other access say, is shown to the pool's
 * own broker.
 */
static ww_status check_secret(struct ww_pool *pool, const struct ww_token_content *token)
{
	WW_AUTO_IMPORT struct ww_import import;
	WW_AUTO_BROKER struct ww_broker *broker = NULL;
	bool is_known;

	ww_import_init(&import, WW_OBJECT_POOL, token->info.access);
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	is_known = ww_pool_keys_fit(&pool->keys, token);
	broker = ww_broker_ref(pool->keys.broker);
	pthread_mutex_unlock(&pool->lock);
	if (is_known)
		return WW_OK;
	return broker ? ww_import_ask_read(&import, broker, token) : ww_fail_slice_gone();
}

/* A token that came home. */
static ww_status take_home(struct ww_pool *pool, struct ww_device *device,
	const struct ww_token_content *token, const struct ww_import_options *options,
	bool is_import, struct ww_memory **out_memory)
{
	ww_status status;

	ww_try(ww_pool_check_device(pool, device));
	ww_try(check_secret(pool, token));
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	status = ww_slice_take(pool, &token->info, options, is_import, out_memory);
	pthread_mutex_unlock(&pool->lock);
	return status;
}

ww_status ww_slice_import(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, const struct ww_import_options *options,
	bool is_import, struct ww_memory **out_memory, struct ww_object_info *object)
{
	const struct ww_token_info *info = &token->info;
	WW_AUTO_POOL struct ww_pool *pool = NULL;

	ww_try(ww_import_check_access(info, options->access));
	ww_try(ww_import_options_refuse_own_mapping(options, "a chunk of a pool's slices"));
	pool = ww_pool_find(info->object_id);
	if (pool)
		ww_try(take_home(pool, device, token, options, is_import, out_memory));
	else
		ww_try(ww_member_import(device, broker, token, options, is_import,
			out_memory));
	if (!object)
		return WW_OK;
	return ww_slice_token_describe(info, options->access, (*out_memory)->mapping->kind,
		pool != NULL, object);
}

ww_status ww_memory_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	const struct ww_import_params *params, ww_cancel *cancel, ww_memory **out_memory,
	struct ww_object_info *info)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_content content;
	struct ww_import_options options;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && token && out_memory,
		"ww_memory_import: device, token or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options));
	if (info)
		ww_try(ww_object_info_check(info));
	ww_try(ww_token_read(token, &content));
	ww_members_reclaim();
	if (content.info.flags & WW_TOKEN_SLICE)
		return ww_slice_import(device, broker, &content, &options, true, out_memory,
			info);
	return ww_import_memory(device, broker, &content, &options, out_memory, info);
}
