/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_payer.c - who pays for an object without a name, see object.h
 *
 * As long as its user, or root, holds the object, its user pays. When only others hold it, the user
 * of the oldest of these holds pays, if that user has room: so no user can use up the share of
 * another one by holding what that one has given up. The record of that hold says that its user
 * pays, so the next broker continues. If no one has room, the object ends; what processes have
 * mapped stays.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/object.h"

/* NULL: none. */
static struct hold *hold_at(const struct registry *registry, uint32_t place)
{
	return place ? table_item(&registry->hold_table, place - 1) : NULL;
}

static bool hold_is_own(const struct registry *registry, const struct object *object,
	const struct hold *hold)
{
	uid_t uid = hold_record(registry, hold)->uid;

	return uid == 0 || uid == object_record(registry, object)->uid;
}

/* Has another total, whose user is charged, count the object. @total: NULL: that of its user */
static void object_set_paying(struct registry *registry, struct object *object,
	struct device_total *total)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);

	account_return(&registry->accounts, object_account(object), &charge);
	device_total_subtract(object_total(object), record);
	if (object->extra->paying)
		device_total_put(object->extra->paying);
	object->extra->paying = total;
	device_total_add(object_total(object), record);
	account_charge_anyway(&registry->accounts, object_account(object), &charge);
}

void object_count_hold(struct registry *registry, struct object *object, struct hold *hold)
{
	struct hold *newest = hold_at(registry, object->newest_hold);

	hold->newer = 0;
	hold->older = object->newest_hold;
	if (newest)
		newest->newer = hold->index + 1;
	else
		object->oldest_hold = hold->index + 1;
	object->newest_hold = hold->index + 1;
	object->own_holds += hold_is_own(registry, object, hold);
}

void object_forget_hold(struct registry *registry, struct object *object, struct hold *hold)
{
	struct ww_layout_hold_record *record = hold_record(registry, hold);
	struct hold *newer = hold_at(registry, hold->newer);
	struct hold *older = hold_at(registry, hold->older);

	if (newer)
		newer->older = hold->older;
	else
		object->newest_hold = hold->older;
	if (older)
		older->newer = hold->newer;
	else
		object->oldest_hold = hold->newer;
	object->own_holds -= hold_is_own(registry, object, hold);
	if (object->payer == hold->index + 1)
		object->payer = hold->newer;
	if (record->flags & WW_WIRE_HOLD_FLAG_PAYS)
		object_set_paying(registry, object, NULL);
}

/*
 * Whether a user could pay for an object that is charged to another one. Return: as
 * account_charge().
 */
static ww_status account_check_room(struct registry *registry, const struct object *object,
	struct account *account)
{
	struct accounts *accounts = &registry->accounts;
	struct charge charge = object_charge(object_record(registry, object));
	ww_status status;

	account_return(accounts, object_account(object), &charge);
	status = account_charge(accounts, account, &charge);
	if (status == WW_OK)
		account_return(accounts, account, &charge);
	account_charge_anyway(accounts, object_account(object), &charge);
	return status;
}

/* Looks at the holds from one on, up to another one. Return: NULL: no user of these has room. */
static struct hold *find_payer_of(struct registry *registry, const struct object *object,
	uint32_t from, uint32_t until)
{
	const struct account *refused = NULL;

	for (uint32_t at = from; at != until; at = hold_at(registry, at)->newer) {
		struct hold *hold = hold_at(registry, at);
		struct account *account = account_find(&registry->accounts,
			hold_record(registry, hold)->uid);

		if (account == refused)
			continue;
		if (account_check_room(registry, object, account) == WW_OK)
			return hold;
		refused = account;
	}
	return NULL;
}

static void object_pay_by(struct registry *registry, struct object *object, struct hold *hold)
{
	struct ww_layout_hold_record *record = hold_record(registry, hold);
	struct device_total *total = NULL;

	if (object_need_extra(object) == WW_OK)
		total = device_total_get(account_find(&registry->accounts, record->uid),
			object_record(registry, object)->home_uuid);
	record->flags &= (uint8_t)~WW_WIRE_HOLD_FLAG_PAYS;
	if (!total)
		return; /* its user pays until the next look */
	record->flags |= WW_WIRE_HOLD_FLAG_PAYS;
	object->payer = hold->index + 1;
	object_set_paying(registry, object, total);
}

bool object_find_payer(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct hold *payer;
	struct hold *found;

	if (object->extra->paying && object->own_holds > 0)
		(void)object_pay_again(registry, object); /* there was no room, or no time */
	if (object->own_holds > 0 || object->extra->paying || object->extra->last_will ||
		object_is_named(registry, object) || record->state == WW_WIRE_STATE_REMOVED)
		return true;
	/*
	 * The oldest hold of a user who has room pays. Holds that were not chosen before come last,
	 * so that many holds that end one after the other are not all looked at each time.
	 */
	found = object->payer ? find_payer_of(registry, object, object->payer, 0) : NULL;
	payer = found ? found : find_payer_of(registry, object, object->oldest_hold, object->payer);
	if (payer)
		object_pay_by(registry, object, payer);
	return payer != NULL;
}

void object_adopt_payer(struct registry *registry, struct object *object, struct hold *hold)
{
	struct ww_layout_hold_record *record = hold_record(registry, hold);

	if (!(record->flags & WW_WIRE_HOLD_FLAG_PAYS))
		return;
	if (object->extra->paying || object_is_named(registry, object))
		record->flags &= (uint8_t)~WW_WIRE_HOLD_FLAG_PAYS;
	else
		object_pay_by(registry, object, hold);
}

ww_status object_pay_again(struct registry *registry, struct object *object)
{
	ww_try(account_check_room(registry, object, object->total->account));
	hold_record(registry, hold_at(registry, object->payer))
		->flags &= (uint8_t)~WW_WIRE_HOLD_FLAG_PAYS;
	object_set_paying(registry, object, NULL);
	return WW_OK;
}
