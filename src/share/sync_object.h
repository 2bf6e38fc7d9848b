/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_object.h - objects that are not memory, as they go into a broker: what the params mean,
 * pages of timelines
 */
#ifndef WW_SHARE_SYNC_OBJECT_H
#define WW_SHARE_SYNC_OBJECT_H

#include <warpway/timeline.h>

#include "share/token_export.h"
#include "share/get_reply.h"
#include "share/put_request.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

/* What the caller wants, with what is not said filled in. Return: WW_OK; WW_ERR_INVALID. */
ww_status ww_sync_object_read_name(const struct ww_name_params *params,
	struct ww_name_params *ours);
ww_status ww_sync_object_read_token(const struct ww_token_params *params,
	struct ww_escrow *out_escrow);

/*
 * @least:  version of the protocol from which on a broker does what is needed
 * @what:   that; "tell waiters that a signaller died"
 * May block: connects if need be.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_sync_object_require_version(struct ww_broker *broker, uint32_t least,
	const char *what);

/*
 * A broker that does not poison the timelines of dead processes is refused. May block: connects if
 * need be.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_sync_object_require_broker(struct ww_broker *broker);

/*
 * Beside WW_PUT_REPLACE in flags of struct ww_name_params, of a name inside an object: what this
 * process leaves there stays until the outer object ends (put_flag `stays`). A broker that is too
 * old for that ends it as usual.
 */
#define WW_SHARE_STAYS (UINT64_C(1) << 63)

/*
 * An object of whatever kind, unnamed unless put.name is set by the caller, of life held, sealed.
 * @params:  read; NULL: mode 0600
 */
void ww_sync_object_request_init(struct ww_put_request *request, uint16_t kind,
	const uint8_t id[WW_WIRE_ID_BYTES], const struct ww_name_params *params);

/* The record of what is at @cell_offset in a page; 0: of the page itself. */
void ww_sync_object_write_timeline(const struct ww_signal_map *page, uint64_t cell_offset,
	uint8_t out_bytes[WW_TIMELINE_REF_BYTES]);

/* Adds a page's descriptors to a request: one to read for every holder, and the broker's own. */
ww_status ww_sync_object_add_page(struct ww_put_request *request, struct ww_signal_map *page);

/* Return: WW_OK; WW_ERR_PEER_LOST (the page's owner has ended, or was given up). */
ww_status ww_sync_object_require_alive(const struct ww_signal_map *page);

/*
 * Has this process hold an object that shows the timeline: that of its page, put there if it is not
 * yet, or the timeline's own one if it came by name.
 * @out_id:  of the object
 * Return: WW_OK; as ww_timeline_export().
 */
ww_status ww_sync_object_hold(ww_timeline *timeline, struct ww_broker *broker,
	uint8_t out_id[WW_WIRE_ID_BYTES]);

/*
 * Puts an own timeline under a name, as an object of its own; the timeline keeps it.
 * @name:    checked; may be inside an object
 * Return: WW_OK; as ww_timeline_put().
 */
ww_status ww_sync_object_timeline(ww_timeline *timeline, struct ww_broker *broker, const char *name,
	const struct ww_name_params *params);

/*
 * The timeline of what was granted; it, or its page, keeps the hold.
 * @offset:  of the cell, as a token says; 0: as the description says
 * Return: WW_OK; as ww_timeline_import().
 */
ww_status ww_sync_object_open_timeline(struct ww_get_reply *grant, uint64_t offset,
	ww_timeline **out_timeline);

#endif
