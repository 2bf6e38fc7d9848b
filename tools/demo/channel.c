/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - one producer, three consumers: a slow one and a dead one slow nobody
 *
 *   parent: the producer                 consumers
 *   "demo/frames", policy drop-oldest    a fast one, one that keeps each frame for 10 ms, and one
 *                                        that is killed with SIGKILL while it holds a frame
 *   "demo/latest", policy latest         the first two: the last frame is the newest for both
 *
 * The producer's stream fills a frame with its number; a consumer's stream copies it, and each
 * element is looked at. Of drop-oldest each consumer has received or counted every frame.
 */
#include "demo/demo.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAMES         UINT64_C(200) /* of each channel */
#define KILL_AT        UINT64_C(50)
#define FRAME_ELEMENTS 16384
#define FRAME_BYTES    (FRAME_ELEMENTS * sizeof(uint32_t))
#define INTERVAL_NS    1000000  /* between frames */
#define SLOW_NS        10000000 /* for a frame */

static const char *const names[] = {"demo/frames", "demo/latest"};
static const uint32_t policies[] = {WW_CHANNEL_DROP_OLDEST, WW_CHANNEL_LATEST};

enum consumer {
	FAST,
	SLOW,
	VICTIM,
	CONSUMERS
};

static void rest(long ns)
{
	const struct timespec time = {.tv_nsec = ns};

	nanosleep(&time, NULL);
}

/* --- the producer --- */

struct show {
	const struct demo *demo;
	struct child children[CONSUMERS];
	ww_channel *channel;
	uint64_t slowest_ns; /* calls for one frame */
};

static void own_show(struct show *show)
{
	ww_channel_unref(show->channel);
	for (int i = 0; i < CONSUMERS; i++)
		child_fini(&show->children[i]);
}

static int spawn(struct show *show)
{
	static const char *const roles[CONSUMERS] = {"fast-consumer", "slow-consumer",
		"lost-consumer"};

	for (int i = 0; i < CONSUMERS; i++) {
		if (demo_spawn(show->demo, roles[i], &show->children[i]))
			return -1;
	}
	return 0;
}

static int open_channel(struct show *show, size_t index)
{
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.policy = policies[index],
		.slot_bytes = FRAME_BYTES,
		.consumers_max = CONSUMERS,
	};

	if (ww_channel_create(show->demo->device, NULL, names[index], &params, NULL,
		    &show->channel) == WW_OK)
		return 0;
	return complain_record("cannot make the channel %s", names[index]);
}

/* No CPU waits for the stream: the frame is complete when it has been filled. */
static int publish(struct show *show, uint32_t number)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_stream *stream = show->demo->stream;
	uint64_t start = link_now_ns();
	uint64_t took;

	if (ww_channel_acquire(show->channel, stream, show->demo->timeout_ns, NULL, &frame) !=
		WW_OK)
		return complain_record("cannot get a slot");
	if (ww_stream_fill(stream, frame.pointer, number, sizeof(number), FRAME_ELEMENTS) !=
			WW_OK ||
		ww_channel_publish(show->channel, &frame, stream) != WW_OK)
		return complain_record("cannot publish a frame");
	took = link_now_ns() - start;
	if (took > show->slowest_ns)
		show->slowest_ns = took;
	return 0;
}

/* It holds a frame, and never will release it. */
static int kill_victim(struct show *show)
{
	struct child *victim = &show->children[VICTIM];
	struct link_message message;
	int pid = (int)victim->pid;

	if (child_receive(victim, LINK_SAMPLE, &message, NULL) || child_kill(victim))
		return -1;
	say("killed a consumer, pid %d, with SIGKILL while it held frame %" PRIu64, pid,
		message.numbers[0]);
	return 0;
}

static int publish_all(struct show *show, size_t index)
{
	for (uint32_t i = 1; i <= FRAMES; i++) {
		if (publish(show, i) || (index == 0 && i == KILL_AT && kill_victim(show)))
			return -1;
		rest(INTERVAL_NS);
	}
	if (ww_stream_synchronize(show->demo->stream, show->demo->timeout_ns, NULL) != WW_OK)
		return complain_record("cannot wait for the last frame");
	show->channel = ww_channel_unref(show->channel);
	return 0;
}

/* All consumers are there before the first frame. */
static int run_channel(struct show *show, size_t index)
{
	struct link_message ready[CONSUMERS];

	if (child_group_receive(show->children, index == 0 ? CONSUMERS : VICTIM, LINK_READY, ready))
		return -1;
	return publish_all(show, index);
}

/* What a consumer says at its end. */
enum {
	RECEIVED, /* of drop-oldest; likewise dropped */
	DROPPED,
	LATEST_RECEIVED,
	LATEST_LAST /* the number of its last frame */
};

static int check_done(const struct child *child, const struct link_message *done)
{
	if (done->numbers[RECEIVED] + done->numbers[DROPPED] != FRAMES)
		return complain("%s received %" PRIu64 " frames of %s and dropped %" PRIu64
				", which is not all of %" PRIu64,
			child->name, done->numbers[RECEIVED], names[0], done->numbers[DROPPED],
			FRAMES);
	if (done->numbers[LATEST_LAST] != FRAMES)
		return complain("%s saw frame %" PRIu64 " of %s last, and the newest was %" PRIu64,
			child->name, done->numbers[LATEST_LAST], names[1], FRAMES);
	return 0;
}

