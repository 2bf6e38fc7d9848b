/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_token.c - tokens of slices that are revoked, or that are held and mapped later or never
 */
#include <signal.h>
#include <unistd.h>

#include "integration/pool.h"

/*
 * Who has the slice keeps it, and its bytes stay taken until it lets go; others get it by new
 * tokens only.
 */
POOL_CASE(revoked_slice, 0, CHUNK, 4)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token old = slice_token_for(slice, 3, 0);
	struct ww_token passed;
	struct ww_token fresh;
	struct child agents[2];

	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	pool_give(&agents[0], &old, 0, WW_OK);
	MUST_OK(ww_memory_revoke(slice, scene.broker, NULL));
	pool_give(&agents[1], &old, 0, WW_ERR_NOT_FOUND);
	passed = agent_export(&agents[0], "0 write");
	pool_give(&agents[1], &passed, 0, WW_ERR_NOT_FOUND);
	agent_must(&agents[0], WW_OK, "look 0 1");
	fresh = slice_token_for(slice, 2, 0);
	for (int i = 0; i < 2; i++) {
		pool_show(&agents[i], &fresh, 1, 1);
	}
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK); /* the first one has it by its old number */
	agent_does(&agents[0], "look 0 1", "unref 0");
	pool_comes_to(pool, 0, 0);
}

/* Each process that keeps what is revoked costs a slot; they come back when it lets go, or ends. */
POOL_CASE(revoked_slots, 0, CHUNK, 4)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct child agents[4];

	for (int i = 0; i < 4; i++)
		pool_start(&agents[i], NULL);
	for (int i = 0; i < 4; i++) {
		struct ww_token token = slice_token_for(slice, 1, 0);

		pool_give(&agents[i], &token, 0, WW_OK);
		if (i < 3)
			MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	}
	MUST_REFUSE(WW_ERR_LIMIT, "slots", ww_memory_revoke(slice, NULL, NULL));
	agent_must(&agents[1], WW_OK, "unref 0");
	MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	agent_must(&agents[0], WW_OK, "look 0 1");
	ww_memory_unref(slice);
}

/*
 * A process imports a slice by a delivery and by another token: it has one slice, by two numbers,
 * and keeps it by each of them, also when both are revoked.
 */
POOL_CASE(slice_by_two_kinds_of_tokens, 0, CHUNK, 4)
{
	struct ww_pool_holder_info holder = WW_INIT(struct ww_pool_holder_info);
	struct ww_token tokens[2];
	struct child agent;
	ww_memory *slice;

	pool_start(&agent, NULL);
	for (int is_revoked = 0; is_revoked < 2; is_revoked++) {
		slice = slice_make(pool, CHUNK, 1);
		tokens[0] = slice_token_for(slice, 1, 0);
		MUST_OK(ww_memory_export(slice, NULL,
			WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .uses = 1,
				.flags = WW_EXPORT_DELIVERY),
			NULL, &tokens[1]));
		for (int i = 0; i < 2; i++)
			pool_give(&agent, &tokens[i], i, WW_OK);
		MUST_OK(ww_pool_holder_get(pool, 0, &holder));
		MUST_EQUAL(1, holder.slice_count);
		MUST_EQUAL(CHUNK, holder.slice_bytes);
		if (is_revoked)
			MUST_OK(ww_memory_revoke(slice, NULL, NULL));
		ww_memory_unref(slice);
		for (int i = 0; i < 2; i++) {
			pool_must_be(pool, 0, CHUNK);
			agent_must(&agent, WW_OK, "look %d 1", 1 - i);
			agent_must(&agent, WW_OK, "unref %d", 1 - i);
		}
		pool_must_be(pool, 0, 0);
	}
}

/* --- without a mapping --- */

/*
 * Its owner cannot hand the bytes out anew; the token opens them here, also when its escrow and the
 * owner have ended.
 */
SCENE_CASE(object_of_slice, 0)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	struct ww_token passed;
	struct child agents[2];
	ww_object *object;
	ww_memory *memory;

	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	agent_does(&agents[0], "pool 2048", "alloc 0 2048", "paint 0 7");
	token = agent_export(&agents[0], "0 write uses=1");
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, &info));
	MUST_EQUAL(CHUNK, info.span_bytes);
	agent_must(&agents[0], WW_OK, "unref 0");
	agent_must(&agents[0], WW_ERR_LIMIT, "alloc 0 2048");
	MUST_OK(ww_object_export(object, NULL, NULL, &passed));
	pool_show(&agents[1], &passed, 0, 7);
	MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &memory));
	pattern_verify(memory, 7);
	ww_memory_unref(memory);
	child_kill(&agents[0]);
	scene_has_holders(2);
	MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &memory));
	pattern_verify(memory, 7);
	ww_object_unref(object);
	pattern_verify(memory, 7);
	ww_memory_unref(memory);
}

/* It is let go of, so the owner has its bytes again; and the token is used up. */
SCENE_CASE(object_of_slice_is_let_go_of, 0)
{
	struct ww_token token;
	struct child agent;
	ww_object *object;

	pool_start(&agent, NULL);
	agent_does(&agent, "pool 2048", "alloc 0 2048");
	token = agent_export(&agent, "0 write uses=1");
	MUST_OK(ww_object_import(scene.broker, &token, NULL, &object, NULL));
	agent_must(&agent, WW_OK, "unref 0");
	ww_object_unref(object);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_object_import(scene.broker, &token, NULL, &object, NULL));
	agent_must(&agent, WW_OK, "alloc 0 2048");
	agent_end(&agent);
	scene_has_holders(1);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "",
		ww_object_import(scene.broker, &token, NULL, &object, NULL));
}

