/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_thread.c - many threads use one pool, in one process and in two
 *
 * A slice says itself what must be in it: its pattern begins with its number, which no other slice
 * ever has.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "integration/pool.h"

#define THREADS 8
#define PAIRS   4
#define ROUNDS  300

static uint32_t seed_of(const struct ww_token *token)
{
	struct ww_token_info info = WW_INIT(struct ww_token_info);

	MUST_OK(ww_token_info_get(token, &info));
	MUST(info.slice != 0);
	return (uint32_t)(info.slice ^ info.slice >> 20);
}

static uint32_t draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* A slice with its pattern, and a token for it. */
static ww_memory *make(ww_pool *pool, uint32_t *random, struct ww_token *out_token)
{
	ww_memory *slice;

	MUST_OK(ww_pool_alloc(pool, 1 + draw(random) % (16 * KIB), 0, 0, NULL, &slice));
	*out_token = slice_token(slice, WW_ACCESS_WRITE);
	pattern_write(slice, seed_of(out_token));
	return slice;
}

struct worker {
	pthread_t thread;
	ww_pool *pool;
	ww_stream *stream;
	uint32_t random;
};

/* Allocates, exports, imports, and lets go, sometimes by a stream, in either order. */
static void *work(void *context)
{
	struct worker *worker = context;

	for (int i = 0; i < ROUNDS; i++) {
		struct ww_token token;
		ww_memory *slice = make(worker->pool, &worker->random, &token);
		ww_memory *again;

		if (i % 3 == 0)
			slice = ww_memory_unref(slice);
		MUST_OK(scene_import(&token, WW_ACCESS_WRITE, &again));
		pattern_verify(again, seed_of(&token));
		if (i % 2 == 0 || !worker->stream)
			ww_memory_unref(again);
		else
			MUST_OK(ww_pool_release(again, worker->stream));
		ww_memory_unref(slice);
	}
	return NULL;
}

SCENE_CASE(threads_in_one_process, 0)
{
	struct worker workers[THREADS];
	bool has_values = device_info(scene.device).capabilities & WW_CAP_STREAM_VALUE;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 4 * CHUNK, 0);

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){
			.pool = pool,
			.stream = has_values ? stream_make(scene.device) : NULL,
			.random = i,
		};
		MUST_EQUAL(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		MUST_EQUAL(0, pthread_join(workers[i].thread, NULL));
		if (workers[i].stream)
			MUST_OK(ww_stream_synchronize(workers[i].stream, WW_FOREVER, NULL));
		ww_stream_unref(workers[i].stream);
	}
	pool_must_be(pool, 0, 0);
	MUST_EQUAL(THREADS * ROUNDS, pool_info(pool).allocations);
}

/* --- two processes --- */

struct sender {
	pthread_t thread;
	ww_pool *pool;
	int socket;
	uint32_t random;
};

static void *send_slices(void *context)
{
	struct sender *sender = context;

	for (int i = 0; i < ROUNDS; i++) {
		struct ww_token token;
		ww_memory *slice = make(sender->pool, &sender->random, &token);

		if (i % 2)
			slice = ww_memory_unref(slice);
		MUST_EQUAL(sizeof(token), send(sender->socket, &token, sizeof(token), 0));
		ww_memory_unref(slice);
	}
	return NULL;
}

static ww_device *device;
static ww_broker *broker;

/* Takes tokens until there are no more; holds a few slices at a time. */
static void *receive_slices(void *unused)
{
	ww_memory *held[8] = {NULL};
	uint32_t seeds[8] = {0};
	struct ww_token token;
	uint32_t next = 0;

	while (recv(CHILD_SOCKET, &token, sizeof(token), 0) == sizeof(token)) {
		uint32_t at = next++ % CHECK_COUNT(held);

		if (held[at])
			pattern_verify(held[at], seeds[at]);
		held[at] = ww_memory_unref(held[at]);
		MUST_OK(ww_memory_import(device, broker, &token, NULL, NULL, &held[at], NULL));
		seeds[at] = seed_of(&token);
		pattern_verify(held[at], seeds[at]);
	}
	for (size_t i = 0; i < CHECK_COUNT(held); i++)
		ww_memory_unref(held[i]);
	return unused;
}

