/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eventfd.h - the descriptor of a channel for event loops (base/eventfd.h), and what it shows
 *
 * The thread looks at a copy of what the channel waits for (readiness.h), and at nothing else of a
 * ww_channel, which its user's thread changes.
 */
#ifndef WW_CHANNEL_EVENTFD_H
#define WW_CHANNEL_EVENTFD_H

#include "base/eventfd.h"
#include "channel/channel.h"

/* Ends the descriptor of a channel, if it has one. */
void ww_channel_eventfd_end(struct ww_channel *channel);

/*
 * After each call that sleeps, or changes what the channel waits for; ww_eventfd_pause() is before
 * it. From then on the descriptor says whether the channel is ready, and shows when it is. Without
 * a descriptor this is one load.
 */
void ww_channel_eventfd_set(struct ww_channel *channel);

/* Return: WW_OK; WW_ERR_ACCESS (an observer has no frames to wait for). */
ww_status ww_channel_readiness_check(const struct ww_channel *channel);

/*
 * What the side of a channel waits for. Called by the thread that uses the channel. May ask the
 * broker which consumers have joined.
 * Return: WW_OK; WW_NOT_READY (it must release, publish or discard one first: it holds as many as
 *         it may); an error, which a call with the channel would return.
 */
ww_status ww_channel_readiness_get(struct ww_channel *channel, struct ww_readiness *out_readiness);

#endif
