/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - what the parts of the suite `pool` share
 *
 * The bench's own process owns a pool; its children import slices. Beside it stand the driver's
 * stream-ordered pool, on a GPU, and the CPU's own allocator.
 */
#ifndef TOOLS_BENCH_POOL_H
#define TOOLS_BENCH_POOL_H

#include "bench/bench.h"

#define POOL_BOARD_BYTES (UINT64_C(2) << 20)

int pool_create(struct bench *bench, uint64_t bytes_max, ww_pool **out_pool);

/* 0; 1: there is no room; -1 after saying what went wrong. */
int pool_cut(ww_pool *pool, uint64_t bytes, ww_memory **out_slice);

/* From process to process, with an answer (pool_hand.c). The turn, before and after it. */
int pool_hand(struct bench *bench, uint64_t out_ns[]);
int pool_hand_open(struct bench *bench);
int pool_hand_close(struct bench *bench);
int pool_role_taker(struct bench *bench, const char *word);

/*
 * Ways beside the slice: nothing but the words; memory of the driver's pool; memory that is mapped
 * already.
 */
enum pool_hand_way {
	POOL_HAND_SLICE,
	POOL_HAND_BARE,
	POOL_HAND_DRIVER,
	POOL_HAND_MAPPED,
	POOL_HAND_END
};

enum pool_hand_part {
	POOL_HAND_WHOLE,
	POOL_HAND_EXPORT,
	POOL_HAND_IMPORT,
	POOL_HAND_RELEASE
};

/* By the million, to many processes (pool_pass.c). */
int pool_pass(struct bench *bench);
int pool_role_reader(struct bench *bench, const char *word);

#endif
