/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_end.c - what becomes of calls when their processes are killed, or the broker is
 */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "integration/service.h"
#include "support/readable.h"

static struct child server;
static struct child clients[3];
static struct child *const client = &clients[0];

SCENE_CASE(service_passes_calls, NEEDS_VALUES)
{
	service_start_all(&server, clients, 3, "");
	for (int i = 0; i < 3; i++)
		agent_tell(&clients[i], "many 2000");
	for (int i = 0; i < 3; i++)
		agent_answers(&clients[i], WW_OK);
	agent_does(&clients[0], "make host 65536 0", "mark 7");
}

/* The call of one client that runs for ever, and one that floods, are nothing to another. */
SCENE_CASE(service_is_fair, NEEDS_VALUES)
{
	service_start_all(&server, clients, 2, "");
	agent_tell(&clients[0], "many 20000");
	agent_must(&clients[1], WW_OK, "many 200");
	agent_answers(&clients[0], WW_OK);
}

SCENE_CASE(service_killed_client_is_forgotten, NEEDS_VALUES)
{
	service_start_all(&server, clients, 2, "");
	agent_does(&clients[0], "submit hold", "started");
	agent_tell(&clients[1], "many 10");
	child_kill(&clients[0]);
	agent_answers(&clients[1], WW_OK);
	agent_must(&server, WW_OK, "clients 1");
	scene_has_holders(3);
}

/* Two others are run together as if its call, which waits for one more, were not there. */
SCENE_CASE(service_killed_client_leaves_its_batch, NEEDS_VALUES)
{
	service_start_all(&server, clients, 3, "");
	agent_must(&clients[0], WW_OK, "submit pair");
	agent_does(&server, "clients 3", "taken 1");
	child_kill(&clients[0]);
	agent_must(&server, WW_OK, "clients 2");
	agent_tell(&clients[1], "call pair");
	agent_must(&clients[2], WW_OK, "call pair");
	agent_answers(&clients[1], WW_OK);
}

SCENE_CASE(service_killed_server_ends_a_call_that_waits_for_others, NEEDS_VALUES)
{
	service_start_all(&server, clients, 1, "");
	agent_must(client, WW_OK, "submit pair");
	agent_must(&server, WW_OK, "taken 1");
	child_kill(&server);
	agent_must(client, WW_ERR_PEER_LOST, "wait");
	agent_must(client, WW_OK, "has_started 0");
}

/* The memories are the server's alone, which keeps them for the client. */
SCENE_CASE(service_killed_client_has_nothing_kept, NEEDS_VALUES)
{
	struct child victim;
	uint64_t before;
	uint64_t with_victim;

	service_start_all(&server, clients, 1, "keep");
	agent_must(client, WW_OK, "call nop");
	before = scene_info().objects;
	agent_begin(&victim, "service", "open s");
	agent_must(&victim, WW_OK, "call nop");
	with_victim = scene_info().objects;
	for (int i = 0; i < WW_SERVICE_KEEP_MEMORIES; i++) {
		agent_does(&victim, "make host 65536 0", "mark 7", "drop");
	}
	scene_has_objects(with_victim + WW_SERVICE_KEEP_MEMORIES);
	child_kill(&victim);
	agent_must(&server, WW_OK, "clients 1");
	scene_has_objects(before);
	agent_must(client, WW_OK, "call nop");
}

/* It sleeps when the server ends: the function had been started. */
SCENE_CASE(service_killed_server_ends_a_running_call, NEEDS_VALUES)
{
	const char *name;

	service_start_all(&server, clients, 1, "");
	agent_does(client, "submit hold", "started");
	agent_tell(client, "wait");
	name = agent_kill(&server);
	agent_answers_with(client, WW_ERR_PEER_LOST, name);
	agent_must(client, WW_OK, "has_started 1");
	agent_must(client, WW_ERR_PEER_LOST, "call nop");
}

