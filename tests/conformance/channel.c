/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - channels whose producer and consumers are in one process
 *
 * Each ww_channel is a side of its own, whatever process it is in; that processes do the same, and
 * what happens when they end, is seen in tests/integration.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "conformance/channel.h"

static struct ww_channel_info channel_info(ww_channel *channel)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(channel, &info));
	return info;
}

static void nothing_must_come(ww_channel *channel)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(channel, NULL, 0, NULL, &frame));
}

/* --- making and joining --- */

SCENE_CASE(channel_create_refuses, 0)
{
	const int64_t shape[] = {1025};
	struct ww_array array;
	const struct {
		ww_status status;
		const char *word;
		struct ww_channel_params params;
	} wrong[] = {
		{WW_ERR_INVALID, "slot_bytes", {.slots = 2}},
		{WW_ERR_INVALID, "policy 4 of a channel; use 1 (block)",
			{.slot_bytes = 1, .policy = 4}},
		{WW_ERR_INVALID, "4096", {.slot_bytes = 1, .slots = 4097}},
		{WW_ERR_INVALID, "32", {.slot_bytes = 1, .consumers_max = 33}},
		{WW_ERR_INVALID, "= 7 are needed",
			{.slot_bytes = 1, .slots = 6, .policy = WW_CHANNEL_LATEST}},
		{WW_ERR_OVERFLOW, "slots", {.slot_bytes = UINT64_MAX / 4, .slots = 8}},
		{WW_ERR_MISMATCH, "do not fit into slots of 4096 bytes",
			{.slot_bytes = SLOT_BYTES, .array = &array}},
	};

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, shape, NULL, 0));
	for (size_t i = 0; i < CHECK_COUNT(wrong); i++) {
		struct ww_channel_params params = wrong[i].params;
		ww_channel *channel = (ww_channel *)&params;

		params.struct_size = sizeof(params);
		MUST_REFUSE(wrong[i].status, wrong[i].word,
			ww_channel_create(scene.device, scene.broker, "c", &params, NULL,
				&channel));
		MUST(!channel);
	}
}

SCENE_CASE(channel_get_refuses, CHANNELS)
{
	const int64_t shape[] = {4, 8};
	struct ww_array floats;
	struct ww_array bytes;
	OWN(channel) ww_channel *channel;
	OWN(channel) ww_channel *producer;

	MUST_OK(ww_array_set(&floats, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0));
	MUST_OK(ww_array_set(&bytes, WW_DTYPE(WW_DTYPE_UINT, 8), 2, shape, NULL, 0));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "'c'",
		ww_channel_get(scene.device, scene.broker, "c", NULL, 0, NULL, &channel));
	producer = channel_make(
		CHANNEL(.array = &floats, .metadata_type = "pose/1", .consumers_max = 1));
	MUST_REFUSE(WW_ERR_MISMATCH, "float32 [4, 8], and uint8 [4, 8] was asked for",
		ww_channel_get(scene.device, scene.broker, "c", CONSUMER(.array = &bytes), 0, NULL,
			&channel));
	MUST_REFUSE(WW_ERR_MISMATCH, "'pose/1', and 'pose/2' was asked for",
		ww_channel_get(scene.device, scene.broker, "c", CONSUMER(.metadata_type = "pose/2"),
			0, NULL, &channel));
	MUST_OK(ww_channel_get(scene.device, scene.broker, "c",
		CONSUMER(.array = &floats, .metadata_type = "pose/1"), 0, NULL, &channel));
	MUST(channel_info(channel).has_array);
	MUST_REFUSE(WW_ERR_LIMIT, "1 consumers",
		ww_channel_get(scene.device, scene.broker, "c", NULL, 0, NULL, &(ww_channel *){0}));
}

