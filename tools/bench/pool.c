/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - the suite `pool`: slices of memory, allocated, freed and handed to other processes
 *
 * Here are the cases of one process. The floor is the driver's own pool on a GPU, whose calls are
 * ordered by a stream, and malloc() on the CPU. A sample is the mean of a batch.
 */
#include "bench/pool.h"

#include <stdlib.h>

#define POOL_BYTES   (UINT64_C(64) << 20)
#define SLICE_BYTES  4096
#define PAIRS        256
#define LIVE         1024
#define RELEASES     64
#define SMALLEST     256
#define LARGEST_STEP 6 /* 256 bytes to 16 KiB */

int pool_create(struct bench *bench, uint64_t bytes_max, ww_pool **out_pool)
{
	const struct ww_pool_params params = {.struct_size = sizeof(params),
		.bytes_max = bytes_max};

	return bench_expect(ww_pool_create(bench->device, &params, out_pool), "cannot make a pool");
}

int pool_cut(ww_pool *pool, uint64_t bytes, ww_memory **out_slice)
{
	ww_status status = ww_pool_alloc(pool, bytes, 0, 0, NULL, out_slice);

	return status == WW_ERR_LIMIT ? 1 : bench_expect(status, "cannot allocate a slice");
}

/* One place for memory of any kind. */
struct place {
	ww_memory *slice;
	ww_CUdeviceptr address;
	void *heap;
};

struct local {
	ww_pool *pool;
	uint64_t random;
	struct place places[LIVE];
};

/* The compiler does not see that nobody uses what malloc() gives. */
static int place_fill(struct bench *bench, unsigned int way, uint64_t bytes, struct place *place)
{
	const struct local *local = bench->state;

	if (way == BENCH_OURS)
		return pool_cut(local->pool, bytes, &place->slice) ? -1 : 0;
	if (bench->has_pool)
		return CUDA_CALL(&bench->cuda, cuMemAllocFromPoolAsync, &place->address, bytes,
			bench->pool, bench->cuda.stream);
	place->heap = malloc(bytes);
	__asm__ volatile("" : : "r"(place->heap) : "memory");
	return place->heap ? 0 : complain("out of memory");
}

static int place_empty(struct bench *bench, unsigned int way, struct place *place)
{
	ww_CUdeviceptr address = place->address;

	if (way == BENCH_OURS) {
		place->slice = ww_memory_unref(place->slice);
		return 0;
	}
	place->address = 0;
	if (address)
		return CUDA_CALL(&bench->cuda, cuMemFreeAsync, address, bench->cuda.stream);
	free(place->heap);
	place->heap = NULL;
	return 0;
}

/* The stream of the driver's calls is empty again before the next turn. */
static int settle(const struct bench *bench)
{
	if (!bench->has_pool)
		return 0;
	return CUDA_CALL(&bench->cuda, cuStreamSynchronize, bench->cuda.stream);
}

/* --- one after the other --- */

