/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - slices are allocated, and released by streams; allocations that wait for room
 *
 * No other process tells the owner that a slice has come back. So a thread that waits for room
 * looks again at slices that wait for others, at some of them each time: first without a pause,
 * then after pauses of an eighth of the time waited so far, at most 2 ms. An unref in this process
 * wakes the thread. It looks only if the pool's lock is free at that moment. A look may have to ask
 * the broker; the thread looks again anyway, so each answer is awaited for a moment only.
 *
 * A thread that looks or allocates, and finds that bytes have come back, serves all allocations
 * that wait, in the order in which they came. One for which no piece is large enough does not hold
 * up those behind it.
 */
#include <inttypes.h>

#include "base/await.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/process.h"
#include "client/request.h"
#include "device/stream.h"
#include "pool/owner/importers.h"
#include "pool/owner/slice.h"

#define SWEEP_COUNT 256 /* slices that wait for others, looked at by each look */

/* One that waits; on its thread's stack. All under pool->lock. */
struct waiter {
	struct ww_list link; /* in pool->queue */
	struct ww_pool *pool;
	uint64_t bytes;
	uint64_t alignment;
	ww_memory *memory; /* what it was given, a reference; NULL: nothing yet */
	bool is_hopeless;  /* waiting longer will not help */
};

/* Whether there is no room now, but may be later. */
static bool is_full(ww_status status)
{
	return status == WW_NOT_READY || status == WW_ERR_DEVICE_MEMORY ||
		status == WW_ERR_NO_MEMORY;
}

/* Under pool->lock. Whether any slice may come back. */
static bool is_any_to_come(const struct ww_pool *pool)
{
	if (pool->used_count > 0)
		return true;
	if (!pool->is_cut_off || ww_pool_knows_all(pool))
		return pool->waiting_count > 0;
	ww_list_for_each (link, &pool->waiting) {
		if (!ww_container(link, struct ww_slice, link)->tokens[0].is_shared)
			return true;
	}
	return false;
}

/*
 * Under pool->lock. If there is another failure than a lack of room, the thread that waits meets it
 * again by itself, and reports it.
 * Return: whether it waits no longer.
 */
static bool serve_one(struct waiter *waiter)
{
	ww_status status;

	if (waiter->memory || waiter->is_hopeless)
		return false;
	status = ww_pool_cut(waiter->pool, waiter->bytes, waiter->alignment, &waiter->memory);
	waiter->is_hopeless = status < 0 && !is_full(status);
	return waiter->memory || waiter->is_hopeless;
}

/*
 * Under pool->lock. An attempt may itself find slices that have come back: then the first one is
 * asked again.
 * Return: whether to wake the threads that wait; after the unlock, since they only try the lock.
 */
static bool serve(struct ww_pool *pool)
{
	struct ww_error record;
	bool is_any_served = false;

	if (ww_list_is_empty(&pool->queue) || !pool->has_come_back)
		return false;
	ww_error_save(&record);
	while (pool->has_come_back) {
		pool->has_come_back = false;
		ww_list_for_each (link, &pool->queue)
			is_any_served |= serve_one(ww_container(link, struct waiter, link));
	}
	ww_error_restore(&record);
	return is_any_served;
}

/*
 * Under pool->lock. Slices that have come back belong first to the calls that wait, before any
 * other call takes them. Return: as serve().
 */
static bool serve_first(struct ww_pool *pool)
{
	if (ww_list_is_empty(&pool->queue))
		return false;
	ww_slices_sweep(pool, UINT32_MAX);
	return serve(pool);
}

static enum ww_await_look look(void *context)
{
	struct waiter *waiter = context;
	struct ww_pool *pool = waiter->pool;
	bool is_any_served = false;
	bool is_done;

	ww_memory_reclaim();
	if (pthread_mutex_trylock(&pool->lock) != 0)
		return WW_AWAIT_POLL;
	if (!waiter->memory) {
		ww_slices_sweep(pool, SWEEP_COUNT);
		is_any_served = serve(pool);
	}
	is_done = waiter->memory || waiter->is_hopeless || !is_any_to_come(pool);
	pthread_mutex_unlock(&pool->lock);
	if (is_any_served)
		ww_await_wake(&pool->wakes);
	return is_done ? WW_AWAIT_DONE : WW_AWAIT_POLL;
}

/*
 * Under pool->lock, which is let go meanwhile. Return: WW_OK; WW_NOT_READY, WW_ERR_...: as
 * ww_pool_cut(), at the end.
 */
