/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_wait.c - waiting for channels: the descriptor for event loops, and several at once
 */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "support/broker_case.h"
#include "support/channel.h"
#include "support/readable.h"

#define FOREVER WW_FOREVER

#define CHANNELS        (WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)
#define CHANNEL_STREAMS (CHANNELS | WW_CAP_STREAM_VALUE)

#define CHANNEL(...) WW_PARAMS(struct ww_channel_params, .slot_bytes = SLOT_BYTES, __VA_ARGS__)

#define SLOT_BYTES 4096

static ww_channel *channel_make(const char *name, const struct ww_channel_params *params)
{
	ww_channel *channel;

	MUST_OK(ww_channel_create(scene.device, scene.broker, name, params, NULL, &channel));
	return channel;
}

static ww_channel *channel_get(const char *name)
{
	ww_channel *channel;

	MUST_OK(ww_channel_get(scene.device, scene.broker, name, NULL, 0, NULL, &channel));
	return channel;
}

static int channel_fd(ww_channel *channel)
{
	int fd;

	MUST_OK(ww_channel_eventfd(channel, &fd));
	return fd;
}

static ww_status frame_receive(ww_channel *channel, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_receive(channel, NULL, 0, NULL, frame);
}

static ww_status frame_acquire(ww_channel *channel, struct ww_frame *frame)
{
	*frame = WW_INIT(struct ww_frame);
	return ww_channel_acquire(channel, NULL, 0, NULL, frame);
}

static void frame_pass(ww_channel *consumer)
{
	struct ww_frame frame;

	MUST_OK(frame_receive(consumer, &frame));
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
}

static bool is_thread(const char *id)
{
	char path[PATH_MAX];
	char name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", id);
	file = fopen(path, "r");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		fclose(file);
	return !strcmp(name, "ww-channels\n");
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	int count = 0;

	MUST(tasks);
	while ((entry = readdir(tasks)))
		count += is_thread(entry->d_name);
	closedir(tasks);
	return count;
}

/* A thread that has ended is listed for a moment still. */
static void threads_must_become(int count)
{
	while (count_threads() != count)
		sched_yield();
}

static void case_end(ww_channel *producer, ww_channel *consumer)
{
	ww_channel_unref(consumer);
	ww_channel_unref(producer);
	scene_end();
}

/* --- the descriptor --- */

SCENE_CASE(channel_eventfd_of_consumer, CHANNELS)
{
	struct ww_frame frame;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 4));
	OWN(channel) ww_channel *consumer = channel_get("c");
	OWN(fd) int fd = channel_fd(consumer);

	MUST(!is_readable(fd));
	frame_send(producer, 1);
	MUST(becomes_readable(fd));
	frame_send(producer, 2);
	MUST_OK(frame_receive(consumer, &frame));
	MUST(!is_readable(fd)); /* it holds as many as it may */
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	MUST(is_readable(fd));
	frame_pass(consumer);
	MUST(!is_readable(fd));
	MUST_STATUS(WW_TIMED_OUT, frame_receive(consumer, &frame));
	MUST(!is_readable(fd));
	producer = ww_channel_unref(producer);
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_END, frame_receive(consumer, &frame));
	MUST(is_readable(fd));
	consumer = ww_channel_unref(consumer);
	MUST(is_readable(fd));
}

SCENE_CASE(channel_eventfd_of_producer, CHANNELS)
{
	struct ww_frame frame;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");
	OWN(fd) int fd = channel_fd(producer);

	MUST(is_readable(fd));
	MUST_OK(frame_acquire(producer, &frame));
	MUST(!is_readable(fd)); /* it holds all */
	MUST_OK(ww_channel_discard(producer, &frame, NULL));
	MUST(is_readable(fd));
	frame_send(producer, 1);
	MUST(!is_readable(fd));
	MUST_STATUS(WW_TIMED_OUT, frame_acquire(producer, &frame));
	MUST(!is_readable(fd));
	frame_pass(consumer);
	MUST(becomes_readable(fd));
	MUST_OK(frame_acquire(producer, &frame));
	MUST_OK(ww_channel_publish(producer, &frame, NULL));
	MUST(!is_readable(fd));
	consumer = ww_channel_unref(consumer); /* it needs the frame no more */
	MUST(becomes_readable(fd));
}

/* --- evictions --- */

