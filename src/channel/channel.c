/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - what both sides of a channel do alike, see channel.h
 */
#include "channel/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/notice.h"
#include "channel/producer.h"
#include "share/token_export.h"
#include "share/sync_object.h"
#include "sync/wait_result.h"
#include "wire/name.h"

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

	if (frame->struct_size >= FRAME_V1_BYTES) /* nothing is printed for each frame */
		return WW_OK;
	snprintf(name, sizeof(name), "%s: ww_frame", call);
	return ww_params_check(frame, FRAME_V1_BYTES, name);
}

void ww_channel_fill_frame(const struct ww_channel *channel, uint32_t slot,
	struct ww_frame *out_frame)
{
	uint64_t offset = slot * channel->form.slot_bytes;

	/* Field by field: to clear the whole costs as much as all the rest (rep stos). */
	out_frame->slot = slot;
	out_frame->number = 0;
	out_frame->pointer = channel->pointer + offset;
	out_frame->host_pointer = channel->host_pointer ? channel->host_pointer + offset : NULL;
	out_frame->metadata = channel->form.metadata_bytes ? ww_ring_metadata(&channel->ring, slot)
							   : NULL;
	out_frame->capacity = channel->form.slot_bytes;
	out_frame->bytes = 0;
	out_frame->submitted_ns = 0;
	out_frame->metadata_bytes = 0;
	out_frame->ndim = 0;
	memset(out_frame->shape, 0, sizeof(out_frame->shape));
	out_frame->generation = channel->generation;
	out_frame->reserved = 0;
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
	uint64_t look_ns = ww_clock_deadline_ns(WW_PEER_LOOK_NS);

	return look_ns < deadline_ns ? look_ns : deadline_ns;
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

bool ww_channel_has_ended(const struct ww_channel *channel)
{
	const struct ww_layout_signal_page *page;

	if (channel->is_producer)
		return false;
	page = ww_channel_producer_page(channel)->header;
	return ww_ring_is_closed(&channel->ring) ||
		__atomic_load_n(&page->lost, __ATOMIC_ACQUIRE) ||
		ww_peer_process_has_ended(producer_process(channel));
}

void ww_channel_look_at_processes(const struct ww_channel *channel)
{
	if (!channel->is_producer)
		(void)ww_peer_process_look(producer_process(channel));
	ww_consumers_look_at_processes(&channel->consumers);
}

uint32_t ww_channel_lost_pid(const struct ww_channel *channel, char out_program[WW_PROGRAM_BYTES])
{
	const struct ww_layout_signal_page *page = ww_channel_producer_page(channel)->header;
	bool is_known = __atomic_load_n(&page->lost, __ATOMIC_ACQUIRE);

	ww_wait_result_program(is_known ? page->lost_program : page->program, out_program);
	return is_known ? page->lost_pid : page->pid;
}

ww_status ww_channel_fail_ended(const struct ww_channel *channel)
{
	char program[WW_PROGRAM_BYTES];
	uint32_t pid;

	if (ww_ring_is_closed(&channel->ring))
		return WW_END;
	pid = ww_channel_lost_pid(channel, program);
	return ww_fail(WW_ERR_PEER_LOST,
		"the channel's producer, process %" PRIu32 " (%s), ended after frame %" PRIu64
		"; get the channel of the name anew",
		pid, program, ww_ring_published(&channel->ring));
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
	channel->notice = ww_channel_notice_free(channel->notice);
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

void ww_channel_pause_notice(struct ww_channel *channel)
{
	if (channel->notice)
		ww_notice_pause(&channel->notice->notice);
}

void ww_channel_set_notice(struct ww_channel *channel)
{
	if (channel->notice)
		ww_channel_notice_set(channel->notice, channel);
}

ww_status ww_channel_eventfd(ww_channel *channel, int *out_fd)
{
	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(channel && out_fd, "ww_channel_eventfd: channel or out_fd is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_readiness_check(channel));
	if (!channel->notice)
		ww_try(ww_channel_notice_create(&channel->notice));
	ww_channel_notice_set(channel->notice, channel);
	return ww_fd_duplicate(channel->notice->notice.fd, out_fd);
}
