/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_members.c - what the sides of a channel learn of each other, in one process: events,
 * descriptions, deadlines, evictions, limits, observers
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conformance/channel.h"

#define MS   UINT64_C(1000000)
#define HOUR (UINT64_C(3600000) * MS)

static ww_status try_join(const struct ww_consumer_params *params, ww_channel **out_channel)
{
	return ww_channel_get(scene.device, scene.broker, "c", params, 0, NULL, out_channel);
}

static ww_channel *observe(void)
{
	ww_channel *channel;

	MUST_OK(try_join(CONSUMER(.flags = WW_CONSUMER_OBSERVE), &channel));
	return channel;
}

static struct ww_channel_info info_of(ww_channel *channel)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	MUST_OK(ww_channel_info_get(channel, &info));
	return info;
}

static struct ww_channel_consumer_info consumer_info_of(ww_channel *channel, uint32_t index)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);

	MUST_OK(ww_channel_consumer_info_get(channel, index, &info));
	return info;
}

static uint32_t count_consumers(ww_channel *channel)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);
	uint32_t count = 0;
	ww_status status;

	while ((status = ww_channel_consumer_info_get(channel, count, &info)) == WW_OK)
		count++;
	MUST_EQUAL(WW_END, status);
	return count;
}

static struct ww_channel_event event_of(ww_channel *channel, uint32_t kind)
{
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);

	MUST_OK(ww_channel_next_event(channel, WW_FOREVER, NULL, &event));
	MUST_EQUAL(kind, event.kind);
	MUST(event.time_ns > 0);
	return event;
}

static void no_event(ww_channel *channel)
{
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);

	MUST_STATUS(WW_TIMED_OUT, ww_channel_next_event(channel, 0, NULL, &event));
}

static ww_status acquire(ww_channel *channel, uint64_t timeout_ns, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_acquire(channel, NULL, timeout_ns, NULL, frame);
}

static ww_status receive(ww_channel *channel, uint64_t timeout_ns, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_receive(channel, NULL, timeout_ns, NULL, frame);
}

static void value_must_come(ww_channel *channel, uint64_t value)
{
	struct ww_frame frame;
	uint64_t found;

	MUST_OK(receive(channel, WW_FOREVER, &frame));
	MUST(frame_read(&frame, &found));
	MUST_EQUAL(value, found);
	MUST_OK(ww_channel_release(channel, &frame, NULL));
}

/* A consumer that has received frame 1, and keeps it. */
static struct ww_frame hold_first(ww_channel *producer, ww_channel *consumer)
{
	struct ww_frame frame;

	frame_send(producer, 1);
	MUST_OK(receive(consumer, WW_FOREVER, &frame));
	return frame;
}

/* --- events --- */

SCENE_CASE(channel_event_of_consumers, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	struct ww_channel_event event;
	ww_channel *consumer;

	no_event(producer);
	consumer = channel_get(0);
	event = event_of(producer, WW_CHANNEL_CONSUMER_JOINED);
	MUST_EQUAL(0, event.consumer);
	MUST_EQUAL(getpid(), event.pid);
	MUST_EQUAL(getuid(), event.uid);
	MUST(event.program[0]);
	frame_send(producer, 1);
	ww_channel_unref(consumer);
	event = event_of(producer, WW_CHANNEL_CONSUMER_LEFT);
	MUST_EQUAL(0, event.consumer);
	MUST_EQUAL(1, event.frame);
	no_event(producer);
}

SCENE_CASE(channel_event_of_end, CHANNELS)
{
	ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *observer = observe();
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_channel_event event;

	frame_send(producer, 1);
	ww_channel_unref(producer);
	event = event_of(consumer, WW_CHANNEL_PRODUCER_CLOSED);
	MUST_EQUAL(WW_CHANNEL_NOBODY, event.consumer);
	MUST_EQUAL(1, event.frame);
	MUST_EQUAL(getpid(), event.pid);
	no_event(consumer);
	MUST_EQUAL(1, info_of(consumer).has_ended);
	event_of(observer, WW_CHANNEL_PRODUCER_CLOSED);
	MUST_STATUS(WW_END, ww_channel_wait_consumers(observer, 2, WW_FOREVER, NULL));
}

