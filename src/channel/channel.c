/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - what both sides of a channel do alike, see channel.h
 */
#include "channel/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/producer.h"
#include "share/token_export.h"
#include "share/sync_object.h"
#include "sync/wait_result.h"
#include "wire/name.h"

#define INFO_V1_BYTES  sizeof(struct ww_channel_info)
#define FRAME_V1_BYTES sizeof(struct ww_frame)

void ww_channel_name(const struct ww_channel *channel, const char *what,
	char out[WW_CHANNEL_NAME_BYTES])
{
	ww_name_begin_inside(channel->form.channel_id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_CHANNEL_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s",
		what);
}

ww_status ww_channel_check_frame(const struct ww_frame *frame, const char *call)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: ww_frame", call);
	return ww_params_check(frame, FRAME_V1_BYTES, name);
}

void ww_channel_fill_frame(const struct ww_channel *channel, uint32_t slot,
	struct ww_frame *out_frame)
{
	uint64_t offset = slot * channel->form.slot_bytes;
	char *pointer = ww_memory_pointer(channel->memory);
	char *host_pointer = ww_memory_host_pointer(channel->memory);
	uint32_t struct_size = out_frame->struct_size;

	memset(out_frame, 0, sizeof(*out_frame));
	out_frame->struct_size = struct_size;
	out_frame->slot = slot;
	out_frame->pointer = pointer + offset;
	out_frame->host_pointer = host_pointer ? host_pointer + offset : NULL;
	out_frame->metadata = channel->form.metadata_bytes ? ww_ring_metadata(&channel->ring, slot)
							   : NULL;
	out_frame->capacity = channel->form.slot_bytes;
}

ww_status ww_channel_signal(struct ww_channel *channel, ww_stream *stream, uint64_t *out_value)
{
	*out_value = 0;
	if (!stream)
		return WW_OK;
	ww_try(ww_timeline_stream_signal(channel->timeline, stream, channel->value + 1));
	*out_value = ++channel->value;
	return WW_OK;
}

uint64_t ww_channel_next_look_ns(uint64_t deadline_ns)
{
	uint64_t look_ns = ww_clock_deadline_ns(WW_CHANNEL_LOOK_NS);

	return look_ns < deadline_ns ? look_ns : deadline_ns;
}

void ww_channel_fini(struct ww_channel *channel)
{
	ww_timeline_drop(channel->timeline);
	ww_memory_drop(channel->memory);
	ww_ring_fini(&channel->ring);
	ww_attachments_fini(&channel->object);
	ww_broker_unref(channel->broker);
}

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
	return ww_export_object(channel->broker, &info, &escrow, out_token);
}

static void describe_producer(const struct ww_channel *channel, struct ww_channel_info *info)
{
	const struct ww_producer *producer = ww_container(channel, struct ww_producer, channel);
	const struct ww_layout_signal_page *page = channel->timeline->page->header;

	info->consumers = producer->consumers.count;
	info->published = producer->published;
	info->pid = page->pid;
	ww_wait_result_program(page->program, info->program);
}

static void describe_consumer(const struct ww_channel *channel, struct ww_channel_info *info)
{
	const struct ww_consumer *consumer = ww_container(channel, struct ww_consumer, channel);
	const struct ww_layout_signal_page *page = consumer->page->header;

	info->published = ww_ring_published(&channel->ring);
	info->received = consumer->received;
	info->dropped = consumer->dropped;
	info->pid = page->pid;
	ww_wait_result_program(page->program, info->program);
}

ww_status ww_channel_info_get(ww_channel *channel, struct ww_channel_info *info)
{
	struct ww_channel_info ours = {0};

	ww_try(ww_process_enter());
	ww_require(channel && info, "ww_channel_info_get: channel or info is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ours.is_producer = channel->is_producer;
	ours.policy = channel->form.policy;
	ours.slots = channel->form.slot_count;
	ours.consumers_max = channel->form.consumers_max;
	ours.held_max = channel->form.held_max;
	ours.held = channel->held;
	ours.slot_bytes = channel->form.slot_bytes;
	ours.metadata_bytes = channel->form.metadata_bytes;
	memcpy(ours.metadata_type, channel->form.metadata_type, sizeof(ours.metadata_type));
	ours.has_array = channel->has_array;
	ours.array = channel->array;
	if (channel->is_producer)
		describe_producer(channel, &ours);
	else
		describe_consumer(channel, &ours);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_channel_info");
}
