/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.c - tokens that are revoked, or held without a mapping; and calls that name no broker
 *
 * One process and a private broker. What other processes have of it the integration suite tests.
 */
#include <string.h>

#include "conformance/pool.h"
#include "conformance/token.h"
#include "support/forge.h"
#include "support/broker_case.h"

#define BYTES (2 * MIB)

struct ww_token token_of(ww_memory *memory, uint32_t access)
{
	struct ww_token token;

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = access, .escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	return token;
}

void token_refuse_import(const struct ww_token *token, uint32_t access, ww_status status,
	const char *word)
{
	ww_memory *memory = (ww_memory *)&status;

	MUST_REFUSE(status, word,
		ww_memory_import(scene.device, scene.broker, token,
			WW_PARAMS(struct ww_import_params, .access = access), NULL, &memory, NULL));
	MUST(!memory);
}

struct ww_token token_forged(const struct ww_token *token, size_t at, uint8_t value)
{
	struct ww_token copy = *token;

	copy.bytes[at] ^= value;
	token_seal(&copy);
	return copy;
}

/* --- revoking --- */

/*
 * This process holds the memory, and knew the token: all the same it is over, in this process too.
 */
SCENE_CASE(broker_revoke, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	OWN(memory) ww_memory *named;
	OWN(memory) ww_memory *got;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST_REFUSE(WW_ERR_NOT_FOUND, "not in the broker", ww_memory_revoke(memory, NULL, NULL));
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_OK(ww_memory_export(memory, NULL, NULL, NULL, &token));
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, &info));
	scene_has_holds(2);
	MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	scene_has_holds(1);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_ACCESS, "revoked");
	pattern_verify(got, 1);
	for (int i = 0; i < 2; i++) {
		token = token_of(memory, WW_ACCESS_READ);
		MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &named, NULL));
		MUST(named == got);
		ww_memory_unref(named);
		MUST_OK(ww_memory_revoke(memory, scene.broker, NULL));
		token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_ACCESS, "revoked");
	}
	MUST_OK(ww_memory_get(scene.device, NULL, "x", NULL, 0, NULL, &named, NULL));
}

/* --- holding without mapping --- */

/* A token of any kind can be held, and passed on as what it is. */
SCENE_CASE(broker_object_of_each_kind, WW_CAP_EXPORT)
{
	const struct ww_token_params none = {
		.struct_size = sizeof(none),
		.escrow_ns = WW_ESCROW_NONE,
	};
	struct ww_token_params params = none;
	struct ww_token_info named = WW_INIT(struct ww_token_info);
	struct ww_token_info passed = WW_INIT(struct ww_token_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token tokens[3];
	ww_timeline *timeline;
	ww_object *object;
	ww_memory *memory = scene_make(BYTES, 1);

	tokens[0] = token_of(memory, WW_ACCESS_READ);
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_export(timeline, NULL, &none, NULL, &tokens[1]));
	MUST_OK(ww_barrier_create(NULL, NULL,
		WW_PARAMS(struct ww_barrier_params, .count = 2, .uses = 1), NULL, &tokens[2]));
	for (size_t i = 0; i < CHECK_COUNT(tokens); i++) {
		struct ww_token again;

		MUST_OK(ww_object_import(NULL, &tokens[i], NULL, &object, &info));
		if (i == 2) /* nothing else keeps the barrier */
			params = (struct ww_token_params){.struct_size = sizeof(params), .uses = 1};
		MUST_OK(ww_object_export(object, &params, NULL, &again));
		MUST(ww_object_ref(object) == object);
		ww_object_unref(object);
		ww_object_unref(object);
		MUST_OK(ww_token_info_get(&tokens[i], &named));
		MUST_OK(ww_token_info_get(&again, &passed));
		MUST_EQUAL(named.kind, passed.kind);
		MUST_EQUAL(named.access, passed.access);
		MUST_EQUAL(named.offset, passed.offset);
		MUST_EQUAL(named.bytes, passed.bytes);
		MUST_EQUAL(named.kind, info.kind);
		MUST_OK(ww_object_import(NULL, &again, NULL, &object, NULL));
		ww_object_unref(object);
	}
	ww_timeline_unref(timeline);
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", ww_object_import(NULL, &tokens[2], NULL, &object, NULL));
	MUST(!object);
}

