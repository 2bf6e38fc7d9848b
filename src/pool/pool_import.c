/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_import.c - a pool by a token of its own: exported, and imported to be known
 *
 * The token names the pool's object in its broker. A process that imports it becomes a member, as
 * with its first slice, and stays one while it has the pool. The broker tells a member the secrets
 * that tokens of slices have, so it is not asked about these any more.
 */
#include <warpway/pool.h>

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "pool/member/imported_slice.h"
#include "pool/member/member.h"
#include "pool/owner/pool.h"
#include "pool/owner/put_pool.h"
#include "share/choose_broker.h"
#include "share/token_export.h"
#include "share/token_import.h"

#define PARAMS_V1_BYTES sizeof(struct ww_export_params)

/* --- export --- */

static ww_status read_params(const struct ww_export_params *params, struct ww_export_params *ours)
{
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_export_params"));
	if (ours->offset || ours->bytes || ours->array)
		return ww_fail(WW_ERR_INVALID,
			"a token of a pool names the whole pool: ww_export_params.offset, bytes and array "
			"are 0");
	if (ours->access == 0)
		ours->access = WW_ACCESS_READ;
	ww_try(ww_memory_check_access(ours->access));
	return ww_escrow_check(&(struct ww_escrow){ours->escrow_ns, ours->uses, ours->flags});
}

static ww_status make_token(struct ww_broker *broker, const uint8_t pool_id[WW_WIRE_ID_BYTES],
	const uint8_t home_uuid[WW_DEVICE_UUID_BYTES], const struct ww_export_params *ours,
	struct ww_token *out_token)
{
	const struct ww_escrow escrow = {ours->escrow_ns, ours->uses, ours->flags};
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_POOL,
		.access = ours->access,
		.flags = ours->uses ? WW_TOKEN_COUNTED : 0,
	};

	memcpy(info.object_id, pool_id, sizeof(info.object_id));
	memcpy(info.home_uuid, home_uuid, sizeof(info.home_uuid));
	return ww_export_object(broker, &info, &escrow, out_token);
}

/* @out_broker: that the own pool is in, a reference; NULL: in none */
static ww_status find_broker(struct ww_pool *pool, struct ww_broker **out_broker)
{
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	*out_broker = ww_broker_ref(pool->keys.broker);
	pthread_mutex_unlock(&pool->lock);
	return WW_OK;
}

static ww_status export_own(struct ww_pool *pool, struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	WW_AUTO_BROKER struct ww_broker *opened = NULL;
	WW_AUTO_BROKER struct ww_broker *own = NULL;
	ww_status status;

	ww_try(find_broker(pool, &own));
	if (!broker)
		broker = own;
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	status = ww_pool_share_all(pool, broker);
	if (status == WW_OK)
		status = make_token(broker, pool->id, pool->device->uuid, ours, out_token);
	pthread_mutex_unlock(&pool->lock);
	return status;
}

static ww_status export_imported(const struct ww_pool *pool, const struct ww_broker *broker,
	const struct ww_export_params *ours, struct ww_token *out_token)
{
	struct ww_member *member = pool->member;
	ww_status status;

	if (broker && broker != member->keys.broker)
		return ww_fail(WW_ERR_STATE,
			"the pool came by the broker at %s; it can be exported there only",
			member->keys.broker->address.path);
	status = make_token(member->keys.broker, member->pool_id, member->home_uuid, ours,
		out_token);
	if (status == WW_ERR_NOT_FOUND)
		return ww_fail(status,
			"the pool can be exported no more: its owner has ended or released it, and nothing "
			"of it is in flight; arrays and memories of it that are here stay usable here");
	return status;
}

ww_status ww_pool_export(ww_pool *pool, ww_broker *broker, const struct ww_export_params *params,
	ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_export_params ours = {.struct_size = 0};

	ww_try(ww_process_enter());
	ww_require(pool && out_token, "ww_pool_export: pool or out_token is NULL");
	ww_try(ww_ref_check(&pool->ref, "a pool"));
	if (broker)
		ww_try(ww_ref_check(&broker->ref, "a connection to a broker"));
	ww_try(read_params(params, &ours));
	return pool->member ? export_imported(pool, broker, &ours, out_token)
			    : export_own(pool, broker, &ours, out_token);
}

/* --- import --- */

/*
 * A token that came home: its import is counted, and the pool is the one that is here. The pool's
 * own broker decides, since any other one may claim to have a pool of that id.
 */
static ww_status take_home(struct ww_pool *pool, const struct ww_token_content *token)
{
	WW_AUTO_BROKER struct ww_broker *broker = NULL;
	WW_AUTO_IMPORT struct ww_import import;

	ww_import_init(&import, WW_OBJECT_POOL, token->info.access);
	ww_try(find_broker(pool, &broker));
	if (!broker)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token names a pool of this process, which has never been exported: it is forged");
	return ww_import_ask_read(&import, broker, token);
}

/* Takes over the member's user, on success. */
static ww_status make_pool(struct ww_member *member, struct ww_pool **out_pool)
{
	struct ww_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a pool: out of memory");
	ww_ref_init(&pool->ref);
	pool->member = member;
	*out_pool = pool;
	return WW_OK;
}

static ww_status join(struct ww_device *device, struct ww_broker *broker,
	const struct ww_token_content *token, struct ww_pool **out_pool)
{
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	WW_AUTO_MEMBER struct ww_member *member = NULL;

	ww_try(ww_member_join_pool(broker, token, &member));
	if (device)
		ww_member_map_chunks(member, device, token->info.access);
	ww_try(make_pool(member, out_pool));
	(void)ww_steal(member);
	return WW_OK;
}

ww_status ww_pool_import(ww_device *device, ww_broker *broker, const struct ww_token *token,
	ww_cancel *cancel, ww_pool **out_pool)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_content content;
	WW_AUTO_POOL struct ww_pool *own = NULL;

	ww_clear(out_pool, NULL);
	ww_try(ww_process_enter());
	ww_require(token && out_pool, "ww_pool_import: token or out_pool is NULL");
	ww_try(ww_token_read(token, &content));
	if (content.info.kind != WW_OBJECT_POOL)
		return ww_fail(WW_ERR_UNSUPPORTED, "the token names no pool, but %s",
			content.info.flags & WW_TOKEN_SLICE
				? "a slice of one: use ww_memory_import()"
				: "another kind of object");
	ww_members_reclaim();
	own = ww_pool_find(content.info.object_id);
	if (!own)
		return join(device, broker, &content, out_pool);
	ww_try(take_home(own, &content));
	*out_pool = ww_pool_ref(own);
	return WW_OK;
}
