/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_barrier.c - barriers whose members are processes: rounds, and what the others hear of one
 * that is no more
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/sync_agent.h"
#include "sync/barrier.h"

#define MEMBERS 4

/* --- what agents do --- */

COMMAND_BROKER(sync, join)
{
	const char *name = agent_word(1);
	uint32_t rank = strcmp(agent_word(2), "any") ? (uint32_t)agent_number(2)
						     : WW_BARRIER_ANY_RANK;
	uint64_t timeout_ns = agent_time_option("wait_ms");
	struct ww_token token;

	MUST(!sync_agent.barrier);
	if (strcmp(name, "-"))
		return ww_barrier_get(broker, name, rank, timeout_ns, NULL, &sync_agent.barrier);
	MUST_EQUAL(sizeof(token), read(CHILD_SOCKET, &token, sizeof(token)));
	return ww_barrier_import(broker, &token, rank, timeout_ns, NULL, &sync_agent.barrier);
}

COMMAND_CALL(sync, arrive, ww_barrier_wait(sync_agent.barrier, agent_time_option("wait_ms"), NULL))

/* The same, as an event loop does it. */
COMMAND(sync, arrive_and_poll)
{
	struct pollfd look = {.events = POLLIN};
	ww_status status;

	MUST_OK(ww_barrier_eventfd(sync_agent.barrier, &look.fd));
	while ((status = ww_barrier_wait(sync_agent.barrier, 0, NULL)) == WW_TIMED_OUT)
		MUST_EQUAL(1, poll(&look, 1, -1));
	close(look.fd);
	return status;
}

/* Joins, and arrives at the first round. */
COMMAND(sync, meet)
{
	ww_status status = obey_join();

	return status == WW_OK ? obey_arrive() : status;
}

COMMAND(sync, rounds)
{
	uint64_t rounds = agent_number(1);
	ww_status status = WW_OK;

	for (uint64_t i = 0; i < rounds && status == WW_OK; i++)
		status = ww_barrier_wait(sync_agent.barrier, WW_FOREVER, NULL);
	return status;
}

COMMAND_BROKER(sync, create_barrier)
{
	return ww_barrier_create(broker, agent_word(1),
		WW_PARAMS(struct ww_barrier_params, .count = (uint32_t)agent_number(2)), NULL,
		NULL);
}

COMMAND_DO(sync, leave, sync_agent.barrier = ww_barrier_unref(sync_agent.barrier))

COMMAND(sync, member_is)
{
	struct ww_barrier_info info = WW_INIT(struct ww_barrier_info);
	uint32_t broken = strcmp(agent_word(3), "nobody") ? (uint32_t)agent_number(3) : UINT32_MAX;

	MUST_OK(ww_barrier_info_get(sync_agent.barrier, &info));
	if (strcmp(agent_word(1), "any"))
		MUST_EQUAL(agent_number(1), info.rank);
	MUST_EQUAL(agent_number(2), info.round);
	MUST_EQUAL(broken, info.broken_rank);
	MUST_EQUAL(broken != UINT32_MAX, info.is_broken);
	return WW_OK;
}

/* Stores in the own page, as a hostile member may, that the barrier was replaced. */
COMMAND(sync, forge_replaced)
{
	const ww_barrier *barrier = sync_agent.barrier;

	barrier->members[barrier->rank]->page->header->name_lost = WW_WIRE_WHAT_REPLACED;
	return WW_OK;
}

/* --- cases --- */

static struct child members[MEMBERS];

static struct ww_token created; /* of the barrier "x" */

static void create(uint32_t count)
{
	MUST_OK(ww_barrier_create(scene.broker, "x",
		WW_PARAMS(struct ww_barrier_params, .count = count), NULL, &created));
}

/* A barrier for the first members, which have yet to join it. */
static void start_some(uint32_t count)
{
	scene_begin();
	create(count);
	for (uint32_t i = 0; i < count; i++)
		sync_start(&members[i], NULL);
}

static void start_members(void)
{
	start_some(MEMBERS);
}

/* The first members do. */
static void all_answer(int count)
{
	for (int i = 0; i < count; i++)
		agent_answers(&members[i], WW_OK);
}

