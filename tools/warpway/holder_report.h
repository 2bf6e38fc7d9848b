/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder_report.h - who holds what in a broker, and why each object is still there
 *
 * A snapshot's three lists, with the ways between them. The lists are taken one after the other
 * while the broker goes on, so a hold may name a holder or an object that is in none of them: it is
 * passed over.
 */
#ifndef TOOLS_WARPWAY_HOLDER_REPORT_H
#define TOOLS_WARPWAY_HOLDER_REPORT_H

#include <warpway/warpway.h>

#include <stddef.h>
#include <stdint.h>

struct holder_report_hold {
	struct ww_hold_info info;
	const struct ww_object_info *object; /* NULL: not in the list */
	const struct ww_holder_info *holder; /* NULL: a token in escrow, or not in the list */
};

struct holder_report {
	struct ww_object_info *objects; /* by name */
	size_t object_count;
	struct ww_holder_info *holders; /* by number */
	size_t holder_count;
	struct holder_report_hold *holds; /* by object */
	size_t hold_count;
	const struct holder_report_hold *
		*held; /* the same by holder, then by name; unknown holders first */
	const struct ww_object_info **by_id;
};

/* Takes a snapshot into a report, all zero before. Return: WW_OK; as ww_snapshot_create(). */
ww_status holder_report_take(struct holder_report *report, ww_broker *broker);

/* Puts the lists in order and finds the ways between them. holder_report_take() does it. */
ww_status holder_report_link(struct holder_report *report);
void holder_report_fini(struct holder_report *report);

/*
 * The holds of an object, which lie together. Return: the first; NULL with *out_count 0: it has
 * none.
 */
const struct holder_report_hold *holder_report_holds(const struct holder_report *report,
	const struct ww_object_info *object, size_t *out_count);

/*
 * What a holder holds; of holds that lead nowhere none. Return: the first; NULL with *out_count 0:
 * nothing.
 */
const struct holder_report_hold *const *holder_report_held(const struct holder_report *report,
	const struct ww_holder_info *holder, size_t *out_count);

#define HOLDER_REPORT_REASON_BYTES 512

/**
 * holder_report_reason() - why an object is still there
 *
 * Such as "kept, no time to live", "kept until lab/start ends", "held by pid 123 (python) and 2
 * tokens in escrow, 41 s left", "held by 1 token in flight, while the exporter lives", "held by pid 4
 * (c); also named 'lab/w', kept", "until pid 4 (c) ends; a slice of the pool (id 0a1b2c3d)", or
 * "ended, but held by pid 4 (c)".
 */
void holder_report_reason(const struct holder_report *report, const struct ww_object_info *object,
	char out_text[HOLDER_REPORT_REASON_BYTES]);

#endif
