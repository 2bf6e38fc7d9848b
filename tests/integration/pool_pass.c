/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_pass.c - slices from process to process
 */
#include <signal.h>
#include <unistd.h>

#include "integration/pool.h"

/*
 * A pool of one chunk with a slice of all of it, so that there is room again as soon as that is
 * free.
 */
static struct {
	ww_pool *pool;
	ww_memory *slice;
	struct child agents[2];
} cast;

static void begin(void)
{
	scene_begin();
	cast.pool = pool_make(scene.device, CHUNK, 0);
	cast.slice = slice_make(cast.pool, CHUNK, 1);
	for (int i = 0; i < 2; i++)
		pool_start(&cast.agents[i], NULL);
}

static void end(void)
{
	ww_memory_unref(cast.slice);
	pool_end(cast.pool);
	scene_end();
}

#define PASS_CASE(case_name) CASE_BETWEEN(case_name, 0, begin(), end())

SCENE_CASE(pass_slices, 0)
{
	ww_memory *slices[5];
	OWN(pool) ww_pool *pool = pool_make(scene.device, 4 * CHUNK, 0);
	ENDED_BY(agent_end) struct child agent;

	pool_start(&agent, NULL);
	for (uint32_t i = 0; i < 5; i++) {
		slices[i] = slice_make(pool, 256 * KIB << i, i);
		pool_lend(&agent, slices[i], WW_ACCESS_WRITE, (int)i);
	}
	for (uint32_t i = 0; i < 5; i++) {
		agent_must(&agent, WW_OK, "look %u %u", i, i);
		agent_must(&agent, WW_OK, "paint %u %u", i, i + 10);
	}
	for (uint32_t i = 0; i < 5; i++) {
		pattern_verify(slices[i], i + 10);
		slices[i] = ww_memory_unref(slices[i]);
	}
	pool_must_be(pool, 0, 256 * KIB * 31);
	for (uint32_t i = 0; i < 5; i++) {
		agent_must(&agent, WW_OK, "look %u %u", i, i + 10);
		agent_must(&agent, WW_OK, "unref %u", i);
	}
	pool_must_be(pool, 0, 0);
}

/* Who imports twice lets go twice; only then has the owner its bytes again. */
PASS_CASE(pass_counts_imports)
{
	struct ww_token token = slice_token_for(cast.slice, 2, 0);

	pool_give(&cast.agents[0], &token, 0, WW_OK);
	pool_give(&cast.agents[0], &token, 1, WW_OK);
	agent_must(&cast.agents[0], WW_OK, "same 0 1");
	cast.slice = ww_memory_unref(cast.slice);
	pool_has_no_room(cast.pool, 256, "");
	agent_does(&cast.agents[0], "unref 0", "look 1 1");
	pool_has_no_room(cast.pool, 256, "");
	agent_must(&cast.agents[0], WW_OK, "unref 1");
	cast.slice = slice_make(cast.pool, CHUNK, 2);
	pool_must_be(cast.pool, CHUNK, 0);
}

/*
 * The same bytes with the same access are one memory, with a reference for each import; other bytes
 * or access are another.
 */
PASS_CASE(pass_one_object)
{
	struct child *agent;
	struct ww_token token;
	struct ww_token narrow;

	agent = &cast.agents[0];
	token = slice_token_for(cast.slice, 5, 0);
	for (int i = 0; i < 2; i++)
		pool_give(agent, &token, i, WW_OK);
	agent_must(agent, WW_OK, "one 0 1");
	for (int i = 2; i < 4; i++) {
		agent_send_token(agent, &token);
		agent_must(agent, WW_OK, "import %d", i);
	}
	agent_must(agent, WW_OK, "one 2 3");
	agent_must(agent, WW_NOT_READY, "one 0 2");
	MUST_OK(ww_memory_export(cast.slice, scene.broker,
		WW_PARAMS(struct ww_export_params, .offset = 64 * KIB, .bytes = 128 * KIB,
			.uses = 2),
		NULL, &narrow));
	for (int i = 4; i < 6; i++)
		pool_give(agent, &narrow, i, WW_OK);
	agent_must(agent, WW_OK, "one 4 5");
	agent_must(agent, WW_NOT_READY, "one 2 4");
	for (int i = 0; i < 6; i += 2)
		agent_must(agent, WW_OK, "find %d %d", i, i + 1);
	/* Each ends with as many unrefs. */
	for (int i = 0; i < 6; i += 2) {
		agent_must(agent, WW_OK, "unref %d", i);
		agent_must(agent, WW_OK, "look %d %u", i + 1,
			i < 4 ? 1 : (unsigned int)(1 + 64 * KIB));
	}
	for (int i = 1; i < 6; i += 2)
		agent_must(agent, WW_OK, "unref %d", i);
	/* Another one begins. */
	pool_give(agent, &token, 0, WW_OK);
	agent_must(agent, WW_OK, "look 0 1");
}