/* They have joined at ranks 0, 1, ... */
static void join_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	all_answer(MEMBERS);
}

static void start_joined(void)
{
	start_members();
	join_all();
}

/* All members but one wait in a round. */
static void all_arrive_but(int one)
{
	for (int i = 0; i < MEMBERS; i++)
		if (i != one)
			agent_tell(&members[i], "arrive wait_ms=forever");
}

static void all_play(int rounds)
{
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "rounds %d", rounds);
	all_answer(MEMBERS);
}

/*
 * When the last one has left, in order, the barrier is gone, though its creator allowed for more to
 * come.
 */
static void end_members(void)
{
	child_end_all();
	scene_has_objects(0);
	MUST_STATUS(WW_ERR_NOT_FOUND, ww_broker_remove(scene.broker, "x"));
	scene_end();
}

CASE(barrier_thousand_rounds, 0)
{
	start_members();
	for (int i = 0; i < MEMBERS; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	all_answer(MEMBERS);
	all_play(1000);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is any 1000 nobody");
	end_members();
}

SCENE_CASE(barrier_by_token, 0)
{
	/*
	 * The last to join ends the escrow; from then on it is there for as long as it has members.
	 */
	struct ww_token token;

	MUST_OK(ww_barrier_create(scene.broker, NULL,
		WW_PARAMS(struct ww_barrier_params, .count = MEMBERS, .uses = MEMBERS), NULL,
		&token));
	for (int i = 0; i < MEMBERS; i++)
		sync_start(&members[i], NULL);
	for (int i = 0; i < MEMBERS; i++) {
		agent_send_token(&members[i], &token);
		agent_tell(&members[i], "join - %d wait_ms=forever", MEMBERS - 1 - i);
	}
	all_answer(MEMBERS);
	all_play(100);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is %d 100 nobody", MEMBERS - 1 - i);
}

CASE(barrier_times_out, 0)
{
	start_members();
	agent_must(&members[0], WW_TIMED_OUT, "join x 0");
	agent_must(&members[0], WW_TIMED_OUT, "join x 0 wait_ms=10");
	join_all();
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i < MEMBERS; i++) {
			agent_must(&members[i], WW_TIMED_OUT, "arrive");
			agent_must(&members[i], WW_TIMED_OUT, "arrive wait_ms=3");
		}
		agent_must(&members[0], WW_OK, "arrive wait_ms=forever");
		for (int i = 1; i < MEMBERS; i++)
			agent_must(&members[i], WW_OK, "arrive");
	}
	all_play(10);
	for (int i = 0; i < MEMBERS; i++)
		agent_must(&members[i], WW_OK, "member_is %d 13 nobody", i);
	end_members();
}

/* The others, one by one, in a wait or before it. */
static void must_hear_of(int dead, const char *pid)
{
	for (int i = 0; i < MEMBERS; i++) {
		if (i == dead)
			continue;
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, pid);
		agent_refuses(&members[i], WW_ERR_PEER_LOST, pid, "arrive wait_ms=forever");
		agent_must(&members[i], WW_OK, "member_is %d 5 %d", i, dead);
	}
	end_members();
}

CASE(barrier_member_killed, 0)
{
	for (int dead = 0; dead < MEMBERS; dead++) {
		char pid[32];

		start_joined();
		all_play(5);
		all_arrive_but(dead);
		snprintf(pid, sizeof(pid), "member %d, process %d ", dead, (int)members[dead].pid);
		child_kill(&members[dead]);
		must_hear_of(dead, pid);
	}
}

static void replace_barrier(void)
{
	MUST_OK(ww_barrier_create(scene.broker, "x",
		WW_PARAMS(struct ww_barrier_params, .count = 2, .flags = WW_PUT_REPLACE), NULL,
		&created));
}

