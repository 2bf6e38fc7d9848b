/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_pool.c - a pool goes into a broker, when its first slice is exported
 *
 * The pool is an object of three descriptors: the owner's signal page, to read; the same, which the
 * broker alone has, to write there who came and whether the owner lives; and the table. Each chunk
 * is another object, whose name is inside the pool's, so that it needs no secret of its own: who
 * holds the pool gets its chunks, with the access with which he holds it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "share/hold_ref.h"
#include "pool/owner/pool.h"
#include "wire/name.h"

#define ANNOUNCES  3    /* version of the protocol from which on a broker says who came */
#define CHUNK_MODE 0666 /* who may hold the pool decides */
#define EVERYBODY  (WW_PUT_TO_READERS | WW_PUT_TO_WRITERS)

void ww_pool_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	const char *what, const char *which)
{
	ww_name_begin_inside(id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_POOL_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s-%s",
		what, which);
}

void ww_pool_chunk_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	uint32_t index)
{
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, index);
	ww_pool_name(out, id, "chunk", number);
}

ww_status ww_pool_require_broker(struct ww_broker *broker)
{
	return ww_sync_object_require_version(broker, ANNOUNCES, "tell a pool's owner who uses it");
}

static void describe(struct ww_put_request *offer, const struct ww_pool *pool)
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
	ww_pool_ref_write(&ref, offer->put.description);
	offer->put.description_bytes = WW_POOL_REF_BYTES;
	memcpy(offer->put.home_uuid, pool->device->uuid, sizeof(offer->put.home_uuid));
}

static ww_status put_pool(struct ww_pool *pool, struct ww_broker *broker)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request offer = {.fd_count = 0};

	ww_sync_object_offer_init(&offer, WW_OBJECT_POOL, pool->id, NULL);
	offer.put.state = WW_STATE_SHARED;
	ww_try(ww_sync_object_offer_page(&offer, pool->life->page));
	offer.put.fd_access[0] = EVERYBODY;
	ww_try(ww_mapping_export(pool->table.mapping, WW_ACCESS_READ, &offer.fds[offer.fd_count]));
	offer.put.fd_access[offer.fd_count++] = EVERYBODY;
	offer.host_bytes += pool->table.mapping->bytes;
	describe(&offer, pool);
	return ww_sync_object_put(&offer, &pool->attachments, broker);
}

/* Under pool->lock. */
static ww_status share_pool(struct ww_pool *pool, struct ww_broker *broker)
{
	const struct ww_timeline_params alone = {
		.struct_size = sizeof(alone),
		.flags = WW_TIMELINE_ALONE,
	};

	if (pool->keys.broker && pool->keys.broker != broker)
		return ww_fail(WW_ERR_STATE,
			"the pool's slices are shared by the broker at %s already; a pool is in one broker",
			pool->keys.broker->address.path);
	if (pool->keys.broker && ww_hold_ref_is_held(&pool->attachments, broker))
		return WW_OK;
	ww_try(ww_pool_require_broker(broker));
	if (!ww_pool_knows_all(pool))
		return ww_fail(WW_ERR_PEER_LOST,
			"the broker at %s has lost the pool, and with it who uses its slices; make a new pool",
			broker->address.path);
	if (!pool->life)
		ww_try(ww_timeline_create(&alone, &pool->life));
	ww_try(ww_sync_object_require_alive(pool->life->page));
	ww_try(put_pool(pool, broker));
	ww_pool_keys_set(&pool->keys, broker);
	return WW_OK;
}

/* Under pool->lock. */
static ww_status share_chunk(struct ww_pool *pool, const struct ww_chunk *chunk)
{
	struct ww_attachments *attachments = &chunk->memory->attachments;
	struct ww_broker *broker = pool->keys.broker;
	WW_AUTO_PUT_REQUEST struct ww_put_request offer = {.fd_count = 0};

	if (ww_hold_ref_is_held(attachments, broker))
		return WW_OK;
	ww_try(ww_put_request_init(&offer, chunk->memory, WW_STATE_SHARED, NULL));
	offer.put.life = WW_LIFE_HELD;
	offer.put.mode = CHUNK_MODE;
	offer.put.gid = WW_GID_OWN;
	offer.put.flags = WW_WIRE_PUT_FLAG_REPLACE; /* nobody else has any business there */
	ww_pool_chunk_name(offer.put.name, pool->id, chunk->index);
	return ww_put_request_put(&offer, attachments, broker, 0);
}

/* Return: WW_OK; WW_CANCELLED (who uses the slice was not seen, so nothing is expected). */
static ww_status expect_imports(struct ww_slice *slice, const struct ww_export_params *ours)
{
	uint64_t escrow_ns = ours->escrow_ns ? ours->escrow_ns : WW_ESCROW_NS;
	uint64_t until_ns;

	if (escrow_ns == WW_ESCROW_NONE)
		return WW_OK;
	/* Imports that nobody expected, or tokens that came to nothing, are another matter. */
	if (!ww_pool_knows_all(slice->pool)) {
		/* In any case: what is not seen now would end the escrow early. */
		slice->pool->ask_again_ns = 0;
		if (ww_pool_meet_holders(slice->pool) == WW_CANCELLED)
			return WW_CANCELLED;
	}
	if (!ww_slice_is_in_flight(slice))
		slice->expected = slice->taken + ww_pool_taken(slice->pool, slice->number);
	until_ns = ww_clock_deadline_ns(escrow_ns);
	if (until_ns > slice->until_ns)
		slice->until_ns = until_ns;
	slice->expected += ours->uses ? ours->uses : 1;
	return WW_OK;
}

/* Under pool->lock. */
static ww_status export(struct ww_slice *slice, struct ww_token_info *info,
	struct ww_broker *broker, struct ww_token *out_token)
{
	struct ww_pool *pool = slice->pool;

	ww_try(share_pool(pool, broker));
	ww_try(share_chunk(pool, slice->chunk));
	return ww_pool_keys_token(&pool->keys, info, out_token);
}

ww_status ww_slice_export(struct ww_slice *slice, struct ww_memory *memory,
	struct ww_broker *broker, const struct ww_export_params *ours, struct ww_token *out_token)
{
	struct ww_pool *pool = slice->pool;
	struct ww_token_info info;
	ww_status status;

	ww_pool_token_info(&info, memory, slice->number, ours);
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	status = export(slice, &info, broker, out_token);
	if (status == WW_OK) {
		slice->is_shared = true;
		status = expect_imports(slice, ours);
	}
	pthread_mutex_unlock(&pool->lock);
	return status;
}

void ww_pool_token_info(struct ww_token_info *info, const struct ww_memory *memory, uint64_t number,
	const struct ww_export_params *ours)
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
