/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.h - the consumers of a channel, as its producer sees them
 */
#ifndef WW_CHANNEL_CONSUMERS_H
#define WW_CHANNEL_CONSUMERS_H

#include "channel/channel.h"

struct ww_consumer_view {
	struct ww_list link;
	uint8_t object_id[WW_WIRE_ID_BYTES];
	bool is_trusted;            /* of our user: our streams may wait for it */
	struct ww_signal_map *page; /* its signal page, a reference */
	struct ww_layout_signal_cell *cell;
	struct ww_channel_marks marks;
	struct ww_attachments attachments;
};

/* What the producer knows of them. */
struct ww_consumers {
	struct ww_list list;
	uint32_t count;
	uint32_t members_seen; /* of the producer's signal page */
	uint64_t ask_again_ns; /* after a broker that did not answer; else 0 */
};

void ww_consumers_init(struct ww_consumers *consumers);
void ww_consumers_fini(struct ww_consumers *consumers);

/*
 * Gets to know those that have come. Without newcomers it is one load.
 * Return: WW_OK; WW_NOT_READY (there may be others: the broker did not answer); as
 *         ww_snapshot_create().
 */
ww_status ww_consumers_meet(struct ww_consumers *consumers, struct ww_channel *channel);

/* Forgets those whose processes have ended, and those that left. */
void ww_consumers_forget_ended(struct ww_consumers *consumers);

/*
 * Whether a consumer uses a slot, in the order of need: one that needs it before one whose release
 * is not complete.
 * @is_owed:   a frame that a consumer has not received yet is needed
 * @out_view:  the one that does; NULL
 */
enum ww_slot_use ww_consumers_use(const struct ww_consumers *consumers, uint32_t slot,
	uint64_t frame, bool is_owed, const struct ww_consumer_view **out_view);

/* Whether the kernel has reported its end. */
static inline bool ww_consumer_view_is_ended(const struct ww_consumer_view *view)
{
	return __atomic_load_n(&view->page->header->ended, __ATOMIC_ACQUIRE);
}

/* Whether a value of its timeline is reached. */
bool ww_consumer_view_has_reached(const struct ww_consumer_view *view, uint64_t value);

/* Wakes those that sleep. */
void ww_consumers_wake(const struct ww_consumers *consumers, struct ww_ring *ring);

#endif
