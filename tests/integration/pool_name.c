/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_name.c - slices under names in the broker: their bytes stay as long as the name
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "integration/pool.h"
#include "support/cancel.h"

#define PUT(...)     WW_PARAMS(struct ww_put_params, __VA_ARGS__)
#define REPLACEMENTS 300

static void name_slice(ww_memory *slice, const char *name, uint64_t flags)
{
	MUST_OK(ww_memory_put(slice, scene.broker, name, PUT(.flags = flags), 0, NULL));
}

static bool is_there(const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_status status = ww_broker_stat(scene.broker, name, &info);

	if (status)
		MUST_STATUS(WW_ERR_NOT_FOUND, status);
	return status == WW_OK;
}

/* The name is one more use of the slice, and a process that got the slice another one. */
POOL_CASE(name_keeps_its_slice, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct child agents[2];

	name_slice(slice, "n", 0);
	ww_memory_unref(slice);
	pool_has_no_room(pool, 256, "1 slices of these have names");
	for (int i = 0; i < 2; i++) {
		agent_begin(&agents[i], "pool", "fetch 0 n%s", i ? "" : " write");
		agent_must(&agents[i], WW_OK, "look 0 1");
		pool_must_be(pool, 0, CHUNK);
	}
	agent_must(&agents[0], WW_OK, "remove n");
	agent_must(&agents[0], WW_ERR_NOT_FOUND, "fetch 1 n");
	for (int i = 0; i < 2; i++) {
		pool_must_be(pool, 0, CHUNK);
		agent_does(&agents[i], "look 0 1", "unref 0");
	}
	pool_must_be(pool, 0, 0);
}

/* Here the slice itself comes, and what is known of it is what listings say. */
POOL_CASE(name_comes_home, 0, CHUNK, 0)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct ww_object_info listed = WW_INIT(struct ww_object_info);
	ww_memory *slices[2] = {slice_make(pool, 4096, 1), slice_make(pool, 4096, 2)};
	ww_object *object;
	ww_memory *again;

	for (int i = 0; i < 2; i++)
		name_slice(slices[i], i ? "b" : "a", 0);
	MUST_OK(ww_memory_get(scene.device, scene.broker, "b",
		WW_PARAMS(struct ww_get_params, .access = WW_ACCESS_WRITE), 0, NULL, &again,
		&info));
	MUST(again == slices[1]);
	MUST_EQUAL(1, info.is_own);
	MUST_EQUAL(4096, info.bytes);
	MUST_OK(ww_broker_stat(scene.broker, "b", &listed));
	MUST_EQUAL(WW_OBJECT_MEMORY, listed.kind);
	MUST_EQUAL(1, listed.is_slice);
	MUST_EQUAL(1, info.is_slice);
	MUST_EQUAL(WW_LIFE_OWNER, listed.life);
	MUST_EQUAL(WW_STATE_SHARED, listed.state);
	MUST_EQUAL(4096, listed.bytes);
	MUST_EQUAL(4096, listed.span_bytes);
	MUST_EQUAL(0, listed.offset);
	MUST_EQUAL(WW_MEMORY_VMM, listed.memory_kind);
	MUST(!memcmp(info.object_id, listed.object_id, sizeof(info.object_id)));
	ww_memory_unref(again);
	MUST_OK(ww_object_get(scene.broker, "a", NULL, 0, NULL, &object, NULL));
	MUST_OK(ww_object_map(object, scene.device, NULL, NULL, &again));
	pattern_verify(again, 1);
	for (int i = 0; i < 2; i++) {
		ww_memory_unref(slices[i]);
		MUST_OK(ww_broker_remove(scene.broker, i ? "b" : "a"));
	}
	pool_must_be(pool, 4096, 0);
	ww_memory_unref(again);
	ww_object_unref(object);
}

