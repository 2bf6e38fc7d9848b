/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_creator_end.c - what becomes of an object when its creator ends or releases it
 *
 *   no last will, nothing in flight ──> it ends, or lives by its holds
 *   a last will ──object_await_exit()──> ... ──object_retire()──> ended, or lingering inside of an
 *                                                                 outer object
 *   deliveries are in flight ──object_keep()──> kept until a point in time, see object_keep.c
 *
 * See object.h for the words.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/exit_wait.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* How long the owner of an object has to come to know a member that has ended. */
#define MEMBER_LINGER_NS UINT64_C(60000000000)

/* --- kept while deliveries are in flight --- */

/* How long at most, and not 0, which would be for ever. */
static uint64_t keep_ns(const struct registry *registry, const struct unreceived *unreceived)
{
	uint64_t most_ns = config_escrow_max_ns(registry->accounts.config);

	if (unreceived->keep_ns > most_ns)
		return most_ns;
	return unreceived->keep_ns > 0 ? unreceived->keep_ns : 1;
}

static bool keep_for(struct registry *registry, struct object *object,
	const struct unreceived *unreceived)
{
	uint64_t now_ns = ww_clock_now_ns();
	struct hold *hold;
	struct nesting *nesting;

	if (object_set_end(registry, object, now_ns, keep_ns(registry, unreceived)) < 0)
		return false;
	/* Without memory, all inner objects are kept. */
	nesting = object_nesting(object);
	if (nesting) {
		nesting->kept_for = malloc(sizeof(*nesting->kept_for));
		if (nesting->kept_for)
			*nesting->kept_for = *unreceived;
	}
	object_record(registry, object)->life = WW_WIRE_LIFE_KEPT;
	object_lose_parts(registry, object);
	last_will_note_reader(registry, object); /* a process that imports late reads the page */
	/*
	 * Users see what is in flight as an escrow. It needs no timer, since it ends with the
	 * object. There may be no room for it.
	 */
	(void)hold_add_escrow(registry, object_account(object), object, WW_WIRE_ACCESS_WRITE, 0,
		object_record(registry, object)->expires_ns, &hold);
	return true;
}

/*
 * Whether an object that was counted as in flight is kept, or is from now on: its creator has ended
 * or released it. Without memory for a timer it is not.
 */
static bool object_keep(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct unreceived unreceived;

	if (!object_counts_deliveries(record))
		return false;
	if (object_is_kept(record))
		return true;
	delivery_counts_sum(registry, object, &unreceived);
	return unreceived.count > 0 && keep_for(registry, object, &unreceived);
}

/* --- ended, or lingering inside of an outer object --- */

static bool object_stays(const struct registry *registry, const struct object *object)
{
	return last_will_stays(object_record(registry, object)) &&
		object_find_outer(registry, object);
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
 * there now will never come. Without memory, only requests that wait already get to know it.
 */
static void object_report_left(struct registry *registry, struct object *object)
{
	struct nesting *nesting = object_nesting(object_find_outer(registry, object));

	if (nesting) {
		nesting->is_left = true;
		nesting->left_pid = object_record(registry, object)->maker_pid;
	}
	registry->changed(registry->context, name_first(object), REGISTRY_LEFT);
}

void object_await_exit(struct registry *registry, struct object *object)
{
	exit_wait_add(registry, object->extra->last_will);
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

void object_unpublish(struct registry *registry, struct object *object)
{
	if (object_stays(registry, object)) {
		(void)object_stay_for(registry, object,
			0); /* it needs no timer, so it cannot fail */
	} else if (object_keep(registry, object)) {
		struct charge charge = object_charge(object_record(registry, object));

		/* The object is kept: its last will was executed, or is over. */
		object_disown(registry, object);
		object_close_last_will(registry, object);
		object_charge_again(registry, object, &charge);
	} else {
		object_end_with_last_will(registry, object);
	}
}

void object_complete(struct registry *registry, struct object *object)
{
	struct object *outer = object_stays(registry, object) ? object_find_outer(registry, object)
							      : NULL;

	if (outer)
		object_end_escrows(registry, outer);
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
