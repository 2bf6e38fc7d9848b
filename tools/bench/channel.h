/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - what the parts of the suite `channel` share
 *
 * A frame begins with a head of 64 bytes, which the producer writes and every consumer checks: its
 * number, and words made of it. The rest of a frame is neither written nor read: it is in place, or
 * was copied by who carries it.
 */
#ifndef TOOLS_BENCH_CHANNEL_H
#define TOOLS_BENCH_CHANNEL_H

#include "bench/bench.h"

#define CHANNEL_CONSUMERS   8 /* at most */
#define CHANNEL_BOARD_BYTES (UINT64_C(128) << 10)
#define CHANNEL_HEAD        8 /* words */
#define CHANNEL_SPREAD      UINT64_C(0x9e3779b97f4a7c15)

/* Words of a head; those behind are made of the number. */
enum channel_head_word {
	CHANNEL_HEAD_NUMBER,
	CHANNEL_HEAD_SENT_NS, /* 0: its latency is not measured */
	CHANNEL_HEAD_ASKS,    /* not 0: the consumer says that it has it */
	CHANNEL_HEAD_ENDS,    /* not 0: it is the last */
	CHANNEL_HEAD_MADE
};

static inline void channel_head_make(uint64_t head[CHANNEL_HEAD], uint64_t number)
{
	head[CHANNEL_HEAD_NUMBER] = number;
	for (uint64_t i = CHANNEL_HEAD_MADE; i < CHANNEL_HEAD; i++)
		head[i] = number + i * CHANNEL_SPREAD;
}

static inline bool channel_head_is(const uint64_t head[CHANNEL_HEAD], uint64_t number)
{
	bool is_right = head[CHANNEL_HEAD_NUMBER] == number;

	for (uint64_t i = CHANNEL_HEAD_MADE; i < CHANNEL_HEAD; i++)
		is_right &= head[i] == number + i * CHANNEL_SPREAD;
	return is_right;
}

/* A channel whose frames the CPU reaches. Return: 0, or -1 after saying what went wrong. */
int channel_create(struct bench *bench, const char *name, const struct ww_channel_params *params,
	ww_channel **out_channel);
int channel_get(struct bench *bench, const char *name, ww_channel **out_channel);

/* The kind of memory that the CPU reaches. */
uint32_t channel_cpu_kind(const struct bench *bench);

/* From process to processes, beside other ways (channel_carry.c). */
int channel_carry(struct bench *bench);
int channel_role_carried(struct bench *bench, const char *word);

/* To and fro between two processes (channel_turn.c): turns, and the part of the other process. */
int channel_rounds(struct bench *bench, uint64_t out_ns[]);
int channel_turn_open_one(struct bench *bench);
int channel_turn_open_two(struct bench *bench);
int channel_turn_close(struct bench *bench);
int channel_role_turner(struct bench *bench, const char *word);

enum channel_rounds_kind {
	CHANNEL_ROUNDS_CPU,
	CHANNEL_ROUNDS_WORD, /* as by the CPU; its floor carries nothing */
	CHANNEL_ROUNDS_STREAM,
	CHANNEL_ROUNDS_CYCLE,
	CHANNEL_ROUNDS_KINDS
};

extern const enum channel_rounds_kind channel_rounds_kinds[CHANNEL_ROUNDS_KINDS];

/* What calls cost in one process (channel_calls.c). */
int channel_size_turn(struct bench *bench, uint64_t out_ns[]);
int channel_size_open(struct bench *bench);
int channel_size_close(struct bench *bench);

int channel_slow_turn(struct bench *bench, uint64_t out_ns[]);
int channel_slow_open(struct bench *bench);
int channel_slow_close(struct bench *bench);
extern const uint32_t channel_slow_policies[2]; /* contexts */

int channel_enqueue_turn(struct bench *bench, uint64_t out_ns[]);
int channel_enqueue_open(struct bench *bench);
int channel_enqueue_close(struct bench *bench);
extern const unsigned int channel_enqueue_counts[4]; /* contexts */

#endif
