/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_info.c - what a pool has, and who uses it
 */
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "pool/member/member.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"

#define INFO_V1_BYTES   sizeof(struct ww_pool_info)
#define HOLDER_V1_BYTES sizeof(struct ww_pool_holder_info)

/* Under pool->lock. */
static void describe(const struct ww_pool *pool, struct ww_pool_info *ours)
{
	ours->kind = pool->kind;
	ours->bytes_max = pool->bytes_max;
	ours->chunk_bytes = pool->chunk_bytes;
	ours->bytes_reserved = pool->reserved;
	ours->bytes_used = pool->used_bytes;
	ours->bytes_waiting = pool->waiting_bytes;
	ours->bytes_free = ww_arena_free_bytes(&pool->arena);
	ours->bytes_largest = ww_arena_largest(&pool->arena);
	ours->bytes_peak = pool->peak_bytes;
	ours->allocations = pool->allocations;
	ours->chunk_count = pool->chunk_count;
	ours->slice_count = pool->used_count;
	ours->waiting_count = pool->waiting_count;
	ours->slices_max = pool->slot_count;
	ours->holder_count = pool->holder_count;
}

ww_status ww_pool_info_get(ww_pool *pool, struct ww_pool_info *info)
{
	struct ww_pool_info ours = {.struct_size = 0};

	ww_try(ww_process_enter());
	ww_require(pool && info, "ww_pool_info_get: pool or info is NULL");
	ww_try(ww_ref_check(&pool->ref, "a pool"));
	ww_memory_reclaim();
	if (pool->member) {
		ours.kind = pool->member->kind;
		ours.slices_max = pool->member->table.slot_count;
		ours.is_imported = 1;
		return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_pool_info");
	}
	pthread_mutex_lock(&pool->lock);
	(void)ww_pool_meet_holders(pool);
	ww_slices_sweep(pool, UINT32_MAX);
	describe(pool, &ours);
	pthread_mutex_unlock(&pool->lock);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_pool_info");
}

/* Under pool->lock. */
static bool find_holder(struct ww_pool *pool, uint32_t index, struct ww_pool_holder_info *out_info)
{
	(void)ww_pool_meet_holders(pool);
	ww_list_for_each (link, &pool->holders.members) {
		const struct ww_pool_holder *holder = ww_pool_holder_of(link);

		if (holder->marks && index-- == 0) {
			ww_pool_describe_holder(pool, holder, out_info);
			return true;
		}
	}
	return false;
}

ww_status ww_pool_holder_get(ww_pool *pool, uint32_t index, struct ww_pool_holder_info *info)
{
	struct ww_pool_holder_info ours;
	bool is_found;

	ww_try(ww_process_enter());
	ww_require(pool && info, "ww_pool_holder_get: pool or info is NULL");
	ww_try(ww_pool_check_own(pool, "list who uses"));
	ww_try(ww_params_check(info, HOLDER_V1_BYTES, "ww_pool_holder_info"));
	pthread_mutex_lock(&pool->lock);
	is_found = find_holder(pool, index, &ours);
	pthread_mutex_unlock(&pool->lock);
	if (!is_found)
		return WW_END;
	return ww_params_write(info, &ours, sizeof(ours), HOLDER_V1_BYTES, "ww_pool_holder_info");
}