/* Whoever is evicted learns it, and the producer has the slots at once. */
SCENE_CASE(channel_eventfd_of_evicted_consumer, CHANNELS)
{
	struct ww_frame frame;
	OWN(fd) int reads;
	OWN(fd) int writes;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");

	frame_send(producer, 1);
	frame_pass(consumer);
	frame_send(producer, 2);
	reads = channel_fd(consumer);
	frame_pass(consumer);
	frame_send(producer, 3);
	writes = channel_fd(producer);
	MUST(!is_readable(writes));
	MUST_OK(frame_receive(consumer, &frame));
	MUST_OK(ww_channel_release(consumer, &frame, NULL));
	MUST(becomes_readable(writes));
	MUST(!is_readable(reads));
	frame_send(producer, 4);
	MUST(becomes_readable(reads));
	MUST(!is_readable(writes));
	MUST_OK(ww_channel_evict(producer, 0));
	MUST(becomes_readable(writes)); /* frame 4 was kept for nobody else */
	MUST_STATUS(WW_ERR_EVICTED, frame_receive(consumer, &frame));
	MUST(becomes_readable(reads));
}

/* An event loop that sleeps is woken by the eviction. */
SCENE_CASE(channel_eventfd_shows_eviction, CHANNELS)
{
	struct ww_frame frame;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");
	OWN(fd) int fd = channel_fd(consumer);

	MUST(!is_readable(fd));
	MUST_OK(ww_channel_wait_consumers(producer, 1, FOREVER, NULL));
	MUST_OK(ww_channel_evict(producer, 0));
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_ERR_EVICTED, frame_receive(consumer, &frame));
}

/* A producer that waits in its event loop, or for several channels, evicts as one in acquire. */
CASE(channel_evicts_while_it_waits, CHANNELS)
{
	ww_channel *producer;
	ww_channel *consumer;
	struct ww_frame frame;
	uint32_t index;
	int fd;

	for (int is_loop = 0; is_loop < 2; is_loop++) {
		scene_begin();
		producer = channel_make("c",
			CHANNEL(.slots = 2, .evict_after_ns = UINT64_C(20000000)));
		consumer = channel_get("c");
		frame_send(producer, 1);
		frame_send(producer, 2);
		fd = channel_fd(producer);
		if (is_loop)
			MUST(becomes_readable(fd));
		else
			MUST_OK(ww_channel_wait_any(&producer, 1, FOREVER, NULL, &index));
		MUST_OK(frame_acquire(producer, &frame));
		MUST_STATUS(WW_ERR_EVICTED, frame_receive(consumer, &frame));
		close(fd);
		case_end(producer, consumer);
	}
}

/* Slots that only an evicted consumer uses come back when it releases them. */
SCENE_CASE(channel_eventfd_of_withheld_slots, CHANNELS)
{
	struct ww_frame held;
	struct ww_frame frame;
	uint32_t index;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");

	frame_send(producer, 1);
	MUST_OK(frame_receive(consumer, &held));
	MUST_OK(ww_channel_evict(producer, 0));
	MUST_OK(ww_channel_wait_any(&producer, 1, 0, NULL, &index));
	MUST_STATUS(WW_ERR_EVICTED, frame_acquire(producer, &frame));
	MUST_OK(ww_channel_release(consumer, &held, NULL));
	MUST_OK(ww_channel_wait_any(&producer, 1, 0, NULL, &index));
	MUST_OK(frame_acquire(producer, &frame));
}

SCENE_CASE(channel_observer_waits_for_no_frame, CHANNELS)
{
	OWN(channel) ww_channel *observer;
	uint32_t index;
	int fd = 0;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));

	MUST_OK(ww_channel_get(scene.device, scene.broker, "c",
		WW_PARAMS(struct ww_consumer_params, .flags = WW_CONSUMER_OBSERVE), 0, NULL,
		&observer));
	MUST_REFUSE(WW_ERR_ACCESS, "observer", ww_channel_eventfd(observer, &fd));
	MUST_EQUAL(-1, fd);
	MUST_REFUSE(WW_ERR_ACCESS, "observer",
		ww_channel_wait_any(&observer, 1, FOREVER, NULL, &index));
}

/* --- streams, and waits in between --- */

/* What a stream does: readable when it is complete. */
SCENE_CASE(channel_eventfd_waits_for_streams, CHANNEL_STREAMS)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(scene.device);
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");
	OWN(fd) int reads = channel_fd(consumer);
	OWN(fd) int writes = channel_fd(producer);

	MUST_OK(ww_channel_acquire(producer, stream, 0, NULL, &frame));
	gate_close(&gate, stream);
	frame.metadata_bytes = 0;
	MUST_OK(ww_channel_publish(producer, &frame, stream));
	MUST_STATUS(WW_TIMED_OUT, frame_receive(consumer, &frame));
	MUST(!is_readable(reads));
	gate_open(&gate);
	MUST(becomes_readable(reads));
	MUST_OK(frame_receive(consumer, &frame));
	gate_close(&gate, stream);
	MUST_OK(ww_channel_release(consumer, &frame, stream));
	MUST_STATUS(WW_TIMED_OUT, frame_acquire(producer, &frame));
	MUST(!is_readable(writes));
	gate_open(&gate);
	MUST(becomes_readable(writes));
}

