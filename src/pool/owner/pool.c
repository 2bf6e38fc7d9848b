/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - a pool as a whole: made, found, ended
 *
 * A pool ends when its last reference is gone, of which each used slice has one. What waits then
 * need not be waited for: a process that marks a slice has mapped its chunk. But streams of this
 * process use this process's mapping; if a pool has slices that wait for one, its release is
 * deferred (device/deferred_release.h).
 */
#include "pool/owner/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "pool/member/imported_slice.h"
#include "pool/member/member.h"
#include "pool/owner/deliveries.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"
#include "sync/timeline.h"

#define PARAMS_V1_BYTES sizeof(struct ww_pool_params)
#define CHUNK_BYTES     (UINT64_C(64) << 20)
#define SLICES          65536
#define NS_PER_MS       UINT64_C(1000000)

static pthread_mutex_t pools_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list pools WW_PER_PROCESS = WW_LIST_INIT(pools);

static void free_arrays(struct ww_pool *pool)
{
	free(pool->slices);
	free(pool->generations);
	free(pool->free_slots);
}

static void free_list(struct ww_list *slices)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(slices)))
		ww_slice_free(ww_container(link, struct ww_slice, link));
}

void ww_pool_give_block(struct ww_pool *pool, struct ww_arena_block *block)
{
	struct ww_chunk *chunk = block->chunk;

	block = ww_arena_give(&pool->arena, block);
	if (chunk->slice_count == 0)
		chunk->all = block;
}

void ww_pool_drop_chunk(struct ww_pool *pool, struct ww_chunk *chunk)
{
	ww_arena_remove(&pool->arena, chunk->all);
	ww_list_remove(&chunk->link);
	pool->chunk_count--;
	pool->reserved -= chunk->memory->bytes;
	ww_memory_unref(chunk->memory);
	free(chunk);
}

void ww_pool_tell_trim(struct ww_pool *pool)
{
	__atomic_add_fetch(&pool->table.header->trims, 1, __ATOMIC_RELEASE);
}

/* No reference is left, and no stream uses the pool. */
static void pool_free(struct ww_pool *pool)
{
	/* First of all: it tells the processes that use the pool that its owner has ended. */
	ww_timeline_drop(pool->life);
	ww_list_for_each (link, &pool->waiting) {
		struct ww_slice *slice = ww_container(link, struct ww_slice, link);

		slice->chunk->slice_count--;
		ww_pool_give_block(pool, slice->block);
	}
	/* Before its chunks: then the broker keeps those that slices in flight need. */
	ww_attachments_fini(&pool->attachments);
	while (!ww_list_is_empty(&pool->chunks))
		ww_pool_drop_chunk(pool, ww_container(pool->chunks.next, struct ww_chunk, link));
	ww_arena_fini(&pool->arena);
	ww_assert(!ww_slices_have_streams(pool)); /* and so it freed what it noted of releases */
	free_list(&pool->waiting);
	free_list(&pool->spare);
	ww_pool_forget_holders(pool);
	ww_pool_keys_set(&pool->keys, NULL);
	ww_marks_free(pool->own);
	ww_slice_table_fini(&pool->table);
	ww_delivery_file_fini(&pool->sent);
	free_arrays(pool);
	pthread_mutex_destroy(&pool->lock);
	ww_device_unref(pool->device);
	free(pool);
}

/* Nothing else refers to it, so its lock is not needed. */
static bool pool_is_unused(struct ww_deferred *deferred)
{
	return !ww_slices_have_streams(ww_container(deferred, struct ww_pool, deferred));
}

static void pool_release_unused(struct ww_deferred *deferred)
{
	pool_free(ww_container(deferred, struct ww_pool, deferred));
}

static const struct ww_deferred_class ended_class = {
	.is_done = pool_is_unused,
	.release = pool_release_unused,
	.may_block = true, /* its chunks and marks may be registered with the driver */
};

ww_pool *ww_pool_ref(ww_pool *pool)
{
	if (!pool)
		return NULL;
	ww_ref_get(&pool->ref);
	atomic_fetch_add(&pool->user_refs, 1);
	return pool;
}

static void end_escrow(struct ww_pool *pool, const struct ww_slice_tokens *tokens)
{
	bool is_kept = pool->sent.mapping && ww_tokens_deliveries(pool, tokens) > 0;

	ww_slice_table_set_escrow(&pool->table, ww_slice_slot(tokens->number),
		is_kept ? ww_escrow(tokens->expected,
				  ww_clock_deadline_ns(tokens->keep_ms * NS_PER_MS))
			: WW_ESCROW_OVER);
}

