/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_flight.c - deliveries: how often they open what they name; listed, revoked and limited
 *
 * One process and a private broker. Other processes take part in the tests of the Python package.
 */
#include <string.h>

#include <warpway/in_flight.h>

#include "conformance/pool.h"
#include "conformance/token.h"
#include "support/broker_case.h"

#define BYTES (2 * MIB)

static const struct ww_export_params once = {
	.struct_size = sizeof(once),
	.uses = 1,
	.flags = WW_EXPORT_DELIVERY,
};

static struct ww_token deliver(ww_memory *memory)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(memory, NULL, &once, NULL, &token));
	return token;
}

/* What is in flight; the first of it in @out_info. */
static size_t count_flights(struct ww_in_flight_info *out_info)
{
	struct ww_in_flight_info info = WW_INIT(struct ww_in_flight_info);
	ww_in_flight *list;
	size_t count = 0;

	MUST_OK(ww_in_flight_create(NULL, NULL, &list));
	while (ww_in_flight_get(list, count, &info) == WW_OK) {
		if (count++ == 0 && out_info)
			*out_info = info;
	}
	ww_in_flight_free(list);
	return count;
}

static uint64_t revoke(const struct ww_in_flight_which *which)
{
	uint64_t count;

	MUST_OK(ww_in_flight_revoke(NULL, which, NULL, &count, NULL));
	return count;
}

SCENE_CASE(in_flight_opens_once, WW_CAP_EXPORT)
{
	struct ww_in_flight_info info;
	struct ww_token token;
	OWN(object) ww_object *object;
	ww_memory *got;
	ww_memory *memory = scene_make(BYTES, 1);

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	token = deliver(memory);
	MUST_EQUAL(1, count_flights(&info));
	MUST_EQUAL(1, info.uses);
	MUST_EQUAL(0, info.is_slice);
	MUST_EQUAL(WW_ACCESS_READ, info.access);
	MUST(info.bytes >= BYTES);
	/* This process holds the memory; it counts all the same. */
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, NULL));
	pattern_verify(got, 1);
	ww_memory_unref(got);
	MUST_EQUAL(0, count_flights(NULL));
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_ACCESS, "as often");
	/* A hold is the delivery; to map it later is no other one. */
	token = deliver(memory);
	ww_memory_unref(memory);
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MUST_EQUAL(0, count_flights(NULL));
	MUST_OK(ww_object_map(object, scene.device, NULL, NULL, &got));
	pattern_verify(got, 1);
	ww_memory_unref(got);
	MUST_REFUSE(WW_ERR_ACCESS, "as often",
		ww_object_import(NULL, &token, NULL, (ww_object *[]){NULL}, NULL));
}

/* The memory is kept by nothing but its delivery, however short the time after this process is. */
SCENE_CASE(in_flight_keeps, WW_CAP_EXPORT)
{
	struct ww_export_params brief = once;
	struct ww_token token;
	ww_memory *memory;

	brief.escrow_ns = 1;
	memory = scene_make(BYTES, 2);
	MUST_OK(ww_memory_export(memory, scene.broker, &brief, NULL, &token));
	ww_memory_unref(memory);
	scene_has_objects(1);
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &memory, NULL));
	pattern_verify(memory, 2);
	ww_memory_unref(memory);
	scene_has_objects(0);
	MUST_EQUAL(0, count_flights(NULL)); /* so the connection need not stay */
}

SCENE_CASE(in_flight_revoke_counts_imports, WW_CAP_EXPORT)
{
	struct ww_export_params thrice = once;
	struct ww_token token;
	OWN(memory) ww_memory *memory;
	ww_memory *got;

	thrice.uses = 3;
	memory = scene_make(BYTES, 6);
	MUST_OK(ww_memory_export(memory, scene.broker, &thrice, NULL, &token));
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, NULL));
	ww_memory_unref(got);
	MUST_EQUAL(2, revoke(NULL));
	MUST_EQUAL(0, revoke(NULL));
}