ROLE(pool_threads)
{
	pthread_t threads[PAIRS];

	device = subject_open();
	MUST_OK(broker_open_patient(NULL, &broker));
	for (int i = 0; i < PAIRS; i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, receive_slices, NULL));
	for (int i = 0; i < PAIRS; i++)
		MUST_EQUAL(0, pthread_join(threads[i], NULL));
	ww_broker_unref(broker);
	ww_device_unref(device);
}

SCENE_CASE(threads_in_two, 0)
{
	const struct child_options packets = {.type = SOCK_SEQPACKET};
	struct sender senders[PAIRS];
	struct child receiver;
	OWN(pool) ww_pool *pool = pool_make(scene.device, 4 * CHUNK, 0);

	child_start(&receiver, "pool_threads", &packets);
	for (uint32_t i = 0; i < PAIRS; i++) {
		senders[i] = (struct sender){
			.pool = pool,
			.socket = receiver.socket,
			.random = i + 100,
		};
		MUST_EQUAL(0, pthread_create(&senders[i].thread, NULL, send_slices, &senders[i]));
	}
	for (int i = 0; i < PAIRS; i++)
		MUST_EQUAL(0, pthread_join(senders[i].thread, NULL));
	MUST_CALL(shutdown(receiver.socket, SHUT_WR));
	child_finish(&receiver);
	pool_comes_to(pool, 0, 0);
	MUST_EQUAL(PAIRS * ROUNDS, pool_info(pool).allocations);
}

/* --- the same slice, by all threads of a process --- */

static struct ww_token shared_token;

/* While one has it there is one memory, whoever lets go of it meanwhile, and however. */
static void *import_and_let_go(void *stream)
{
	for (int i = 0; i < ROUNDS; i++) {
		ww_memory *first;
		ww_memory *second;
		ww_status status;

		do /* a stream of this process may have yet to let go of it */
			status = ww_memory_import(device, broker, &shared_token, NULL, NULL, &first,
				NULL);
		while (status == WW_ERR_STATE);
		MUST_OK(status);
		MUST_OK(ww_memory_import(device, broker, &shared_token, NULL, NULL, &second, NULL));
		MUST(first == second);
		ww_memory_unref(second);
		if (i % 4 == 0 && stream)
			MUST_OK(ww_pool_release(first, stream));
		else
			ww_memory_unref(first);
	}
	return NULL;
}

ROLE(pool_importers)
{
	pthread_t threads[THREADS];
	ww_stream *stream = NULL;

	device = subject_open();
	if (device_info(device).capabilities & WW_CAP_STREAM_VALUE)
		stream = stream_make(device);
	MUST_OK(broker_open_patient(NULL, &broker));
	MUST_EQUAL(sizeof(shared_token),
		recv(CHILD_SOCKET, &shared_token, sizeof(shared_token), 0));
	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_create(&threads[i], NULL, import_and_let_go, stream));
	for (int i = 0; i < THREADS; i++)
		MUST_EQUAL(0, pthread_join(threads[i], NULL));
	if (stream)
		MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	ww_broker_unref(broker);
	ww_device_unref(device);
}

POOL_CASE(threads_import_one, 0, CHUNK, 0)
{
	const struct child_options packets = {.type = SOCK_SEQPACKET};
	struct child importer;
	ww_memory *slice = slice_make(pool, 64 * KIB, 1);
	struct ww_token token = slice_token(slice, WW_ACCESS_READ);

	child_start(&importer, "pool_importers", &packets);
	MUST_EQUAL(sizeof(token), send(importer.socket, &token, sizeof(token), 0));
	child_finish(&importer);
	ww_memory_unref(slice);
}
