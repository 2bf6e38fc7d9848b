/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_forge.c - a client that writes into its requests what cannot be; it alone has the harm
 *
 * The case is the hostile client. It changes what the library has written for it. Another process
 * is the server, and a third one a client that must notice nothing.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/service.h"
#include "service/client.h"
#include "service/service.h"
#include "support/leak_count.h"
#include "support/raw_client.h"
#include "wire/name.h"

static struct {
	struct child server;
	struct child victim;
	ww_client *client;
	uint32_t nop;
} forging;

static void forging_open(void)
{
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &forging.client));
	MUST_OK(ww_client_find(forging.client, "nop", NULL, 0, NULL, &forging.nop));
	MUST_OK(ww_client_call(forging.client, forging.nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL));
}

static void forging_begin(void)
{
	scene_begin();
	service_start_all(&forging.server, &forging.victim, 1, "");
	forging_open();
}

static void forging_end(void)
{
	ww_client_unref(forging.client);
	agent_must(&forging.victim, WW_OK, "many 10");
	agent_must(&forging.server, WW_OK, "clients 1");
	scene_end();
}

#define FORGING_CASE(case_name) \
	CASE_BETWEEN(case_name, NEEDS_VALUES, forging_begin(), forging_end())

/* Publishes a call that is as the library makes it, but for one change. */
static ww_status call_forged(
	void (*change)(struct ww_layout_service_request *request, uint64_t *order))
{
	struct ww_client *client = forging.client;
	uint32_t slot = client->free_slots[client->free_count - 1];
	struct ww_layout_service_request *request = &client->requests.slots[slot];
	uint64_t *order = &client->requests
				   .order[client->calls & (client->requests.slot_count - 1)];

	memset(request, 0, sizeof(*request));
	request->call = ++client->calls;
	request->function = forging.nop;
	request->hash = client->functions[forging.nop].signature->hash;
	request->deadline_ns = UINT64_MAX;
	*order = slot;
	change(request, order);
	client->slots[slot].call = client->calls;
	client->free_count--;
	__atomic_store_n(&client->requests.header->published, client->calls, __ATOMIC_SEQ_CST);
	ww_service_bell_ring(&client->bell, &client->page, &client->replies);
	while (!ww_client_is_over(client) &&
		!ww_service_replies_is_done(&client->replies, slot, client->slots[slot].call))
		sched_yield();
	if (ww_client_is_over(client))
		return ww_client_fail_over(client, "the call", "has no answer");
	client->slots[slot].call = 0;
	client->free_slots[client->free_count++] = slot;
	return (ww_status)client->replies.slots[slot].status;
}

static void no_change(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)request;
	(void)order;
}

static void wrong_function(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->function = UINT32_MAX - 1;
}

static void wrong_hash(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->hash++;
}

static void wrong_arguments(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->arguments_at = UINT32_MAX - 7;
	request->arguments_bytes = 16;
}

static void wrong_results(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->results_bytes = UINT32_MAX;
}

static void wrong_record(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->arguments_bytes = 4; /* no whole item */
}

static void wrong_dependency(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->depends_on = request->call;
}

static void wrong_value(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->after = UINT64_MAX;
	request->arguments_bytes = WW_TOKEN_BYTES;
}

static void no_token(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->after = 1;
	request->arguments_bytes = WW_TOKEN_BYTES - 8;
}

static void token_elsewhere(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->after = 1;
	request->arguments_at = UINT32_MAX - 7;
	request->arguments_bytes = WW_TOKEN_BYTES;
}

/* The area is all zero there. */
static void wrong_token(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->after = 1;
	request->arguments_at = 32768;
	request->arguments_bytes = WW_TOKEN_BYTES;
}

FORGING_CASE(service_forged_calls_fail_alone)
{
	MUST_EQUAL(WW_OK, call_forged(no_change));
	MUST_EQUAL(WW_ERR_NOT_FOUND, call_forged(wrong_function));
	MUST_EQUAL(WW_ERR_MISMATCH, call_forged(wrong_hash));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_arguments));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_results));
	MUST(call_forged(wrong_record) < 0);
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_dependency));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_value));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(no_token));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(token_elsewhere));
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_token));
	MUST_EQUAL(WW_OK, call_forged(no_change));
}

/* It fails alone when it is run together with a call of the victim. */
FORGING_CASE(service_forged_call_harms_no_other_of_its_batch)
{
	MUST_OK(ww_client_find(forging.client, "pair", NULL, 0, NULL, &forging.nop));
	agent_tell(&forging.victim, "call pair");
	MUST_EQUAL(WW_ERR_PROTOCOL, call_forged(wrong_arguments));
	agent_answers(&forging.victim, WW_OK);
}

static void wrong_slot(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)request;
	*order = UINT64_MAX;
}

static void wrong_number(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->call += 7;
}

static void wrong_lane(struct ww_layout_service_request *request, uint64_t *order)
{
	(void)order;
	request->lane = WW_SERVICE_LANES_MAX;
}