/* After the first nobody asks the broker for anything: it stands still. */
PASS_CASE(pass_a_thousand)
{
	struct ww_token token;

	for (int i = 0; i < 2; i++) {
		pool_lend(&cast.agents[i], cast.slice, WW_ACCESS_WRITE, 0);
		agent_must(&cast.agents[i], WW_OK, "unref 0");
	}
	pool_must_be(cast.pool, CHUNK, 0);
	cast.slice = ww_memory_unref(cast.slice);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	for (uint32_t i = 0; i < 1000; i++) {
		struct child *agent = &cast.agents[i % 2];
		ww_memory *own = slice_make(cast.pool, 4 * KIB, i);

		token = slice_token(own, WW_ACCESS_WRITE);
		ww_memory_unref(own);
		pool_give(agent, &token, 0, WW_OK);
		if (i % 50 == 0)
			agent_must(agent, WW_OK, "look 0 %u", i);
		agent_must(agent, WW_OK, "unref 0");
	}
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
}

PASS_CASE(pass_on_by_holder)
{
	struct ww_token token;

	pool_lend(&cast.agents[0], cast.slice, WW_ACCESS_WRITE, 0);
	cast.slice = ww_memory_unref(cast.slice);
	token = agent_export(&cast.agents[0], "0 write");
	pool_give(&cast.agents[1], &token, 3, WW_OK);
	agent_must(&cast.agents[0], WW_OK, "unref 0");
	agent_does(&cast.agents[1], "look 3 1", "paint 3 2");
	pool_has_no_room(cast.pool, 256, "");
	/* To and fro: who had it before has it again. */
	token = agent_export(&cast.agents[1], "3");
	pool_give(&cast.agents[0], &token, 0, WW_OK);
	agent_must(&cast.agents[1], WW_OK, "unref 3");
	agent_must(&cast.agents[0], WW_OK, "look 0 2");
	pool_has_no_room(cast.pool, 256, "");
	agent_must(&cast.agents[0], WW_OK, "unref 0");
	cast.slice = slice_make(cast.pool, CHUNK, 2);
}

PASS_CASE(pass_for_reading)
{
	struct ww_token token = slice_token(cast.slice, WW_ACCESS_READ);

	pool_give(&cast.agents[0], &token, 0, WW_OK);
	agent_must(&cast.agents[0], WW_OK, "look 0 1");
	agent_must(&cast.agents[0], WW_ERR_ACCESS, "fill 0 7");
	agent_must(&cast.agents[0], WW_ERR_ACCESS, "export 0 write");
	agent_send_token(&cast.agents[1], &token);
	agent_must(&cast.agents[1], WW_ERR_ACCESS, "import 0 write");
	/* What it may read it can have others read. */
	token = agent_export(&cast.agents[0], "0");
	pool_give(&cast.agents[1], &token, 0, WW_OK);
	agent_must(&cast.agents[1], WW_OK, "look 0 1");
	/* The same process may get more by another token; what it has for reading stays so. */
	pool_lend(&cast.agents[0], cast.slice, WW_ACCESS_WRITE, 1);
	agent_does(&cast.agents[0], "paint 1 5", "look 0 5");
	agent_must(&cast.agents[1], WW_OK, "look 0 5");
	pattern_verify(cast.slice, 5);
}

