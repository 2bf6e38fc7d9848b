/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_after.c - calls that start after a value of another process's timeline
 *
 * The case is the client; a process is the server, another one signals the timeline "t", and a
 * third one is a client that must notice nothing.
 */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "device/deferred_release.h"
#include "integration/service.h"
#include "service/after_stream.h"
#include "support/leak_count.h"

static struct {
	struct child server;
	struct child victim;
	struct child signaller;
	ww_client *client;
	ww_timeline *timeline;
	uint32_t nop;
} waiting;

static void waiting_begin(void)
{
	scene_begin();
	service_start_all(&waiting.server, &waiting.victim, 1, "");
	service_start(&waiting.signaller, NULL);
	agent_must(&waiting.signaller, WW_OK, "timeline t");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &waiting.client));
	MUST_OK(ww_client_find(waiting.client, "nop", NULL, 0, NULL, &waiting.nop));
	MUST_OK(ww_timeline_get(scene.broker, "t", 0, NULL, &waiting.timeline));
}

static void waiting_end(void)
{
	ww_client_unref(waiting.client);
	ww_timeline_unref(waiting.timeline);
	agent_must(&waiting.victim, WW_OK, "many 10");
	agent_must(&waiting.server, WW_OK, "clients 1");
	scene_end();
}

#define AFTER_CASE(case_name) CASE_BETWEEN(case_name, NEEDS_VALUES, waiting_begin(), waiting_end())

static ww_ticket *submit_after(uint32_t lane, uint64_t value)
{
	ww_ticket *ticket;

	MUST_OK(ww_client_submit(waiting.client, waiting.nop, NULL, 0,
		WW_PARAMS(struct ww_submit_params, .lane = lane, .after = waiting.timeline,
			.after_value = value),
		WW_FOREVER, NULL, &ticket));
	return ticket;
}

static void must_end(ww_ticket *ticket, ww_status status, const char *word)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_STATUS(status, ww_ticket_wait(ticket, WW_FOREVER, NULL));
	MUST(status == WW_OK || strstr(ww_error_last()->message, word));
	MUST_OK(ww_ticket_info_get(ticket, &info));
	MUST_EQUAL(status == WW_OK, info.has_started);
	MUST_EQUAL(0, info.failed_call);
	ww_ticket_unref(ticket);
}

/* The server has looked at the calls since: each waits, unless it has ended. */
static void pass_time(void)
{
	for (int i = 0; i < 8; i++)
		MUST_OK(ww_client_call(waiting.client, waiting.nop, NULL, 0,
			WW_PARAMS(struct ww_submit_params, .lane = 63), WW_FOREVER, NULL, NULL));
}

AFTER_CASE(service_killed_signaller_ends_calls_after_it)
{
	ww_ticket *tickets[2];
	const char *name;

	for (uint32_t i = 0; i < 2; i++)
		tickets[i] = submit_after(i, 3 + 2 * i);
	pass_time();
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[0], 0, NULL));
	agent_must(&waiting.signaller, WW_OK, "signal 3");
	must_end(tickets[0], WW_OK, "");
	MUST_STATUS(WW_NOT_READY, ww_ticket_wait(tickets[1], 0, NULL));
	name = agent_kill(&waiting.signaller);
	must_end(tickets[1], WW_ERR_DEPENDENCY_FAILED, name);
}

AFTER_CASE(service_closed_timeline_ends_calls_after_it)
{
	ww_ticket *ticket;

	ticket = submit_after(0, 3);
	pass_time();
	agent_must(&waiting.signaller, WW_OK, "signal 2");
	must_end(submit_after(1, 2), WW_OK, "");
	agent_must(&waiting.signaller, WW_OK, "close");
	must_end(ticket, WW_ERR_DEPENDENCY_FAILED, "closed the timeline at value 2");
}

/* The server looks at the timeline without the broker. */
AFTER_CASE(service_calls_wait_though_the_broker_restarts)
{
	ww_ticket *ticket;

	ticket = submit_after(0, 1);
	pass_time();
	MUST_CALL(kill((pid_t)scene_info().pid, SIGKILL));
	agent_must(&waiting.signaller, WW_OK, "signal 1");
	must_end(ticket, WW_OK, "");
	broker_hear_ready(&scene.daemon);
}

