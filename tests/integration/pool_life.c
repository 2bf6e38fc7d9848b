/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_life.c - when a slice is handed out again: escrow, streams, and those who do not let go
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "integration/pool.h"

/* Must outlive a stream's work, in a failed case too. */
static struct gate gate;

/* --- tokens in flight --- */

SCENE_CASE(escrow_ends, 0)
{
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token_for(slice, 1, 50 * MS);
	ww_memory *other;

	ww_memory_unref(slice);
	pool_comes_to(pool, 0, 0);
	slice = slice_make(pool, CHUNK, 2);
	MUST_REFUSE(WW_ERR_NOT_FOUND, "", scene_import(&token, WW_ACCESS_WRITE, &other));
	MUST(!other);
	/* While it lasts nobody else gets the bytes. */
	(void)slice_token_for(slice, 1, 0);
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
	pool_has_no_room(pool, 256, "in flight");
}

/* Several tokens, and several imports of one: as many as were expected end it. */
POOL_CASE(escrow_ends_with_imports, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token one = slice_token_for(slice, 1, 0);
	struct ww_token two = slice_token_for(slice, 2, 0);
	struct child agents[3];

	ww_memory_unref(slice);
	for (int i = 0; i < 3; i++) {
		pool_start(&agents[i], NULL);
		pool_must_be(pool, 0, CHUNK);
		pool_show(&agents[i], i == 1 ? &one : &two, 0, 1);
	}
	pool_must_be(pool, 0, 0);
	pool_give(&agents[0], &two, 0, WW_ERR_NOT_FOUND);
}

/* Who imported and is gone has imported; and a token is good for others than him who got it. */
POOL_CASE(escrow_outlives_a_process, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token_for(slice, 2, 0);
	struct child agents[2];

	ww_memory_unref(slice);
	pool_start(&agents[0], NULL);
	pool_start(&agents[1], NULL);
	pool_give(&agents[0], &token, 0, WW_OK);
	child_kill(&agents[0]);
	scene_has_holders(1);
	pool_must_be(pool, 0, CHUNK);
	pool_show(&agents[1], &token, 0, 1);
	pool_comes_to(pool, 0, 0);
}

/* A token without escrow is good as long as its owner has the slice. */
POOL_CASE(no_escrow, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token_for(slice, 0, WW_ESCROW_NONE);
	struct child agent;

	pool_start(&agent, NULL);
	for (int i = 0; i < 3; i++) {
		pool_give(&agent, &token, 0, WW_OK);
		agent_must(&agent, WW_OK, "unref 0");
	}
	ww_memory_unref(slice);
	pool_must_be(pool, 0, 0);
	pool_give(&agent, &token, 0, WW_ERR_NOT_FOUND);
}

/*
 * An agent imports by a token for one twice before the owner exports again; then everybody but the
 * second token lets go.
 */
static void use_later_token(ww_pool *pool, bool has_looked)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token one = slice_token_for(slice, 1, 0);
	struct ww_token two;
	struct child agents[2];

	pool_start(&agents[0], NULL);
	pool_start(&agents[1], NULL);
	pool_give(&agents[0], &one, 0, WW_OK);
	pool_give(&agents[0], &one, 1, WW_OK);
	if (has_looked)
		pool_must_be(pool, CHUNK, 0);
	two = slice_token_for(slice, 1, 0);
	agent_does(&agents[0], "unref 0", "unref 1");
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
	pool_has_no_room(pool, 256, "in flight");
	pool_show(&agents[1], &two, 0, 1);
	pool_must_be(pool, 0, 0);
}

/* Imports that nobody expected are not taken for those of a later token. */
POOL_CASE(escrow_of_later_token, 0, CHUNK, 0)
{
	use_later_token(pool, true);
}

/* Also when the owner has yet to see who imported. */
POOL_CASE(escrow_of_later_token_unseen, 0, CHUNK, 0)
{
	use_later_token(pool, false);
}

/* Nor is the import that a token expected, and that never came, expected for ever. */
POOL_CASE(escrow_after_expired_one, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK / 2, 1);
	ww_memory *later = slice_make(pool, CHUNK / 2, 2);
	struct ww_token token;
	struct child agent;

	(void)slice_token_for(slice, 3, 20 * MS);
	(void)slice_token_for(later, 3, 20 * MS);
	ww_memory_unref(later);
	pool_comes_to(pool, CHUNK / 2, 0);
	token = slice_token_for(slice, 1, 0);
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK / 2);
	pool_start(&agent, NULL);
	pool_give(&agent, &token, 0, WW_OK);
	agent_must(&agent, WW_OK, "look 0 1");
	pool_must_be(pool, 0, CHUNK / 2);
	agent_must(&agent, WW_OK, "unref 0");
	pool_must_be(pool, 0, 0);
}