SCENE_CASE(channel_event_of_wait, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_channel_event event;
	struct ww_frame frame;

	event_of(producer, WW_CHANNEL_CONSUMER_JOINED);
	for (uint64_t i = 1; i <= 2; i++) {
		frame_send(producer, i);
		MUST_STATUS(WW_TIMED_OUT, acquire(producer, 3 * WW_CHANNEL_WAIT_TOLD_NS, &frame));
		MUST_STATUS(WW_TIMED_OUT, acquire(producer, 3 * WW_CHANNEL_WAIT_TOLD_NS, &frame));
		event = event_of(producer, WW_CHANNEL_PRODUCER_WAITED);
		MUST_EQUAL(0, event.consumer);
		MUST_EQUAL(i, event.frame);
		MUST(event.waited_ns >= WW_CHANNEL_WAIT_TOLD_NS);
		no_event(producer);
		MUST_EQUAL(0, info_of(producer).waits_for);
		value_must_come(consumer, i);
	}
	frame_send(producer, 3);
	MUST_EQUAL(WW_CHANNEL_NOBODY, info_of(producer).waits_for);
}

SCENE_CASE(channel_events_are_bounded, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	uint32_t pairs = WW_CHANNEL_EVENTS_MAX / 2 + 3;
	struct ww_channel_event event;

	for (uint32_t i = 0; i < pairs; i++) {
		ww_channel *consumer = channel_get(0);

		MUST_EQUAL(1, count_consumers(producer));
		ww_channel_unref(consumer);
		MUST_EQUAL(0, count_consumers(producer));
	}
	event = event_of(producer, WW_CHANNEL_CONSUMER_JOINED);
	MUST_EQUAL(6, event.dropped);
	for (uint32_t i = 1; i < WW_CHANNEL_EVENTS_MAX; i++) {
		event = event_of(producer,
			i % 2 ? WW_CHANNEL_CONSUMER_LEFT : WW_CHANNEL_CONSUMER_JOINED);
		MUST_EQUAL(0, event.dropped);
	}
	no_event(producer);
}

SCENE_CASE(channel_event_is_cancelled, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);
	ww_cancel *cancel;

	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	MUST_STATUS(WW_CANCELLED, ww_channel_next_event(producer, WW_FOREVER, cancel, &event));
	MUST_STATUS(WW_CANCELLED, ww_channel_wait_consumers(producer, 1, WW_FOREVER, cancel));
	ww_cancel_unref(cancel);
	event.struct_size = 0;
	MUST_REFUSE(WW_ERR_INVALID, "struct_size",
		ww_channel_next_event(producer, 0, NULL, &event));
}

/* --- waiting for consumers --- */

static void *join_in_thread(void *context)
{
	ww_channel **consumers = context;

	consumers[0] = channel_get(0);
	consumers[1] = channel_get(0);
	return NULL;
}

SCENE_CASE(channel_waits_for_consumers, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *observer = observe();
	ww_channel *consumers[2];
	pthread_t thread;

	MUST_OK(ww_channel_wait_consumers(producer, 0, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_wait_consumers(producer, 1, 0, NULL));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_wait_consumers(producer, 1, MS, NULL));
	MUST_REFUSE(WW_ERR_INVALID, "at most 4", ww_channel_wait_consumers(producer, 5, 0, NULL));
	MUST(!pthread_create(&thread, NULL, join_in_thread, consumers));
	MUST_OK(ww_channel_wait_consumers(producer, 2, WW_FOREVER, NULL));
	MUST_OK(ww_channel_wait_consumers(observer, 2, WW_FOREVER, NULL));
	MUST(!pthread_join(thread, NULL));
	MUST_EQUAL(2, info_of(producer).consumers);
	MUST_REFUSE(WW_ERR_ACCESS, "this is a consumer",
		ww_channel_wait_consumers(consumers[0], 1, 0, NULL));
	ww_channel_unref(consumers[0]);
	ww_channel_unref(consumers[1]);
}

