/* SPDX-License-Identifier: Apache-2.0 */
/*
 * references.c - references of a channel: within this process, and a token for others
 */
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/eventfd.h"
#include "channel/producer.h"
#include "share/sync_object.h"
#include "share/token_export.h"

ww_channel *ww_channel_ref(ww_channel *channel)
{
	if (channel)
		ww_ref_get(&channel->ref);
	return channel;
}

ww_channel *ww_channel_unref(ww_channel *channel)
{
	if (!channel || !ww_ref_put(&channel->ref))
		return NULL;
	ww_channel_eventfd_end(channel);
	if (channel->is_producer)
		ww_producer_free(ww_producer_of(channel));
	else
		ww_consumer_free(ww_consumer_of(channel));
	ww_deferred_reclaim();
	return NULL;
}

ww_status ww_channel_export(ww_channel *channel, const struct ww_token_params *params,
	ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_CHANNEL,
		.access = WW_ACCESS_READ,
	};
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(channel && out_token, "ww_channel_export: channel or out_token is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_sync_object_read_token(params, &escrow));
	if (!ww_hold_ref_find(channel->is_producer ? &channel->timeline->attachments
						   : &channel->object,
		    channel->broker, info.object_id))
		return ww_fail(WW_ERR_NOT_FOUND, "the broker at %s has lost the channel",
			channel->broker->address.path);
	info.total_bytes = channel->form.slot_bytes * channel->form.slot_count;
	info.bytes = info.total_bytes;
	memcpy(info.home_uuid, channel->form.home_uuid, sizeof(info.home_uuid));
	return ww_export_object(channel->broker, &info, &escrow, out_token);
}