/* A token may name a span of a slice; what is imported is that span, and holds all of the slice. */
PASS_CASE(pass_a_part)
{
	static const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.offset = 64 * KIB,
		.bytes = 128 * KIB,
	};
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_token token;
	ww_memory *found;
	ww_memory *part;

	MUST_OK(ww_memory_export(cast.slice, scene.broker, &params, NULL, &token));
	MUST_OK(ww_memory_import(scene.device, scene.broker, &token, NULL, NULL, &part, &info));
	MUST_EQUAL(128 * KIB, info.span_bytes);
	MUST_EQUAL(128 * KIB, memory_info(part).bytes);
	pattern_verify(part, 1 + 64 * KIB);
	MUST_OK(ww_memory_find(ww_memory_pointer(part), &found, NULL));
	MUST(found == part);
	ww_memory_unref(found);
	ww_memory_unref(part);
	MUST_OK(ww_memory_find(ww_memory_pointer(cast.slice), &found, NULL));
	MUST(found == cast.slice);
	ww_memory_unref(found);
	MUST_OK(ww_memory_export(cast.slice, scene.broker, &params, NULL, &token));
	pool_give(&cast.agents[0], &token, 0, WW_OK);
	agent_must(&cast.agents[0], WW_OK, "look 0 %u", (unsigned int)(1 + 64 * KIB));
	cast.slice = ww_memory_unref(cast.slice);
	pool_has_no_room(cast.pool, 256, "");
	agent_must(&cast.agents[0], WW_OK, "unref 0");
	cast.slice = slice_make(cast.pool, CHUNK, 2);
}

/* A slice that comes back to its owner is the one that it was. */
PASS_CASE(pass_home)
{
	struct ww_token token;
	ww_memory *home;

	pool_lend(&cast.agents[0], cast.slice, WW_ACCESS_WRITE, 0);
	agent_must(&cast.agents[0], WW_OK, "paint 0 3");
	token = agent_export(&cast.agents[0], "0 write");
	MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &home));
	MUST(ww_memory_pointer(home) == ww_memory_pointer(cast.slice));
	pattern_verify(home, 3);
	cast.slice = ww_memory_unref(cast.slice);
	agent_must(&cast.agents[0], WW_OK, "unref 0");
	pool_has_no_room(cast.pool, 256, "");
	/* It is as good as new: it can be exported again. */
	token = slice_token(home, WW_ACCESS_READ);
	pool_show(&cast.agents[1], &token, 0, 3);
	ww_memory_unref(home);
	/* Also when the owner has let go of it in between. */
	cast.slice = slice_make(cast.pool, CHUNK, 4);
	token = slice_token_for(cast.slice, 2, 0);
	pool_give(&cast.agents[0], &token, 0, WW_OK);
	cast.slice = ww_memory_unref(cast.slice);
	MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &cast.slice));
	pattern_verify(cast.slice, 4);
	agent_must(&cast.agents[0], WW_OK, "unref 0");
}

/* A slice larger than a chunk has one of its own, which goes like the others. */
SCENE_CASE(pass_what_has_a_chunk, 0)
{
	struct child agent;
	uint64_t given;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 0, 0);
	ww_memory *slice = slice_make(pool, 3 * CHUNK + 256, 9);

	MUST_EQUAL(4 * CHUNK, pool_info(pool).bytes_reserved);
	pool_start(&agent, NULL);
	pool_lend(&agent, slice, WW_ACCESS_READ, 0);
	agent_must(&agent, WW_OK, "look 0 9");
	ww_memory_unref(slice);
	MUST_OK(ww_pool_trim(pool, 0, &given));
	MUST_EQUAL(0, given);
	agent_must(&agent, WW_OK, "look 0 9");
	agent_end(&agent);
	pool_comes_to(pool, 0, 0);
	MUST_OK(ww_pool_trim(pool, 0, &given));
	MUST_EQUAL(4 * CHUNK, given);
}

SCENE_CASE(pass_host_memory, 0)
{
	uint8_t expected[4 * KIB];
	OWN(memory) ww_memory *slice;
	OWN(pool) ww_pool *pool;
	ENDED_BY(agent_end) struct child agent;

	MUST_OK(ww_pool_create(scene.device,
		WW_PARAMS(struct ww_pool_params, .kind = WW_MEMORY_HOST, .chunk_bytes = CHUNK),
		&pool));
	slice = slice_make(pool, 4 * KIB, 1);
	pattern_make(expected, sizeof(expected), 1);
	MUST(ww_memory_host_pointer(slice));
	MUST_MATCH(expected, ww_memory_host_pointer(slice), sizeof(expected));
	pool_start(&agent, NULL);
	pool_lend(&agent, slice, WW_ACCESS_WRITE, 0);
	agent_must(&agent, WW_OK, "paint 0 2");
	pattern_make(expected, sizeof(expected), 2);
	MUST_MATCH(expected, ww_memory_host_pointer(slice), sizeof(expected));
}