/* Clients with a call in each lane that waits for ever; one of them is killed. */
AFTER_CASE(service_lanes_of_others_that_wait_harm_nobody)
{
	struct child hostile[2];

	for (int i = 0; i < 2; i++) {
		service_start(&hostile[i], NULL);
		agent_does(&hostile[i], "open s", "fill_lanes t");
	}
	agent_must(&waiting.victim, WW_OK, "many 2000");
	child_kill(&hostile[0]);
	agent_must(&waiting.server, WW_OK, "clients 3");
	agent_must(&waiting.victim, WW_OK, "many 200");
	agent_must(&hostile[1], WW_OK, "leave");
	agent_must(&waiting.server, WW_OK, "clients 2");
}

/* --- streams that wait --- */

/* Each of the clients waits in all its lanes. */
static bool all_lanes_wait(ww_service *service)
{
	ww_list_for_each (link, &service->clients.members) {
		if (ww_client_view_of(link)->waiting_after != UINT64_MAX)
			return false;
	}
	return !ww_list_is_empty(&service->clients.members);
}

/* @user: "2000 2000"; NULL: that of the server. The calls wait, and @count streams. */
static void client_waits(struct child *client, ww_service *service, const char *user,
	const char *name, uint32_t count)
{
	service_start(client, NULL);
	if (user)
		agent_must(client, WW_OK, "user %s", user);
	agent_must(client, WW_OK, "open s");
	agent_must(client, WW_OK, "fill_lanes %s", name);
	do
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
	while (!all_lanes_wait(service));
	MUST_EQUAL(count, ww_after_stream_count(service));
	agent_must(client, WW_OK, "leave");
	agent_end(client);
	while (!ww_list_is_empty(&service->clients.members))
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, 0, NULL));
}

/* The service's streams are released by a later call, once they have gone on. */
static void await_release(const struct census *before)
{
	struct census now;

	(void)COMES_TRUE(
		(ww_deferred_reclaim(), census_take(&now), now.descriptors <= before->descriptors));
}

/* The case is the server, and signals by a stream that does so when it has ended. */
CASE(service_streams_wait_for_its_own_user, NEEDS_VALUES | NEEDS_ROOT)
{
	ww_timeline *timeline;
	struct child clients[2];
	struct child signaller;
	ww_service *service;
	ww_timeline *gate;
	ww_stream *stream;
	struct census before;

	census_take(&before);
	scene_begin();
	MUST_OK(ww_timeline_create(NULL, &gate));
	MUST_OK(ww_timeline_create(NULL, &timeline));
	MUST_OK(ww_stream_create(scene.device, &stream));
	MUST_OK(ww_timeline_stream_wait(gate, stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	MUST_OK(ww_timeline_stream_signal(timeline, stream, 1));
	MUST_OK(ww_timeline_put(timeline, scene.broker, "t",
		WW_PARAMS(struct ww_name_params, .mode = 0644), NULL));
	MUST_OK(ww_service_create(scene.device, scene.broker, "s",
		WW_PARAMS(struct ww_service_params, .mode = 0666,
			.after_streams = WW_SERVICE_AFTER_STREAMS_MAX),
		NULL, &service));
	service_offer_all(service, scene.device);
	client_waits(&clients[0], service, "2000 2000", "t", 0);
	/* A client of the own user, with a timeline of another one. */
	service_start(&signaller, NULL);
	agent_does(&signaller, "user 2000 2000", "timeline u", "submit_signal 1");
	client_waits(&clients[0], service, NULL, "u", 0);
	agent_must(&signaller, WW_OK, "go");
	agent_end(&signaller);
	client_waits(&clients[1], service, NULL, "t",
		subject_is_cuda() && device_info(scene.device).mps != WW_MPS_ON
			? WW_SERVICE_AFTER_STREAMS_MAX
			: 0);
	ww_service_unref(service);
	MUST_OK(ww_timeline_signal(gate, 1));
	MUST_OK(ww_stream_synchronize(stream, WW_FOREVER, NULL));
	ww_stream_unref(stream);
	ww_timeline_unref(timeline);
	ww_timeline_unref(gate);
	scene_end();
	await_release(&before);
}