/* A part that a token gave to this process: the name is the part's. */
POOL_CASE(name_of_a_part_of_a_slice, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, 8192, 1);
	struct ww_token token;
	struct child agent;
	ww_memory *part;
	uint8_t bytes[2];

	MUST_OK(ww_memory_export(slice, NULL,
		WW_PARAMS(struct ww_export_params, .offset = 4096, .bytes = 1000,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, &token));
	MUST_OK(scene_import(&token, WW_ACCESS_READ, &part));
	name_slice(part, "part", 0);
	ww_memory_unref(part);
	agent_begin(&agent, "pool", "fetch 0 part");
	MUST_OK(ww_memory_get(scene.device, scene.broker, "part", NULL, 0, NULL, &part, NULL));
	MUST_EQUAL(1000, memory_info(part).bytes);
	MUST_OK(ww_memory_read(slice, 4096, &bytes[0], 1, WW_FOREVER, NULL));
	MUST_OK(ww_memory_read(part, 0, &bytes[1], 1, WW_FOREVER, NULL));
	MUST_EQUAL(bytes[0], bytes[1]);
	ww_memory_unref(part);
	ww_memory_unref(slice);
	MUST_OK(ww_broker_remove(scene.broker, "part"));
}

/* @params: of the put */
static void refuse_name(ww_memory *slice, const char *name, const struct ww_put_params *params,
	ww_status expected, const char *word)
{
	MUST_REFUSE(expected, word, ww_memory_put(slice, scene.broker, name, params, 0, NULL));
}

POOL_CASE(name_is_refused, 0, CHUNK, 0)
{
	ww_memory *slices[2] = {slice_make(pool, 4096, 1), slice_make(pool, 4096, 2)};
	ww_memory *memory = scene_make(4096, 3);
	struct child agent;

	refuse_name(slices[0], "n", PUT(.life = WW_LIFE_HELD), WW_ERR_INVALID, "copy");
	refuse_name(slices[0], "n", PUT(.life = WW_LIFE_KEPT), WW_ERR_INVALID, "copy");
	refuse_name(slices[0], "n", PUT(.ttl_ns = 1), WW_ERR_INVALID, "no time to live");
	refuse_name(slices[0], "n", PUT(.state = WW_STATE_SEALED), WW_ERR_INVALID, "copy");
	refuse_name(slices[0], "n", PUT(.state = WW_STATE_WRITING), WW_ERR_INVALID, "copy");
	refuse_name(slices[0], "n", PUT(.state = WW_STATE_READ_ONLY), WW_ERR_INVALID, "copy");
	name_slice(slices[0], "n", 0);
	refuse_name(slices[1], "n", NULL, WW_ERR_EXISTS, "'n'");
	refuse_name(slices[1], "m", PUT(.mode = 0640), WW_ERR_EXISTS, "another pool");
	MUST_REFUSE(WW_ERR_INVALID, "--end", ww_broker_end(scene.broker, "n", NULL));
	name_slice(slices[0], "n", 0); /* once more the same */
	name_slice(slices[1], "n", WW_PUT_REPLACE);
	scene_put(memory, "memory", 0600, WW_LIFE_HELD, WW_STATE_SHARED);
	refuse_name(slices[0], "memory", NULL, WW_ERR_EXISTS, "'memory'");
	name_slice(slices[0], "memory", WW_PUT_REPLACE);
	agent_begin(&agent, "pool", "fetch 0 n");
	agent_must(&agent, WW_OK, "look 0 2");
	agent_must(&agent, WW_ERR_ACCESS, "name 0 mine");
	agent_does(&agent, "remove n", "remove memory");
	MUST_OK(ww_memory_put(slices[1], scene.broker, "m", PUT(.mode = 0640), 0, NULL));
	agent_must(&agent, WW_OK, "remove m");
	for (int i = 0; i < 2; i++)
		ww_memory_unref(slices[i]);
	ww_memory_unref(memory);
}

