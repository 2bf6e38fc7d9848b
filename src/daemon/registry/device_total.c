/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_total.c - running totals of each user's objects, see device_total.h
 */
#include "daemon/registry/device_total.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/registry/account.h"

static struct device_total *device_total_find(const struct account *account,
	const uint8_t home_uuid[WW_WIRE_ID_BYTES], bool is_of_others)
{
	ww_list_for_each (link, &account->devices) {
		struct device_total *total = ww_container(link, struct device_total, of_account);

		if (total->is_of_others == is_of_others &&
			!memcmp(total->home_uuid, home_uuid, WW_WIRE_ID_BYTES))
			return total;
	}
	return NULL;
}

struct device_total *device_total_get(struct account *account,
	const uint8_t home_uuid[WW_WIRE_ID_BYTES])
{
	static const uint8_t no_uuid[WW_WIRE_ID_BYTES];
	struct device_total *total = device_total_find(account, home_uuid, false);
	bool is_of_others = !total && account->device_count >= DEVICE_TOTALS_MOST;

	if (is_of_others) {
		home_uuid = no_uuid;
		total = device_total_find(account, home_uuid, true);
	}
	if (!total) {
		total = calloc(1, sizeof(*total));
		if (!total) {
			ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
			return NULL;
		}
		total->account = account;
		total->is_of_others = is_of_others;
		memcpy(total->home_uuid, home_uuid, WW_WIRE_ID_BYTES);
		ww_list_append(&account->devices, &total->of_account);
		account->device_count += !is_of_others;
	}
	total->users++;
	return total;
}

void device_total_put(struct device_total *total)
{
	ww_assert(total->users > 0);
	if (--total->users > 0)
		return;
	for (size_t i = 0; i < DEVICE_TOTAL_KINDS; i++)
		ww_assert(total->kinds[i].objects == 0 && total->kinds[i].removed == 0);
	total->account->device_count -= !total->is_of_others;
	ww_list_remove(&total->of_account);
	free(total);
}

static struct kind_total *kind_of(struct device_total *total,
	const struct ww_layout_object_record *record)
{
	return &total->kinds[record->kind < DEVICE_TOTAL_KINDS ? record->kind : 0];
}

void device_total_add(struct device_total *total, const struct ww_layout_object_record *record)
{
	struct kind_total *kind = kind_of(total, record);

	if (record->state == WW_WIRE_STATE_REMOVED) {
		kind->removed++;
		kind->removed_bytes += record->bytes;
	} else {
		kind->objects++;
		kind->bytes += record->bytes;
	}
}

void device_total_end(struct device_total *total, const struct ww_layout_object_record *record)
{
	struct kind_total *kind = kind_of(total, record);

	kind->objects--;
	kind->bytes -= record->bytes;
	kind->removed++;
	kind->removed_bytes += record->bytes;
}

void device_total_subtract(struct device_total *total, const struct ww_layout_object_record *record)
{
	struct kind_total *kind = kind_of(total, record);

	if (record->state == WW_WIRE_STATE_REMOVED) {
		kind->removed--;
		kind->removed_bytes -= record->bytes;
	} else {
		kind->objects--;
		kind->bytes -= record->bytes;
	}
}
