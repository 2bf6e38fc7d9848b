/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_consumer.c - a process that joins, receives, checks, releases and leaves
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "crash/channel.h"
#include "device/deferred_release.h"
#include "support/leak_count.h"

#define LEAVE_TURN 2000 /* of so many frames one is the last before it leaves */

struct held {
	struct ww_frame frame;
	ww_stream *stream; /* that received it */
};

static struct {
	struct player player;
	ww_channel *channel;
	uint32_t policy;
	uint64_t generation; /* 0: no frame has come yet */
	uint64_t last;
	uint64_t dropped;
	struct held held[CHANNEL_HELD];
	uint32_t held_count;
	uint32_t copy[CHANNEL_SLOT_BYTES / sizeof(uint32_t)];
} consumer;

static bool is_over(void)
{
	return atomic_load(&consumer.player.board->stops);
}

static struct generation *entry(void)
{
	return board_generation(consumer.player.board, consumer.generation);
}

/* A frame may be missing, or never complete, if its producer may have been killed before it was. */
static void must_be_forgiven(uint64_t number, const char *what)
{
	if (consumer.generation > atomic_load(&consumer.player.board->killed) ||
		number <= atomic_load(&entry()->done))
		FAIL("frame %" PRIu64 " of generation %" PRIu64
		     " %s; its producer had done %lu, and "
		     "producers were killed up to generation %lu",
			number, consumer.generation, what, atomic_load(&entry()->done),
			atomic_load(&consumer.player.board->killed));
}

/* --- what a frame has --- */

/* Return: whether all words are as they must be. */
static bool words_are_right(const uint32_t *words, const struct ww_frame *frame)
{
	uint32_t word = channel_word(consumer.generation, frame->number);

	atomic_fetch_add(&consumer.player.board->verified, 1);
	for (uint64_t i = 0; i < frame->bytes / sizeof(word); i++) {
		if (words[i] != word)
			return false;
	}
	return true;
}

static void copy_by_stream(const struct ww_frame *frame)
{
	MUST_OK(ww_stream_copy(consumer.player.stream, consumer.copy, frame->pointer,
		frame->bytes));
}

/* Of a frame that is complete. */
static void must_be_right(const struct ww_frame *frame)
{
	const uint32_t *words = frame->host_pointer;

	if (!words) {
		copy_by_stream(frame);
		MUST_OK(ww_stream_synchronize(consumer.player.stream, WW_FOREVER, NULL));
		words = consumer.copy;
	}
	if (!words_are_right(words, frame))
		FAIL("frame %" PRIu64 " of generation %" PRIu64
		     " is torn, or was written while it was "
		     "held",
			frame->number, consumer.generation);
}

static void note_must_be_right(const struct ww_frame *frame)
{
	struct note note;

	MUST_EQUAL(sizeof(note), frame->metadata_bytes);
	memcpy(&note, frame->metadata, sizeof(note));
	if (!consumer.generation)
		consumer.generation = note.generation;
	MUST_EQUAL(consumer.generation, note.generation);
	MUST_EQUAL(frame->number, note.number);
	MUST_EQUAL(channel_frame_bytes(frame->number), frame->bytes);
	MUST_EQUAL(1, frame->ndim);
	MUST_EQUAL(frame->number, frame->shape[0]);
}

/* In order, none twice, none that was not published; and no gap but where there may be one. */
static void number_must_be_right(const struct ww_frame *frame)
{
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	uint64_t missing = consumer.last ? frame->number - consumer.last - 1 : 0;

	MUST(frame->number > consumer.last);
	MUST(frame->number <= atomic_load(&entry()->said));
	MUST_OK(ww_channel_info_get(consumer.channel, &info));
	if (consumer.last && consumer.policy != WW_CHANNEL_LATEST)
		MUST_EQUAL(missing, info.dropped - consumer.dropped);
	if (missing && consumer.policy == WW_CHANNEL_BLOCK)
		must_be_forgiven(frame->number - 1, "is missing");
	else if (info.dropped != consumer.dropped && consumer.policy == WW_CHANNEL_BLOCK &&
		consumer.generation > atomic_load(&consumer.player.board->killed))
		FAIL("%" PRIu64 " frames before frame %" PRIu64 " of generation %" PRIu64
		     " were dropped, and its producer lives",
			info.dropped - consumer.dropped, frame->number, consumer.generation);
	atomic_fetch_add(&consumer.player.board->dropped, info.dropped - consumer.dropped);
	consumer.dropped = info.dropped;
	consumer.last = frame->number;
}

/* --- releases --- */

static void release_by_cpu(const struct held *held)
{
	must_be_right(&held->frame);
	note_must_be_right(&held->frame);
	MUST_OK(ww_channel_release(consumer.channel, &held->frame, NULL));
}

