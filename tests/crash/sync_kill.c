/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_kill.c - signallers, and waiters, are killed at random moments
 */
#include <signal.h>
#include <sys/wait.h>

#include "crash/sync.h"

#define FIRST_ROUNDS 10

static uint32_t part_of_kills(uint32_t part)
{
	return kills_wanted() > part ? kills_wanted() / part : 1;
}

/*
 * Half of those with streams at work see the gate opened before, and are killed while the streams
 * go on.
 */
static void kill_at_random(const char *what, bool works)
{
	uint32_t count = part_of_kills(2);
	uint64_t memory = 0;

	cast_begin();
	for (uint32_t i = 0; i < count; i++) {
		if (i <= FIRST_ROUNDS)
			memory = process_memory_bytes((pid_t)scene_info().pid);
		round_begin(works);
		pause_at_random();
		if (works && i % 2) {
			round_open_gate();
			pause_at_random();
		}
		round_kill();
		round_end();
	}
	broker_must_not_grow(memory);
	cast_end(what);
}

CASE_CALL(killed_signalling, 0, kill_at_random("CPU signals", false))
CASE_CALL(killed_with_streams_at_work, 0, kill_at_random("streams at work", true))

/*
 * One waiter more is killed while it waits; nobody else notices, and the broker keeps nothing of
 * it.
 */
CASE(waiters_killed, 0)
{
	uint32_t count = part_of_kills(10);

	cast_begin();
	for (uint32_t i = 0; i < count; i++) {
		struct ww_broker_info before;
		struct child victim;
		uint64_t said;

		round_begin(i % 2);
		before = scene_info();
		waiter_start(&victim, SYNC_WAITERS);
		child_hear(&victim, "here");
		waiter_wait(&victim, false);
		if (draw_from(&cast.random, 2))
			child_hear(&victim, "waiting");
		pause_at_random();
		child_kill(&victim);
		said = board_said(cast.board, STYLE_CPU);
		scene_has_holders(before.holders);
		MUST_EQUAL(before.holds, scene_info().holds);
		MUST_EQUAL(before.objects, scene_info().objects);
		MUST_EQUAL(before.open_fds, scene_info().open_fds);
		while (board_said(cast.board, STYLE_CPU) == said) /* the signaller goes on */
			scene_info();
		round_kill();
		round_end();
	}
	cast_end("after the death of another waiter");
}
