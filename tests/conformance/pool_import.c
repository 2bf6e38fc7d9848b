/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_import.c - tokens of whole pools, in the process that owns the pool
 *
 * What other processes do with such tokens is tested by the integration suite.
 */
#include <warpway/in_flight.h>

#include "conformance/pool.h"
#include "support/broker_case.h"

static struct ww_token export_pool(ww_pool *pool, const struct ww_export_params *params)
{
	struct ww_token token;

	MUST_OK(ww_pool_export(pool, NULL, params, NULL, &token));
	return token;
}

static void refuse_import(const struct ww_token *token, ww_status expected, const char *word)
{
	ww_pool *pool = (ww_pool *)token; /* to be overwritten */

	MUST_REFUSE(expected, word, ww_pool_import(NULL, NULL, token, NULL, &pool));
	MUST(!pool);
}

SCENE_CASE(pool_import_comes_home, WW_CAP_EXPORT)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	ww_pool *back;
	ww_memory *slice;
	ww_pool *pool = pool_make(scene.device, WW_MEMORY_VMM, 0, 0);
	struct ww_token token = export_pool(pool, NULL);

	MUST_OK(ww_token_info_get(&token, &info));
	MUST_EQUAL(WW_OBJECT_POOL, info.kind);
	MUST_EQUAL(WW_ACCESS_READ, info.access);
	MUST_OK(ww_pool_import(scene.device, NULL, &token, NULL, &back));
	MUST(back == pool);
	MUST_EQUAL(0, pool_info(back).is_imported);
	MUST_EQUAL(0, pool_info(back).holder_count);
	ww_pool_unref(pool);
	slice = slice_make(back, 1000);
	pattern_write(slice, 1);
	pattern_verify(slice, 1);
	ww_memory_unref(slice);
	ww_pool_unref(back);
	refuse_import(&token, WW_ERR_NOT_FOUND, "");
}

SCENE_CASE(pool_import_of_a_delivery_counts, WW_CAP_EXPORT)
{
	ww_pool *back;
	ww_pool *pool = pool_make(scene.device, WW_MEMORY_VMM, 0, 0);
	struct ww_token token = export_pool(pool,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = 2,
			.flags = WW_EXPORT_DELIVERY));

	for (int i = 0; i < 2; i++) {
		MUST_OK(ww_pool_import(NULL, NULL, &token, NULL, &back));
		MUST(back == pool);
		ww_pool_unref(back);
	}
	refuse_import(&token, WW_ERR_ACCESS, "as often");
	ww_pool_unref(pool);
	MUST_OK(ww_in_flight_revoke(NULL, NULL, NULL, NULL, NULL)); /* disconnects: none is left */
}

SCENE_CASE(pool_export_refuses, WW_CAP_EXPORT)
{
	const struct ww_array array = WW_INIT(struct ww_array);
	const struct ww_export_params wrong[] = {
		{.struct_size = sizeof(wrong[0]), .offset = 1},
		{.struct_size = sizeof(wrong[0]), .bytes = 1},
		{.struct_size = sizeof(wrong[0]), .array = &array},
		{.struct_size = sizeof(wrong[0]), .access = 3},
		{.struct_size = sizeof(wrong[0]), .flags = 2},
		{.struct_size = sizeof(wrong[0]), .flags = WW_EXPORT_DELIVERY},
	};
	struct ww_token token;
	OWN(pool) ww_pool *pool = pool_make(scene.device, WW_MEMORY_VMM, 0, 0);

	for (size_t i = 0; i < CHECK_COUNT(wrong); i++)
		MUST_STATUS(WW_ERR_INVALID, ww_pool_export(pool, NULL, &wrong[i], NULL, &token));
}

SCENE_CASE(pool_import_refuses_other_tokens, WW_CAP_EXPORT)
{
	ww_memory *memory;
	OWN(pool) ww_pool *pool = pool_make(scene.device, WW_MEMORY_VMM, 0, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 1000);
	struct ww_token token = slice_token(slice, NULL);

	refuse_import(&token, WW_ERR_UNSUPPORTED, "slice");
	memory = scene_make(2 * MIB, 1);
	token = slice_token(memory,
		WW_PARAMS(struct ww_export_params, .escrow_ns = WW_ESCROW_NONE));
	refuse_import(&token, WW_ERR_UNSUPPORTED, "another kind");
	token = export_pool(pool, NULL);
	ww_memory_unref(memory);
	MUST_STATUS(WW_ERR_UNSUPPORTED,
		ww_memory_import(scene.device, NULL, &token, NULL, NULL, &memory, NULL));
}