/* The case is the client; its call runs. */
static ww_ticket *begin_watching(ww_client **out_client, int *out_fd)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	ww_ticket *ticket;
	uint32_t hold;

	agent_begin(&server, "service", "create s");
	MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, out_client));
	MUST_OK(ww_client_find(*out_client, "hold", NULL, 0, NULL, &hold));
	MUST_OK(ww_client_submit(*out_client, hold, NULL, 0, NULL, 0, NULL, &ticket));
	do {
		MUST_OK(ww_ticket_info_get(ticket, &info));
		sched_yield();
	} while (!info.has_started);
	MUST_OK(ww_ticket_eventfd(ticket, out_fd));
	return ticket;
}

SCENE_CASE(service_killed_server_makes_eventfds_of_tickets_readable, NEEDS_VALUES)
{
	OWN(client) ww_client *own;
	OWN(fd) int fd;
	OWN(ticket) ww_ticket *ticket = begin_watching(&own, &fd);

	MUST(!is_readable(fd));
	child_kill(&server);
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_ERR_PEER_LOST, ww_ticket_wait(ticket, 0, NULL));
	MUST(is_readable(fd));
}

/* An end that is taken back: no loop around poll() is woken for ever. */
SCENE_CASE(service_eventfd_of_ticket_is_readable_for_nothing, NEEDS_VALUES)
{
	OWN(client) ww_client *own;
	OWN(fd) int fd;
	OWN(ticket) ww_ticket *ticket = begin_watching(&own, &fd);

	for (int i = 0; i < 3; i++) {
		agent_must(&server, WW_OK, "show_stopped 1");
		MUST(becomes_readable(fd));
		agent_must(&server, WW_OK, "show_stopped 0");
		MUST(is_readable(fd));
		MUST_STATUS(WW_NOT_READY, ww_ticket_wait(ticket, 0, NULL));
		MUST(!is_readable(fd));
	}
	ww_ticket_cancel(ticket);
	MUST(becomes_readable(fd));
	MUST_STATUS(WW_ERR_GIVEN_UP, ww_ticket_wait(ticket, 0, NULL));
}

static void fault_ends_serving(const char *option, const char *word)
{
	service_start_all(&server, clients, 1, "bare");
	agent_tell(&server, "serve_fault %s", option);
	agent_must(client, WW_OK, "find fault");
	agent_refuses(client, WW_ERR_DEVICE, word, "call fault");
	agent_answers(&server, WW_ERR_DEVICE);
	child_kill(&server);
}

/* No function returns a failure: only the driver knows. */
SCENE_CASE_CALL(service_fault_of_a_kernel_ends_serving, NEEDS_VALUES | NEEDS_FAULTS,
	fault_ends_serving("", "unusable"))

/* Nothing works on the service's streams when the call has failed. */
SCENE_CASE_CALL(service_fault_that_a_function_sees_ends_serving, NEEDS_VALUES | NEEDS_FAULTS,
	fault_ends_serving("await", ""))

SCENE_CASE(service_killed_server_ends_a_queued_call, NEEDS_VALUES)
{
	service_start_all(&server, clients, 1, "idle");
	agent_must(client, WW_OK, "submit nop");
	agent_tell(client, "wait");
	child_kill(&server);
	agent_answers(client, WW_ERR_PEER_LOST);
	agent_must(client, WW_OK, "has_started 0");
}

/* Calls that were made are completed, and the rest is for the service that has the name. */
SCENE_CASE(service_replaced_server_ends, NEEDS_VALUES)
{
	struct child next;

	service_start_all(&server, clients, 2, "");
	agent_does(client, "submit hold", "started");
	agent_must(&clients[1], WW_OK, "submit nop");
	agent_begin(&next, "service", "create s replace");
	agent_must(client, WW_OK, "cancel");
	agent_must(&clients[1], WW_OK, "wait");
	agent_must(&server, WW_END, "served");
	agent_refuses(&clients[1], WW_ERR_UNAVAILABLE, "was replaced", "call nop");
	agent_does(client, "leave", "open s", "call nop");
}

/* It sleeps until a call comes. */
SCENE_CASE(service_replaced_server_wakes, NEEDS_VALUES)
{
	struct child next;

	service_start_all(&server, clients, 1, "");
	agent_must(client, WW_OK, "call nop");
	agent_begin(&next, "service", "create s replace");
	agent_must(&server, WW_END, "served");
}