static ww_status wait_in_queue(struct waiter *waiter, uint64_t deadline_ns)
{
	struct ww_pool *pool = waiter->pool;

	if (ww_list_is_empty(&pool->queue))
		pool->has_come_back = false; /* what has was of no use just now */
	waiter->is_hopeless = false;
	ww_list_append(&pool->queue, &waiter->link);
	pthread_mutex_unlock(&pool->lock);
	(void)ww_await(&pool->wakes, look, waiter, deadline_ns);
	pthread_mutex_lock(&pool->lock);
	if (!waiter->memory)
		(void)serve_first(pool); /* itself too, in its turn; the others look again soon */
	ww_list_remove(&waiter->link);
	if (waiter->memory)
		return WW_OK;
	return ww_pool_cut(pool, waiter->bytes, waiter->alignment, &waiter->memory);
}

/* Under pool->lock. Return: as ww_pool_cut(); WW_TIMED_OUT; WW_CANCELLED. */
static ww_status cut_in_time(struct waiter *waiter, uint64_t timeout_ns)
{
	struct ww_pool *pool = waiter->pool;
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	status = ww_pool_cut(pool, waiter->bytes, waiter->alignment, &waiter->memory);
	while (is_full(status) && is_any_to_come(pool)) {
		ww_status end = ww_cancel_check(deadline_ns);

		status = end == WW_OK ? wait_in_queue(waiter, deadline_ns) : end;
	}
	if (status >= 0)
		ww_error_restore(&record);
	return status;
}

/* @timeout_ns: 0: at once. Return: as ww_pool_alloc(). */
static ww_status alloc(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	uint64_t timeout_ns, ww_memory **out_memory)
{
	struct waiter waiter = {.pool = pool, .bytes = bytes, .alignment = alignment};
	WW_AUTO_REQUEST_LIMIT uint64_t former_ns = ww_request_limit();
	/* While it waits, other threads may release the pool and the last slice. */
	WW_AUTO_POOL struct ww_pool *held = timeout_ns > 0 ? pool : NULL;
	bool is_any_served;
	ww_status status;

	if (held) {
		ww_ref_get(&held->ref);
		ww_request_limit_all(WW_POOL_BRIEFLY);
	}
	ww_try(ww_lock_unless_cancelled(&pool->lock));
	is_any_served = serve_first(pool);
	if (timeout_ns == 0)
		status = ww_pool_cut(pool, bytes, alignment, &waiter.memory);
	else
		status = cut_in_time(&waiter, timeout_ns);
	if (status == WW_NOT_READY)
		status = ww_pool_fail_full(pool, bytes);
	pthread_mutex_unlock(&pool->lock);
	if (is_any_served)
		ww_await_wake(&pool->wakes);
	*out_memory = waiter.memory;
	return status;
}

static ww_status check_alignment(const struct ww_pool *pool, uint64_t alignment)
{
	if (alignment & (alignment - 1))
		return ww_fail(WW_ERR_INVALID,
			"a slice cannot be aligned to %" PRIu64
			" bytes: this is not a power of two",
			alignment);
	if (alignment > pool->chunk_bytes)
		return ww_fail(WW_ERR_INVALID,
			"a slice cannot be aligned to %" PRIu64
			" bytes: the pool's chunks have %" PRIu64,
			alignment, pool->chunk_bytes);
	return WW_OK;
}

ww_status ww_pool_alloc(ww_pool *pool, uint64_t bytes, uint64_t alignment, uint64_t timeout_ns,
	ww_cancel *cancel, ww_memory **out_memory)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(pool && out_memory, "ww_pool_alloc: pool or out_memory is NULL");
	ww_try(ww_pool_check_own(pool, "allocate from"));
	if (bytes == 0)
		return ww_fail(WW_ERR_INVALID, "cannot allocate a slice of 0 bytes");
	ww_try(ww_pool_round_up(bytes, WW_POOL_ALIGNMENT, &bytes));
	ww_try(check_alignment(pool, alignment));
	if (alignment < WW_POOL_ALIGNMENT)
		alignment = WW_POOL_ALIGNMENT;
	ww_memory_reclaim();
	return alloc(pool, bytes, alignment, timeout_ns, out_memory);
}

ww_status ww_pool_release(ww_memory *slice, ww_stream *stream)
{
	ww_try(ww_process_enter());
	ww_require(slice && stream, "ww_pool_release: slice or stream is NULL");
	ww_try(ww_memory_check(slice));
	ww_try(ww_stream_check_order(stream));
	if (slice->class && slice->class->stream_release)
		return slice->class->stream_release(slice, stream);
	return ww_fail(WW_ERR_INVALID,
		"this memory is no slice of a pool; synchronize the stream, then ww_memory_unref()");
}
