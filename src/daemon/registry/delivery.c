/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery.c - deliveries, from their making to their end, see delivery.h
 */
#include "daemon/registry/delivery.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/expiry.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

static const uint8_t no_secret[WW_WIRE_ID_BYTES];

/* --- making --- */

static void delivery_start_time(struct ww_layout_hold_record *record)
{
	record->expires_ns = expiry_point(ww_clock_now_ns(), record->after_ns);
	if (record->expires_ns == EXPIRY_NEVER)
		record->expires_ns = EXPIRY_NEVER - 1;
}

ww_status delivery_adopt(struct registry *registry, struct hold *hold)
{
	struct ww_layout_hold_record *record = hold_record(registry, hold);
	struct holder *exporter = NULL;

	if (record->expires_ns == REGISTRY_NEVER) {
		exporter = holder_find_number(registry, record->exporter);
		if (!exporter)
			delivery_start_time(record);
	}
	return delivery_item(registry, hold, exporter);
}

static ww_status delivery_fail_limit(const struct registry *registry, struct holder *exporter)
{
	const struct hold *hold = delivery_find_oldest(registry, exporter);
	const struct ww_layout_object_record *object;
	const struct ww_layout_hold_record *oldest;

	if (!hold)
		return ww_fail(WW_ERR_LIMIT,
			"this object is larger than what this process may have in flight; raise the limit "
			"(ww_in_flight_limit())");
	oldest = hold_record(registry, hold);
	object = table_record(&registry->object_table, oldest->object);
	return ww_fail(WW_ERR_LIMIT,
		"%" PRIu32 " tokens, %" PRIu64
		" bytes, of this process are in flight; the oldest, number "
		"%" PRIu64 " for %" PRIu64 " bytes, since %" PRIu64
		" s; revoke old ones (ww_in_flight_revoke()) or raise the limit "
		"(ww_in_flight_limit())",
		exporter->delivery_count, byte_sum_told(exporter->delivery_bytes), oldest->delivery,
		object->bytes, (ww_clock_now_ns() - oldest->since_ns) / UINT64_C(1000000000));
}

static ww_status delivery_create(struct registry *registry, struct holder *exporter,
	struct object *object, const struct ww_wire_export *export, struct hold **out_hold)
{
	struct hold *hold = NULL;
	ww_status status;
	uint64_t bytes = object_record(registry, object)->bytes;
	bool is_over = export->most_count && exporter->delivery_count >= export->most_count;
	struct ww_layout_hold_record *record;

	/* Both are at most INT64_MAX, or were counted one by one. */
	if (export->most_bytes &&
		(bytes > export->most_bytes ||
			exporter->delivery_bytes > export->most_bytes - bytes))
		is_over = true;
	ww_try(is_over ? delivery_fail_limit(registry, exporter) : WW_OK);
	ww_try(hold_make(registry, exporter->account, object, NULL, REGISTRY_NEVER, &hold));
	record = hold_record(registry, hold);
	record->access = export->access;
	record->uses = export->uses;
	record->flags = WW_WIRE_HOLD_FLAG_ESCROW;
	record->exporter = holder_record(registry, exporter)->number;
	record->after_ns = export->escrow_ns;
	record->last_user = 0;
	record->delivery = ++*table_value(&registry->hold_table, 0);
	memcpy(record->secret, export->secret, sizeof(record->secret));
	status = delivery_item(registry, hold, exporter);
	if (status == WW_OK)
		status = hold_arm(registry, hold);
	if (status < 0) {
		hold_unlink(registry, hold);
		return status;
	}
	table_commit(&registry->hold_table, hold->index, 1);
	*out_hold = hold;
	return WW_OK;
}

ww_status delivery_make(struct registry *registry, struct holder *exporter, struct object *object,
	const struct ww_wire_export *export, struct hold **out_hold)
{
	struct hold *hold = delivery_find_secret(registry, export->secret);

	*out_hold = hold;
	if (hold && hold->delivery->exporter == exporter && hold_object(registry, hold) == object)
		return WW_OK;
	if (hold || !memcmp(export->secret, no_secret, sizeof(no_secret)))
		return ww_fail(WW_ERR_INVALID,
			"the secret of a delivery is zero, or is another delivery's");
	return delivery_create(registry, exporter, object, export, out_hold);
}

/* --- using --- */

struct hold *delivery_find(const struct registry *registry, const struct object *object,
	const uint8_t secret[WW_WIRE_ID_BYTES])
{
	struct hold *hold = delivery_find_secret(registry, secret);

	return hold && hold_object(registry, hold) == object ? hold : NULL;
}

/*
 * A broker that is killed between the two stores leaves an import that was not made in flight,
 * rather than an import that is counted twice.
 */
void delivery_use(struct registry *registry, struct hold *hold, const struct holder *user)
{
	struct ww_layout_hold_record *record = hold_record(registry, hold);

	if (record->uses == 1) {
		hold_drop(registry, hold);
		return;
	}
	record->last_user = holder_record(registry, user)->number;
	__atomic_store_n(&record->uses, record->uses - 1, __ATOMIC_RELEASE);
}

bool delivery_was_used_by(const struct registry *registry, const struct hold *hold,
	const struct holder *user)
{
	return hold_record(registry, hold)->last_user == holder_record(registry, user)->number;
}

/* --- ending --- */

void delivery_exporter_ended(struct registry *registry, struct holder *exporter)
{
	while (!ww_list_is_empty(&exporter->deliveries)) {
		struct delivery *delivery = ww_container(exporter->deliveries.next, struct delivery,
			of_exporter);
		struct hold *hold = delivery->hold;

		delivery_leave_exporter(registry, delivery);
		delivery_start_time(hold_record(registry, hold));
		if (hold_start_timer(registry, hold) < 0)
			hold_drop(registry, hold); /* there is no memory for a timer */
	}
}

static void recall_one(struct registry *registry, struct hold *hold, struct recall *recall)
{
	recall->done.count += hold_record(registry, hold)->uses;
	recall->done.bytes += hold->delivery->bytes;
	hold_drop(registry, hold);
}

/* Return: NULL: none is so old. */
static struct hold *find_old(const struct registry *registry, struct holder *exporter,
	uint64_t since_ns)
{
	struct hold *oldest = delivery_find_oldest(registry, exporter);

	return oldest && hold_record(registry, oldest)->since_ns <= since_ns ? oldest : NULL;
}

/*
 * The end of one may end others, of objects that are inside of its object: so the search begins
 * anew each time.
 */
static void recall_old(struct registry *registry, struct holder *exporter, struct recall *recall)
{
	uint64_t now_ns = ww_clock_now_ns();
	uint64_t older_ns = recall->wanted->older_ns;
	uint32_t ended = 0;
	struct hold *hold;

	if (older_ns > now_ns)
		return;
	while ((hold = find_old(registry, exporter, now_ns - older_ns))) {
		if (ended++ == DELIVERIES_AT_ONCE) {
			recall->done.more = 1;
			return;
		}
		recall_one(registry, hold, recall);
	}
}

void delivery_recall(struct registry *registry, struct holder *exporter, struct recall *recall)
{
	const struct ww_wire_recall *wanted = recall->wanted;
	struct hold *hold = NULL;

	if (memcmp(wanted->secret, no_secret, sizeof(no_secret)) != 0)
		hold = delivery_find_secret(registry, wanted->secret);
	else if (wanted->number)
		hold = delivery_find_number(registry, wanted->number);
	else
		recall_old(registry, exporter, recall);
	if (hold && hold->delivery->exporter == exporter)
		recall_one(registry, hold, recall);
}
