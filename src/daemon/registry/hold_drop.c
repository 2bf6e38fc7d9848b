/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_drop.c - what the end of a hold means to its object; escrows, which end by themselves; see
 * hold.h
 */
#include <stdlib.h>

#include "base/error.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

/* Of an object's escrows. */
#define LISTS (sizeof(((struct escrows *)NULL)->lists) / sizeof(struct ww_list))

void hold_drop(struct registry *registry, struct hold *hold)
{
	struct object *object = hold_object(registry, hold);
	bool is_creator = hold->holder && hold->holder == object->creator &&
		!holder_awaits_exit(registry, hold->holder);
	uint8_t what = is_creator ? object_without_creator(object_record(registry, object)) : 0;

	hold_unlink(registry, hold);
	if (is_creator && object->last_will)
		object_unpublish(registry, object);
	else if (what)
		object_end(registry, object, what);
	else
		object_settle(registry, object);
}

static void on_hold_expiry(struct registry *registry, void *hold)
{
	hold_drop(registry, hold);
}

static ww_status object_make_escrow_lists(struct object *object)
{
	if (object->escrow_lists)
		return WW_OK;
	object->escrow_lists = calloc(1, sizeof(*object->escrow_lists));
	if (!object->escrow_lists)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	for (size_t i = 0; i < LISTS; i++)
		ww_list_init(&object->escrow_lists->lists[i]);
	return WW_OK;
}

ww_status hold_start_timer(struct registry *registry, struct hold *hold)
{
	return expiry_start(registry->loop, &hold_record(registry, hold)->expires_ns,
		on_hold_expiry, registry, hold, &hold->expiry);
}

/* The secret of the object opens no delivery, so an import by that counts against others only. */
ww_status hold_arm(struct registry *registry, struct hold *hold)
{
	const struct ww_layout_hold_record *record = hold_record(registry, hold);
	bool is_counted = record->uses > 0 && record->access < LISTS && !record->delivery;
	size_t list = is_counted ? record->access : 0;
	struct object *object = hold_object(registry, hold);
	struct ww_list *escrows;

	ww_try(object_make_escrow_lists(object));
	escrows = &object->escrow_lists->lists[list];
	ww_assert(escrows->previous);
	ww_list_append(escrows, &hold->of_object);
	return record->expires_ns == REGISTRY_NEVER ? WW_OK : hold_start_timer(registry, hold);
}

ww_status hold_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns)
{
	struct ww_layout_hold_record *record;
	struct hold *hold = NULL;
	ww_status status;

	status = hold_make(registry, account, object, NULL, expires_ns, &hold);
	if (status != WW_OK)
		return status;
	record = hold_record(registry, hold);
	record->access = access;
	record->uses = uses;
	record->flags = WW_WIRE_HOLD_FLAG_ESCROW;
	status = hold_arm(registry, hold);
	if (status < 0) {
		hold_unlink(registry, hold);
		return status;
	}
	table_commit(&registry->hold_table, hold->index, 1);
	return WW_OK;
}

void hold_use_escrow(struct registry *registry, struct object *object, uint8_t access)
{
	const struct escrows *escrows = object->escrow_lists;
	struct ww_layout_hold_record *record;
	struct hold *hold;

	if (!escrows || ww_list_is_empty(&escrows->lists[access]))
		return;
	hold = ww_container(escrows->lists[access].next, struct hold, of_object);
	record = hold_record(registry, hold);
	if (record->uses == 1)
		hold_drop(registry, hold);
	else
		record->uses--;
}
