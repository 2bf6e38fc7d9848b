/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - pools and their slices
 *
 * A slice is written once, when it is allocated. Its bytes must not be handed out again while
 * anybody has it: who lets go of one claims that they are still what they were. A stream that is
 * lost keeps its slices, so another one releases them.
 */
#include "soak/soak.h"

#define SLICES 8
#define POOLS  2
#define NAMES  6

struct slice {
	ww_memory *memory;
	uint64_t value;
};

static ww_pool *own;
static struct slice slices[SLICES];   /* of this process's pools */
static struct slice imported[SLICES]; /* of other processes', or also its own */
static ww_pool *pools[POOLS];         /* of other processes */

static void drop(struct slice *slice, ww_stream *stream)
{
	if (slice->memory)
		content_must_be(slice->memory, slice->value);
	if (!stream || !slice->memory ||
		DO(ALLOW(WW_ERR_LIMIT), ww_pool_release(slice->memory, stream)) != WW_OK)
		ww_memory_unref(slice->memory);
	*slice = (struct slice){NULL, 0};
}

static void let_go(void)
{
	for (size_t i = 0; i < SLICES; i++) {
		drop(&slices[i], NULL);
		drop(&imported[i], NULL);
	}
	for (size_t i = 0; i < POOLS; i++)
		pools[i] = ww_pool_unref(pools[i]);
	own = ww_pool_unref(own);
}

__attribute__((constructor)) static void register_let_go(void)
{
	soak_at_end(let_go);
}

/* Slices of the former pool keep that. */
OP(pool_make, 2)
{
	const struct ww_pool_params *params = WW_PARAMS(struct ww_pool_params,
		.kind = draw_one_in(2) ? WW_MEMORY_HOST : WW_MEMORY_VMM, .bytes_max = 6 * MIB,
		.chunk_bytes = 2 * MIB, .slices_max = 16 + draw_below(64));

	own = ww_pool_unref(own);
	DO(0, ww_pool_create(soak.device, params, &own));
}

OP(pool_alloc, 20)
{
	struct slice *slice = &slices[draw_below(SLICES)];
	uint64_t bytes = CONTENT_BYTES << draw_below(8);

	if (!own)
		return;
	drop(slice, draw_one_in(3) ? soak.lone_stream : NULL);
	if (DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_LIMIT),
		    ww_pool_alloc(own, bytes, 0, draw_wait_ns(5), NULL, &slice->memory)) != WW_OK)
		return;
	slice->value = draw_number();
	content_write(slice->memory, slice->value);
}

OP(pool_slice_export, 20)
{
	struct slice *slice = draw_one_in(4) ? &imported[draw_below(SLICES)]
					     : &slices[draw_below(SLICES)];
	const struct ww_export_params *params = WW_PARAMS(struct ww_export_params,
		.escrow_ns = (1 + draw_below(300)) * MS, .uses = 1 + draw_below(2),
		.flags = draw_one_in(5) ? WW_EXPORT_DELIVERY : 0);
	struct ww_token token;

	if (slice->memory &&
		DO(ALLOW(WW_ERR_QUOTA) | ALLOW(WW_ERR_LIMIT) | ALLOW(WW_ERR_NOT_FOUND) |
				ALLOW(WW_ERR_ACCESS),
			ww_memory_export(slice->memory, NULL, params, NULL, &token)) == WW_OK)
		soak_offer(TOKEN_SLICE, &token, slice->value);
}

#define IMPORT_STATUSES \
	(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS) | ALLOW(WW_ERR_STATE) | ALLOW(WW_ERR_QUOTA))

OP(pool_slice_import, 20)
{
	struct slice *slice = &imported[draw_below(SLICES)];
	struct soak_offer offer;
	ww_memory *memory;

	if (!soak_take(TOKEN_SLICE, &offer) ||
		DO(IMPORT_STATUSES,
			ww_memory_import(soak.device, soak.broker, &offer.token, NULL, NULL,
				&memory, NULL)) != WW_OK)
		return;
	drop(slice, NULL);
	*slice = (struct slice){memory, offer.value};
	content_must_be(memory, offer.value);
}

OP(pool_slice_put, 10)
{
	const struct ww_put_params *params = WW_PARAMS(struct ww_put_params,
		.flags = draw_one_in(2) ? WW_PUT_REPLACE : 0);
	struct slice *slice = &slices[draw_below(SLICES)];
	char name[NAME_BYTES];

	draw_name_to_make(name, "n", NAMES);
	if (slice->memory)
		DO(MAKE_STATUSES | ALLOW(WW_ERR_LIMIT) | ALLOW(WW_ERR_ACCESS),
			ww_memory_put(slice->memory, soak.broker, name, params, 0, NULL));
}

/* What a hostile process has put under a name need not be a slice. */
OP(pool_slice_get, 14)
{
	struct slice *slice = &imported[draw_below(SLICES)];
	char name[NAME_BYTES];
	ww_memory *memory;

	draw_name_to_get(name, "n", NAMES);
	if (DO(IMPORT_STATUSES | ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST),
		    ww_memory_get(soak.device, soak.broker, name, NULL, draw_wait_ns(10), NULL,
			    &memory, NULL)) != WW_OK)
		return;
	if (name_is_evil(name)) {
		ww_memory_unref(memory);
		return;
	}
	drop(slice, NULL);
	*slice = (struct slice){memory, content_verify(memory)};
}

OP(pool_slice_remove_name, 4)
{
	char name[NAME_BYTES];

	draw_name_to_make(name, "n", NAMES);
	DO(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS), ww_broker_remove(soak.broker, name));
}

OP(pool_slice_release, 14)
{
	struct slice *which = draw_one_in(2) ? imported : slices;

	drop(&which[draw_below(SLICES)], draw_one_in(3) ? soak.lone_stream : NULL);
}

OP(pool_slice_revoke, 2)
{
	struct slice *slice = &slices[draw_below(SLICES)];

	if (slice->memory)
		DO(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_LIMIT),
			ww_memory_revoke(slice->memory, NULL, NULL));
}

OP(pool_export, 3)
{
	const struct ww_export_params *params = WW_PARAMS(struct ww_export_params,
		.escrow_ns = (1 + draw_below(300)) * MS);
	struct ww_token token;

	if (own &&
		DO(ALLOW(WW_ERR_QUOTA), ww_pool_export(own, soak.broker, params, NULL, &token)) ==
			WW_OK)
		soak_offer(TOKEN_POOL, &token, 0);
}

OP(pool_import, 3)
{
	uint32_t at = draw_below(POOLS);
	ww_device *device = draw_one_in(2) ? soak.device : NULL;
	struct soak_offer offer;
	ww_pool *pool;

	if (soak_take(TOKEN_POOL, &offer) &&
		DO(IMPORT_STATUSES,
			ww_pool_import(device, soak.broker, &offer.token, NULL, &pool)) == WW_OK) {
		ww_pool_unref(pools[at]);
		pools[at] = pool;
	}
}

OP(pool_look, 3)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);

	if (!own)
		return;
	DO(0, ww_pool_info_get(own, &info));
	MUST(info.bytes_reserved <= 6 * MIB);
	DO(ALLOW(WW_END), ww_pool_holder_get(own, 0, &holder));
	if (draw_one_in(2))
		DO(0, ww_pool_trim(own, draw_below(2) * 2 * MIB, NULL));
}
