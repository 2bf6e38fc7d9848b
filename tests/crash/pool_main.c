/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_main.c - the director: who is killed when, and what must be true in the end
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "crash/pool.h"
#include "support/needs.h"

#define CAST        (1 + POOL_HOLDERS)
#define PAUSE_MS    25
#define BROKER_TURN 10 /* of so many kills one is the broker's, where it may be */

static struct {
	uint64_t random;
	struct board *board;
	struct child players[CAST]; /* the owner first */
	unsigned long imported;     /* when the last one was killed */
} cast;

static void player_start(uint32_t index)
{
	char number[16];
	char seed[24];
	const char *const arguments[] = {number, seed, NULL};
	const struct child_options options = {.arguments = index ? arguments : arguments + 1};

	atomic_store(&cast.board->steps[index], 0);
	snprintf(number, sizeof(number), "%" PRIu32, index);
	snprintf(seed, sizeof(seed), "%" PRIu64, draw_from(&cast.random, UINT32_MAX));
	child_start(&cast.players[index], index ? "role_pool_holder" : "role_pool_owner", &options);
}

static void begin(bool tolerates)
{
	cast.random = seed_choose();
	scene_begin();
	cast.board = board_map(true);
	atomic_store(&cast.board->tolerates, tolerates);
	cast.imported = 0;
	for (uint32_t i = 0; i < CAST; i++)
		player_start(i);
}

/* Random, mostly short. */
static void pause_at_random(void)
{
	uint64_t most_ms = 1 + draw_from(&cast.random, PAUSE_MS);
	const struct timespec pause = {
		.tv_nsec = (long)(draw_from(&cast.random, most_ms * 1000) * 1000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

/*
 * On a GPU a process takes a second to begin. So nobody is killed who is not at work, nor before
 * somebody has imported something since the last kill.
 */
static void wait_for_work(uint32_t index)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int left_ms = child_limit_ms(); left_ms > 0; left_ms--) {
		if (atomic_load(&cast.board->steps[index]) > 0 &&
			atomic_load(&cast.board->imported) > cast.imported)
			return;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	FAIL("%s %" PRIu32 " does no work, or nobody imports anything", index ? "holder" : "owner",
		index);
}

/* It must still have been there: who finds something wrong ends. */
static void player_kill(uint32_t index)
{
	cast.imported = atomic_load(&cast.board->imported);
	player_must_be_killed(&cast.players[index], index ? "holder" : "owner", index);
}

static void player_kill_and_start(uint32_t index)
{
	wait_for_work(index);
	pause_at_random();
	player_kill(index);
	player_start(index);
}

/* Those who are left let go, each in its turn, and the owner finds everything where it was. */
static void end(void)
{
	for (uint32_t i = 0; i < CAST; i++)
		wait_for_work(i);
	pause_at_random();
	atomic_store(&cast.board->stops, 1);
	for (uint32_t i = 1; i < CAST; i++)
		child_finish(&cast.players[i]);
	child_tell(&cast.players[0], "alone");
	child_finish(&cast.players[0]);
	check_note("%lu slices, %lu times no room, %lu imports, %lu by name, %lu came too late, "
		   "%lu passed on, %lu let go by streams, %lu looks",
		atomic_load(&cast.board->allocated), atomic_load(&cast.board->full),
		atomic_load(&cast.board->imported), atomic_load(&cast.board->fetched),
		atomic_load(&cast.board->late), atomic_load(&cast.board->passed),
		atomic_load(&cast.board->streamed), atomic_load(&cast.board->verified));
	MUST(atomic_load(&cast.board->imported) > 0);
	MUST(atomic_load(&cast.board->passed) > 0);
	MUST(atomic_load(&cast.board->fetched) > 0);
	board_unmap(cast.board);
	scene_end();
}

CASE(holders_killed, 0)
{
	uint32_t count = kills_wanted();

	begin(false);
	for (uint32_t i = 0; i < count; i++) {
		player_kill_and_start(1 + (uint32_t)draw_from(&cast.random, POOL_HOLDERS));
	}
	end();
}

/* Holders go on with what they have of the dead owner's slices, and with those of the next one. */
CASE(owner_killed, 0)
{
	uint32_t count = kills_wanted();

	begin(false);
	for (uint32_t i = 0; i < count; i++) {
		player_kill_and_start(0);
		if (i % 4 == 0)
			player_kill_and_start(1 + (uint32_t)draw_from(&cast.random, POOL_HOLDERS));
	}
	end();
}

CASE(anybody_killed, 0)
{
	uint32_t count = kills_wanted();

	begin(true);
	for (uint32_t i = 0; i < count; i++) {
		if (i % BROKER_TURN == BROKER_TURN - 1)
			scene_restart_broker();
		else
			player_kill_and_start((uint32_t)draw_from(&cast.random, CAST));
	}
	atomic_store(&cast.board->tolerates, 0);
	end();
}

CHECK_MAIN(needs_main, .name = "crash-pool", .leaks = true)
