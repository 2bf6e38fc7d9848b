/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_eviction_request.c - an observer asks the producer to evict a consumer, in one process
 */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/channel.h"
#include "support/readable.h"

#define CHANNELS (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)

/* A producer, a consumer that holds frame 1 of it, and an observer. */
static struct sides {
	ww_channel *producer;
	ww_channel *consumer;
	ww_channel *observer;
	struct ww_frame held;
} sides;

static ww_channel *join(uint32_t flags)
{
	ww_channel *channel;

	MUST_OK(ww_channel_get(scene.device, scene.broker, "c",
		WW_PARAMS(struct ww_consumer_params, .flags = flags), 0, NULL, &channel));
	return channel;
}

static ww_status receive(ww_channel *channel, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_receive(channel, NULL, 0, NULL, frame);
}

static ww_status acquire(uint64_t timeout_ns)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	return ww_channel_acquire(sides.producer, NULL, timeout_ns, NULL, &frame);
}

static void begin(void)
{
	scene_begin();
	MUST_OK(ww_channel_create(scene.device, scene.broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = 4096, .slots = 2), NULL,
		&sides.producer));
	sides.consumer = join(0);
	sides.observer = join(WW_CONSUMER_OBSERVE);
	frame_send(sides.producer, 1);
	MUST_OK(receive(sides.consumer, &sides.held));
}

/* The evicted consumer's frame is as it was. */
static void end(void)
{
	uint64_t found;

	MUST(frame_read(&sides.held, &found));
	MUST_EQUAL(1, found);
	MUST_OK(ww_channel_release(sides.consumer, &sides.held, NULL));
	MUST_REFUSE(WW_ERR_EVICTED, "the channel's owner, or root, asked",
		receive(sides.consumer, &sides.held));
	ww_channel_unref(sides.observer);
	ww_channel_unref(sides.consumer);
	ww_channel_unref(sides.producer);
	scene_end();
}

static void event_comes(ww_channel *channel, uint32_t kind)
{
	struct ww_channel_event event = WW_INIT(struct ww_channel_event);

	MUST_OK(ww_channel_next_event(channel, WW_FOREVER, NULL, &event));
	MUST_EQUAL(kind, event.kind);
	MUST_EQUAL(0, event.consumer);
}

CASE(channel_observer_asks_for_eviction, CHANNELS)
{
	struct ww_channel_consumer_info info = WW_INIT(struct ww_channel_consumer_info);

	begin();
	MUST_OK(ww_channel_evict(sides.observer, 0));
	MUST_OK(ww_channel_evict(sides.observer, 0)); /* it has asked already */
	scene_has_objects(4);                         /* channel, slots, consumer, request */
	MUST_OK(ww_channel_consumer_info_get(sides.observer, 0, &info));
	MUST_EQUAL(0, info.is_evicted);
	event_comes(sides.observer, WW_CHANNEL_CONSUMER_JOINED);
	for (uint64_t i = 2; i <= 20; i++)
		frame_send(sides.producer, i);
	event_comes(sides.producer, WW_CHANNEL_CONSUMER_JOINED);
	event_comes(sides.producer, WW_CHANNEL_CONSUMER_EVICTED);
	event_comes(sides.observer, WW_CHANNEL_CONSUMER_EVICTED);
	scene_has_objects(3);
	MUST_OK(ww_channel_evict(sides.observer, 0)); /* it is evicted */
	end();
}

static void *acquire_in_thread(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)acquire(WW_FOREVER);
}

/* The acquire waits for exactly that consumer. */
CASE(channel_request_ends_an_acquire, CHANNELS)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	pthread_t thread;
	void *status;

	begin();
	frame_send(sides.producer, 2);
	MUST(!pthread_create(&thread, NULL, acquire_in_thread, NULL));
	do {
		sched_yield();
		MUST_OK(ww_channel_info_get(sides.observer, &info));
	} while (info.waits_for != 0);
	MUST_OK(ww_channel_evict(sides.observer, 0));
	MUST(!pthread_join(thread, &status));
	MUST_EQUAL(WW_OK, (ww_status)(intptr_t)status);
	end();
}

/* The producer waits in its event loop, or for one of several channels. */
CASE(channel_request_ends_a_wait_for_any, CHANNELS)
{
	uint32_t index;
	int fd;

	for (int is_loop = 0; is_loop < 2; is_loop++) {
		begin();
		frame_send(sides.producer, 2);
		MUST_OK(ww_channel_eventfd(sides.producer, &fd));
		MUST(!is_readable(fd));
		MUST_OK(ww_channel_evict(sides.observer, 0));
		if (is_loop)
			MUST(becomes_readable(fd));
		else
			MUST_OK(ww_channel_wait_any(&sides.producer, 1, WW_FOREVER, NULL, &index));
		MUST_OK(acquire(0));
		close(fd);
		end();
	}
}

/* A request ends with the consumer that it is about, and not with the next one of that number. */
CASE(channel_request_is_of_no_later_consumer, CHANNELS)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct ww_frame frame;

	begin();
	MUST_OK(ww_channel_evict(sides.observer, 0));
	ww_channel_unref(sides.consumer);
	event_comes(sides.observer, WW_CHANNEL_CONSUMER_JOINED);
	event_comes(sides.observer, WW_CHANNEL_CONSUMER_LEFT);
	event_comes(sides.producer, WW_CHANNEL_CONSUMER_JOINED);
	scene_has_objects(2);
	sides.consumer = join(0);
	MUST_OK(ww_channel_info_get(sides.consumer, &info));
	MUST_EQUAL(0, info.number);
	frame_send(sides.producer, 2);
	MUST_OK(receive(sides.consumer, &frame));
	ww_channel_unref(sides.producer);
	MUST_STATUS(WW_END, ww_channel_evict(sides.observer, 0));
	ww_channel_unref(sides.observer);
	ww_channel_unref(sides.consumer);
	scene_end();
}