static void give_strictly(struct child *agent, const struct ww_token *token, ww_status expected)
{
	agent_send_token(agent, token);
	agent_must(agent, expected, "import 0 write strict");
}

static ww_status import_strictly(const struct ww_token *token, ww_memory **out_memory)
{
	return ww_memory_import(scene.device, scene.broker, token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE,
			.flags = WW_IMPORT_NO_SLOW_ROUTE),
		NULL, out_memory, NULL);
}

/* What WW_IMPORT_NO_SLOW_ROUTE refuses is the way to the memory, not the slice. */
SCENE_CASE(pass_strict, 0)
{
	const uint32_t kinds[] = {WW_MEMORY_VMM, WW_MEMORY_HOST};

	for (size_t i = 0; i < CHECK_COUNT(kinds); i++) {
		bool is_slow = kinds[i] == WW_MEMORY_HOST && subject_is_cuda();
		ww_status expected = is_slow ? WW_ERR_UNSUPPORTED : WW_OK;
		struct ww_token token;
		struct child agent;
		ww_memory *slice;
		ww_memory *home;
		ww_pool *pool;

		MUST_OK(ww_pool_create(scene.device,
			WW_PARAMS(struct ww_pool_params, .kind = kinds[i], .chunk_bytes = CHUNK),
			&pool));
		slice = slice_make(pool, 64 * KIB, 1);
		token = slice_token_for(slice, 0, WW_ESCROW_NONE);
		pool_start(&agent, NULL);
		for (int round = 0; round < 2; round++) {
			give_strictly(&agent, &token, expected);
			if (!is_slow)
				agent_must(&agent, WW_OK, "unref 0");
			pool_show(&agent, &token, 0, 1);
		}
		MUST_STATUS(expected, import_strictly(&token, &home));
		MUST(is_slow == !home);
		ww_memory_unref(home);
		ww_memory_unref(slice);
		pool_must_be(pool, 0, 0);
		agent_end(&agent);
		ww_pool_unref(pool);
	}
}

/* Who was refused, and takes it as it is then, finds it: what failed was no import. */
SCENE_CASE(pass_strict_later, 0)
{
	struct ww_token token;
	ww_memory *slice;
	ww_memory *home;
	OWN(pool) ww_pool *pool;
	ENDED_BY(agent_end) struct child agent;

	MUST_OK(ww_pool_create(scene.device,
		WW_PARAMS(struct ww_pool_params, .kind = WW_MEMORY_HOST, .chunk_bytes = CHUNK),
		&pool));
	slice = slice_make(pool, 64 * KIB, 1);
	token = slice_token_for(slice, 1, 0);
	if (subject_is_cuda())
		MUST_REFUSE(WW_ERR_UNSUPPORTED, "WW_IMPORT_NO_SLOW_ROUTE",
			import_strictly(&token, &home));
	ww_memory_unref(slice);
	pool_must_be(pool, 0, 64 * KIB);
	pool_start(&agent, NULL);
	if (subject_is_cuda()) {
		give_strictly(&agent, &token, WW_ERR_UNSUPPORTED);
		pool_must_be(pool, 0, 64 * KIB);
	}
	pool_show(&agent, &token, 0, 1);
	pool_must_be(pool, 0, 0);
}

/*
 * Two pools of one process, one on a GPU, one on the host device: each slice comes from where its
 * token says.
 */
SCENE_CASE(pass_between_devices, NEEDS_CUDA)
{
	static const char *const on_host[] = {"WW_TEST_DEVICE=host", NULL};
	const struct child_options options = {.environment = on_host};
	struct child agents[2];
	OWN(device) ww_device *host;
	ww_pool *pools[2];

	MUST_OK(ww_device_open("host", &host));
	pool_start(&agents[0], NULL);
	pool_start(&agents[1], &options);
	for (int i = 0; i < 2; i++)
		pools[i] = pool_make(i ? host : scene.device, CHUNK, 0);
	for (uint32_t round = 0; round < 20; round++) {
		for (int i = 0; i < 2; i++) {
			ww_memory *slice = slice_make(pools[i], 64 * KIB, round * 2 + (uint32_t)i);
			struct ww_token token = slice_token(slice, WW_ACCESS_WRITE);

			ww_memory_unref(slice);
			pool_show(&agents[i], &token, 0, round * 2 + (uint32_t)i);
		}
	}
	for (int i = 0; i < 2; i++)
		pool_end(pools[i]);
}
