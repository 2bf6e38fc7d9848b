/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_thread.c - one process at one broker: many threads, one object in several ways
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/broker.h"

#define THREADS 8
#define ROUNDS  100
#define BYTES   (2 << 20)

static struct child maker;

static void run_threads(void *(*run)(void *), size_t count)
{
	pthread_t threads[THREADS];

	for (size_t i = 0; i < count; i++)
		MUST(!pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i));
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* Puts its own and gets that of a neighbour, which may not have put it yet. */
static void *put_and_get(void *context)
{
	uint32_t self = (uint32_t)(uintptr_t)context;
	uint32_t neighbour = (self + 1) % THREADS;
	OWN(broker) ww_broker *broker;
	char name[32];

	MUST_OK(ww_broker_open(NULL, &broker));
	MUST(broker == scene.broker);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		ww_memory *memory = memory_make(scene.device, WW_MEMORY_HOST, 4096);
		ww_memory *got;

		pattern_write(memory, self * ROUNDS + i);
		snprintf(name, sizeof(name), "t%u/%u", self, i);
		scene_put(memory, name, 0, WW_LIFE_KEPT, WW_STATE_SEALED);
		ww_memory_unref(memory);
		snprintf(name, sizeof(name), "t%u/%u", neighbour, i);
		MUST_OK(ww_memory_get(scene.device, broker, name, NULL, WW_FOREVER, NULL, &got,
			NULL));
		pattern_verify(got, neighbour * ROUNDS + i);
		MUST_OK(ww_broker_remove(broker, name));
		ww_memory_unref(got);
	}
	return NULL;
}

SCENE_CASE(threads_put_and_get, WW_CAP_HOST_MEMORY)
{
	run_threads(put_and_get, THREADS);
}

static void *wait_for_late(void *context)
{
	OWN(memory) ww_memory *memory;

	(void)context;
	MUST_OK(ww_memory_get(scene.device, scene.broker, "late", NULL, WW_FOREVER, NULL, &memory,
		NULL));
	pattern_verify(memory, 77);
	return NULL;
}

/* A thread that waits, for however long, keeps nobody from being served. */
SCENE_CASE(threads_wait_beside_others, WW_CAP_EXPORT)
{
	pthread_t waiters[3];
	OWN(memory) ww_memory *memory;
	char name[32];

	for (size_t i = 0; i < CHECK_COUNT(waiters); i++) {
		MUST(!pthread_create(&waiters[i], NULL, wait_for_late, NULL));
		scene_has_waits(i + 1);
	}
	for (uint32_t i = 0; i < ROUNDS; i++) {
		memory = memory_make(scene.device, WW_MEMORY_VMM, BYTES);
		snprintf(name, sizeof(name), "soon/%u", i);
		scene_put(memory, name, 0, WW_LIFE_HELD, WW_STATE_SHARED);
		ww_memory_unref(scene_get(name, WW_ACCESS_WRITE));
		ww_memory_unref(memory);
	}
	scene_has_waits(3);
	memory = scene_make(BYTES, 77);
	scene_put(memory, "late", 0, WW_LIFE_HELD, WW_STATE_SEALED);
	for (size_t i = 0; i < CHECK_COUNT(waiters); i++)
		pthread_join(waiters[i], NULL);
}

/*
 * The last unref in one thread against a get in another: each get is answered with the object, and
 * holds it.
 */
static void *get_and_drop(void *context)
{
	(void)context;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		ww_memory *memory = scene_get("baton", i % 2 ? WW_ACCESS_READ : WW_ACCESS_WRITE);

		MUST(memory_info(memory).bytes >= BYTES);
		ww_memory_unref(memory);
	}
	return NULL;
}

SCENE_CASE(threads_drop_and_get, WW_CAP_EXPORT)
{
	agent_begin(&maker, "agent", "make vmm %d 1", BYTES);
	agent_must(&maker, WW_OK, "put baton life=held state=shared");
	run_threads(get_and_drop, THREADS);
	scene_has_holds(1); /* its maker's */
	agent_must(&maker, WW_OK, "verify 1");
}

