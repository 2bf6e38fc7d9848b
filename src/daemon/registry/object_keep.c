/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_keep.c - objects that are kept while deliveries of them are in flight, see object.h
 *
 * The record says by its life whether an object is kept, and by its time until when. So a new
 * broker continues. Which inner objects are needed is decided once, when the creator has ended or
 * has released the object: those that were not have ended before a new broker looks.
 */
#include "base/clock.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

bool object_may_have_names(const struct ww_layout_object_record *record)
{
	return record->kind == WW_WIRE_KIND_MEMORY && record->state != WW_WIRE_STATE_REMOVED &&
		!ww_name_is_inside((const char *)record->name) &&
		last_will_find(record->fd_access, record->fd_count) < 0 &&
		delivery_counts_find(record->fd_access, record->fd_count) < 0;
}

bool object_may_have_parts(const struct ww_layout_object_record *record)
{
	return record->kind == WW_WIRE_KIND_POOL && record->state == WW_WIRE_STATE_SHARED &&
		last_will_find(record->fd_access, record->fd_count) >= 0 && !record->name[0] &&
		!object_is_kept(record);
}

bool object_counts_deliveries(const struct ww_layout_object_record *record)
{
	return record->state != WW_WIRE_STATE_REMOVED && record->state != WW_WIRE_STATE_WRITING &&
		!ww_name_is_inside((const char *)record->name) &&
		delivery_counts_find(record->fd_access, record->fd_count) >= 0;
}

bool object_is_kept(const struct ww_layout_object_record *record)
{
	return record->life == WW_WIRE_LIFE_KEPT && object_counts_deliveries(record);
}

bool object_ends_with_creator(const struct ww_layout_object_record *record)
{
	if (record->state == WW_WIRE_STATE_REMOVED)
		return false;
	return record->life == WW_WIRE_LIFE_OWNER;
}

static bool object_needs(const struct object *outer, const uint8_t id[WW_WIRE_ID_BYTES])
{
	const struct nesting *nesting = outer->extra->nesting;

	return !nesting || !nesting->kept_for || unreceived_needs(nesting->kept_for, id);
}

bool object_keep_inside(struct registry *registry, struct object *object)
{
	struct object *outer = object_find_outer(registry, object);

	if (!outer || object->extra->last_will || !object_is_kept(object_record(registry, outer)) ||
		!object_needs(outer, object_record(registry, object)->id) || !object_nesting(outer))
		return false;
	if (!object->creator && !ww_list_is_empty(&object->of_creator))
		return true; /* it is there already */
	object_disown(registry, object);
	ww_list_append(&outer->extra->nesting->lingering, &object->of_creator);
	return true;
}

void object_end_kept(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct unreceived unreceived;

	if (!object_is_kept(record) || !object->extra->expiry)
		return;
	delivery_counts_sum(registry, object, &unreceived);
	if (unreceived.count > 0)
		return;
	record->expires_ns = ww_clock_now_ns();
	expiry_hasten(object->extra->expiry);
}
