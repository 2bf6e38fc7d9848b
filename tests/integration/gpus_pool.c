/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpus_pool.c - slices of a pool of one GPU in processes on the other ones
 *
 * Agents are those of the pool suite, see pool.h.
 */
#include "integration/gpus.h"
#include "integration/pool.h"

#define SLICE (512 * KIB)

/* The token is good as long as the owner has the slice: one that was refused leaves nothing. */
static void give(struct member *member, ww_memory *slice, int number)
{
	struct ww_token token = slice_token_for(slice, 1, WW_ESCROW_NONE);

	pool_give(&member->agent, &token, number, member->reaches ? WW_OK : WW_ERR_UNSUPPORTED);
}

/* A slice for each; what its GPU writes there the owner sees, and no slice changes another one. */
POOL_CASE(pool_slice_for_each, 0, 8 * CHUNK, 0)
{
	ww_memory *slices[GPUS_MAX];
	struct team team;

	team_start(&team, "pool");
	for (uint32_t i = 0; i < team.count; i++) {
		slices[i] = slice_make(pool, SLICE, i);
		give(&team.members[i], slices[i], 0);
		if (!team.members[i].reaches)
			continue;
		agent_must(&team.members[i].agent, WW_OK, "look 0 %u", i);
		agent_must(&team.members[i].agent, WW_OK, "paint 0 %u", 100 + i);
	}
	for (uint32_t i = 0; i < team.count; i++) {
		pattern_verify(slices[i], team.members[i].reaches ? 100 + i : i);
		slices[i] = ww_memory_unref(slices[i]);
	}
}

/* One slice for all, which the owner has released by then: it is free when the last lets go. */
POOL_CASE(pool_slice_for_all, 0, CHUNK, 0)
{
	struct team team;
	uint32_t users = 0;
	uint32_t seed = 7;
	ww_memory *slice = slice_make(pool, CHUNK, seed);

	team_start(&team, "pool");
	for (uint32_t i = 0; i < team.count; i++) {
		give(&team.members[i], slice, 0);
		users += team.members[i].reaches;
	}
	ww_memory_unref(slice);
	for (uint32_t i = 0; i < team.count; i++) {
		struct member *member = &team.members[i];

		if (!member->reaches)
			continue;
		pool_must_be(pool, 0, CHUNK);
		agent_must(&member->agent, WW_OK, "look 0 %u", seed);
		agent_must(&member->agent, WW_OK, "paint 0 %u", ++seed);
		agent_must(&member->agent, WW_OK, "unref 0");
		users--;
		if (users > 0)
			pool_has_no_room(pool, 256, "");
	}
	MUST_EQUAL(0, users);
	slice = slice_make(pool, CHUNK, 1);
	pool_must_be(pool, CHUNK, 0);
	ww_memory_unref(slice);
}

/* What a killed process held is the owner's again, whichever GPU it was on. */
SCENE_CASE(pool_users_are_killed, 0)
{
	struct team team;
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 0);

	team_start(&team, "pool");
	for (uint32_t i = 0; i < team.count; i++) {
		ww_memory *slice = slice_make(pool, CHUNK, i);

		give(&team.members[i], slice, 0);
		ww_memory_unref(slice);
		child_kill(&team.members[i].agent);
		pool_comes_to(pool, 0, 0);
	}
}
