/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.h - the descriptor of a channel for event loops
 *
 * The notifier looks at a copy of what the channel waits for (struct ww_readiness), so it never
 * reads a ww_channel, which its user's thread changes.
 */
#ifndef WW_CHANNEL_NOTICE_H
#define WW_CHANNEL_NOTICE_H

#include "base/notifier.h"
#include "channel/readiness.h"

struct ww_channel_notice {
	struct ww_notice notice;
	struct ww_readiness readiness;
	bool is_kept; /* it has references; of the user's thread */
};

/* Ends the descriptor of a channel, if it has one. */
struct ww_channel_notice *ww_channel_notice_free(struct ww_channel_notice *notice);

/*
 * Around each call that sleeps, or changes what the channel waits for. After the call the
 * descriptor says whether the channel is ready, and from then on shows when it is. Without a
 * descriptor they are one load.
 */
void ww_channel_pause_notice(struct ww_channel *channel);
void ww_channel_set_notice(struct ww_channel *channel);

#endif
