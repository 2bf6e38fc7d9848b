/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_flight.c - slices in flight when their owner ends: whoever gets the tokens later has the
 * bytes, and what nobody is to get goes at once
 */
#include "integration/pool.h"

#define SLICES 3

/* How an owner ends. */
enum ending {
	IS_KILLED,
	EXITS,      /* by exit(), and lets go of nothing */
	QUITS,      /* by _exit() */
	LETS_GO,    /* of slices and pool, then it ends */
	ONLY_CLOSES /* the same, and the process lives on */
};

static struct child owner;
static struct child agent; /* pid 0: it has ended */

/* The owner has a pool of 2 MiB chunks with one slice in each, painted. */
static void begin(void)
{
	scene_begin();
	agent_begin(&owner, "pool", "pool %d", 8 * 2048);
	for (int i = 0; i < SLICES; i++) {
		agent_must(&owner, WW_OK, "alloc %d 2048", i);
		agent_must(&owner, WW_OK, "paint %d %d", i, i + 1);
	}
}

#define FLIGHT_CASE(case_name) CASE_BETWEEN(case_name, 0, begin(), scene_end())

/* Besides this process @others are there then. */
static void kill_owner(uint64_t others)
{
	child_kill(&owner);
	scene_has_holders(1 + others);
}

/* No claim waits as long as this lasts. */
#define LONG " escrow_ms=600000"

static struct ww_token deliver(int slice, const char *how)
{
	return agent_export(&owner, "%d write delivery uses=1%s", slice, how);
}

static void deliver_all(struct ww_token tokens[SLICES])
{
	for (int i = 0; i < SLICES; i++)
		tokens[i] = deliver(i, LONG);
}

static void end_process(enum ending ending)
{
	for (int i = 0; ending >= LETS_GO && i < SLICES; i++)
		agent_must(&owner, WW_OK, "unref %d", i);
	if (ending >= LETS_GO)
		agent_must(&owner, WW_OK, "close");
	if (ending == IS_KILLED) {
		child_kill(&owner);
	} else if (ending == LETS_GO) {
		agent_end(&owner);
	} else if (ending != ONLY_CLOSES) {
		agent_tell(&owner, ending == EXITS ? "exit" : "quit");
		child_finish(&owner);
	}
}

static void import_all(const struct ww_token tokens[SLICES])
{
	for (int i = 0; i < SLICES; i++) {
		pool_give(&agent, &tokens[i], i, WW_OK);
		agent_must(&agent, WW_OK, "look %d %d", i, i + 1);
	}
	for (int i = 0; i < SLICES; i++)
		agent_must(&agent, WW_OK, "unref %d", i);
}

/* A new agent gets the slice. */
static void receive(const struct ww_token *token, uint32_t seed)
{
	pool_start(&agent, NULL);
	pool_give(&agent, token, 0, WW_OK);
	agent_must(&agent, WW_OK, "look 0 %u", seed);
}

/* The importer that lets go takes the pool with it: nothing is in flight any more. */
static void receive_after(enum ending ending)
{
	struct ww_token tokens[SLICES];

	begin();
	deliver_all(tokens);
	end_process(ending);
	if (ending != ONLY_CLOSES)
		scene_has_holders(1);
	pool_start(&agent, NULL);
	import_all(tokens);
	agent_end(&agent);
	scene_has_objects(0);
	scene_end();
}

CASE_CALL(flight_outlives_a_killed_owner, 0, receive_after(IS_KILLED))
CASE_CALL(flight_outlives_an_exit, 0, receive_after(EXITS))
CASE_CALL(flight_outlives_a_quick_exit, 0, receive_after(QUITS))
CASE_CALL(flight_outlives_the_pool, 0, receive_after(LETS_GO))
CASE_CALL(flight_outlives_the_pool_of_a_living_process, 0, receive_after(ONLY_CLOSES))

/* One slice after the other, and nothing of the pool is kept in between. */
FLIGHT_CASE(flight_received_one_by_one)
{
	struct ww_token tokens[SLICES];

	deliver_all(tokens);
	kill_owner(0);
	for (int i = 0; i < SLICES; i++) {
		pool_start(&agent, NULL);
		pool_show(&agent, &tokens[i], 0, (uint32_t)i + 1);
		agent_end(&agent);
	}
}

