/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest.c - lists of the largest objects and holders of a broker, and the holders of one object
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/monitor.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/object_info.h"
#include "share/snapshot.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_largest_params)
#define COUNT_MOST      4096
#define ROWS_MOST       64  /* in one answer */
#define PAGES_MOST      256 /* with rows that are filtered out, see monitor.h */
#define HOLD_PAGES_MOST (UINT32_C(1) << 16)

/* What is asked page by page. */
struct query {
	struct ww_broker *broker;
	struct ww_snapshot *snapshot;
	void *room; /* for a packet */
};

static void query_fini(struct query *query)
{
	ww_snapshot_free(query->snapshot);
	free(query->room);
}

static ww_status query_ask(const struct query *query, struct ww_request *request, uint16_t code,
	uint16_t reply, const void *message)
{
	ww_request_init(request, code, reply, message);
	request->answer = query->room;
	request->room = WW_WIRE_PACKET_BYTES;
	return ww_broker_client_ask(query->broker, request);
}

static ww_status read_objects(const struct query *query, const struct ww_largest_params *params,
	uint32_t most)
{
	struct ww_snapshot *snapshot = query->snapshot;
	struct ww_wire_largest message = {
		.after_bytes = snapshot->place_bytes,
		.after_generation = snapshot->place_number,
		.most = (uint16_t)most,
		.uid = params->flags & WW_LARGEST_OF_USER ? params->uid : UINT32_MAX,
		.kind = (uint16_t)params->kind,
	};
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_largest_listing listing;
	struct ww_wire_entry entry;
	ww_status status;

	if (params->prefix)
		memcpy(message.prefix, params->prefix, strlen(params->prefix));
	status = query_ask(query, &request, WW_WIRE_LARGEST, WW_WIRE_LARGEST_LISTING, &message);
	ww_try(status);
	if (ww_wire_decode_largest_listing(request.answer, request.answer_bytes, request.version,
		    &listing) < 0)
		return ww_request_fail_answer(&request);
	while (ww_wire_entry_next(&listing.entries, &entry))
		ww_try(ww_snapshot_add_object(snapshot, &entry));
	snapshot->has_place = listing.more;
	snapshot->place_bytes = listing.next_bytes;
	snapshot->place_number = listing.next_generation;
	return WW_OK;
}

static ww_status read_holders(const struct query *query, const struct ww_largest_params *params,
	uint32_t most)
{
	struct ww_snapshot *snapshot = query->snapshot;
	const struct ww_wire_largest_holders message = {
		.after_bytes = snapshot->place_bytes,
		.after_number = snapshot->place_number,
		.most = (uint16_t)most,
		.uid = params->flags & WW_LARGEST_OF_USER ? params->uid : UINT32_MAX,
	};
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_largest_holder_listing listing;
	struct ww_wire_holder holder;
	ww_status status = query_ask(query, &request, WW_WIRE_LARGEST_HOLDERS,
		WW_WIRE_LARGEST_HOLDER_LISTING, &message);

	ww_try(status);
	if (ww_wire_decode_largest_holder_listing(request.answer, request.answer_bytes,
		    request.version, &listing) < 0)
		return ww_request_fail_answer(&request);
	while (ww_wire_holder_next(&listing.holders, &holder))
		ww_try(ww_snapshot_add_holder(snapshot, &holder));
	snapshot->has_place = listing.more;
	snapshot->place_bytes = listing.next_bytes;
	snapshot->place_number = listing.next_number;
	return WW_OK;
}

static ww_status read_largest(const struct query *query, const struct ww_largest_params *params)
{
	bool is_objects = params->contents == WW_SNAPSHOT_OBJECTS;
	struct ww_snapshot *snapshot = query->snapshot;
	const struct ww_rows *rows = is_objects ? &snapshot->objects : &snapshot->holders;
	bool is_first = params->after_bytes == 0 && params->after_number == 0;

	snapshot->place_bytes = is_first ? UINT64_MAX : params->after_bytes;
	snapshot->place_number = params->after_number;
	for (int page = 0; page < PAGES_MOST; page++) {
		size_t left = params->count - rows->count;
		uint32_t most = left < ROWS_MOST ? (uint32_t)left : ROWS_MOST;

		if (is_objects)
			ww_try(read_objects(query, params, most));
		else
			ww_try(read_holders(query, params, most));
		if (rows->count > params->count)
			return ww_fail(WW_ERR_PROTOCOL,
				"the broker lists more rows than it was asked for");
		if (!snapshot->has_place || rows->count == params->count)
			break;
	}
	return WW_OK;
}

