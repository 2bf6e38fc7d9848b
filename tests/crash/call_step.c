/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_step.c - the server and a client die at each step of a call, and at each call they make
 *
 * A server that dies leaves its client an end of every call, and the truth of it: what has ended
 * well was run, what was not started was not run, and nothing was run twice. A client that dies
 * keeps nobody from being served. Nothing is left in the broker.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/call.h"
#include "crash/step.h"
#include "service/call.h"
#include "service/client.h"
#include "service/service.h"

#define CALLS       8 /* of the victim, or to it */
#define ARRAY_BYTES (CALLS + 1)
#define LANES       2
#define LIMIT_NS    ((uint64_t)child_limit_ms() * 1000000)

STEP(ww_status, ww_call_read, (struct ww_call * call), (call))
STEP(ww_status, ww_call_write, (struct ww_call * call), (call))
STEP(bool, ww_client_area_take, (struct ww_client_area * area, uint32_t bytes, uint32_t *out_at),
	(area, bytes, out_at))
STEP(uint32_t, ww_client_reap_all, (struct ww_client * client), (client))
STEP_VOID(ww_service_bell_ring,
	(struct ww_service_bell * bell, const struct ww_service_page *page,
		const struct ww_service_replies *replies),
	(bell, page, replies))
STEP_VOID(ww_service_page_set_state, (struct ww_service_page * page, uint32_t state), (page, state))
STEP_VOID(ww_client_view_absorb, (struct ww_service * service, struct ww_client_view *view),
	(service, view))
STEP_VOID(ww_client_view_end,
	(struct ww_service * service, struct ww_client_view *view, uint32_t slot, ww_status status,
		const char *message, uint64_t failed_call),
	(service, view, slot, status, message, failed_call))
STEP(ww_status, ww_client_views_meet, (struct ww_service * service), (service))
STEP_VOID(ww_service_replies_end,
	(struct ww_service_replies * replies, uint32_t slot, uint64_t call,
		const struct ww_service_requests *requests),
	(replies, slot, call, requests))
STEP_VOID(ww_service_replies_join,
	(struct ww_service_replies * replies, uint32_t join, uint32_t number),
	(replies, join, number))

static const char *const servers_steps[] = {"ww_call_read", "ww_call_write",
	"ww_service_page_set_state", "ww_client_view_absorb", "ww_client_view_end",
	"ww_client_views_meet", "ww_service_replies_end", "ww_service_replies_join"};

static const char *const clients_steps[] = {"ww_client_area_take", "ww_client_reap_all",
	"ww_service_bell_ring"};

/* --- calls --- */

struct caller {
	ww_client *client;
	const struct ww_token *array;
	uint32_t functions[2];
	ww_ticket *tickets[CALLS];
	enum call_end ends[CALLS];
};

static void open_client(struct caller *caller, ww_broker *broker)
{
	MUST_OK(ww_client_open(broker, "calls", NULL, LIMIT_NS, NULL, &caller->client));
	MUST_OK(ww_client_find(caller->client, "mark", NULL, LIMIT_NS, NULL,
		&caller->functions[0]));
	MUST_OK(ww_client_find(caller->client, "mark_later", NULL, LIMIT_NS, NULL,
		&caller->functions[1]));
}

/* Each function in each lane. */
static ww_status submit(struct caller *caller, uint64_t at, ww_ticket **out_ticket)
{
	const struct ww_value values[] = {value_token(caller->array), value_u64(at)};

	return ww_client_submit(caller->client, caller->functions[at % 2], values, 2,
		WW_PARAMS(struct ww_submit_params, .lane = (uint32_t)(at / 2 % LANES)), LIMIT_NS,
		NULL, out_ticket);
}

