/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_barrier.c - barriers whose members are processes: rounds, and what the others hear of one that is no more
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/sync_agent.h"

#define MEMBERS 4

/* --- what agents do --- */

ww_status obey_join(void)
{
	const char *name = agent_word(1);
	uint32_t rank = strcmp(agent_word(2), "any") ? (uint32_t)agent_value(2)
						     : WW_BARRIER_ANY_RANK;
	uint64_t timeout_ns = agent_time_option("wait_ms");
	struct ww_token token;
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!sync_agent.barrier);
	if (status)
		return status;
	if (strcmp(name, "-"))
		return ww_barrier_join(broker, name, rank, timeout_ns, &sync_agent.barrier);
	MUST_EQUAL(sizeof(token), read(CHILD_SOCKET, &token, sizeof(token)));
	return ww_barrier_join_token(broker, &token, rank, timeout_ns, &sync_agent.barrier);
}

ww_status obey_arrive(void)
{
	return ww_barrier_wait(sync_agent.barrier, agent_time_option("wait_ms"));
}

ww_status obey_rounds(void)
{
	uint64_t rounds = agent_value(1);
	ww_status status = WW_OK;

	for (uint64_t i = 0; i < rounds && status == WW_OK; i++)
		status = ww_barrier_wait(sync_agent.barrier, WW_FOREVER);
	return status;
}

ww_status obey_leave(void)
{
	sync_agent.barrier = ww_barrier_unref(sync_agent.barrier);
	return WW_OK;
}

ww_status obey_member_is(void)
{
	struct ww_barrier_info info = {.size = sizeof(info)};
	uint32_t broken = strcmp(agent_word(3), "nobody") ? (uint32_t)agent_value(3) : UINT32_MAX;

	MUST_OK(ww_barrier_info_get(sync_agent.barrier, &info));
	if (strcmp(agent_word(1), "any"))
		MUST_EQUAL(agent_value(1), info.rank);
	MUST_EQUAL(agent_value(2), info.round);
	MUST_EQUAL(broken, info.broken_rank);
	MUST_EQUAL(broken != UINT32_MAX, info.broken);
	return WW_OK;
}

/* --- cases --- */

static void start_members(struct child members[MEMBERS])
{
	scene_begin();
	MUST_OK(ww_barrier_create(scene.broker, "x", MEMBERS, NULL, NULL));
	for (int i = 0; i < MEMBERS; i++)
		sync_start(&members[i], NULL);
}

static void all_answer(struct child *members, int count)
{
	for (int i = 0; i < count; i++)
		agent_answers(&members[i], WW_OK);
}

/* They have joined at ranks 0, 1, ... */
static void start_joined(struct child members[MEMBERS])
{
	start_members(members);
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	all_answer(members, MEMBERS);
}

static void all_play(struct child members[MEMBERS], int rounds)
{
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "rounds %d", rounds);
	all_answer(members, MEMBERS);
}

/* The name would stay for those who come late. */
static void end_members(struct child *members, int count)
{
	for (int i = 0; i < count; i++)
		agent_end(&members[i]);
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	scene_end();
}

void barrier_thousand_rounds(void)
{
	struct child members[MEMBERS];

	start_members(members);
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	all_answer(members, MEMBERS);
	all_play(members, 1000);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is any 1000 nobody");
	end_members(members, MEMBERS);
}

void barrier_by_token(void)
{
	/* The last to join ends the escrow; from then on it is there for as long as it has members. */
	const struct ww_share_params params = {.size = sizeof(params), .uses = MEMBERS};
	struct child members[MEMBERS];
	struct ww_token token;

	scene_begin();
	MUST_OK(ww_barrier_create(scene.broker, NULL, MEMBERS, &params, &token));
	for (int i = 0; i < MEMBERS; i++)
		sync_start(&members[i], NULL);
	for (int i = 0; i < MEMBERS; i++) {
		MUST_EQUAL(sizeof(token), write(members[i].socket, &token, sizeof(token)));
		agent_tell(&members[i], "join - %d wait_ms=forever", MEMBERS - 1 - i);
	}
	all_answer(members, MEMBERS);
	all_play(members, 100);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is %d 100 nobody", MEMBERS - 1 - i);
	for (int i = 0; i < MEMBERS; i++)
		agent_end(&members[i]);
	scene_end();
}

void barrier_times_out(void)
{
	struct child members[MEMBERS];

	start_members(members);
	agent_must(&members[0], WW_TIMED_OUT, "join x 0");
	agent_must(&members[0], WW_TIMED_OUT, "join x 0 wait_ms=10");
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	all_answer(members, MEMBERS);
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i < MEMBERS; i++) {
			agent_must(&members[i], WW_TIMED_OUT, "arrive");
			agent_must(&members[i], WW_TIMED_OUT, "arrive wait_ms=3");
		}
		agent_must(&members[0], WW_OK, "arrive wait_ms=forever");
		for (int i = 1; i < MEMBERS; i++)
			agent_must(&members[i], WW_OK, "arrive");
	}
	all_play(members, 10);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is %d 13 nobody", i);
	end_members(members, MEMBERS);
}

/* The others, one by one, in a wait or before it. */
static void must_hear_of(struct child members[MEMBERS], int dead, const char *pid)
{
	for (int i = 0; i < MEMBERS; i++) {
		if (i == dead)
			continue;
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, pid);
		agent_tell(&members[i], "arrive wait_ms=forever");
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, pid);
		agent_must(&members[i], WW_OK, "member_is %d 5 %d", i, dead);
	}
	for (int i = 0; i < MEMBERS; i++)
		if (i != dead)
			agent_end(&members[i]);
	end_members(members, 0);
}