/*
 * A named memory of life owner ends with the creator's connection. The memory keeps the connection
 * open, an object that was imported from its token does, too, and nothing else here.
 */
SCENE_CASE(broker_owner_life_while_something_is_held, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	ww_object *object;
	ww_object *again;
	ww_memory *memory = scene_make(BYTES, 1);

	scene_put(memory, "x", 0, WW_LIFE_OWNER, WW_STATE_SHARED);
	token = token_of(memory, WW_ACCESS_READ);
	ww_broker_unref(scene.broker);
	MUST_OK(ww_broker_open(NULL, &scene.broker));
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	ww_memory_unref(memory);
	ww_broker_unref(scene.broker);
	MUST_OK(ww_broker_open(NULL, &scene.broker));
	MUST_OK(ww_broker_stat(scene.broker, "x", &info));
	MUST_EQUAL(WW_LIFE_OWNER, info.life);
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &again, NULL));
	ww_object_unref(again);
	ww_object_unref(object);
	MUST_OK(ww_broker_stat(scene.broker, "x", &info)); /* scene.broker keeps it now */
	ww_broker_unref(scene.broker);
	MUST_OK(ww_broker_open(NULL, &scene.broker));
}

SCENE_CASE(broker_object_refuses, WW_CAP_EXPORT)
{
	struct ww_object_info info = {0};
	struct ww_token other;
	ww_object *object;
	ww_memory *memory = scene_make(BYTES, 1);
	struct ww_token token = token_of(memory, WW_ACCESS_READ);

	MUST_REFUSE(WW_ERR_INVALID, "size", ww_object_import(NULL, &token, NULL, &object, &info));
	other = token_forged(&token, 32, 1); /* of the secret */
	MUST_REFUSE(WW_ERR_ACCESS, "secret", ww_object_import(NULL, &other, NULL, &object, NULL));
	other = token_forged(&token, 64, 1 ^ 2); /* memory becomes timeline */
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "kind",
		ww_object_import(NULL, &other, NULL, &object, NULL));
	other = token_forged(&token, 64, 1 ^ 7); /* or pool */
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "pool",
		ww_object_import(NULL, &other, NULL, &object, NULL));
	other = token_forged(&token, 94, 1); /* far more bytes in all */
	MUST_REFUSE(WW_ERR_MISMATCH, "bytes", ww_object_import(NULL, &other, NULL, &object, NULL));
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	ww_memory_unref(memory);
	MUST_REFUSE(WW_ERR_ACCESS, "revoked",
		ww_memory_import(scene.device, NULL, &token, NULL, NULL, &memory, NULL));
	scene_has_holds(1);
	ww_object_unref(object);
	MUST(!ww_object_ref(NULL) && !ww_object_unref(NULL));
}

static ww_status map_object(ww_object *object, uint32_t access, uint64_t flags,
	ww_memory **out_memory)
{
	return ww_object_map(object, scene.device,
		WW_PARAMS(struct ww_import_params, .access = access, .flags = flags), NULL,
		out_memory);
}

static void must_have_span(ww_memory *memory, uint64_t bytes, uint32_t access)
{
	MUST_EQUAL(bytes, memory_info(memory).bytes);
	MUST_EQUAL(access, memory_info(memory).access);
}

static ww_status get_object(const char *name, uint32_t access, ww_object **out_object,
	struct ww_object_info *info)
{
	return ww_object_get(scene.broker, name, WW_PARAMS(struct ww_get_params, .access = access),
		0, NULL, out_object, info);
}

