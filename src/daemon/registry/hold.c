/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.c - finds, takes and unlinks holds, see hold.h
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/object.h"
#include "daemon/registry/last_will.h"

/* Of an object's escrows. */
#define LISTS (sizeof(((struct escrows *)NULL)->lists) / sizeof(struct ww_list))

static const struct charge one_hold = {.holds = 1};

static uint64_t hold_hash_pair(const struct holder *holder, const struct object *object)
{
	return key_hash_pair(holder->index, object->index);
}

ww_status hold_item(struct registry *registry, uint32_t index, struct object *object,
	struct holder *holder, struct hold **out_hold)
{
	struct ww_layout_hold_record *record = table_record(&registry->hold_table, index);
	struct hold *hold = table_item(&registry->hold_table, index);

	record->object = object->index;
	hold->index = index;
	hold->is_escrow = !holder;
	if (holder) {
		ww_try(item_map_insert(&registry->by_pair, index, hold_hash_pair(holder, object)));
		hold->holder = holder;
		ww_list_append(&holder->holds, &hold->of_holder);
		holder_count_hold(registry, holder, object_record(registry, object)->bytes);
		object->holders++;
	} else {
		ww_list_init(&hold->of_object);
	}
	object_count_hold(registry, object, hold);
	*out_hold = hold;
	return WW_OK;
}

struct hold *hold_find(const struct registry *registry, const struct holder *holder,
	const struct object *object)
{
	item_map_for_each (item, &registry->by_pair, hold_hash_pair(holder, object)) {
		struct hold *hold = item;

		if (hold->holder == holder && hold_object(registry, hold) == object)
			return hold;
	}
	return NULL;
}

struct hold *hold_find_of_creator(const struct registry *registry, const struct object *object)
{
	return object->creator ? hold_find(registry, object->creator, object) : NULL;
}

/* If there are several, the one whose object is not removed. */
struct hold *hold_find_id(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16])
{
	struct hold *found = NULL;

	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct object *object = item;
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

/* Return: a hold of an object for writing by another process than @holder; NULL: none. */
static struct hold *object_find_writer(const struct registry *registry, const struct object *object,
	const struct holder *holder)
{
	const struct hold *own = hold_find(registry, holder, object);
	uint32_t own_writers = own && hold_is_writer(registry, own);

	/* There may be many escrows, so the holds are looked at only if there is such a hold. */
	for (uint32_t at = object->writers > own_writers ? object->newest_hold : 0; at;) {
		struct hold *hold = table_item(&registry->hold_table, at - 1);

		if (hold_is_writer(registry, hold) && hold != own)
			return hold;
		at = hold->older;
	}
	return NULL;
}

struct hold *hold_find_writer(const struct registry *registry, const struct holder *holder,
	const uint8_t id[16])
{
	item_map_for_each (item, &registry->by_id, key_hash_id(id)) {
		struct hold *hold = NULL;

		if (!memcmp(object_record(registry, item)->id, id, WW_WIRE_ID_BYTES))
			hold = object_find_writer(registry, item, holder);
		if (hold)
			return hold;
	}
	return NULL;
}

ww_status hold_make(struct registry *registry, struct account *account, struct object *object,
	struct holder *holder, uint64_t expires_ns, struct hold **out_hold)
{
	struct ww_layout_hold_record *record;
	uint32_t index;
	ww_status status;

	ww_try(table_take(&registry->hold_table, &index));
	record = table_record(&registry->hold_table, index);
	record->uid = account->uid;
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
	account->escrows += !holder;
	record->holder = holder ? holder_record(registry, holder)->number : 0;
	record->generation = (uint32_t)object_record(registry, object)->generation;
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

	if (holder != object->creator)
		last_will_note_reader(registry, object);
	if (hold) {
		record = hold_record(registry, hold);
		if (record->access < access) {
			record->access = access;
			object->writers++;
		}
		hold->is_confirmed = true;
		return WW_OK;
	}
	status = hold_make(registry, holder->account, object, holder, REGISTRY_NEVER, &hold);
	if (status != WW_OK)
		return status;
	record = hold_record(registry, hold);
	record->access = access;
	object->writers += hold_is_writer(registry, hold);
	record->flags = object->creator == holder ? WW_WIRE_HOLD_FLAG_MAKER : 0;
	hold->is_confirmed = true;
	table_commit(&registry->hold_table, hold->index, 1);
	if (object->extra->paying && object->own_holds > 0)
		(void)object_pay_again(registry,
			object); /* the other one still pays if that fails */
	return WW_OK;
}

struct hold *hold_first_escrow(const struct object *object)
{
	for (size_t i = 0; object->extra->escrow_lists && i < LISTS; i++) {
		const struct ww_list *list = &object->extra->escrow_lists->lists[i];

		if (!ww_list_is_empty(list))
			return ww_container(list->next, struct hold, of_object);
	}
	return NULL;
}

/* It may not be linked yet. */
static void hold_unlink_escrow(struct hold *hold, struct object *object)
{
	if (ww_list_is_empty(&hold->of_object))
		return;
	ww_list_remove(&hold->of_object);
	if (--object->extra->escrow_lists->count == 0)
		free(ww_steal(object->extra->escrow_lists));
}

void hold_unlink(struct registry *registry, struct hold *hold)
{
	struct object *object = hold_object(registry, hold);
	struct account *account = account_get(&registry->accounts,
		hold_record(registry, hold)->uid);

	ww_assert(account); /* it exists, since this hold is charged to it */
	object_forget_hold(registry, object, hold);
	if (!hold->is_escrow) {
		object->writers -= hold_is_writer(registry, hold);
		item_map_remove(&registry->by_pair, hold->index);
		ww_list_remove(&hold->of_holder);
		holder_count_release(registry, hold->holder,
			object_record(registry, object)->bytes);
		object->holders--;
		holder_check_done(registry, hold->holder);
	} else {
		hold_unlink_escrow(hold, object);
		expiry_stop(&hold->expiry);
		delivery_forget(registry, hold);
		account->escrows--;
	}
	account_return(&registry->accounts, account, &one_hold);
	table_give(&registry->hold_table, hold->index);
	account_put(&registry->accounts, account);
	account_put(&registry->accounts, account);
}

/* The secret of the object opens no delivery, so an import by that counts against others only. */
ww_status hold_link_escrow(struct registry *registry, struct hold *hold)
{
	const struct ww_layout_hold_record *record = hold_record(registry, hold);
	bool is_counted = record->uses > 0 && record->access < LISTS && !record->delivery;
	size_t list = is_counted ? record->access : 0;
	struct object *object = hold_object(registry, hold);
	struct ww_list *escrows;

	if (!object->extra->escrow_lists) {
		ww_try(object_need_extra(object));
		object->extra->escrow_lists = calloc(1, sizeof(*object->extra->escrow_lists));
		if (!object->extra->escrow_lists)
			return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
		for (size_t i = 0; i < LISTS; i++)
			ww_list_init(&object->extra->escrow_lists->lists[i]);
	}
	escrows = &object->extra->escrow_lists->lists[list];
	ww_assert(escrows->previous);
	ww_list_append(escrows, &hold->of_object);
	object->extra->escrow_lists->count++;
	return WW_OK;
}

ww_status hold_add_escrow(struct registry *registry, struct account *account, struct object *object,
	uint8_t access, uint32_t uses, uint64_t expires_ns, struct hold **out_hold)
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
	status = hold_link_escrow(registry, hold);
	if (status < 0) {
		hold_unlink(registry, hold);
		return status;
	}
	table_commit(&registry->hold_table, hold->index, 1);
	*out_hold = hold;
	return WW_OK;
}
