/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evict_consumer.c - the call that evicts a consumer: the producer does it (eviction.c), an
 * observer asks the producer for it (eviction_request.h)
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/process.h"
#include "channel/eviction_request.h"
#include "channel/eventfd.h"
#include "channel/producer.h"

ww_status ww_channel_evict(ww_channel *channel, uint32_t consumer)
{
	struct ww_consumer_view *view;

	ww_try(ww_process_enter());
	ww_require(channel, "ww_channel_evict: channel is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	if (!channel->is_producer && !channel->is_observer)
		return ww_fail(WW_ERR_ACCESS,
			"cannot evict a consumer: only the channel's producer may, and an observer can ask "
			"it to");
	ww_try(ww_consumers_meet(channel));
	ww_consumers_forget_ended(channel);
	view = ww_consumers_find(&channel->consumers, consumer);
	if (!view)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the channel has no consumer %" PRIu32
			"; ww_channel_consumer_info_get() tells the numbers",
			consumer);
	if (view->is_evicted)
		return WW_OK;
	if (channel->is_observer)
		return ww_eviction_request_put(channel, view);
	ww_producer_evict(ww_producer_of(channel), view, WW_WIRE_CHANNEL_EVICTION_REASON_HAND);
	ww_channel_eventfd_set(channel);
	return WW_OK;
}