/* --- descriptions --- */

static void consumer_must_be_shown(ww_channel *by, uint32_t held)
{
	struct ww_channel_consumer_info info = consumer_info_of(by, 0);

	MUST_EQUAL(0, info.number);
	MUST_EQUAL(getpid(), info.pid);
	MUST_EQUAL(getuid(), info.uid);
	MUST(info.program[0]);
	MUST_EQUAL(held, info.held);
	MUST_EQUAL(2, info.next);
	MUST_EQUAL(0, info.dropped);
	MUST_EQUAL(0, info.is_asleep);
	MUST_EQUAL(0, info.is_evicted);
	MUST_EQUAL(held, info.is_waited_for);
	MUST_EQUAL(held != 0, info.waited_ns > 0);
	MUST_EQUAL(1, count_consumers(by));
}

SCENE_CASE(channel_consumer_is_described, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	OWN(channel) ww_channel *observer = observe();
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame held = hold_first(producer, consumer);
	struct ww_frame frame;

	MUST_STATUS(WW_TIMED_OUT, acquire(producer, MS, &frame));
	consumer_must_be_shown(producer, 1);
	consumer_must_be_shown(observer, 1);
	consumer_must_be_shown(consumer, 1);
	MUST_EQUAL(0, info_of(observer).waits_for);
	MUST(info_of(observer).waited_ns > 0);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	MUST_OK(acquire(producer, 0, &frame));
	consumer_must_be_shown(producer, 0);
	consumer_must_be_shown(observer, 0);
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
}

/* --- eviction --- */

SCENE_CASE(channel_evicted_by_hand, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame held = hold_first(producer, consumer);
	struct ww_frame frames[2];

	MUST_REFUSE(WW_ERR_NOT_FOUND, "no consumer 1", ww_channel_evict(producer, 1));
	MUST_REFUSE(WW_ERR_ACCESS, "only the channel's producer", ww_channel_evict(consumer, 0));
	MUST_OK(ww_channel_evict(producer, 0));
	MUST_OK(ww_channel_evict(producer, 0));
	event_of(producer, WW_CHANNEL_CONSUMER_JOINED);
	MUST_EQUAL(0, event_of(producer, WW_CHANNEL_CONSUMER_EVICTED).consumer);
	no_event(producer);
	MUST_EQUAL(0, info_of(producer).consumers);
	MUST_EQUAL(1, consumer_info_of(producer, 0).is_evicted);
	for (uint64_t i = 2; i <= 20; i++)
		frame_send(producer, i);
	frame_must_be(&held, 1);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	MUST_REFUSE(WW_ERR_EVICTED, "its program asked for that", receive(consumer, 0, &held));
	for (int i = 0; i < 2; i++)
		MUST_OK(acquire(producer, 0, &frames[i]));
	MUST(frames[0].slot != frames[1].slot);
}

SCENE_CASE(channel_evicted_keeps_all_slots, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame held = hold_first(producer, consumer);
	struct ww_frame frame;
	char pid[32];

	MUST_OK(ww_channel_evict(producer, 0));
	snprintf(pid, sizeof(pid), "process %d", (int)getpid());
	MUST_REFUSE(WW_ERR_EVICTED, pid, acquire(producer, WW_FOREVER, &frame));
	frame_must_be(&held, 1);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	MUST_OK(acquire(producer, 0, &frame));
}

