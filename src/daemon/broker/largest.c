/* SPDX-License-Identifier: Apache-2.0 */
/*
 * largest.c - requests of monitors, see largest.h
 *
 * No object has a list of its holders. So a page of the holders of one object looks up some of all
 * holders in the map of holds: HOLDERS_LOOKED_UP in each page. Its cursor is the index of the next
 * holder's record.
 */
#include "daemon/broker/largest.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "daemon/broker/listing.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

#define LARGEST_LOOKS     128 /* costs as much as a page of listing.c */
#define ROWS_MOST         64
#define HOLDERS_LOOKED_UP 512
#define HOLDERS_MOST      128
#define ESCROWS_MOST      64

#define ANY_USER UINT32_MAX

static ww_status check_most(uint16_t most)
{
	if (most >= 1 && most <= ROWS_MOST)
		return WW_OK;
	return ww_fail(WW_ERR_INVALID, "a page has 1 to %d rows, not %u", ROWS_MOST, most);
}

static bool object_is_wanted(const struct registry *registry, struct name name,
	const struct ww_wire_largest *wanted)
{
	const struct ww_layout_object_record *record = object_record(registry, name.object);

	return (wanted->uid == ANY_USER || record->uid == wanted->uid) &&
		(wanted->kind == 0 || record->kind == wanted->kind) &&
		!strncmp(name_text(registry, name), wanted->prefix, strlen(wanted->prefix));
}

ww_status largest_objects(void *context, const struct ww_wire_header *header,
	const struct ww_wire_largest *largest)
{
	static struct ww_wire_entry entries[ROWS_MOST];
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct ww_wire_largest_listing listing = {.entries.items = entries};
	struct object *object;
	uint32_t looks = 0;

	ww_try(check_most(largest->most));
	ww_try(ww_name_check_prefix(largest->prefix));
	object = size_order_after(&registry->objects_by_size, largest->after_bytes,
		largest->after_generation);
	while (object && listing.entries.count < largest->most && looks++ < LARGEST_LOOKS) {
		const struct ww_layout_object_record *record = object_record(registry, object);
		struct name name = name_any(registry, object);

		if (object_is_wanted(registry, name, largest))
			listing_fill_entry(peer, name, &entries[listing.entries.count++]);
		listing.next_bytes = record->bytes;
		listing.next_generation = record->generation;
		object = size_order_next(&registry->objects_by_size, object->index);
	}
	listing.more = object != NULL;
	return peer_answer(peer, header->serial, largest_listing, &listing);
}

ww_status largest_holders(void *context, const struct ww_wire_header *header,
	const struct ww_wire_largest_holders *largest)
{
	static struct ww_wire_holder holders[ROWS_MOST];
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct ww_wire_largest_holder_listing listing = {.holders.items = holders};
	const struct holder *holder;
	uint32_t looks = 0;

	ww_try(check_most(largest->most));
	holder = size_order_after(&registry->holders_by_size, largest->after_bytes,
		largest->after_number);
	while (holder && listing.holders.count < largest->most && looks++ < LARGEST_LOOKS) {
		const struct ww_layout_holder_record *record = holder_record(registry, holder);

		if (!holder_awaits_exit(registry, holder) &&
			(largest->uid == ANY_USER || record->uid == largest->uid))
			listing_fill_holder(registry, holder, &holders[listing.holders.count++]);
		listing.next_bytes = byte_sum_told(holder->held_bytes);
		listing.next_number = record->number;
		holder = size_order_next(&registry->holders_by_size, holder->index);
	}
	listing.more = holder != NULL;
	return peer_answer(peer, header->serial, largest_holder_listing, &listing);
}

/* Also a removed one, of which there may be several of one id. */
static struct object *find_generation(const struct registry *registry, const uint8_t id[16],
	uint64_t generation)
{
	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct object *object = item;
		const struct ww_layout_object_record *record = object_record(registry, object);

		if (!memcmp(record->id, id, WW_WIRE_ID_BYTES) && record->generation == generation)
			return object;
	}
	return NULL;
}

/* Tokens: the oldest of each list. */
static void add_escrows(const struct peer *peer, const struct object *object,
	struct ww_wire_hold *holds, uint32_t *count)
{
	const struct escrows *escrows = object->extra->escrow_lists;
	size_t lists = sizeof(escrows->lists) / sizeof(escrows->lists[0]);

	for (size_t i = 0; escrows && i < lists; i++) {
		ww_list_for_each (link, &escrows->lists[i]) {
			if (*count == ESCROWS_MOST)
				return;
			listing_fill_hold(peer, ww_container(link, struct hold, of_object),
				&holds[(*count)++]);
		}
	}
}

ww_status largest_object_holds(void *context, const struct ww_wire_header *header,
	const struct ww_wire_object_holds *message)
{
	static struct ww_wire_hold holds[HOLDERS_MOST + ESCROWS_MOST];
	static struct ww_wire_holder holders[HOLDERS_MOST];
	struct peer *peer = context;
	const struct registry *registry = &peer->server->registry;
	const struct table *table = &registry->holder_table;
	struct object *object = find_generation(registry, message->id, message->generation);
	struct ww_wire_object_hold_listing listing = {.holders.items = holders,
		.holds.items = holds};
	uint32_t at = message->cursor < table->fresh ? (uint32_t)message->cursor : table->fresh;
	uint32_t end = at + HOLDERS_LOOKED_UP;
	const struct holder *holder;

	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"there is no object %" PRIu64 " of this id (any more)",
			message->generation);
	listing_fill_entry(peer, name_any(registry, object), &listing.entry);
	if (message->cursor == 0)
		add_escrows(peer, object, holds, &listing.holds.count);
	while (listing.holders.count < HOLDERS_MOST &&
		(holder = table_next_before(table, &at, end))) {
		const struct hold *hold = hold_find(registry, holder, object);

		if (!hold)
			continue;
		listing_fill_hold(peer, hold, &holds[listing.holds.count++]);
		listing_fill_holder(registry, holder, &holders[listing.holders.count++]);
	}
	listing.next = at < table->fresh ? at : 0; /* the others are free */
	return peer_answer(peer, header->serial, object_hold_listing, &listing);
}
