/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_lock.c - many streams of two processes that wait for each other: never for ever, whatever
 * the order
 *
 * Hardware queues are few, and streams share them: a wait that is not over holds up whatever was
 * given to its queue later. The rule of submission is what keeps that from becoming a circle. Who
 * locks up all the same is ended by the alarm of its case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/sync_agent.h"

#define STREAMS 64

/* --- what agents do --- */

/* The same on every machine. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static void shuffle(uint32_t order[STREAMS], uint64_t *state)
{
	for (uint32_t i = 0; i < STREAMS; i++)
		order[i] = i;
	for (uint32_t i = STREAMS - 1; i > 0; i--) {
		uint32_t other = next_random(state) % (i + 1);
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

struct crowd {
	ww_stream *streams[STREAMS];
	ww_timeline *own[STREAMS];
	ww_timeline *others[STREAMS];
	uint64_t state; /* of the random numbers */
};

static void crowd_begin(struct crowd *crowd, const char *own, const char *other)
{
	ww_broker *broker;
	char name[64];

	MUST_OK(agent_broker(&broker));
	for (int i = 0; i < STREAMS; i++) {
		crowd->streams[i] = stream_make(agent_device());
		crowd->own[i] = timeline_make(0, 0);
		snprintf(name, sizeof(name), "%s/%d", own, i);
		MUST_OK(ww_timeline_put(crowd->own[i], broker, name, NULL, NULL));
	}
	for (int i = 0; i < STREAMS; i++) {
		snprintf(name, sizeof(name), "%s/%d", other, i);
		MUST_OK(ww_timeline_get(broker, name, WW_FOREVER, NULL, &crowd->others[i]));
	}
}

/* Everything that was submitted must be reached, here and there. */
static void crowd_end(struct crowd *crowd)
{
	for (int i = 0; i < STREAMS; i++)
		MUST_OK(ww_stream_synchronize(crowd->streams[i], WW_FOREVER, NULL));
	for (int i = 0; i < STREAMS; i++) {
		struct ww_timeline_info info = timeline_info(crowd->own[i]);

		MUST_EQUAL(info.submitted, info.completed);
		ww_stream_unref(crowd->streams[i]);
		ww_timeline_unref(crowd->others[i]);
		ww_timeline_unref(crowd->own[i]);
	}
}

/*
 * Every pair of streams, one here and one there, hands a value to and fro; each side goes through
 * the pairs in another order every time. The second side answers what the first one has said.
 */
static void play_pairs(struct crowd *crowd, uint64_t rounds, bool is_first)
{
	uint32_t order[STREAMS];

	for (uint64_t round = 1; round <= rounds; round++) {
		shuffle(order, &crowd->state);
		for (uint32_t i = 0; i < STREAMS; i++) {
			uint32_t at = order[i];

			MUST_OK(ww_timeline_stream_wait(crowd->others[at], crowd->streams[at],
				is_first ? round - 1 : round, 0, WW_FOREVER, NULL));
			MUST_OK(ww_timeline_stream_signal(crowd->own[at], crowd->streams[at],
				round));
		}
	}
}

/* Any stream waits for whatever any timeline of either side has submitted by now, and signals. */
static void play_anyhow(struct crowd *crowd, uint64_t steps)
{
	for (uint64_t step = 0; step < steps; step++) {
		uint32_t at = next_random(&crowd->state) % STREAMS;
		ww_stream *stream = crowd->streams[at];

		for (uint32_t i = next_random(&crowd->state) % 3; i > 0; i--) {
			uint32_t which = next_random(&crowd->state) % (2 * STREAMS);
			ww_timeline *awaited = which < STREAMS ? crowd->own[which]
							       : crowd->others[which - STREAMS];
			uint64_t value = timeline_info(awaited).submitted;

			MUST_OK(ww_timeline_stream_wait(awaited, stream, value, 0, 0, NULL));
		}
		at = next_random(&crowd->state) % STREAMS; /* not always the stream's own one */
		MUST_OK(ww_timeline_stream_signal(crowd->own[at], stream,
			timeline_info(crowd->own[at]).submitted + 1));
	}
}