SCENE_CASE(channel_evicted_after_time, CHANNELS)
{
	OWN(channel)
	ww_channel *producer = channel_make(CHANNEL(.slots = 2, .evict_after_ns = 20 * MS));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_channel_event event;
	struct ww_frame frame;

	MUST_EQUAL(20 * MS, info_of(consumer).evict_after_ns);
	for (uint64_t i = 1; i <= 10; i++)
		frame_send(producer, i);
	event_of(producer, WW_CHANNEL_CONSUMER_JOINED);
	event_of(producer, WW_CHANNEL_PRODUCER_WAITED);
	event = event_of(producer, WW_CHANNEL_CONSUMER_EVICTED);
	MUST(event.waited_ns >= 20 * MS);
	MUST_EQUAL(2, event.frame);
	MUST_REFUSE(WW_ERR_EVICTED, "evict_after", receive(consumer, WW_FOREVER, &frame));
}

/* A policy that drops never waits, so it evicts nobody by itself; by hand it can. */
SCENE_CASE(channel_evicted_while_dropping, CHANNELS)
{
	OWN(channel)
	ww_channel *producer = channel_make(
		CHANNEL(.policy = WW_CHANNEL_DROP_OLDEST, .evict_after_ns = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);
	OWN(channel) ww_channel *other = channel_get(0);
	struct ww_frame held = hold_first(producer, consumer);

	value_must_come(other, 1);
	MUST_OK(ww_channel_evict(producer, 0));
	for (uint64_t i = 2; i <= 100; i++) {
		frame_send(producer, i);
		value_must_come(other, i);
	}
	frame_must_be(&held, 1);
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	MUST_REFUSE(WW_ERR_EVICTED, "after frame 1,", receive(consumer, 0, &held));
}

/* Frames that nobody else needs are skipped; a newcomer finds what was published after them. */
SCENE_CASE(channel_evicted_leaves_no_gap, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 3));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame held = hold_first(producer, consumer);
	OWN(channel) ww_channel *late;

	MUST_OK(ww_channel_evict(producer, 0));
	for (uint64_t i = 2; i <= 5; i++)
		frame_send(producer, i);
	MUST_OK(try_join(CONSUMER(.history = WW_CHANNEL_OLDEST), &late));
	value_must_come(late, 4);
	value_must_come(late, 5);
	frame_send(producer, 6);
	value_must_come(late, 6);
	frame_must_be(&held, 1);
}

SCENE_CASE(channel_evicted_is_no_later_one, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2, .consumers_max = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);
	struct ww_frame frame;

	MUST_OK(ww_channel_evict(producer, 0));
	MUST_REFUSE(WW_ERR_LIMIT, "consumers_max", try_join(NULL, &(ww_channel *){0}));
	consumer = ww_channel_unref(consumer);
	MUST_EQUAL(0, count_consumers(producer));
	consumer = channel_get(0);
	MUST_EQUAL(0, info_of(consumer).number);
	frame_send(producer, 1);
	value_must_come(consumer, 1);
	MUST_EQUAL(1, info_of(producer).consumers);
	MUST_STATUS(WW_TIMED_OUT, receive(consumer, 0, &frame));
}

static void *receive_in_thread(void *consumer)
{
	struct ww_frame frame;

	return (void *)(intptr_t)receive(consumer, WW_FOREVER, &frame);
}

SCENE_CASE(channel_eviction_wakes, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);
	pthread_t thread;
	void *status;

	MUST(!pthread_create(&thread, NULL, receive_in_thread, consumer));
	MUST_OK(ww_channel_evict(producer, 0));
	MUST(!pthread_join(thread, &status));
	MUST_EQUAL(WW_ERR_EVICTED, (ww_status)(intptr_t)status);
}

/* --- limits and agreement --- */

