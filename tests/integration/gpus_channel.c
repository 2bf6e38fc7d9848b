/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_channel.c - a channel whose producer is on one GPU, and a consumer on each other one
 *
 * Agents are those of the channel suite, see channel.h. Each compares a frame's bytes as its GPU
 * reads them.
 */
#include "integration/channel.h"
#include "integration/gpus.h"

#define FRAMES 200

static struct child producer;
static struct team team;

static void begin(const char *options)
{
	channel_start(&producer, NULL);
	team_start(&team, "channel");
	agent_must(&producer, WW_OK, "create c consumers=%d %s", GPUS_MAX, options);
	team_must_reach(&team, "join c");
}

SCENE_CASE(channel_to_all, NEEDS_VALUES)
{
	begin("slots=4");
	team_tell(&team, "take %d", FRAMES);
	agent_must(&producer, WW_OK, "send %d", FRAMES);
	team_answers(&team, WW_OK, "");
	team_must(&team, WW_OK, "numbers %d 0", FRAMES);
}

/* The slot is free again when the streams of all consumers have come so far. */
SCENE_CASE(channel_to_all_released_by_streams, NEEDS_VALUES)
{
	begin("slots=1");
	for (int frame = 1; frame <= 5; frame++) {
		agent_must(&producer, WW_OK, "send 1");
		team_must(&team, WW_OK, "stream_hold");
		team_must(&team, WW_OK, "check %d", frame);
		team_must(&team, WW_OK, "stream_release");
		for (uint32_t i = 0; i < team.count; i++) {
			agent_must(&producer, WW_TIMED_OUT, "acquire");
			agent_must(&team.members[i].agent, WW_OK, "go");
		}
	}
	agent_must(&producer, WW_OK, "acquire wait_ms=forever");
}

SCENE_CASE(channel_producer_is_killed, NEEDS_VALUES)
{
	const char *name;

	begin("slots=4");
	agent_must(&producer, WW_OK, "send 3");
	team_must(&team, WW_OK, "take 2");
	team_must(&team, WW_OK, "hold");
	name = agent_kill(&producer);
	team_must(&team, WW_OK, "check 3");
	team_must(&team, WW_OK, "release");
	team_tell(&team, "no_more wait_ms=forever");
	team_answers(&team, WW_ERR_PEER_LOST, name);
}

/* They sleep when it ends. */
SCENE_CASE(channel_producer_is_killed_while_all_wait, NEEDS_VALUES)
{
	const char *name;

	begin("slots=4");
	team_tell(&team, "no_more wait_ms=forever");
	name = agent_kill(&producer);
	team_answers(&team, WW_ERR_PEER_LOST, name);
}

/* One after the other; what each held is free, and the producer goes on. */
SCENE_CASE(channel_consumers_are_killed, NEEDS_VALUES)
{
	int frame = 0;

	begin("slots=1");
	while (team.count > 0) {
		agent_must(&producer, WW_OK, "send 1");
		team_must(&team, WW_OK, "hold");
		agent_tell(&producer, "send 1");
		child_kill(&team.members[--team.count].agent);
		team_must(&team, WW_OK, "release");
		agent_answers(&producer, WW_OK);
		team_must(&team, WW_OK, "hold");
		team_must(&team, WW_OK, "check %d", frame += 2);
		team_must(&team, WW_OK, "release");
	}
}
