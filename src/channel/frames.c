/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - the calls for frames: the producer acquires slots, and publishes or discards them; a
 * consumer receives frames, and releases them
 *
 * How a slot is found is in acquire.c, and how a frame is received in receive.c.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/notice.h"
#include "channel/producer.h"
#include "device/stream.h"

/* --- the producer --- */

static ww_status require_producer(const struct ww_channel *channel, const char *action)
{
	if (channel->is_producer)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot %s a frame: this is %s of the channel, which has one producer", action,
		channel->is_observer ? "an observer" : "a consumer");
}

ww_status ww_channel_acquire(ww_channel *channel, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(channel && out_frame, "ww_channel_acquire: channel or out_frame is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_check_frame(out_frame));
	ww_try(require_producer(channel, "acquire"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_channel_pause_notice(channel);
	status = ww_producer_acquire(ww_producer_of(channel), stream, timeout_ns, out_frame);
	ww_channel_set_notice(channel);
	return status;
}

static ww_status find_held(struct ww_producer *producer, const struct ww_frame *frame,
	struct ww_producer_slot **out_slot)
{
	if (frame->slot >= producer->channel.form.slot_count ||
		!producer->slots[frame->slot].is_held)
		return ww_fail(WW_ERR_INVALID,
			"slot %" PRIu32
			" is not held: it was published or discarded already, or never "
			"acquired",
			frame->slot);
	*out_slot = &producer->slots[frame->slot];
	return WW_OK;
}

static ww_status check_frame(const struct ww_channel *channel, const struct ww_frame *frame)
{
	if (frame->bytes > channel->form.slot_bytes)
		return ww_fail(WW_ERR_INVALID,
			"a frame of %" PRIu64 " bytes does not fit into a slot of %" PRIu64
			" bytes; make the channel with larger slots",
			frame->bytes, channel->form.slot_bytes);
	if (frame->metadata_bytes > channel->form.metadata_bytes)
		return ww_fail(WW_ERR_INVALID,
			"metadata of %" PRIu32 " bytes does not fit into the %" PRIu32
			" bytes that the channel has for it",
			frame->metadata_bytes, channel->form.metadata_bytes);
	if (frame->ndim > WW_FRAME_DIMS)
		return ww_fail(WW_ERR_INVALID,
			"a frame's shape cannot have %" PRIu32 " dimensions; at most %d",
			frame->ndim, WW_FRAME_DIMS);
	return WW_OK;
}

static ww_status require_known(const struct ww_channel *channel)
{
	if (__atomic_load_n(&channel->timeline->page->header->lost, __ATOMIC_ACQUIRE))
		return ww_fail(WW_ERR_PEER_LOST,
			"cannot publish a frame: the connection to the broker broke, which has told the "
			"consumers that this producer ended; make the channel anew");
	return WW_OK;
}

static void write_slot(struct ww_layout_channel_slot *slot, const struct ww_frame *frame,
	uint64_t ready)
{
	slot->ready = ready;
	slot->bytes = frame->bytes;
	slot->submitted_ns = frame->submitted_ns;
	slot->ndim = frame->ndim;
	slot->metadata_bytes = frame->metadata_bytes;
	if (frame->ndim > 0) /* else it stays out of the cache */
		memcpy(slot->shape, frame->shape, sizeof(slot->shape));
}

/* Return: whether all consumers are known. */
static bool meet_newcomers(struct ww_channel *channel)
{
	struct ww_error record;
	ww_status status;

	if (ww_consumers_are_met(channel)) /* then no record need be kept */
		return true;
	ww_error_save(&record);
	status = ww_consumers_meet(channel);
	ww_error_restore(&record);
	return status == WW_OK;
}

/* Newcomers may be asleep: they are met first. If they cannot be met, all are woken. */
static void wake_consumers(struct ww_producer *producer)
{
	if (meet_newcomers(&producer->channel))
		ww_consumers_wake(&producer->channel.consumers, &producer->channel.ring);
	else
		ww_ring_wake(&producer->channel.ring);
}

ww_status ww_channel_publish(ww_channel *channel, struct ww_frame *frame, ww_stream *stream)
{
	struct ww_producer *producer;
	struct ww_producer_slot *slot;
	uint64_t value;

	ww_try(ww_process_enter());
	ww_require(channel && frame, "ww_channel_publish: channel or frame is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_check_frame(frame));
	ww_try(require_producer(channel, "publish"));
	producer = ww_producer_of(channel);
	ww_try(find_held(producer, frame, &slot));
	ww_try(check_frame(channel, frame));
	ww_try(require_known(channel));
	ww_try(ww_producer_check_name(producer));
	ww_try(ww_channel_signal(channel, stream, &value));
	ww_channel_check_deadline(channel);
	slot->ready = value;
	slot->ready_by = stream ? stream->serial : 0;
	frame->number = ++producer->published;
	frame->submitted_ns = ww_clock_now_ns();
	slot->frame = frame->number;
	slot->is_held = false;
	channel->held--;
	write_slot(ww_ring_slot(&channel->ring, frame->slot), frame, slot->ready);
	ww_list_append(&producer->published_slots, &slot->link);
	ww_ring_publish(&channel->ring, frame->slot, frame->number, frame->submitted_ns);
	wake_consumers(producer);
	if (!stream)
		ww_producer_take_back_early(producer);
	ww_channel_set_notice(channel);
	return WW_OK;
}

ww_status ww_channel_discard(ww_channel *channel, const struct ww_frame *frame, ww_stream *stream)
{
	struct ww_producer *producer;
	struct ww_producer_slot *slot;
	uint64_t value;

	ww_try(ww_process_enter());
	ww_require(channel && frame, "ww_channel_discard: channel or frame is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_check_frame(frame));
	ww_try(require_producer(channel, "discard"));
	producer = ww_producer_of(channel);
	ww_try(find_held(producer, frame, &slot));
	ww_try(ww_channel_signal(channel, stream, &value));
	if (value) { /* else earlier work of ours may still use it */
		slot->ready = value;
		slot->ready_by = stream->serial;
	}
	ww_producer_give_back(producer, slot);
	channel->held--;
	ww_channel_set_notice(channel);
	return WW_OK;
}

/* --- a consumer --- */

static ww_status require_consumer(const struct ww_channel *channel, const char *action)
{
	if (!channel->is_producer && !channel->is_observer)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot %s a frame: this is %s; get the channel to be a consumer too", action,
		channel->is_producer ? "the channel's producer" : "an observer of the channel");
}

ww_status ww_channel_receive(ww_channel *channel, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(channel && out_frame, "ww_channel_receive: channel or out_frame is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_check_frame(out_frame));
	ww_try(require_consumer(channel, "receive"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_channel_pause_notice(channel);
	status = ww_consumer_receive(ww_consumer_of(channel), stream, timeout_ns, out_frame);
	ww_channel_set_notice(channel);
	return status;
}

ww_status ww_channel_release(ww_channel *channel, const struct ww_frame *frame, ww_stream *stream)
{
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(channel && frame, "ww_channel_release: channel or frame is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_channel_check_frame(frame));
	ww_try(require_consumer(channel, "release"));
	status = ww_consumer_release(ww_consumer_of(channel), frame, stream);
	ww_channel_set_notice(channel);
	return status;
}
