/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.h - the consumers of a channel, as its producer sees them, or an observer
 *
 * A consumer that the producer has evicted stays known until it has released what it used, or its
 * process has ended. One that is ignored is known only so that it is not asked for again.
 */
#ifndef WW_CHANNEL_CONSUMERS_H
#define WW_CHANNEL_CONSUMERS_H

#include <warpway/channel.h>

#include "channel/ring.h"
#include "group/group.h"

struct ww_channel;

struct ww_consumer_view {
	struct ww_group_member member;
	uint32_t number;
	bool is_trusted; /* our streams may wait for it */
	bool is_evicted;
	bool is_ignored;     /* evicted from the beginning: nothing is kept for it */
	uint64_t evicted_at; /* frame: marks of later ones do not count */
	struct ww_channel_marks marks;
	struct ww_attachments request; /* of an observer: the hold of its eviction_request.h */
};

/* What a side knows of them. */
struct ww_consumers {
	struct ww_group group; /* struct ww_consumer_view */
	uint32_t count;        /* of those that are not evicted */

	/* Of the producer: the consumer that it waits for, and since when; NULL: none. */
	struct ww_consumer_view *blocker;
	uint64_t blocked_since_ns;
	bool is_block_told; /* by an event */
};

static inline struct ww_consumer_view *ww_consumer_view_of(struct ww_list *link)
{
	return ww_container(link, struct ww_consumer_view, member.link);
}

/* Takes one that is not whole yet, too. It is in no list. */
void ww_consumer_view_free(struct ww_consumer_view *view);

WW_DEFINE_CLEANUP(struct ww_consumer_view, ww_consumer_view_free)

void ww_consumers_init(struct ww_consumers *consumers);
void ww_consumers_fini(struct ww_consumers *consumers);

/*
 * Notes consumers that have joined. Without newcomers it is one load.
 * Return: WW_OK; WW_NOT_READY (there may be others: the broker did not answer); as
 *         ww_snapshot_create().
 */
ww_status ww_consumers_meet(struct ww_channel *channel);

/* Whether no others have joined since ww_consumers_meet() was WW_OK. One load, in one order. */
bool ww_consumers_are_met(const struct ww_channel *channel);

/* Whether ww_consumers_meet() would ask the broker. */
bool ww_consumers_have_come(const struct ww_channel *channel);

/* Asks the kernel which have ended, now and then; for a side that waits. */
void ww_consumers_look_at_processes(const struct ww_consumers *consumers);

/* Whether the kernel has reported the end of one: reads nothing that consumers write. */
bool ww_consumers_has_any_ended(const struct ww_consumers *consumers);

/* Forgets those whose processes have ended, and those that left; an observer notes evictions. */
void ww_consumers_forget_ended(struct ww_channel *channel);

/*
 * How many consumers of the same user as one of a snapshot were put before it.
 * @object_id:  of that one
 */
uint32_t ww_consumers_count_older(const struct ww_channel *channel, ww_snapshot *snapshot,
	const uint8_t object_id[WW_WIRE_ID_BYTES]);

/* The objects of the consumers. Return: as ww_snapshot_create(). */
ww_status ww_consumers_list(const struct ww_channel *channel, ww_snapshot **out_snapshot);

/* Return: NULL: there is none of this number. */
struct ww_consumer_view *ww_consumers_find(const struct ww_consumers *consumers, uint32_t number);

/* What they write comes from their caches, all at once, while something else is done. */
void ww_consumers_prefetch(const struct ww_consumers *consumers);

/* The first frame that one has not received yet, as far as can be told by one look. */
uint64_t ww_consumers_first_owed(const struct ww_consumers *consumers);

/*
 * Whether a consumer uses a slot, in the order of need: one that needs it before one whose release
 * is not complete.
 * @is_owed:   a frame that a consumer has not received yet is needed
 * @out_view:  the one that does; NULL
 */
enum ww_slot_use ww_consumers_use(const struct ww_consumers *consumers, uint32_t slot,
	uint64_t frame, bool is_owed, struct ww_consumer_view **out_view);

/* Whether it receives no more, by its own doing. */
static inline bool ww_consumer_view_has_left(const struct ww_consumer_view *view)
{
	return __atomic_load_n(&view->marks.header->next, __ATOMIC_ACQUIRE) == WW_CHANNEL_NEVER;
}

/*
 * Whether a frame that it has not received yet is kept for it: not if it was evicted, and not if it
 * has lost its connection to the broker, since it receives none any more, also while its process
 * lives.
 */
static inline bool ww_consumer_view_is_owed(const struct ww_consumer_view *view)
{
	return !view->is_evicted && !ww_group_member_is_lost(&view->member);
}

/* Whether a value of its timeline is reached. */
bool ww_consumer_view_has_reached(const struct ww_consumer_view *view, uint64_t value);

/* Wakes those that sleep. */
void ww_consumers_wake(const struct ww_consumers *consumers, struct ww_ring *ring);

#endif
