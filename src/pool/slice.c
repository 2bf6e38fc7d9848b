/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - slices in their owner's process: from one state to the next, see pool.h
 *
 * Every function is called under pool->lock, but for the releases of views, at once and by streams, which take it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "pool/pool.h"

/* A part of a slice, or the slice for reading: what a token that came home names. */
struct part {
	struct ww_memory view;
	struct ww_slice *slice; /* a reference to its view */
};

/*
 * Between the last unref and the lock another thread may have found the slice by a token and used it anew, and let go of it
 * too. So whoever comes first with the lock retires it, and each of them gives back the reference of the pool that came
 * with one use.
 */
static bool has_ended(struct ww_slice *slice)
{
	return slice->is_used &&
		atomic_load_explicit(&slice->view.ref.count, memory_order_acquire) == 0;
}

static void release_slice(struct ww_memory *view)
{
	struct ww_slice *slice = ww_container(view, struct ww_slice, view);
	struct ww_pool *pool = slice->pool;

	pthread_mutex_lock(&pool->lock);
	if (has_ended(slice))
		ww_slice_retire(slice);
	pthread_mutex_unlock(&pool->lock);
	ww_pool_unref(pool);
}

static void release_part(struct ww_memory *view)
{
	struct part *part = ww_container(view, struct part, view);

	ww_memory_unref(&part->slice->view);
	ww_memory_unref(view->whole);
	free(part);
}

static const struct ww_view_class slice_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_slice,
};

static const struct ww_view_class part_class = {
	.flags = WW_MEMORY_IS_SLICE,
	.release = release_part,
};

struct ww_slice *ww_slice_of(struct ww_memory *memory)
{
	if (memory->class == &slice_class)
		return ww_container(memory, struct ww_slice, view);
	if (memory->class == &part_class)
		return ww_container(memory, struct part, view)->slice;
	return NULL;
}

/* --- slots --- */

static bool take_slot(struct ww_pool *pool, uint64_t *out_number)
{
	uint32_t slot;

	if (pool->free_slot_count > 0)
		slot = pool->free_slots[--pool->free_slot_count];
	else if (pool->slots_touched < pool->slot_count)
		slot = pool->slots_touched++;
	else
		return false;
	*out_number = ++pool->generations[slot] << WW_SLOT_BITS | slot;
	return true;
}

static struct ww_slice *take_spare(struct ww_pool *pool)
{
	struct ww_list *link = ww_list_take_first(&pool->spare);
	struct ww_slice *slice;

	if (link)
		return ww_container(link, struct ww_slice, link);
	slice = calloc(1, sizeof(*slice));
	if (!slice)
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a slice of a pool: out of memory");
	else
		ww_list_init(&slice->link);
	return slice;
}

/* Used from now on: one reference of the view, which holds one of the pool and one of the chunk's memory. */
static void use(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;

	ww_memory_view_init(&slice->view, ww_memory_ref(slice->chunk->memory), slice->block->offset,
		slice->block->bytes, WW_ACCESS_WRITE, &slice_class);
	ww_pool_ref(pool);
	slice->is_used = true;
	pool->used_count++;
	pool->used_bytes += slice->block->bytes;
	if (pool->used_bytes + pool->waiting_bytes > pool->peak_bytes)
		pool->peak_bytes = pool->used_bytes + pool->waiting_bytes;
}

struct ww_slice *ww_slice_open(struct ww_pool *pool, struct ww_arena_block *block)
{
	struct ww_slice *slice = take_spare(pool);

	if (!slice)
		return NULL;
	if (!take_slot(pool, &slice->number)) {
		ww_list_append(&pool->spare, &slice->link);
		ww_fail(WW_ERR_LIMIT,
			"cannot cut a slice: the pool has %" PRIu32 " of them, %" PRIu32
			" used here and %" PRIu32 " waiting; let go of some, or set slices_max",
			pool->slot_count, pool->used_count, pool->waiting_count);
		return NULL;
	}
	slice->pool = pool;
	slice->chunk = block->chunk;
	slice->block = block;
	slice->is_shared = false;
	slice->until_ns = 0;
	slice->expected = 0;
	slice->taken = 0;
	slice->chunk->slice_count++;
	pool->slices[ww_slice_slot(slice->number)] = slice;
	pool->allocations++;
	use(slice);
	ww_table_open_slot(&pool->table, slice->number, slice->chunk->index, block->offset,
		block->bytes);
	return slice;
}