/* By name: the array that was put, the access that was asked for. */
SCENE_CASE(broker_object_get, WW_CAP_EXPORT)
{
	const int64_t shape[] = {1024};
	struct ww_token_info named = WW_INIT(struct ww_token_info);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_put_params params = {.struct_size = sizeof(params)};
	struct ww_array array;
	struct ww_token token;
	ww_object *object;
	OWN(memory) ww_memory *mapped;
	ww_memory *memory = scene_make(BYTES, 1);

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 64), 1, shape, NULL, 0));
	params.array = &array;
	params.mode = 0600;
	params.state = WW_STATE_SHARED;
	params.life = WW_LIFE_HELD;
	MUST_OK(ww_memory_put(memory, scene.broker, "x", &params, 0, NULL));
	MUST_OK(get_object("x", WW_ACCESS_WRITE, &object, &info));
	MUST_EQUAL(WW_OBJECT_MEMORY, info.kind);
	MUST_EQUAL(BYTES, info.span_bytes);
	MUST_OK(ww_object_export(object,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_OK(ww_token_info_get(&token, &named));
	MUST_EQUAL(WW_ACCESS_WRITE, named.access);
	MUST_EQUAL(0, named.offset);
	MUST_EQUAL(BYTES, named.bytes);
	MUST(named.has_array && named.array.shape[0] == 1024);
	MUST_OK(map_object(object, WW_ACCESS_WRITE, 0, &mapped));
	must_have_span(mapped, BYTES, WW_ACCESS_WRITE);
	ww_memory_unref(mapped);
	ww_memory_unref(memory);
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &mapped, NULL));
	ww_object_unref(object);
	must_have_span(mapped, BYTES, WW_ACCESS_READ);
}

/* What was asked for to read is not passed on for writing. Nothing is left of what fails. */
SCENE_CASE(broker_object_get_refuses, WW_CAP_EXPORT)
{
	struct ww_object_info info = {0};
	struct ww_token_info named = WW_INIT(struct ww_token_info);
	struct ww_token token;
	OWN(timeline) ww_timeline *timeline;
	ww_object *object;
	ww_memory *memory = scene_make(BYTES, 1);

	MUST_REFUSE(WW_ERR_NOT_FOUND, "", get_object("x", 0, &object, NULL));
	MUST(!object);
	MUST_EQUAL(WW_TIMED_OUT, ww_object_get(scene.broker, "x", NULL, 1, NULL, &object, NULL));
	scene_put(memory, "x", 0600, WW_LIFE_HELD, WW_STATE_SEALED);
	MUST_REFUSE(WW_ERR_INVALID, "size", get_object("x", 0, &object, &info));
	MUST_REFUSE(WW_ERR_ACCESS, "", get_object("x", WW_ACCESS_WRITE, &object, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "maps nothing",
		ww_object_get(scene.broker, "x",
			WW_PARAMS(struct ww_get_params, .flags = WW_IMPORT_OWN_MAPPING), 0, NULL,
			&object, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "", get_object("", 0, &object, NULL));
	MUST_OK(get_object("x", 0, &object, NULL));
	MUST_OK(ww_object_export(object,
		WW_PARAMS(struct ww_token_params, .escrow_ns = WW_ESCROW_NONE), NULL, &token));
	MUST_OK(ww_token_info_get(&token, &named));
	MUST_EQUAL(WW_ACCESS_READ, named.access);
	ww_object_unref(object);
	ww_memory_unref(memory);
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_put(timeline, scene.broker, "t", NULL, NULL));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "memory", get_object("t", 0, &object, NULL));
}

