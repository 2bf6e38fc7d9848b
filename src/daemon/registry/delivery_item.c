/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_item.c - the items of deliveries: linked, found, and freed, see delivery.h
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/object.h"

static struct delivery *delivery_of(struct ww_list *link)
{
	return ww_container(link, struct delivery, of_exporter);
}

static uint64_t number_of(const struct registry *registry, struct ww_list *link)
{
	return hold_record(registry, delivery_of(link)->hold)->delivery;
}

void delivery_leave_exporter(struct registry *registry, struct delivery *delivery)
{
	struct holder *exporter = ww_steal(delivery->exporter);

	if (!exporter)
		return;
	ww_list_remove(&delivery->of_exporter);
	exporter->delivery_count--;
	exporter->delivery_bytes -= delivery->bytes;
	holder_check_done(registry, exporter);
}

ww_status delivery_item(struct registry *registry, struct hold *hold, struct holder *exporter)
{
	const struct ww_layout_hold_record *record = hold_record(registry, hold);
	struct delivery *delivery = calloc(1, sizeof(*delivery));

	if (!delivery)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	if (ww_map_insert(&registry->by_secret, &delivery->by_secret,
		    key_hash_id(record->secret)) != WW_OK) {
		free(delivery);
		return WW_ERR_NO_MEMORY;
	}
	if (ww_map_insert(&registry->by_delivery, &delivery->by_number,
		    key_hash_number(record->delivery)) != WW_OK) {
		ww_map_remove(&registry->by_secret, &delivery->by_secret);
		free(delivery);
		return WW_ERR_NO_MEMORY;
	}
	ww_list_init(&delivery->of_exporter);
	delivery->hold = hold;
	delivery->bytes = object_record(registry, hold_object(registry, hold))->bytes;
	delivery->account = account_find(&registry->accounts, record->uid);
	ww_assert(delivery->account); /* it exists, since the hold is charged to it */
	delivery->account->deliveries++;
	delivery->account->delivery_bytes += delivery->bytes;
	hold->delivery = delivery;
	if (exporter) {
		/*
		 * The deliveries that a former broker left come in any order; else the numbers grow
		 * with the time.
		 */
		if (!ww_list_is_empty(&exporter->deliveries) &&
			number_of(registry, exporter->deliveries.previous) >
				hold_record(registry, delivery->hold)->delivery)
			exporter->are_in_order = false;
		delivery->exporter = exporter;
		ww_list_append(&exporter->deliveries, &delivery->of_exporter);
		exporter->delivery_count++;
		exporter->delivery_bytes += delivery->bytes;
	}
	return WW_OK;
}

void delivery_forget(struct registry *registry, struct hold *hold)
{
	struct delivery *delivery = ww_steal(hold->delivery);

	if (!delivery)
		return;
	delivery_leave_exporter(registry, delivery);
	delivery->account->deliveries--;
	delivery->account->delivery_bytes -= delivery->bytes;
	ww_map_remove(&registry->by_secret, &delivery->by_secret);
	ww_map_remove(&registry->by_delivery, &delivery->by_number);
	free(delivery);
}

struct hold *delivery_find_secret(const struct registry *registry,
	const uint8_t secret[WW_WIRE_ID_BYTES])
{
	ww_map_for_each (node, &registry->by_secret, key_hash_id(secret)) {
		struct hold *hold = ww_container(node, struct delivery, by_secret)->hold;

		if (key_is_secret(hold_record(registry, hold)->secret, secret))
			return hold;
	}
	return NULL;
}

struct hold *delivery_find_number(const struct registry *registry, uint64_t number)
{
	ww_map_for_each (node, &registry->by_delivery, key_hash_number(number)) {
		struct hold *hold = ww_container(node, struct delivery, by_number)->hold;

		if (hold_record(registry, hold)->delivery == number)
			return hold;
	}
	return NULL;
}

/* Each list is in order. @into: gets all of @other */
static void merge(const struct registry *registry, struct ww_list *into, struct ww_list *other)
{
	struct ww_list merged = WW_LIST_INIT(merged);
	struct ww_list *link;

	while (!ww_list_is_empty(into) || !ww_list_is_empty(other)) {
		bool takes_other = ww_list_is_empty(into) ||
			(!ww_list_is_empty(other) &&
				number_of(registry, other->next) < number_of(registry, into->next));

		ww_list_append(&merged, ww_list_take_first(takes_other ? other : into));
	}
	while ((link = ww_list_take_first(&merged)))
		ww_list_append(into, link);
}

/* @count: of its links. A merge sort: as many turns inside each other as @count has bits. */
static void sort(const struct registry *registry, struct ww_list *list, uint32_t count)
{
	struct ww_list half = WW_LIST_INIT(half);

	if (count < 2)
		return;
	for (uint32_t i = 0; i < count / 2; i++)
		ww_list_append(&half, ww_list_take_first(list));
	sort(registry, &half, count / 2);
	sort(registry, list, count - count / 2);
	merge(registry, list, &half);
}

struct hold *delivery_find_oldest(const struct registry *registry, struct holder *exporter)
{
	if (!exporter->are_in_order)
		sort(registry, &exporter->deliveries, exporter->delivery_count);
	exporter->are_in_order = true;
	return ww_list_is_empty(&exporter->deliveries)
		? NULL
		: delivery_of(exporter->deliveries.next)->hold;
}