SCENE_CASE(channel_limit_of_a_user, CHANNELS)
{
	OWN(channel)
	ww_channel *producer = channel_make(CHANNEL(.slots = 2, .consumers_per_uid_max = 2));
	ww_channel *first = channel_get(0);
	OWN(channel) ww_channel *second = channel_get(0);
	OWN(channel) ww_channel *third;

	MUST_EQUAL(2, info_of(second).consumers_per_uid_max);
	MUST_REFUSE(WW_ERR_LIMIT, "2 consumers of the channel already", try_join(NULL, &third));
	ww_channel_unref(first);
	MUST_EQUAL(1, count_consumers(producer));
	third = channel_get(0);
	frame_send(producer, 1);
	value_must_come(second, 1);
	value_must_come(third, 1);
}

SCENE_CASE(channel_deadline_agrees, CHANNELS)
{
	OWN(channel)
	ww_channel *producer = channel_make(CHANNEL(.slots = 2, .deadline_ns = 5 * HOUR));
	ww_channel *consumer;

	MUST_REFUSE(WW_ERR_MISMATCH,
		"within 18000000000000 ns after the last one, and 14400000000000 ns was asked",
		try_join(CONSUMER(.deadline_ns = 4 * HOUR), &consumer));
	MUST_OK(try_join(CONSUMER(.deadline_ns = 5 * HOUR), &consumer));
	MUST_EQUAL(5 * HOUR, info_of(consumer).deadline_ns);
	frame_send(producer, 1);
	no_event(consumer);
	MUST_EQUAL(0, info_of(consumer).deadlines_missed);
	ww_channel_unref(consumer);
	producer = ww_channel_unref(producer);
	producer = channel_make(CHANNEL(.slots = 2));
	MUST_REFUSE(WW_ERR_MISMATCH, "promises no deadline",
		try_join(CONSUMER(.deadline_ns = HOUR), &consumer));
}

SCENE_CASE(channel_deadline_is_missed, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2, .deadline_ns = MS));
	OWN(channel) ww_channel *observer = observe();
	struct ww_channel_event event;
	OWN(channel) ww_channel *consumer;
	struct ww_frame frame;

	MUST_OK(try_join(CONSUMER(.deadline_ns = 2 * MS), &consumer));
	event = event_of(consumer, WW_CHANNEL_DEADLINE_MISSED);
	MUST_EQUAL(WW_CHANNEL_NOBODY, event.consumer);
	MUST(event.waited_ns >= 2 * MS);
	MUST(info_of(consumer).deadlines_missed > 0);
	/* A receive goes on waiting, and notices it too. */
	MUST_STATUS(WW_TIMED_OUT, receive(consumer, 5 * MS, &frame));
	event_of(consumer, WW_CHANNEL_DEADLINE_MISSED);
	MUST_OK(acquire(producer, 0, &frame));
	MUST_EQUAL(WW_CHANNEL_DEADLINE_MISSED, event_of(producer, WW_CHANNEL_DEADLINE_MISSED).kind);
	MUST(info_of(producer).deadlines_missed > 0);
	MUST(event_of(observer, WW_CHANNEL_DEADLINE_MISSED).waited_ns >= MS);
}

/* Also if the frame has come, late, when the wait is over. */
SCENE_CASE(channel_deadline_is_missed_in_wait_any, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2, .deadline_ns = MS));
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);
	OWN(channel) ww_channel *consumer;
	uint32_t index;

	MUST_OK(try_join(CONSUMER(.deadline_ns = 2 * MS), &consumer));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_wait_any(&consumer, 1, 10 * MS, NULL, &index));
	frame_send(producer, 1);
	MUST_OK(ww_channel_wait_any(&consumer, 1, WW_FOREVER, NULL, &index));
	MUST_OK(ww_channel_next_event(consumer, 0, NULL, &event));
	MUST_EQUAL(WW_CHANNEL_DEADLINE_MISSED, event.kind);
}

/* --- observers --- */