SCENE_CASE(in_flight_revoke, WW_CAP_EXPORT)
{
	struct ww_in_flight_which which = WW_INIT(struct ww_in_flight_which);
	struct ww_in_flight_info info;
	struct ww_token tokens[3];
	struct ww_token plain;
	ww_memory *got;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 3);

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	plain = token_of(memory, WW_ACCESS_READ);
	for (int i = 0; i < 3; i++)
		tokens[i] = deliver(memory);
	which.older_ns = UINT64_C(3600000000000);
	MUST_EQUAL(0, revoke(&which));
	which.token = &tokens[1];
	MUST_EQUAL(1, revoke(&which));
	MUST_EQUAL(0, revoke(&which));
	which.token = &plain; /* it is no delivery */
	MUST_EQUAL(0, revoke(&which));
	which.token = NULL;
	MUST_EQUAL(2, count_flights(&info));
	which.info = &info;
	MUST_EQUAL(1, revoke(&which));
	MUST_EQUAL(1, revoke(NULL));
	MUST_EQUAL(0, count_flights(NULL));
	for (int i = 0; i < 3; i++)
		token_refuse_import(&tokens[i], WW_ACCESS_READ, WW_ERR_ACCESS, "revoked");
	MUST_OK(ww_memory_import(scene.device, NULL, &plain, NULL, NULL, &got, NULL));
	ww_memory_unref(got);
	which.token = &plain;
	MUST_REFUSE(WW_ERR_INVALID, "both", ww_in_flight_revoke(NULL, &which, NULL, NULL, NULL));
}

SCENE_CASE(in_flight_limit, WW_CAP_EXPORT)
{
	struct ww_token token;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 4);
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4096);

	MUST_OK(ww_in_flight_limit(2, 0));
	for (int i = 0; i < 2; i++) {
		(void)deliver(memory);
		(void)deliver(slice);
	}
	MUST_REFUSE(WW_ERR_LIMIT, "2 tokens", ww_memory_export(memory, NULL, &once, NULL, &token));
	MUST_REFUSE(WW_ERR_LIMIT, "2 tokens", ww_memory_export(slice, NULL, &once, NULL, &token));
	MUST_OK(ww_in_flight_limit(0, 1));
	MUST_EQUAL(4, revoke(NULL));
	MUST_REFUSE(WW_ERR_LIMIT, "larger", ww_memory_export(memory, NULL, &once, NULL, &token));
	MUST_REFUSE(WW_ERR_LIMIT, "larger", ww_memory_export(slice, NULL, &once, NULL, &token));
	MUST_OK(ww_in_flight_limit(0, 0));
	(void)deliver(memory);
	(void)deliver(slice);
	MUST_EQUAL(2, revoke(NULL));
}

SCENE_CASE(in_flight_slices, WW_CAP_EXPORT)
{
	struct ww_in_flight_info info;
	struct ww_token token;
	ww_memory *got;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);

	pattern_write(slice, 5);
	token = deliver(slice);
	MUST_EQUAL(1, count_flights(&info));
	MUST_EQUAL(1, info.is_slice);
	MUST_EQUAL(4096, info.bytes);
	/* One that is used here gets another number. */
	MUST_EQUAL(1, revoke(NULL));
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	token = deliver(slice);
	ww_memory_unref(slice);
	MUST_EQUAL(1, pool_info(pool).waiting_count);
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, NULL));
	pattern_verify(got, 5);
	MUST_EQUAL(0, count_flights(NULL));
	ww_memory_unref(got);
	/* One that is not used here is free at once. */
	slice = slice_make(pool, 4096);
	token = deliver(slice);
	ww_memory_unref(slice);
	MUST_EQUAL(1, pool_info(pool).waiting_count);
	MUST_EQUAL(1, revoke(WW_PARAMS(struct ww_in_flight_which, .token = &token)));
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
}

/* The pool ends before its slices are received: what is in flight can be had, and nothing else. */
SCENE_CASE(in_flight_slices_of_an_ended_pool, WW_CAP_EXPORT)
{
	struct ww_token tokens[2];
	ww_memory *slices[2];
	OWN(memory) ww_memory *got;
	ww_pool *pool = pool_make(scene.device, 0, 0, 0);

	for (uint32_t i = 0; i < 2; i++) {
		slices[i] = slice_make(pool, 4096);
		pattern_write(slices[i], i);
	}
	tokens[0] = deliver(slices[0]);
	MUST_OK(ww_memory_export(slices[1], NULL, NULL, NULL, &tokens[1]));
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
	ww_pool_unref(pool);
	token_refuse_import(&tokens[1], WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	MUST_OK(ww_memory_import(scene.device, NULL, &tokens[0], NULL, NULL, &got, NULL));
	pattern_verify(got, 0);
}

/*
 * A token whose secret is zero, and that names no delivery by a number either: it is no request for
 * all of them.
 */
SCENE_CASE(in_flight_of_a_forged_token, WW_CAP_EXPORT)
{
	OWN(memory) ww_memory *memory = scene_make(BYTES, 6);
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4096);
	struct ww_token forged = deliver(memory);

	(void)deliver(slice);
	for (size_t i = 0; i < 16; i++)
		forged = token_forged(&forged, 32 + i, forged.bytes[32 + i]); /* of the secret */
	MUST_EQUAL(0, revoke(WW_PARAMS(struct ww_in_flight_which, .token = &forged)));
	MUST_EQUAL(2, count_flights(NULL));
	MUST_EQUAL(2, revoke(NULL));
}

