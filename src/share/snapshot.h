/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - what is listed of a broker: rows, copied out of the packets in which they came
 *
 * A broker that never ends a list must not fill this process, so there is a limit of rows that no
 * honest one reaches.
 */
#ifndef WW_SHARE_SNAPSHOT_H
#define WW_SHARE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>

#include <warpway/broker.h>

#include "wire/protocol.h"

/* Things of one size, one behind the other. */
struct ww_rows {
	void *items; /* owned */
	size_t count;
	size_t capacity;
};

struct ww_snapshot {
	struct ww_rows objects; /* struct ww_object_info */
	struct ww_rows holders; /* struct ww_holder_info */
	struct ww_rows holds;   /* struct ww_hold_info */
	bool has_place;         /* there may be more, behind this place */
	uint64_t place_bytes;
	uint64_t place_number;
};

/* Return: where to write one more; NULL when there is no room for it, with the record filled. */
void *ww_rows_add(struct ww_rows *rows, size_t item_bytes);

/* Into the caller's struct. Return: WW_OK; WW_END (no such index); WW_ERR_INVALID. */
ww_status ww_rows_get(const struct ww_rows *rows, size_t index, size_t item_bytes, void *info,
	size_t least, const char *name);

/* Adds a row. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_snapshot_add_object(struct ww_snapshot *snapshot, const struct ww_wire_entry *entry);
ww_status ww_snapshot_add_holder(struct ww_snapshot *snapshot, const struct ww_wire_holder *holder);
ww_status ww_snapshot_add_hold(struct ww_snapshot *snapshot, const struct ww_wire_hold *hold);

#endif