/* In a wait, or before it, also of a member that has another barrier. */
CASE(barrier_replaced, 0)
{
	start_joined();
	all_play(5);
	all_arrive_but(2);
	replace_barrier();
	for (int i = 0; i < MEMBERS; i++) {
		if (i == 2)
			agent_tell(&members[i], "arrive wait_ms=forever");
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, "it was replaced");
		agent_refuses(&members[i], WW_ERR_PEER_LOST, "it was replaced", "arrive");
		agent_must(&members[i], WW_OK, "leave");
	}
	for (int i = 0; i < 2; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	for (int i = 0; i < 2; i++)
		agent_answers(&members[i], WW_OK);
	for (int i = 0; i < 2; i++)
		agent_tell(&members[i], "rounds 3");
	for (int i = 0; i < 2; i++)
		agent_answers(&members[i], WW_OK);
	end_members();
}

/* Of a member that is not the first to be missing. */
CASE(barrier_eventfd_shows_killed_member, 0)
{
	start_joined();
	agent_tell(&members[0], "arrive_and_poll");
	child_kill(&members[3]);
	agent_answers_with(&members[0], WW_ERR_PEER_LOST, "member 3");
	end_members();
}

CASE(barrier_eventfd_shows_replaced, 0)
{
	start_joined();
	agent_tell(&members[2], "arrive_and_poll");
	replace_barrier();
	agent_answers_with(&members[2], WW_ERR_PEER_LOST, "it was replaced");
	child_end_all();
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	scene_end();
}

/* What a member stores in its page is not taken for the broker's word by any other. */
CASE(barrier_member_cannot_replace, 0)
{
	start_joined();
	agent_must(&members[1], WW_OK, "forge_replaced");
	agent_must(&members[0], WW_TIMED_OUT, "arrive wait_ms=10");
	agent_must(&members[1], WW_ERR_PEER_LOST, "arrive");
	agent_must(&members[0], WW_TIMED_OUT, "arrive wait_ms=10");
	agent_must(&members[1], WW_OK, "leave");
	agent_refuses(&members[0], WW_ERR_PEER_LOST, "left", "arrive wait_ms=forever");
	end_members();
}

/* A barrier whose name is removed goes on. */
CASE(barrier_removed_goes_on, 0)
{
	start_joined();
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	all_play(5);
	child_end_all();
	scene_end();
}

CASE(barrier_member_killed_before_it_slept, 0)
{
	char pid[32];

	start_joined();
	all_play(5);
	snprintf(pid, sizeof(pid), "process %d ", (int)members[2].pid);
	child_kill(&members[2]);
	all_arrive_but(2);
	must_hear_of(2, pid);
}

CASE(barrier_member_leaves, 0)
{
	start_joined();
	all_play(5);
	all_arrive_but(1);
	agent_must(&members[1], WW_OK, "leave");
	for (int i = 0; i < MEMBERS; i++)
		if (i != 1)
			agent_answers_with(&members[i], WW_ERR_PEER_LOST, "left");
	/* Left or not, they are the same processes: a new one, without the one that broke this. */
	MUST_OK(ww_broker_remove(scene.broker, "x"));
	create(MEMBERS);
	for (int i = 0; i < MEMBERS; i++) {
		if (i != 1)
			agent_must(&members[i], WW_OK, "leave");
		agent_tell(&members[i], "join x any wait_ms=forever");
	}
	all_answer(MEMBERS);
	all_play(5);
	end_members();
}

/* It died in the next round: this one ends well for all, and the next one for none. */
CASE(barrier_arrived_and_died, 0)
{
	start_joined();
	agent_must(&members[3], WW_TIMED_OUT, "arrive");
	child_kill(&members[3]);
	scene_has_holders(MEMBERS);
	all_arrive_but(MEMBERS - 1);
	all_answer(MEMBERS - 1);
	all_arrive_but(MEMBERS - 1);
	for (int i = 0; i < MEMBERS - 1; i++) {
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, "member 3");
		agent_must(&members[i], WW_OK, "member_is %d 1 3", i);
	}
	end_members();
}

static bool name_is_free(void)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	return ww_broker_stat(scene.broker, "x", &info) == WW_ERR_NOT_FOUND;
}

/*
 * All that had joined have ended or left: the name is free for a new barrier, although the escrow
 * still keeps the old one.
 */
