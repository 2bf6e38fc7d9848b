/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_producer.c - the process that publishes; it makes the channel anew after some frames
 */
#include <stdlib.h>
#include <time.h>

#include "crash/channel.h"

#define FRAMES_MOST 20000 /* of one channel */
#define SLOTS_BLOCK 16
#define LAG_TURN    64 /* of so many frames by streams one is late */
#define LAG_MOST_NS 500000
#define RUBBISH     UINT32_C(0xdeaddead) /* what a slot has until its frame is written */

static struct {
	struct player player;
	uint32_t policy;
	ww_channel *channel;
	struct generation *entry;
	uint64_t generation;
	uint64_t number; /* of the last frame */
	bool is_pending; /* streams may have to write some of the frames yet */
} producer;

static bool is_over(void)
{
	return atomic_load(&producer.player.board->stops);
}

/* --- what a frame has --- */

static void fill_by_stream(const struct ww_frame *frame, uint32_t word)
{
	MUST_OK(ww_stream_fill(producer.player.stream, frame->pointer, word, sizeof(word),
		frame->bytes / sizeof(word)));
}

static void fill(const struct ww_frame *frame, uint32_t word)
{
	uint32_t *words = frame->host_pointer;

	if (!words) {
		fill_by_stream(frame, word);
		MUST_OK(ww_stream_synchronize(producer.player.stream, WW_FOREVER, NULL));
		return;
	}
	for (uint64_t i = 0; i < frame->bytes / sizeof(word); i++)
		words[i] = word;
}

/* What a GPU's long work would be. */
static void lag_behind(void *pause_ns)
{
	const struct timespec pause = {.tv_nsec = (long)(uintptr_t)pause_ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void fill_late(const struct ww_frame *frame, uint32_t word)
{
	uintptr_t pause_ns = draw_from(&producer.player.random, LAG_MOST_NS);

	if (draw_from(&producer.player.random, LAG_TURN) == 0)
		MUST_OK(ww_stream_call(producer.player.stream, lag_behind, (void *)pause_ns));
	fill_by_stream(frame, word);
}

static void write_frame(struct ww_frame *frame, ww_stream *stream)
{
	uint64_t number = producer.number + 1;
	uint32_t word = channel_word(producer.generation, number);
	struct note *note = frame->metadata;

	frame->bytes = channel_frame_bytes(number);
	frame->metadata_bytes = sizeof(*note);
	frame->ndim = 1;
	frame->shape[0] = number;
	*note = (struct note){producer.generation, number};
	if (stream)
		fill_late(frame, word);
	else
		fill(frame, word);
}

/* --- calls --- */

/* Return: whether there is a slot; else all is over. */
static bool acquire(ww_stream *stream, struct ww_frame *frame)
{
	ww_status status;

	do {
		*frame = WW_INIT(struct ww_frame);
		status = ww_channel_acquire(producer.channel, stream, CHANNEL_TURN_NS, NULL, frame);
	} while (status == WW_TIMED_OUT && !is_over());
	if (status == WW_TIMED_OUT)
		return false;
	MUST_OK(status);
	if (!stream)
		fill(frame, RUBBISH);
	return true;
}

static void note_done(void)
{
	producer.is_pending = false;
	atomic_store(&producer.entry->done, producer.number);
}

static void publish(struct ww_frame *frame, ww_stream *stream)
{
	write_frame(frame, stream);
	atomic_store(&producer.entry->said, producer.number + 1);
	MUST_OK(ww_channel_publish(producer.channel, frame, stream));
	MUST_EQUAL(++producer.number, frame->number);
	atomic_fetch_add(&producer.player.board->published, 1);
	if (stream)
		producer.is_pending = true;
	else if (!producer.is_pending)
		note_done();
}

static void settle(void)
{
	MUST_OK(ww_stream_synchronize(producer.player.stream, WW_FOREVER, NULL));
	note_done();
}

/* A stream that got the slot must be the one that writes it. */
static void send_one(ww_stream *stream)
{
	struct ww_frame frame;

	if (!acquire(stream, &frame))
		return;
	if (draw_from(&producer.player.random, 32) == 0)
		MUST_OK(ww_channel_discard(producer.channel, &frame, stream));
	else
		publish(&frame, stream);
}

/* Two slots are held; the second is published first. */
static void send_two(void)
{
	struct ww_frame frames[2];

	if (!acquire(NULL, &frames[0]))
		return;
	if (!acquire(NULL, &frames[1])) {
		MUST_OK(ww_channel_discard(producer.channel, &frames[0], NULL));
		return;
	}
	publish(&frames[1], NULL);
	publish(&frames[0], NULL);
}

static void step(void)
{
	ww_stream *stream = player_stream(&producer.player);

	if (!stream && draw_from(&producer.player.random, 16) == 0)
		send_two();
	else
		send_one(stream);
	if (producer.is_pending && draw_from(&producer.player.random, 4) == 0)
		settle();
	atomic_fetch_add(&producer.player.board->steps[0], 1);
}

/* --- generations --- */

static void create(void)
{
	struct board *board = producer.player.board;

	producer.generation = atomic_fetch_add(&board->generation, 1) + 1;
	producer.entry = board_generation(board, producer.generation);
	producer.number = 0;
	atomic_store(&producer.entry->done, 0);
	atomic_store(&producer.entry->said, 0);
	MUST_OK(ww_channel_create(producer.player.device, producer.player.broker, "c",
		WW_PARAMS(struct ww_channel_params, .policy = producer.policy,
			.slot_bytes = CHANNEL_SLOT_BYTES,
			.slots = producer.policy == WW_CHANNEL_BLOCK ? SLOTS_BLOCK : 0,
			.consumers_max = 2 * CHANNEL_CONSUMERS, .held_max = CHANNEL_HELD,
			.metadata_bytes = sizeof(struct note), .flags = WW_PUT_REPLACE),
		NULL, &producer.channel));
}

/* The former one is closed after its name was taken: its consumers go on until then. */
static void replace(void)
{
	ww_channel *former = producer.channel;

	if (producer.is_pending)
		settle();
	create();
	ww_channel_unref(former);
}

/* role_channel_producer SEED POLICY: runs until the board says that it is over */
ROLE(role_channel_producer)
{
	uint64_t left = 0;

	MUST_EQUAL(2, count);
	player_begin(&producer.player, 0, strtoull(arguments[0], NULL, 10));
	producer.policy = (uint32_t)strtoul(arguments[1], NULL, 10);
	while (!is_over()) {
		if (left-- == 0) {
			replace();
			left = draw_from(&producer.player.random, FRAMES_MOST);
		}
		step();
	}
	if (producer.is_pending)
		settle();
	ww_channel_unref(producer.channel);
	player_end(&producer.player);
}