static void *open_again(void *context)
{
	(void)context;
	for (int i = 0; i < ROUNDS; i++) {
		ww_broker *broker;

		MUST_OK(ww_broker_open(NULL, &broker));
		MUST(broker == scene.broker);
		ww_broker_unref(broker);
	}
	return NULL;
}

SCENE_CASE(threads_open_is_one, 0)
{
	ww_broker *broker;

	run_threads(open_again, THREADS);
	MUST_OK(ww_broker_open(WW_PARAMS(struct ww_broker_params, .address = scene.daemon.address),
		&broker));
	MUST(broker == scene.broker);
	MUST(!strcmp(ww_broker_address(broker), scene.daemon.address));
	ww_broker_unref(broker);
	scene_has_holders(1);
}

SCENE_CASE(one_object_got_twice, WW_CAP_EXPORT)
{
	ww_memory *first;
	OWN(memory) ww_memory *second;
	ww_memory *writer;

	agent_begin(&maker, "agent", "make vmm %d 1", BYTES);
	agent_must(&maker, WW_OK, "put x life=held state=shared");
	first = scene_get("x", WW_ACCESS_READ);
	second = scene_get("x", WW_ACCESS_READ);
	memory_must_be_same(first, second);
	writer = scene_get("x", WW_ACCESS_WRITE);
	MUST(writer != first);
	scene_has_holds(2); /* its maker and this process */
	ww_memory_unref(first);
	pattern_write(writer, 2);
	pattern_verify(second, 2);
	ww_memory_unref(writer);
	scene_has_holds(2);
	child_kill(&maker);
	scene_has_holders(1);
	scene_has_objects(1); /* this process holds it still */
	pattern_verify(second, 2);
}

SCENE_CASE(one_object_put_and_got, WW_CAP_EXPORT)
{
	ww_memory *writer;
	OWN(memory) ww_memory *reader;
	ww_memory *memory = scene_make(BYTES, 1);

	scene_put(memory, "x", 0, WW_LIFE_HELD, WW_STATE_SHARED);
	MUST_REFUSE(WW_ERR_EXISTS, "x", ww_memory_put(memory, scene.broker, "y", NULL, 0, NULL));
	writer = scene_get("x", WW_ACCESS_WRITE);
	memory_must_be_same(memory, writer);
	reader = scene_get("x", WW_ACCESS_READ);
	scene_has_holds(1);
	ww_memory_unref(memory);
	ww_memory_unref(writer);
	pattern_verify(reader, 1);
	scene_has_objects(1);
}

/* Memory keeps the connection open that it came by. */
SCENE_CASE(unref_broker_before_memory, WW_CAP_EXPORT)
{
	ww_broker *broker;
	ww_memory *got;
	ww_memory *put;

	agent_begin(&maker, "agent", "make vmm %d 1", BYTES);
	agent_must(&maker, WW_OK, "put theirs life=held");
	MUST_OK(ww_broker_open(NULL, &broker));
	got = scene_get("theirs", WW_ACCESS_READ);
	put = scene_make(BYTES, 2);
	scene_put(put, "ours", 0, WW_LIFE_OWNER, WW_STATE_SEALED);
	ww_broker_unref(broker);
	ww_broker_unref(scene.broker);
	child_kill(&maker); /* only this process holds it now */
	agent_begin(&maker, "agent", "get theirs wait_ms=forever");
	agent_does(&maker, "verify 1", "drop", "get ours", "verify 2", "drop");
	ww_memory_unref(put);
	pattern_verify(got, 1);
	ww_memory_unref(got); /* and with it the connection */
	MUST_OK(broker_open_patient(NULL, &scene.broker));
	scene_has_objects(0);
	agent_must(&maker, WW_ERR_NOT_FOUND, "get ours");
}