/* Exactly the span of the token, by the rules of imports; object and memory end in any order. */
SCENE_CASE(broker_object_map, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_memory *mapped[4];
	OWN(object) ww_object *object;
	ww_memory *memory = scene_make(BYTES, 1);

	MUST_OK(ww_memory_export(memory, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .offset = 4096,
			.bytes = 8192, .uses = 1),
		NULL, &token));
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	ww_memory_unref(memory);
	MUST_OK(ww_object_map(object, scene.device, NULL, NULL, &mapped[0]));
	must_have_span(mapped[0], 8192, WW_ACCESS_READ);
	MUST_OK(map_object(object, 0, 0, &mapped[1]));
	MUST(mapped[1] == mapped[0]);
	MUST_OK(map_object(object, WW_ACCESS_WRITE, 0, &mapped[1]));
	MUST(mapped[1] != mapped[0]);
	must_have_span(mapped[1], 8192, WW_ACCESS_WRITE);
	MUST_OK(map_object(object, WW_ACCESS_WRITE, WW_IMPORT_OWN_MAPPING, &mapped[2]));
	MUST(mapped[2] != mapped[1] &&
		ww_memory_pointer(mapped[2]) != ww_memory_pointer(mapped[1]));
	MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &mapped[3], NULL));
	MUST(mapped[3] == mapped[0]);
	ww_memory_unref(mapped[0]);
	ww_memory_unref(mapped[2]);
	ww_object_unref(object);
	pattern_write(mapped[1], 2);
	pattern_verify(mapped[3], 2);
	ww_memory_unref(mapped[0]);
	ww_memory_unref(mapped[1]);
	ww_memory_unref(mapped[3]);
	scene_has_objects(1); /* the imports of its creator's process did not count */
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
}

static void refuse_map(ww_object *object, uint32_t access, uint64_t flags, ww_status status,
	const char *word)
{
	ww_memory *memory = (ww_memory *)&status;

	MUST_REFUSE(status, word, map_object(object, access, flags, &memory));
	MUST(!memory);
}

SCENE_CASE(broker_object_map_refuses, WW_CAP_EXPORT)
{
	struct ww_token token;
	ww_timeline *timeline;
	OWN(object) ww_object *object;
	OWN(memory) ww_memory *memory;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_timeline_export(timeline, NULL, NULL, NULL, &token));
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	refuse_map(object, 0, 0, WW_ERR_UNSUPPORTED, "kind timeline");
	ww_object_unref(object);
	ww_timeline_unref(timeline);
	memory = scene_make(BYTES, 1);
	token = token_of(memory, WW_ACCESS_READ);
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	refuse_map(object, 3, 0, WW_ERR_INVALID, "access");
	refuse_map(object, 0, UINT64_C(1) << 63, WW_ERR_INVALID, "flags");
	refuse_map(object, WW_ACCESS_WRITE, 0, WW_ERR_ACCESS, "for reading");
}

/* What has happened to the memory since it was held. */
SCENE_CASE(broker_object_map_later, WW_CAP_EXPORT)
{
	struct ww_token token;
	OWN(object) ww_object *object;
	OWN(memory) ww_memory *mapped;
	ww_memory *again;
	ww_memory *memory = scene_make(BYTES, 1);

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	token = token_of(memory, WW_ACCESS_WRITE);
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MUST_OK(ww_memory_revoke(memory, NULL, NULL));
	ww_memory_unref(memory);
	token_refuse_import(&token, WW_ACCESS_READ, WW_ERR_ACCESS, "revoked");
	for (uint32_t access = WW_ACCESS_READ; access <= WW_ACCESS_WRITE; access++) {
		MUST_OK(map_object(object, access, 0, &mapped));
		MUST_OK(map_object(object, access, 0, &again));
		MUST(again == mapped);
		pattern_verify(mapped, 1);
		ww_memory_unref(again);
		ww_memory_unref(mapped);
	}
	MUST_OK(ww_broker_end(scene.broker, "x", NULL));
	refuse_map(object, 0, 0, WW_ERR_NOT_FOUND, "");
	ww_object_unref(object);

	memory = scene_make(BYTES, 2);
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	token = token_of(memory, WW_ACCESS_READ);
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	ww_memory_unref(memory);
	MUST_OK(map_object(object, 0, 0, &mapped));
	MUST_OK(ww_broker_end(scene.broker, "x", NULL));
	MUST_OK(map_object(object, 0, 0, &again));
	MUST(again == mapped);
	ww_object_unref(object);
	pattern_verify(mapped, 2);
	ww_memory_unref(again);
	ww_memory_unref(mapped);

	memory = scene_make(BYTES, 3);
	token = token_of(memory, WW_ACCESS_WRITE);
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	ww_memory_unref(memory);
	refuse_map(object, WW_ACCESS_WRITE, 0, WW_ERR_ACCESS, "sealed");
	MUST_OK(map_object(object, 0, 0, &mapped));
	pattern_verify(mapped, 3);
}