/* Return: what is known of the call. */
static enum call_end finish(ww_ticket *ticket, uint64_t at)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_status status = ww_ticket_wait(ticket, LIMIT_NS, NULL);

	if (status == WW_OK)
		MUST_EQUAL(call_answer(at), result_scalar(ticket, 0));
	else
		MUST_STATUS(WW_ERR_PEER_LOST, status);
	MUST_OK(ww_ticket_info_get(ticket, &info));
	ww_ticket_unref(ticket);
	if (status == WW_OK)
		return CALL_RUN;
	return info.has_started ? CALL_MADE : CALL_NOT_RUN;
}

/* The server may end meanwhile. */
static void call_all(struct caller *caller)
{
	for (uint64_t at = 0; at < CALLS; at++) {
		ww_status status = submit(caller, at, &caller->tickets[at]);

		if (status != WW_OK)
			MUST_STATUS(WW_ERR_PEER_LOST, status);
	}
	for (uint64_t at = 0; at < CALLS; at++)
		caller->ends[at] = caller->tickets[at] ? finish(caller->tickets[at], at)
						       : CALL_NOT_RUN;
}

static void call_must_be_right(const struct caller *caller, ww_memory *array, uint64_t at)
{
	const uint8_t *counts = ww_memory_host_pointer(array);
	uint8_t count = __atomic_load_n(&counts[at], __ATOMIC_RELAXED); /* a server may be here */

	MUST(count <= 1);
	if (caller->ends[at] == CALL_RUN)
		MUST_EQUAL(1, count);
	if (caller->ends[at] == CALL_NOT_RUN)
		MUST_EQUAL(0, count);
}

/* --- the victim --- */

static ww_status run_stop(void *service, ww_call *call)
{
	(void)call;
	return ww_service_drain(service);
}

static ww_service *make(ww_device *device, ww_broker *broker)
{
	ww_service *service = call_service_make(device, broker, "calls");

	MUST_OK(ww_service_offer(service, "stop", "", run_stop, service, NULL));
	MUST_OK(ww_service_start(service));
	return service;
}

static void create_only(ww_device *device, ww_broker *broker, char **arguments)
{
	step_arm(arguments);
	ww_service_unref(make(device, broker));
	step_disarm();
}

static void serve(ww_device *device, ww_broker *broker, char **arguments)
{
	ww_service *service = make(device, broker);

	role_tell("made");
	role_hear("go");
	step_arm(arguments);
	MUST_STATUS(WW_END, ww_service_serve(service, LIMIT_NS, NULL));
	ww_service_unref(service);
	step_disarm();
}

static void call(ww_broker *broker, char **arguments)
{
	struct caller caller = {.client = NULL};
	struct ww_token token;

	MUST_OK(ww_token_from_text(arguments[4], &token));
	caller.array = &token;
	step_arm(arguments);
	open_client(&caller, broker);
	call_all(&caller);
	ww_client_unref(caller.client);
	step_disarm();
	for (uint64_t at = 0; at < CALLS; at++)
		MUST_EQUAL(CALL_RUN, caller.ends[at]);
}

/* role_call_stepper FUNCTION NTH before|after create|serve|call TOKEN */
ROLE(role_call_stepper)
{
	OWN(device) ww_device *device = subject_open();
	OWN(broker) ww_broker *broker;

	MUST_EQUAL(5, count);
	MUST_OK(broker_open_patient(NULL, &broker));
	if (!strcmp(arguments[3], "create"))
		create_only(device, broker, arguments);
	else if (!strcmp(arguments[3], "serve"))
		serve(device, broker, arguments);
	else
		call(broker, arguments);
}

/* --- the case's side --- */

struct meeting {
	struct child victim;
	ww_memory *array;
	struct ww_token token;
	struct caller caller;
};

static void begin(struct meeting *meeting, const char *function, int nth, bool after,
	const char *how)
{
	char text[WW_TOKEN_TEXT_BYTES];

	memset(meeting, 0, sizeof(*meeting));
	meeting->array = call_array_make(ARRAY_BYTES, &meeting->token);
	meeting->caller.array = &meeting->token;
	MUST_OK(ww_token_to_text(&meeting->token, text));
	step_start_victim(&meeting->victim, "role_call_stepper", function, nth, after, how, text);
}