static int finish(struct show *show, struct demo_step *step)
{
	struct link_message done[CONSUMERS];

	if (child_group_receive(show->children, VICTIM, LINK_DONE, done))
		return -1;
	for (int i = 0; i < VICTIM; i++) {
		if (check_done(&show->children[i], &done[i]) || child_finish(&show->children[i], 0))
			return -1;
	}
	say("no frame took the producer longer than %.2f ms", (double)show->slowest_ns / 1e6);
	snprintf(step->shown, sizeof(step->shown),
		"%" PRIu64 " frames: a fast consumer got %" PRIu64 ", a slow one %" PRIu64
		" and counted %" PRIu64 " dropped, a killed one held up nobody",
		FRAMES, done[FAST].numbers[RECEIVED], done[SLOW].numbers[RECEIVED],
		done[SLOW].numbers[DROPPED]);
	return 0;
}

int demo_channel(const struct demo *demo, struct demo_step *step)
{
	OWN(show)
	struct show show = {.demo = demo, .children = {CHILD_NONE, CHILD_NONE, CHILD_NONE}};

	if (open_channel(&show, 0) || spawn(&show) || run_channel(&show, 0) ||
		open_channel(&show, 1) || run_channel(&show, 1))
		return -1;
	return finish(&show, step);
}

/* --- the consumers --- */

static int get_channel(const struct demo_child *child, size_t index, ww_channel **out_channel)
{
	const struct link_message ready = {.kind = LINK_READY};

	if (ww_channel_get(child->device, NULL, names[index], NULL, WW_FOREVER, NULL,
		    out_channel) != WW_OK)
		return complain_record("cannot get the channel %s", names[index]);
	return parent_send(&ready, -1);
}

/* The stream copies when the frame is complete; the CPU waits for the copy. */
static int verify(const struct demo_child *child, const struct ww_frame *frame, uint32_t *copy)
{
	if (ww_stream_copy(child->stream, copy, frame->pointer, FRAME_BYTES) != WW_OK ||
		ww_stream_synchronize(child->stream, WW_FOREVER, NULL) != WW_OK)
		return complain_record("cannot copy frame %" PRIu64, frame->number);
	for (int i = 0; i < FRAME_ELEMENTS; i++) {
		if (copy[i] != frame->number)
			return complain("element %d of frame %" PRIu64 " is %" PRIu32, i,
				frame->number, copy[i]);
	}
	return 0;
}

static int consume(const struct demo_child *child, ww_channel *channel, long pause_ns,
	struct ww_frame *frame)
{
	OWN(heap) uint32_t *copy = malloc(FRAME_BYTES);
	ww_status status;

	if (!copy)
		return complain("out of memory");
	while ((status = ww_channel_receive(channel, child->stream, WW_FOREVER, NULL, frame)) ==
		WW_OK) {
		if (verify(child, frame, copy))
			return -1;
		rest(pause_ns);
		if (ww_channel_release(channel, frame, NULL) != WW_OK)
			return complain_record("cannot release a frame");
	}
	return status == WW_END ? 0 : complain_record("cannot receive a frame");
}

/* @numbers: received, dropped. Return: the number of the last frame; -1. */
static int64_t consume_all(const struct demo_child *child, size_t index, long pause_ns,
	uint64_t numbers[2])
{
	OWN(channel) ww_channel *channel = NULL;
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	struct ww_frame frame = WW_INIT(struct ww_frame);

	if (get_channel(child, index, &channel) || consume(child, channel, pause_ns, &frame))
		return -1;
	if (ww_channel_info_get(channel, &info) != WW_OK)
		return complain_record("cannot ask how the channel is");
	numbers[0] = info.received;
	numbers[1] = info.dropped;
	return (int64_t)frame.number;
}

static int run_consumer(const struct demo_child *child, long pause_ns, const char *what)
{
	struct link_message done = {.kind = LINK_DONE};
	uint64_t latest[2] = {0, 0};
	int64_t last;

	if (consume_all(child, 0, pause_ns, &done.numbers[RECEIVED]) < 0)
		return -1;
	last = consume_all(child, 1, pause_ns, latest);
	if (last < 0)
		return -1;
	done.numbers[LATEST_RECEIVED] = latest[0];
	done.numbers[LATEST_LAST] = (uint64_t)last;
	say("%s consumer: %s %" PRIu64 " received, %" PRIu64 " dropped; %s %" PRIu64
	    " received, the last was %" PRId64 ", the newest; every element as expected",
		what, names[0], done.numbers[RECEIVED], done.numbers[DROPPED], names[1], latest[0],
		last);
	return parent_send(&done, -1);
}

int demo_fast_consumer(const struct demo_child *child)
{
	return run_consumer(child, 0, "fast");
}

int demo_slow_consumer(const struct demo_child *child)
{
	return run_consumer(child, SLOW_NS, "slow");
}

int demo_lost_consumer(const struct demo_child *child)
{
	OWN(channel) ww_channel *channel = NULL;
	struct ww_frame frame = WW_INIT(struct ww_frame);
	struct link_message message = {.kind = LINK_SAMPLE};

	if (get_channel(child, 0, &channel))
		return -1;
	if (ww_channel_receive(channel, child->stream, WW_FOREVER, NULL, &frame) != WW_OK)
		return complain_record("cannot receive a frame");
	message.numbers[0] = frame.number;
	return demo_child_await_kill(&message, -1);
}