/* A wait in between does not end what the descriptor promises. */
SCENE_CASE(channel_eventfd_outlasts_waits, CHANNELS)
{
	struct ww_frame frame;
	uint32_t index;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 4));
	OWN(channel) ww_channel *consumer = channel_get("c");
	OWN(fd) int fd = channel_fd(consumer);
	int other = channel_fd(consumer);

	close(other);
	frame = WW_INIT(struct ww_frame);
	MUST_STATUS(WW_TIMED_OUT,
		ww_channel_receive(consumer, NULL, UINT64_C(1000000), NULL, &frame));
	MUST_STATUS(WW_TIMED_OUT,
		ww_channel_wait_any(&consumer, 1, UINT64_C(1000000), NULL, &index));
	MUST(!is_readable(fd));
	frame_send(producer, 1);
	MUST(becomes_readable(fd));
}

/* One thread for all, more than one wait of the kernel has room for; it ends with the last. */
SCENE_CASE(channel_eventfd_of_many, CHANNELS)
{
	enum {
		MANY = 3 * WW_CHANNEL_CONSUMERS_MAX
	};
	static const char *const names[] = {"a", "b", "c"};
	ww_channel *consumers[MANY];
	ww_channel *producers[3];
	int fds[MANY];

	for (int i = 0; i < 3; i++)
		producers[i] = channel_make(names[i],
			CHANNEL(.consumers_max = WW_CHANNEL_CONSUMERS_MAX));
	for (int i = 0; i < MANY; i++)
		consumers[i] = channel_get(names[i % 3]);
	for (int i = 0; i < MANY; i++)
		fds[i] = channel_fd(consumers[i]);
	MUST_EQUAL(1, count_threads());
	for (int i = 0; i < 3; i++)
		frame_send(producers[i], 1);
	for (int i = 0; i < MANY; i++) {
		MUST(becomes_readable(fds[i]));
		close(fds[i]);
		ww_channel_unref(consumers[i]);
	}
	threads_must_become(0);
	for (int i = 0; i < 3; i++)
		ww_channel_unref(producers[i]);
}

/* --- nothing is missed --- */

#define MANY 20000

/* Both are woken by their descriptors only: a wake that is lost would end the case by its limit. */
static void *receive_by_fd(void *context)
{
	ww_channel *consumer = context;
	OWN(fd) int fd = channel_fd(consumer);
	uint64_t expected = 1;

	while (expected <= MANY) {
		struct ww_frame frame;

		MUST(becomes_readable(fd));
		while (frame_receive(consumer, &frame) == WW_OK) {
			MUST_EQUAL(expected++, frame.number);
			MUST_OK(ww_channel_release(consumer, &frame, NULL));
		}
	}
	return NULL;
}

SCENE_CASE(channel_eventfd_misses_nothing, CHANNELS)
{
	uint64_t sent = 0;
	pthread_t thread;
	OWN(fd) int fd;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 2));
	OWN(channel) ww_channel *consumer = channel_get("c");

	MUST(!pthread_create(&thread, NULL, receive_by_fd, consumer));
	fd = channel_fd(producer);
	while (sent < MANY) {
		struct ww_frame frame;

		MUST(becomes_readable(fd));
		while (sent < MANY && frame_acquire(producer, &frame) == WW_OK) {
			frame.metadata_bytes = 0;
			MUST_OK(ww_channel_publish(producer, &frame, NULL));
			sent++;
		}
	}
	MUST(!pthread_join(thread, NULL));
}

/* --- a consumer that goes on --- */

SCENE_CASE(channel_reattach_needs_name, CHANNELS)
{
	OWN(channel) ww_channel *consumer;
	struct ww_token token;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 2));

	MUST_OK(ww_channel_export(producer, NULL, NULL, &token));
	MUST_REFUSE(WW_ERR_INVALID, "name",
		ww_channel_import(scene.device, scene.broker, &token,
			WW_PARAMS(struct ww_consumer_params, .flags = WW_CONSUMER_REATTACH), NULL,
			&consumer));
	MUST_REFUSE(WW_ERR_INVALID, "flags",
		ww_channel_get(scene.device, scene.broker, "c",
			WW_PARAMS(struct ww_consumer_params, .flags = UINT32_C(1) << 31), 0, NULL,
			&consumer));
}

