/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_streams.c - frames that streams write and read, in one process
 */
#include <string.h>

#include "conformance/channel.h"

SCENE_CASE(channel_stream_orders, CHANNEL_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got = WW_INIT(struct ww_frame);
	static struct gate gate;
	uint32_t copy = 0;
	OWN(memory) ww_memory *to = memory_make(scene.device, WW_MEMORY_VMM, SLOT_BYTES);
	OWN(stream) ww_stream *writes = stream_make(scene.device);
	OWN(stream) ww_stream *reads = stream_make(scene.device);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);

	MUST_OK(ww_channel_acquire(producer, writes, FOREVER, NULL, &frame));
	gate_close(&gate, writes);
	MUST_OK(ww_stream_fill(writes, frame.pointer, 0xabcd1234, 4, 16));
	frame.metadata_bytes = 0;
	MUST_OK(ww_channel_publish(producer, &frame, writes));
	/* The frame is there, and not complete. */
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(consumer, NULL, SOON_NS, NULL, &got));
	MUST_OK(ww_channel_receive(consumer, reads, FOREVER, NULL, &got));
	MUST_OK(ww_stream_copy(reads, ww_memory_pointer(to), got.pointer, sizeof(copy)));
	MUST_OK(ww_channel_release(consumer, &got, reads));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(reads, FOREVER, NULL));
	memory_get(to, 0, &copy, sizeof(copy));
	MUST_EQUAL(0xabcd1234, copy);
}

/* A slot whose release is not complete is written by a stream that waits, and by no CPU. */
SCENE_CASE(channel_release_orders, CHANNEL_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got;
	static struct gate gate;
	uint64_t copy = 0;
	OWN(memory) ww_memory *to = memory_make(scene.device, WW_MEMORY_VMM, SLOT_BYTES);
	OWN(stream) ww_stream *writes = stream_make(scene.device);
	OWN(stream) ww_stream *reads = stream_make(scene.device);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);

	frame_send(producer, 8);
	got = frame_receive(consumer);
	gate_close(&gate, reads);
	MUST_OK(ww_stream_copy(reads, ww_memory_pointer(to), got.pointer, sizeof(copy)));
	MUST_OK(ww_channel_release(consumer, &got, reads));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, SOON_NS, NULL, &frame));
	MUST_OK(ww_channel_acquire(producer, writes, FOREVER, NULL, &frame));
	MUST_OK(ww_stream_fill(writes, frame.pointer, 0, 4, 16));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(writes));
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, SOON_NS, NULL, &frame));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(reads, FOREVER, NULL));
	MUST_OK(ww_stream_synchronize(writes, FOREVER, NULL));
	memory_get(to, 0, &copy, sizeof(copy));
	MUST_EQUAL(8, copy);
}

/* What a case with several consumers that read by streams has. */
struct readers {
	ww_channel *consumers[3];
	ww_stream *streams[3];
	struct gate gates[3];
};

/*
 * Each consumer releases the frame behind a gate, the one with the number @last as the last. Gates
 * open in the order in which they were closed, since the driver may run the functions of all
 * streams one after the other.
 */
static void releases_must_order(struct readers *readers, ww_channel *producer, ww_stream *writes,
	int last)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got;
	int which;

	frame_send(producer, 8);
	for (int i = 1; i <= 3; i++) {
		which = (last + i) % 3;
		got = frame_receive(readers->consumers[which]);
		gate_close(&readers->gates[which], readers->streams[which]);
		MUST_OK(ww_channel_release(readers->consumers[which], &got,
			readers->streams[which]));
	}
	MUST_OK(ww_channel_acquire(producer, writes, FOREVER, NULL, &frame));
	for (int i = 1; i <= 3; i++) {
		which = (last + i) % 3;
		MUST_STATUS(WW_NOT_READY, ww_stream_query(writes));
		gate_open(&readers->gates[which]);
		MUST_OK(ww_stream_synchronize(readers->streams[which], FOREVER, NULL));
	}
	MUST_OK(ww_stream_synchronize(writes, FOREVER, NULL));
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
}

/* The producer's stream writes a slot when the streams of all consumers have read it. */
SCENE_CASE(channel_releases_of_several_order, CHANNEL_STREAMS)
{
	static struct readers readers;
	ww_stream *writes = stream_make(scene.device);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));

	for (int i = 0; i < 3; i++) {
		readers.consumers[i] = channel_get(0);
		readers.streams[i] = stream_make(scene.device);
	}
	for (int last = 0; last < 3; last++)
		releases_must_order(&readers, producer, writes, last);
	ww_stream_unref(writes);
	for (int i = 0; i < 3; i++) {
		ww_stream_unref(readers.streams[i]);
		ww_channel_unref(readers.consumers[i]);
	}
}

/*
 * A slot is used again after the producer's own work on it: at once by the same stream, by another
 * one after a wait on the device, and by the CPU when the work is complete.
 */
