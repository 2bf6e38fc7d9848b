/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliveries.c - slices of a pool that are in flight, listed and limited, see deliveries.h
 */
#include "pool/owner/deliveries.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "pool/owner/importers.h"
#include "share/token_export.h"

bool ww_pool_next_delivery(struct ww_pool *pool, uint32_t *at, struct ww_slice_delivery *out)
{
	while (*at < pool->slots_touched) {
		struct ww_slice *slice = pool->slices[(*at)++];
		uint64_t uses = slice ? ww_slice_deliveries(slice) : 0;

		if (uses == 0)
			continue;
		*out = (struct ww_slice_delivery){
			.number = slice->number,
			.bytes = slice->block->bytes,
			.uses = uses,
			.age_ns = ww_clock_now_ns() - slice->sent_ns,
		};
		return true;
	}
	return false;
}

/* Counts what is in flight by now. @out_oldest: age_ns 0: there is none */
static void count_all(struct ww_pool *pool, struct ww_slice_delivery *out_oldest)
{
	struct ww_slice_delivery delivery;
	uint32_t at = 0;

	*out_oldest = (struct ww_slice_delivery){.uses = 0};
	pool->delivery_count = 0;
	pool->delivery_bytes = 0;
	(void)ww_pool_meet_holders(pool);
	while (ww_pool_next_delivery(pool, &at, &delivery)) {
		pool->delivery_count += delivery.uses;
		pool->delivery_bytes += delivery.bytes * delivery.uses;
		if (out_oldest->uses == 0 || delivery.age_ns > out_oldest->age_ns)
			*out_oldest = delivery;
	}
}

static ww_status fail_limit(const struct ww_pool *pool, const struct ww_slice_delivery *oldest)
{
	if (oldest->uses == 0)
		return ww_fail(WW_ERR_LIMIT,
			"this slice is larger than what may be in flight of a pool, or has more uses; raise "
			"the limit (ww_in_flight_limit())");
	return ww_fail(WW_ERR_LIMIT,
		"%" PRIu64 " tokens, %" PRIu64
		" bytes, of this pool are in flight; the oldest, of slice "
		"%" PRIu64 " of %" PRIu64 " bytes, since %" PRIu64
		" s; revoke old ones (ww_in_flight_revoke()) or raise the limit "
		"(ww_in_flight_limit())",
		pool->delivery_count, pool->delivery_bytes, oldest->number, oldest->bytes,
		oldest->age_ns / UINT64_C(1000000000));
}

static bool is_over(const struct ww_pool *pool, uint64_t bytes, uint32_t uses)
{
	struct ww_in_flight_most most = ww_in_flight_most();
	uint64_t sum;

	return pool->delivery_count + uses > most.count ||
		__builtin_mul_overflow(bytes, uses, &sum) ||
		__builtin_add_overflow(sum, pool->delivery_bytes, &sum) || sum > most.bytes;
}

ww_status ww_pool_check_deliveries(struct ww_pool *pool, const struct ww_slice *slice,
	uint32_t uses)
{
	uint64_t bytes = slice->block->bytes;
	struct ww_slice_delivery oldest;

	if (is_over(pool, bytes, uses)) {
		count_all(pool, &oldest);
		if (is_over(pool, bytes, uses))
			return fail_limit(pool, &oldest);
	}
	pool->delivery_count += uses;
	pool->delivery_bytes += bytes * uses;
	return WW_OK;
}