/* --- several --- */

SCENE_CASE(channel_wait_any_is_fair, CHANNELS)
{
	ww_channel *channels[3]; /* two consumers, and the producer of the second */
	uint32_t index;
	int named[3] = {0, 0, 0};
	ww_channel *other = channel_make("a", CHANNEL(.slots = 8));

	channels[2] = channel_make("b", CHANNEL(.slots = 8));
	channels[0] = channel_get("a");
	channels[1] = channel_get("b");
	for (uint64_t i = 1; i <= 4; i++) {
		frame_send(other, i);
		frame_send(channels[2], i);
	}
	for (int i = 0; i < 6; i++) {
		MUST_OK(ww_channel_wait_any(channels, 3, 0, NULL, &index));
		named[index]++;
		if (index < 2)
			frame_pass(channels[index]);
	}
	for (int i = 0; i < 3; i++)
		MUST_EQUAL(2, named[i]);
	ww_channel_unref(channels[0]);
	ww_channel_unref(channels[1]);
	ww_channel_unref(other);
	ww_channel_unref(channels[2]);
}

SCENE_CASE(channel_wait_any_refuses, CHANNELS)
{
	ww_channel *channels[WW_CHANNEL_WAIT_MAX + 1];
	struct ww_frame frame;
	ww_cancel *cancel;
	uint32_t index;
	OWN(channel) ww_channel *producer = channel_make("c", CHANNEL(.slots = 1));
	OWN(channel) ww_channel *consumer = channel_get("c");

	for (int i = 0; i <= WW_CHANNEL_WAIT_MAX; i++)
		channels[i] = consumer;
	MUST_REFUSE(WW_ERR_INVALID, "64",
		ww_channel_wait_any(channels, WW_CHANNEL_WAIT_MAX + 1, 0, NULL, &index));
	MUST_REFUSE(WW_ERR_INVALID, "0", ww_channel_wait_any(channels, 0, 0, NULL, &index));
	MUST_REFUSE(WW_ERR_INVALID, "twice", ww_channel_wait_any(channels, 2, 0, NULL, &index));
	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	MUST_STATUS(WW_CANCELLED, ww_channel_wait_any(channels, 1, FOREVER, cancel, &index));
	ww_cancel_unref(cancel);
	MUST_OK(frame_acquire(producer, &frame));
	channels[0] = producer;
	MUST_REFUSE(WW_ERR_STATE, "release",
		ww_channel_wait_any(channels, 1, FOREVER, NULL, &index));
	MUST_STATUS(WW_TIMED_OUT, ww_channel_wait_any(channels, 2, 0, NULL, &index));
	frame.metadata_bytes = 0;
	MUST_OK(ww_channel_publish(producer, &frame, NULL));
	MUST_OK(ww_channel_wait_any(channels, 2, FOREVER, NULL, &index));
	MUST_EQUAL(1, index);
}

/* As receive_by_fd(), by waits for two channels. */
static void *receive_by_wait(void *context)
{
	ww_channel **channels = context;
	int got = 0;

	while (got < 2 * MANY) {
		struct ww_frame frame;
		uint32_t index;

		MUST_OK(ww_channel_wait_any(channels, 2, FOREVER, NULL, &index));
		MUST_OK(frame_receive(channels[index], &frame));
		MUST_OK(ww_channel_release(channels[index], &frame, NULL));
		got++;
	}
	return NULL;
}

SCENE_CASE(channel_wait_any_misses_nothing, CHANNELS)
{
	ww_channel *consumers[2];
	ww_channel *producers[2];
	int sent[2] = {0, 0};
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		producers[i] = channel_make(i ? "b" : "a", CHANNEL(.slots = 2));
		consumers[i] = channel_get(i ? "b" : "a");
	}
	MUST(!pthread_create(&thread, NULL, receive_by_wait, consumers));
	while (sent[0] + sent[1] < 2 * MANY) {
		uint32_t first = sent[0] < MANY ? 0 : 1;
		uint32_t count = sent[1] < MANY ? 2 - first : 1;
		struct ww_frame frame;
		uint32_t index;

		MUST_OK(ww_channel_wait_any(producers + first, count, FOREVER, NULL, &index));
		MUST_OK(frame_acquire(producers[first + index], &frame));
		frame.metadata_bytes = 0;
		MUST_OK(ww_channel_publish(producers[first + index], &frame, NULL));
		sent[first + index]++;
	}
	MUST(!pthread_join(thread, NULL));
	for (int i = 0; i < 2; i++) {
		ww_channel_unref(consumers[i]);
		ww_channel_unref(producers[i]);
	}
}