/* An import that failed, at home or elsewhere, was none. */
POOL_CASE(escrow_after_failed_import, NEEDS_CUDA, CHUNK, 0)
{
	static const char *const on_host[] = {"WW_TEST_DEVICE=host", NULL};
	const struct child_options options = {.environment = on_host};
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token_for(slice, 1, 0);
	struct child agents[2];
	ww_memory *other;
	OWN(device) ww_device *host;

	MUST_OK(ww_device_open("host", &host));
	MUST_REFUSE(WW_ERR_UNSUPPORTED, "cuda",
		ww_memory_import(host, scene.broker, &token,
			WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, &other,
			NULL));
	MUST(!other);
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
	pool_start(&agents[0], &options);
	pool_start(&agents[1], NULL);
	pool_give(&agents[0], &token, 0, WW_ERR_UNSUPPORTED);
	pool_must_be(pool, 0, CHUNK);
	pool_has_no_room(pool, 256, "in flight");
	pool_show(&agents[1], &token, 0, 1);
	pool_must_be(pool, 0, 0);
}

/* A slice in the same place, of the same size, is another one. */
POOL_CASE(old_token, 0, CHUNK, 2)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token old = slice_token_for(slice, 1, 0);
	struct child agent;

	pool_start(&agent, NULL);
	pool_give(&agent, &old, 0, WW_OK);
	agent_must(&agent, WW_OK, "unref 0");
	for (uint32_t i = 0; i < 5; i++) {
		struct ww_token token;

		ww_memory_unref(slice);
		slice = slice_make(pool, CHUNK, i);
		pool_give(&agent, &old, 0, WW_ERR_NOT_FOUND);
		token = slice_token_for(slice, 1, 0);
		pool_give(&agent, &token, 0, WW_OK);
		pool_give(&agent, &old, 1, WW_ERR_NOT_FOUND);
		agent_must(&agent, WW_OK, "look 0 %u", i);
		agent_must(&agent, WW_OK, "unref 0");
	}
	ww_memory_unref(slice);
}

/* --- tokens of what was let go of, before the owner looks at it again --- */

/* Two agents that have imported the first slice of the pool before; a slice for the case. */
static struct {
	ww_pool *pool;
	ww_memory *first;
	ww_memory *slice;
	struct child agents[2];
} crowd;

/* The owner's own import of the token fails, since no process uses the slice any more. */
static void must_be_gone(const struct ww_token *token)
{
	ww_memory *memory;

	MUST_STATUS(WW_ERR_NOT_FOUND, scene_import(token, WW_ACCESS_WRITE, &memory));
	MUST(!memory);
}

static void crowd_begin(void)
{
	crowd.pool = pool_make(scene.device, 2 * CHUNK, 0);
	crowd.first = slice_make(crowd.pool, 64 * KIB, 9);
	crowd.slice = slice_make(crowd.pool, CHUNK / 2, 1);
	for (int i = 0; i < 2; i++) {
		pool_start(&crowd.agents[i], NULL);
		pool_lend(&crowd.agents[i], crowd.first, WW_ACCESS_WRITE, 9);
	}
}

static void crowd_end(void)
{
	ww_memory_unref(crowd.first);
	pool_end(crowd.pool);
}

/* Who has it keeps it and can hand it on; by the owner's token it is not to be had any more. */
SCENE_CASE(freed_while_held, 0)
{
	struct ww_token token;
	struct ww_token passed;

	crowd_begin();
	token = slice_token_for(crowd.slice, 1, 0);
	pool_give(&crowd.agents[0], &token, 0, WW_OK);
	crowd.slice = ww_memory_unref(crowd.slice);
	pool_give(&crowd.agents[1], &token, 0, WW_ERR_NOT_FOUND);
	pool_give(&crowd.agents[0], &token, 1, WW_ERR_NOT_FOUND);
	must_be_gone(&token);
	passed = agent_export(&crowd.agents[0], "0 write");
	pool_give(&crowd.agents[1], &passed, 0, WW_OK);
	agent_must(&crowd.agents[0], WW_OK, "unref 0");
	agent_must(&crowd.agents[1], WW_OK, "look 0 1");
	pool_give(&crowd.agents[0], &token, 0, WW_ERR_NOT_FOUND);
	agent_must(&crowd.agents[1], WW_OK, "unref 0");
	pool_give(&crowd.agents[1], &token, 0, WW_ERR_NOT_FOUND);
	/* Here it is seen that nobody has it any more. */
	must_be_gone(&passed);
	pool_give(&crowd.agents[1], &passed, 0, WW_ERR_NOT_FOUND);
	crowd_end();
}

