/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - what the parts of the suite `calls` share
 *
 * A child is the server, with functions that do little or nothing, and beside them a thread for
 * each socket that it is given: it reads as many bytes as a message has, and writes them back.
 */
#ifndef TOOLS_BENCH_CALLS_H
#define TOOLS_BENCH_CALLS_H

#include "bench/bench.h"
#include "bench/channel.h"

#define CALLS_CLIENTS       64 /* at most, that call */
#define CALLS_MESSAGE_BYTES 64 /* of a request without arguments, and of its answer */
#define CALLS_IN_FLIGHT     64
#define CALLS_BATCH         50 /* calls that follow each other */
#define CALLS_SERVICE       "bench"
#define CALLS_IDLE_SERVICE  "bench_idle" /* the one that idle clients have */

/* Functions, by their order in the server. */
enum calls_function {
	CALLS_NOP,
	CALLS_TOUCH, /* u8[*] x write: asks where the array is */
	CALLS_FILL,  /* u8[*] x write, u8 value: by its stream, CALLS_MESSAGE_BYTES of it */
	CALLS_FUNCTIONS
};

extern const char *const calls_names[CALLS_FUNCTIONS];

/* A client of one of the services, and what it calls. */
struct calls_client {
	ww_client *client;
	uint32_t functions[CALLS_FUNCTIONS];
};

int calls_client_open(struct bench *bench, const char *service, struct calls_client *out_client);
void calls_client_close(struct calls_client *client);

/* The server (calls_server.c). @word: name of the service */
int calls_role_server(struct bench *bench, const char *word);

/* Idle clients. @word: how many */
int calls_role_crowd(struct bench *bench, const char *word);

/* Starts a child and waits until it is ready. @out_child: the caller's, also on failure */
int calls_start(struct bench *bench, const char *role, const char *word, struct child *out_child);

/* What client processes take of a GPU's memory, beside processes with a context each. */
int calls_gpu_memory(struct bench *bench);
int calls_role_caller(struct bench *bench, const char *word);
int calls_role_context(struct bench *bench, const char *word);

/*
 * Turns (calls_turn.c). calls_close() closes what any of these opens has opened.
 * calls_open_with: a client, and an array of so many bytes
 */
int calls_open(struct bench *bench);
int calls_open_with(struct bench *bench, uint64_t bytes);
int calls_close(struct bench *bench);
bench_turn calls_empty_spin, calls_empty_asleep, calls_empty_bare_spin, calls_empty_bare_asleep;
bench_turn calls_rate, calls_rate_bare;
bench_turn calls_chain, calls_chain_bare;

/* Two parts: a call and the wait of an own stream for it; the latter alone. */
int calls_stream_open(struct bench *bench);
bench_turn calls_stream, calls_stream_bare;

int calls_array_open(struct bench *bench);
bench_turn calls_array, calls_array_token, calls_array_copied;
extern const uint64_t calls_array_bytes[2]; /* contexts */

/* Ways to call that are not ours (calls_peer.c). Three parts: empty, a token, 16 MiB of bytes. */
extern const struct calls_peer calls_grpc, calls_grpc_python, calls_multiprocessing; /* contexts */
int calls_peer_open(struct bench *bench);
int calls_peer_close(struct bench *bench);
bench_turn calls_beside_peer, calls_by_peer;

int calls_crowd_open(struct bench *bench);
bench_turn calls_crowd;

int calls_many_open(struct bench *bench);
bench_turn calls_many, calls_many_bare;
extern const unsigned int calls_many_counts[4]; /* contexts */

/*
 * Two take turns with a fill each of one array: two lanes, ordered by dependency; two clients,
 * ordered by replies. channel_rounds() is the floor: streams of two processes.
 */
int calls_take_turns_open(struct bench *bench);
int calls_take_turns_close(struct bench *bench);
bench_turn calls_lanes, calls_replies;

#endif
