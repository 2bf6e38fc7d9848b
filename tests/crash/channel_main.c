/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - the director of the random part, and the suite's tables
 *
 * WW_TEST_FRAMES says how many frames all cases together publish, and look at, at least.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "crash/channel.h"
#include "support/needs.h"

#define CAST          (1 + CHANNEL_CONSUMERS)
#define FRAMES_USUAL  150000
#define POLICIES      3
#define PRODUCER_TURN 3 /* of so many kills one is the producer's */
#define FIRST_KILLS   10

static struct {
	uint64_t random;
	uint32_t policy;
	struct board *board;
	struct child players[CAST]; /* the producer first */
} cast;

static void player_start(uint32_t index)
{
	char seed[24];
	char policy[16];
	char number[16];
	const char *const arguments[] = {seed, policy, index ? number : NULL, NULL};
	const struct child_options options = {.arguments = arguments};

	atomic_store(&cast.board->steps[index], 0);
	snprintf(seed, sizeof(seed), "%" PRIu64, draw_from(&cast.random, UINT32_MAX));
	snprintf(policy, sizeof(policy), "%" PRIu32, cast.policy);
	snprintf(number, sizeof(number), "%" PRIu32, index);
	child_start(&cast.players[index], index ? "role_channel_consumer" : "role_channel_producer",
		&options);
}

static void begin(uint32_t policy)
{
	cast.random = seed_choose();
	cast.policy = policy;
	scene_begin();
	cast.board = board_map(true);
	for (uint32_t i = 0; i < CAST; i++)
		player_start(i);
}

/* --- waiting for work to be done --- */

/* Frames that were published and looked at, whichever are fewer. */
static uint64_t frames_done(void)
{
	uint64_t published = atomic_load(&cast.board->published);
	uint64_t verified = atomic_load(&cast.board->verified);

	return published < verified ? published : verified;
}

/* Whoever finds something wrong ends. */
static void all_must_live(void)
{
	for (uint32_t i = 0; i < CAST; i++)
		player_must_live(&cast.players[i], i ? "consumer" : "producer", i);
}

/*
 * Until so many frames are done, and this player is at work. On a GPU a process takes a second to
 * begin.
 */
static void wait_for_work(uint32_t index, uint64_t frames)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t before = frames_done();
	int left_ms = child_limit_ms();

	while (atomic_load(&cast.board->steps[index]) == 0 || frames_done() < frames) {
		if (frames_done() != before)
			left_ms = child_limit_ms();
		before = frames_done();
		if (left_ms-- == 0)
			FAIL("%s %" PRIu32 " does no work, or there are no frames any more",
				index ? "consumer" : "producer", index);
		all_must_live();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

/* --- kills --- */

static void player_kill(uint32_t index)
{
	/* A producer makes a channel after it took a number; the next one takes a later number. */
	if (index == 0)
		atomic_store(&cast.board->killed, UINT64_MAX);
	player_must_be_killed(&cast.players[index], index ? "consumer" : "producer", index);
	if (index == 0)
		atomic_store(&cast.board->killed, atomic_load(&cast.board->generation));
}

static uint32_t choose_victim(void)
{
	if (draw_from(&cast.random, PRODUCER_TURN) == 0)
		return 0;
	return 1 + (uint32_t)draw_from(&cast.random, CHANNEL_CONSUMERS);
}

static void end(void)
{
	const struct board *board = cast.board;

	atomic_store(&cast.board->stops, 1);
	for (uint32_t i = 0; i < CAST; i++)
		child_finish(&cast.players[i]);
	check_note("%lu frames published in %lu channels, %lu received, %lu looks at all bytes, %lu "
		   "dropped, %lu never complete, %lu joins, %lu ends",
		atomic_load(&board->published), atomic_load(&board->generation),
		atomic_load(&board->received), atomic_load(&board->verified),
		atomic_load(&board->dropped), atomic_load(&board->lost),
		atomic_load(&board->joined), atomic_load(&board->ended));
	MUST(atomic_load(&board->joined) > CHANNEL_CONSUMERS);
	board_unmap(cast.board);
	scene_has_objects(0);
	scene_end();
}

static void play(uint32_t policy)
{
	uint64_t frames = number_wanted("WW_TEST_FRAMES", FRAMES_USUAL) / POLICIES + 1;
	uint32_t kills = kills_wanted() / POLICIES + 1;
	uint64_t memory = 0;

	begin(policy);
	for (uint32_t i = 0; i < kills; i++) {
		uint32_t victim = choose_victim();
		uint64_t turn = frames / kills;

		wait_for_work(victim, turn * i + draw_from(&cast.random, turn + 1));
		if (i <= FIRST_KILLS)
			memory = process_memory_bytes((pid_t)scene_info().pid);
		player_kill(victim);
		player_start(victim);
		check_renew_alarm();
	}
	for (uint32_t i = 0; i < CAST; i++)
		wait_for_work(i, frames);
	broker_must_not_grow(memory);
	check_note("%" PRIu32 " were killed", kills);
	end();
}

CASE_CALL(channel_torture_block, 0, play(WW_CHANNEL_BLOCK))
CASE_CALL(channel_torture_drop, 0, play(WW_CHANNEL_DROP_OLDEST))
CASE_CALL(channel_torture_latest, 0, play(WW_CHANNEL_LATEST))

CHECK_MAIN(needs_main, .name = "crash-channel", .leaks = true,
	.needs = WW_CAP_EXPORT | WW_CAP_HOST_READ_ONLY)
