/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - memories: names, tokens, holds, deliveries, and looks at the broker's directory
 *
 * A memory is written before any other process can have it, and never again. So whoever has one,
 * however it came by it, finds its content whole, and the same until it lets go of it.
 */
#include <string.h>

#include "soak/soak.h"

#define SLOTS   6
#define OBJECTS 4
#define NAMES   12

/* What a broker that is full, or another user's limits, may answer to who puts. */
#define PUT_STATUSES (ALLOW(WW_ERR_QUOTA))

struct item {
	ww_memory *memory;
	uint64_t value;
	bool is_evil; /* its bytes are a forger's */
};

static struct item own[SLOTS];
static struct item got[SLOTS];
static ww_object *objects[OBJECTS];
static ww_watch *watch;

static void drop(struct item *item)
{
	if (item->memory && !item->is_evil)
		content_must_be(item->memory, item->value);
	ww_memory_unref(item->memory);
	*item = (struct item){NULL};
}

static void let_go(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		drop(&own[i]);
		drop(&got[i]);
	}
	for (size_t i = 0; i < OBJECTS; i++)
		objects[i] = ww_object_unref(objects[i]);
	watch = ww_watch_free(watch);
	(void)ww_in_flight_revoke(soak.broker, NULL, NULL, NULL, NULL);
}

__attribute__((constructor)) static void register_let_go(void)
{
	soak_at_end(let_go);
}

static struct item *draw_item(struct item items[SLOTS])
{
	return &items[draw_below(SLOTS)];
}

/* One of either; NULL: the slot is empty. */
static struct item *draw_any(void)
{
	struct item *item = draw_item(draw_one_in(3) ? got : own);

	return item->memory ? item : NULL;
}

static void take(struct item *item, ww_memory *memory, bool is_evil)
{
	drop(item);
	*item = (struct item){memory, is_evil ? 0 : content_verify(memory), is_evil};
}

OP(memory_make, 12)
{
	static const uint64_t sizes[] = {CONTENT_BYTES, 65536, 3 * MIB};
	struct item *item = draw_item(own);
	const struct ww_memory_params *params = WW_PARAMS(struct ww_memory_params,
		.kind = draw_one_in(3) ? WW_MEMORY_VMM : WW_MEMORY_HOST,
		.bytes = sizes[draw_below(CHECK_COUNT(sizes))]);

	drop(item);
	DO(0, ww_memory_create(soak.device, params, &item->memory));
	item->value = draw_number();
	content_write(item->memory, item->value);
}

OP(memory_put, 14)
{
	struct item *item = draw_item(own);
	struct ww_put_params params = {
		.struct_size = sizeof(params),
		.mode = 0644,
		.life = 1 + draw_below(3),
		.state = WW_STATE_SEALED,
		.flags = draw_one_in(2) ? WW_PUT_REPLACE : 0,
	};
	char name[NAME_BYTES];
	ww_status status;

	draw_name_to_make(name, "m", NAMES);
	if (!item->memory || item->is_evil)
		return;
	if (params.life == WW_LIFE_KEPT)
		params.ttl_ns = (1 + draw_below(500)) * MS;
	if (draw_one_in(4))
		params.state = WW_STATE_WRITING;
	status = DO(ALLOW(WW_ERR_EXISTS) | ALLOW(WW_ERR_STATE) | PUT_STATUSES,
		ww_memory_put(item->memory, soak.broker, name, &params, 0, NULL));
	/* One of three writers leaves its memory as it is, so that a get waits in vain. */
	if (status == WW_OK && params.state == WW_STATE_WRITING && !draw_one_in(3))
		DO(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_STATE),
			ww_memory_publish(item->memory, soak.broker, WW_STATE_SEALED, NULL));
}

OP(memory_get, 14)
{
	char name[NAME_BYTES];
	const struct ww_get_params *params = WW_PARAMS(struct ww_get_params,
		.flags = draw_one_in(6) ? WW_IMPORT_OWN_MAPPING : 0);
	struct item *item = draw_item(got);
	ww_memory *memory;

	draw_name_to_get(name, "m", NAMES);
	if (DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_STATE) |
			    ALLOW(WW_ERR_PEER_LOST) | ALLOW(WW_ERR_QUOTA),
		    ww_memory_get(soak.device, soak.broker, name, params, draw_wait_ns(10), NULL,
			    &memory, NULL)) == WW_OK)
		take(item, memory, name_is_evil(name));
}

OP(memory_export, 14)
{
	struct ww_token_params how = draw_token_params();
	struct ww_export_params params = {
		.struct_size = sizeof(params),
		.escrow_ns = how.escrow_ns,
		.uses = how.uses,
	};
	struct item *item = draw_any();
	struct ww_token token;

	if (draw_one_in(5)) {
		params.flags = WW_EXPORT_DELIVERY;
		params.escrow_ns = (1 + draw_below(500)) * MS;
		params.uses = 1 + draw_below(2);
	}
	if (item && !item->is_evil &&
		DO(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS) | ALLOW(WW_ERR_EXISTS) |
				ALLOW(WW_ERR_LIMIT) | PUT_STATUSES,
			ww_memory_export(item->memory, soak.broker, &params, NULL, &token)) ==
			WW_OK)
		soak_offer(TOKEN_MEMORY, &token, item->value);
}

#define IMPORT_STATUSES \
	(ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS) | ALLOW(WW_ERR_STATE) | ALLOW(WW_ERR_QUOTA))