/* --- letting go --- */

bool ww_slice_is_in_flight(const struct ww_slice *slice)
{
	return slice->expected > 0 &&
		slice->taken + ww_pool_taken(slice->pool, slice->number) < slice->expected &&
		ww_clock_now_ns() < slice->until_ns;
}

/* Whether a stream of this process has yet to let go of it. Forgets those that have. */
static bool is_streaming(struct ww_slice *slice)
{
	struct ww_release **at = &slice->releases;
	struct ww_release *release;

	while ((release = *at)) {
		if (ww_marks_is_passed(slice->pool->own, &release->cell)) {
			*at = release->next;
			free(release);
		} else {
			at = &release->next;
		}
	}
	return slice->releases != NULL;
}

/*
 * Whether nobody in any process uses it. One that hands it on to another is seen too: who takes it counts that, so that the
 * count is another one after the look than before.
 */
static bool is_unused(struct ww_slice *slice)
{
	const struct ww_pool *pool = slice->pool;
	uint64_t taken;

	if (is_streaming(slice))
		return false;
	if (!slice->is_shared)
		return true;
	taken = ww_pool_taken(pool, slice->number);
	return ww_pool_knows_all(pool) && !ww_pool_is_marked(pool, slice->number) &&
		ww_pool_taken(pool, slice->number) == taken;
}

/*
 * The look that decides whether the slice is free; in this order, see table.h. Until then its number stays, so that who uses
 * it can hand it on.
 */
static bool is_free(struct ww_slice *slice)
{
	struct ww_table *table = &slice->pool->table;

	if (ww_slice_is_in_flight(slice) || !is_unused(slice))
		return false;
	ww_table_close_slot(table, ww_slice_slot(slice->number));
	if (is_unused(slice))
		return true;
	ww_table_reopen_slot(table, slice->number); /* somebody came just before */
	return false;
}

static void give_back(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;
	struct ww_chunk *chunk = slice->chunk;
	struct ww_arena_block *block = ww_arena_give(&pool->arena, slice->block);
	uint32_t slot = ww_slice_slot(slice->number);

	if (--chunk->slice_count == 0)
		chunk->all = block;
	pool->slices[slot] = NULL;
	pool->free_slots[pool->free_slot_count++] = slot;
	ww_list_append(&pool->spare, &slice->link);
}

void ww_slice_retire(struct ww_slice *slice)
{
	struct ww_pool *pool = slice->pool;
	uint64_t bytes = slice->block->bytes;

	ww_memory_unref(slice->view.whole);
	slice->is_used = false;
	pool->used_count--;
	pool->used_bytes -= bytes;
	if (is_free(slice)) {
		give_back(slice);
		return;
	}
	pool->waiting_count++;
	pool->waiting_bytes += bytes;
	ww_list_append(&pool->waiting, &slice->link);
}

/* One that waits does so no longer. */
static void stop_waiting(struct ww_slice *slice)
{
	slice->pool->waiting_count--;
	slice->pool->waiting_bytes -= slice->block->bytes;
	ww_list_remove(&slice->link);
}

bool ww_slices_sweep(struct ww_pool *pool, uint32_t count)
{
	bool is_any_free = false;
	struct ww_list *link;

	if (count > pool->waiting_count)
		count = pool->waiting_count;
	if (count > 0 && !ww_pool_knows_all(pool))
		(void)ww_pool_meet_holders(pool); /* else those that were shared stay as they are */
	while (count-- > 0 && (link = ww_list_take_first(&pool->waiting))) {
		struct ww_slice *slice = ww_container(link, struct ww_slice, link);

		if (is_free(slice)) {
			stop_waiting(slice);
			give_back(slice);
			is_any_free = true;
		} else {
			ww_list_append(&pool->waiting, link);
		}
	}
	return is_any_free;
}

