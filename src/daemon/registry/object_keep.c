/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_keep.c - objects that are kept while deliveries of them are in flight, see object.h
 *
 * The record says by its life whether an object is kept, and by its time until when. So a new
 * broker continues. Which inner objects are needed is decided once, when the creator has ended or
 * has released the object: those that were not have ended before a new broker looks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* What the put of an object that counts deliveries says of it: only that is kept. */
static bool object_counts(const struct ww_layout_object_record *record)
{
	return record->state != WW_WIRE_STATE_REMOVED && record->state != WW_WIRE_STATE_WRITING &&
		!ww_name_is_inside((const char *)record->name) &&
		delivery_counts_find(record->fd_access, record->fd_count) >= 0;
}

bool object_is_kept(const struct ww_layout_object_record *record)
{
	return record->life == WW_WIRE_LIFE_KEPT && object_counts(record);
}

/* How long at most, and not 0, which would be for ever. */
static uint64_t keep_ns(const struct registry *registry, const struct unreceived *unreceived)
{
	uint64_t most_ns = config_escrow_max_ns(registry->accounts.config);

	if (unreceived->keep_ns > most_ns)
		return most_ns;
	return unreceived->keep_ns > 0 ? unreceived->keep_ns : 1;
}

/* Users see what is in flight as an escrow, which ends with the object. There may be no room. */
static void show(struct registry *registry, struct object *object)
{
	(void)hold_escrow(registry, object->account, object, WW_WIRE_ACCESS_WRITE, 0,
		object_record(registry, object)->expires_ns);
}

/* Without memory, all inner objects are kept. */
static void remember_needs(struct object *object, const struct unreceived *unreceived)
{
	struct nesting *nesting = object_nesting(object);

	if (!nesting)
		return;
	nesting->kept_for = malloc(sizeof(*nesting->kept_for));
	if (nesting->kept_for)
		*nesting->kept_for = *unreceived;
}

static bool needs(const struct object *outer, const uint8_t id[WW_WIRE_ID_BYTES])
{
	const struct nesting *nesting = outer->nesting;

	return !nesting || !nesting->kept_for || unreceived_needs(nesting->kept_for, id);
}

static bool keep_for(struct registry *registry, struct object *object,
	const struct unreceived *unreceived)
{
	uint64_t now_ns = ww_clock_now_ns();

	if (object_set_end(registry, object, now_ns, keep_ns(registry, unreceived)) < 0)
		return false;
	remember_needs(object, unreceived);
	object_record(registry, object)->life = WW_WIRE_LIFE_KEPT;
	last_will_note_reader(registry, object); /* a process that imports late reads the page */
	show(registry, object);
	return true;
}

bool object_keep(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct unreceived unreceived;

	if (!object_counts(record))
		return false;
	if (object_is_kept(record))
		return true;
	delivery_counts_sum(registry, object, &unreceived);
	return unreceived.count > 0 && keep_for(registry, object, &unreceived);
}

bool object_keep_inside(struct registry *registry, struct object *object)
{
	struct object *outer = object_find_outer(registry, object);

	if (!outer || object->last_will || !object_is_kept(object_record(registry, outer)) ||
		!needs(outer, object_record(registry, object)->id) || !object_nesting(outer))
		return false;
	if (!object->creator && !ww_list_is_empty(&object->of_creator))
		return true; /* it is there already */
	object_disown(registry, object);
	ww_list_append(&outer->nesting->lingering, &object->of_creator);
	return true;
}

void object_end_kept(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct unreceived unreceived;

	if (!object_is_kept(record) || !object->expiry)
		return;
	delivery_counts_sum(registry, object, &unreceived);
	if (unreceived.count > 0)
		return;
	record->expires_ns = ww_clock_now_ns();
	expiry_hasten(object->expiry);
}