SCENE_CASE(channel_observer_is_no_consumer, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1, .consumers_max = 1));
	OWN(channel) ww_channel *observer = observe();
	struct ww_channel_info info;
	struct ww_frame frame;
	ww_channel *consumer;

	scene_has_objects(2); /* the channel and its slots */
	for (uint64_t i = 1; i <= 3; i++)
		frame_send(producer, i);
	info = info_of(observer);
	MUST_EQUAL(1, info.is_observer);
	MUST_EQUAL(0, info.is_producer);
	MUST_EQUAL(3, info.published);
	MUST(info.published_ns > 0);
	MUST_EQUAL(WW_CHANNEL_NOBODY, info.number);
	MUST_EQUAL(0, count_consumers(observer));
	MUST_EQUAL(0, count_consumers(producer));
	MUST_REFUSE(WW_ERR_ACCESS, "an observer", receive(observer, 0, &frame));
	MUST_REFUSE(WW_ERR_ACCESS, "an observer", ww_channel_release(observer, &frame, NULL));
	MUST_REFUSE(WW_ERR_ACCESS, "an observer", acquire(observer, 0, &frame));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no consumer 0", ww_channel_evict(observer, 0));
	consumer = channel_get(0);
	MUST_EQUAL(getpid(), event_of(observer, WW_CHANNEL_CONSUMER_JOINED).pid);
	MUST_OK(ww_channel_evict(producer, 0));
	MUST_EQUAL(0, event_of(observer, WW_CHANNEL_CONSUMER_EVICTED).consumer);
	MUST_EQUAL(1, consumer_info_of(observer, 0).is_evicted);
	MUST_EQUAL(0, info_of(observer).consumers);
	ww_channel_unref(consumer);
	event_of(observer, WW_CHANNEL_CONSUMER_LEFT);
	no_event(observer);
	MUST_REFUSE(WW_ERR_INVALID, "unknown bits: 0x8", try_join(CONSUMER(.flags = 8), &consumer));
}

/* --- with the next producer --- */

static ww_channel *make_next(void)
{
	return channel_make(CHANNEL(.slots = 2, .flags = WW_PUT_REPLACE));
}

/* Both producers are of this process, which the broker names as the one that replaced the first. */
SCENE_CASE(channel_replaced_producer_is_told, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);
	OWN(channel) ww_channel *next = NULL;
	struct ww_frame held;
	struct ww_frame frame;
	char by[64];

	frame_send(producer, 1);
	MUST_OK(acquire(producer, 0, &held));
	next = make_next();
	snprintf(by, sizeof(by), "was replaced by process %d (%s) of user %u", (int)getpid(),
		program_invocation_short_name, geteuid());
	/* A call that may not wait does not ask the broker; the next one does. */
	frame = (struct ww_frame)WW_INIT(struct ww_frame);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "was replaced by another process",
		ww_channel_acquire(producer, NULL, 0, ww_cancel_nowait(), &frame));
	MUST_REFUSE(WW_ERR_NOT_FOUND, by, ww_channel_publish(producer, &held, NULL));
	MUST_REFUSE(WW_ERR_NOT_FOUND, by, acquire(producer, WW_FOREVER, &frame));
	MUST_REFUSE(WW_ERR_NOT_FOUND, by, ww_channel_wait_consumers(producer, 2, WW_FOREVER, NULL));
	MUST_OK(ww_channel_discard(producer, &held, NULL));
	MUST_EQUAL(1, info_of(consumer).has_ended);
	value_must_come(consumer, 1);
	MUST_STATUS(WW_END, receive(consumer, WW_FOREVER, &frame));
	event_of(consumer, WW_CHANNEL_PRODUCER_CLOSED);
	frame_send(next, 1);
	MUST_STATUS(WW_END, receive(consumer, WW_FOREVER, &frame));
}