/* --- mapped later --- */

static ww_status map_slice(ww_object *object, uint32_t access, ww_memory **out_memory)
{
	return ww_object_map(object, scene.device,
		WW_PARAMS(struct ww_import_params, .access = access), NULL, out_memory);
}

/* An agent with a pool of one chunk, which is one slice with a pattern. */
static void start_owner(struct child *agent)
{
	pool_start(agent, NULL);
	agent_does(agent, "pool 2048 slices=4", "alloc 0 2048", "paint 0 7");
}

static ww_object *hold_slice_of(struct child *owner, struct ww_token *out_token)
{
	ww_object *object;

	*out_token = agent_export(owner, "0 write uses=1");
	MUST_OK(ww_object_import(scene.broker, out_token, NULL, &object, NULL));
	return object;
}

/* A call about pools gives back what this process has of the owner's. */
static void end_owner(struct child *owner, const struct ww_token *token)
{
	ww_memory *memory;

	agent_end(owner);
	scene_has_holders(1);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", scene_import(token, WW_ACCESS_WRITE, &memory));
}

/*
 * Two deliveries of one slice, each for one import. The first one is held and mapped, which is one
 * import and not two: so the second one still opens the slice.
 */
SCENE_CASE(object_of_slice_is_mapped, 0)
{
	struct ww_token second;
	struct ww_token first;
	struct child agents[2];
	ww_memory *reading;
	ww_object *object;
	ww_memory *memory;
	ww_memory *again;

	start_owner(&agents[0]);
	pool_start(&agents[1], NULL);
	object = hold_slice_of(&agents[0], &first);
	second = agent_export(&agents[0], "0 write uses=1");
	for (int i = 0; i < 2; i++) { /* with a new memory, and with one that is there */
		MUST_OK(map_slice(object, WW_ACCESS_WRITE, &memory));
		MUST_OK(map_slice(object, WW_ACCESS_WRITE, &again));
		MUST(again == memory);
		MUST_OK(map_slice(object, 0, &reading));
		MUST(reading != memory);
		MUST_EQUAL(CHUNK, memory_info(reading).bytes);
		pattern_verify(reading, 7);
		ww_memory_unref(reading);
		ww_memory_unref(again);
		if (i == 0)
			ww_memory_unref(memory);
	}
	agent_must(&agents[0], WW_OK, "unref 0");
	pool_show(&agents[1], &second, 0, 7);
	ww_object_unref(object); /* the memory is a use of its own */
	agent_must(&agents[0], WW_ERR_LIMIT, "alloc 0 2048");
	pattern_verify(memory, 7);
	ww_memory_unref(memory);
	agent_must(&agents[0], WW_OK, "alloc 0 2048");
	agent_end(&agents[1]);
	end_owner(&agents[0], &first);
}

/* Nothing of the pool was mapped when its owner ended. */
SCENE_CASE(object_of_slice_is_mapped_without_owner, 0)
{
	for (int by_kill = 0; by_kill < 2; by_kill++) {
		struct ww_token token;
		struct child owner;
		ww_object *object;
		ww_memory *memory;

		start_owner(&owner);
		object = hold_slice_of(&owner, &token);
		if (by_kill)
			child_kill(&owner);
		else
			agent_end(&owner);
		scene_has_holders(1);
		MUST_OK(map_slice(object, 0, &memory));
		ww_object_unref(object);
		pattern_verify(memory, 7);
		ww_memory_unref(memory);
		scene_has_objects(0);
	}
}

/*
 * Another slice of its chunk is mapped, so the broker need not answer. The hold of the chunk is one
 * of its own: it lasts when the other slice is released and the owner has ended.
 */
SCENE_CASE(object_of_slice_in_mapped_chunk, 0)
{
	struct ww_token tokens[2];
	struct child owner;
	ww_object *object;
	ww_memory *other;
	OWN(memory) ww_memory *memory;

	pool_start(&owner, NULL);
	agent_does(&owner, "pool 2048", "alloc 0 1024", "alloc 1 1024", "paint 1 9");
	tokens[0] = agent_export(&owner, "0 write");
	tokens[1] = agent_export(&owner, "1 write uses=1");
	MUST_OK(scene_import(&tokens[0], WW_ACCESS_WRITE, &other));
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	MUST_OK(ww_object_import(scene.broker, &tokens[1], NULL, &object, NULL));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	ww_memory_unref(other);
	child_kill(&owner);
	scene_has_holders(1);
	MUST_OK(map_slice(object, WW_ACCESS_WRITE, &memory));
	ww_object_unref(object);
	pattern_verify(memory, 9);
}

/* The slice has another number in its owner's table, and the old one stays marked. */
SCENE_CASE(object_of_revoked_slice_is_mapped, 0)
{
	struct ww_token token;
	struct child owner;
	ww_object *object;
	ww_memory *memory;

	start_owner(&owner);
	object = hold_slice_of(&owner, &token);
	agent_does(&owner, "revoke 0", "unref 0");
	agent_must(&owner, WW_ERR_LIMIT, "alloc 0 2048");
	MUST_OK(map_slice(object, WW_ACCESS_WRITE, &memory));
	ww_object_unref(object);
	pattern_verify(memory, 7);
	agent_must(&owner, WW_ERR_LIMIT, "alloc 0 2048");
	ww_memory_unref(memory);
	agent_must(&owner, WW_OK, "alloc 0 2048");
	end_owner(&owner, &token);
}
