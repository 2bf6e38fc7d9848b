/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc_test.c - whose turn it is when a slice comes back
 *
 * A slice that a stream lets go of comes back without a word: whoever looks first sees it. The case
 * has the pool's lock until that has happened, so that a thread that waits has not looked yet.
 */
#include "base/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "pool/owner/pool.h"

#define BYTES (UINT64_C(2) << 20)

struct first {
	pthread_t thread;
	ww_pool *pool;
	sem_t ends;
};

static ww_pool *make_pool(ww_device *device)
{
	ww_pool *pool;

	assert_int_equal(WW_OK,
		ww_pool_create(device,
			WW_PARAMS(struct ww_pool_params, .kind = WW_MEMORY_HOST, .bytes_max = BYTES,
				.chunk_bytes = BYTES),
			&pool));
	return pool;
}

static bool has_queue(ww_pool *pool)
{
	bool has;

	pthread_mutex_lock(&pool->lock);
	has = !ww_list_is_empty(&pool->queue);
	pthread_mutex_unlock(&pool->lock);
	return has;
}

/* Waits for all of the pool, and has it until it is told. */
static void *wait_for_all(void *context)
{
	struct first *first = context;
	ww_memory *slice = NULL;

	if (ww_pool_alloc(first->pool, BYTES, 0, WW_FOREVER, NULL, &slice) == WW_OK)
		sem_wait(&first->ends);
	ww_memory_unref(slice);
	return NULL;
}

static void first_start(struct first *first, ww_pool *pool)
{
	first->pool = pool;
	assert_int_equal(0, sem_init(&first->ends, 0, 0));
	assert_int_equal(0, pthread_create(&first->thread, NULL, wait_for_all, first));
	while (!has_queue(pool))
		sched_yield();
}

static void first_end(struct first *first)
{
	sem_post(&first->ends);
	assert_int_equal(0, pthread_join(first->thread, NULL));
	sem_destroy(&first->ends);
}

static void stand(void *gate)
{
	sem_wait(gate);
}

/* A stream that stands still until then lets go of the slice; nobody has looked since. */
static void come_back(ww_pool *pool, ww_memory *slice, ww_stream *stream)
{
	sem_t gate;

	sem_init(&gate, 0, 0);
	assert_int_equal(WW_OK, ww_stream_call(stream, stand, &gate));
	assert_int_equal(WW_OK, ww_pool_release(slice, stream));
	pthread_mutex_lock(&pool->lock);
	sem_post(&gate);
	assert_int_equal(WW_OK, ww_stream_synchronize(stream, WW_FOREVER, NULL));
	pthread_mutex_unlock(&pool->lock);
	sem_destroy(&gate);
}

UNIT_TEST(who_came_first_is_served)
{
	struct first first;
	ww_stream *stream;
	ww_device *device;
	ww_memory *slice;
	ww_pool *pool;

	assert_int_equal(WW_OK, ww_device_open("host", &device));
	assert_int_equal(WW_OK, ww_stream_create(device, &stream));
	pool = make_pool(device);
	assert_int_equal(WW_OK, ww_pool_alloc(pool, BYTES, 0, 0, NULL, &slice));
	first_start(&first, pool);
	come_back(pool, slice, stream);
	assert_fails(ww_pool_alloc(pool, BYTES, 0, 0, NULL, &slice), WW_ERR_LIMIT);
	first_end(&first);
	assert_int_equal(WW_OK, ww_pool_alloc(pool, BYTES, 0, 0, NULL, &slice));
	ww_memory_unref(slice);
	ww_pool_unref(pool);
	ww_stream_unref(stream);
	ww_device_unref(device);
}

/* The last slice goes, and with it nothing that he needs. */
UNIT_TEST(who_waits_has_the_pool)
{
	struct first first;
	ww_device *device;
	ww_memory *slice;
	ww_pool *pool;

	assert_int_equal(WW_OK, ww_device_open("host", &device));
	pool = make_pool(device);
	assert_int_equal(WW_OK, ww_pool_alloc(pool, BYTES, 0, 0, NULL, &slice));
	first_start(&first, pool);
	ww_pool_unref(pool);
	assert_int_equal(2, atomic_load(&pool->ref.count)); /* the slice's, and his */
	ww_memory_unref(slice);
	first_end(&first);
	ww_device_unref(device);
}

UNIT_MAIN("alloc")