/* Everything is gone but our connection. */
static void end(struct meeting *meeting)
{
	meeting->array = ww_memory_unref(meeting->array);
	step_nothing_is_left();
}

static bool meet_creating(const char *function, int nth, bool after)
{
	struct meeting meeting;
	bool has_met_death;

	begin(&meeting, function, nth, after, "create");
	has_met_death = step_has_died(&meeting.victim);
	end(&meeting);
	return has_met_death;
}

/* It may have ended before, or end now. */
static void stop_server(struct caller *caller)
{
	uint32_t function;
	ww_status status = ww_client_find(caller->client, "stop", NULL, LIMIT_NS, NULL, &function);

	if (status == WW_OK)
		status = ww_client_call(caller->client, function, NULL, 0, NULL, LIMIT_NS, NULL,
			NULL);
	if (status != WW_OK)
		MUST_STATUS(WW_ERR_PEER_LOST, status);
}

static bool meet_serving(const char *function, int nth, bool after)
{
	struct meeting meeting;
	bool has_met_death;

	begin(&meeting, function, nth, after, "serve");
	child_hear(&meeting.victim, "made");
	open_client(&meeting.caller, scene.broker);
	child_tell(&meeting.victim, "go");
	call_all(&meeting.caller);
	stop_server(&meeting.caller);
	has_met_death = step_has_died(&meeting.victim);
	for (uint64_t at = 0; at < CALLS; at++) {
		call_must_be_right(&meeting.caller, meeting.array, at);
		MUST(has_met_death || meeting.caller.ends[at] == CALL_RUN);
	}
	ww_client_unref(meeting.caller.client);
	end(&meeting);
	return has_met_death;
}

static void *serve_for_ever(void *service)
{
	MUST_STATUS(WW_END, ww_service_serve(service, WW_FOREVER, NULL));
	return NULL;
}

static void wait_for_clients(ww_service *service, uint32_t count)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(service, &info));
		sched_yield();
	} while (info.clients != count);
}

/* The server and another client are here, and go on whatever happens. */
static bool meet_calling(const char *function, int nth, bool after)
{
	ww_service *service = make(scene.device, scene.broker);
	struct meeting meeting;
	bool has_met_death;
	ww_ticket *ticket;
	pthread_t thread;

	MUST(!pthread_create(&thread, NULL, serve_for_ever, service));
	begin(&meeting, function, nth, after, "call");
	open_client(&meeting.caller, scene.broker);
	has_met_death = step_has_died(&meeting.victim);
	MUST_OK(submit(&meeting.caller, CALLS, &ticket));
	MUST_EQUAL(CALL_RUN, finish(ticket, CALLS));
	wait_for_clients(service, 1);
	for (uint64_t at = 0; at < CALLS; at++) {
		meeting.caller.ends[at] = has_met_death ? CALL_MADE : CALL_RUN;
		call_must_be_right(&meeting.caller, meeting.array, at);
	}
	stop_server(&meeting.caller);
	pthread_join(thread, NULL);
	ww_client_unref(meeting.caller.client);
	ww_service_unref(service);
	end(&meeting);
	return has_met_death;
}

/* --- cases --- */

CASE_CALL(call_server_killed_at_each_step, 0,
	step_case(meet_serving, servers_steps, CHECK_COUNT(servers_steps), 40))
CASE_CALL(call_client_killed_at_each_step, 0,
	step_case(meet_calling, clients_steps, CHECK_COUNT(clients_steps), 20))

CASE_CALL(call_killed_at_each_call_creating, 0, step_case_calls(meet_creating, 20))
CASE_CALL(call_killed_at_each_call_serving, 0, step_case_calls(meet_serving, 20))
CASE_CALL(call_killed_at_each_call_calling, 0, step_case_calls(meet_calling, 20))
