/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - the suite `channel`: frames from one process to others
 *
 * Frames pass from process to processes, by channels and by work queues, beside bare shared memory,
 * sockets, pipes and ZeroMQ (channel_carry.c), to and fro between two processes by their CPUs and
 * by their streams (channel_turn.c), and in one process, where what calls cost can be told
 * (channel_calls.c).
 */
#include "bench/channel.h"

#define OURS(part) .series = BENCH_SERIES(BENCH_OURS, part)
#define RAW_FLOOR  .floor = BENCH_SERIES(BENCH_RAW, 0)
#define ROUNDS(which)                                                                       \
	.context = &channel_rounds_kinds[which], .turns = {channel_rounds, channel_rounds}, \
	.open = channel_turn_open_one, .close = channel_turn_close

/* The part of a turn, and its floor. */
#define RAW_CALLS(part) OURS(part), .floor = BENCH_SERIES(BENCH_RAW, part)

#define SLOW(which) RAW_TURNS(channel_slow), .context = &channel_slow_policies[which]

#define RAW_TURNS(what) \
	.turns = {what##_turn, what##_turn}, .open = what##_open, .close = what##_close

#define ENQUEUE(which) \
	RAW_TURNS(channel_enqueue), .context = &channel_enqueue_counts[which], .parts = 2

static const struct bench_case cases[] = {
	{.rows = {{"carry"}}, .run = channel_carry},
	{.rows = {{"one_way.cpu", "us", BENCH_GOAL_ONE_WAY, RAW_FLOOR}},
		ROUNDS(CHANNEL_ROUNDS_CPU)},
	{.rows = {{"one_way.cpu.word", "us", BENCH_GOAL_NONE, RAW_FLOOR}},
		ROUNDS(CHANNEL_ROUNDS_WORD)},
	{.rows = {{"one_way.stream", "us", BENCH_GOAL_ONE_WAY_STREAM, RAW_FLOOR}},
		ROUNDS(CHANNEL_ROUNDS_STREAM)},
	{.rows = {{"cycle.stream", "us", BENCH_GOAL_NONE, RAW_FLOOR}},
		ROUNDS(CHANNEL_ROUNDS_CYCLE)},
	{.rows = {{"cpu_time.64MiB", "ns", BENCH_GOAL_SIZE, RAW_FLOOR}}, RAW_TURNS(channel_size)},
	{.rows = {{"slow.drop_oldest", "ns", BENCH_GOAL_SLOW, RAW_FLOOR}}, SLOW(0)},
	{.rows = {{"slow.latest", "ns", BENCH_GOAL_SLOW, RAW_FLOOR}}, SLOW(1)},
	{.rows = {{"enqueue.publish.x1", "ns", BENCH_GOAL_PUBLISH, RAW_CALLS(0)},
		 {"enqueue.receive.x1", "ns", BENCH_GOAL_PUBLISH, RAW_CALLS(1)}},
		ENQUEUE(0)},
	{.rows = {{"enqueue.publish.x2", "ns", BENCH_GOAL_PUBLISH_2, RAW_CALLS(0)},
		 {"enqueue.receive.x2", "ns", BENCH_GOAL_PUBLISH, RAW_CALLS(1)}},
		ENQUEUE(1)},
	{.rows = {{"enqueue.publish.x4", "ns", BENCH_GOAL_PUBLISH_4, RAW_CALLS(0)},
		 {"enqueue.receive.x4", "ns", BENCH_GOAL_PUBLISH, RAW_CALLS(1)}},
		ENQUEUE(2)},
	{.rows = {{"enqueue.publish.x8", "ns", BENCH_GOAL_PUBLISH_8, RAW_CALLS(0)},
		 {"enqueue.receive.x8", "ns", BENCH_GOAL_PUBLISH, RAW_CALLS(1)}},
		ENQUEUE(3)},
	{.rows = {{"one_way.stream.two_gpus", "us", BENCH_GOAL_ONE_WAY_STREAM, RAW_FLOOR}},
		.context = &channel_rounds_kinds[CHANNEL_ROUNDS_STREAM],
		.turns = {channel_rounds, channel_rounds},
		.is_for_two_gpus = true,
		.open = channel_turn_open_two,
		.close = channel_turn_close},
};

static const struct bench_role roles[] = {
	{"consumer", BENCH_NEED_DEVICE | BENCH_NEED_BROKER, channel_role_carried},
	{"partner", BENCH_NEED_DEVICE | BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
		channel_role_turner},
};

const struct bench_suite bench_channel = {
	.name = "channel",
	.summary = "frames to other processes: rate, latency, cost of calls",
	.needs = BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
	.capabilities = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY,
	.lack = "its streams cannot wait for values in memory of others",
	.board_bytes = CHANNEL_BOARD_BYTES,
	BENCH_LIST(roles, roles, role_count),
	BENCH_LIST(cases, cases, case_count),
};