/* The owner has let go of it before it was imported. */
SCENE_CASE(freed_and_used_up, 0)
{
	struct ww_token token;

	crowd_begin();
	token = slice_token_for(crowd.slice, 2, 0);
	crowd.slice = ww_memory_unref(crowd.slice);
	for (int i = 0; i < 2; i++)
		pool_show(&crowd.agents[0], &token, 0, 1);
	pool_give(&crowd.agents[0], &token, 0, WW_ERR_NOT_FOUND);
	/* And in its owner. */
	must_be_gone(&token);
	pool_give(&crowd.agents[1], &token, 0, WW_ERR_NOT_FOUND);
	crowd_end();
}

/* The end of its time is seen by those who come, though the owner does nothing. */
SCENE_CASE(freed_and_expired, 0)
{
	struct ww_token token;

	crowd_begin();
	token = slice_token_for(crowd.slice, 1000000, 100 * MS);
	crowd.slice = ww_memory_unref(crowd.slice);
	agent_send_token(&crowd.agents[0], &token);
	agent_must(&crowd.agents[0], WW_ERR_NOT_FOUND, "drain 0 write");
	pool_give(&crowd.agents[1], &token, 0, WW_ERR_NOT_FOUND);
	crowd_end();
}

/* Also for those who have something of the pool. */
SCENE_CASE(freed_with_its_pool, 0)
{
	struct ww_token token;

	crowd_begin();
	token = slice_token_for(crowd.slice, 1, 0);
	ww_memory_unref(crowd.slice);
	ww_memory_unref(crowd.first);
	MUST(!ww_pool_unref(crowd.pool));
	pool_give(&crowd.agents[0], &token, 0, WW_ERR_NOT_FOUND);
	/* What they have stays, and they can hand it on. */
	agent_must(&crowd.agents[0], WW_OK, "look 9 9");
	token = agent_export(&crowd.agents[0], "9 write");
	pool_give(&crowd.agents[1], &token, 0, WW_OK);
	agent_must(&crowd.agents[1], WW_OK, "look 0 9");
}

/* A stream keeps the pool's memory, and nothing else of it. */
SCENE_CASE(freed_while_streaming, WW_CAP_STREAM_VALUE)
{
	struct ww_token token;
	ww_memory *slice;
	ww_stream *stream;

	crowd_begin();
	stream = stream_make(scene.device);
	token = slice_token_for(crowd.slice, 1, 0);
	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_pool_release(crowd.slice, stream));
	ww_memory_unref(crowd.first);
	MUST(!ww_pool_unref(crowd.pool));
	pool_give(&crowd.agents[0], &token, 0, WW_ERR_NOT_FOUND);
	MUST_STATUS(WW_ERR_NOT_FOUND,
		ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &slice, NULL));
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	ww_pool_unref(pool_make(scene.device, CHUNK, 0)); /* frees the other one too */
}

/* --- streams --- */

POOL_CASE(release_in_order, WW_CAP_STREAM_VALUE, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	ww_stream *stream = stream_make(scene.device);

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_stream_fill(stream, ww_memory_pointer(slice), 7, 1, CHUNK));
	MUST_OK(ww_pool_release(slice, stream));
	pool_must_be(pool, 0, CHUNK);
	pool_has_no_room(pool, 256, "");
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pool_must_be(pool, 0, 0);
	MUST_OK(ww_pool_alloc(pool, CHUNK, 0, 0, NULL, &slice));
	memory_must_be(slice, 7);
	ww_memory_unref(slice);
	ww_stream_unref(stream);
}

POOL_CASE(release_by_holder, WW_CAP_STREAM_VALUE, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct child agent;

	pool_start(&agent, NULL);
	pool_lend(&agent, slice, WW_ACCESS_WRITE, 0);
	ww_memory_unref(slice);
	agent_does(&agent, "hold", "release 0");
	pool_must_be(pool, 0, CHUNK);
	pool_has_no_room(pool, 256, "helper");
	agent_must(&agent, WW_OK, "go");
	pool_must_be(pool, 0, 0);
	slice = slice_make(pool, CHUNK, 2);
	ww_memory_unref(slice);
}

