/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_wait.c - allocations that wait for slices to come back from other processes
 */
#include <pthread.h>
#include <signal.h>

#include "integration/pool.h"

#define SHORT   (5 * MS)
#define THREADS 8
#define ROUNDS  60

/* A pool that is full: an agent has all of it, and this process has let go of it. */
static struct {
	ww_pool *pool;
	struct child agent;
	pthread_t waiter;
} cast;

static void *wait_for_all(void *context)
{
	OWN(memory) ww_memory *slice;

	MUST_OK(ww_pool_alloc(context, CHUNK, 0, WW_FOREVER, NULL, &slice));
	return NULL;
}

static void begin(void)
{
	struct ww_token token;
	ww_memory *slice;

	scene_begin();
	cast.pool = pool_make(scene.device, CHUNK, 0);
	slice = slice_make(cast.pool, CHUNK, 1);
	token = slice_token_for(slice, 1, 0);
	pool_start(&cast.agent, NULL);
	pool_give(&cast.agent, &token, 0, WW_OK);
	ww_memory_unref(slice);
	MUST_EQUAL(0, pthread_create(&cast.waiter, NULL, wait_for_all, cast.pool));
	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(cast.pool, 256, 0, SHORT, NULL, &slice));
	MUST(!slice);
}

static void end(void)
{
	MUST_EQUAL(0, pthread_join(cast.waiter, NULL));
	pool_comes_to(cast.pool, 0, 0);
	ww_pool_unref(cast.pool);
	scene_end();
}

#define WAIT_CASE(case_name) CASE_BETWEEN(case_name, 0, begin(), end())

WAIT_CASE(wait_for_holder)
{
	agent_must(&cast.agent, WW_OK, "unref 0");
}

WAIT_CASE(wait_for_dead)
{
	child_kill(&cast.agent);
}

/* A token that nobody imports. */
SCENE_CASE(wait_for_escrow, 0)
{
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 0);
	OWN(memory) ww_memory *slice = slice_make(pool, CHUNK, 1);

	(void)slice_token_for(slice, 1, 50 * MS);
	ww_memory_unref(slice);
	MUST_OK(ww_pool_alloc(pool, CHUNK, 0, WW_FOREVER, NULL, &slice));
}

static void *want_again(void *context)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		ww_memory *slice;

		MUST_OK(ww_pool_alloc(context, CHUNK >> round % 4, 0, WW_FOREVER, NULL, &slice));
		if (round % 8 == 0)
			pattern_write(slice, round);
		if (round % 8 == 0)
			pattern_verify(slice, round);
		ww_memory_unref(slice);
	}
	return NULL;
}

/* More want than there is room for; all get it in the end. */
SCENE_CASE(wait_in_threads, 0)
{
	pthread_t threads[THREADS];
	OWN(pool) ww_pool *pool = pool_make(scene.device, CHUNK, 0);

	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, want_again, pool));
	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_join(threads[i], NULL));
	pool_must_be(pool, 0, 0);
	MUST_EQUAL(THREADS * ROUNDS, pool_info(pool).allocations);
}

/* --- a broker that does not answer --- */

/*
 * An agent has half of the pool, and this process, which has not seen it yet, has let go of that.
 * All processes of the broker stand still. The case hangs if one of its calls waits for it.
 * Return: the other half.
 */
static ww_memory *begin_silence(void)
{
	struct ww_token token;
	ww_memory *other;
	ww_memory *slice;

	scene_begin();
	pool_be_patient();
	cast.pool = pool_make(scene.device, 2 * CHUNK, 0);
	slice = slice_make(cast.pool, CHUNK, 1);
	other = slice_make(cast.pool, CHUNK, 2);
	token = slice_token_for(slice, 1, 1);
	pool_start(&cast.agent, NULL);
	pool_give(&cast.agent, &token, 0, WW_OK);
	ww_memory_unref(slice);
	MUST_CALL(kill(-scene.daemon.group, SIGSTOP));
	return other;
}

static void end_silence(void)
{
	MUST_CALL(kill(-scene.daemon.group, SIGCONT));
	agent_must(&cast.agent, WW_OK, "unref 0");
}

/*
 * What a wait asks the broker is within its own limit on time, and what the agent has is not handed
 * out.
 */
CASE(wait_while_broker_is_silent, 0)
{
	ww_memory *other = begin_silence();
	ww_memory *slice;

	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(cast.pool, CHUNK, 0, 10 * MS, NULL, &slice));
	end_silence();
	ww_memory_unref(other);
	pool_comes_to(cast.pool, 0, 0);
	ww_pool_unref(cast.pool);
	scene_end();
}

static void *wait_for_both(void *context)
{
	OWN(memory) ww_memory *slice;

	MUST_OK(ww_pool_alloc(context, 2 * CHUNK, 0, WW_FOREVER, NULL, &slice));
	return NULL;
}

/*
 * Neither the one that waits, which goes on when the broker does, nor the calls that take what is
 * free hold each other up.
 */
CASE(silent_broker_delays_nobody, 0)
{
	ww_memory *other = begin_silence();
	ww_memory *slice;

	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(cast.pool, CHUNK, 0, SHORT, NULL, &slice));
	MUST_EQUAL(0, pthread_create(&cast.waiter, NULL, wait_for_both, cast.pool));
	ww_memory_unref(other);
	for (int i = 0; i < 3; i++) {
		MUST_OK(ww_pool_alloc(cast.pool, 256, 0, 0, NULL, &slice));
		ww_memory_unref(slice);
		MUST_STATUS(WW_ERR_LIMIT,
			ww_pool_alloc(cast.pool, CHUNK + 256, 0, 0, NULL, &slice));
	}
	end_silence();
	end();
}