static int alloc_free(struct bench *bench, uint64_t out_ns[])
{
	unsigned int way = bench->way;
	struct place place = {NULL};
	uint64_t at = link_now_ns();

	for (int i = 0; i < PAIRS; i++) {
		if (place_fill(bench, way, SLICE_BYTES, &place) || place_empty(bench, way, &place))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / PAIRS;
	return settle(bench);
}

/* --- among many, in any order, of any size --- */

static uint64_t choose_bytes(uint64_t *random, unsigned int steps)
{
	uint64_t number = bench_random(random);
	uint64_t least = SMALLEST << (number >> 32) % steps;

	return least + number % least;
}

static int mixed(struct bench *bench, uint64_t out_ns[])
{
	struct local *local = bench->state;
	uint64_t at = link_now_ns();

	for (int i = 0; i < PAIRS; i++) {
		struct place *place = &local->places[bench_random(&local->random) % LIVE];
		uint64_t bytes = choose_bytes(&local->random, LARGEST_STEP);

		if (place_empty(bench, bench->way, place) ||
			place_fill(bench, bench->way, bytes, place))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / PAIRS;
	return settle(bench);
}

static int open_local(struct bench *bench)
{
	struct local *local = calloc(1, sizeof(*local));

	if (!local)
		return complain("out of memory");
	local->random = 4711;
	bench->state = local;
	return pool_create(bench, POOL_BYTES, &local->pool);
}

static int open_mixed(struct bench *bench)
{
	struct local *local;

	if (open_local(bench))
		return -1;
	local = bench->state;
	for (int i = 0; i < LIVE; i++) {
		uint64_t bytes = choose_bytes(&local->random, LARGEST_STEP);

		if (place_fill(bench, BENCH_OURS, bytes, &local->places[i]) ||
			place_fill(bench, BENCH_RAW, bytes, &local->places[i]))
			return -1;
	}
	return 0;
}

static int close_local(struct bench *bench)
{
	struct local *local = bench->state;

	bench->state = NULL;
	if (!local)
		return 0;
	for (int i = 0; i < LIVE; i++) {
		place_empty(bench, BENCH_OURS, &local->places[i]);
		place_empty(bench, BENCH_RAW, &local->places[i]);
	}
	ww_pool_unref(local->pool);
	free(local);
	return settle(bench);
}

/* --- when a stream has come so far --- */

static int release_on_stream(struct bench *bench, struct place *place)
{
	if (bench->way == BENCH_RAW)
		return place_empty(bench, BENCH_RAW, place);
	if (ww_pool_release(place->slice, bench->stream) != WW_OK)
		return complain_record("cannot release a slice on a stream");
	place->slice = NULL;
	return 0;
}

static int stream_releases(struct bench *bench, uint64_t out_ns[])
{
	struct local *local = bench->state;
	uint64_t at;

	for (int i = 0; i < RELEASES; i++) {
		if (place_fill(bench, bench->way, SLICE_BYTES, &local->places[i]))
			return -1;
	}
	if (settle(bench))
		return -1;
	at = link_now_ns();
	for (int i = 0; i < RELEASES; i++) {
		if (release_on_stream(bench, &local->places[i]))
			return -1;
	}
	out_ns[0] = bench_lap(&at) / RELEASES;
	if (bench->way == BENCH_RAW)
		return settle(bench);
	return bench_stream_finish(bench->stream);
}

/*
 * --- how much of a pool's room cannot be used after a long and random life ---
 *
 * Slices of any size come and go while about three quarters of the room are used. Now and then none
 * goes any more, until the first slice is refused: what is then unused is lost to fragmentation,
 * and to slices that are larger than what is left.
 */

#define LIFE_STEPS         10 /* 256 bytes to 256 KiB */
#define LIFE_PLACES        (POOL_BYTES / SMALLEST)
#define LIFE_ROUNDS        50
#define LIFE_ROUNDS_QUICK  5
#define LIFE_CHANGES       20000 /* between two refusals */
#define LIFE_CHANGES_QUICK 2000

struct life {
	ww_pool *pool;
	uint64_t random;
	size_t count;
	ww_memory *slices[LIFE_PLACES];
};

/* Return: as pool_cut(). */
static int life_add(struct life *life)
{
	int refused = pool_cut(life->pool, choose_bytes(&life->random, LIFE_STEPS),
		&life->slices[life->count]);

	life->count += refused == 0;
	return refused;
}

static void life_remove(struct life *life)
{
	size_t index = bench_random(&life->random) % life->count;

	ww_memory_unref(life->slices[index]);
	life->slices[index] = life->slices[--life->count];
}

/* As many go as come; after a refusal a quarter has gone first. */
static int life_change(struct life *life, uint64_t changes)
{
	for (size_t i = life->count / 4; i > 0; i--)
		life_remove(life);
	for (uint64_t i = 0; i < changes; i++) {
		int refused;

		if (life->count > 0)
			life_remove(life);
		refused = life_add(life);
		if (refused < 0)
			return -1;
		if (refused && life->count > 0)
			life_remove(life);
	}
	return 0;
}

static int life_fill(struct life *life, uint64_t *out_unused)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);
	int refused;

	do {
		refused = life_add(life);
	} while (refused == 0);
	if (refused < 0 ||
		bench_expect(ww_pool_info_get(life->pool, &info), "cannot ask how the pool is"))
		return -1;
	*out_unused = POOL_BYTES - info.bytes_used;
	return 0;
}

static int life_run(struct bench *bench, struct life *life, struct samples *unused)
{
	uint64_t changes = bench->quick ? LIFE_CHANGES_QUICK : LIFE_CHANGES;
	uint64_t bytes = 0;

	if (pool_create(bench, POOL_BYTES, &life->pool) || life_fill(life, &bytes))
		return -1;
	for (int i = 0; i < (bench->quick ? LIFE_ROUNDS_QUICK : LIFE_ROUNDS); i++) {
		if (life_change(life, changes) || life_fill(life, &bytes) ||
			samples_add(unused, bytes))
			return -1;
	}
	return 0;
}