static ww_status params_check(const struct ww_largest_params *params)
{
	if (params->contents != WW_SNAPSHOT_OBJECTS && params->contents != WW_SNAPSHOT_HOLDERS)
		return ww_fail(WW_ERR_INVALID,
			"the largest of what: contents 0x%" PRIx64
			" is not WW_SNAPSHOT_OBJECTS or WW_SNAPSHOT_HOLDERS",
			params->contents);
	if (params->flags & ~WW_LARGEST_OF_USER)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a list",
			params->flags);
	if (params->count < 1 || params->count > COUNT_MOST)
		return ww_fail(WW_ERR_INVALID, "a list has 1 to %d rows, not %" PRIu32, COUNT_MOST,
			params->count);
	if (params->kind > UINT16_MAX)
		return ww_fail(WW_ERR_INVALID, "there is no kind %" PRIu32 " of objects",
			params->kind);
	return ww_name_check_prefix(params->prefix ? params->prefix : "");
}

static ww_status query_make(struct query *query)
{
	query->snapshot = calloc(1, sizeof(*query->snapshot));
	query->room = malloc(WW_WIRE_PACKET_BYTES);
	if (!query->snapshot || !query->room)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a snapshot: out of memory");
	return WW_OK;
}

ww_status ww_snapshot_largest(ww_broker *broker, const struct ww_largest_params *params,
	ww_snapshot **out_snapshot)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_largest_params ours;
	WW_CLEANUP(query_fini) struct query query = {.broker = NULL};

	ww_clear(out_snapshot, NULL);
	ww_try(ww_process_enter());
	ww_require(out_snapshot && params, "ww_snapshot_largest: params or out_snapshot is NULL");
	ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES, "ww_largest_params"));
	ww_try(params_check(&ours));
	ww_try(query_make(&query));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	query.broker = broker;
	ww_try(read_largest(&query, &ours));
	*out_snapshot = ww_steal(query.snapshot);
	return WW_OK;
}

ww_status ww_snapshot_place(ww_snapshot *snapshot, struct ww_largest_params *params)
{
	ww_try(ww_process_enter());
	ww_require(snapshot && params, "ww_snapshot_place: snapshot or params is NULL");
	ww_try(ww_params_check(params, PARAMS_V1_BYTES, "ww_largest_params"));
	if (!snapshot->has_place)
		return WW_END;
	params->after_bytes = snapshot->place_bytes;
	params->after_number = snapshot->place_number;
	return WW_OK;
}

/* One page of an object's holds. */
static ww_status read_holds(const struct query *query, struct ww_wire_object_holds *message,
	uint64_t *out_next)
{
	struct ww_snapshot *snapshot = query->snapshot;
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_wire_object_hold_listing listing;
	struct ww_wire_holder holder;
	struct ww_wire_hold hold;
	ww_status status = query_ask(query, &request, WW_WIRE_OBJECT_HOLDS,
		WW_WIRE_OBJECT_HOLD_LISTING, message);

	ww_try(status);
	if (ww_wire_decode_object_hold_listing(request.answer, request.answer_bytes,
		    request.version, &listing) < 0)
		return ww_request_fail_answer(&request);
	if (snapshot->objects.count == 0)
		ww_try(ww_snapshot_add_object(snapshot, &listing.entry));
	while (ww_wire_holder_next(&listing.holders, &holder))
		ww_try(ww_snapshot_add_holder(snapshot, &holder));
	while (ww_wire_hold_next(&listing.holds, &hold))
		ww_try(ww_snapshot_add_hold(snapshot, &hold));
	*out_next = listing.next;
	return WW_OK;
}

static ww_status read_all_holds(const struct query *query, struct ww_wire_object_holds *message)
{
	uint64_t next = 0;

	for (uint32_t pages = 0; pages < HOLD_PAGES_MOST; pages++) {
		message->cursor = next;
		ww_try(read_holds(query, message, &next));
		if (next == 0)
			return WW_OK;
		if (next <= message->cursor)
			break;
	}
	return ww_fail(WW_ERR_PROTOCOL, "the broker's list does not end");
}

ww_status ww_snapshot_of_object(ww_broker *broker, const struct ww_object_info *object,
	ww_snapshot **out_snapshot)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_wire_object_holds message = {.cursor = 0};
	WW_CLEANUP(query_fini) struct query query = {.broker = NULL};

	ww_clear(out_snapshot, NULL);
	ww_try(ww_process_enter());
	ww_require(out_snapshot && object, "ww_snapshot_of_object: object or out_snapshot is NULL");
	ww_try(ww_object_info_check(object));
	message.generation = object->generation;
	memcpy(message.id, object->object_id, sizeof(message.id));
	ww_try(query_make(&query));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	query.broker = broker;
	ww_try(read_all_holds(&query, &message));
	*out_snapshot = ww_steal(query.snapshot);
	return WW_OK;
}