/*
 * Deliveries are good for some time after the pool, if the broker counts them; other tokens are
 * not. Now, and not when the pool is freed: a stream may keep it for long.
 */
static void end_escrows(struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->waiting) {
		const struct ww_slice *slice = ww_container(link, struct ww_slice, link);

		for (uint32_t i = 0; i < slice->kind_count; i++)
			end_escrow(pool, &slice->tokens[i]);
	}
}

/* An imported one. */
static void leave(struct ww_pool *pool)
{
	ww_member_leave(pool->member);
	free(pool);
	ww_members_reclaim();
}

void ww_pool_drop(struct ww_pool *pool)
{
	if (!pool || !ww_ref_put(&pool->ref))
		return;
	if (pool->member) {
		leave(pool);
		return;
	}
	end_escrows(pool);
	pthread_mutex_lock(&pools_lock);
	ww_list_remove(&pool->link);
	pthread_mutex_unlock(&pools_lock);
	ww_deferred_add(&pool->deferred, &ended_class);
	ww_deferred_reclaim();
	ww_members_reclaim(); /* this process may have imported a slice of a pool that ends now */
}

/*
 * With the program's last reference the pool is closed, though slices may keep it: processes that
 * use none of a chunk need not keep the chunk for later slices.
 */
ww_pool *ww_pool_unref(ww_pool *pool)
{
	if (pool && !ww_ref_is_inherited(&pool->ref) && !pool->member &&
		atomic_fetch_sub(&pool->user_refs, 1) == 1)
		ww_pool_tell_trim(pool);
	ww_pool_drop(pool);
	return NULL;
}

ww_status ww_pool_check_own(const struct ww_pool *pool, const char *what)
{
	ww_try(ww_ref_check(&pool->ref, "a pool"));
	if (pool->member)
		return ww_fail(WW_ERR_ACCESS,
			"cannot %s a pool of another process: only the process that created it can; this one "
			"imports slices of it",
			what);
	return WW_OK;
}

ww_status ww_pool_check_device(const struct ww_pool *pool, const struct ww_device *device)
{
	if (pool->device != device)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the slice is of a pool of this process on %s, which %s reaches by the same "
			"pointer or not at all; import it for %s",
			pool->device->selector, device->selector, pool->device->selector);
	return WW_OK;
}

struct ww_pool *ww_pool_find(const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_pool *found = NULL;

	pthread_mutex_lock(&pools_lock);
	ww_list_for_each (link, &pools) {
		struct ww_pool *pool = ww_container(link, struct ww_pool, link);

		if (!memcmp(pool->id, id, sizeof(pool->id)) && ww_ref_try_get(&pool->ref)) {
			found = pool;
			break;
		}
	}
	pthread_mutex_unlock(&pools_lock);
	return found;
}

struct ww_pool *ww_pool_next(struct ww_pool *before)
{
	struct ww_pool *found = NULL;
	struct ww_list *link;

	pthread_mutex_lock(&pools_lock);
	link = before ? before->link.next : pools.next;
	for (; link != &pools && !found; link = link->next) {
		struct ww_pool *pool = ww_container(link, struct ww_pool, link);

		if (ww_ref_try_get(&pool->ref))
			found = pool;
	}
	pthread_mutex_unlock(&pools_lock);
	ww_pool_drop(before);
	return found;
}

ww_status ww_pool_round_up(uint64_t bytes, uint64_t unit, uint64_t *out_bytes)
{
	if (__builtin_add_overflow(bytes, unit - 1, out_bytes))
		return ww_fail(WW_ERR_OVERFLOW,
			"%" PRIu64 " bytes, rounded up to a multiple of %" PRIu64
			", are more than 64 bits count",
			bytes, unit);
	*out_bytes = *out_bytes / unit * unit;
	return WW_OK;
}

/* What cannot be rounded up is no limit. */
static uint64_t limit_of(uint64_t bytes, uint64_t unit)
{
	if (bytes == 0 || bytes > UINT64_MAX - (unit - 1))
		return UINT64_MAX;
	return (bytes + unit - 1) / unit * unit;
}