static int fragmentation(struct bench *bench)
{
	static const struct bench_row row = {"unused", "%"};
	OWN(samples) struct samples unused = {0};
	struct life *life = calloc(1, sizeof(*life));
	int result;

	if (!life)
		return complain("out of memory");
	life->random = 815;
	result = life_run(bench, life, &unused);
	while (life->count > 0)
		ww_memory_unref(life->slices[--life->count]);
	ww_pool_unref(life->pool);
	free(life);
	/*
	 * The series is of bytes, of which results show a thousandth: so make them thousandths of a
	 * percent.
	 */
	for (size_t i = 0; i < unused.count; i++)
		unused.ns[i] = (uint64_t)((double)unused.ns[i] * 100e3 / (double)POOL_BYTES);
	if (result)
		return -1;
	say("after a long life of slices of any size up to 256 KiB, %.1f %% of the room are used when "
	    "the first is refused, %.1f %% at worst",
		100 - samples_percentile_us(&unused, 50), 100 - samples_percentile_us(&unused, 99));
	return bench_add_series(bench, &row, &unused, NULL);
}

#define DRIVER(part) BENCH_SERIES(POOL_HAND_DRIVER, part)
#define SLICE(part)  BENCH_SERIES(POOL_HAND_SLICE, part)

static const struct bench_case cases[] = {
	{.rows = {{"alloc_free", "ns", BENCH_GOAL_SLICE, .floor = BENCH_SERIES(BENCH_RAW, 0)}},
		.turns = {alloc_free, alloc_free},
		.open = open_local,
		.close = close_local},
	{.rows = {{"alloc_free.mixed", "ns", .floor = BENCH_SERIES(BENCH_RAW, 0)}},
		.turns = {mixed, mixed},
		.open = open_mixed,
		.close = close_local},
	{.rows = {{"release.stream", "ns", .floor = BENCH_SERIES(BENCH_RAW, 0)}},
		.capabilities = WW_CAP_STREAM_VALUE,
		.lack = "its streams cannot store values in memory",
		.turns = {stream_releases, stream_releases},
		.pool_ways = 1 << BENCH_RAW,
		.open = open_local,
		.close = close_local},
	{.rows = {{"unused"}}, .run = fragmentation},
	{.rows = {{"hand_over", "us", BENCH_GOAL_HAND_OVER,
			  .floor = BENCH_SERIES(POOL_HAND_BARE, POOL_HAND_WHOLE)},
		 {"hand_over.driver", "us", .floor = DRIVER(POOL_HAND_WHOLE),
			 .is_with_floor = true},
		 {"export", "ns", .series = SLICE(POOL_HAND_EXPORT),
			 .floor = DRIVER(POOL_HAND_EXPORT)},
		 {"import", "ns", .series = SLICE(POOL_HAND_IMPORT),
			 .floor = DRIVER(POOL_HAND_IMPORT)},
		 {"release", "ns", .series = SLICE(POOL_HAND_RELEASE),
			 .floor = DRIVER(POOL_HAND_RELEASE)},
		 {"import_mapped", "us", BENCH_GOAL_MAPPED,
			 .series = BENCH_SERIES(POOL_HAND_MAPPED, POOL_HAND_IMPORT)}},
		.turns = {pool_hand, pool_hand, pool_hand, pool_hand},
		.parts = 4,
		.pool_ways = 1 << POOL_HAND_DRIVER,
		.warm_up = 20,
		.factor = 50,
		.open = pool_hand_open,
		.close = pool_hand_close},
	{.rows = {{"pass"}}, .run = pool_pass},
};

static const struct bench_role roles[] = {
	{"taker", BENCH_NEED_DEVICE | BENCH_NEED_CUDA | BENCH_NEED_POOL | BENCH_NEED_BROKER,
		pool_role_taker},
	{"reader", BENCH_NEED_DEVICE | BENCH_NEED_BROKER, pool_role_reader},
};

const struct bench_suite bench_pool = {
	.name = "pool",
	.summary = "slices: allocated, freed, handed to other processes, by the million",
	.needs = BENCH_NEED_CUDA | BENCH_NEED_POOL | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
	.board_bytes = POOL_BOARD_BYTES,
	BENCH_LIST(roles, roles, role_count),
	BENCH_LIST(cases, cases, case_count),
};
