/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_absent.c - clients whose page never says that they have ended, and whose pidfd is that
 * of a process that lives on: the server forgets them, since the broker says that they hold nothing
 *
 * The hostile client is a role, since it must end. It puts its objects by itself: the broker has
 * no last will for the page, so nothing on it ever changes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "integration/service.h"
#include "service/client.h"
#include "service/service.h"
#include "share/sync_object.h"

#define FORGED 2

/* What a forged client shows; kept until the role is killed. */
struct forged {
	ww_timeline *timeline;
	struct ww_service_requests requests;
	struct ww_service_replies replies;
	struct ww_attachments object;
};

static void add_fd(struct ww_put_request *offer, int fd, uint8_t whom)
{
	MUST(fd >= 0);
	offer->fds[offer->fd_count] = fd;
	offer->put.fd_access[offer->fd_count++] = whom;
}

static void add_file(struct ww_put_request *offer, struct ww_mapping *mapping, uint32_t access)
{
	int fd;

	MUST_OK(ww_mapping_export(mapping, access, &fd));
	offer->put.bytes += mapping->bytes;
	add_fd(offer, fd, WW_PUT_TO_WRITERS);
}

static void describe_forged(struct ww_put_request *offer, const struct ww_client *client,
	const struct ww_signal_map *page, int number)
{
	struct ww_wire_service_client_ref ref = {.page_bytes = page->cpu->bytes};
	char what[32];

	snprintf(what, sizeof(what), "client-forged-%d", number);
	ww_service_name(&client->form, what, (char *)offer->put.name);
	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	ww_service_client_ref_write(&ref, offer->put.description);
	offer->put.description_bytes = WW_SERVICE_CLIENT_REF_BYTES;
	offer->put.state = WW_STATE_SHARED;
	offer->put.mode = 0600;
	offer->put.gid = WW_GID_OWN;
}

static void put_forged(struct forged *forged, const struct ww_client *client, int number)
{
	const struct ww_service_size size = ww_service_size_of(&client->form);
	const uint8_t *service_id = client->form.service_id;
	WW_AUTO_PUT_REQUEST struct ww_put_request offer = {.fd_count = 0};
	int page_fd;

	MUST_OK(ww_timeline_create_alone(&forged->timeline));
	MUST_OK(ww_service_requests_create(&forged->requests, service_id, &size));
	MUST_OK(ww_service_replies_create(&forged->replies, service_id, &size));
	memcpy(forged->requests.header->key, client->requests.header->key,
		sizeof(forged->requests.header->key));
	ww_sync_object_request_init(&offer, WW_OBJECT_SERVICE, forged->timeline->page->id, NULL);
	describe_forged(&offer, client, forged->timeline->page, number);
	MUST_OK(ww_mapping_export(forged->timeline->page->cpu, WW_ACCESS_READ, &page_fd));
	offer.put.bytes = forged->timeline->page->cpu->bytes;
	add_fd(&offer, page_fd, WW_PUT_TO_READERS | WW_PUT_TO_WRITERS);
	add_file(&offer, forged->requests.mapping, WW_ACCESS_READ);
	add_file(&offer, forged->replies.mapping, WW_ACCESS_WRITE);
	add_fd(&offer, (int)syscall(SYS_pidfd_open, getppid(), 0), WW_PUT_TO_WRITERS);
	MUST_OK(ww_put_request_put(&offer, &forged->object, client->broker, 0));
}

ROLE(role_service_forger)
{
	static struct forged all[FORGED];
	ww_client *client;

	(void)count;
	(void)arguments;
	MUST_OK(ww_client_open(NULL, "s", NULL, 0, NULL, &client));
	for (int i = 0; i < FORGED; i++)
		put_forged(&all[i], client, i);
	ww_client_unref(client);
	role_tell("put");
	role_hear("nothing, since it is killed");
}

/* They take all places, and the next client still has one. */
SCENE_CASE(service_forged_client_is_forgotten, NEEDS_VALUES)
{
	struct child forger;
	struct child client;
	struct child server;

	service_start_all(&server, NULL, 0, "clients=2 idle");
	child_start(&forger, "role_service_forger", NULL);
	child_hear(&forger, "put");
	agent_does(&server, "serve", "clients 2");
	child_kill(&forger);
	scene_has_holders(2);
	service_start(&client, NULL);
	agent_does(&client, "open s", "many 10");
	agent_must(&server, WW_OK, "clients 1");
}
