/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notifier.h - the descriptor of a channel for event loops
 *
 * No eventfd crosses a process: its other holder could fill it, and block whoever signals, or read
 * it empty. Each process makes its own descriptors readable, by one thread for all its channels.
 *
 *   pause ──> the call does its work ──> set ──> armed ──thread: the look says done──> readable
 *                                         └────> readable, or parked (it holds as many as it may)
 *
 * While a channel is armed, this process is asleep to the other side (is_asleep), and the thread
 * sleeps in its place, on the futex words of all channels that are armed. It looks at copies
 * (struct ww_readiness), so it never reads a ww_channel, which its user's thread changes.
 */
#ifndef WW_CHANNEL_NOTIFIER_H
#define WW_CHANNEL_NOTIFIER_H

#include "channel/readiness.h"

enum ww_notice_state {
	WW_NOTICE_PARKED, /* not readable, and nobody waits */
	WW_NOTICE_ARMED,  /* not readable; the thread waits */
	WW_NOTICE_READABLE
};

struct ww_notice {
	struct ww_list link; /* while armed; under the lock, as is state */
	enum ww_notice_state state;
	int fd; /* an eventfd, owned */
	struct ww_readiness readiness;
	bool is_kept; /* it has references; of the user's thread */
};

/*
 * Starts the thread, if this is the first one. Parked.
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_notice_create(struct ww_notice **out_notice);

/* Ends the thread, if this was the last one. Leaves duplicates readable. Return: NULL. */
struct ww_notice *ww_notice_free(struct ww_notice *notice); /* takes NULL */

/*
 * Before a call that sleeps itself, or ends what the readiness points at: nobody else looks
 * afterwards.
 */
void ww_notice_pause(struct ww_notice *notice);

/* After a call: says whether the channel is ready, and from now on shows when it is. */
void ww_notice_set(struct ww_notice *notice, struct ww_channel *channel);

#endif
