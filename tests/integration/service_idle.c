/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_idle.c - clients that the server does not look at until they call again
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "integration/service.h"
#include "service/client.h"

#define ROUNDS 3

static struct {
	struct child server;
	struct child other;
	ww_client *client;
	uint32_t nop;
} idling;

static void idling_begin(void)
{
	scene_begin();
	service_start_all(&idling.server, &idling.other, 1, "");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &idling.client));
	MUST_OK(ww_client_find(idling.client, "nop", NULL, 0, NULL, &idling.nop));
}

static void idling_end(void)
{
	ww_client_unref(idling.client);
	agent_must(&idling.other, WW_OK, "many 10");
	agent_must(&idling.server, WW_OK, "clients 1");
	scene_end();
}

#define IDLING_CASE(case_name) CASE_BETWEEN(case_name, NEEDS_VALUES, idling_begin(), idling_end())

static bool is_idle(const ww_client *client)
{
	return __atomic_load_n(&client->replies.header->is_idle, __ATOMIC_ACQUIRE);
}

static void become_idle(const ww_client *client)
{
	while (!is_idle(client))
		sched_yield();
}

static void call(void)
{
	MUST_OK(ww_client_call(idling.client, idling.nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL));
}

IDLING_CASE(service_idle_client_is_found)
{
	for (int i = 0; i < ROUNDS; i++) {
		call();
		become_idle(idling.client);
	}
}

/* The server runs calls of another one meanwhile: the idle one's is found all the same. */
IDLING_CASE(service_idle_client_is_found_beside_others)
{
	call();
	agent_tell(&idling.other, "many 20000");
	for (int i = 0; i < ROUNDS; i++) {
		become_idle(idling.client);
		call();
	}
	agent_answers(&idling.other, WW_OK);
}

CASE(service_idle_client_learns_of_the_end, NEEDS_VALUES)
{
	idling_begin();
	call();
	become_idle(idling.client);
	agent_must(&idling.server, WW_OK, "drain");
	MUST(ww_client_call(idling.client, idling.nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL) < 0);
	ww_client_unref(idling.client);
	scene_end();
}

/* --- another client writes the bell --- */

static struct {
	struct ww_service_bell *bell;
	uint64_t bits;
	_Atomic bool is_over;
} scribbling;

static void *scribble(void *unused)
{
	(void)unused;
	while (!scribbling.is_over) {
		for (uint32_t i = 0; i < WW_SERVICE_BELL_WORDS; i++)
			__atomic_store_n(&scribbling.bell->words[i].bits, scribbling.bits,
				__ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void call_beside_scribbler(uint64_t bits)
{
	pthread_t thread;

	idling_begin();
	call();
	become_idle(idling.client);
	scribbling.bell = &idling.client->bell;
	scribbling.bits = bits;
	scribbling.is_over = false;
	MUST(!pthread_create(&thread, NULL, scribble, NULL));
	for (int i = 0; i < ROUNDS; i++)
		call();
	agent_must(&idling.other, WW_OK, "many 200");
	scribbling.is_over = true;
	MUST(!pthread_join(thread, NULL));
	idling_end();
}

CASE_CALL(service_bits_cleared_by_others_only_delay, NEEDS_VALUES, call_beside_scribbler(0))
CASE_CALL(service_bits_set_by_others_harm_nobody, NEEDS_VALUES, call_beside_scribbler(UINT64_MAX))
