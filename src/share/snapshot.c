/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - a list of what is in a broker
 *
 * Pages are asked for one after the other until there is none, and copied out of their packets at
 * once.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/object_info.h"
#include "share/snapshot.h"
#include "wire/name.h"

#define HOLDER_V1_BYTES sizeof(struct ww_holder_info)
#define HOLD_V1_BYTES   offsetof(struct ww_hold_info, delivery)
#define ITEMS_MAX       (UINT64_C(1) << 26)
#define PAGES_MAX       (UINT64_C(1) << 20)

#define CONTENTS \
	(WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS)

/* What reads one kind of page. */
struct reader {
	uint16_t code;
	uint16_t reply;
	const void *message;
	uint64_t *cursor; /* in the message */
	ww_status (*take)(struct ww_snapshot *snapshot, const struct ww_request *page,
		uint64_t *out_next);
};

void *ww_rows_add(struct ww_rows *rows, size_t item_bytes)
{
	size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
	void *larger;

	if (rows->count == rows->capacity) {
		larger = rows->count < ITEMS_MAX ? realloc(rows->items, capacity * item_bytes)
						 : NULL;
		if (!larger) {
			ww_fail(WW_ERR_NO_MEMORY,
				"cannot list %zu entries of a broker: out of memory",
				rows->count + 1);
			return NULL;
		}
		rows->items = larger;
		rows->capacity = capacity;
	}
	return (char *)rows->items + rows->count++ * item_bytes;
}

ww_status ww_snapshot_add_object(struct ww_snapshot *snapshot, const struct ww_wire_entry *entry)
{
	struct ww_object_info *info = ww_rows_add(&snapshot->objects, sizeof(*info));

	if (!info)
		return WW_ERR_NO_MEMORY;
	ww_object_info_of_entry(entry, info);
	return WW_OK;
}

ww_status ww_snapshot_add_holder(struct ww_snapshot *snapshot, const struct ww_wire_holder *holder)
{
	struct ww_holder_info *info = ww_rows_add(&snapshot->holders, sizeof(*info));

	if (!info)
		return WW_ERR_NO_MEMORY;
	*info = (struct ww_holder_info){
		.pid = holder->pid,
		.uid = holder->uid,
		.gid = holder->gid,
		.is_attached = holder->attached,
		.held = holder->held,
		.put = holder->put,
		.number = holder->number,
		.held_bytes = holder->held_bytes,
		.put_bytes = holder->put_bytes,
		.age_ns = holder->age_ns,
	};
	memcpy(info->program, holder->program, sizeof(info->program));
	return WW_OK;
}

ww_status ww_snapshot_add_hold(struct ww_snapshot *snapshot, const struct ww_wire_hold *hold)
{
	struct ww_hold_info *info = ww_rows_add(&snapshot->holds, sizeof(*info));

	if (!info)
		return WW_ERR_NO_MEMORY;
	*info = (struct ww_hold_info){
		.access = hold->access,
		.is_creator = (hold->flags & WW_WIRE_HOLD_FLAG_MAKER) != 0,
		.is_escrow = (hold->flags & WW_WIRE_HOLD_FLAG_ESCROW) != 0,
		.holder = hold->holder,
		.age_ns = hold->age_ns,
		.left_ns = hold->left_ns,
		.delivery = hold->delivery,
		.exporter = hold->exporter,
		.uses = hold->uses,
		.bytes = hold->bytes,
		.is_own = (hold->flags & WW_WIRE_HOLD_FLAG_OWN) != 0,
	};
	memcpy(info->object_id, hold->id, sizeof(info->object_id));
	return WW_OK;
}

static ww_status take_objects(struct ww_snapshot *snapshot, const struct ww_request *page,
	uint64_t *out_next)
{
	struct ww_wire_listing listing;
	struct ww_wire_entry entry;

	if (ww_wire_decode_listing(page->answer, page->answer_bytes, page->version, &listing) < 0)
		return ww_request_fail_answer(page);
	while (ww_wire_entry_next(&listing.entries, &entry))
		ww_try(ww_snapshot_add_object(snapshot, &entry));
	*out_next = listing.next;
	return WW_OK;
}

static ww_status take_holders(struct ww_snapshot *snapshot, const struct ww_request *page,
	uint64_t *out_next)
{
	struct ww_wire_holder_listing listing;
	struct ww_wire_holder holder;

	if (ww_wire_decode_holder_listing(page->answer, page->answer_bytes, page->version,
		    &listing) < 0)
		return ww_request_fail_answer(page);
	while (ww_wire_holder_next(&listing.holders, &holder))
		ww_try(ww_snapshot_add_holder(snapshot, &holder));
	*out_next = listing.next;
	return WW_OK;
}

static ww_status take_holds(struct ww_snapshot *snapshot, const struct ww_request *page,
	uint64_t *out_next)
{
	struct ww_wire_hold_listing listing;
	struct ww_wire_hold hold;

	if (ww_wire_decode_hold_listing(page->answer, page->answer_bytes, page->version, &listing) <
		0)
		return ww_request_fail_answer(page);
	while (ww_wire_hold_next(&listing.holds, &hold))
		ww_try(ww_snapshot_add_hold(snapshot, &hold));
	*out_next = listing.next;
	return WW_OK;
}

static ww_status read_page(struct ww_broker *broker, struct ww_snapshot *snapshot,
	const struct reader *reader, void *room, uint64_t *out_next)
{
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, reader->code, reader->reply, reader->message);
	request.answer = room;
	request.room = WW_WIRE_PACKET_BYTES;
	ww_try(ww_broker_client_ask(broker, &request));
	return reader->take(snapshot, &request, out_next);
}

