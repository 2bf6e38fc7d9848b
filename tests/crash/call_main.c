/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_main.c - the director of the random part, and the suite's tables
 *
 * WW_TEST_CALLS says how many calls must have ended, at least. Of a hundred kills that are wanted
 * (WW_TEST_KILLS) twenty are of the server, and twenty of clients.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "crash/call.h"
#include "support/needs.h"

#define CAST        (1 + CALL_CLIENTS)
#define CALLS_USUAL 10000
#define KILLS_PART  5
#define FIRST_KILLS 10

static struct {
	uint64_t random;
	struct call_board *board;
	ww_memory *array;
	uint64_t objects;           /* in the broker while there is only a server */
	struct child players[CAST]; /* the server first */
} cast;

static const char *name_of(uint32_t index)
{
	return index ? "client" : "server";
}

static void player_start(uint32_t index)
{
	char seed[24];
	char number[16];
	const char *const arguments[] = {seed, number, NULL};
	const struct child_options options = {.arguments = arguments};

	atomic_store(&cast.board->steps[index], 0);
	snprintf(seed, sizeof(seed), "%" PRIu64, draw_from(&cast.random, UINT32_MAX));
	snprintf(number, sizeof(number), "%" PRIu32, index);
	child_start(&cast.players[index], index ? "role_call_client" : "role_call_server",
		index ? &options : NULL);
}

/* --- waiting for work to be done --- */

/* Whoever finds something wrong ends. */
static void all_must_live(void)
{
	for (uint32_t i = 0; i < CAST; i++)
		if (cast.players[i].pid) /* it was started */
			player_must_live(&cast.players[i], name_of(i), i);
}

/* Until so many calls have ended, and this player is at work. */
static void wait_for_work(uint32_t index, uint64_t calls)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t before = atomic_load(&cast.board->ended);
	int left_ms = child_limit_ms();

	while (atomic_load(&cast.board->steps[index]) == 0 ||
		atomic_load(&cast.board->ended) < calls) {
		if (atomic_load(&cast.board->ended) != before)
			left_ms = child_limit_ms();
		before = atomic_load(&cast.board->ended);
		if (left_ms-- == 0)
			FAIL("%s %" PRIu32 " does no work, or no call ends any more",
				name_of(index), index);
		all_must_live();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void wait_for_server(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int left_ms = child_limit_ms(); !atomic_load(&cast.board->servers_started);
		left_ms--) {
		if (left_ms == 0)
			FAIL("the server does not start");
		all_must_live();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

static void begin(void)
{
	cast.random = seed_choose();
	scene_begin();
	cast.board = call_board_map(true);
	cast.array = call_array_make(CALL_MOST, &cast.board->array);
	player_start(0);
	wait_for_server();
	cast.objects = scene_info().objects;
	for (uint32_t i = 1; i < CAST; i++)
		player_start(i);
}

/* --- kills --- */

static void player_replace(uint32_t index)
{
	player_must_be_killed(&cast.players[index], name_of(index), index);
	player_start(index);
}

/* --- the end --- */

/* What runs may leave at a place. */
static void count_must_be_possible(uint64_t at, uint8_t count)
{
	const struct call_place *place = &cast.board->places[at];
	uint64_t most = atomic_load(&place->most);

	if (atomic_load(&place->gate) != CALL_OPEN && count > 0)
		FAIL("the call at %" PRIu64 " was run, and its value never came", at);
	if (atomic_load(&place->kind) == CALL_WRITES) {
		if (count > 0 && count != CALL_WRITTEN)
			FAIL("the call at %" PRIu64 " has written %d", at, count);
		return;
	}
	if (atomic_load(&place->kind) == CALL_ADDS)
		most = 1;
	else if (most == 0)
		most = atomic_load(&cast.board->servers);
	if (count > most)
		FAIL("the call at %" PRIu64 " was run %d times, not %" PRIu64 " at most", at, count,
			most);
}

static void place_must_be_right(uint64_t at, uint8_t count)
{
	enum call_end end = atomic_load(&cast.board->places[at].end);

	count_must_be_possible(at, count);
	if (end == CALL_RUN && count == 0)
		FAIL("the call at %" PRIu64 " has ended well, and was not run", at);
	if ((end == CALL_NOT_RUN || end == CALL_UNUSED) && count > 0)
		FAIL("the call at %" PRIu64 " was run, and %s", at,
			end == CALL_UNUSED ? "never made" : "its client was told that it was not");
}

static void array_must_be_right(void)
{
	const uint8_t *counts = ww_memory_host_pointer(cast.array);
	uint64_t made = atomic_load(&cast.board->next);

	for (uint64_t at = 0; at < made; at++)
		place_must_be_right(at, counts[at]);
	for (uint64_t at = made; at < CALL_MOST; at++)
		MUST_EQUAL(0, counts[at]);
}

static void note_figures(void)
{
	struct call_board *board = cast.board;

	check_note("%lu calls made, %lu run, %lu not run, %lu lost, %lu that nobody waited for; "
		   "%lu joins, %lu servers",
		atomic_load(&board->next), atomic_load(&board->run), atomic_load(&board->not_run),
		atomic_load(&board->lost), atomic_load(&board->left), atomic_load(&board->joins),
		atomic_load(&board->servers));
	check_note("%lu waited for a value, %lu were asked to be repeated; %lu memories, %lu calls "
		   "for them",
		atomic_load(&board->gated), atomic_load(&board->asked_to_repeat),
		atomic_load(&board->memories), atomic_load(&board->memory_calls));
	MUST(atomic_load(&board->joins) > CALL_CLIENTS);
	MUST(atomic_load(&board->gated) > 0 && atomic_load(&board->asked_to_repeat) > 0);
	MUST(atomic_load(&board->memories) > 0 &&
		atomic_load(&board->memory_calls) > atomic_load(&board->memories));
	MUST(atomic_load(&board->run) > atomic_load(&board->ended) / 2);
}

static void end(void)
{
	atomic_store(&cast.board->stops, CALL_CLIENTS_STOP);
	for (uint32_t i = 1; i < CAST; i++)
		child_finish(&cast.players[i]);
	scene_has_objects(cast.objects); /* no memory of any client */
	atomic_store(&cast.board->stops, CALL_SERVER_STOPS);
	child_finish(&cast.players[0]);
	note_figures();
	array_must_be_right();
	cast.array = ww_memory_unref(cast.array);
	call_board_unmap(cast.board);
	scene_has_objects(0);
	scene_end();
}

CASE(call_torture, 0)
{
	uint64_t calls = number_wanted("WW_TEST_CALLS", CALLS_USUAL);
	uint32_t kills = 2 * (kills_wanted() / KILLS_PART + 1);
	uint64_t memory = 0;

	begin();
	for (uint32_t i = 0; i < kills; i++) {
		uint32_t victim = i % 2 ? 1 + (uint32_t)draw_from(&cast.random, CALL_CLIENTS) : 0;
		uint64_t turn = calls / kills;

		wait_for_work(victim, turn * i + draw_from(&cast.random, turn + 1));
		if (i <= FIRST_KILLS)
			memory = process_memory_bytes((pid_t)scene_info().pid);
		player_replace(victim);
		check_renew_alarm();
	}
	for (uint32_t i = 0; i < CAST; i++)
		wait_for_work(i, calls);
	broker_must_not_grow(memory);
	check_note("%" PRIu32 " were killed", kills);
	end();
}

CHECK_MAIN(needs_main, .name = "crash-call", .leaks = true, .needs = NEEDS_VALUES)
