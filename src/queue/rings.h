/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rings.h - the rings of producers, as others see them
 */
#ifndef WW_QUEUE_RINGS_H
#define WW_QUEUE_RINGS_H

#include "queue/queue.h"

#define WW_QUEUE_MEMBER_MODE  0444 /* the mode of the queue decides */
#define WW_QUEUE_PRODUCER_FDS 4    /* that others get: page, ring, claims, memory */

/* The description of a producer: of its page, and of its slots' memory. */
#define WW_QUEUE_PRODUCER_BYTES (WW_TIMELINE_REF_BYTES + WW_MEMORY_DESCRIPTION_BYTES)

struct ww_ring_size ww_queue_ring_size(const struct ww_work_queue *queue);

void ww_queue_ring_free(struct ww_queue_ring *ring); /* takes NULL */

WW_DEFINE_CLEANUP(struct ww_queue_ring, ww_queue_ring_free)

/*
 * Gets what a producer shows; a keeper, which only counts frames, does not get the slots' memory.
 * @out_ring:  the caller's, in no list; NULL on failure
 * Return: WW_OK; as ww_get_reply_ask(), ww_signal_map_import(), ww_memory_import_fd().
 */
ww_status ww_queue_ring_get(struct ww_work_queue *queue, uint64_t member,
	struct ww_queue_ring **out_ring);

/* No frame of it comes any more: its producer has left, or has ended. */
bool ww_queue_ring_is_left(const struct ww_queue_ring *ring);

/*
 * Of a producer: that it holds slots, or none. In one order with the look whether the queue is
 * closed, see shared.h.
 */
void ww_queue_ring_say_slots(struct ww_queue_ring *ring, uint32_t slots);

/*
 * Whether its producer publishes nothing any more, and gets no slot to write.
 * @is_closed:  whether the queue is, which was looked at before
 */
bool ww_queue_ring_is_through(const struct ww_queue_ring *ring, bool is_closed);

/* How many frames are in each state. */
struct ww_queue_counts {
	uint32_t available;
	uint32_t claimed; /* and finishing */
	uint32_t failed;
};

/* Adds those of a ring. */
void ww_queue_ring_count(const struct ww_queue_ring *ring, struct ww_queue_counts *counts);

/*
 * Of a consumer: gets to know producers that have come. Without newcomers it is one load.
 * Return: WW_OK; WW_NOT_READY (there may be others: the broker did not answer); as
 *         ww_memory_import_fd().
 */
ww_status ww_queue_rings_meet(struct ww_work_queue *queue);

/* Whether some may have come. */
bool ww_queue_rings_are_new(const struct ww_work_queue *queue);

/*
 * Of a producer: enters the roster. Where all entries are taken, that of one that has been left,
 * and of which no frame is there any more.
 * Return: WW_OK; WW_ERR_LIMIT.
 */
ww_status ww_queue_enter_roster(struct ww_work_queue *queue);

/* Forgets those that have been left, and of which no frame is there any more. */
void ww_queue_rings_forget(struct ww_work_queue *queue);

#endif
