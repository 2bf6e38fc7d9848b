/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.h - becoming a consumer of a channel
 */
#ifndef WW_CHANNEL_JOIN_H
#define WW_CHANNEL_JOIN_H

#include "channel/consumer.h"
#include "share/get_reply.h"

/* The channel to join, and the consumer that joins it. */
struct ww_joining {
	ww_device *device; /* borrowed */
	struct ww_consumer_params params;
	uint64_t timeout_ns;   /* for the slots; 0: only the broker's limit; with a former, none */
	const uint8_t *former; /* id of a channel that is not meant; NULL: none */
};

/* The channel that a broker has granted. Return: as ww_channel_get(). */
ww_status ww_join_grant(struct ww_get_reply *grant, const struct ww_joining *joining,
	struct ww_consumer **out_consumer);

/*
 * The channel of a name. The caller has limited the time of the whole (share/call_limit.h).
 * Return: as ww_channel_get(); WW_TIMED_OUT, too, if the name has the channel that is not meant.
 */
ww_status ww_join_name(const struct ww_joining *joining, struct ww_broker *broker, const char *name,
	struct ww_consumer **out_consumer);

#endif