SCENE_CASE(channel_own_work_orders, CHANNEL_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	static struct gate gate;
	OWN(stream) ww_stream *first = stream_make(scene.device);
	OWN(stream) ww_stream *second = stream_make(scene.device);
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));

	MUST_OK(ww_channel_acquire(producer, first, FOREVER, NULL, &frame));
	gate_close(&gate, first);
	MUST_OK(ww_channel_discard(producer, &frame, first));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(producer, NULL, SOON_NS, NULL, &frame));
	MUST_OK(ww_channel_acquire(producer, first, FOREVER, NULL, &frame));
	MUST_OK(ww_channel_discard(producer, &frame, first));
	MUST_OK(ww_channel_acquire(producer, second, FOREVER, NULL, &frame));
	MUST_STATUS(WW_NOT_READY, ww_stream_query(second));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(second, FOREVER, NULL));
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
}

/* With a policy that drops, a release that is not complete counts as held. */
SCENE_CASE(channel_drop_counts_releasing, CHANNEL_STREAMS)
{
	struct ww_frame got = WW_INIT(struct ww_frame);
	static struct gate gate;
	OWN(stream) ww_stream *reads = stream_make(scene.device);
	OWN(channel)
	ww_channel *producer = channel_make(
		CHANNEL(.policy = WW_CHANNEL_LATEST, .consumers_max = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);

	frame_send(producer, 1);
	got = frame_receive(consumer);
	gate_close(&gate, reads);
	MUST_OK(ww_channel_release(consumer, &got, reads));
	for (uint64_t i = 2; i <= 20; i++)
		frame_send(producer, i);
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(consumer, NULL, SOON_NS, NULL, &got));
	gate_open(&gate);
	frame_must_come(consumer, 20, 20);
}

/* --- leaving --- */

/* Its work goes on, and consumers get the frame when it is complete. */
SCENE_CASE(channel_producer_leaves_before_its_stream, CHANNEL_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct ww_frame got = WW_INIT(struct ww_frame);
	static struct gate gate;
	uint32_t value;
	OWN(stream) ww_stream *writes = stream_make(scene.device);
	ww_channel *producer = channel_make(CHANNEL(.kind = WW_MEMORY_HOST));
	OWN(channel) ww_channel *consumer = channel_get(0);

	MUST_OK(ww_channel_acquire(producer, writes, FOREVER, NULL, &frame));
	gate_close(&gate, writes);
	MUST_OK(ww_stream_fill(writes, frame.pointer, 0xabcd1234, 4, SLOT_BYTES / 4));
	frame.metadata_bytes = 0;
	MUST_OK(ww_channel_publish(producer, &frame, writes));
	ww_channel_unref(producer);
	MUST_STATUS(WW_TIMED_OUT, ww_channel_receive(consumer, NULL, SOON_NS, NULL, &got));
	gate_open(&gate);
	MUST_OK(ww_channel_receive(consumer, NULL, FOREVER, NULL, &got));
	memcpy(&value, (char *)got.host_pointer + SLOT_BYTES - sizeof(value), sizeof(value));
	MUST_EQUAL(0xabcd1234, value);
	MUST_OK(ww_channel_release(consumer, &got, NULL));
	MUST_STATUS(WW_END, ww_channel_receive(consumer, NULL, FOREVER, NULL, &got));
	MUST_OK(ww_stream_synchronize(writes, FOREVER, NULL));
}

/* What waits for a stream is let go by a later call. */
static bool has_after_call(const struct ww_broker_info *info, uint64_t objects)
{
	OWN(timeline) ww_timeline *timeline;

	MUST_OK(ww_timeline_create(NULL, &timeline));
	return info->objects == objects;
}

/* What its stream still reads is not written meanwhile, and stays mapped. */
SCENE_CASE(channel_consumer_leaves_before_its_stream, CHANNEL_STREAMS)
{
	struct ww_frame got = WW_INIT(struct ww_frame);
	static struct gate gate;
	uint64_t copy = 0;
	ww_memory *to = memory_make(scene.device, WW_MEMORY_VMM, SLOT_BYTES);
	ww_stream *reads = stream_make(scene.device);
	ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	ww_channel *consumer = channel_get(0);

	frame_send(producer, 7);
	MUST_OK(ww_channel_receive(consumer, NULL, FOREVER, NULL, &got));
	gate_close(&gate, reads);
	MUST_OK(ww_stream_copy(reads, ww_memory_pointer(to), got.pointer, sizeof(copy)));
	MUST_OK(ww_channel_release(consumer, &got, reads));
	ww_channel_unref(consumer);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(reads, FOREVER, NULL));
	memory_get(to, 0, &copy, sizeof(copy));
	MUST_EQUAL(7, copy);
	frame_send(producer, 8);
	ww_memory_unref(to);
	ww_stream_unref(reads);
	ww_channel_unref(producer);
	MUST(scene_comes_true(has_after_call, 0));
}