static ww_status read_sizes(const struct ww_pool_params *params, struct ww_pool *pool)
{
	uint64_t bytes = params->chunk_bytes;

	pool->bytes_max = limit_of(params->bytes_max, pool->unit_bytes);
	if (bytes == 0)
		bytes = pool->bytes_max < CHUNK_BYTES ? pool->bytes_max : CHUNK_BYTES;
	ww_try(ww_pool_round_up(bytes, pool->unit_bytes, &pool->chunk_bytes));
	if (pool->chunk_bytes > pool->bytes_max)
		return ww_fail(WW_ERR_INVALID,
			"a pool of at most %" PRIu64 " bytes has no room for a chunk of %" PRIu64
			"; chunks are multiples of %" PRIu64,
			pool->bytes_max, pool->chunk_bytes, pool->unit_bytes);
	return WW_OK;
}

static ww_status read_slots(const struct ww_pool_params *params, struct ww_pool *pool)
{
	uint32_t wanted = params->slices_max ? params->slices_max : SLICES;

	if (wanted > WW_POOL_SLICES_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a pool has at most %" PRIu32 " slices, not %" PRIu32 "; use several pools",
			WW_POOL_SLICES_MAX, wanted);
	pool->slot_count = 1;
	while (pool->slot_count < wanted)
		pool->slot_count *= 2;
	return WW_OK;
}

static ww_status read_params(const struct ww_pool_params *params, struct ww_pool *pool)
{
	struct ww_pool_params ours = {.kind = 0};

	if (params)
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_pool_params"));
	if (ours.flags || ours.reserved)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a pool",
			ours.flags ? ours.flags : ours.reserved);
	pool->kind = ours.kind ? ours.kind : WW_MEMORY_VMM;
	if (pool->kind != WW_MEMORY_VMM && pool->kind != WW_MEMORY_HOST)
		return ww_fail(WW_ERR_INVALID,
			"a pool cannot be of %s (%" PRIu32 "); use WW_MEMORY_VMM or WW_MEMORY_HOST",
			ww_memory_kind_name(pool->kind), pool->kind);
	pool->unit_bytes = pool->kind == WW_MEMORY_HOST ? (uint64_t)sysconf(_SC_PAGESIZE)
							: pool->device->granularity;
	ww_try(read_sizes(&ours, pool));
	return read_slots(&ours, pool);
}

static ww_status check_device(const struct ww_pool *pool)
{
	uint64_t needed = pool->kind == WW_MEMORY_HOST ? WW_CAP_HOST_MEMORY : WW_CAP_EXPORT;

	if (!(pool->device->capabilities & needed))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s cannot share memory of this kind between processes, so a pool of it is of no use",
			pool->device->selector);
	return WW_OK;
}

static ww_status make_arrays(struct ww_pool *pool)
{
	pool->slices = calloc(pool->slot_count, sizeof(void *));
	pool->generations = calloc(pool->slot_count, sizeof(*pool->generations));
	pool->free_slots = calloc(pool->slot_count, sizeof(*pool->free_slots));
	if (!pool->slices || !pool->generations || !pool->free_slots)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot keep a pool of %" PRIu32 " slices: out of memory",
			pool->slot_count);
	return WW_OK;
}

/* The steps that can fail. */
static ww_status set_up(struct ww_pool *pool, const struct ww_pool_params *params)
{
	ww_try(read_params(params, pool));
	ww_try(check_device(pool));
	ww_try(ww_random_bytes(pool->id, sizeof(pool->id)));
	memcpy(pool->keys.pool_id, pool->id, sizeof(pool->id));
	ww_try(make_arrays(pool));
	return ww_slice_table_create(&pool->table, pool->id, pool->slot_count);
}

ww_status ww_pool_create(ww_device *device, const struct ww_pool_params *params, ww_pool **out_pool)
{
	struct ww_pool *pool;
	ww_status status;

	ww_clear(out_pool, NULL);
	ww_try(ww_process_enter());
	ww_require(device && out_pool, "ww_pool_create: device or out_pool is NULL");
	ww_deferred_reclaim_no_wait();
	ww_members_reclaim();
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a pool: out of memory");
	pool->device = device;
	status = set_up(pool, params);
	if (status < 0) {
		free_arrays(pool);
		free(pool);
		return status;
	}
	ww_ref_init(&pool->ref);
	pool->user_refs = 1;
	ww_device_ref(device);
	pthread_mutex_init(&pool->lock, NULL);
	ww_arena_init(&pool->arena);
	ww_list_init(&pool->chunks);
	ww_list_init(&pool->waiting);
	ww_list_init(&pool->spare);
	ww_group_init(&pool->holders);
	ww_list_init(&pool->queue);
	pthread_mutex_lock(&pools_lock);
	ww_list_append(&pools, &pool->link);
	pthread_mutex_unlock(&pools_lock);
	*out_pool = pool;
	return WW_OK;
}
