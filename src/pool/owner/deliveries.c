/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliveries.c - slices of a pool that are in flight, listed and limited, see deliveries.h
 *
 * The file of deliveries has an item for each slot. Its count is what all deliveries of the slice
 * expect, but for what this process imported itself. The broker subtracts what other processes have
 * imported: so nothing need be stored when they do.
 */
#include "pool/owner/deliveries.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "pool/owner/importers.h"
#include "share/shared_file.h"
#include "share/token_export.h"

#define COUNTS_VERSION 6 /* of the protocol from which on a broker reads the file */
#define COUNT_MAX      (WW_POOL_SLICES_MAX - 1)

_Static_assert(sizeof(struct ww_layout_delivery_counts) == WW_LAYOUT_DELIVERY_COUNTS_BYTES,
	"no padding");

/* --- the file --- */

static struct ww_shared_file file_of(const struct ww_pool *pool)
{
	return (struct ww_shared_file){
		.owner = "pool",
		.what = "deliveries",
		.magic = "WWDELIVR",
		.version = WW_LAYOUT_DELIVERY_COUNTS_VERSION,
		.header_bytes = sizeof(struct ww_layout_delivery_counts),
		.item_bytes = sizeof(struct ww_layout_delivery_count),
		.item_count = pool->slot_count,
		.bytes = ww_shared_file_round_up(sizeof(struct ww_layout_delivery_counts) +
			(uint64_t)pool->slot_count * sizeof(struct ww_layout_delivery_count)),
		.id = pool->id,
	};
}

ww_status ww_pool_count_deliveries(struct ww_pool *pool, struct ww_broker *broker)
{
	const struct ww_shared_file file = file_of(pool);
	struct ww_delivery_file *sent = &pool->sent;

	if (sent->mapping || ww_broker_client_version(broker) < COUNTS_VERSION)
		return WW_OK;
	ww_try(ww_shared_file_create(&file, &sent->mapping));
	sent->header = sent->mapping->host_pointer;
	sent->items = (void *)(sent->header + 1);
	return WW_OK;
}

void ww_delivery_file_fini(struct ww_delivery_file *file)
{
	file->mapping = ww_mapping_unref(file->mapping);
}

static uint64_t count_of(const struct ww_slice_tokens *tokens)
{
	bool is_any = tokens->sent_ns && tokens->expected > tokens->taken_here;
	uint64_t count = is_any ? tokens->expected - tokens->taken_here : 0;

	return ww_slice_generation(tokens->number) << WW_SLOT_BITS |
		(count < COUNT_MAX ? count : COUNT_MAX);
}

/* The items that are in use, and the longest time of all. */
static void write_header(struct ww_delivery_file *file, uint32_t slot, uint32_t keep_ms)
{
	if (slot >= file->header->used)
		__atomic_store_n(&file->header->used, slot + 1, __ATOMIC_RELEASE);
	if (keep_ms > file->header->keep_ms)
		__atomic_store_n(&file->header->keep_ms, keep_ms, __ATOMIC_RELAXED);
}

void ww_slice_write_deliveries(const struct ww_slice *slice, struct ww_slice_tokens *tokens)
{
	struct ww_delivery_file *file = &slice->pool->sent;
	uint32_t slot = ww_slice_slot(tokens->number);
	struct ww_layout_delivery_count *item;
	uint32_t needs;

	if (!file->mapping || (tokens->sent_ns == 0 && !tokens->is_written))
		return;
	item = &file->items[slot];
	memcpy(&needs, slice->chunk->memory->description.object_id, sizeof(needs));
	write_header(file, slot, tokens->keep_ms);
	__atomic_store_n(&item->needs, needs, __ATOMIC_RELAXED);
	__atomic_store_n(&item->keep_ms, tokens->keep_ms, __ATOMIC_RELAXED);
	__atomic_store_n(&item->expected, count_of(tokens), __ATOMIC_RELEASE);
	tokens->is_written = true;
}

void ww_slice_end_deliveries(struct ww_slice *slice)
{
	struct ww_delivery_file *file = &slice->pool->sent;

	for (uint32_t i = 0; i < slice->kind_count; i++) {
		struct ww_slice_tokens *tokens = &slice->tokens[i];

		if (tokens->is_written)
			__atomic_store_n(&file->items[ww_slice_slot(tokens->number)].expected, 0,
				__ATOMIC_RELEASE);
		tokens->is_written = false;
	}
}

/* --- listing and limits --- */

bool ww_pool_next_delivery(struct ww_pool *pool, uint32_t *at, struct ww_slice_delivery *out)
{
	while (*at < pool->slots_touched) {
		uint32_t slot = (*at)++;
		struct ww_slice *slice = pool->slices[slot];
		const struct ww_slice_tokens *tokens = slice ? ww_slice_tokens_in(slice, slot)
							     : NULL;
		uint64_t uses = tokens ? ww_tokens_deliveries(pool, tokens) : 0;

		if (uses == 0)
			continue;
		*out = (struct ww_slice_delivery){
			.number = tokens->number,
			.bytes = slice->block->bytes,
			.uses = uses,
			.age_ns = ww_clock_now_ns() - tokens->sent_ns,
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
