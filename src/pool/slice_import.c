/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_import.c - a slice by its token, see slice_import.h
 */
#include "base/cancel.h"
#include "base/condition.h"
#include "base/error.h"
#include "pool/slice_import.h"
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
		ww_try(ww_member_import(device, broker, token, options, is_import, out_memory));
	if (!object)
		return WW_OK;
	return ww_slice_token_describe(info, options->access, (*out_memory)->mapping->kind,
		pool != NULL, object);
}
