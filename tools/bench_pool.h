/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_pool.h - what the parts of the group `pool` share
 *
 * The verb's own process owns a pool; its children import slices. Beside it stand the driver's stream-ordered pool, on a
 * GPU, and the CPU's own allocator.
 */
#ifndef TOOLS_BENCH_POOL_H
#define TOOLS_BENCH_POOL_H

#include "bench.h"
#include "broker.h"
#include "mail.h"
#include "nest.h"
#include "plain_cuda.h"

#define POOL_ANSWER_NS (UINT64_C(120) * 1000000000)

struct pool_bench {
	struct bench *bench;
	struct nest nest;
	ww_broker *broker;
	ww_stream *stream;

	/* On a GPU whose pools can be shared. */
	bool has_driver;
	struct cuda cuda;
	ww_CUmemoryPool driver_pool;
	int driver_fd; /* -1: none */
};

/* All of these return 0, or -1 after saying what went wrong. */

/* The parts: in one process; from process to process; by the million. */
int pool_local(struct pool_bench *pools);
int pool_fragmentation(struct pool_bench *pools);
int pool_hand(struct pool_bench *pools);
int pool_crowd(struct pool_bench *pools);

/* What their children do. They find shared memory at LINK_FD + 1. */
int pool_role_taker(const char *selector, const char *address, const char *word);
int pool_role_reader(const char *selector, const char *address, const char *word);

/* What a child begins with; the caller lets go of both. */
int pool_child_open(const char *selector, const char *address, ww_device **out_device,
	ww_broker **out_broker);

int pool_create(const struct pool_bench *pools, uint64_t bytes_max, ww_pool **out_pool);

/* Measures turns and adds the result as pool.@name. @has_floor: the raw way did something */
int pool_measure(struct pool_bench *pools, const char *name, const char *unit, bench_turn turn,
	void *context, bool has_floor, bench_goal *goal);

int pool_add(struct pool_bench *pools, const char *name, const char *unit, struct samples *ours,
	struct samples *floor, bench_goal *goal);

/* A result that is one number. */
int pool_add_number(struct pool_bench *pools, const char *name, const char *unit, double number,
	double floor);

/* The next of a series of numbers without a pattern; @state: any but 0. */
uint64_t pool_random(uint64_t *state);

static inline void own_pool(ww_pool **pool)
{
	ww_pool_unref(*pool);
}

#endif
