/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_pool.c - a pool goes into a broker, when its first slice is exported
 *
 * The pool is an object of four descriptors: the owner's signal page, to read; the same page, to
 * write, which only the broker has: it writes there which processes came and whether the owner
 * lives; the table; and the counts of deliveries, which only the broker has: by these it knows
 * whether the pool must stay when the owner has ended. Each chunk is another object, whose name is
 * inside the pool's. So a chunk needs no secret of its own: a process that holds the pool gets its
 * chunks, with the same access.
 */
#include <string.h>

#include "base/error.h"
#include "share/hold_ref.h"
#include "pool/broker_object.h"
#include "pool/owner/deliveries.h"
#include "pool/owner/importers.h"
#include "pool/owner/put_pool.h"
#include "share/sync_object.h"

#define CHUNK_MODE 0666 /* the mode of the pool decides */
#define EVERYBODY  (WW_PUT_TO_READERS | WW_PUT_TO_WRITERS)

static void describe(struct ww_put_request *request, const struct ww_pool *pool)
{
	const struct ww_signal_map *page = pool->life->page;
	struct ww_wire_pool_ref ref = {
		.page_bytes = page->cpu->bytes,
		.table_bytes = pool->table.mapping->bytes,
		.slot_count = pool->slot_count,
		.kind = pool->kind,
	};

	memcpy(ref.pool_id, pool->id, sizeof(ref.pool_id));
	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	memcpy(ref.home_uuid, pool->device->uuid, sizeof(ref.home_uuid));
	ww_pool_ref_write(&ref, request->put.description);
	request->put.description_bytes = WW_POOL_REF_BYTES;
	memcpy(request->put.home_uuid, pool->device->uuid, sizeof(request->put.home_uuid));
}

static ww_status put_pool(struct ww_pool *pool, struct ww_broker *broker)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_sync_object_request_init(&request, WW_OBJECT_POOL, pool->id, NULL);
	request.put.state = WW_STATE_SHARED;
	ww_try(ww_sync_object_add_page(&request, pool->life->page));
	request.put.fd_access[0] = EVERYBODY;
	ww_try(ww_put_request_add_file(&request, pool->table.mapping, WW_ACCESS_READ, EVERYBODY));
	if (pool->sent.mapping)
		ww_try(ww_put_request_add_file(&request, pool->sent.mapping, WW_ACCESS_WRITE,
			WW_PUT_COUNTS));
	describe(&request, pool);
	return ww_put_request_put_unnamed(&request, &pool->attachments, broker);
}

static ww_status share_pool(struct ww_pool *pool, struct ww_broker *broker)
{
	if (pool->keys.broker && pool->keys.broker != broker)
		return ww_fail(WW_ERR_STATE,
			"the pool's slices are shared by the broker at %s already; a pool is in one broker",
			pool->keys.broker->address.path);
	if (pool->keys.broker && ww_hold_ref_is_held(&pool->attachments, broker))
		return WW_OK;
	ww_try(ww_pool_require_broker(broker));
	if (!ww_pool_knows_all(pool))
		return ww_fail(WW_ERR_PEER_LOST,
			"the broker at %s has lost the pool and the list of its users; make a new pool",
			broker->address.path);
	if (!pool->life)
		ww_try(ww_timeline_create_alone(&pool->life));
	ww_try(ww_sync_object_require_alive(pool->life->page));
	ww_try(ww_pool_count_deliveries(pool, broker));
	ww_try(put_pool(pool, broker));
	ww_pool_keys_set(&pool->keys, broker);
	return WW_OK;
}

static ww_status put_chunk(struct ww_pool *pool, const struct ww_chunk *chunk)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_try(ww_put_request_init(&request, chunk->memory, WW_STATE_SHARED, NULL));
	request.put.life = WW_LIFE_HELD;
	request.put.mode = CHUNK_MODE;
	request.put.gid = WW_GID_OWN;
	request.put.flags = WW_WIRE_PUT_FLAG_REPLACE; /* only the owner puts chunks */
	ww_pool_chunk_name(request.put.name, pool->id, chunk->index);
	return ww_put_request_put(&request, &chunk->memory->attachments, pool->keys.broker, 0);
}

static ww_status share_chunk(struct ww_pool *pool, const struct ww_chunk *chunk)
{
	if (ww_hold_ref_is_held(&chunk->memory->attachments, pool->keys.broker))
		return WW_OK;
	return put_chunk(pool, chunk);
}

ww_status ww_pool_share_all(struct ww_pool *pool, struct ww_broker *broker)
{
	ww_try(share_pool(pool, broker));
	ww_list_for_each (link, &pool->chunks)
		ww_try(share_chunk(pool, ww_container(link, struct ww_chunk, link)));
	return WW_OK;
}

ww_status ww_pool_share(struct ww_pool *pool, const struct ww_chunk *chunk,
	struct ww_broker *broker)
{
	ww_try(share_pool(pool, broker));
	return share_chunk(pool, chunk);
}
