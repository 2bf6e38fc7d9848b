/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - objects that are not memory, as they go into a broker: what the params mean, pages of timelines
 */
#ifndef WW_CLIENT_SHARE_H
#define WW_CLIENT_SHARE_H

#include <warpway/timeline.h>

#include "client/export.h"
#include "client/grant.h"
#include "client/offer.h"
#include "sync/timeline.h"
#include "wire/object_ref.h"

/*
 * What the caller wants, with what is not said filled in.
 * @is_named:  mode, gid and flags count; else escrow_ns and uses
 * Return: WW_OK; WW_ERR_INVALID.
 */
ww_status ww_share_read(const struct ww_share_params *params, bool is_named,
	struct ww_share_params *ours);

struct ww_escrow ww_share_escrow(const struct ww_share_params *params);

/*
 * The default broker where the caller named none.
 * @broker:      as the caller gave it; is never NULL afterwards
 * @out_opened:  the caller's to release: the default broker if that was opened here, else NULL
 * Return: WW_OK; as ww_broker_open().
 */
ww_status ww_share_choose_broker(struct ww_broker **broker, struct ww_broker **out_opened);

/*
 * @least:  version of the protocol from which on a broker does what is needed
 * @what:   that; "tell waiters that a signaller died"
 * May block: connects if need be.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_share_require_version(struct ww_broker *broker, uint32_t least, const char *what);

/*
 * Brokers that do not speak for the dead are of no use here.
 * May block: connects if need be.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_share_require_broker(struct ww_broker *broker);

/*
 * An object of whatever kind, unnamed unless put.name is set by the caller, of life held, sealed.
 * @params:  read; NULL: mode 0600
 */
void ww_share_offer_init(struct ww_offer *offer, uint16_t kind, const uint8_t id[WW_WIRE_ID_BYTES],
	const struct ww_share_params *params);

/* The record of what is at @cell_offset in a page; 0: of the page itself. */
void ww_share_write_timeline(const struct ww_page *page, uint64_t cell_offset,
	uint8_t out_bytes[WW_TIMELINE_REF_BYTES]);

/* Adds a page's descriptors to an offer: one to read for everybody, and the broker's own. */
ww_status ww_share_offer_page(struct ww_offer *offer, struct ww_page *page);

/*
 * Puts an object without a name, of an id that only this process uses: if another thread has put it meanwhile it is held
 * all the same.
 * Return: WW_OK; as ww_timeline_export().
 */
ww_status ww_share_put(struct ww_offer *offer, struct ww_attachments *thing,
	struct ww_broker *broker);

/* Return: WW_OK; WW_ERR_PEER_LOST (the page's owner has ended, or was given up). */
ww_status ww_share_require_alive(const struct ww_page *page);

/*
 * Has this process hold an object that shows the timeline: that of its page, put there if it is not yet, or the
 * timeline's own one if it came by name.
 * @out_id:  of the object
 * Return: WW_OK; as ww_timeline_export().
 */
ww_status ww_share_hold(ww_timeline *timeline, struct ww_broker *broker,
	uint8_t out_id[WW_WIRE_ID_BYTES]);

/*
 * Puts an own timeline under a name, as an object of its own; the timeline keeps it.
 * @name:    checked; may be inside an object
 * Return: WW_OK; as ww_timeline_put().
 */
ww_status ww_share_timeline(ww_timeline *timeline, struct ww_broker *broker, const char *name,
	const struct ww_share_params *params);

/*
 * The timeline of what was granted; it, or its page, keeps the hold.
 * @offset:  of the cell, as a token says; 0: as the description says
 * Return: WW_OK; as ww_timeline_import().
 */
ww_status ww_share_open_timeline(struct ww_grant *grant, uint64_t offset,
	ww_timeline **out_timeline);

#endif
