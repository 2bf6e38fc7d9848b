/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_repeat.c - calls that the next server is asked for when theirs has been killed
 */
#include "integration/service.h"

static struct child server;
static struct child client;

static void next_server(void)
{
	agent_begin(&server, "service", "create s");
}

/* The first server never looks at the call. Later calls go to the next one at once. */
SCENE_CASE(service_queued_call_is_repeated, NEEDS_VALUES)
{
	service_start_all(&server, &client, 1, "idle");
	agent_tell(&client, "repeat add");
	child_kill(&server);
	next_server();
	agent_answers(&client, WW_OK);
	agent_must(&client, WW_OK, "repeat add");
	agent_must(&server, WW_OK, "taken 2");
	agent_must(&client, WW_ERR_PEER_LOST, "many 1");
	child_kill(&server);
	next_server();
	agent_must(&client, WW_OK, "repeat add");
	agent_must(&server, WW_OK, "taken 1");
}

/* Return: whether the second server ran it until the deadline. */
static bool repeat_hold(uint32_t deadline_ms)
{
	ww_status status;
	bool is_taken;

	scene_begin();
	service_start_all(&server, &client, 1, "");
	agent_tell(&client, "repeat hold deadline_ms=%u", deadline_ms);
	agent_must(&server, WW_OK, "taken 1");
	child_kill(&server);
	next_server();
	status = agent_hear(&client);
	MUST(status == WW_ERR_GIVEN_UP || status == WW_TIMED_OUT);
	agent_tell(&server, "has_taken 1");
	is_taken = agent_hear(&server) == WW_OK;
	scene_end();
	return is_taken && status == WW_ERR_GIVEN_UP;
}

/*
 * It runs until its deadline, which is that of the first attempt. On a slow machine the next server
 * is not there in time: then the call gets more time.
 */
CASE(service_running_call_is_repeated, NEEDS_VALUES)
{
	uint32_t deadline_ms = 500;

	while (!repeat_hold(deadline_ms))
		deadline_ms *= 2;
}

SCENE_CASE(service_repeat_waits_as_long_as_it_may, NEEDS_VALUES)
{
	service_start_all(&server, &client, 1, "");
	agent_must(&client, WW_OK, "repeat add timeout_ms=3600000");
	child_kill(&server);
	agent_must(&client, WW_TIMED_OUT, "repeat add timeout_ms=100");
	agent_must(&client, WW_TIMED_OUT, "repeat add deadline_ms=100");
}

SCENE_CASE(service_other_calls_are_not_repeated, NEEDS_VALUES)
{
	service_start_all(&server, &client, 1, "");
	agent_must(&client, WW_OK, "repeat who");
	child_kill(&server);
	next_server();
	agent_must(&client, WW_ERR_PEER_LOST, "repeat who");
	agent_must(&client, WW_OK, "repeat add");
	agent_must(&client, WW_ERR_PEER_LOST, "repeat who");
}

/* Another user has taken the name: it does not get the arguments. */
SCENE_CASE(service_repeat_is_for_the_same_user, NEEDS_VALUES | NEEDS_ROOT)
{
	service_start_all(&server, &client, 1, "");
	agent_must(&client, WW_OK, "repeat add");
	child_kill(&server);
	agent_begin(&server, "service", "user 1000 1000");
	agent_must(&server, WW_OK, "create s mode=0666");
	agent_refuses(&client, WW_ERR_ACCESS, "user 1000", "repeat add");
	agent_must(&client, WW_ERR_ACCESS, "repeat add");
	agent_must(&server, WW_OK, "taken 0");
}