SCENE_CASE(channel_sides_refuse, CHANNELS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame unset = {.slot = 0};
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.metadata_bytes = 8));
	OWN(channel) ww_channel *consumer = channel_get(0);

	MUST_REFUSE(WW_ERR_ACCESS, "consumer", ww_channel_acquire(consumer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_ACCESS, "producer", ww_channel_receive(producer, NULL, 0, NULL, &frame));
	MUST_REFUSE(WW_ERR_INVALID, "struct_size",
		ww_channel_acquire(producer, NULL, 0, NULL, &unset));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_channel_publish(producer, &frame, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_channel_release(consumer, &frame, NULL));
	frame = frame_acquire(producer);
	frame.bytes = SLOT_BYTES + 1;
	MUST_REFUSE(WW_ERR_INVALID, "4097 bytes", ww_channel_publish(producer, &frame, NULL));
	frame.bytes = 1;
	frame.metadata_bytes = 9;
	MUST_REFUSE(WW_ERR_INVALID, "metadata", ww_channel_publish(producer, &frame, NULL));
	frame.metadata_bytes = 0;
	frame.ndim = WW_FRAME_DIMS + 1;
	MUST_REFUSE(WW_ERR_INVALID, "dimensions", ww_channel_publish(producer, &frame, NULL));
	frame.ndim = 0;
	nothing_must_come(consumer);
	MUST_OK(ww_channel_publish(producer, &frame, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_channel_publish(producer, &frame, NULL));
	frame = frame_receive(consumer);
	MUST_EQUAL(1, frame.number);
	MUST_REFUSE(WW_ERR_STATE, "held_max",
		ww_channel_receive(consumer, NULL, 0, NULL, &(struct ww_frame){sizeof(frame)}));
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "not held", ww_channel_release(consumer, &frame, NULL));
}

/* A program that was built before the last two fields has no room for them. */
SCENE_CASE(channel_frame_may_be_shorter, CHANNELS)
{
	struct ww_frame frame = {
		.struct_size = offsetof(struct ww_frame, producer),
		.producer = 1,
		.attempts = 2,
	};
	OWN(channel) ww_channel *producer = channel_make(CHANNEL());
	OWN(channel) ww_channel *consumer = channel_get(0);

	MUST_OK(ww_channel_acquire(producer, NULL, 0, NULL, &frame));
	MUST_OK(ww_channel_publish(producer, &frame, NULL));
	MUST_OK(ww_channel_receive(consumer, NULL, 0, NULL, &frame));
	MUST(frame.producer == 1 && frame.attempts == 2);
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	frame_send(producer, 1);
	frame.struct_size = sizeof(frame);
	MUST_OK(ww_channel_receive(consumer, NULL, 0, NULL, &frame));
	MUST(frame.producer == 0 && frame.attempts == 0);
	frame.struct_size = offsetof(struct ww_frame, producer) - 1;
	MUST_REFUSE(WW_ERR_INVALID, "struct_size", ww_channel_release(consumer, &frame, NULL));
}

/* --- frames --- */

SCENE_CASE(channel_frame_is_whole, CHANNELS)
{
	struct ww_frame got;
	OWN(channel)
	ww_channel *producer = channel_make(
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 1000, .metadata_bytes = 24));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame sent = frame_acquire(producer);

	MUST_EQUAL(1024, sent.capacity);
	MUST_EQUAL(24, sent.metadata_bytes);
	frame_write(&sent, 77);
	memcpy(sent.metadata, "a pose", 7);
	sent.metadata_bytes = 7;
	sent.ndim = 2;
	sent.shape[0] = 2;
	sent.shape[1] = 4;
	MUST_OK(ww_channel_publish(producer, &sent, NULL));
	got = frame_receive(consumer);
	MUST_EQUAL(1, got.number);
	MUST_EQUAL(sent.submitted_ns, got.submitted_ns);
	MUST_EQUAL(FRAME_WORDS * 8, got.bytes);
	frame_must_be(&got, 77);
	MUST_EQUAL(7, got.metadata_bytes);
	MUST(!strcmp(got.metadata, "a pose"));
	MUST_EQUAL(2, got.ndim);
	MUST_EQUAL(4, got.shape[1]);
	MUST_OK(ww_channel_release(consumer, &got, NULL));
}

SCENE_CASE(channel_block_waits_for_all, CHANNELS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *fast = channel_get(0);
	ww_channel *slow = channel_get(0);

	for (uint64_t i = 1; i <= 2; i++) {
		frame_send(producer, i);
		frame_must_come(fast, i, i);
	}
	MUST_REFUSE(WW_TIMED_OUT, "has not released",
		ww_channel_acquire(producer, NULL, SOON_NS, NULL, &frame));
	frame_must_come(slow, 1, 1);
	frame_send(producer, 3);
	frame = frame_receive(slow);
	MUST_EQUAL(2, frame.number);
	MUST_STATUS(WW_TIMED_OUT,
		ww_channel_acquire(producer, NULL, 0, NULL, &(struct ww_frame){sizeof(frame)}));
	slow = ww_channel_unref(slow); /* which releases what it holds */
	frame_send(producer, 4);
	frame_must_come(fast, 3, 3);
	frame_must_come(fast, 4, 4);
	MUST_EQUAL(0, channel_info(fast).dropped);
}