static ww_status read_pages(struct ww_broker *broker, struct ww_snapshot *snapshot,
	const struct reader *reader, void *room)
{
	uint64_t pages_left = PAGES_MAX;
	uint64_t next = 0;

	do {
		uint64_t cursor = next;

		*reader->cursor = cursor;
		ww_try(read_page(broker, snapshot, reader, room, &next));
		if ((next != 0 && next <= cursor) || --pages_left == 0)
			return ww_fail(WW_ERR_PROTOCOL, "the broker's list does not end");
	} while (next != 0);
	return WW_OK;
}

static ww_status read_all(struct ww_broker *broker, const char *prefix, uint64_t contents,
	struct ww_snapshot *snapshot, void *room)
{
	struct ww_wire_list list = {.unnamed = (contents & WW_SNAPSHOT_UNNAMED) && !prefix[0]};
	struct ww_wire_holders holders = {0};
	struct ww_wire_holds holds = {0};
	const struct reader readers[] = {
		{WW_WIRE_LIST, WW_WIRE_LISTING, &list, &list.cursor, take_objects},
		{WW_WIRE_HOLDERS, WW_WIRE_HOLDER_LISTING, &holders, &holders.cursor, take_holders},
		{WW_WIRE_HOLDS, WW_WIRE_HOLD_LISTING, &holds, &holds.cursor, take_holds},
	};

	memcpy(list.prefix, prefix, strlen(prefix));
	if (contents & (WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED))
		ww_try(read_pages(broker, snapshot, &readers[0], room));
	if (contents & WW_SNAPSHOT_HOLDERS)
		ww_try(read_pages(broker, snapshot, &readers[1], room));
	if (contents & WW_SNAPSHOT_HOLDS)
		ww_try(read_pages(broker, snapshot, &readers[2], room));
	return WW_OK;
}

/* By name; those without one by age. */
static int compare_objects(const void *left, const void *right)
{
	const struct ww_object_info *a = left;
	const struct ww_object_info *b = right;
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	return (a->generation > b->generation) - (a->generation < b->generation);
}

static void free_p(void *pointer)
{
	free(*(void **)pointer);
}

WW_DEFINE_CLEANUP(struct ww_snapshot, ww_snapshot_free)

ww_status ww_snapshot_create(ww_broker *broker, const char *prefix, uint64_t contents,
	ww_snapshot **out_snapshot)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_CLEANUP(ww_snapshot_free_p) struct ww_snapshot *snapshot = NULL;
	WW_CLEANUP(free_p) void *room = NULL;
	const char *begins = prefix ? prefix : "";

	ww_clear(out_snapshot, NULL);
	ww_try(ww_process_enter());
	ww_require(out_snapshot, "ww_snapshot_create: out_snapshot is NULL");
	if (contents & ~CONTENTS)
		return ww_fail(WW_ERR_INVALID, "unknown contents 0x%" PRIx64 " of a snapshot",
			contents);
	ww_try(ww_name_check_prefix(begins));
	snapshot = calloc(1, sizeof(*snapshot));
	room = malloc(WW_WIRE_PACKET_BYTES);
	if (!snapshot || !room)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot make a snapshot: out of memory");
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(read_all(broker, begins, contents, snapshot, room));
	if (snapshot->objects.count > 0)
		qsort(snapshot->objects.items, snapshot->objects.count,
			sizeof(struct ww_object_info), compare_objects);
	*out_snapshot = ww_steal(snapshot);
	return WW_OK;
}

ww_snapshot *ww_snapshot_free(ww_snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	free(snapshot->objects.items);
	free(snapshot->holders.items);
	free(snapshot->holds.items);
	free(snapshot);
	return NULL;
}

ww_status ww_rows_get(const struct ww_rows *rows, size_t index, size_t item_bytes, void *info,
	size_t least, const char *name)
{
	ww_try(ww_params_check(info, least, name));
	if (index >= rows->count)
		return WW_END;
	return ww_params_write(info, (const char *)rows->items + index * item_bytes, item_bytes,
		least, name);
}

ww_status ww_snapshot_object(ww_snapshot *snapshot, size_t index, struct ww_object_info *info)
{
	ww_try(ww_process_enter());
	ww_require(snapshot && info, "ww_snapshot_object: snapshot or info is NULL");
	ww_try(ww_object_info_check(info));
	if (index >= snapshot->objects.count)
		return WW_END;
	return ww_object_info_write(info,
		(const struct ww_object_info *)snapshot->objects.items + index);
}

ww_status ww_snapshot_holder(ww_snapshot *snapshot, size_t index, struct ww_holder_info *info)
{
	ww_try(ww_process_enter());
	ww_require(snapshot && info, "ww_snapshot_holder: snapshot or info is NULL");
	return ww_rows_get(&snapshot->holders, index, sizeof(*info), info, HOLDER_V1_BYTES,
		"ww_holder_info");
}

ww_status ww_snapshot_hold(ww_snapshot *snapshot, size_t index, struct ww_hold_info *info)
{
	ww_try(ww_process_enter());
	ww_require(snapshot && info, "ww_snapshot_hold: snapshot or info is NULL");
	return ww_rows_get(&snapshot->holds, index, sizeof(*info), info, HOLD_V1_BYTES,
		"ww_hold_info");
}