/* After these nothing is known of the ring any more: the client is refused. */
FORGING_CASE(service_forged_rings_are_refused)
{
	void (*const changes[])(struct ww_layout_service_request *, uint64_t *) = {wrong_slot,
		wrong_number, wrong_lane};

	for (size_t i = 0; i < CHECK_COUNT(changes); i++) {
		MUST_REFUSE(WW_ERR_PROTOCOL, "requests are not valid", call_forged(changes[i]));
		ww_client_unref(forging.client);
		forging_open();
	}
}

/* Its requests are not valid any more: the server refuses it. */
static void become_refused(void)
{
	struct ww_client *client = forging.client;

	__atomic_store_n(&client->requests.header->published,
		client->calls + client->requests.slot_count + 1, __ATOMIC_SEQ_CST);
	ww_service_bell_ring(&client->bell, &client->page, &client->replies);
	while (!ww_client_is_over(client))
		sched_yield();
}

FORGING_CASE(service_flood_is_refused)
{
	become_refused();
}

/* Who may not write the service's object has not got its key. Of what it shows nothing is kept. */
SCENE_CASE(service_wrong_key_is_refused, NEEDS_VALUES)
{
	struct census before;
	struct census after;
	OWN(service) ww_service *service;
	OWN(client) ww_client *client;
	uint32_t nop;

	MUST_OK(ww_service_create(scene.device, scene.broker, "s", NULL, NULL, &service));
	service_offer_all(service, scene.device);
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &client));
	MUST_OK(ww_client_find(client, "nop", NULL, 0, NULL, &nop));
	client->requests.header->key[0] ^= 1;
	census_take(&before);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
	census_take(&after);
	MUST_EQUAL(before.descriptors, after.descriptors);
	MUST(after.mappings <= before.mappings);
	MUST_REFUSE(WW_ERR_ACCESS, "key",
		ww_client_submit(client, nop, NULL, 0, NULL, 0, NULL, NULL));
}

#define REFUSED_CLIENTS 4

/* However many clients one user has, the server's descriptors are for those of others. */
SCENE_CASE(service_refused_client_costs_no_descriptor, NEEDS_VALUES)
{
	struct child clients[1 + REFUSED_CLIENTS];
	struct census before;
	OWN(service) ww_service *service;

	MUST_OK(ww_service_create(scene.device, scene.broker, "s",
		WW_PARAMS(struct ww_service_params, .clients_max = 1), NULL, &service));
	service_offer_all(service, scene.device);
	for (size_t i = 0; i < CHECK_COUNT(clients); i++)
		service_start(&clients[i], NULL);
	for (size_t i = 0; i < CHECK_COUNT(clients); i++) {
		agent_must(&clients[i], WW_OK, "open s");
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
		if (i == 0)
			census_take(&before);
	}
	census_must_match(&before);
	for (size_t i = 1; i < CHECK_COUNT(clients); i++)
		agent_must(&clients[i], WW_ERR_LIMIT, "call nop");
}

#define COUNTED_CLIENTS 8

/* They are of this process, so the server has their signal pages anyway. */
SCENE_CASE(service_client_costs_few_descriptors, NEEDS_VALUES)
{
	ww_client *clients[COUNTED_CLIENTS];
	struct census before;
	struct census after;
	OWN(service) ww_service *service;

	MUST_OK(ww_service_create(scene.device, scene.broker, "s", NULL, NULL, &service));
	service_offer_all(service, scene.device);
	for (int i = 0; i < COUNTED_CLIENTS; i++)
		MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &clients[i]));
	census_take(&before);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
	census_take(&after);
	MUST_EQUAL(before.descriptors + COUNTED_CLIENTS, after.descriptors);
	for (int i = 0; i < COUNTED_CLIENTS; i++)
		ww_client_unref(clients[i]);
}

/* --- fields that change while the server reads them --- */

struct scribbling {
	struct ww_service_requests *requests;
	_Atomic bool is_over;
};

static void *scribble(void *argument)
{
	struct scribbling *scribbling = argument;
	uint64_t number = 1;

	while (!scribbling->is_over) {
		uint32_t at = (uint32_t)(number >> 33) %
			(sizeof(struct ww_layout_service_request) / sizeof(uint32_t));
		uint32_t slot = (uint32_t)(number >> 16) % 4;

		number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
		((uint32_t *)&scribbling->requests->slots[slot])[at] = (uint32_t)(number >> 40) % 3
			? (uint32_t)number % 256
			: (uint32_t)number;
	}
	return NULL;
}

#define CHANGED_CALLS 2000

FORGING_CASE(service_fields_that_change_harm_nobody_else)
{
	struct scribbling scribbling = {.is_over = false};
	pthread_t thread;

	scribbling.requests = &forging.client->requests;
	MUST(!pthread_create(&thread, NULL, scribble, &scribbling));
	agent_tell(&forging.victim, "many 2000");
	for (int i = 0; i < CHANGED_CALLS; i++) {
		if (call_forged(no_change) == WW_ERR_PROTOCOL && ww_client_is_over(forging.client))
			break;
	}
	scribbling.is_over = true;
	MUST(!pthread_join(thread, NULL));
	agent_answers(&forging.victim, WW_OK);
}