/* A reader always finds the bytes of one slice, although the replaced ones are used again. */
POOL_CASE(name_is_replaced_under_a_reader, 0, CHUNK, 0)
{
	ww_memory *memory = scene_make(1, 0);
	struct child agents[2];

	for (int round = 0; round < REPLACEMENTS; round++) {
		ww_memory *slice;
		ww_stream *stream;

		MUST_OK(ww_pool_alloc(pool, CHUNK / 4, 0, WW_FOREVER, NULL, &slice));
		stream = stream_make(scene.device);
		MUST_OK(ww_stream_fill(stream, ww_memory_pointer(slice), (uint8_t)round, 1,
			CHUNK / 4));
		MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
		ww_stream_unref(stream);
		name_slice(slice, "latest", WW_PUT_REPLACE);
		ww_memory_unref(slice);
		for (int i = 0; i < 2 && round == 0; i++) {
			pool_start(&agents[i], NULL);
			agent_tell(&agents[i], "chase latest end");
		}
	}
	scene_put(memory, "end", 0600, WW_LIFE_HELD, WW_STATE_SHARED);
	for (int i = 0; i < 2; i++)
		agent_answers(&agents[i], WW_OK);
	ww_memory_unref(memory);
	MUST_OK(ww_broker_remove(scene.broker, "latest"));
	pool_comes_to(pool, 0, 0);
}

/* A token in flight is not taken for imported because the slice was had by its name. */
POOL_CASE(name_and_token_in_flight, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token_for(slice, 1, 0);
	struct child agent;

	name_slice(slice, "n", 0);
	ww_memory_unref(slice);
	agent_begin(&agent, "pool", "fetch 0 n");
	agent_does(&agent, "unref 0", "remove n");
	pool_must_be(pool, 0, CHUNK);
	pool_show(&agent, &token, 0, 1);
	pool_must_be(pool, 0, 0);
}

POOL_CASE(name_outlives_revoked_tokens, 0, 2 * CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_token token = slice_token(slice, WW_ACCESS_READ);
	struct ww_token passed;
	struct child agent;

	name_slice(slice, "n", 0);
	agent_begin(&agent, "pool", "fetch 0 n");
	agent_tell(&agent, "export 0");
	passed = agent_hear_token(&agent);
	agent_answers(&agent, WW_OK);
	agent_must(&agent, WW_OK, "unref 0");
	MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	pool_give(&agent, &token, 0, WW_ERR_NOT_FOUND);
	pool_give(&agent, &passed, 0, WW_ERR_NOT_FOUND);
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
	agent_does(&agent, "fetch 0 n", "look 0 1", "unref 0", "remove n");
}

/* A delivery gives the slice a second number, and the name keeps the first one. */
POOL_CASE(name_of_a_slice_with_a_delivery, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK / 2, 1);
	ww_memory *other = slice_make(pool, 4096, 2);
	struct ww_token token;
	struct child agent;

	name_slice(slice, "n", 0);
	name_slice(other, "other", 0);
	MUST_OK(ww_memory_export(slice, NULL,
		WW_PARAMS(struct ww_export_params, .flags = WW_EXPORT_DELIVERY, .uses = 1), NULL,
		&token));
	pool_start(&agent, NULL);
	pool_show(&agent, &token, 0, 1);
	MUST_OK(ww_broker_remove(scene.broker, "other"));
	ww_memory_unref(other);
	ww_memory_unref(slice);
	for (int i = 0; i < 2; i++)
		pool_must_be(pool, 0, CHUNK / 2);
	agent_does(&agent, "fetch 0 n", "look 0 1", "unref 0", "remove n");
	pool_must_be(pool, 0, 0);
}

/* The broker is killed before it has read that the slice has another number. */
static void revoke_in_vain(ww_memory *slice)
{
	struct ww_broker_info info = scene_info();
	ww_cancel *cancel;

	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	MUST_STATUS(WW_CANCELLED, ww_memory_revoke(slice, NULL, cancel));
	MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	broker_hear_ready(&scene.daemon);
	ww_cancel_unref(cancel);
}