static void begin_anew(void)
{
	struct ww_token_info former = WW_INIT(struct ww_token_info);

	MUST_OK(ww_token_info_get(&created, &former));
	MUST(COMES_TRUE(name_is_free()));
	create(MEMBERS);
	join_all();
	all_play(5);
	MUST_OK(ww_broker_end(scene.broker, NULL, former.object_id));
	end_members();
}

/*
 * One of those who have come dies before the last one comes: the others are told, as is who comes
 * later by a token, and it takes a new barrier.
 */
CASE(barrier_died_before_all_joined, 0)
{
	start_members();
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	scene_has_objects(MEMBERS);
	scene_has_waits(MEMBERS - 1); /* for the last one: they have each other */
	child_kill(&members[1]);
	/* Who is told first leaves, and may be what the other one sees first. */
	agent_answers_with(&members[0], WW_ERR_PEER_LOST, "member ");
	agent_answers_with(&members[2], WW_ERR_PEER_LOST, "member ");
	sync_start(&members[1], NULL);
	for (int i = 0; i < MEMBERS; i++) {
		agent_send_token(&members[i], &created);
		agent_refuses(&members[i], WW_ERR_PEER_LOST, "member ", "join - %d wait_ms=forever",
			i);
	}
	begin_anew();
}

static void join_by_token(struct child *member, const char *words, const char *pid)
{
	agent_send_token(member, &created);
	agent_refuses(member, WW_ERR_PEER_LOST, pid, "%s", words);
}

/*
 * It was the first to come, and nobody else had. Those that come later by a token are told,
 * whatever rank they ask for.
 */
CASE(barrier_died_before_anybody_came, 0)
{
	char pid[32];

	start_members();
	agent_tell(&members[2], "join x 2 wait_ms=forever");
	scene_has_objects(2);
	snprintf(pid, sizeof(pid), "member 2, process %d (", (int)members[2].pid);
	child_kill(&members[2]);
	scene_has_holders(1);
	sync_start(&members[2], NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < MEMBERS; i++) {
			char rank[32];

			snprintf(rank, sizeof(rank), "join - %d wait_ms=forever", i);
			join_by_token(&members[i], rank, pid);
			join_by_token(&members[i], "join - any wait_ms=forever", pid);
			join_by_token(&members[i], "join - any", pid);
		}
		scene_has_objects(2);
		scene_restart_broker();
	}
	begin_anew();
}

/* Of three ranks one waits for the first, does not know the second, and the second dies. */
CASE(barrier_died_unseen, 0)
{
	char pid[32];

	start_members();
	agent_tell(&members[3], "join x 3 wait_ms=forever");
	scene_has_objects(2);
	scene_has_waits(1); /* for rank 0 */
	agent_tell(&members[1], "join x 1 wait_ms=forever");
	scene_has_objects(3);
	snprintf(pid, sizeof(pid), "member 1, process %d (", (int)members[1].pid);
	child_kill(&members[1]);
	agent_answers_with(&members[3], WW_ERR_PEER_LOST, pid);
	sync_start(&members[1], NULL);
	begin_anew();
}

enum end {
	END_KILLED,
	END_LEFT,
	END_ARRIVED_AND_LEFT,
	ENDS
};

/* Ends a member that has joined. What it had in the broker is released when this returns. */
static void end_member(struct child *member, enum end end, int others)
{
	if (end == END_KILLED) {
		child_kill(member);
		scene_has_holders((uint64_t)others + 1);
		return;
	}
	if (end == END_ARRIVED_AND_LEFT)
		agent_must(member, WW_TIMED_OUT, "arrive");
	agent_must(member, WW_OK, "leave");
	agent_must(member, WW_ERR_NOT_FOUND, "get 0 nothing"); /* asked after the release */
}

/*
 * All have taken their ranks; one is stopped before it has looked for the others, and one of these,
 * that has found all, ends at once.
 */