/* --- no broker named --- */

static void default_finds(const char *name, uint64_t count)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	OWN(snapshot) ww_snapshot *snapshot;

	MUST_OK(ww_snapshot_create(NULL, name, WW_SNAPSHOT_OBJECTS, &snapshot));
	for (uint64_t i = 0; i < count; i++)
		MUST_OK(ww_snapshot_object(snapshot, i, &info));
	MUST_EQUAL(WW_END, ww_snapshot_object(snapshot, count, &info));
}

/* Each call that takes a broker, with the default one. */
SCENE_CASE(broker_default, WW_CAP_EXPORT)
{
	struct ww_broker_info broker_info = WW_INIT(struct ww_broker_info);
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_watch *watch;
	OWN(memory) ww_memory *got;
	OWN(memory) ww_memory *memory = scene_make(BYTES, 1);

	MUST(!ww_memory_broker(memory));
	MUST_OK(ww_broker_info_get(NULL, &broker_info));
	MUST_EQUAL(scene_info().pid, broker_info.pid);
	MUST_OK(ww_watch_create(NULL, NULL, 0, &watch));
	MUST_OK(ww_memory_put(memory, NULL, "x",
		WW_PARAMS(struct ww_put_params, .state = WW_STATE_WRITING), 0, NULL));
	MUST(ww_memory_broker(memory) == scene.broker);
	MUST_OK(ww_watch_next(watch, WW_FOREVER, NULL, &event));
	MUST(!strcmp(event.object.name, "x"));
	ww_watch_free(watch);
	MUST_OK(ww_memory_publish(memory, NULL, WW_STATE_SHARED, NULL));
	MUST_OK(ww_memory_get(scene.device, NULL, "x", NULL, 0, NULL, &got, NULL));
	MUST_OK(ww_broker_stat(NULL, "x", &info));
	default_finds("x", 1);
	MUST_OK(ww_broker_remove(NULL, "x"));
	default_finds("x", 0);
}

/*
 * A memory is exported to the broker that it is in, be that the default one or not; from several
 * none is chosen.
 */
SCENE_CASE(broker_default_of_memory, WW_CAP_EXPORT)
{
	struct ww_broker_params params = {.struct_size = sizeof(params)};
	const struct ww_export_params brief = {
		.struct_size = sizeof(brief),
		.escrow_ns = WW_ESCROW_NONE,
	};
	struct ww_token_info info = WW_INIT(struct ww_token_info);
	struct ww_token token;
	ENDED_BY(broker_stop) struct broker other;
	OWN(memory) ww_memory *memory;
	OWN(broker) ww_broker *broker;

	broker_start(&other, NULL);
	params.address = other.address;
	MUST_OK(ww_broker_open(&params, &broker));
	memory = scene_make(BYTES, 1);
	MUST_OK(ww_memory_put(memory, broker, "x", NULL, 0, NULL));
	MUST(ww_memory_broker(memory) == broker);
	MUST_OK(ww_memory_export(memory, NULL, &brief, NULL, &token));
	MUST_OK(ww_token_info_get(&token, &info));
	MUST(!strcmp(info.address, other.address));
	MUST_OK(ww_memory_put(memory, scene.broker, "x", NULL, 0, NULL));
	MUST(!ww_memory_broker(memory));
	MUST_OK(ww_memory_export(memory, NULL, &brief, NULL, &token));
	MUST_OK(ww_token_info_get(&token, &info));
	MUST(!strcmp(info.address, scene.daemon.address));
}

/* --- slices of a pool --- */

