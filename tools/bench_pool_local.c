/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool_local.c - slices within one process: cut and let go of
 *
 * The floor is the driver's own pool on a GPU, whose calls are ordered by a stream, and malloc() on the CPU. A sample is
 * the mean of a batch.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench_pool.h"

#define POOL_BYTES   (UINT64_C(64) << 20)
#define SLICE_BYTES  4096
#define PAIRS        256
#define LIVE         1024
#define RELEASES     64
#define SMALLEST     256
#define LARGEST_STEP 6 /* 256 bytes to 16 KiB */

/* One place for memory of any kind. */
struct place {
	ww_memory *slice;
	ww_CUdeviceptr address;
	void *heap;
};

struct local {
	struct pool_bench *pools;
	ww_pool *pool;
	uint64_t random;
	struct place places[LIVE];
};

static int cut(struct local *local, uint64_t bytes, struct place *place)
{
	if (ww_pool_alloc(local->pool, bytes, 0, &place->slice) != WW_OK)
		return complain_record("cannot cut a slice of %llu bytes",
			(unsigned long long)bytes);
	return 0;
}

static void let_go(struct place *place)
{
	place->slice = ww_memory_unref(place->slice);
}

/* The compiler does not see that nobody uses what malloc() gives. */
static int raw_cut(struct local *local, uint64_t bytes, struct place *place)
{
	const struct pool_bench *pools = local->pools;

	if (pools->has_driver)
		return CUDA_CALL(&pools->cuda, cuMemAllocFromPoolAsync, &place->address, bytes,
			pools->driver_pool, pools->cuda.stream);
	place->heap = malloc(bytes);
	__asm__ volatile("" : : "r"(place->heap) : "memory");
	return place->heap ? 0 : complain("out of memory");
}

static int raw_let_go(struct local *local, struct place *place)
{
	const struct pool_bench *pools = local->pools;
	ww_CUdeviceptr address = place->address;

	place->address = 0;
	if (address)
		return CUDA_CALL(&pools->cuda, cuMemFreeAsync, address, pools->cuda.stream);
	free(place->heap);
	place->heap = NULL;
	return 0;
}

/* The stream of the driver's calls is empty again before the next turn. */
static int settle(const struct local *local)
{
	const struct pool_bench *pools = local->pools;

	if (!pools->has_driver)
		return 0;
	return CUDA_CALL(&pools->cuda, cuStreamSynchronize, pools->cuda.stream);
}

/* --- one after the other --- */

static int pairs(void *context, enum bench_way way, uint64_t *out_ns)
{
	struct local *local = context;
	struct place place = {NULL};
	uint64_t start = link_now_ns();

	for (int i = 0; i < PAIRS; i++) {
		if (way == BENCH_RAW) {
			if (raw_cut(local, SLICE_BYTES, &place) || raw_let_go(local, &place))
				return -1;
			continue;
		}
		if (cut(local, SLICE_BYTES, &place))
			return -1;
		let_go(&place);
	}
	*out_ns = (link_now_ns() - start) / PAIRS;
	return settle(local);
}

/* --- among many, in any order, of any size --- */

static uint64_t choose_bytes(struct local *local)
{
	uint64_t number = pool_random(&local->random);
	uint64_t least = SMALLEST << (number >> 32) % LARGEST_STEP;

	return least + number % least;
}

static int mixed(void *context, enum bench_way way, uint64_t *out_ns)
{
	struct local *local = context;
	uint64_t start = link_now_ns();

	for (int i = 0; i < PAIRS; i++) {
		struct place *place = &local->places[pool_random(&local->random) % LIVE];
		uint64_t bytes = choose_bytes(local);

		if (way == BENCH_RAW) {
			if (raw_let_go(local, place) || raw_cut(local, bytes, place))
				return -1;
			continue;
		}
		let_go(place);
		if (cut(local, bytes, place))
			return -1;
	}
	*out_ns = (link_now_ns() - start) / PAIRS;
	return settle(local);
}

static int fill_places(struct local *local)
{
	for (int i = 0; i < LIVE; i++) {
		uint64_t bytes = choose_bytes(local);

		if (cut(local, bytes, &local->places[i]) ||
			raw_cut(local, bytes, &local->places[i]))
			return -1;
	}
	return 0;
}

static void empty_places(struct local *local)
{
	for (int i = 0; i < LIVE; i++) {
		let_go(&local->places[i]);
		raw_let_go(local, &local->places[i]);
	}
}

/* --- when a stream has come so far --- */

static int our_releases(struct local *local, uint64_t *out_ns)
{
	ww_stream *stream = local->pools->stream;
	uint64_t start;

	for (int i = 0; i < RELEASES; i++) {
		if (cut(local, SLICE_BYTES, &local->places[i]))
			return -1;
	}
	start = link_now_ns();
	for (int i = 0; i < RELEASES; i++) {
		if (ww_pool_release(local->places[i].slice, stream) != WW_OK)
			return complain_record("cannot let go of a slice on a stream");
		local->places[i].slice = NULL;
	}
	*out_ns = (link_now_ns() - start) / RELEASES;
	if (ww_stream_synchronize(stream) != WW_OK)
		return complain_record("cannot wait for a stream");
	return 0;
}

static int raw_releases(struct local *local, uint64_t *out_ns)
{
	uint64_t start;

	*out_ns = 0;
	if (!local->pools->has_driver)
		return 0;
	for (int i = 0; i < RELEASES; i++) {
		if (raw_cut(local, SLICE_BYTES, &local->places[i]))
			return -1;
	}
	if (settle(local))
		return -1;
	start = link_now_ns();
	for (int i = 0; i < RELEASES; i++) {
		if (raw_let_go(local, &local->places[i]))
			return -1;
	}
	*out_ns = (link_now_ns() - start) / RELEASES;
	return settle(local);
}

static int releases(void *context, enum bench_way way, uint64_t *out_ns)
{
	return way == BENCH_RAW ? raw_releases(context, out_ns) : our_releases(context, out_ns);
}

static int measure_all(struct local *local)
{
	struct pool_bench *pools = local->pools;
	int result;

	if (pool_measure(pools, "alloc_free", "ns", pairs, local, true, bench_slice_goal))
		return -1;
	result = fill_places(local);
	if (!result)
		result = pool_measure(pools, "alloc_free.mixed", "ns", mixed, local, true, NULL);
	empty_places(local);
	if (result || settle(local))
		return -1;
	if (!(pools->bench->info.capabilities & WW_CAP_STREAM_VALUE)) {
		say("pool.release.stream is skipped: streams of %s cannot store values in memory",
			pools->bench->info.selector);
		return 0;
	}
	return pool_measure(pools, "release.stream", "ns", releases, local, pools->has_driver,
		NULL);
}

int pool_local(struct pool_bench *pools)
{
	OWN(heap) struct local *local = calloc(1, sizeof(*local));
	int result;

	if (!local)
		return complain("out of memory");
	local->pools = pools;
	local->random = 4711;
	if (pool_create(pools, POOL_BYTES, &local->pool))
		return -1;
	result = measure_all(local);
	empty_places(local);
	ww_pool_unref(local->pool);
	return result;
}
