/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_total.h - running totals of each user's objects, by device and kind
 *
 * Each object counts in one total, that of its user and its device, from its put until its record
 * is freed. The totals change with each object, so the broker need not walk over all objects for
 * them.
 *
 * A program can name any device. So that no user makes the list of totals long, a user has totals
 * of DEVICE_TOTALS_MOST devices; what is on further devices counts in one total for all others. An
 * object keeps its total to its end.
 */
#ifndef WW_DAEMON_REGISTRY_DEVICE_TOTAL_H
#define WW_DAEMON_REGISTRY_DEVICE_TOTAL_H

#include <stdbool.h>

#include "base/list.h"
#include "daemon/registry/byte_sum.h"
#include "wire/protocol.h"

#define DEVICE_TOTALS_MOST 16

/* Kinds that this program knows; 0: all others. */
#define DEVICE_TOTAL_KINDS (WW_WIRE_KIND_WORK_QUEUE + 1)

/* Rows in which the totals of one user are told at most. */
#define DEVICE_TOTAL_ROWS ((DEVICE_TOTALS_MOST + 1) * DEVICE_TOTAL_KINDS)

struct account;

struct kind_total {
	uint64_t objects; /* that are not removed */
	byte_sum bytes;
	uint64_t removed; /* that are removed, and held */
	byte_sum removed_bytes;
};

struct device_total {
	struct ww_list of_account;
	struct account *account;
	uint8_t home_uuid[WW_WIRE_ID_BYTES];
	bool is_of_others;
	uint32_t users; /* objects that count here */
	struct kind_total kinds[DEVICE_TOTAL_KINDS];
};

/* The total of a user's device, once more in use. Return: NULL when there is no memory. */
struct device_total *device_total_get(struct account *account,
	const uint8_t home_uuid[WW_WIRE_ID_BYTES]);
void device_total_put(struct device_total *total);

/* An object exists from now on, in the state that its record says. */
void device_total_add(struct device_total *total, const struct ww_layout_object_record *record);

/* An object is removed from now on. */
void device_total_end(struct device_total *total, const struct ww_layout_object_record *record);

/* An object counts here no longer: its record is freed, or another user pays for it. */
void device_total_subtract(struct device_total *total,
	const struct ww_layout_object_record *record);

#endif
