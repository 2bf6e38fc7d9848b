/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_alone.c - a server and clients whose broker and supervisor were killed: calls go on, and
 * they learn of each other's end from the kernel
 */
#include "integration/service.h"

#define STATE_LOST "state 5" /* WW_SERVICE_LOST */

CASE(service_alone_goes_on, NEEDS_VALUES)
{
	ENDED_BY(agent_end) struct child server;
	ENDED_BY(agent_end) struct child client;

	scene_begin();
	service_start_all(&server, &client, 1, "");
	agent_must(&client, WW_OK, "many 10");
	scene_kill();
	agent_does(&client, "many 1000", "leave");
	agent_must(&server, WW_OK, "clients 0");
}

/* The client sleeps when the server ends; the message names the server. */
CASE(service_alone_server_is_missed, NEEDS_VALUES)
{
	struct child server;
	const char *name;
	ENDED_BY(agent_end) struct child client;

	scene_begin();
	service_start_all(&server, &client, 1, "");
	agent_does(&client, "submit hold", "started");
	scene_kill();
	agent_tell(&client, "wait");
	name = agent_kill(&server);
	agent_answers_with(&client, WW_ERR_PEER_LOST, name);
	agent_must(&client, WW_OK, "has_started 1");
	agent_must(&client, WW_OK, STATE_LOST);
	agent_must(&client, WW_ERR_PEER_LOST, "call nop");
	agent_must(&client, WW_ERR_PEER_LOST, "ready");
}

/* It waits for what the server has not taken, for room, or until the service is ready. */
CASE(service_alone_waits_end, NEEDS_VALUES)
{
	static const struct {
		const char *options;
		const char *first;
		const char *wait;
	} waits[] = {
		{"idle", "submit nop", "wait"},
		{"idle calls=1", "submit nop", "submit nop"},
		{"bare", NULL, "ready"},
		{"bare", NULL, "find nop"},
	};

	for (size_t i = 0; i < CHECK_COUNT(waits); i++) {
		struct child client;
		struct child server;

		scene_begin();
		service_start_all(&server, &client, 1, waits[i].options);
		if (waits[i].first)
			agent_must(&client, WW_OK, "%s", waits[i].first);
		scene_kill();
		agent_tell(&client, "%s", waits[i].wait);
		child_kill(&server);
		agent_answers(&client, WW_ERR_PEER_LOST);
		agent_end(&client);
	}
}

CASE(service_alone_end_is_seen, NEEDS_VALUES)
{
	struct child server;
	ENDED_BY(agent_end) struct child observer;

	scene_begin();
	service_start_all(&server, NULL, 0, "");
	agent_begin(&observer, "service", "open s observe");
	scene_kill();
	child_kill(&server);
	agent_must(&observer, WW_OK, STATE_LOST);
}

/* Of a killed client the call that runs sees its end, and what is queued behind it never runs. */
CASE(service_alone_client_is_missed, NEEDS_VALUES)
{
	struct child clients[2];
	ENDED_BY(agent_end) struct child server;

	scene_begin();
	service_start_all(&server, clients, 2, "");
	agent_must(&server, WW_OK, "clients 2"); /* it meets them by the broker */
	agent_does(&clients[0], "submit hold", "started", "submit hold");
	scene_kill();
	child_kill(&clients[0]);
	agent_must(&clients[1], WW_OK, "many 10");
	agent_must(&server, WW_OK, "clients 1");
	agent_end(&clients[1]);
}
