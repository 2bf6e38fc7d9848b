/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - the round that N timelines make, without how their owners found each other
 */
#ifndef WW_SYNC_BARRIER_H
#define WW_SYNC_BARRIER_H

#include <warpway/barrier.h>

#include "base/attachment.h"
#include "base/eventfd.h"
#include "sync/timeline.h"

struct ww_barrier {
	struct ww_ref ref;
	uint32_t count;                /* constant, as are rank and members */
	uint32_t rank;                 /* UINT32_MAX: it has none yet */
	_Atomic uint64_t round;        /* that all have passed */
	_Atomic uint32_t broken_rank;  /* of the member that ended or left; UINT32_MAX: none */
	struct ww_attachments object;  /* its hold in the broker */
	struct ww_eventfd *eventfd;    /* owned; NULL: no call asked for a descriptor */
	struct ww_timeline *members[]; /* count references; that at rank is this member's own */
};

/* Without members yet. Return: NULL: out of memory, recorded. */
struct ww_barrier *ww_barrier_new(uint32_t count);

/*
 * Looks at the members that are known. Return: WW_OK; WW_ERR_PEER_LOST (one ended, or left, before
 * the first round).
 */
ww_status ww_barrier_check(struct ww_barrier *barrier);

WW_DEFINE_CLEANUP(ww_barrier, ww_barrier_unref)
#define WW_AUTO_BARRIER WW_CLEANUP(ww_barrier_unref_p)

#endif
