/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_alloc.c - what becomes of memory that the server made for a client, when one of them ends
 */
#include "integration/service.h"

#define UNIT "2097152" /* bytes; a memory has a multiple of so many */

static uint32_t life_of(const char *name)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	ww_status status = ww_broker_stat(scene.broker, name, &info);

	MUST(status == WW_OK || status == WW_ERR_NOT_FOUND);
	return status == WW_OK ? info.life : 0;
}

SCENE_CASE(service_killed_client_leaves_what_is_kept, NEEDS_VALUES)
{
	struct child clients[2];
	struct child server;

	service_start_all(&server, clients, 2, "builtin alloc_bytes=8388608");
	agent_must(&clients[0], WW_OK, "alloc " UNIT);
	agent_must(&clients[0], WW_OK, "alloc " UNIT " name=s/mine mode=0666");
	agent_must(&clients[0], WW_OK, "alloc " UNIT " name=s/kept kept");
	agent_must(&clients[1], WW_OK, "alloc " UNIT);
	agent_refuses(&clients[1], WW_ERR_QUOTA, "alloc_bytes_max", "alloc 1");
	child_kill(&clients[0]);
	agent_must(&server, WW_OK, "clients 1");
	MUST_EQUAL(0, life_of("s/mine"));
	MUST_EQUAL(WW_LIFE_KEPT, life_of("s/kept"));
	agent_must(&clients[1], WW_OK, "alloc " UNIT);
	agent_must(&clients[1], WW_OK, "alloc " UNIT);
	agent_must(&clients[1], WW_ERR_QUOTA, "alloc 1");
	agent_end(&clients[1]);
	agent_must(&server, WW_OK, "clients 0");
	scene_has_objects(2); /* the service, and what is kept */
	MUST_OK(ww_broker_remove(scene.broker, "s/kept"));
}

SCENE_CASE(service_killed_server_leaves_what_is_kept, NEEDS_VALUES)
{
	struct child client;
	struct child server;

	service_start_all(&server, &client, 1, "builtin");
	agent_must(&client, WW_OK, "alloc " UNIT);
	agent_must(&client, WW_OK, "alloc " UNIT " name=s/mine");
	agent_must(&client, WW_OK, "alloc " UNIT " name=s/kept kept");
	child_kill(&server);
	agent_must(&client, WW_ERR_PEER_LOST, "call nop");
	agent_end(&client);
	scene_has_objects(1);
	MUST_EQUAL(WW_LIFE_KEPT, life_of("s/kept"));
	MUST_OK(ww_broker_remove(scene.broker, "s/kept"));
}

/* Each user has a limit, and frees what it had made; the objects belong to the server's user. */
SCENE_CASE(service_users_have_limits_of_their_own, NEEDS_VALUES | NEEDS_ROOT)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	struct child clients[2];
	struct child server;

	agent_begin(&server, "service", "user 1000 1000");
	agent_must(&server, WW_OK, "create s mode=0666 builtin alloc_bytes=" UNIT);
	for (int i = 0; i < 2; i++) {
		agent_begin(&clients[i], "service", "user %d %d", 2000 + i, 2000 + i);
		agent_must(&clients[i], WW_OK, "open s");
	}
	agent_must(&clients[0], WW_OK, "alloc 1 name=s/kept mode=0666 kept");
	agent_must(&clients[0], WW_ERR_QUOTA, "alloc 1");
	MUST_OK(ww_broker_stat(scene.broker, "s/kept", &info));
	MUST_EQUAL(1000, info.uid);
	agent_does(&clients[1], "alloc 1", "get s/kept write");
	agent_must(&clients[1], WW_ERR_NOT_FOUND, "free");
	agent_must(&clients[1], WW_OK, "drop");
	MUST_EQUAL(WW_LIFE_KEPT, life_of("s/kept"));
	agent_must(&clients[0], WW_OK, "free");
	MUST_EQUAL(0, life_of("s/kept"));
	agent_must(&clients[0], WW_OK, "alloc 1");
}
