/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - what the cases of channels in one process share
 */
#ifndef TESTS_CONFORMANCE_CHANNEL_H
#define TESTS_CONFORMANCE_CHANNEL_H

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/channel.h"

#define FOREVER WW_FOREVER

#define CHANNELS        (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)
#define CHANNEL_STREAMS (CHANNELS | WW_CAP_STREAM_VALUE)

#define CHANNEL(...)  WW_PARAMS(struct ww_channel_params, .slot_bytes = SLOT_BYTES, __VA_ARGS__)
#define CONSUMER(...) WW_PARAMS(struct ww_consumer_params, __VA_ARGS__)

#define SLOT_BYTES 4096
#define SOON_NS    UINT64_C(20000000)

static inline ww_channel *channel_make(const struct ww_channel_params *params)
{
	ww_channel *channel;

	MUST_OK(ww_channel_create(scene.device, scene.broker, "c", params, NULL, &channel));
	return channel;
}

static inline ww_channel *channel_get(uint64_t history)
{
	ww_channel *channel;

	MUST_OK(ww_channel_get(scene.device, scene.broker, "c", CONSUMER(.history = history), 0,
		NULL, &channel));
	return channel;
}

static inline struct ww_frame frame_acquire(ww_channel *channel)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(channel, NULL, FOREVER, NULL, &frame));
	return frame;
}

static inline struct ww_frame frame_receive(ww_channel *channel)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_receive(channel, NULL, FOREVER, NULL, &frame));
	return frame;
}

static inline void frame_must_be(const struct ww_frame *frame, uint64_t value)
{
	uint64_t found;

	MUST(frame_read(frame, &found));
	MUST_EQUAL(value, found);
}

static inline void frame_must_come(ww_channel *channel, uint64_t number, uint64_t value)
{
	struct ww_frame frame = frame_receive(channel);

	MUST_EQUAL(number, frame.number);
	frame_must_be(&frame, value);
	MUST_OK(ww_channel_release(channel, &frame, NULL));
}

#endif
