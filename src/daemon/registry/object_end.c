/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_end.c - how objects end, see object.h
 *
 *   ready ──object_end()──> removed ──last hold released──> freed
 *                              └─ with a last will: only when its creator has ended
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"

static void on_object_expiry(struct registry *registry, void *object)
{
	object_lose_name(registry, name_first(object), WW_WIRE_WHAT_EXPIRED);
}

ww_status object_arm(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (record->expires_ns == REGISTRY_NEVER)
		return WW_OK;
	ww_try(object_need_extra(object));
	return expiry_start(registry->loop, &record->expires_ns, on_object_expiry, registry, object,
		&object->extra->expiry);
}

ww_status object_set_end(struct registry *registry, struct object *object, uint64_t now_ns,
	uint64_t ttl_ns)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	ww_status status;

	expiry_stop(&object->extra->expiry);
	record->expires_ns = expiry_point(now_ns, ttl_ns);
	status = object_arm(registry, object);
	if (status < 0)
		record->expires_ns = REGISTRY_NEVER;
	return status;
}

void object_drop_last_will(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);

	last_will_close(registry, object);
	record->fd_count = 0;
	fdstore_drop(registry->fdstore, record->fds, 1);
	object_charge_again(registry, object, &charge);
}

void object_settle(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	object_lose_unheld_names(registry, object);
	if (object->holders > 0 || object_escrows(object) > 0) {
		if (!object_find_payer(registry, object))
			object_end(registry, object, WW_WIRE_WHAT_GONE);
		return;
	}
	if (object->extra->last_will &&
		(!object->creator || holder_awaits_exit(registry, object->creator)))
		return;
	if (record->state == WW_WIRE_STATE_REMOVED) {
		if (object->extra->last_will)
			object_drop_last_will(registry, object);
		object_disown(registry, object);
		object_unmap_id(registry, object);
		device_total_subtract(object_total(object), object_record(registry, object));
		object_forget_account(registry, object);
		object_free_extra(object);
		table_give(&registry->object_table, object->index);
	} else if (record->life == WW_WIRE_LIFE_HELD && !object->extra->further &&
		!object_keep_inside(registry, object)) {
		object_end(registry, object, WW_WIRE_WHAT_GONE);
	}
}

void object_end_escrows(struct registry *registry, struct object *object)
{
	struct hold *hold;

	while ((hold = hold_first_escrow(object)))
		hold_unlink(registry, hold);
	object_settle(registry, object);
}

/* Closes the descriptors of an object, but not that of its last will. */
static void object_drop_fds(struct registry *registry, const struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	int kept = object->extra->last_will ? last_will_find(record->fd_access, record->fd_count)
					    : -1;
	uint32_t numbers[WW_WIRE_FDS];
	size_t count = 0;

	for (int i = 0; i < record->fd_count; i++) {
		if (i != kept)
			numbers[count++] = record->fds[i];
	}
	if (count > 0)
		fdstore_drop(registry->fdstore, numbers, count);
	if (object->extra->last_will)
		last_will_keep_only(record);
	else
		record->fd_count = 0;
}

/* The outer object has ended. One that was kept with it, and that processes hold, does not end. */
static void object_end_inner(struct registry *registry, struct object *object)
{
	if (object_record(registry, object)->life == WW_WIRE_LIFE_HELD)
		object_settle(registry, object);
	else
		object_end(registry, object, WW_WIRE_WHAT_GONE);
}

/*
 * If an object has ended, the objects that linger inside of it end too. A list replaces recursion:
 * they may be nested.
 */
static void object_end_lingering(struct registry *registry, struct object *object)
{
	struct ww_list *link;

	while (object->extra->nesting &&
		(link = ww_list_take_first(&object->extra->nesting->lingering)))
		ww_list_append(&registry->doomed, link);
	if (registry->is_ending_doomed)
		return;
	registry->is_ending_doomed = true;
	while ((link = ww_list_take_first(&registry->doomed)))
		object_end_inner(registry, ww_container(link, struct object, of_creator));
	registry->is_ending_doomed = false;
}

void object_end(struct registry *registry, struct object *object, uint8_t what)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	bool is_replacement = name_is_replacement(registry, name_first(object));
	struct object *outer = object->extra->nesting ? object->extra->nesting->counted_in : NULL;
	uint64_t maker = record->maker;

	name_loss_tell(registry, object, what);
	/*
	 * If this broker is killed now, the next one goes on. But the creator of a pool is not
	 * forgotten, since it would be told that it is lost; a request is repeated by its client.
	 */
	if (object->extra->further && !object->extra->last_will)
		record->maker = OBJECT_ENDS;
	while (object->extra->further)
		further_drop(registry, further_next(registry, object, NULL), what);
	registry->changed(registry->context, name_first(object), what);
	object_unmap_name(registry, object);
	table_commit(&registry->object_table, object->index, WW_WIRE_STATE_REMOVED);
	record->maker = maker;
	if (!is_replacement)
		name_pass(registry, (const char *)record->name);
	delivery_counts_leave(registry, object);
	object_drop_fds(registry, object);
	expiry_stop(&object->extra->expiry);
	if (!object->creator)
		ww_list_remove(&object->of_creator);
	object_charge_again(registry, object, &charge);
	registry->bytes -= record->bytes;
	device_total_end(object_total(object), record);
	object_end_lingering(registry, object);
	object_end_escrows(registry, object);
	if (outer)
		object_end_kept(registry, outer);
}