static const struct ww_export_params briefly = {
	.struct_size = sizeof(briefly),
	.uses = 1,
	.escrow_ns = 1,
};

static void import_and_release(const struct ww_token *token)
{
	OWN(memory) ww_memory *got;

	MUST_OK(ww_memory_import(scene.device, NULL, token, NULL, NULL, &got, NULL));
}

/* A delivery has no end while its pool lives; a token after it, which has one, comes to that. */
SCENE_CASE(in_flight_then_an_escrow, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = deliver(slice);

	import_and_release(&token);
	token = slice_token(slice, &briefly);
	ww_memory_unref(slice);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
}

/* When the delivery was imported and the other token's time is over, nothing keeps the slice. */
SCENE_CASE(in_flight_beside_an_escrow, WW_CAP_EXPORT)
{
	struct ww_token delivery;
	struct ww_token token;
	ww_memory *slice;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);

	for (int is_first = 0; is_first < 2; is_first++) {
		slice = slice_make(pool, 4096);
		if (is_first)
			token = slice_token(slice, &briefly);
		delivery = deliver(slice);
		if (!is_first)
			token = slice_token(slice, &briefly);
		MUST_EQUAL(1, count_flights(NULL));
		import_and_release(&delivery);
		MUST_EQUAL(0, count_flights(NULL));
		ww_memory_unref(slice);
		MUST_EQUAL(0, pool_info(pool).waiting_count);
		token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	}
}

/* Imports by another token, however many, are none of the delivery; nor does that token's time. */
SCENE_CASE(in_flight_beside_imports, WW_CAP_EXPORT)
{
	struct ww_in_flight_info info;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token delivery = deliver(slice);
	struct ww_token token = slice_token(slice, &briefly);

	for (int i = 0; i < 3; i++)
		import_and_release(&token);
	MUST_EQUAL(1, count_flights(&info));
	MUST_EQUAL(1, info.uses);
	ww_memory_unref(slice);
	MUST_EQUAL(1, pool_info(pool).waiting_count);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	import_and_release(&delivery);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	token_refuse_import(&delivery, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
}

/* Both end with the slice's tokens; only the deliveries end with the revocation of these. */
SCENE_CASE(in_flight_revoke_beside_a_token, WW_CAP_EXPORT)
{
	struct ww_in_flight_which which = WW_INIT(struct ww_in_flight_which);
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice, NULL);
	struct ww_token delivery = deliver(slice);

	MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	token_refuse_import(&delivery, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	MUST_EQUAL(0, count_flights(NULL));
	token = slice_token(slice, NULL);
	delivery = deliver(slice);
	ww_memory_unref(slice);
	which.token = &token; /* it is no delivery */
	MUST_EQUAL(0, revoke(&which));
	which.token = &delivery;
	MUST_EQUAL(1, revoke(&which));
	token_refuse_import(&delivery, WW_ACCESS_READ, WW_ERR_NOT_FOUND, "was released");
	import_and_release(&token);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
}

/* A slice with tokens of both kinds has two slots of its pool, and gives both back. */
SCENE_CASE(in_flight_beside_a_token_takes_a_slot, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_memory *slices[2];
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 2);

	for (int i = 0; i < 2; i++)
		slices[i] = slice_make(pool, 4096);
	(void)slice_token(slices[0], &briefly);
	MUST_REFUSE(WW_ERR_LIMIT, "slices_max",
		ww_memory_export(slices[0], NULL, &once, NULL, &token));
	ww_memory_unref(slices[1]);
	token = deliver(slices[0]);
	MUST_REFUSE(WW_ERR_LIMIT, "slots", ww_pool_alloc(pool, 4096, 0, 0, NULL, &slices[1]));
	ww_memory_unref(slices[0]);
	import_and_release(&token);
	for (int i = 0; i < 2; i++)
		slices[i] = slice_make(pool, 4096);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}