/*
 * While another reference is left the stream does not count, and what is left lets go in its own
 * way.
 */
SCENE_CASE(release_of_one_of_two, WW_CAP_STREAM_VALUE)
{
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	ww_memory *slice = ww_memory_ref(slice_make(pool, CHUNK, 1));
	ww_stream *stream = stream_make(scene.device);

	MUST_OK(ww_pool_release(slice, stream));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pool_must_be(pool, CHUNK, 0);
	pattern_verify(slice, 1);
	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_pool_release(slice, stream));
	pool_must_be(pool, 0, CHUNK);
	/* The pool may go first; its memory stays until the stream has come so far. */
	ww_pool_unref(pool);
	gate_open(&gate);
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	pool_end(pool_make(scene.device, CHUNK, 0));
}

/*
 * Who imported twice has two memories, each with an end of its own: the stream's is not forgotten
 * over the other's. That it has come is seen by that process's next call about pools.
 */
POOL_CASE(release_of_one_import, WW_CAP_STREAM_VALUE, CHUNK, 0)
{
	ww_memory *slices[2] = {slice_make(pool, CHUNK / 2, 1), slice_make(pool, CHUNK / 2, 2)};
	struct ww_token token = slice_token_for(slices[0], 2, 0);
	struct child agent;

	pool_start(&agent, NULL);
	pool_give(&agent, &token, 0, WW_OK);
	pool_give(&agent, &token, 1, WW_OK);
	ww_memory_unref(slices[0]);
	agent_does(&agent, "hold", "release 0", "unref 1");
	pool_must_be(pool, CHUNK / 2, CHUNK / 2);
	pool_has_no_room(pool, 256, "helper");
	/* Nor by a call while the stream lags. */
	token = slice_token_for(slices[1], 2, 0);
	pool_give(&agent, &token, 2, WW_OK);
	pool_must_be(pool, CHUNK / 2, CHUNK / 2);
	agent_must(&agent, WW_OK, "go");
	pool_must_be(pool, CHUNK / 2, CHUNK / 2);
	pool_give(&agent, &token, 3, WW_OK);
	pool_must_be(pool, CHUNK / 2, 0);
	slices[0] = slice_make(pool, CHUNK / 2, 3);
	agent_must(&agent, WW_OK, "look 3 2");
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}

/* --- no room --- */

POOL_CASE(full_pool_names_holder, 0, 2 * CHUNK, 0)
{
	ww_memory *slices[2] = {slice_make(pool, CHUNK / 2, 1), slice_make(pool, CHUNK, 2)};
	struct child agents[2];
	char who[64];

	for (int i = 0; i < 2; i++) {
		pool_start(&agents[i], NULL);
		pool_lend(&agents[i], slices[i], WW_ACCESS_READ, 0);
	}
	snprintf(who, sizeof(who), "process %d (helper)", (int)agents[1].pid);
	pool_has_no_room(pool, CHUNK, who);
	ww_memory_unref(slices[1]);
	pool_has_no_room(pool, CHUNK, who);
	agent_must(&agents[1], WW_OK, "unref 0");
	slices[1] = slice_make(pool, CHUNK, 3);
	snprintf(who, sizeof(who), "process %d (helper)", (int)agents[0].pid);
	pool_has_no_room(pool, CHUNK, who);
	/* More than the pool can ever have is another thing. */
	pool_has_no_room(pool, 3 * CHUNK, "at most");
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
}

POOL_CASE(no_piece_is_large_enough, 0, CHUNK, 0)
{
	ww_memory *slices[4];

	for (uint32_t i = 0; i < 4; i++)
		slices[i] = slice_make(pool, CHUNK / 4, i);
	slices[0] = ww_memory_unref(slices[0]);
	slices[2] = ww_memory_unref(slices[2]);
	MUST_EQUAL(CHUNK / 2, pool_info(pool).bytes_free);
	MUST_EQUAL(CHUNK / 4, pool_info(pool).bytes_largest);
	pool_has_no_room(pool, CHUNK / 2, "largest free piece 524288");
	slices[0] = slice_make(pool, CHUNK / 4, 0);
	slices[1] = ww_memory_unref(slices[1]);
	slices[2] = slice_make(pool, CHUNK / 2, 2);
	for (uint32_t i = 0; i < 4; i++)
		ww_memory_unref(slices[i]);
}

/* --- who has what --- */