OP(memory_import, 14)
{
	const struct ww_import_params params = {
		.struct_size = sizeof(params),
		.flags = draw_one_in(6) ? WW_IMPORT_OWN_MAPPING : 0,
	};
	struct item *item = draw_item(got);
	struct soak_offer offer;
	ww_memory *memory;

	/* A slice may have come here by object_map; it has one mapping only. */
	if (!soak_take(TOKEN_MEMORY, &offer) ||
		DO(IMPORT_STATUSES | (params.flags ? ALLOW(WW_ERR_UNSUPPORTED) : 0),
			ww_memory_import(soak.device, soak.broker, &offer.token, &params, NULL,
				&memory, NULL)) != WW_OK)
		return;
	take(item, memory, false);
	HOLDS(item->value == offer.value);
}

OP(memory_release, 12)
{
	drop(draw_item(got));
}

OP(memory_revoke, 3)
{
	struct item *item = draw_item(own);

	if (item->memory)
		DO(ALLOW(WW_ERR_NOT_FOUND), ww_memory_revoke(item->memory, soak.broker, NULL));
}

OP(memory_remove, 5)
{
	char name[NAME_BYTES];

	draw_name_to_make(name, "m", NAMES);
	DO(ALLOW(WW_ERR_NOT_FOUND), ww_broker_remove(soak.broker, name));
}

OP(memory_stream_copy, 4)
{
	struct item *from = draw_item(got);
	struct item *to = draw_item(own);
	ww_stream *stream = soak_stream();
	ww_status status;

	if (!from->memory || from->is_evil)
		return;
	drop(to);
	to->memory = memory_make(soak.device, WW_MEMORY_VMM, CONTENT_BYTES);
	content_write(to->memory, 0);
	status = DO(ALLOW(WW_ERR_PEER_LOST),
		ww_stream_copy(stream, ww_memory_pointer(to->memory),
			ww_memory_pointer(from->memory), CONTENT_BYTES));
	to->value = status == WW_OK ? from->value : 0;
	/* A stream that was lost does its work all the same, which must end before its memories. */
	while (DO(ALLOW(WW_ERR_PEER_LOST),
		       ww_stream_synchronize(soak_stream(), (uint64_t)child_limit_ms() * MS,
			       NULL)) == WW_ERR_PEER_LOST)
		;
}

/* --- objects that are held and not mapped --- */

OP(object_import, 4)
{
	uint32_t at = draw_below(OBJECTS);
	struct soak_offer offer;
	ww_object *object;

	if (soak_take(draw_one_in(4) ? TOKEN_SLICE : TOKEN_MEMORY, &offer) &&
		DO(IMPORT_STATUSES,
			ww_object_import(soak.broker, &offer.token, NULL, &object, NULL)) ==
			WW_OK) {
		ww_object_unref(objects[at]);
		objects[at] = object;
	}
}

OP(object_get, 3)
{
	uint32_t at = draw_below(OBJECTS);
	char name[NAME_BYTES];
	ww_object *object;

	draw_name_to_get(name, "m", NAMES);
	if (!name_is_evil(name) &&
		DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_PEER_LOST) | IMPORT_STATUSES,
			ww_object_get(soak.broker, name, NULL, draw_wait_ns(5), NULL, &object,
				NULL)) == WW_OK) {
		ww_object_unref(objects[at]);
		objects[at] = object;
	}
}

OP(object_map, 4)
{
	ww_object *object = objects[draw_below(OBJECTS)];
	struct item *item = draw_item(got);
	ww_memory *memory;

	if (object &&
		DO(IMPORT_STATUSES, ww_object_map(object, soak.device, NULL, NULL, &memory)) ==
			WW_OK)
		take(item, memory, false);
}

OP(object_export, 3)
{
	const struct ww_token_params params = draw_token_params();
	ww_object *object = objects[draw_below(OBJECTS)];
	struct ww_token token;

	if (object)
		DO(IMPORT_STATUSES, ww_object_export(object, &params, NULL, &token));
}

/* --- looks --- */

OP(broker_stat, 3)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char name[NAME_BYTES];

	draw_name_to_get(name, "m", NAMES);
	if (DO(ALLOW(WW_ERR_NOT_FOUND), ww_broker_stat(soak.broker, name, &info)) == WW_OK)
		MUST(!strcmp(name, info.name));
}

OP(broker_list, 2)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_snapshot *snapshot;
	size_t i = 0;

	DO(0,
		ww_snapshot_create(soak.broker, draw_one_in(2) ? "" : "soak/", draw_below(16),
			&snapshot));
	while (ww_snapshot_object(snapshot, i, &info) == WW_OK)
		i++;
	ww_snapshot_free(snapshot);
}

OP(broker_totals, 1)
{
	ww_totals *totals;

	DO(0, ww_totals_create(soak.broker, &totals));
	ww_totals_free(totals);
}

OP(in_flight_list, 2)
{
	ww_in_flight *list;

	DO(0, ww_in_flight_create(soak.broker, NULL, &list));
	ww_in_flight_free(list);
}

OP(in_flight_revoke, 2)
{
	const struct ww_in_flight_which *which = WW_PARAMS(struct ww_in_flight_which,
		.older_ns = draw_below(50) * MS);

	DO(ALLOW(WW_ERR_LIMIT), ww_in_flight_revoke(soak.broker, which, NULL, NULL, NULL));
}

OP(watch_begin, 1)
{
	ww_watch_free(watch);
	watch = NULL;
	DO(ALLOW(WW_ERR_QUOTA),
		ww_watch_create(soak.broker, "soak/", draw_one_in(2) ? WW_WATCH_EXISTING : 0,
			&watch));
}

OP(watch_next, 6)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);
	ww_status status = WW_OK;

	for (uint32_t i = draw_below(64); watch && i > 0 && status == WW_OK; i--) {
		status = DO(ALLOW(WW_TIMED_OUT), ww_watch_next(watch, 0, NULL, &event));
		if (status == WW_OK && event.what != WW_WATCH_OVERFLOW)
			MUST(!strncmp(event.object.name, "soak/", 5));
	}
}
