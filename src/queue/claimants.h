/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claimants.h - consumers as other members see them, and what becomes of their claims
 */
#ifndef WW_QUEUE_CLAIMANTS_H
#define WW_QUEUE_CLAIMANTS_H

#include "queue/queue.h"

void ww_queue_claimants_fini(struct ww_work_queue *queue);

/* What is known of the consumer that has a claim. */
enum ww_queue_claimant_state {
	WW_CLAIMANT_WORKS,
	WW_CLAIMANT_HAS_DONE, /* the frame's work is complete */
	WW_CLAIMANT_IS_OVER   /* it has ended, or left, and its work was not complete */
};

/*
 * What has become of the work of a claim that is claimed or finishing. A consumer of which nothing
 * is known is taken to work.
 * @may_ask:  the broker, about a consumer that is not known yet
 */
enum ww_queue_claimant_state ww_queue_claimant_look(struct ww_work_queue *queue,
	const struct ww_queue_ring *ring, uint32_t slot, const struct ww_queue_claim *claim,
	bool may_ask);

/*
 * Changes the claims of a ring whose consumers have done, or have ended: the frames are done, or
 * are given back. Wakes those that wait for it.
 */
void ww_queue_recover(struct ww_work_queue *queue, struct ww_queue_ring *ring);

/*
 * Whether that would change something, or meet a consumer. Of a producer that has not left, only
 * frames that are given back count.
 */
bool ww_queue_may_recover(struct ww_work_queue *queue, const struct ww_queue_ring *ring);

/* Recovers all rings, if the time has come. */
void ww_queue_recover_in_time(struct ww_work_queue *queue);

/*
 * Notes the producers, and takes an entry for this consumer. Where all are taken, that of one that
 * is over; what that one had claimed is given back.
 * Return: WW_OK; WW_ERR_LIMIT; WW_ERR_NO_BROKER; as ww_queue_rings_meet().
 */
ww_status ww_queue_enter_bell(struct ww_work_queue *queue);

#endif
