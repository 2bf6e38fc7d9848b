/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the suite `calls`: functions of another process
 *
 * Calls of functions that do next to nothing, beside bare Unix sockets that carry as many bytes to
 * and fro between the same processes (calls_turn.c). So what is measured is the way to the function
 * and back.
 */
#include "bench/calls.h"

#define RAW_FLOOR    .floor = BENCH_SERIES(BENCH_RAW, 0)
#define COPIED       2 /* a way: the array's bytes themselves */
#define COPIED_FLOOR .floor = BENCH_SERIES(COPIED, 0)
#define REPLIES      2 /* a way: turns of two clients */
#define TURNS(...)   .turns = {__VA_ARGS__}, .open = calls_open, .close = calls_close
#define ARRAY(which)                                                   \
	.turns = {calls_array, calls_array_token, calls_array_copied}, \
	.context = &calls_array_bytes[which], .open = calls_array_open, .close = calls_close
#define MANY(which)                                                                   \
	.turns = {calls_many, calls_many_bare}, .context = &calls_many_counts[which], \
	.open = calls_many_open, .close = calls_close

/* How ours compare with a peer's, and the peer's own figures. */
#define PEER(name, call, goal_of_ours, part)                                                  \
	{call ".beside_" name, "us", goal_of_ours, .series = BENCH_SERIES(BENCH_OURS, part),  \
		.floor = BENCH_SERIES(BENCH_RAW, part)},                                      \
	{                                                                                     \
		call "." name, "us", BENCH_GOAL_NONE, .series = BENCH_SERIES(BENCH_RAW, part) \
	}
#define PEERS(name, which, goal_of_ours)                                                           \
	.rows = {PEER(name, "empty", goal_of_ours, 0), PEER(name, "array.16MiB", goal_of_ours, 1), \
		PEER(name, "array.16MiB.copied", goal_of_ours, 2)},                                \
	.turns = {calls_beside_peer, calls_by_peer}, .parts = 3, .context = &(which),              \
	.open = calls_peer_open, .close = calls_peer_close

static const struct bench_case cases[] = {
	{.rows = {{"empty.awake", "us", BENCH_GOAL_CALL, RAW_FLOOR}},
		TURNS(calls_empty_spin, calls_empty_bare_spin)},
	{.rows = {{"empty.asleep", "us", BENCH_GOAL_CALL_ASLEEP, RAW_FLOOR}},
		TURNS(calls_empty_asleep, calls_empty_bare_asleep)},
	{.rows = {{"in_flight.x64", "ns", BENCH_GOAL_CALL_RATE, RAW_FLOOR}},
		TURNS(calls_rate, calls_rate_bare)},
	{.rows = {{"array.64B", "us", BENCH_GOAL_NONE, RAW_FLOOR},
		 {"array.64B.copied", "us", BENCH_GOAL_NONE, COPIED_FLOOR}},
		ARRAY(0)},
	{.rows = {{"array.16MiB", "us", BENCH_GOAL_NONE, RAW_FLOOR},
		 {"array.16MiB.copied", "us", BENCH_GOAL_NONE, COPIED_FLOOR}},
		ARRAY(1)},
	{PEERS("grpc", calls_grpc, BENCH_GOAL_PEER)},
	{PEERS("grpc_python", calls_grpc_python, BENCH_GOAL_NONE)},
	{PEERS("multiprocessing", calls_multiprocessing, BENCH_GOAL_NONE)},
	{.rows = {{"stream.call", "us", BENCH_GOAL_CALL_STREAM, RAW_FLOOR},
		 {"stream.wait", "us", BENCH_GOAL_CALL_WAIT,
			 .series = BENCH_SERIES(BENCH_OURS, 1)}},
		.turns = {calls_stream, calls_stream_bare},
		.parts = 2,
		.open = calls_stream_open,
		.close = calls_close},
	{.rows = {{"chain.x100", "us", BENCH_GOAL_NONE, RAW_FLOOR}},
		TURNS(calls_chain, calls_chain_bare)},
	{.rows = {{"clients.x1", "ns", BENCH_GOAL_NONE, RAW_FLOOR}}, MANY(0)},
	{.rows = {{"clients.x4", "ns", BENCH_GOAL_NONE, RAW_FLOOR}}, MANY(1)},
	{.rows = {{"clients.x16", "ns", BENCH_GOAL_NONE, RAW_FLOOR}}, MANY(2)},
	{.rows = {{"clients.x64", "ns", BENCH_GOAL_NONE, RAW_FLOOR}}, MANY(3)},
	{.rows = {{"idle.awake", "us", BENCH_GOAL_IDLE, RAW_FLOOR},
		 {"idle.asleep", "us", BENCH_GOAL_IDLE, .series = BENCH_SERIES(BENCH_OURS, 1),
			 .floor = BENCH_SERIES(BENCH_RAW, 1)}},
		.turns = {calls_crowd, calls_crowd},
		.parts = 2,
		.open = calls_crowd_open,
		.close = calls_close},
	{.run = calls_gpu_memory},
	{.rows = {{"turn.lanes", "us", BENCH_GOAL_TURN, RAW_FLOOR},
		 {"turn.clients", "us", BENCH_GOAL_TURN, .series = BENCH_SERIES(REPLIES, 0),
			 RAW_FLOOR}},
		.turns = {calls_lanes, channel_rounds, calls_replies},
		.context = &channel_rounds_kinds[CHANNEL_ROUNDS_STREAM],
		.open = calls_take_turns_open,
		.close = calls_take_turns_close},
};

static const struct bench_role roles[] = {
	{"server", BENCH_NEED_DEVICE | BENCH_NEED_BROKER, calls_role_server},
	{"crowd", BENCH_NEED_BROKER, calls_role_crowd},
	{"caller", BENCH_NEED_BROKER, calls_role_caller},
	{"context", BENCH_NEED_DEVICE | BENCH_NEED_RAW, calls_role_context},
	{"partner", BENCH_NEED_DEVICE | BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
		channel_role_turner},
};

const struct bench_suite bench_calls = {
	.name = "calls",
	.summary = "functions of another process: round trips, rates, turns",
	.needs = BENCH_NEED_RAW | BENCH_NEED_BROKER | BENCH_NEED_STREAM,
	.capabilities = WW_CAP_STREAM_VALUE | WW_CAP_HOST_READ_ONLY,
	.lack = "its streams cannot signal values to other processes",
	.board_bytes = CHANNEL_BOARD_BYTES,
	BENCH_LIST(roles, roles, role_count),
	BENCH_LIST(cases, cases, case_count),
};
