/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_known.c - pools that processes get to know by a token of the pool, not by a first slice
 */
#include <signal.h>
#include <unistd.h>

#include "integration/pool.h"

static struct ww_token pool_token(ww_pool *pool, uint32_t access, uint32_t uses)
{
	struct ww_token token;

	MUST_OK(ww_pool_export(pool, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = access, .uses = uses,
			.flags = uses ? WW_EXPORT_DELIVERY : 0),
		NULL, &token));
	return token;
}

static void tell(struct child *agent, const struct ww_token *token, const char *how,
	ww_status expected)
{
	agent_send_token(agent, token);
	agent_must(agent, expected, "know%s", how);
}

/* The first slice that a process imports costs no question: the broker stands still. */
POOL_CASE(known_pool_needs_no_broker, 0, CHUNK, 0)
{
	struct ww_token tokens[2];
	struct ww_token token;
	struct child agent;
	ww_memory *later;
	ww_memory *first = slice_make(pool, 4 * KIB, 1);

	pool_start(&agent, NULL);
	token = pool_token(pool, WW_ACCESS_WRITE, 0);
	tell(&agent, &token, " map", WW_OK);
	MUST_EQUAL(1, pool_info(pool).holder_count);
	later = slice_make(pool, 4 * KIB, 2);
	tokens[0] = slice_token(first, WW_ACCESS_WRITE);
	tokens[1] = slice_token(later, WW_ACCESS_WRITE);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	for (int i = 0; i < 2; i++)
		pool_give(&agent, &tokens[i], i, WW_OK);
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	agent_does(&agent, "look 0 1", "look 1 2");
	ww_memory_unref(first);
	ww_memory_unref(later);
}

/* Known for reading: slices are imported for reading by that, for writing by their own tokens. */
POOL_CASE(known_pool_grants_its_access, 0, CHUNK, 0)
{
	struct ww_token token;
	struct child agents[2];
	ww_memory *slice = slice_make(pool, CHUNK, 1);

	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	token = pool_token(pool, WW_ACCESS_READ, 0);
	tell(&agents[0], &token, " map", WW_OK);
	agent_must(&agents[0], WW_ERR_ACCESS, "tell write");
	agent_must(&agents[0], WW_OK, "tell");
	token = agent_hear_token(&agents[0]);
	tell(&agents[1], &token, "", WW_OK);
	for (int i = 0; i < 2; i++) {
		pool_lend(&agents[i], slice, WW_ACCESS_READ, 0);
		agent_must(&agents[i], WW_OK, "look 0 1");
		pool_lend(&agents[i], slice, WW_ACCESS_WRITE, 1);
		agent_must(&agents[i], WW_OK, "paint 1 1");
		agent_end(&agents[i]);
	}
	ww_memory_unref(slice);
}

/* A delivery is for one import, also in a process that has the pool; its secret opens no slice. */
SCENE_CASE(known_pool_by_a_delivery, 0)
{
	struct ww_token token;
	struct child agents[2];
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);

	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	token = pool_token(pool, WW_ACCESS_WRITE, 1);
	tell(&agents[0], &token, "", WW_OK);
	agent_must(&agents[0], WW_OK, "forget");
	tell(&agents[0], &token, "", WW_ERR_ACCESS);
	tell(&agents[1], &token, "", WW_ERR_ACCESS);
	for (int i = 0; i < 2; i++)
		agent_end(&agents[i]);
	ww_pool_unref(pool);
	MUST_OK(ww_in_flight_revoke(NULL, NULL, NULL, NULL, NULL));
}

/* What a process knows when the owner ends: its chunks stay mapped, and new slices do not come. */
SCENE_CASE(known_pool_outlives_its_owner, 0)
{
	struct ww_token tokens[2];
	struct child owner;
	struct child agents[2];

	pool_start(&owner, NULL);
	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	agent_does(&owner, "pool 2048", "alloc 0 1024", "paint 0 5");
	tokens[0] = agent_export(&owner, "0 write");
	agent_must(&owner, WW_OK, "tell write");
	tokens[1] = agent_hear_token(&owner);
	tell(&agents[0], &tokens[1], " map", WW_OK);
	child_kill(&owner);
	scene_has_holders(2); /* this process, and the first agent */
	tell(&agents[1], &tokens[1], "", WW_ERR_NOT_FOUND);
	agent_must(&agents[0], WW_ERR_NOT_FOUND, "tell write");
	pool_show(&agents[0], &tokens[0], 0, 5);
	agent_must(&agents[0], WW_OK, "forget");
}

/* A process that knows a pool and is killed leaves nothing. */
SCENE_CASE(known_pool_of_a_killed_process, 0)
{
	struct ww_token token;
	struct child agent;
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	ww_memory *slice = slice_make(pool, CHUNK, 1);

	for (int i = 0; i < 3; i++) {
		pool_start(&agent, NULL);
		token = pool_token(pool, WW_ACCESS_WRITE, 0);
		tell(&agent, &token, i == 1 ? "" : " map", WW_OK);
		child_kill(&agent);
	}
	ww_memory_unref(slice);
	pool_comes_to(pool, 0, 0);
	MUST_EQUAL(0, pool_info(pool).holder_count);
}
