/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.c - who holds what, see registry.h
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "broker/expiry.h"
#include "broker/registry_items.h"
#include "broker/testament.h"

static const struct charge one_hold = {.holds = 1};

ww_status hold_item(struct registry *registry, uint32_t index, struct object *object,
	struct holder *holder, struct hold **out_hold)
{
	struct ww_layout_hold_record *record = table_record(&registry->hold_table, index);
	struct hold *hold;

	ww_try(slab_reserve(&registry->holds, index));
	record->object = object->index;
	hold = slab_item(&registry->holds, index);
	memset(hold, 0, sizeof(*hold));
	hold->index = index;
	hold->holder = holder;
	ww_list_append(&object->holds, &hold->of_object);
	if (holder) {
		ww_list_append(&holder->holds, &hold->of_holder);
		holder->held++;
		holder->held_bytes += object_record(registry, object)->bytes;
		object->holders++;
	} else {
		object->escrows++;
	}
	*out_hold = hold;
	return WW_OK;
}

/* The shorter list of the two tells. */
struct hold *hold_find(const struct registry *registry, const struct holder *holder,
	const struct object *object)
{
	if (holder->held < object->holders + object->escrows) {
		ww_list_for_each (link, &holder->holds) {
			struct hold *hold = ww_container(link, struct hold, of_holder);

			if (hold_object(registry, hold) == object)
				return hold;
		}
		return NULL;
	}
	ww_list_for_each (link, &object->holds) {
		struct hold *hold = ww_container(link, struct hold, of_object);

		if (hold->holder == holder)
			return hold;
	}
	return NULL;
}

/* Of several the one whose object is not removed. */
struct hold *hold_find_id(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16])
{
	struct hold *found = NULL;

	for (struct ww_map_node *node = ww_map_first(&registry->by_id, registry_hash_id(id)); node;
		node = ww_map_next(node)) {
		struct object *object = ww_container(node, struct object, by_id);
		const struct ww_layout_object_record *record = object_record(registry, object);
		struct hold *hold;

		if (memcmp(record->id, id, WW_WIRE_ID_BYTES))
			continue;
		hold = hold_find(registry, holder, object);
		if (hold && record->state != WW_WIRE_STATE_REMOVED)
			return hold;
		found = hold ? hold : found;
	}
	return found;
}

/* A record and its item; the account is charged. */
static ww_status make(struct registry *registry, struct account *account, struct object *object,
	struct holder *holder, uint64_t expires_ns, struct hold **out_hold)
{
	struct ww_layout_hold_record *record;
	uint32_t index;
	ww_status status;

	ww_try(table_take(&registry->hold_table, &index));
	status = account_charge(&registry->accounts, account, &one_hold);
	if (status == WW_OK) {
		status = hold_item(registry, index, object, holder, out_hold);
		if (status != WW_OK)
			account_return(&registry->accounts, account, &one_hold);
	}
	if (status != WW_OK) {
		table_give(&registry->hold_table, index);
		return status;
	}
	account->users++;
	record = table_record(&registry->hold_table, index);
	record->holder = holder ? holder_record(registry, holder)->number : 0;
	record->generation = (uint32_t)object_record(registry, object)->generation;
	record->uid = account->uid;
	record->since_ns = ww_clock_now_ns();
	record->expires_ns = expires_ns;
	return WW_OK;
}

ww_status hold_take(struct registry *registry, struct holder *holder, struct object *object,
	uint8_t access)
{
	struct hold *hold = hold_find(registry, holder, object);
	struct ww_layout_hold_record *record;
	ww_status status;

	if (holder != object->maker)
		testament_share(registry, object);
	if (hold) {
		record = hold_record(registry, hold);
		if (record->access < access)
			record->access = access;
		hold->is_confirmed = true;
		return WW_OK;
	}
	status = make(registry, holder->account, object, holder, REGISTRY_NEVER, &hold);
	if (status != WW_OK)
		return status;
	record = hold_record(registry, hold);
	record->access = access;
	record->flags = object->maker == holder ? WW_WIRE_HOLD_FLAG_MAKER : 0;
	hold->is_confirmed = true;
	table_commit(&registry->hold_table, hold->index, 1);
	return WW_OK;
}

ww_status hold_arm(struct registry *registry, struct hold *hold)
{
	return expiry_start(registry, NULL, hold, hold_record(registry, hold)->expires_ns,
		&hold->expiry);
}

ww_status hold_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns)
{
	struct ww_layout_hold_record *record;
	struct hold *hold = NULL;
	ww_status status;

	status = make(registry, account, object, NULL, expires_ns, &hold);
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
	ww_list_for_each (link, &object->holds) {
		struct hold *hold = ww_container(link, struct hold, of_object);
		struct ww_layout_hold_record *record = hold_record(registry, hold);

		if (hold->holder || record->uses == 0 || record->access != access)
			continue;
		if (record->uses == 1)
			hold_drop(registry, hold);
		else
			record->uses--;
		return;
	}
}

void hold_unlink(struct registry *registry, struct hold *hold)
{
	struct object *object = hold_object(registry, hold);
	struct holder *holder = hold->holder;
	struct account *account = account_get(&registry->accounts,
		hold_record(registry, hold)->uid);

	ww_assert(account); /* it exists: this hold is charged to it */
	ww_list_remove(&hold->of_object);
	if (holder) {
		ww_list_remove(&hold->of_holder);
		holder->held--;
		holder->held_bytes -= object_record(registry, object)->bytes;
		object->holders--;
	} else {
		expiry_stop(&hold->expiry);
		object->escrows--;
	}
	account_return(&registry->accounts, account, &one_hold);
	table_give(&registry->hold_table, hold->index);
	account_put(&registry->accounts, account);
	account_put(&registry->accounts, account);
}

void hold_drop(struct registry *registry, struct hold *hold)
{
	struct object *object = hold_object(registry, hold);
	bool is_maker = hold->holder && hold->holder == object->maker &&
		!holder_is_mourned(registry, hold->holder);
	uint8_t what = is_maker ? object_without_maker(object_record(registry, object)) : 0;

	hold_unlink(registry, hold);
	if (is_maker && object->testament)
		object_resign(registry, object);
	else if (what)
		object_end(registry, object, what);
	else
		object_settle(registry, object);
}