static struct crowd *played; /* by the last "unlike", until "unlike_end" */

/* unlike OWN OTHER ROUNDS SEED first|second|anyhow */
COMMAND(sync, unlike)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	MUST(crowd && !played);
	crowd->state = agent_number(4);
	crowd_begin(crowd, agent_word(1), agent_word(2));
	if (strcmp(agent_word(5), "anyhow"))
		play_pairs(crowd, agent_number(3), !strcmp(agent_word(5), "first"));
	else
		play_anyhow(crowd, agent_number(3));
	played = crowd;
	return WW_OK;
}

/* Told when both sides have played: until then the other one may be looking names up here. */
COMMAND(sync, unlike_end)
{
	MUST(played);
	crowd_end(played);
	free(played);
	played = NULL;
	return WW_OK;
}

/* --- cases --- */

static void play(int rounds, int seed, const char *first, const char *second)
{
	struct child agents[2];

	sync_start(&agents[0], NULL);
	sync_start(&agents[1], NULL);
	agent_tell(&agents[0], "unlike a b %d %d %s", rounds, seed, first);
	agent_tell(&agents[1], "unlike b a %d %d %s", rounds, seed + 1000, second);
	agent_answers(&agents[0], WW_OK);
	agent_answers(&agents[1], WW_OK);
	for (int i = 0; i < 2; i++)
		agent_must(&agents[i], WW_OK, "unlike_end");
	agent_end(&agents[0]);
	agent_end(&agents[1]);
	scene_has_objects(0);
}

SCENE_CASE(lock_never_in_any_order, NEEDS_VALUES)
{
	for (int seed = 1; seed <= 3; seed++)
		play(20, seed, "first", "second");
}

SCENE_CASE(lock_never_at_random, NEEDS_VALUES)
{
	for (int seed = 1; seed <= 3; seed++)
		play(2000, seed, "anyhow", "anyhow");
}

/*
 * The same waits without the rule: as many streams as have queues wait for what is submitted later,
 * and then what is submitted later cannot run. The CPU, which needs no queue, lets them go.
 */
DEVICE_CASE(lock_by_raw_order, NEEDS_VALUES | NEEDS_CUDA)
{
	OWN(timeline) ww_timeline *held = timeline_make(0, 0);
	OWN(timeline) ww_timeline *timeline = timeline_make(0, 0);
	ww_stream *streams[STREAMS];
	OWN(stream) ww_stream *last;

	for (int i = 0; i < STREAMS; i++)
		streams[i] = stream_make(device);
	last = stream_make(device);
	for (int i = 0; i < STREAMS; i++)
		stream_hold(streams[i], held, 1);
	MUST_OK(ww_timeline_stream_signal(timeline, last, 1));
	MUST_STATUS(WW_TIMED_OUT, ww_timeline_wait(timeline, 1, 100 * MS, NULL));
	MUST_OK(ww_timeline_signal(held, 1));
	MUST_OK(ww_timeline_wait(timeline, 1, WW_FOREVER, NULL));
	for (int i = 0; i < STREAMS; i++) {
		MUST_OK(ww_stream_synchronize(streams[i], WW_FOREVER, NULL));
		ww_stream_unref(streams[i]);
	}
	MUST_OK(ww_stream_synchronize(last, WW_FOREVER, NULL));
}

/* Each wants to see the other's value before it gives its own. */
SCENE_CASE(lock_by_program_is_timed_out, NEEDS_VALUES)
{
	struct child agents[2];

	sync_start_pair(agents);
	for (int i = 0; i < 2; i++)
		agent_tell(&agents[i], "stream_wait 1 1 wait_ms=50");
	for (int i = 0; i < 2; i++)
		agent_answers(&agents[i], WW_TIMED_OUT);
	for (int i = 0; i < 2; i++) {
		agent_must(&agents[i], WW_OK, "sync"); /* nothing was enqueued */
		agent_must(&agents[i], WW_OK, "stream_signal 0 1");
	}
	for (int i = 0; i < 2; i++) {
		agent_does(&agents[i], "stream_wait 1 1 wait_ms=forever", "sync");
	}
}