/* Its descriptor is readable then: the next call has a result. */
SCENE_CASE(channel_replaced_producer_is_ready, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get(0);
	OWN(channel) ww_channel *next = NULL;
	ww_channel *both[] = {producer, consumer};
	uint32_t index;
	struct ww_frame frame;

	frame_send(producer, 1);
	value_must_come(consumer, 1);
	MUST_OK(acquire(producer, WW_FOREVER, &frame)); /* so it would wait without end */
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
	next = make_next();
	MUST_OK(ww_channel_wait_any(both, 2, WW_FOREVER, NULL, &index));
	MUST_REFUSE(WW_ERR_NOT_FOUND, "was replaced", acquire(producer, 0, &frame));
	MUST_OK(ww_channel_wait_any(&both[1], 1, WW_FOREVER, NULL, &index));
	MUST_STATUS(WW_END, receive(consumer, 0, &frame));
}

/* An eviction is of one producer: the next one may have it as a consumer. */
SCENE_CASE(channel_evicted_consumer_goes_on, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2, .deadline_ns = HOUR));
	OWN(channel) ww_channel *consumer;
	struct ww_frame frame;

	MUST_OK(try_join(CONSUMER(.flags = WW_CONSUMER_REATTACH, .history = 1), &consumer));
	frame_send(producer, 1);
	MUST_OK(ww_channel_evict(producer, 0));
	for (int i = 0; i < 3; i++)
		MUST_STATUS(WW_ERR_EVICTED, receive(consumer, WW_FOREVER, &frame));
	producer = ww_channel_unref(producer);
	producer = make_next();
	frame_send(producer, 7);
	MUST_OK(receive(consumer, WW_FOREVER, &frame));
	MUST_EQUAL(2, frame.generation);
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	MUST_EQUAL(2, info_of(consumer).generation);
	MUST_EQUAL(1, info_of(consumer).received);
	MUST_EQUAL(2, event_of(consumer, WW_CHANNEL_REATTACHED).generation);
	no_event(consumer);
	MUST_EQUAL(0, consumer_info_of(producer, 0).number);
}

/* It is told of an eviction that it did not notice before the producer closed the channel. */
SCENE_CASE(channel_eviction_is_told_before_it_goes_on, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer;
	struct ww_frame frame;

	MUST_OK(try_join(CONSUMER(.flags = WW_CONSUMER_REATTACH), &consumer));
	frame_send(producer, 1);
	MUST_OK(receive(consumer, 0, &frame));
	MUST_OK(ww_channel_evict(producer, 0));
	producer = ww_channel_unref(producer);
	producer = make_next();
	frame_send(producer, 2);
	MUST_STATUS(WW_ERR_EVICTED, receive(consumer, WW_FOREVER, &frame));
	MUST_STATUS(WW_ERR_STATE, receive(consumer, WW_FOREVER, &frame)); /* of the former one */
	frame = WW_INIT(struct ww_frame);
	frame.number = 1;
	frame.generation = 1;
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	MUST_OK(receive(consumer, WW_FOREVER, &frame));
	MUST_EQUAL(2, frame.generation);
}

/* It learns that one producer ended, that there is another, and who its consumers are. */
SCENE_CASE(channel_observer_goes_on, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get(0);
	OWN(channel) ww_channel *observer;

	MUST_OK(try_join(CONSUMER(.flags = WW_CONSUMER_OBSERVE | WW_CONSUMER_REATTACH), &observer));
	MUST_EQUAL(1, event_of(observer, WW_CHANNEL_CONSUMER_JOINED).generation);
	MUST_EQUAL(1, info_of(observer).generation);
	producer = ww_channel_unref(producer);
	MUST_EQUAL(1, event_of(observer, WW_CHANNEL_PRODUCER_CLOSED).generation);
	consumer = ww_channel_unref(consumer);
	event_of(observer, WW_CHANNEL_CONSUMER_LEFT);
	MUST_STATUS(WW_TIMED_OUT, ww_channel_wait_consumers(observer, 1, 1, NULL));
	producer = make_next();
	frame_send(producer, 1);
	MUST_EQUAL(1, event_of(observer, WW_CHANNEL_REATTACHED).frame);
	consumer = channel_get(0);
	MUST_OK(ww_channel_wait_consumers(observer, 1, WW_FOREVER, NULL));
	MUST_EQUAL(2, event_of(observer, WW_CHANNEL_CONSUMER_JOINED).generation);
	MUST_EQUAL(1, count_consumers(observer));
	MUST_EQUAL(2, info_of(observer).generation);
}

