/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_name.c - how objects get, lose and pass on their names, see object.h
 *
 * A record without a name has a zero as the first byte of the name, and that byte is stored last
 * when it gets one, and first when it loses it. Then its life becomes held. If the broker is killed
 * in between, the next one takes a life of kept without a name for held.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* What an object without a name, which had one, has behind the first byte of it. */
#define LOST_NAME 1

bool object_has_lost_name(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	return !object_is_named(registry, object) && record->name[1];
}

static void object_lose_first_name(struct registry *registry, struct object *object, uint8_t what)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct name first = name_first(object);
	bool is_replacement = name_is_replacement(registry, first);
	char text[WW_WIRE_NAME_BYTES];

	registry->changed(registry->context, first, what | REGISTRY_NAME_ONLY);
	object_unmap_name(registry, object);
	memcpy(text, record->name, sizeof(text));
	__atomic_store_n(&record->name[0], 0, __ATOMIC_RELEASE);
	record->name[1] = LOST_NAME;
	if (record->life == WW_WIRE_LIFE_KEPT)
		record->life = WW_WIRE_LIFE_HELD;
	expiry_stop(&object->extra->expiry);
	record->expires_ns = REGISTRY_NEVER;
	if (!is_replacement)
		name_pass(registry, text);
}

void object_lose_name(struct registry *registry, struct name name, uint8_t what)
{
	struct object *object = name.object;
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (!name.further && (!record->name[0] || !object_may_have_names(record))) {
		object_end(registry, object, what);
		return;
	}
	if (name.further)
		further_drop(registry, name.further, what);
	else
		object_lose_first_name(registry, object, what);
	name_loss_count_part(registry, object);
	if (!hold_find_of_creator(registry, object) && object_without_creator(registry, object))
		object_end(registry, object, WW_WIRE_WHAT_GONE);
	else
		object_settle(registry, object);
}

void object_lose_parts(struct registry *registry, struct object *object)
{
	while (object->extra->further)
		further_drop(registry, further_next(registry, object, NULL), WW_WIRE_WHAT_GONE);
}

/* A barrier keeps its name for its escrow, until a process has joined it. */
static bool object_awaits_members(const struct ww_layout_object_record *record,
	const struct nesting *nesting)
{
	return record->kind == WW_WIRE_KIND_BARRIER &&
		(!nesting || (ww_list_is_empty(&nesting->lingering) && !nesting->is_left));
}

void object_lose_unheld_names(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct further_name *at;

	if (object->holders > 0 || object->extra->last_will ||
		record->state == WW_WIRE_STATE_REMOVED ||
		(object_escrows(object) == 0 && !object->extra->further))
		return; /* without anything it ends as a whole */
	if (record->life == WW_WIRE_LIFE_HELD && record->name[0] &&
		!ww_name_is_inside((const char *)record->name) &&
		!object_awaits_members(record, object->extra->nesting))
		object_lose_first_name(registry, object, WW_WIRE_WHAT_GONE);
	at = further_next(registry, object, NULL);
	/* There may be many that are kept, so they are looked at only if there is such a name. */
	while (at && object->extra->held_further > 0) {
		struct further_name *next = further_next(registry, object, at);

		if (further_record(registry, at)->life == WW_WIRE_LIFE_HELD)
			further_drop(registry, at, WW_WIRE_WHAT_GONE);
		at = next;
	}
}

void object_take_name(struct registry *registry, struct name name)
{
	const struct ww_layout_name_loss loss = name_loss_to(registry, name.object);
	uint8_t id[WW_WIRE_ID_BYTES];
	struct name former;

	while ((former = name_find_former(registry, name)).object) {
		memcpy(id, object_record(registry, former.object)->id, sizeof(id));
		object_lose_name(registry, former, WW_WIRE_WHAT_REPLACED);
		name_loss_keep(registry, id, &loss);
	}
}

void name_announce(struct registry *registry, struct name name, bool is_new)
{
	if (name_find_former(registry, name).object)
		object_take_name(registry, name); /* reports that the name passes to it */
	else if (is_new)
		registry->changed(registry->context, name, WW_WIRE_WHAT_PUT);
	if (!object_is_writing(registry, name.object))
		registry->changed(registry->context, name, WW_WIRE_WHAT_READY);
}

/* Stores a name in the object's record. @is_only: it has no other one, so the put says its state */
static ww_status object_set_first_name(struct registry *registry, struct object *object,
	const struct ww_wire_put *put, gid_t gid, bool is_only)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	uint64_t now_ns = ww_clock_now_ns();

	ww_try(item_map_insert(&registry->by_name, object->index, key_hash_name(put->name)));
	if (object_set_end(registry, object, now_ns, put->ttl_ns) != WW_OK) {
		item_map_remove(&registry->by_name, object->index);
		return WW_ERR_NO_MEMORY;
	}
	record->created_ns = now_ns; /* so it is the later one of two with this name */
	record->life = put->life;
	record->description_bytes = put->description_bytes;
	memcpy(record->description, put->description, put->description_bytes);
	if (is_only) {
		record->mode = (uint16_t)put->mode;
		record->gid = gid;
		table_commit(&registry->object_table, object->index, put->state);
	}
	/* The first byte last: until then there is no name. */
	memcpy(record->name + 1, put->name + 1, strlen(put->name));
	__atomic_store_n(&record->name[0], (uint8_t)put->name[0], __ATOMIC_RELEASE);
	return WW_OK;
}

static void on_further_expiry(struct registry *registry, void *item)
{
	struct further_name *further = item;

	object_lose_name(registry, (struct name){further->object, further}, WW_WIRE_WHAT_EXPIRED);
}

ww_status name_adopt(struct registry *registry, uint32_t index)
{
	return further_adopt(registry, index, on_further_expiry);
}

ww_status object_add_name(struct registry *registry, struct object *object, uid_t owner,
	const struct ww_wire_put *put, gid_t gid)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	bool is_only = !object_is_named(registry, object);
	struct name name = name_first(object);

	if (object->extra->paying)
		ww_try(object_pay_again(registry, object));
	if (!put->part && !record->name[0] && owner == record->uid) {
		ww_try(object_set_first_name(registry, object, put, gid, is_only));
	} else {
		if (put->part && is_only) { /* nobody may read it by a name yet */
			record->mode = (uint16_t)put->mode;
			record->gid = gid;
		}
		ww_try(further_make(registry, object, owner, put, on_further_expiry,
			&name.further));
	}
	name_announce(registry, name, true);
	return WW_OK;
}
