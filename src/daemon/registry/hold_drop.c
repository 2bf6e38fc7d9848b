/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold_drop.c - what the end of a hold means to its object; escrows, which end by themselves; see
 * hold.h
 */
#include "base/error.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

void hold_drop(struct registry *registry, struct hold *hold)
{
	struct object *object = hold_object(registry, hold);
	bool is_creator = !hold->is_escrow && hold->holder == object->creator &&
		!holder_awaits_exit(registry, hold->holder);
	uint8_t what = is_creator ? object_without_creator(registry, object) : 0;

	hold_unlink(registry, hold);
	if (is_creator && object->extra->last_will)
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

ww_status hold_start_timer(struct registry *registry, struct hold *hold)
{
	return expiry_start(registry->loop, &hold_record(registry, hold)->expires_ns,
		on_hold_expiry, registry, hold, &hold->expiry);
}

ww_status hold_arm(struct registry *registry, struct hold *hold)
{
	ww_try(hold_link_escrow(registry, hold));
	if (hold_record(registry, hold)->expires_ns == REGISTRY_NEVER)
		return WW_OK;
	return hold_start_timer(registry, hold);
}

ww_status hold_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns)
{
	struct hold *hold = NULL;
	ww_status status = hold_add_escrow(registry, account, object, access, uses, expires_ns,
		&hold);

	if (status != WW_OK || expires_ns == REGISTRY_NEVER)
		return status;
	status = hold_start_timer(registry, hold);
	if (status < 0)
		hold_unlink(registry, hold);
	return status;
}

void hold_use_escrow(struct registry *registry, struct object *object, uint8_t access)
{
	const struct escrows *escrows = object->extra->escrow_lists;
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