SCENE_CASE(service_broker_restart_is_not_seen, NEEDS_VALUES)
{
	service_start_all(&server, clients, 1, "");
	agent_must(&clients[0], WW_OK, "many 10");
	MUST_CALL(kill((pid_t)scene_info().pid, SIGKILL));
	agent_must(&clients[0], WW_OK, "many 10");
	broker_hear_ready(&scene.daemon);
	agent_must(&clients[0], WW_OK, "many 10");
	agent_begin(&clients[1], "service", "open s");
	agent_must(&clients[1], WW_OK, "many 10");
	agent_must(&clients[0], WW_OK, "many 10");
}

SCENE_CASE(service_limits_clients_of_a_user, NEEDS_VALUES)
{
	service_start_all(&server, clients, 2, "clients_per_uid=2");
	agent_must(&clients[0], WW_OK, "call nop");
	agent_must(&clients[1], WW_OK, "call nop");
	agent_begin(&clients[2], "service", "open s");
	agent_refuses(&clients[2], WW_ERR_LIMIT, "clients_per_uid_max", "call nop");
	agent_must(&clients[0], WW_OK, "leave");
	agent_must(&server, WW_OK, "clients 1");
	agent_does(&clients[2], "leave", "open s", "call nop");
}

SCENE_CASE(service_drains_for_clients, NEEDS_VALUES)
{
	service_start_all(&server, clients, 1, "");
	agent_must(client, WW_OK, "call nop");
	agent_must(&server, WW_OK, "drain");
	agent_must(client, WW_ERR_UNAVAILABLE, "call nop");
}

/* Another user may see what there is, and not call. */
SCENE_CASE(service_mode_decides_who_calls, NEEDS_VALUES | NEEDS_ROOT)
{
	agent_begin(&server, "service", "user 1000 1000");
	agent_must(&server, WW_OK, "create s mode=0644");
	agent_begin(client, "service", "user 2000 2000");
	agent_must(client, WW_ERR_ACCESS, "open s");
	agent_must(client, WW_OK, "open s observe");
	agent_must(client, WW_ERR_ACCESS, "call nop");
	agent_must(client, WW_OK, "leave");
}

/* The pages of one user's client are had by the server of another one, and by nobody else. */
SCENE_CASE(service_serves_other_users, NEEDS_VALUES | NEEDS_ROOT)
{
	agent_begin(&server, "service", "user 1000 1000");
	agent_must(&server, WW_OK, "create s mode=0666");
	agent_begin(client, "service", "user 2000 2000");
	agent_does(client, "open s", "many 100");
}

/* --- processes that are killed at random, while calls go on --- */

#define KILLS 20

/* Calls for ever; ends with status 1 if a result is wrong. */
ROLE(role_service_player)
{
	ww_client *calling;
	uint32_t add;

	MUST_OK(ww_client_open(NULL, "s", NULL, WW_FOREVER, NULL, &calling));
	MUST_OK(ww_client_find(calling, "add", NULL, WW_FOREVER, NULL, &add));
	role_tell("opened");
	for (int64_t i = 0;; i++) {
		const struct ww_value values[] = {value_i64(i), value_i64(i)};
		ww_ticket *ticket;

		MUST_OK(ww_client_call(calling, add, values, 2, NULL, WW_FOREVER, NULL, &ticket));
		MUST_EQUAL(2 * i, result_scalar(ticket, 0));
		ww_ticket_unref(ticket);
	}
}

static void player_replace(struct child *player)
{
	int status;

	kill(player->pid, SIGKILL);
	status = child_wait(player);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	child_start(player, "role_service_player", NULL);
	child_hear(player, "opened");
}

SCENE_CASE(service_survives_killed_clients, NEEDS_VALUES)
{
	struct child players[2];

	service_start_all(&server, clients, 1, "");
	for (int i = 0; i < 2; i++) {
		child_start(&players[i], "role_service_player", NULL);
		child_hear(&players[i], "opened");
	}
	for (int i = 0; i < KILLS; i++) {
		agent_must(client, WW_OK, "many 50");
		player_replace(&players[i % 2]);
	}
	for (int i = 0; i < 2; i++)
		child_kill(&players[i]);
	agent_must(&server, WW_OK, "clients 1");
}