static void end_early(enum end end)
{
	char pid[32];

	start_some(3);
	agent_tell(&members[2], "join x 2 wait_ms=forever");
	scene_has_objects(2);
	MUST_CALL(kill(members[2].pid, SIGSTOP)); /* it looks for rank 0 first */
	agent_tell(&members[1], "join x 1 wait_ms=forever");
	agent_tell(&members[0], "join x 0 wait_ms=forever");
	all_answer(2);
	snprintf(pid, sizeof(pid), "member 1, process %d (", (int)members[1].pid);
	end_member(&members[1], end, 2);
	MUST_CALL(kill(members[2].pid, SIGCONT));
	if (end == END_ARRIVED_AND_LEFT) {
		agent_answers(&members[2], WW_OK);
		agent_tell(&members[2], "rounds 1");
		agent_must(&members[0], WW_OK, "rounds 1");
		agent_answers(&members[2], WW_OK);
		agent_tell(&members[2], "arrive wait_ms=forever");
	}
	agent_answers_with(&members[2], WW_ERR_PEER_LOST, pid);
	agent_refuses(&members[0], WW_ERR_PEER_LOST, pid, "arrive wait_ms=forever");
	end_members();
}

CASE(barrier_joined_and_ended, 0)
{
	for (enum end end = 0; end < ENDS; end++)
		end_early(end);
}

/* As users do it: two join, and one ends at once, however that falls. Nobody waits for ever. */
CASE(barrier_two_join_and_one_ends, 0)
{
	for (int round = 0; round < 20; round++) {
		start_some(2);
		agent_tell(&members[0], "join x any wait_ms=forever");
		agent_tell(&members[1], "meet x any wait_ms=forever");
		agent_answers(&members[0], WW_OK);
		if (round % 2)
			child_kill(&members[0]);
		else
			agent_end(&members[0]);
		agent_answers(&members[1], WW_ERR_PEER_LOST);
		(void)ww_broker_remove(scene.broker,
			"x"); /* whether one has left in order, or none */
		scene_end();
	}
}

CASE(barrier_ranks_are_taken, 0)
{
	struct child late;

	start_members();
	sync_start(&late, NULL);
	agent_tell(&members[0], "join x 2 wait_ms=forever");
	scene_has_objects(2);
	agent_must(&late, WW_ERR_EXISTS, "join x 2 wait_ms=forever");
	agent_must(&late, WW_ERR_INVALID, "join x %d wait_ms=forever", MEMBERS);
	for (int i = 1; i < MEMBERS; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	all_answer(MEMBERS);
	agent_must(&late, WW_ERR_EXISTS, "join x any wait_ms=forever");
	agent_must(&late, WW_ERR_EXISTS, "join x 0 wait_ms=forever");
	all_play(10);
	agent_must(&members[0], WW_OK, "member_is 2 10 nobody");
	end_members();
}

/* The creator is killed before any member joins. */
CASE(barrier_creator_killed_before_members_join, 0)
{
	struct child creator;

	scene_begin();
	agent_begin(&creator, "sync", "create_barrier x %d", MEMBERS);
	scene_has_holders(2);
	child_kill(&creator);
	scene_has_holders(1);
	for (int i = 0; i < MEMBERS; i++) {
		sync_start(&members[i], NULL);
		agent_tell(&members[i], "join x %d wait_ms=forever", i);
	}
	all_answer(MEMBERS);
	all_play(20);
	end_members();
}

/* The creator's connection need not last as long as the barrier. */
CASE(barrier_outlives_its_maker, 0)
{
	start_joined();
	ww_broker_unref(scene.broker);
	all_play(20);
	MUST_OK(broker_open_patient(NULL, &scene.broker));
	end_members();
}

CASE(barrier_after_broker_restart, 0)
{
	char pid[32];

	start_members();
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_tell(&members[i], "join x any wait_ms=forever");
	scene_has_objects(MEMBERS);
	scene_restart_broker();
	agent_tell(&members[3], "join x any wait_ms=forever");
	all_answer(MEMBERS);
	all_play(10);
	scene_restart_broker();
	all_play(10);
	all_arrive_but(MEMBERS - 1);
	snprintf(pid, sizeof(pid), "process %d ", (int)members[3].pid);
	child_kill(&members[3]);
	for (int i = 0; i < MEMBERS - 1; i++)
		agent_answers_with(&members[i], WW_ERR_PEER_LOST, pid);
	end_members();
}