/* All that may call write the bell: what one of them makes of its header keeps no other away. */
FORGING_CASE(service_bell_without_header_keeps_nobody_away)
{
	OWN(client) ww_client *other;

	memset(forging.client->bell.mapping->host_pointer, 0xff,
		sizeof(*forging.client->bell.header));
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &other));
	MUST_OK(ww_client_call(other, forging.nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL));
}

/* --- what a client that is refused leaves behind --- */

#define UNIT_BYTES (UINT64_C(2) << 20)

static ww_ticket *call_alloc(void)
{
	const struct ww_value bytes = value_u64(UNIT_BYTES);
	ww_ticket *ticket;
	uint32_t alloc;

	MUST_OK(ww_client_find(forging.client, "warpway.alloc", NULL, 0, NULL, &alloc));
	MUST_OK(ww_client_call(forging.client, alloc, &bytes, 1, NULL, WW_FOREVER, NULL, &ticket));
	return ticket;
}

/* The server reads the requests of a refused client no more: it does not have them. */
CASE(service_frees_memory_of_a_refused_client, NEEDS_VALUES)
{
	struct ww_value memory;
	ww_ticket *tickets[2];
	ww_client *other;
	uint32_t free_function;
	ww_status status;

	scene_begin();
	service_start_all(&forging.server, &forging.victim, 1, "builtin");
	forging_open();
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &other));
	MUST_OK(ww_client_find(other, "warpway.free", NULL, 0, NULL, &free_function));
	for (int i = 0; i < 2; i++)
		tickets[i] = call_alloc();
	MUST_OK(ww_ticket_result(tickets[1], 0, &memory));
	become_refused();
	status = ww_client_call(other, free_function, &memory, 1, NULL, WW_FOREVER, NULL, NULL);
	MUST(status == WW_OK || status == WW_ERR_NOT_FOUND);
	MUST_OK(ww_client_call(other, forging.nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL));
	for (int i = 0; i < 2; i++)
		ww_ticket_unref(tickets[i]);
	ww_client_unref(other);
	forging_end();
}

/* A call in each lane, each after a timeline with a page of its own. */
static void wait_in_lanes(ww_timeline **timelines, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		MUST_OK(ww_timeline_create(WW_PARAMS(struct ww_timeline_params,
						   .flags = WW_TIMELINE_ALONE),
			&timelines[i]));
		MUST_OK(ww_client_submit(forging.client, forging.nop, NULL, 0,
			WW_PARAMS(struct ww_submit_params, .lane = i + 1, .after = timelines[i],
				.after_value = 1),
			WW_FOREVER, NULL, NULL));
	}
}

#define LANES_THAT_WAIT 16

/* However long its process lives, and however many clients a process has that were refused. */
FORGING_CASE(service_refused_client_leaves_no_descriptors)
{
	ww_timeline *timelines[LANES_THAT_WAIT];
	int before;

	before = process_descriptors(forging.server.pid);
	wait_in_lanes(timelines, LANES_THAT_WAIT);
	while (process_descriptors(forging.server.pid) < before + LANES_THAT_WAIT)
		sched_yield();
	become_refused();
	while (process_descriptors(forging.server.pid) >= before)
		sched_yield();
	for (uint32_t i = 0; i < LANES_THAT_WAIT; i++)
		ww_timeline_unref(timelines[i]);
}

/* --- objects inside the service's that are no clients --- */

static void put_inside(struct raw *raw, const uint8_t service_id[16], const char *what,
	struct ww_wire_put *out_put)
{
	*out_put = raw_object("");
	ww_name_begin_inside(service_id, out_put->name);
	snprintf(out_put->name + WW_NAME_INSIDE_CHARS, sizeof(out_put->name) - WW_NAME_INSIDE_CHARS,
		"client-%s", what);
	MUST_OK(raw_put(raw, out_put, NULL, 0));
}

/* After a look that found no client the next one waits, so that calls go on meanwhile. */
SCENE_CASE(service_looks_for_nobody_with_pauses, NEEDS_VALUES)
{
	struct ww_wire_granted granted;
	struct ww_wire_put put;
	OWN(service) ww_service *service;
	OWN(client) ww_client *client;
	ENDED_BY(raw_close) struct raw raw;

	MUST_OK(ww_service_create(scene.device, scene.broker, "s", NULL, NULL, &service));
	service_offer_all(service, scene.device);
	raw_open(&raw, scene.daemon.address);
	MUST_OK(raw_get(&raw, "s", WW_WIRE_ACCESS_READ, &granted));
	put_inside(&raw, granted.id, "none", &put);
	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
	MUST_EQUAL(1, service->clients.listings);
	MUST(service->clients.newcomers.ask_again_ns > 0);
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &client));
	while (service->client_count == 0)
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 1000000, NULL));
	MUST_EQUAL(0, service->clients.newcomers.ask_again_ns);
	MUST_OK(raw_release(&raw, put.id));
}
