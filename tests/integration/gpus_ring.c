/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_ring.c - a ring over all GPUs: each process copies from the memory of the one before it
 *
 * Process 0 begins a round, when the one before has come back to it; each other one copies what
 * the process before it has, and writes the round into the word that is its own. Only streams
 * wait, for the timeline of the process before. So, when round R has gone round, process 0 finds
 * R in every other word, as long as no copy was made before what it copies was there.
 *
 * The link from one process to the next is host memory where a GPU does not reach the other one's.
 */
#include <stdio.h>
#include <string.h>

#include "integration/gpus.h"

#define ROUNDS     50
#define RING_BYTES (2 * MIB)

/* --- the agent's side --- */

COMMAND_BROKER(gpus, previous)
{
	ww_status status;

	MUST(!gpus_agent.previous && !gpus_agent.timelines[1]);
	status = ww_memory_get(agent_device(), broker, agent_word(1),
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_READ), 0, NULL,
		&gpus_agent.previous, NULL);
	return status ? status
		      : ww_timeline_get(broker, agent_word(2), 0, NULL, &gpus_agent.timelines[1]);
}

static void copy_from_previous(uint64_t round)
{
	MUST_OK(ww_timeline_stream_wait(gpus_agent.timelines[1], agent_stream(), round, 0,
		WW_FOREVER, NULL));
	MUST_OK(ww_stream_copy(agent_stream(), ww_memory_pointer(*agent_memory()),
		ww_memory_pointer(gpus_agent.previous), RING_BYTES));
}

/* After a round of process 0: every other process has written it. */
static void verify_round(uint64_t round, uint32_t count)
{
	uint32_t words[GPUS_MAX];

	MUST_OK(ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL));
	memory_get(*agent_memory(), 0, words, sizeof(words));
	for (uint32_t i = 0; i < count; i++)
		MUST_EQUAL(round, words[i]);
}

/* PLACE COUNT ROUNDS */
COMMAND(gpus, ring)
{
	uint32_t *words = ww_memory_pointer(*agent_memory());
	uint64_t place = agent_number(1);
	uint32_t count = (uint32_t)agent_number(2);
	uint64_t rounds = agent_number(3);

	for (uint64_t round = 1; round <= rounds; round++) {
		if (place > 0)
			copy_from_previous(round);
		MUST_OK(ww_stream_fill(agent_stream(), words + place, (uint32_t)round, 4, 1));
		MUST_OK(ww_timeline_stream_signal(gpus_agent.timelines[0], agent_stream(), round));
		if (place > 0)
			continue;
		copy_from_previous(round);
		verify_round(round, count);
	}
	return ww_stream_synchronize(agent_stream(), WW_FOREVER, NULL);
}

/* --- the case's side --- */

static ww_device *device_at(const struct team *team, uint32_t place)
{
	return gpu_open(team->members[place].index);
}

/* Whether the GPU of the next process reaches the memory of this one's. */
static bool next_reaches(const struct team *team, uint32_t place)
{
	OWN(device) ww_device *device = device_at(team, place);
	OWN(device) ww_device *next = device_at(team, (place + 1) % team->count);
	bool reaches = devices_are_peers(device, next);

	return reaches;
}

/* The owner of the suite's other cases is place 0 here. */
static void turn_to_owner(struct team *team)
{
	while (!team->members[0].is_owner) {
		struct member first = team->members[0];

		memmove(&team->members[0], &team->members[1],
			(team->count - 1) * sizeof(team->members[0]));
		team->members[team->count - 1] = first;
	}
}

static void run_ring(bool by_host)
{
	struct team team;

	scene_begin();
	team_start_all(&team, "gpus");
	turn_to_owner(&team);
	for (uint32_t i = 0; i < team.count; i++) {
		struct child *agent = &team.members[i].agent;
		bool is_host = by_host || !next_reaches(&team, i);

		agent_must(agent, WW_OK, "make %s %llu 0", is_host ? "host" : "vmm",
			(unsigned long long)RING_BYTES);
		agent_must(agent, WW_OK, "put p%u state=shared", i);
		agent_must(agent, WW_OK, "timeline_put t%u", i);
		if (is_host && !by_host)
			check_note("process %u hands on by host memory: the next GPU does not "
				   "reach its own",
				i);
	}
	for (uint32_t i = 0; i < team.count; i++)
		agent_must(&team.members[i].agent, WW_OK, "previous p%u t%u",
			(i + team.count - 1) % team.count, (i + team.count - 1) % team.count);
	for (uint32_t i = 0; i < team.count; i++)
		agent_tell(&team.members[i].agent, "ring %u %u %d", i, team.count, ROUNDS);
	team_answers(&team, WW_OK, "");
	team_end(&team);
	scene_end();
}

CASE_CALL(ring_over_all, NEEDS_VALUES | WW_CAP_HOST_MEMORY, run_ring(false))
CASE_CALL(ring_over_all_by_host_memory, NEEDS_VALUES | WW_CAP_HOST_MEMORY, run_ring(true))