/* What the broker keeps without a holder. */
static uint32_t count_escrows(void)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	OWN(snapshot) ww_snapshot *snapshot = NULL;
	uint32_t count = 0;

	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_HOLDS, &snapshot));
	for (size_t i = 0; ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++)
		count += hold.is_escrow;
	return count;
}

/* What was received before the owner's end keeps nothing, whoever has received it. */
static void end_without_flight(void (*before)(void))
{
	begin();
	pool_start(&agent, NULL);
	before();
	kill_owner(agent.pid ? 1 : 0);
	MUST_EQUAL(0, count_escrows());
	scene_end();
}

static void receive_now(void)
{
	for (int i = 0; i < SLICES; i++) {
		struct ww_token token = deliver(i, LONG);

		pool_give(&agent, &token, 0, WW_OK);
		agent_must(&agent, WW_OK, "unref 0");
	}
}

/* The consumer has ended before its producer, which may have seen that or not. */
static void receive_and_end(void)
{
	receive_now();
	agent_end(&agent);
	scene_has_holders(2);
}

static void revoke(void)
{
	agent_end(&agent);
	(void)deliver(0, LONG);
	agent_must(&owner, WW_OK, "revoke 0");
}

/* The other token of the slice has its time still, and is imported by nobody. */
static void receive_beside_a_token(void)
{
	struct ww_token token = deliver(0, LONG);

	(void)agent_export(&owner, "0 write uses=1" LONG);
	pool_give(&agent, &token, 0, WW_OK);
	agent_must(&agent, WW_OK, "unref 0");
}

static void export_plainly(void)
{
	agent_end(&agent);
	(void)agent_export(&owner, "0 write uses=1" LONG);
}

CASE_CALL(flight_that_was_received_keeps_nothing, 0, end_without_flight(receive_now))
CASE_CALL(flight_received_by_an_ended_process_keeps_nothing, 0, end_without_flight(receive_and_end))
CASE_CALL(flight_received_beside_a_token_keeps_nothing, 0,
	end_without_flight(receive_beside_a_token))
CASE_CALL(flight_that_was_revoked_keeps_nothing, 0, end_without_flight(revoke))
CASE_CALL(flight_of_a_plain_token_keeps_nothing, 0, end_without_flight(export_plainly))

/* A slot that was used before says nothing of the slice that it has now. */
FLIGHT_CASE(flight_of_a_slot_used_again)
{
	struct ww_token token;

	pool_start(&agent, NULL);
	for (int i = 0; i < 3; i++) {
		token = deliver(0, LONG);
		agent_must(&owner, WW_OK, "unref 0");
		if (i < 2) {
			pool_give(&agent, &token, 0, WW_OK);
			agent_must(&agent, WW_OK, "unref 0");
			agent_must(&owner, WW_OK, "alloc 0 2048");
			agent_must(&owner, WW_OK, "paint 0 %d", i + 7);
		}
	}
	agent_end(&agent);
	scene_has_holders(2);
	kill_owner(0);
	receive(&token, 8);
}

/* Several imports of one token, in vain for another slice: that one still comes. */
FLIGHT_CASE(flight_and_imports_that_nobody_expected)
{
	struct ww_token tokens[2];
	struct child agents[2];

	for (int i = 0; i < 2; i++)
		tokens[i] = deliver(i, LONG);
	for (int i = 0; i < 2; i++) {
		pool_start(&agents[i], NULL);
		pool_give(&agents[i], &tokens[0], 0, WW_OK);
		pool_give(&agents[i], &tokens[0], 1, WW_OK);
	}
	kill_owner(2);
	receive(&tokens[1], 2);
}

