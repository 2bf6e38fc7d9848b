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

/* Return: as ww_notice_init(). */
ww_status ww_channel_notice_create(struct ww_channel_notice **out_notice);
struct ww_channel_notice *ww_channel_notice_free(struct ww_channel_notice *notice); /* takes NULL */

/* After a call: says whether the channel is ready, and from now on shows when it is. */
void ww_channel_notice_set(struct ww_channel_notice *notice, struct ww_channel *channel);

#endif
