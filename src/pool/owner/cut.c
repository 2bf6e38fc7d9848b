/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut.c - slices are cut from a pool's chunks, and chunks are made where there is no room
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"
#include "sync/wait_result.h"

#define SWEEP_COUNT 4 /* slices that wait, looked at by each allocation */

/*
 * Gives back chunks without slices until no more than @keep_bytes are reserved. Return: bytes given
 * back.
 */
static uint64_t trim(struct ww_pool *pool, uint64_t keep_bytes)
{
	uint64_t before = pool->reserved;
	struct ww_list *next;

	for (struct ww_list *link = pool->chunks.next; link != &pool->chunks; link = next) {
		struct ww_chunk *chunk = ww_container(link, struct ww_chunk, link);

		next = link->next;
		if (chunk->slice_count == 0 && pool->reserved > keep_bytes)
			ww_pool_drop_chunk(pool, chunk);
	}
	if (pool->reserved < before)
		ww_pool_tell_trim(pool);
	return before - pool->reserved;
}

ww_status ww_pool_fail_full(struct ww_pool *pool, uint64_t bytes)
{
	uint32_t named = ww_slices_count_named(pool);
	const struct ww_pool_holder *holder;
	char process[WW_WAIT_RESULT_PROCESS_BYTES];
	uint64_t held_bytes;
	char who[128] = "";
	char names[96] = "";

	if (!ww_slices_have_slot(pool))
		return ww_fail(WW_ERR_LIMIT,
			"cannot allocate a slice: all %" PRIu32
			" slots of the pool are taken, %" PRIu32
			" slices are used here and %" PRIu32
			" wait; release some, or set slices_max",
			pool->slot_count, pool->used_count, pool->waiting_count);
	(void)ww_pool_meet_holders(pool);
	holder = ww_pool_find_largest_holder(pool, &held_bytes);
	if (holder)
		snprintf(who, sizeof(who), "; %s has %" PRIu64 " bytes of that",
			ww_wait_result_process(holder->member.page, process), held_bytes);
	if (named > 0)
		snprintf(names, sizeof(names),
			"; %" PRIu32
			" slices of these have names, which keep them until they are removed",
			named);
	return ww_fail(WW_ERR_LIMIT,
		"no room for %" PRIu64 " bytes in a pool of %" PRIu64 ": %" PRIu64
		" used here, %" PRIu64
		" released here but in use or in flight%s%s; largest free piece %" PRIu64
		"; release some, or wait with a time limit",
		bytes, pool->bytes_max, pool->used_bytes, pool->waiting_bytes, who, names,
		ww_arena_largest(&pool->arena));
}

static ww_status add_chunk(struct ww_pool *pool, uint64_t bytes)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = pool->kind,
		.bytes = bytes,
	};
	struct ww_chunk *chunk = calloc(1, sizeof(*chunk));
	ww_status status;

	if (!chunk)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a chunk of a pool: out of memory");
	chunk->index = pool->next_chunk;
	status = ww_memory_make(pool->device, &params, &chunk->memory);
	if (status == WW_OK) {
		chunk->memory->is_chunk = true;
		status = ww_arena_add(&pool->arena, chunk, chunk->memory->bytes, &chunk->all);
	}
	if (status < 0) {
		ww_memory_unref(chunk->memory);
		free(chunk);
		return status;
	}
	pool->next_chunk++;
	pool->chunk_count++;
	pool->reserved += chunk->memory->bytes;
	ww_list_append(&pool->chunks, &chunk->link);
	return WW_OK;
}

static bool is_no_memory(ww_status status)
{
	return status == WW_ERR_DEVICE_MEMORY || status == WW_ERR_NO_MEMORY;
}

/* As large as there is memory for, from @bytes down to @least. */
static ww_status add_largest_chunk(struct ww_pool *pool, uint64_t bytes, uint64_t least)
{
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	status = add_chunk(pool, bytes);
	/* What the pool itself has lying about may be what is missing. */
	if (is_no_memory(status) && trim(pool, 0) > 0)
		status = add_chunk(pool, bytes);
	while (is_no_memory(status) && bytes > least) {
		bytes = (bytes / 2 + pool->unit_bytes - 1) / pool->unit_bytes * pool->unit_bytes;
		if (bytes < least)
			bytes = least;
		status = add_chunk(pool, bytes);
	}
	if (status == WW_OK)
		ww_error_restore(&record);
	return status;
}

/*
 * A chunk that has room for @bytes, within the limit; where there is no room for a usual one, a
 * smaller one.
 * Return: WW_OK; WW_NOT_READY (as much as may be is in use); WW_ERR_...: recorded.
 */
static ww_status grow(struct ww_pool *pool, uint64_t bytes)
{
	uint64_t chunk_bytes = pool->chunk_bytes;
	uint64_t least;

	ww_try(ww_pool_round_up(bytes, pool->unit_bytes, &least));
	if (least > pool->bytes_max)
		return ww_fail(WW_ERR_LIMIT,
			"cannot cut %" PRIu64 " bytes from a pool of at most %" PRIu64
			"; make a larger pool, or memory of its own",
			bytes, pool->bytes_max);
	if (pool->reserved > pool->bytes_max - least)
		trim(pool, pool->bytes_max - least);
	if (pool->reserved > pool->bytes_max - least)
		return WW_NOT_READY;
	if (chunk_bytes < least)
		chunk_bytes = least;
	if (chunk_bytes > pool->bytes_max - pool->reserved)
		chunk_bytes = pool->bytes_max - pool->reserved;
	return add_largest_chunk(pool, chunk_bytes, least);
}

/* Return: WW_OK; as ww_pool_cut(). */
static ww_status find_room(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	struct ww_arena_block **out_block)
{
	ww_status status = ww_arena_take(&pool->arena, bytes, alignment, out_block);

	if (status == WW_NOT_READY && ww_slices_sweep(pool, UINT32_MAX))
		status = ww_arena_take(&pool->arena, bytes, alignment, out_block);
	if (status != WW_NOT_READY)
		return status;
	status = grow(pool, bytes);
	if (status != WW_OK)
		return status;
	status = ww_arena_take(&pool->arena, bytes, alignment, out_block);
	ww_assert(status != WW_NOT_READY);
	return status;
}

ww_status ww_pool_cut(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	ww_memory **out_memory)
{
	struct ww_arena_block *block = NULL;
	struct ww_slice *slice;
	ww_status status;

	*out_memory = NULL;
	ww_slices_sweep(pool, SWEEP_COUNT);
	if (!ww_slices_have_slot(pool) && !ww_slices_sweep(pool, UINT32_MAX))
		return WW_NOT_READY;
	status = find_room(pool, bytes, alignment, &block);
	if (status != WW_OK)
		return status;
	slice = ww_slice_open(pool, block);
	if (!slice) {
		ww_pool_give_block(pool, block);
		return ww_error_last()->status;
	}
	*out_memory = &slice->view;
	return WW_OK;
}

ww_status ww_pool_trim(ww_pool *pool, uint64_t keep_bytes, uint64_t *out_bytes)
{
	uint64_t bytes;

	ww_clear(out_bytes, 0);
	ww_try(ww_process_enter());
	ww_require(pool, "ww_pool_trim: pool is NULL");
	ww_try(ww_pool_check_own(pool, "trim"));
	ww_memory_reclaim();
	pthread_mutex_lock(&pool->lock);
	ww_slices_sweep(pool, UINT32_MAX);
	bytes = trim(pool, keep_bytes);
	pthread_mutex_unlock(&pool->lock);
	if (out_bytes)
		*out_bytes = bytes;
	return WW_OK;
}
