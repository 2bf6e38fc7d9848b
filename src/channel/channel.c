/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - what both sides of a channel do alike, see channel.h
 */
#include "channel/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "channel/consumer.h"
#include "sync/wait_result.h"
#include "wire/name.h"

void ww_channel_name(const struct ww_channel *channel, const char *what,
	char out[WW_CHANNEL_NAME_BYTES])
{
	ww_name_begin_inside(channel->form.channel_id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_CHANNEL_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s",
		what);
}

struct ww_signal_map *ww_channel_producer_page(const struct ww_channel *channel)
{
	if (channel->is_producer)
		return channel->timeline->page;
	return ww_container(channel, const struct ww_consumer, channel)->page;
}

static struct ww_peer_process *producer_process(const struct ww_channel *channel)
{
	return ww_container(channel, const struct ww_consumer, channel)->process;
}

bool ww_channel_is_closed(const struct ww_channel *channel)
{
	return ww_ring_is_closed(&channel->ring) ||
		ww_signal_page_is_replaced(ww_channel_producer_page(channel)->header);
}

bool ww_channel_has_ended(const struct ww_channel *channel)
{
	const struct ww_layout_signal_page *page;

	if (channel->is_producer)
		return false;
	page = ww_channel_producer_page(channel)->header;
	return ww_channel_is_closed(channel) || ww_signal_page_is_lost(page) ||
		ww_peer_process_has_ended(producer_process(channel));
}

void ww_channel_look_at_processes(const struct ww_channel *channel)
{
	if (!channel->is_producer)
		(void)ww_peer_process_look(producer_process(channel));
	ww_consumers_look_at_processes(&channel->consumers);
}

ww_status ww_channel_fail_ended(const struct ww_channel *channel)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	if (ww_channel_is_closed(channel))
		return WW_END;
	return ww_fail(WW_ERR_PEER_LOST,
		"the channel's producer, %s, ended after frame %" PRIu64
		"; get the channel of the name anew",
		ww_wait_result_process(ww_channel_producer_page(channel), process),
		ww_ring_published(&channel->ring));
}

/* --- the slots --- */

struct kept_slots {
	struct ww_attachment attachment;
	struct ww_memory *memory; /* a reference */
};

static void slots_detach(struct ww_attachment *attachment)
{
	struct kept_slots *slots = ww_container(attachment, struct kept_slots, attachment);

	ww_memory_drop(slots->memory);
	free(slots);
}

ww_status ww_channel_keep_slots(struct ww_channel *channel)
{
	struct kept_slots *slots = calloc(1, sizeof(*slots));

	if (!slots)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a channel: out of memory");
	slots->memory = ww_memory_ref(channel->memory);
	slots->attachment = (struct ww_attachment){.owner = slots, .detach = slots_detach};
	ww_attachments_add(&channel->timeline->attachments, &slots->attachment);
	channel->pointer = ww_memory_pointer(channel->memory);
	channel->host_pointer = ww_memory_host_pointer(channel->memory);
	return WW_OK;
}

void ww_channel_fini(struct ww_channel *channel)
{
	ww_consumers_fini(&channel->consumers);
	ww_timeline_drop(channel->timeline);
	ww_memory_drop(channel->memory);
	ww_ring_fini(&channel->ring);
	ww_attachments_fini(&channel->object);
	ww_broker_unref(channel->broker);
}
