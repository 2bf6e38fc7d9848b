/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_end.c - how objects end, at once or in steps, see object.h
 *
 *   ready ──object_end()──> removed ──last hold released──> freed
 *     │                        └─ with a last will: only when its creator has ended
 *     ├──object_retire()──> lingering, inside of an outer object, without its creator ──> removed
 *     └──object_keep()────> kept while deliveries are in flight, see object_keep.c ───────> removed
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/exit_wait.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* How long the owner of an object has to come to know a member that has ended. */
#define MEMBER_LINGER_NS UINT64_C(60000000000)

static void on_object_expiry(struct registry *registry, void *object)
{
	object_end(registry, object, WW_WIRE_WHAT_EXPIRED);
}

ww_status object_arm(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (record->expires_ns == REGISTRY_NEVER)
		return WW_OK;
	return expiry_start(registry->loop, &record->expires_ns, on_object_expiry, registry, object,
		&object->expiry);
}

ww_status object_set_end(struct registry *registry, struct object *object, uint64_t now_ns,
	uint64_t ttl_ns)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	ww_status status;

	expiry_stop(&object->expiry);
	record->expires_ns = expiry_point(now_ns, ttl_ns);
	status = object_arm(registry, object);
	if (status < 0)
		record->expires_ns = REGISTRY_NEVER;
	return status;
}

/* Charges what an object costs now in place of what it cost before, which was not less. */
static void object_charge_again(struct registry *registry, const struct object *object,
	const struct charge *before)
{
	struct charge now = object_charge(object_record(registry, object));

	account_return(&registry->accounts, object->account, before);
	(void)account_charge_anyway(&registry->accounts, object->account, &now);
}

/* Closes and returns the last will that a removed object has kept. */
static void object_drop_last_will(struct registry *registry, struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);

	last_will_close(registry, object);
	record->fd_count = 0;
	fdstore_drop(registry->fdstore, record->fds, 1);
	object_charge_again(registry, object, &charge);
}

/* Frees an object that is removed and not held. */
static void object_free(struct registry *registry, struct object *object)
{
	if (object->last_will)
		object_drop_last_will(registry, object);
	object_disown(registry, object);
	object_unmap_id(registry, object);
	device_total_subtract(object->total, object_record(registry, object));
	object_forget_account(registry, object);
	object_free_nesting(object);
	table_give(&registry->object_table, object->index);
}

static void object_drop_escrows(struct registry *registry, struct object *object)
{
	struct hold *hold;

	while ((hold = hold_first_escrow(object)))
		hold_unlink(registry, hold);
}

static bool object_stays(const struct registry *registry, const struct object *object)
{
	return last_will_stays(object_record(registry, object)) &&
		object_find_outer(registry, object);
}

void object_settle(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (object->holders > 0 || object->escrows > 0)
		return;
	if (object->last_will &&
		(!object->creator || holder_awaits_exit(registry, object->creator)))
		return;
	if (record->state == WW_WIRE_STATE_REMOVED)
		object_free(registry, object);
	else if (record->life == WW_WIRE_LIFE_HELD && !object_keep_inside(registry, object))
		object_end(registry, object, WW_WIRE_WHAT_GONE);
}

ww_status object_revoke(struct registry *registry, struct object *object)
{
	ww_try(object_choose_secrets(object_record(registry, object)));
	object_drop_escrows(registry, object);
	object_settle(registry, object);
	return WW_OK;
}

/* Closes the descriptors of an object, but not that of its last will. */
static void object_drop_fds(struct registry *registry, const struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	int kept = object->last_will ? last_will_find(record->fd_access, record->fd_count) : -1;
	uint32_t numbers[WW_WIRE_FDS];
	size_t count = 0;

	for (int i = 0; i < record->fd_count; i++) {
		if (i != kept)
			numbers[count++] = record->fds[i];
	}
	if (count > 0)
		fdstore_drop(registry->fdstore, numbers, count);
	if (object->last_will)
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

	while (object->nesting && (link = ww_list_take_first(&object->nesting->lingering)))
		ww_list_append(&registry->doomed, link);
	if (registry->is_ending_doomed)
		return;
	registry->is_ending_doomed = true;
	while ((link = ww_list_take_first(&registry->doomed)))
		object_end_inner(registry, ww_container(link, struct object, of_creator));
	registry->is_ending_doomed = false;
}

/* An object has ended: if another one waited for its name, reports that as put. */
static void name_pass_on(struct registry *registry, const char *name)
{
	struct object *next = object_find(registry, name);

	if (next)
		registry->changed(registry->context, next, WW_WIRE_WHAT_PUT);
}

void object_end(struct registry *registry, struct object *object, uint8_t what)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);
	bool is_replacement = object_is_replacement(registry, object);
	struct object *outer = object->nesting ? object->nesting->counted_in : NULL;

	registry->changed(registry->context, object, what);
	object_unmap_name(registry, object);
	table_commit(&registry->object_table, object->index, WW_WIRE_STATE_REMOVED);
	if (!is_replacement)
		name_pass_on(registry, (const char *)record->name);
	delivery_counts_leave(registry, object);
	object_drop_fds(registry, object);
	expiry_stop(&object->expiry);
	if (!object->creator)
		ww_list_remove(&object->of_creator);
	object_charge_again(registry, object, &charge);
	registry->bytes -= record->bytes;
	device_total_end(object->total, record);
	object_end_lingering(registry, object);
	object_drop_escrows(registry, object);
	object_settle(registry, object);
	if (outer)
		object_end_kept(registry, outer);
}

