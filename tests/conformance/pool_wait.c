/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_wait.c - allocations that wait for slices to come back, in the process that owns the pool
 */
#include <pthread.h>

#include "conformance/pool.h"
#include "support/stream_gate.h"

#define CHUNK (2 * MIB)
#define SHORT UINT64_C(5000000)

struct waiter {
	pthread_t thread;
	ww_pool *pool;
	uint64_t bytes;
};

static void *wait_for_room(void *context)
{
	struct waiter *waiter = context;
	OWN(memory) ww_memory *slice;

	MUST_OK(ww_pool_alloc(waiter->pool, waiter->bytes, 0, WW_FOREVER, NULL, &slice));
	MUST_EQUAL(waiter->bytes, memory_info(slice).bytes);
	return NULL;
}

static void waiter_start(struct waiter *waiter, ww_pool *pool, uint64_t bytes)
{
	*waiter = (struct waiter){.pool = pool, .bytes = bytes};
	MUST_EQUAL(0, pthread_create(&waiter->thread, NULL, wait_for_room, waiter));
}

DEVICE_CASE(pool_alloc_waits, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	ww_memory *slice = slice_make(pool, CHUNK);
	struct waiter waiters[4];
	ww_memory *none;

	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, 256, 0, SHORT, NULL, &none));
	MUST(!none);
	MUST_REFUSE(WW_ERR_LIMIT, "at most",
		ww_pool_alloc(pool, CHUNK + 1, 0, WW_FOREVER, NULL, &none));
	/* They all want all of it, and get it one after the other. */
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		waiter_start(&waiters[i], pool, CHUNK);
	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, 256, 0, SHORT, NULL, &none));
	ww_memory_unref(slice);
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		MUST_EQUAL(0, pthread_join(waiters[i].thread, NULL));
	MUST_EQUAL(0, pool_info(pool).bytes_used);
	MUST_EQUAL(5, pool_info(pool).allocations);
}

/* A large one that waits does not hold up a small one, which may be what it waits for. */
DEVICE_CASE(pool_alloc_passes_a_larger_one, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 4);
	ww_memory *half = slice_make(pool, CHUNK / 2);
	struct waiter large;
	ww_memory *small;
	ww_memory *none;

	waiter_start(&large, pool, CHUNK);
	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, CHUNK, 0, SHORT, NULL, &none));
	MUST_OK(ww_pool_alloc(pool, CHUNK / 4, 0, WW_FOREVER, NULL, &small));
	ww_memory_unref(half);
	MUST_OK(ww_pool_alloc(pool, CHUNK / 2, 0, WW_FOREVER, NULL, &half));
	ww_memory_unref(small);
	ww_memory_unref(half);
	MUST_EQUAL(0, pthread_join(large.thread, NULL));
}

/* What is short may be slots. */
DEVICE_CASE(pool_alloc_waits_for_a_slot, WW_CAP_EXPORT)
{
	OWN(pool) ww_pool *pool = pool_make(device, 0, 0, 2);
	ww_memory *slices[2] = {slice_make(pool, 256), slice_make(pool, 256)};
	struct waiter waiter;
	ww_memory *none;

	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, 256, 0, SHORT, NULL, &none));
	waiter_start(&waiter, pool, 256);
	ww_memory_unref(slices[0]);
	MUST_EQUAL(0, pthread_join(waiter.thread, NULL));
	ww_memory_unref(slices[1]);
}

DEVICE_CASE(pool_alloc_waits_for_a_stream, WW_CAP_EXPORT | WW_CAP_STREAM_VALUE)
{
	static struct gate gate;
	OWN(stream) ww_stream *stream = stream_make(device);
	OWN(pool) ww_pool *pool = pool_make(device, 0, CHUNK, 0);
	struct waiter waiter;
	ww_memory *none;

	gate_close(&gate, stream);
	gate_reached(&gate);
	MUST_OK(ww_pool_release(slice_make(pool, CHUNK), stream));
	waiter_start(&waiter, pool, CHUNK);
	MUST_STATUS(WW_TIMED_OUT, ww_pool_alloc(pool, 256, 0, SHORT, NULL, &none));
	gate_open(&gate);
	MUST_EQUAL(0, pthread_join(waiter.thread, NULL));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
}
