/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction_request.h - an observer asks the producer to evict a consumer
 *
 * Only the producer writes the ring. So the observer puts an object inside the channel's, without
 * descriptors, whose name says which consumer is meant: "@ID/consumer-evict-NUMBER-ID-RANDOM". The
 * random part keeps other processes from taking the name first. The broker counts the object in the
 * producer's signal page, as it counts a consumer, so the producer finds it when it looks for new
 * consumers. The broker says which user has put it: the producer obeys its own user and root. It
 * removes requests of other users.
 *
 * A producer of an earlier release ignores these names.
 */
#ifndef WW_CHANNEL_EVICTION_REQUEST_H
#define WW_CHANNEL_EVICTION_REQUEST_H

#include "channel/channel.h"

/*
 * Asks for the eviction of a consumer. The request ends when the observer sees the eviction, or
 * forgets the consumer.
 * Return: WW_OK; WW_ERR_ACCESS (the channel is of another user); as ww_memory_put().
 */
ww_status ww_eviction_request_put(struct ww_channel *observer, struct ww_consumer_view *view);

/* Whether an object inside the channel is a request, by its name. */
bool ww_eviction_request_is(const struct ww_object_info *info);

/* Of the producer: whether it obeys this user. */
bool ww_eviction_request_may(uint32_t uid);

/* Of the producer: evicts the known consumers that requests in the snapshot name. */
void ww_eviction_requests_obey(struct ww_channel *channel, ww_snapshot *snapshot);

#endif