static struct ww_pool_holder_info holder_find(ww_pool *pool, const struct child *agent)
{
	struct ww_pool_holder_info info = WW_INIT(struct ww_pool_holder_info);
	uint32_t index = 0;

	while (ww_pool_holder_get(pool, index++, &info) == WW_OK) {
		if (info.pid == (uint32_t)agent->pid)
			return info;
	}
	FAIL("process %d is not among the holders", (int)agent->pid);
}

static void holder_must_have(ww_pool *pool, const struct child *agent, uint32_t slices,
	uint64_t bytes)
{
	struct ww_pool_holder_info info = holder_find(pool, agent);

	MUST_EQUAL(slices, info.slice_count);
	MUST_EQUAL(bytes, info.slice_bytes);
	MUST_EQUAL(0, info.is_lost);
	MUST_EQUAL(geteuid(), info.uid);
	MUST(!strcmp(info.program, "helper"));
}

POOL_CASE(holders_are_listed, 0, CHUNK, 0)
{
	struct ww_pool_holder_info info = WW_INIT(struct ww_pool_holder_info);
	struct child agents[3];
	ww_memory *slices[3];

	MUST_STATUS(WW_END, ww_pool_holder_get(pool, 0, &info));
	for (int i = 0; i < 3; i++) {
		slices[i] = slice_make(pool, 4 * KIB << i, 1);
		pool_start(&agents[i], NULL);
	}
	for (int i = 0; i < 3; i++)
		for (int slice = 0; slice <= i; slice++)
			pool_lend(&agents[i], slices[slice], WW_ACCESS_READ, slice);
	MUST_EQUAL(3, pool_info(pool).holder_count);
	MUST_STATUS(WW_END, ww_pool_holder_get(pool, 3, &info));
	for (int i = 0; i < 3; i++)
		holder_must_have(pool, &agents[i], (uint32_t)i + 1, (4 * KIB << (i + 1)) - 4 * KIB);
	agent_must(&agents[2], WW_OK, "unref 1");
	holder_must_have(pool, &agents[2], 2, 20 * KIB);
	agent_end(&agents[0]);
	child_kill(&agents[1]);
	scene_has_holders(2);
	while (pool_info(pool).holder_count > 1)
		scene_info();
	holder_must_have(pool, &agents[2], 2, 20 * KIB);
	for (int i = 0; i < 3; i++)
		ww_memory_unref(slices[i]);
}

/*
 * The connection of one of them ends, and it comes again, while its former object is still there:
 * it is one holder, and not lost, in whatever order the broker shows the two, and however often
 * they are looked at.
 */
POOL_CASE(holder_comes_again, 0, CHUNK, 0)
{
	ww_memory *place = memory_make(scene.device, WW_MEMORY_HOST, 4096);
	struct child agents[2];
	ww_memory *slices[3];

	/* The newer object is to stand before the older one. */
	MUST_OK(ww_memory_put(place, scene.broker, "place", NULL, 0, NULL));
	for (int i = 0; i < 2; i++)
		pool_start(&agents[i], NULL);
	for (int i = 0; i < 3; i++)
		slices[i] = slice_make(pool, 4 * KIB << i, 1);
	pool_lend(&agents[0], slices[0], WW_ACCESS_READ, 0);
	holder_must_have(pool, &agents[0], 1, 4 * KIB);
	ww_memory_unref(place);
	agent_must(&agents[0], WW_OK, "cut");
	while (!holder_find(pool, &agents[0]).is_lost)
		sched_yield(); /* the broker notices the cut in its own time */
	pool_lend(&agents[0], slices[1], WW_ACCESS_READ, 1);
	MUST_EQUAL(1, pool_info(pool).holder_count);
	holder_must_have(pool, &agents[0], 2, 12 * KIB);
	pool_lend(&agents[1], slices[2], WW_ACCESS_READ, 0);
	MUST_EQUAL(2, pool_info(pool).holder_count);
	holder_must_have(pool, &agents[0], 2, 12 * KIB);
	for (int i = 0; i < 3; i++)
		ww_memory_unref(slices[i]);
	pool_must_be(pool, 0, 28 * KIB);
	agent_does(&agents[0], "unref 0", "unref 1");
	pool_must_be(pool, 0, 16 * KIB);
}

/* --- chunks --- */

/* What is put into the broker: the pool, a holder, and the chunks that anybody has. */
static void chunks_in_broker(uint64_t count)
{
	scene_has_objects(2 + count);
}

