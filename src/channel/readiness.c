/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readiness.c - what a side of a channel waits for, see readiness.h
 */
#include "channel/readiness.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "channel/consumer.h"
#include "channel/producer.h"

ww_status ww_readiness_check(const struct ww_channel *channel)
{
	if (!channel->is_observer)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot wait for frames: this is an observer of the channel, which receives none; "
		"ww_channel_next_event() waits for events");
}

ww_status ww_readiness_of(struct ww_channel *channel, struct ww_readiness *out_readiness)
{
	memset(out_readiness, 0, sizeof(*out_readiness));
	out_readiness->since_ns = ww_clock_now_ns();
	out_readiness->again_ns = WW_NEVER;
	return channel->is_producer ? ww_producer_readiness(ww_producer_of(channel), out_readiness)
				    : ww_consumer_readiness(ww_consumer_of(channel), out_readiness);
}