/* It is told again when the pool is looked at, or when the tokens are revoked again. */
POOL_CASE(name_follows_a_revocation_that_failed, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct child agent;

	pool_start(&agent, NULL);
	name_slice(slice, "n", 0);
	revoke_in_vain(slice);
	name_slice(slice, "more", 0);
	pool_must_be(pool, CHUNK, 0);
	agent_does(&agent, "fetch 0 n", "unref 0");
	revoke_in_vain(slice);
	MUST_OK(ww_memory_revoke(slice, NULL, NULL));
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK);
	for (int i = 0; i < 2; i++) {
		agent_must(&agent, WW_OK, "fetch %d %s", i, i ? "n" : "more");
		agent_must(&agent, WW_OK, "look %d 1", i);
		agent_must(&agent, WW_OK, "unref %d", i);
		agent_must(&agent, WW_OK, "remove %s", i ? "n" : "more");
	}
	pool_must_be(pool, 0, 0);
}

/* The broker reads the put later, or is killed before. */
static void cancel_put(ww_pool *pool, bool is_killed)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct ww_broker_info info;
	ww_cancel *cancel;

	name_slice(slice, "former", 0);
	info = scene_info();
	MUST_OK(ww_cancel_create(&cancel));
	ww_cancel_set(cancel);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	MUST_STATUS(WW_CANCELLED, ww_memory_put(slice, scene.broker, "n", NULL, 0, cancel));
	if (is_killed)
		MUST_CALL(kill((pid_t)info.pid, SIGKILL));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	if (is_killed)
		broker_hear_ready(&scene.daemon);
	ww_cancel_unref(cancel);
	MUST_OK(ww_broker_remove(scene.broker, "former"));
	ww_memory_unref(slice);
}

POOL_CASE(name_of_a_cancelled_put, 0, CHUNK, 0)
{
	struct child agent;

	cancel_put(pool, false);
	pool_must_be(pool, 0, CHUNK);
	agent_begin(&agent, "pool", "fetch 0 n");
	agent_does(&agent, "look 0 1", "unref 0", "remove n");
	pool_must_be(pool, 0, 0);
	cancel_put(pool, true);
	pool_must_be(pool, 0, 0);
	MUST(!is_there("n"));
}

/* The case hangs if the allocation waits for the broker. */
POOL_CASE(name_is_put_while_broker_is_silent, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK / 2, 1);
	ww_memory *other;

	pool_be_patient();
	name_slice(slice, "n", 0);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	MUST_STATUS(WW_ERR_NO_BROKER, ww_memory_put(slice, scene.broker, "more", NULL, 1, NULL));
	MUST_OK(ww_pool_alloc(pool, CHUNK / 2, 0, 0, NULL, &other));
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	ww_memory_unref(other);
	ww_memory_unref(slice);
	MUST_OK(ww_broker_remove(scene.broker, "n"));
	MUST_OK(ww_broker_remove(scene.broker, "more"));
	pool_comes_to(pool, 0, 0);
}

/* A call that a thread of its own makes; the broker stands still. */
struct asker {
	pthread_t thread;
	_Atomic pid_t id; /* 0: it has not begun */
	void (*ask)(void *slice_or_pool);
	void *slice_or_pool;
};

static void *run_asker(void *context)
{
	struct asker *asker = context;

	atomic_store(&asker->id, gettid());
	asker->ask(asker->slice_or_pool);
	return NULL;
}

/* Return: when it waits for the broker. */
static void asker_start(struct asker *asker, void (*ask)(void *), void *slice_or_pool)
{
	*asker = (struct asker){.ask = ask, .slice_or_pool = slice_or_pool};
	MUST_EQUAL(0, pthread_create(&asker->thread, NULL, run_asker, asker));
	while (!atomic_load(&asker->id))
		sched_yield();
	thread_wait_asleep(atomic_load(&asker->id));
}

static void ask_put(void *slice)
{
	name_slice(slice, "n", 0);
}

static void ask_remove(void *unused)
{
	(void)unused;
	(void)ww_broker_remove(scene.broker, "n");
}

static void ask_room(void *pool)
{
	pool_has_no_room(pool, CHUNK, "in use");
}