POOL_CASE(trim_gives_back, 0, 0, 0)
{
	struct child agent;
	ww_memory *slices[3];
	uint64_t bytes;

	pool_start(&agent, NULL);
	for (int i = 0; i < 3; i++) {
		slices[i] = slice_make(pool, CHUNK, (uint32_t)i);
		pool_lend(&agent, slices[i], WW_ACCESS_READ, i);
	}
	MUST_EQUAL(3, pool_info(pool).chunk_count);
	chunks_in_broker(3);
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(0, bytes);
	agent_does(&agent, "unref 0", "unref 1");
	/* Two are to be had, one shall stay; the other process still has it mapped. */
	MUST_OK(ww_pool_trim(pool, 2 * CHUNK, &bytes));
	MUST_EQUAL(CHUNK, bytes);
	MUST_EQUAL(2 * CHUNK, pool_info(pool).bytes_reserved);
	MUST_EQUAL(2, pool_info(pool).chunk_count);
	chunks_in_broker(3);
	/* Until it imports something else. */
	slices[0] = slice_make(pool, CHUNK, 7);
	pool_lend(&agent, slices[0], WW_ACCESS_READ, 0);
	agent_does(&agent, "look 0 7", "look 2 2");
	chunks_in_broker(2);
	for (int i = 0; i < 3; i += 2) {
		ww_memory_unref(slices[i]);
		agent_must(&agent, WW_OK, "unref %d", i);
	}
	MUST_OK(ww_pool_trim(pool, 0, &bytes));
	MUST_EQUAL(2 * CHUNK, bytes);
	pool_must_be(pool, 0, 0);
}

SCENE_CASE(pool_goes_before_its_slices, 0)
{
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	ww_memory *slices[2] = {slice_make(pool, 4 * KIB, 1), slice_make(pool, 4 * KIB, 2)};
	struct ww_token tokens[2];
	struct child agent;

	MUST(!ww_pool_unref(pool));
	pool_start(&agent, NULL);
	for (int i = 0; i < 2; i++)
		tokens[i] = slice_token(slices[i], WW_ACCESS_READ);
	pool_give(&agent, &tokens[0], 0, WW_OK);
	ww_memory_unref(slices[0]);
	pattern_verify(slices[1], 2);
	ww_memory_unref(slices[1]);
	/* Now it is gone, and gives nothing more; what was imported stays. */
	agent_does(&agent, "look 0 1", "unref 0");
	agent_end(&agent);
	pool_start(&agent, NULL);
	pool_give(&agent, &tokens[1], 0, WW_ERR_NOT_FOUND);
}

/* --- what stays mapped of a pool that was closed --- */

/* An agent has imported and released a slice, and still maps its chunk. */
static void start_with_chunk(struct child *agent, ww_memory *slice)
{
	pool_start(agent, NULL);
	pool_lend(agent, slice, WW_ACCESS_READ, 0);
	agent_does(agent, "note 0", "unref 0", "mapped");
}

SCENE_CASE(closed_pool_is_unmapped_with_the_last_slice, 0)
{
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4 * KIB, 1);
	struct child agent;

	start_with_chunk(&agent, slice);
	pool_lend(&agent, slice, WW_ACCESS_READ, 0);
	/* Another reference than the last one closes nothing. */
	ww_pool_unref(ww_pool_ref(pool));
	agent_does(&agent, "unref 0", "mapped");
	pool_lend(&agent, slice, WW_ACCESS_READ, 0);
	ww_pool_unref(pool);
	agent_does(&agent, "look 0 1", "unref 0");
	agent_must(&agent, WW_NOT_READY, "mapped");
}

SCENE_CASE(pool_closed_later_is_unmapped_when_memory_is_made, 0)
{
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, 4 * KIB, 1);
	struct child agent;

	start_with_chunk(&agent, slice);
	agent_does(&agent, "make 1", "mapped");
	ww_pool_unref(pool);
	agent_must(&agent, WW_OK, "make 2");
	agent_must(&agent, WW_NOT_READY, "mapped");
}

SCENE_CASE(ended_pool_is_unmapped_when_memory_is_released, 0)
{
	ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	ww_memory *slice = slice_make(pool, 4 * KIB, 1);
	struct child agent;

	start_with_chunk(&agent, slice);
	agent_must(&agent, WW_OK, "make 1");
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	agent_must(&agent, WW_OK, "unref 1");
	agent_must(&agent, WW_NOT_READY, "mapped");
	scene_has_objects(0); /* not even the agent's marks */
}