SCENE_CASE(channel_drop_oldest_drops, CHANNELS)
{
	OWN(channel) ww_channel *consumer;
	struct ww_frame held;
	OWN(channel)
	ww_channel *producer = channel_make(
		CHANNEL(.policy = WW_CHANNEL_DROP_OLDEST, .consumers_max = 1, .ahead_max = 1));

	MUST_EQUAL(3, channel_info(producer).slots);
	consumer = channel_get(0);
	frame_send(producer, 1);
	held = frame_receive(consumer);
	for (uint64_t i = 2; i <= 100; i++)
		frame_send(producer, i);
	frame_must_be(&held, 1);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	frame_must_come(consumer, 99, 99);
	frame_must_come(consumer, 100, 100);
	MUST_EQUAL(97, channel_info(consumer).dropped);
	nothing_must_come(consumer);
}

SCENE_CASE(channel_latest_is_newest, CHANNELS)
{
	OWN(channel) ww_channel *late;
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.policy = WW_CHANNEL_LATEST));
	OWN(channel) ww_channel *consumer = channel_get(0);

	for (uint64_t i = 1; i <= 50; i++)
		frame_send(producer, i);
	frame_must_come(consumer, 50, 50);
	nothing_must_come(consumer);
	late = channel_get(0);
	frame_must_come(late, 50, 50);
	frame_send(producer, 51);
	frame_must_come(consumer, 51, 51);
	MUST_EQUAL(0, channel_info(consumer).dropped);
}

static void begins_with(uint64_t history, uint64_t number)
{
	OWN(channel) ww_channel *consumer = channel_get(history);

	frame_must_come(consumer, number, number);
}

SCENE_CASE(channel_history_begins, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 8));
	OWN(channel) ww_channel *consumer = channel_get(WW_CHANNEL_OLDEST);

	nothing_must_come(consumer);
	ww_channel_unref(consumer);
	for (uint64_t i = 1; i <= 20; i++)
		frame_send(producer, i);
	begins_with(1, 20);
	begins_with(3, 18);
	begins_with(WW_CHANNEL_OLDEST, 13);
	consumer = channel_get(0);
	nothing_must_come(consumer);
	frame_send(producer, 21);
	frame_must_come(consumer, 21, 21);
}

/* Frames that wait behind one that is held are not taken back before it. */
SCENE_CASE(channel_history_has_no_gap, CHANNELS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	OWN(channel) ww_channel *late;
	struct ww_frame held;
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 4, .held_max = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);

	frame_send(producer, 1);
	frame_send(producer, 2);
	held = frame_receive(consumer);
	frame_must_come(consumer, 2, 2);
	frame_send(producer, 3);
	frame_send(producer, 4);
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, 0, NULL, &frame));
	late = channel_get(WW_CHANNEL_OLDEST);
	for (uint64_t i = 1; i <= 4; i++)
		frame_must_come(late, i, i);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	frame_send(producer, 5);
	frame_must_come(late, 5, 5);
}

SCENE_CASE(channel_close_ends_after_all, CHANNELS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_channel *producer = channel_make(CHANNEL(.slots = 0));
	OWN(channel) ww_channel *consumer = channel_get(0);

	frame_send(producer, 5);
	frame_send(producer, 6);
	ww_channel_unref(producer);
	frame_must_come(consumer, 1, 5);
	frame_must_come(consumer, 2, 6);
	MUST_STATUS(WW_END, ww_channel_receive(consumer, NULL, FOREVER, NULL, &frame));
}

SCENE_CASE(channel_token_opens, CHANNELS)
{
	OWN(channel) ww_channel *producer;
	OWN(channel) ww_channel *consumer;
	struct ww_token token;

	MUST_OK(ww_channel_create(scene.device, scene.broker, NULL, CHANNEL(.slots = 0), NULL,
		&producer));
	MUST_OK(ww_channel_export(producer, WW_PARAMS(struct ww_token_params, .uses = 1), NULL,
		&token));
	MUST_OK(ww_channel_import(scene.device, scene.broker, &token, NULL, NULL, &consumer));
	frame_send(producer, 9);
	frame_must_come(consumer, 1, 9);
}

