/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_files.c - what a server pays for a client, and a server that may open few files
 *
 * The clients are of this process, so that the server has nothing of them but what they bring.
 */
#include <string.h>

#include "integration/service.h"
#include "support/broker.h"

#define FILES_LEFT   16
#define CLIENTS_MOST 16
#define WARM         4
#define COUNTED      64
#define CLIENT_FILES 2
#define KIB          INT64_C(1024)
#define CLIENT_BYTES (64 * KIB)

static ww_status call_nop(ww_client *client)
{
	uint32_t nop;

	MUST_OK(ww_client_find(client, "nop", NULL, 0, NULL, &nop));
	return ww_client_call(client, nop, NULL, 0, NULL, WW_FOREVER, NULL, NULL);
}

/* Clients that have called, until one is refused. Return: how many there are. */
static int open_until_refused(ww_client **clients)
{
	ww_status status = WW_OK;
	int count = 0;

	while (status == WW_OK) {
		MUST(count < CLIENTS_MOST);
		status = ww_client_open(scene.broker, "s", NULL, 0, NULL, &clients[count]);
		if (status == WW_OK)
			status = call_nop(clients[count]);
		if (status == WW_OK)
			count++;
		else
			clients[count] = ww_client_unref(clients[count]);
	}
	MUST_EQUAL(WW_ERR_LIMIT, status);
	MUST(strstr(ww_error_last()->message, "may open too few files"));
	MUST(strstr(ww_error_last()->message, "ulimit -n"));
	return count;
}

/* The server says that it has room again within some tenths of a second. */
static void open_when_there_is_room(ww_client **out_client)
{
	ww_status status;

	do {
		status = ww_client_open(scene.broker, "s", NULL, 0, NULL, out_client);
		if (status == WW_OK && (status = call_nop(*out_client)) != WW_OK)
			*out_client = ww_client_unref(*out_client);
		MUST(status == WW_OK || status == WW_ERR_LIMIT);
	} while (status != WW_OK);
}

SCENE_CASE(service_of_few_files_refuses_clients, NEEDS_VALUES)
{
	ww_client *clients[CLIENTS_MOST] = {NULL};
	struct child victim;
	struct child server;
	int count;

	service_start_all(&server, &victim, 1, "");
	agent_must(&victim, WW_OK, "many 10");
	agent_must(&server, WW_OK, "files %d", FILES_LEFT);
	count = open_until_refused(clients);
	MUST(count > 0);
	MUST(open_until_refused(&clients[count]) == 0);
	agent_must(&victim, WW_OK, "many 10");
	MUST_OK(call_nop(clients[0]));

	/* One that leaves makes room. */
	clients[0] = ww_client_unref(clients[0]);
	open_when_there_is_room(&clients[0]);

	/* So does a higher limit. */
	agent_must(&server, WW_OK, "files 0 all");
	open_when_there_is_room(&clients[count]);
	for (int i = 0; i <= count; i++)
		ww_client_unref(clients[i]);
	agent_must(&victim, WW_OK, "many 10");
}

/* Those of before are warm: what the server has once for all clients, it has. */
static void open_and_call(ww_client **clients, int count)
{
	for (int i = 0; i < count; i++) {
		MUST_OK(ww_client_open(scene.broker, "s", NULL, 0, NULL, &clients[i]));
		MUST_OK(call_nop(clients[i]));
	}
}

SCENE_CASE(service_client_costs_little, NEEDS_VALUES)
{
	ww_client *clients[WARM + COUNTED];
	struct child server;
	int64_t grown;
	int files;

	service_start_all(&server, NULL, 0, "");
	open_and_call(clients, WARM);
	grown = (int64_t)process_memory_bytes(server.pid);
	files = process_descriptors(server.pid);
	open_and_call(&clients[WARM], COUNTED);
	files += COUNTED * CLIENT_FILES;
	(void)COMES_TRUE(process_descriptors(server.pid) == files);
	MUST_EQUAL(files, process_descriptors(server.pid));
	grown = (int64_t)process_memory_bytes(server.pid) - grown;
	check_note("of a client the server has %.1f KiB", (double)grown / COUNTED / KIB);
	if (grown > CLIENT_BYTES * COUNTED * check_slowness())
		FAIL("%d clients cost %lld bytes", COUNTED, (long long)grown);
	for (int i = 0; i < WARM + COUNTED; i++)
		ww_client_unref(clients[i]);
}
