/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool.c - the group `pool`: slices of memory, cut, let go of and handed to other processes
 *
 * Its parts run one after the other, each with a pool of its own, over one broker of the bench's own.
 */
#include "bench_pool.h"

#include <stdio.h>
#include <string.h>

/* A broker that was left behind by a kill goes soon. */
static const char settings[] = "[broker]\n"
			       "idle_s = 1\n";

int pool_create(const struct pool_bench *pools, uint64_t bytes_max, ww_pool **out_pool)
{
	const struct ww_pool_params params = {.size = sizeof(params), .bytes_max = bytes_max};

	if (ww_pool_create(pools->bench->device, &params, out_pool) != WW_OK)
		return complain_record("cannot make a pool");
	return 0;
}

int pool_add(struct pool_bench *pools, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal)
{
	char full[BENCH_NAME_BYTES];

	snprintf(full, sizeof(full), "pool.%s", name);
	return bench_add_in(pools->bench, full, unit, ours, floor, goal);
}

int pool_add_number(struct pool_bench *pools, const char *name, const char *unit, double number,
	double floor)
{
	struct bench_result result = {
		.unit = unit,
		.p50 = number,
		.p99 = BENCH_NONE,
		.floor_p50 = floor,
		.goal = BENCH_NONE,
	};

	snprintf(result.name, sizeof(result.name), "pool.%s", name);
	return bench_add_result(pools->bench, &result);
}

int pool_measure(struct pool_bench *pools, const char *name, const char *unit, bench_turn turn,
	void *context, bool has_floor, bench_goal *goal)
{
	struct samples samples[BENCH_WAYS] = {{0}, {0}};
	int result = bench_measure(pools->bench, turn, context, samples);

	if (!result)
		result = pool_add(pools, name, unit, &samples[BENCH_OURS],
			has_floor ? &samples[BENCH_RAW] : NULL, goal);
	samples_fini(&samples[BENCH_OURS]);
	samples_fini(&samples[BENCH_RAW]);
	return result ? complain("measuring pool.%s failed", name) : 0;
}

uint64_t pool_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int open_driver(struct pool_bench *pools)
{
	const struct ww_device_info *info = &pools->bench->info;

	if (info->backend != WW_BACKEND_CUDA)
		return 0;
	if (cuda_open(&pools->cuda, info->index))
		return -1;
	if (!cuda_has_pools(&pools->cuda)) {
		say("no floor by the driver's pools: those of %s cannot be shared", info->selector);
		return 0;
	}
	pools->has_driver = true;
	return cuda_pool_create(&pools->cuda, &pools->driver_pool, &pools->driver_fd);
}

static int open_pools(struct pool_bench *pools)
{
	struct ww_broker_params params = {.size = sizeof(params), .flags = WW_BROKER_NO_START};

	if (open_driver(pools) || nest_open(&pools->nest, settings))
		return -1;
	params.address = pools->nest.address;
	if (ww_broker_open(&params, &pools->broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	if (ww_stream_create(pools->bench->device, &pools->stream) != WW_OK)
		return complain_record("cannot make a stream");
	return 0;
}

static void own_pools(struct pool_bench *pools)
{
	ww_stream_unref(pools->stream);
	ww_broker_unref(pools->broker);
	nest_close(&pools->nest);
	if (pools->driver_pool)
		pools->cuda.cuMemPoolDestroy(pools->driver_pool);
	own_fd(&pools->driver_fd);
	cuda_close(&pools->cuda);
}

int bench_pool(struct bench *bench)
{
	static int (*const parts[])(struct pool_bench * pools) = {
		pool_local,
		pool_fragmentation,
		pool_hand,
		pool_crowd,
	};
	OWN(pools) struct pool_bench pools = {.bench = bench, .nest = NEST_NONE, .driver_fd = -1};

	if (open_pools(&pools))
		return -1;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](&pools))
			return -1;
	}
	return 0;
}

/* --- the children --- */

int pool_child_open(const char *selector, const char *address, ww_device **out_device,
	ww_broker **out_broker)
{
	const struct ww_broker_params params = {
		.size = sizeof(params),
		.flags = WW_BROKER_NO_START,
		.address = address,
	};

	if (ww_device_open(selector, out_device) != WW_OK)
		return complain_record("cannot open device %s", selector);
	if (ww_broker_open(&params, out_broker) != WW_OK)
		return complain_record("cannot connect to the broker");
	return 0;
}

int bench_pool_child(int argc, char *argv[])
{
	static const struct {
		const char *name;
		int (*run)(const char *selector, const char *address, const char *word);
	} roles[] = {
		{"taker", pool_role_taker},
		{"reader", pool_role_reader},
	};

	for (size_t i = 0; argc == 5 && i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(argv[1], roles[i].name))
			return roles[i].run(argv[2], argv[3], argv[4]) ? EXIT_FAILED : EXIT_DONE;
	}
	return refuse("this verb is for processes that `warpway bench` starts itself");
}