SCENE_CASE(channel_several_are_held, CHANNELS)
{
	struct ww_frame frames[3];
	struct ww_frame got[2];
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 3, .held_max = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);

	for (int i = 0; i < 3; i++)
		frames[i] = frame_acquire(producer);
	MUST_REFUSE(WW_ERR_STATE, "3 of at most 3",
		ww_channel_acquire(producer, NULL, 0, NULL, &(struct ww_frame){sizeof(*frames)}));
	MUST_OK(ww_channel_discard(producer, &frames[1], NULL));
	for (int i = 2; i >= 0; i -= 2) {
		frame_write(&frames[i], (uint64_t)i);
		MUST_OK(ww_channel_publish(producer, &frames[i], NULL));
	}
	got[0] = frame_receive(consumer);
	got[1] = frame_receive(consumer);
	frame_must_be(&got[0], 2);
	frame_must_be(&got[1], 0);
	MUST_OK(ww_channel_release(consumer, &got[1], NULL));
	frame_send(producer, 7);
	frame_must_come(consumer, 3, 7);
	MUST_OK(ww_channel_release(consumer, &got[0], NULL));
}

/* Asked without any other call since they came, and since one left. */
SCENE_CASE(channel_info_counts_consumers, CHANNELS)
{
	OWN(channel) ww_channel *one;
	ww_channel *other;
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 0));

	MUST_EQUAL(0, channel_info(producer).consumers);
	one = channel_get(0);
	other = channel_get(0);
	MUST_EQUAL(2, channel_info(producer).consumers);
	ww_channel_unref(other);
	MUST_EQUAL(1, channel_info(producer).consumers);
}

/* Of an array's channel a frame has the array's bytes, if the producer says nothing else. */
SCENE_CASE(channel_frame_has_the_bytes_of_the_array, CHANNELS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	const int64_t shape[] = {3};
	struct ww_array array;
	OWN(channel) ww_channel *producer;

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, shape, NULL, 0));
	producer = channel_make(
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 100, .array = &array));
	MUST_OK(ww_channel_acquire(producer, NULL, 0, NULL, &frame));
	MUST_EQUAL(12, frame.bytes);
	MUST_EQUAL(WW_FRAME_ALIGNMENT, frame.capacity);
}

/* A frame has no strides of its own, so an array in another order, or behind an offset, is none. */
SCENE_CASE(channel_array_in_another_order, CHANNELS)
{
	const int64_t shape[] = {2, 3};
	const int64_t columns_first[] = {4, 8};
	struct ww_array array;
	ww_channel *producer;

	MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, columns_first, 0));
	for (int i = 0; i < 2; i++) {
		MUST_REFUSE(WW_ERR_INVALID, "C order",
			ww_channel_create(scene.device, scene.broker, "c",
				WW_PARAMS(struct ww_channel_params, .slot_bytes = 100,
					.array = &array),
				NULL, &producer));
		MUST_OK(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 4));
	}
}

/* --- threads --- */

#define MANY 20000

static void *receive_all(void *context)
{
	uint64_t wrong = 0;

	for (uint64_t i = 1; i <= MANY; i++) {
		struct ww_frame frame = WW_INIT(struct ww_frame);

		if (ww_channel_receive(context, NULL, FOREVER, NULL, &frame) != WW_OK)
			return (void *)(uintptr_t)1;
		wrong += frame.number != i || *(const uint64_t *)frame.metadata != i * i;
		if (ww_channel_release(context, &frame, NULL) != WW_OK)
			return (void *)(uintptr_t)1;
	}
	return (void *)(uintptr_t)wrong;
}

static void send_all(ww_channel *producer)
{
	for (uint64_t i = 1; i <= MANY; i++) {
		struct ww_frame frame = frame_acquire(producer);

		*(uint64_t *)frame.metadata = i * i;
		frame.metadata_bytes = 8;
		frame.bytes = 0;
		MUST_OK(ww_channel_publish(producer, &frame, NULL));
	}
}

SCENE_CASE(channel_threads_lose_nothing, CHANNELS)
{
	ww_channel *consumers[3];
	pthread_t threads[3];
	OWN(channel)
	ww_channel *producer = channel_make(
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 512, .metadata_bytes = 8));

	for (int i = 0; i < 3; i++) {
		consumers[i] = channel_get(0);
		MUST(!pthread_create(&threads[i], NULL, receive_all, consumers[i]));
	}
	send_all(producer);
	for (int i = 0; i < 3; i++) {
		void *wrong;

		MUST(!pthread_join(threads[i], &wrong));
		MUST_EQUAL(0, (uintptr_t)wrong);
		ww_channel_unref(consumers[i]);
	}
}
