/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames.c - the calls for frames: the producer acquires slots, and publishes or discards them; a
 * consumer receives frames, and releases them
 *
 * How a slot is found is in acquire.c, and how a frame is received in receive.c.
 */
#include <stddef.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/eventfd.h"
#include "channel/producer.h"
#include "device/stream.h"

#define FRAME_V1_BYTES offsetof(struct ww_frame, producer)

/* What all of them begin with. @action: "acquire" */
static ww_status enter(const struct ww_channel *channel, const struct ww_frame *frame,
	const char *action)
{
	ww_try(ww_process_enter());
	ww_require(channel && frame, "ww_channel_%s: channel or frame is NULL", action);
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	return ww_params_check(frame, FRAME_V1_BYTES, "ww_frame");
}

/* --- the producer --- */

static ww_status enter_producer(const struct ww_channel *channel, const struct ww_frame *frame,
	const char *action)
{
	ww_try(enter(channel, frame, action));
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

	ww_try(enter_producer(channel, out_frame, "acquire"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_eventfd_pause(channel->eventfd);
	status = ww_producer_acquire(ww_producer_of(channel), stream, timeout_ns, out_frame);
	ww_channel_eventfd_set(channel);
	return status;
}

/* Return: NULL: the caller does not hold it. */
static struct ww_producer_slot *find_held(struct ww_producer *producer,
	const struct ww_frame *frame)
{
	return frame->slot < producer->channel.form.slot_count &&
			producer->slots[frame->slot].is_held
		? &producer->slots[frame->slot]
		: NULL;
}

/* Newcomers may be asleep: they are met first. If they cannot be met, all are woken. */
static void wake_consumers(struct ww_channel *channel)
{
	struct ww_error record;
	ww_status status = WW_OK;

	if (!ww_consumers_are_met(channel)) { /* else no record need be kept */
		ww_error_save(&record);
		status = ww_consumers_meet(channel);
		ww_error_restore(&record);
	}
	if (status == WW_OK)
		ww_consumers_wake(&channel->consumers, &channel->ring);
	else
		ww_ring_wake(&channel->ring);
}

ww_status ww_channel_publish(ww_channel *channel, struct ww_frame *frame, ww_stream *stream)
{
	struct ww_producer *producer;
	struct ww_producer_slot *slot;
	uint64_t value;

	ww_try(enter_producer(channel, frame, "publish"));
	producer = ww_producer_of(channel);
	slot = find_held(producer, frame);
	if (!slot)
		return ww_frame_fail_slot(frame);
	ww_try(ww_frame_check(frame, &channel->frame_form));
	ww_try(ww_frame_require_known(channel->timeline, &channel->frame_form, "publish"));
	ww_try(ww_producer_check_name(producer));
	ww_try(ww_frame_signal(channel->timeline, stream, &channel->value, &value));
	ww_channel_check_deadline(channel);
	slot->ready = value;
	slot->ready_by = stream ? stream->serial : 0;
	frame->number = ++producer->published;
	frame->submitted_ns = ww_clock_now_ns();
	slot->frame = frame->number;
	slot->is_held = false;
	channel->held--;
	ww_frame_write(frame, slot->ready, ww_ring_slot(&channel->ring, frame->slot));
	ww_list_append(&producer->published_slots, &slot->link);
	ww_ring_publish(&channel->ring, frame->slot, frame->number, frame->submitted_ns);
	wake_consumers(channel);
	if (!stream)
		ww_producer_take_back_early(producer);
	ww_channel_eventfd_set(channel);
	return WW_OK;
}

ww_status ww_channel_discard(ww_channel *channel, const struct ww_frame *frame, ww_stream *stream)
{
	struct ww_producer *producer;
	struct ww_producer_slot *slot;
	uint64_t value;

	ww_try(enter_producer(channel, frame, "discard"));
	producer = ww_producer_of(channel);
	slot = find_held(producer, frame);
	if (!slot)
		return ww_frame_fail_slot(frame);
	ww_try(ww_frame_signal(channel->timeline, stream, &channel->value, &value));
	if (value) { /* else earlier work of ours may still use it */
		slot->ready = value;
		slot->ready_by = stream->serial;
	}
	ww_producer_give_back(producer, slot);
	channel->held--;
	ww_channel_eventfd_set(channel);
	return WW_OK;
}

/* --- a consumer --- */

static ww_status enter_consumer(const struct ww_channel *channel, const struct ww_frame *frame,
	const char *action)
{
	ww_try(enter(channel, frame, action));
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

	ww_try(enter_consumer(channel, out_frame, "receive"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_eventfd_pause(channel->eventfd);
	status = ww_consumer_receive(ww_consumer_of(channel), stream, timeout_ns, out_frame);
	ww_channel_eventfd_set(channel);
	return status;
}

ww_status ww_channel_release(ww_channel *channel, const struct ww_frame *frame, ww_stream *stream)
{
	ww_status status;

	ww_try(enter_consumer(channel, frame, "release"));
	status = ww_consumer_release(ww_consumer_of(channel), frame, stream);
	ww_channel_eventfd_set(channel);
	return status;
}