/*
 * Whether the owner of the outer object does not know a member yet, and so does not know what it
 * did.
 */
static bool object_is_unknown(const struct registry *registry, const struct object *object)
{
	const struct object *outer = object_find_counting(registry, object);

	return outer && outer->creator && !hold_find(registry, outer->creator, object);
}

/*
 * The creator of something that stays inside of the outer object has ended: names that do not exist
 * there now will never come.
 */
static void object_report_left(struct registry *registry, struct object *object)
{
	struct object *outer = object_find_outer(registry, object);

	outer->is_left = true;
	outer->left_pid = object_record(registry, object)->maker_pid;
	registry->changed(registry->context, object, REGISTRY_LEFT);
}

void object_await_exit(struct registry *registry, struct object *object)
{
	exit_wait_add(registry, object->last_will);
	if (object_record(registry, object)->state == WW_WIRE_STATE_REMOVED ||
		object_keep(registry, object))
		return;
	if (!object_stays(registry, object) &&
		(!object->creator || !object_find_counting(registry, object))) {
		object_end(registry, object, WW_WIRE_WHAT_GONE);
		return;
	}
	if (object_stays(registry, object))
		object_report_left(registry, object);
	last_will_note_reader(registry,
		object); /* a process that looks for members still finds it */
}

/*
 * Whether an object lingers: its last will is closed. Its record may still name its creator, if the
 * former broker was killed.
 */
static bool object_is_lingering(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);

	return record->state != WW_WIRE_STATE_REMOVED &&
		ww_name_is_inside((const char *)record->name) && last_will_is_closed(record);
}

void object_linger(struct registry *registry, struct object *object)
{
	struct nesting *nesting;
	struct object *outer;

	if (!object_is_lingering(registry, object))
		return;
	object_disown(registry, object);
	outer = object_find_outer(registry, object);
	nesting = outer ? object_nesting(outer) : NULL;
	if (!nesting) {
		object_end(registry, object, WW_WIRE_WHAT_GONE);
		return;
	}
	ww_list_append(&nesting->lingering, &object->of_creator);
	if (object_stays(registry, object))
		object_report_left(registry, object);
}

void object_end_known(struct registry *registry, struct object *object, const struct holder *knower)
{
	const struct object *outer = object_find_counting(registry, object);

	if (outer && outer->creator == knower && object_is_lingering(registry, object) &&
		!object_stays(registry, object))
		object_end(registry, object, WW_WIRE_WHAT_GONE);
}

/* The object stays without its creator. */
static void object_close_last_will(struct registry *registry, struct object *object)
{
	last_will_close(registry, object);
	last_will_close_record(object_record(registry, object));
}

/*
 * Closes the last will of an object, which was executed; the object lingers for a time. The steps
 * are in an order in which the next broker can retire the object once more if this one is killed in
 * between.
 * @ttl_ns:  0: as long as the outer object
 * Return: false: there is no memory for a timer.
 */
static bool object_stay_for(struct registry *registry, struct object *object, uint64_t ttl_ns)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	struct charge charge = object_charge(record);

	if (object_set_end(registry, object, ww_clock_now_ns(), ttl_ns) != WW_OK)
		return false;
	record->life = WW_WIRE_LIFE_KEPT;
	object_close_last_will(registry, object);
	object_linger(registry, object);
	object_charge_again(registry, object, &charge);
	return true;
}

/* Ends an object whose last will was executed, or is over. */
static void object_end_with_last_will(struct registry *registry, struct object *object)
{
	object_disown(registry, object);
	if (object_record(registry, object)->state == WW_WIRE_STATE_REMOVED) {
		object_drop_last_will(registry, object);
		object_settle(registry, object);
	} else {
		last_will_close(registry, object);
		object_end(registry, object, WW_WIRE_WHAT_GONE);
	}
}

/* An object that is kept: its last will was executed, or is over. */
static void object_leave_creator(struct registry *registry, struct object *object)
{
	struct charge charge = object_charge(object_record(registry, object));

	object_disown(registry, object);
	object_close_last_will(registry, object);
	object_charge_again(registry, object, &charge);
}

void object_unpublish(struct registry *registry, struct object *object)
{
	if (object_stays(registry, object))
		(void)object_stay_for(registry, object,
			0); /* it needs no timer, so it cannot fail */
	else if (object_keep(registry, object))
		object_leave_creator(registry, object);
	else
		object_end_with_last_will(registry, object);
}

void object_complete(struct registry *registry, struct object *object)
{
	struct object *outer = object_stays(registry, object) ? object_find_outer(registry, object)
							      : NULL;

	if (!outer)
		return;
	object_drop_escrows(registry, outer);
	object_settle(registry, outer);
}

bool object_retire(struct registry *registry, struct object *object)
{
	bool has_ended = object->creator && holder_is_over(registry, object->creator);

	if (!last_will_execute_last(registry, object, has_ended)) {
		object_await_exit(registry, object);
		return false;
	}
	if (object_stays(registry, object) || object_keep(registry, object))
		object_unpublish(registry, object);
	else if (!object->creator || !object_is_unknown(registry, object) ||
		!object_stay_for(registry, object, has_ended ? MEMBER_LINGER_NS : 0))
		object_end_with_last_will(registry, object);
	return true;
}