bool ww_slices_have_streams(struct ww_pool *pool)
{
	ww_list_for_each (link, &pool->waiting) {
		if (is_streaming(ww_container(link, struct ww_slice, link)))
			return true;
	}
	return false;
}

/* --- coming home --- */

ww_status ww_fail_slice_gone(void)
{
	return ww_fail(WW_ERR_NOT_FOUND,
		"the slice that the token names was let go of before it was imported; its owner holds it "
		"longer, or gives the token more time (ww_export_params.escrow_ns)");
}

static void part_init(struct part *part, struct ww_slice *slice, const struct ww_token_info *info,
	uint32_t access)
{
	part->slice = slice;
	ww_memory_view_init(&part->view, ww_memory_ref(slice->chunk->memory), info->offset,
		info->bytes, access, &part_class);
}

/* One that waited is used again. */
static void hold(struct ww_slice *slice)
{
	if (!slice->is_used) {
		stop_waiting(slice);
		use(slice);
	} else if (!ww_ref_try_get(&slice->view.ref)) {
		ww_ref_init(&slice->view.ref);
		ww_pool_ref(slice->pool);
	}
}

static ww_status find_slice(const struct ww_pool *pool, const struct ww_token_info *info,
	struct ww_slice **out_slice)
{
	uint32_t slot = ww_slice_slot(info->slice);
	struct ww_slice *slice = slot < pool->slot_count ? pool->slices[slot] : NULL;

	if (!slice || slice->number != info->slice)
		return ww_fail_slice_gone();
	if (info->total_bytes != slice->chunk->memory->bytes ||
		info->offset < slice->block->offset ||
		info->offset + info->bytes > slice->block->offset + slice->block->bytes)
		return ww_fail(WW_ERR_MISMATCH, "the token names bytes that are not the slice's");
	*out_slice = slice;
	return WW_OK;
}

ww_status ww_slice_take(struct ww_pool *pool, const struct ww_token_info *info, uint32_t access,
	struct ww_memory **out_memory)
{
	struct ww_slice *slice = NULL;
	struct part *part = NULL;

	ww_try(find_slice(pool, info, &slice));
	ww_try(ww_memory_check_route(slice->chunk->memory->mapping, access));
	access &= ~WW_STRICT;
	if (access < WW_ACCESS_WRITE || info->bytes < slice->block->bytes) {
		part = calloc(1, sizeof(*part));
		if (!part)
			return ww_fail(WW_ERR_NO_MEMORY,
				"cannot keep a part of a slice: out of memory");
	}
	hold(slice);
	slice->taken++;
	if (part)
		part_init(part, slice, info, access);
	*out_memory = part ? &part->view : &slice->view;
	return WW_OK;
}

/* --- by streams --- */

/* The slice is used until the stream has come so far. Under pool->lock. */
static ww_status fence(struct ww_slice *slice, struct ww_stream *stream)
{
	struct ww_pool *pool = slice->pool;
	struct ww_release *release;
	ww_status status;

	(void)is_streaming(slice);
	if (!pool->own)
		ww_try(ww_marks_create(pool->id, pool->slot_count, &pool->own));
	release = malloc(sizeof(*release));
	if (!release)
		return ww_fail(WW_ERR_NO_MEMORY,
			"cannot note the release of a slice: out of memory");
	status = ww_marks_fence(pool->own, stream, &release->cell);
	if (status < 0) {
		free(release);
		return status;
	}
	release->next = slice->releases;
	slice->releases = release;
	return WW_OK;
}

ww_status ww_slice_stream_release(struct ww_memory *memory, struct ww_stream *stream)
{
	struct ww_slice *slice = ww_slice_of(memory);
	ww_status status;

	pthread_mutex_lock(&slice->pool->lock);
	status = fence(slice, stream);
	pthread_mutex_unlock(&slice->pool->lock);
	ww_try(status);
	ww_memory_unref(memory);
	return WW_OK;
}