static void release_by_stream(const struct held *held)
{
	ww_status status;

	copy_by_stream(&held->frame);
	status = ww_channel_release(consumer.channel, &held->frame, consumer.player.stream);
	MUST_OK(ww_stream_synchronize(consumer.player.stream, WW_FOREVER, NULL));
	if (status != WW_ERR_PEER_LOST)
		MUST_OK(status);
	if (status == WW_OK && words_are_right(consumer.copy, &held->frame))
		return;
	must_be_forgiven(held->frame.number, "was received by a stream, and is not right");
	atomic_fetch_add(&consumer.player.board->lost, 1);
}

static void release(uint32_t place)
{
	struct held held = consumer.held[place];

	consumer.held[place] = consumer.held[--consumer.held_count];
	if (held.stream)
		release_by_stream(&held);
	else
		release_by_cpu(&held);
}

/* --- receives --- */

static void take(const struct ww_frame *frame, ww_stream *stream)
{
	atomic_fetch_add(&consumer.player.board->received, 1);
	note_must_be_right(frame);
	number_must_be_right(frame);
	if (!stream)
		must_be_right(frame);
	consumer.held[consumer.held_count++] = (struct held){*frame, stream};
	while (consumer.held_count == CHANNEL_HELD ||
		(consumer.held_count && draw_from(&consumer.player.random, 2)))
		release((uint32_t)draw_from(&consumer.player.random, consumer.held_count));
}

/* Nothing that was complete is missing. */
static void end_must_be_right(ww_status status)
{
	uint64_t least = atomic_load(&entry()->done);

	atomic_fetch_add(&consumer.player.board->ended, 1);
	if (!consumer.generation)
		return;
	if (status == WW_END)
		least = atomic_load(&entry()->said);
	if (consumer.last < least)
		FAIL("the channel of generation %" PRIu64 " ended (%s) after frame %" PRIu64
		     ", and %" PRIu64 " were complete",
			consumer.generation, ww_status_name(status), consumer.last, least);
}

/* Return: whether the channel goes on. */
static bool step(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_stream *stream = player_stream(&consumer.player);
	ww_status status = ww_channel_receive(consumer.channel, stream, CHANNEL_TURN_NS, NULL,
		&frame);

	atomic_fetch_add(&consumer.player.board->steps[consumer.player.index], 1);
	if (status == WW_OK)
		take(&frame, stream);
	if (status == WW_OK || status == WW_TIMED_OUT)
		return true;
	if (status == WW_ERR_PEER_LOST && channel_said_unfinished())
		return true;
	if (status != WW_END && status != WW_ERR_PEER_LOST)
		MUST_OK(status);
	end_must_be_right(status);
	return false;
}

/* --- joining and leaving --- */

/* Whether a channel that is being replaced, or has too many that were killed, may say so. */
static bool may_come_later(ww_status status)
{
	return status == WW_TIMED_OUT || status == WW_ERR_NOT_FOUND || status == WW_ERR_LIMIT ||
		status == WW_ERR_PEER_LOST;
}

static bool join(void)
{
	static const uint64_t histories[] = {0, 1, 5, WW_CHANNEL_OLDEST};
	const struct ww_consumer_params *params = WW_PARAMS(struct ww_consumer_params,
		.history = histories[draw_from(&consumer.player.random, CHECK_COUNT(histories))]);
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);
	ww_status status = ww_channel_get(consumer.player.device, consumer.player.broker, "c",
		params, CHANNEL_TURN_NS, NULL, &consumer.channel);

	if (may_come_later(status))
		return false;
	MUST_OK(status);
	MUST_OK(ww_channel_info_get(consumer.channel, &info));
	consumer.policy = info.policy;
	consumer.generation = consumer.last = consumer.dropped = 0;
	atomic_fetch_add(&consumer.player.board->joined, 1);
	return true;
}

/* Frames that it holds are released by that. */
static void leave(void)
{
	if (draw_from(&consumer.player.random, 2)) {
		while (consumer.held_count)
			release(0);
	}
	consumer.held_count = 0;
	consumer.channel = ww_channel_unref(consumer.channel);
}

/* The channel's pages are kept while the stream waits for a frame that nobody looked at. */
static void settle(void)
{
	MUST_OK(ww_stream_synchronize(consumer.player.stream, WW_FOREVER, NULL));
	ww_deferred_reclaim();
}

static void receive_some(void)
{
	while (!is_over() && step() && draw_from(&consumer.player.random, LEAVE_TURN))
		;
}

/* role_channel_consumer SEED POLICY INDEX: runs until the board says that it is over */
ROLE(role_channel_consumer)
{
	struct census before;
	bool has_joined = false;

	MUST_EQUAL(3, count);
	player_begin(&consumer.player, (uint32_t)strtoul(arguments[2], NULL, 10),
		strtoull(arguments[0], NULL, 10));
	while (!is_over()) {
		if (!join()) {
			sched_yield();
			continue;
		}
		receive_some();
		leave();
		if (!has_joined) {
			settle();
			census_take(&before);
		}
		has_joined = true;
	}
	if (has_joined && subject_is_countable()) {
		settle();
		census_must_match(&before);
	}
	player_end(&consumer.player);
}