/*
 * The pool is looked at twice, and its lock is held, between the broker's answer to a put and the
 * note of it: the second look finds that the name is gone already.
 */
POOL_CASE(name_is_lost_before_it_is_noted, 0, CHUNK, 0)
{
	ww_memory *kept = slice_make(pool, CHUNK / 2, 1);
	ww_memory *slice = slice_make(pool, CHUNK / 2, 2);
	struct asker askers[3];

	pool_be_patient();
	name_slice(kept, "kept", 0);
	ww_memory_unref(kept);
	name_slice(slice, "lost", 0);
	MUST_OK(ww_broker_remove(scene.broker, "lost"));
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP)); /* all its processes */
	asker_start(&askers[0], ask_put, slice);
	asker_start(&askers[1], ask_remove, NULL);
	asker_start(&askers[2], ask_room, pool);
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	for (size_t i = 0; i < CHECK_COUNT(askers); i++)
		MUST_EQUAL(0, pthread_join(askers[i].thread, NULL));
	if (is_there("n")) /* it was asked in another order */
		MUST_OK(ww_broker_remove(scene.broker, "n"));
	ww_memory_unref(slice);
	pool_must_be(pool, 0, CHUNK / 2);
	MUST_OK(ww_broker_remove(scene.broker, "kept"));
	pool_must_be(pool, 0, 0);
}

/* How the owner of named slices lets go of its pool. */
enum pool_end_by {
	BY_CLOSE,
	BY_EXIT,
	BY_KILL,
};

static void end_owner(enum pool_end_by how)
{
	struct child owner, reader;

	pool_start(&owner, NULL);
	pool_start(&reader, NULL);
	agent_does(&owner, "pool 2048", "alloc 0 4", "paint 0 1", "name 0 n", "unref 0");
	agent_must(&reader, WW_OK, "fetch 0 n");
	if (how == BY_CLOSE)
		agent_must(&owner, WW_OK, "close");
	else if (how == BY_EXIT)
		agent_end(&owner);
	else
		child_kill(&owner);
	MUST(COMES_TRUE(!is_there("n")));
	agent_must(&reader, WW_ERR_NOT_FOUND, "fetch 1 n");
	agent_does(&reader, "look 0 1", "unref 0");
}

SCENE_CASE_CALL(name_ends_with_its_closed_pool, 0, end_owner(BY_CLOSE))
SCENE_CASE_CALL(name_ends_with_its_owner, 0, end_owner(BY_EXIT))
SCENE_CASE_CALL(name_ends_with_its_killed_owner, 0, end_owner(BY_KILL))

/* Deliveries have their time; names do not. */
SCENE_CASE(name_ends_before_a_delivery, 0)
{
	struct child owner, reader;
	struct ww_token token;

	pool_start(&owner, NULL);
	pool_start(&reader, NULL);
	agent_does(&owner, "pool 2048", "alloc 0 4", "paint 0 1", "name 0 n");
	agent_tell(&owner, "export 0 delivery uses=1");
	token = agent_hear_token(&owner);
	agent_answers(&owner, WW_OK);
	child_kill(&owner);
	MUST(COMES_TRUE(!is_there("n")));
	pool_show(&reader, &token, 0, 1);
}

/* A broker that is killed keeps names; the owner learns what became of them meanwhile. */
POOL_CASE(name_survives_the_broker, 0, CHUNK, 0)
{
	ww_memory *slice = slice_make(pool, CHUNK, 1);
	struct child agent;

	name_slice(slice, "n", 0);
	ww_memory_unref(slice);
	agent_begin(&agent, "pool", "fetch 0 n");
	for (int i = 0; i < 2; i++) {
		scene_restart_broker();
		pool_must_be(pool, 0, CHUNK);
		agent_does(&agent, "unref 0", "fetch 0 n", "look 0 1");
	}
	agent_does(&agent, "unref 0", "remove n");
	scene_restart_broker();
	pool_must_be(pool, 0, 0);
}