/* A producer that lives, and lost the name: the observer notices that. */
SCENE_CASE(channel_observer_sees_replacement, CHANNELS)
{
	ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *observer;
	OWN(channel) ww_channel *next;

	MUST_OK(try_join(CONSUMER(.flags = WW_CONSUMER_OBSERVE | WW_CONSUMER_REATTACH), &observer));
	next = make_next();
	MUST_EQUAL(1, event_of(observer, WW_CHANNEL_PRODUCER_CLOSED).generation);
	MUST_EQUAL(2, event_of(observer, WW_CHANNEL_REATTACHED).generation);
	ww_channel_unref(producer);
	no_event(observer);
}

SCENE_CASE(channel_observer_passes_token, CHANNELS)
{
	OWN(channel) ww_channel *producer = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *observer = observe();
	OWN(channel) ww_channel *consumer;
	struct ww_token token;

	MUST_OK(ww_channel_export(observer, NULL, NULL, &token));
	MUST_OK(ww_channel_import(scene.device, scene.broker, &token, NULL, NULL, &consumer));
	frame_send(producer, 5);
	value_must_come(consumer, 5);
	consumer = ww_channel_unref(consumer);
	MUST_OK(ww_channel_import(scene.device, scene.broker, &token,
		CONSUMER(.flags = WW_CONSUMER_OBSERVE), NULL, &consumer));
	MUST_EQUAL(1, info_of(consumer).published);
}

/* --- closing, and slots that are not complete --- */

SCENE_CASE(channel_close_frees_name, CHANNELS)
{
	ww_channel *first = channel_make(CHANNEL(.slots = 2));
	OWN(channel) ww_channel *old = channel_get(0);
	struct ww_frame frame;
	ww_channel *second;
	OWN(channel) ww_channel *third;
	OWN(channel) ww_channel *late;

	frame_send(first, 1);
	ww_channel_unref(first);
	second = channel_make(CHANNEL(.slots = 2));
	value_must_come(old, 1);
	MUST_STATUS(WW_END, receive(old, 0, &frame));
	/* A producer whose name another one has taken leaves it there. */
	third = channel_make(CHANNEL(.slots = 2, .flags = WW_PUT_REPLACE));
	ww_channel_unref(second);
	late = channel_get(0);
	frame_send(third, 7);
	value_must_come(late, 7);
}

/* Any free slot will do, not only the first one. */
SCENE_CASE(channel_acquire_tries_all, CHANNEL_STREAMS)
{
	OWN(channel)
	ww_channel *producer = channel_make(
		CHANNEL(.policy = WW_CHANNEL_DROP_OLDEST, .consumers_max = 1));
	ww_stream *stream = stream_make(scene.device);
	struct ww_frame frames[2];
	static struct gate gate;

	while (info_of(producer).held < 2)
		MUST_OK(acquire(producer, 0, &frames[info_of(producer).held]));
	gate_close(&gate, stream);
	MUST_OK(ww_channel_discard(producer, &frames[0], stream));
	MUST_OK(ww_channel_discard(producer, &frames[1], NULL));
	for (uint64_t i = 1; i <= 20; i++) {
		struct ww_frame frame;

		MUST_OK(acquire(producer, 0, &frame));
		MUST(frame.slot != frames[0].slot);
		frame_write(&frame, i);
		MUST_OK(ww_channel_publish(producer, &frame, NULL));
	}
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
}