void barrier_member_killed(void)
{
	for (int dead = 0; dead < MEMBERS; dead++) {
		struct child members[MEMBERS];
		char pid[32];

		start_joined(members);
		all_play(members, 5);
		for (int i = 0; i < MEMBERS; i++)
			if (i != dead)
				agent_tell(&members[i], "arrive wait_ms=forever");
		snprintf(pid, sizeof(pid), "member %d, process %d ", dead, (int)members[dead].pid);
		child_kill(&members[dead]);
		must_hear_of(members, dead, pid);
	}
}

void barrier_member_killed_before_it_slept(void)
{
	struct child members[MEMBERS];
	char pid[32];

	start_joined(members);
	all_play(members, 5);
	snprintf(pid, sizeof(pid), "process %d ", (int)members[2].pid);
	child_kill(&members[2]);
	for (int i = 0; i < MEMBERS; i++)
		if (i != 2)
			agent_tell(&members[i], "arrive wait_ms=forever");
	must_hear_of(members, 2, pid);
}

void barrier_member_leaves(void)
{
	struct child members[MEMBERS];

	start_joined(members);
	all_play(members, 5);
	for (int i = 0; i < MEMBERS; i++)
		if (i != 1)
			agent_tell(&members[i], "arrive wait_ms=forever");
	agent_must(&members[1], WW_OK, "leave");
	for (int i = 0; i < MEMBERS; i++)
		if (i != 1)
			agent_answers_with(&members[i], WW_ERR_PEER_LOST, "left");
	/* Left or not, they are the same processes: a new one, without the one that broke this. */
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	MUST_OK(ww_barrier_create(scene.broker, "x", MEMBERS, NULL, NULL));
	for (int i = 0; i < MEMBERS; i++) {
		if (i != 1)
			agent_must(&members[i], WW_OK, "leave");
		agent_tell(&members[i], "join x any wait_ms=forever");
	}
	all_answer(members, MEMBERS);
	all_play(members, 5);
	end_members(members, MEMBERS);
}

/* It died in the next round: this one ends well for all, and the next one for none. */
void barrier_arrived_and_died(void)
{
	struct child members[MEMBERS];

	start_joined(members);
	agent_must(&members[3], WW_TIMED_OUT, "arrive");
	child_kill(&members[3]);
	scene_has_holders(MEMBERS);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "arrive wait_ms=forever");
	all_answer(members, MEMBERS - 1);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "arrive wait_ms=forever");
	for (int i = 0; i < MEMBERS - 1; i++) {
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, "member 3");
		agent_must(&members[i], WW_OK, "member_is %d 1 3", i);
	}
	end_members(members, MEMBERS - 1);
}

/* One of those who have come dies before the last one comes: the others are told, and it can be tried again. */
void barrier_died_before_all_joined(void)
{
	struct child members[MEMBERS];

	start_members(members);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	scene_has_objects(MEMBERS);
	scene_has_waits(MEMBERS - 1); /* for the last one: they have each other */
	child_kill(&members[1]);
	agent_answers(&members[0], WW_ERR_PEER_LOST);
	agent_answers(&members[2], WW_ERR_PEER_LOST);
	sync_start(&members[1], NULL);
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	all_answer(members, MEMBERS);
	all_play(members, 5);
	end_members(members, MEMBERS);
}

void barrier_ranks_are_taken(void)
{
	struct child members[MEMBERS];
	struct child late;

	start_members(members);
	sync_start(&late, NULL);
	agent_tell(&members[0], "join x 2 wait_ms=forever");
	scene_has_objects(2);
	agent_must(&late, WW_ERR_EXISTS, "join x 2 wait_ms=forever");
	agent_must(&late, WW_ERR_INVALID, "join x %d wait_ms=forever", MEMBERS);
	for (int i = 1; i < MEMBERS; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	all_answer(members, MEMBERS);
	agent_must(&late, WW_ERR_EXISTS, "join x any wait_ms=forever");
	agent_must(&late, WW_ERR_EXISTS, "join x 0 wait_ms=forever");
	all_play(members, 10);
	agent_must(&members[0], WW_OK, "member_is 2 10 nobody");
	agent_end(&late);
	end_members(members, MEMBERS);
}

/* The process that makes it need not be there when the others come. */
void barrier_outlives_its_maker(void)
{
	struct child members[MEMBERS];

	start_joined(members);
	ww_broker_unref(scene.broker);
	all_play(members, 20);
	MUST_OK(ww_broker_open(NULL, &scene.broker));
	end_members(members, MEMBERS);
}

void barrier_after_broker_restart(void)
{
	struct child members[MEMBERS];
	char pid[32];

	start_members(members);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	scene_has_objects(MEMBERS);
	sync_restart_broker();
	agent_tell(&members[3], "join x any wait_ms=forever");
	all_answer(members, MEMBERS);
	all_play(members, 10);
	sync_restart_broker();
	all_play(members, 10);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "arrive wait_ms=forever");
	snprintf(pid, sizeof(pid), "process %d ", (int)members[3].pid);
	child_kill(&members[3]);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, pid);
	end_members(members, MEMBERS - 1);
}