/* Nor do imports by a token of the same slice that is no delivery, by processes that have ended. */
FLIGHT_CASE(flight_and_imports_by_another_token)
{
	struct ww_token delivery;
	struct ww_token token;
	struct child agents[2];

	token = agent_export(&owner, "0 write uses=1" LONG);
	delivery = deliver(0, LONG);
	for (int i = 0; i < 2; i++) {
		pool_start(&agents[i], NULL);
		pool_give(&agents[i], &token, 0, WW_OK);
		pool_give(&agents[i], &token, 1, WW_OK);
	}
	agent_end(&agents[0]);
	agent_must(&owner, WW_OK, "unref 0");
	child_kill(&owner);
	agent_end(&agents[1]);
	scene_has_holders(1);
	receive(&delivery, 1);
}

static bool has_bytes_up_to(const struct ww_broker_info *info, uint64_t bytes)
{
	return info->bytes < bytes;
}

/* Only the chunk of the slice that is in flight is kept, and the bytes are the owner's user's. */
FLIGHT_CASE(flight_keeps_only_its_chunk)
{
	struct ww_token token;
	uint64_t all;

	for (int i = 0; i < SLICES; i += 2)
		(void)agent_export(&owner, "%d write uses=1" LONG, i);
	token = deliver(1, LONG);
	all = scene_info().bytes;
	scene_has_objects(1 + SLICES);
	child_kill(&owner);
	scene_has_objects(2); /* the pool and one chunk */
	MUST(scene_comes_true(has_bytes_up_to, all - 2 * CHUNK + 1));
	receive(&token, 2);
}

/* The time that a delivery says ends what nobody receives. */
FLIGHT_CASE(flight_ends_after_its_time)
{
	struct ww_token token = deliver(0, " escrow_ms=5");

	child_kill(&owner);
	scene_has_objects(0);
	pool_start(&agent, NULL);
	pool_give(&agent, &token, 0, WW_ERR_NOT_FOUND);
}

/* Who has received a slice keeps it when the time of the pool is over. */
FLIGHT_CASE(flight_received_outlives_the_time)
{
	struct ww_token token;

	pool_start(&agent, NULL);
	token = deliver(0, " escrow_ms=1");
	pool_give(&agent, &token, 0, WW_OK);
	(void)deliver(1, " escrow_ms=1");
	child_kill(&owner);
	scene_has_objects(
		3); /* what the agent holds: the pool, which has ended, a chunk; and its marks */
	agent_must(&agent, WW_OK, "look 0 1");
}

/* A broker that is killed forgets nothing of it. */
FLIGHT_CASE(flight_outlives_the_broker)
{
	struct ww_token tokens[SLICES];

	deliver_all(tokens);
	kill_owner(0);
	scene_restart_broker();
	scene_has_objects(1 + SLICES);
	pool_start(&agent, NULL);
	pool_give(&agent, &tokens[2], 2, WW_OK);
	scene_restart_broker();
	agent_does(&agent, "look 2 3", "unref 2");
	for (int i = 0; i < 2; i++) {
		pool_give(&agent, &tokens[i], i, WW_OK);
		agent_must(&agent, WW_OK, "look %d %d", i, i + 1);
	}
}

/* A consumer that is killed has received what it has imported, and nothing else. */
FLIGHT_CASE(flight_outlives_a_killed_consumer)
{
	struct ww_token tokens[2];

	for (int i = 0; i < 2; i++)
		tokens[i] = deliver(i, LONG);
	receive(&tokens[0], 1);
	child_kill(&agent);
	scene_has_holders(2);
	kill_owner(0);
	receive(&tokens[1], 2);
}

/* The broker shows what it keeps as an escrow, with a time. */
FLIGHT_CASE(flight_is_listed)
{
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	ww_snapshot *snapshot = NULL;
	struct ww_token token = deliver(0, LONG);

	kill_owner(0);
	scene_has_objects(2);
	scene_has_holds(1);
	MUST_OK(ww_snapshot_create(scene.broker, NULL, WW_SNAPSHOT_HOLDS, &snapshot));
	MUST_OK(ww_snapshot_hold(snapshot, 0, &hold));
	MUST(hold.is_escrow);
	MUST(hold.left_ns > 0 && hold.left_ns <= 600 * UINT64_C(1000000000));
	MUST_EQUAL(WW_END, ww_snapshot_hold(snapshot, 1, &hold));
	ww_snapshot_free(snapshot);
	pool_start(&agent, NULL);
	pool_give(&agent, &token, 0, WW_OK);
}
