/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool_fragment.c - how much of a pool's room cannot be used after a long and random life
 *
 * Slices of any size come and go while about three quarters of the room are used. Now and then nothing goes any
 * more, until the first slice is refused: what is then unused is lost to fragmentation, and to slices that are larger than
 * what is left.
 */
#include <stdlib.h>

#include "bench_pool.h"

#define ROOM_BYTES    (UINT64_C(64) << 20)
#define SMALLEST      256
#define LARGEST_STEP  10 /* 256 bytes to 256 KiB */
#define PLACES        (ROOM_BYTES / SMALLEST)
#define ROUNDS        50
#define ROUNDS_QUICK  5
#define CHANGES       20000 /* between two refusals */
#define CHANGES_QUICK 2000

struct life {
	const struct pool_bench *pools;
	ww_pool *pool;
	uint64_t random;
	uint64_t changes;
	size_t count;
	ww_memory *slices[PLACES];
};

static void end_life(struct life *life)
{
	while (life->count > 0)
		ww_memory_unref(life->slices[--life->count]);
	ww_pool_unref(life->pool);
	free(life);
}

/* Return: 0; 1: refused for want of room; -1 after saying what went wrong. */
static int come(struct life *life)
{
	uint64_t number = pool_random(&life->random);
	uint64_t least = SMALLEST << (number >> 32) % LARGEST_STEP;
	ww_status status = ww_pool_alloc(life->pool, least + number % least, 0,
		&life->slices[life->count]);

	if (status == WW_ERR_LIMIT)
		return 1;
	if (status != WW_OK)
		return complain_record("cannot cut a slice");
	life->count++;
	return 0;
}

static void go(struct life *life)
{
	size_t index = pool_random(&life->random) % life->count;

	ww_memory_unref(life->slices[index]);
	life->slices[index] = life->slices[--life->count];
}

static int get_used(const struct life *life, uint64_t *out_bytes)
{
	struct ww_pool_info info = {.size = sizeof(info)};

	if (ww_pool_info_get(life->pool, &info) != WW_OK)
		return complain_record("cannot ask how the pool is");
	*out_bytes = info.bytes_used;
	return 0;
}

/* As many go as come; after a refusal a quarter has gone first. */
static int live(struct life *life)
{
	for (size_t i = life->count / 4; i > 0; i--)
		go(life);
	for (uint64_t i = 0; i < life->changes; i++) {
		int refused;

		if (life->count > 0)
			go(life);
		refused = come(life);
		if (refused < 0)
			return -1;
		if (refused && life->count > 0)
			go(life);
	}
	return 0;
}

static int fill(struct life *life, uint64_t *out_unused)
{
	uint64_t used = 0;
	int refused;

	do {
		refused = come(life);
	} while (refused == 0);
	if (refused < 0 || get_used(life, &used))
		return -1;
	*out_unused = ROOM_BYTES - used;
	return 0;
}

static int add(struct pool_bench *pools, struct samples *unused)
{
	double percent = 100e3 / (double)ROOM_BYTES; /* the series counts in thousandths */
	struct bench_result result = {
		.name = "pool.unused",
		.unit = "%",
		.p50 = samples_percentile_us(unused, 50) * percent,
		.p99 = samples_percentile_us(unused, 99) * percent,
		.floor_p50 = BENCH_NONE,
		.goal = BENCH_NONE,
	};

	say("after a long life of slices of any size up to 256 KiB, %.1f %% of the room are used when "
	    "the first is refused, %.1f %% at worst",
		100 - result.p50, 100 - result.p99);
	return bench_add_result(pools->bench, &result);
}

int pool_fragmentation(struct pool_bench *pools)
{
	bool quick = pools->bench->quick;
	OWN(samples) struct samples unused = {0};
	struct life *life = calloc(1, sizeof(*life));
	uint64_t bytes = 0;
	int result;

	if (!life)
		return complain("out of memory");
	life->pools = pools;
	life->random = 815;
	life->changes = quick ? CHANGES_QUICK : CHANGES;
	result = pool_create(pools, ROOM_BYTES, &life->pool);
	if (!result)
		result = fill(life, &bytes);
	for (int i = 0; i < (quick ? ROUNDS_QUICK : ROUNDS) && !result; i++)
		result = live(life) || fill(life, &bytes) || samples_add(&unused, bytes);
	end_life(life);
	return result ? complain("measuring pool.unused failed") : add(pools, &unused);
}