SCENE_CASE(pool_revoke, WW_CAP_EXPORT)
{
	const struct ww_export_params params = {.struct_size = sizeof(params),
		.access = WW_ACCESS_WRITE};
	OWN(pool) ww_pool *pool = NULL;
	struct ww_token token;
	struct ww_token other;
	ww_memory *slices[2];
	ww_memory *got;

	pool = pool_make(scene.device, 0, 0, 4);
	for (int i = 0; i < 2; i++)
		slices[i] = slice_make(pool, 4096);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "any broker", ww_memory_revoke(slices[0], NULL, NULL));
	other = slice_token(slices[1], &params);
	MUST(ww_memory_broker(slices[0]) == scene.broker);
	for (int i = 0; i < 10; i++) { /* a slot comes back when nobody uses it */
		token = slice_token(slices[0], &params);
		MUST_OK(ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, NULL));
		ww_memory_unref(got);
		MUST_OK(ww_memory_revoke(slices[0], NULL, NULL));
		MUST_REFUSE(WW_ERR_NOT_FOUND, "",
			ww_memory_import(scene.device, NULL, &token, NULL, NULL, &got, NULL));
	}
	MUST_OK(ww_memory_import(scene.device, NULL, &other, NULL, NULL, &got, NULL));
	ww_memory_unref(got);
	ww_memory_unref(slices[0]); /* no escrow of it is left */
	MUST_EQUAL(0, pool_info(pool).waiting_count);
	MUST_OK(ww_memory_revoke(slices[1], NULL, NULL));
	ww_memory_unref(slices[1]);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
}

/* The owner holds its own slice by a token: it is used as by any other reference. */
SCENE_CASE(pool_object_comes_home, WW_CAP_EXPORT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_object *object;
	ww_memory *again;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = 1));

	MUST_OK(ww_object_import(NULL, &token, NULL, &object, &info));
	MUST_EQUAL(4096, info.span_bytes);
	ww_memory_unref(slice);
	MUST_EQUAL(4096, pool_info(pool).bytes_used);
	MUST_OK(ww_object_export(object, NULL, NULL, &token));
	MUST_OK(ww_memory_import(scene.device, NULL, &token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &again, NULL));
	MUST(again == slice);
	ww_memory_unref(again);
	ww_object_unref(object);
	MUST_EQUAL(0, pool_info(pool).bytes_used);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
}

/* A slice of an own pool is mapped already, and needs no valid token. */
SCENE_CASE(pool_object_of_own_slice_is_mapped, WW_CAP_EXPORT)
{
	ww_memory *reading;
	ww_object *object;
	ww_memory *mapped;
	ww_memory *again;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0, 0);
	ww_memory *slice = slice_make(pool, 4096);
	struct ww_token token = slice_token(slice,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = 1));

	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MUST_OK(map_object(object, WW_ACCESS_WRITE, 0, &mapped));
	MUST(mapped == slice);
	MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	ww_memory_unref(slice);
	MUST_OK(map_object(object, 0, 0, &reading));
	must_have_span(reading, 4096, WW_ACCESS_READ);
	MUST(ww_memory_pointer(reading) == ww_memory_pointer(mapped));
	MUST_OK(map_object(object, 0, 0, &again));
	MUST(again == reading);
	ww_memory_unref(again);
	refuse_map(object, 0, WW_IMPORT_OWN_MAPPING, WW_ERR_UNSUPPORTED, "chunk");
	ww_object_unref(object);
	ww_memory_unref(mapped);
	MUST_EQUAL(4096, pool_info(pool).bytes_used);
	ww_memory_unref(reading);
	MUST_EQUAL(0, pool_info(pool).bytes_used);
	MUST_EQUAL(0, pool_info(pool).waiting_count);
}

/* It is there for the pool's device only. */
SCENE_CASE(pool_object_of_own_slice_for_another_device, WW_CAP_EXPORT | NEEDS_CUDA)
{
	struct ww_token token;
	OWN(object) ww_object *object;
	ww_memory *memory;
	OWN(memory) ww_memory *slice;
	OWN(device) ww_device *host;
	OWN(pool) ww_pool *pool;

	MUST_OK(ww_device_open("host", &host));
	pool = pool_make(scene.device, 0, 0, 0);
	slice = slice_make(pool, 4096);
	token = slice_token(slice, WW_PARAMS(struct ww_export_params, .uses = 1));
	MUST_OK(ww_object_import(NULL, &token, NULL, &object, NULL));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "import it for",
		ww_object_map(object, host, NULL, NULL, &memory));
	MUST(!memory);
}
