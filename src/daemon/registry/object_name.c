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
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* What an object without a name, which had one, has behind the first byte of it. */
#define LOST_NAME 1

void object_pass_name(struct registry *registry, const char *name)
{
	struct object *next = object_find(registry, name);

	if (next)
		registry->changed(registry->context, next, WW_WIRE_WHAT_PUT);
}

bool object_has_lost_name(const struct ww_layout_object_record *record)
{
	return !record->name[0] && record->name[1];
}

/* Whether an object goes on when its name is removed. */
static bool object_outlives_name(const struct ww_layout_object_record *record)
{
	return record->kind == WW_WIRE_KIND_MEMORY && record->name[0] &&
		!ww_name_is_inside((const char *)record->name) &&
		last_will_find(record->fd_access, record->fd_count) < 0 &&
		delivery_counts_find(record->fd_access, record->fd_count) < 0;
}

static void object_go_on_unnamed(struct registry *registry, struct object *object, uint8_t what)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	bool is_replacement = object_is_replacement(registry, object);
	char name[WW_WIRE_NAME_BYTES];

	registry->changed(registry->context, object, what | REGISTRY_NAME_ONLY);
	object_unmap_name(registry, object);
	memcpy(name, record->name, sizeof(name));
	__atomic_store_n(&record->name[0], 0, __ATOMIC_RELEASE);
	record->name[1] = LOST_NAME;
	if (record->life == WW_WIRE_LIFE_KEPT)
		record->life = WW_WIRE_LIFE_HELD;
	expiry_stop(&object->expiry);
	record->expires_ns = REGISTRY_NEVER;
	if (!is_replacement)
		object_pass_name(registry, name);
}

void object_lose_name(struct registry *registry, struct object *object, uint8_t what)
{
	if (!object_outlives_name(object_record(registry, object))) {
		object_end(registry, object, what);
		return;
	}
	object_go_on_unnamed(registry, object, what);
	if (!hold_find_of_creator(registry, object) &&
		object_without_creator(object_record(registry, object)))
		object_end(registry, object, WW_WIRE_WHAT_GONE);
	else
		object_settle(registry, object);
}

/* A barrier keeps its name for its escrow, until a process has joined it. */
static bool object_awaits_members(const struct ww_layout_object_record *record,
	const struct nesting *nesting)
{
	return record->kind == WW_WIRE_KIND_BARRIER &&
		(!nesting || (ww_list_is_empty(&nesting->lingering) && !nesting->is_left));
}

void object_lose_unheld_name(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (object->holders == 0 && object_escrows(object) > 0 && !object->last_will &&
		record->state != WW_WIRE_STATE_REMOVED && record->life == WW_WIRE_LIFE_HELD &&
		record->name[0] && !ww_name_is_inside((const char *)record->name) &&
		!object_awaits_members(record, object->nesting))
		object_go_on_unnamed(registry, object, WW_WIRE_WHAT_GONE);
}

void object_take_name(struct registry *registry, struct object *object)
{
	struct object *former;

	while ((former = object_find_former(registry, object)))
		object_lose_name(registry, former, WW_WIRE_WHAT_REMOVED);
}

void object_announce(struct registry *registry, struct object *object, bool is_new)
{
	if (object_find_former(registry, object))
		object_take_name(registry, object); /* reports that the name passes to it */
	else if (is_new)
		registry->changed(registry->context, object, WW_WIRE_WHAT_PUT);
	if (!object_is_writing(registry, object))
		registry->changed(registry->context, object, WW_WIRE_WHAT_READY);
}

ww_status object_name(struct registry *registry, struct object *object,
	const struct ww_wire_put *put, gid_t gid)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	const char *name = put->name;
	uint64_t now_ns = ww_clock_now_ns();

	if (object->paying)
		ww_try(object_pay_again(registry, object));
	ww_try(object_set_end(registry, object, now_ns, put->ttl_ns));
	ww_try(item_map_insert(&registry->by_name, object->index, key_hash_name(name)));
	record->created_ns = now_ns; /* so it is the later one of two objects with this name */
	record->life = put->life;
	record->mode = (uint16_t)put->mode;
	record->gid = gid;
	record->description_bytes = put->description_bytes;
	memcpy(record->description, put->description, put->description_bytes);
	table_commit(&registry->object_table, object->index, put->state);
	/* The first byte last: until then there is no name. */
	memcpy(record->name + 1, name + 1, strlen(name));
	__atomic_store_n(&record->name[0], (uint8_t)name[0], __ATOMIC_RELEASE);
	object_announce(registry, object, true);
	return WW_OK;
}
