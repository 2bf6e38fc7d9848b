/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open.c - becoming a client of a service, by name or token
 *
 * A client makes its requests and its replies, and puts them into an object of its own inside the
 * service's, which only the server can have (mode 0600; the broker lets the creator of the outer
 * object have what is inside). From then on the client calls, whether the server has seen it or
 * not. An observer puts nothing. Server and clients have a pidfd of each other
 * (group/peer_process.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "service/client.h"
#include "service/service.h"
#include "share/call_limit.h"
#include "share/choose_broker.h"
#include "share/object_info.h"
#include "share/sync_object.h"
#include "share/token_import.h"
#include "wire/name.h"

#define PARAMS_V1_BYTES sizeof(struct ww_client_params)
#define CLIENT_MODE     0600 /* the server and this user */
#define NS_PER_MS       UINT64_C(1000000)
#define OBSERVER_FDS    2 /* the signal page, the service's page; then the pidfd */
#define CALLER_FDS      4 /* and the bell, and the key */

/* --- life --- */

ww_status ww_client_new(const struct ww_wire_service_ref *form, struct ww_broker *broker,
	struct ww_client **out_client)
{
	struct ww_client *client = calloc(1, sizeof(*client));
	ww_status status;
	uint32_t count;

	if (!client)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a client: out of memory");
	ww_ref_init(&client->ref);
	ww_list_init(&client->free_tickets);
	client->form = *form;
	client->broker = ww_broker_ref(broker);
	ww_client_area_init(&client->arguments, form->arguments_bytes);
	ww_client_area_init(&client->results, form->results_bytes);
	count = client->form.calls_max;
	client->functions = calloc(client->form.functions_max, sizeof(*client->functions));
	client->slots = calloc(count, sizeof(*client->slots));
	client->free_slots = calloc(count, sizeof(*client->free_slots));
	client->record = malloc(WW_CALL_RECORD_MAX + WW_TOKEN_BYTES);
	client->values = calloc(1, sizeof(*client->values));
	if (!client->functions || !client->slots || !client->free_slots || !client->record ||
		!client->values) {
		status = ww_fail(WW_ERR_NO_MEMORY, "cannot keep a client: out of memory");
	} else {
		client->free_count = count;
		for (uint32_t i = 0; i < count; i++)
			client->free_slots[i] = count - 1 - i;
		status = WW_OK;
	}
	if (status == WW_OK)
		*out_client = client;
	else
		ww_client_free(client);
	return status;
}

void ww_client_free(struct ww_client *client)
{
	struct ww_list *link;

	if (client->requests.mapping)
		__atomic_store_n(&client->requests.header->has_left, 1, __ATOMIC_RELEASE);
	while ((link = ww_list_take_first(&client->free_tickets))) {
		ww_ticket *ticket = ww_container(link, ww_ticket, link);

		free(ticket->record);
		free(ticket->results);
		free(ticket);
	}
	for (uint32_t i = 0; client->functions && i < client->form.functions_max; i++)
		free(client->functions[i].signature);
	for (uint32_t i = 0; client->slots && i < client->form.calls_max; i++) {
		ww_client_holds_release(client->slots[i].holds);
		free(client->slots[i].holds);
	}
	ww_client_holds_release(client->holds);
	free(client->holds);
	free(client->lane_function.signature);
	free(client->functions);
	free(client->slots);
	free(client->free_slots);
	free(client->record);
	free(client->values);
	free(client->tokens);
	if (client->keeps_thread)
		ww_eventfd_thread_leave();
	ww_service_requests_fini(&client->requests);
	ww_service_replies_fini(&client->replies);
	ww_service_bell_fini(&client->bell);
	ww_service_page_fini(&client->page);
	ww_timeline_drop(client->timeline);
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++)
		ww_timeline_drop(client->lane_timelines[i]);
	ww_signal_map_unref(client->server);
	ww_peer_process_unref(client->process);
	ww_attachments_fini(&client->object);
	ww_broker_unref(client->broker);
	ww_client_unref(client->next);
	free(client->name);
	free(client);
}

ww_client *ww_client_ref(ww_client *client)
{
	if (client)
		ww_ref_get(&client->ref);
	return client;
}

ww_client *ww_client_unref(ww_client *client)
{
	if (!client || !ww_ref_put(&client->ref))
		return NULL;
	ww_client_free(client);
	ww_deferred_reclaim();
	return NULL;
}

/* --- parts --- */

static ww_status open_files(struct ww_client *client, const struct ww_get_reply *grant)
{
	const struct ww_wire_service_ref *form = &client->form;
	const struct ww_service_size size = ww_service_size_of(form);
	const int *fds = grant->request.fds_come;
	size_t count = client->is_observer ? OBSERVER_FDS : CALLER_FDS;

	if (grant->request.fds_come_count < count)
		return ww_fail(WW_ERR_PROTOCOL, "the service's object lacks a descriptor");
	ww_try(ww_get_reply_map_page(grant, form->page_bytes, form->page_id, &client->server));
	ww_try(ww_service_page_import(&client->page, fds[1], form->service_id, &size));
	ww_try(ww_peer_process_get(grant, count, &client->process));
	if (client->is_observer)
		return WW_OK;
	ww_try(ww_service_bell_import(&client->bell, fds[2], form->service_id));
	ww_try(ww_service_requests_create(&client->requests, form->service_id, &size));
	ww_try(ww_service_replies_create(&client->replies, form->service_id, &size));
	return ww_service_key_import(fds[3], form->service_id, client->requests.header->key);
}

static ww_status put_client(struct ww_client *client, uint32_t gid)
{
	struct ww_signal_map *page = client->timeline->page;
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	struct ww_wire_service_client_ref ref = {.page_bytes = page->cpu->bytes};
	char what[32];
	uint64_t number;

	ww_sync_object_request_init(&request, WW_OBJECT_SERVICE, page->id, NULL);
	request.put.state = WW_STATE_SHARED;
	request.put.mode = CLIENT_MODE;
	request.put.gid = gid ? gid : WW_GID_OWN;
	/* No other client ever has this name. */
	ww_try(ww_random_bytes(&number, sizeof(number)));
	snprintf(what, sizeof(what), "client-%016" PRIx64, number);
	ww_service_name(&client->form, what, (char *)request.put.name);
	ww_try(ww_sync_object_add_page(&request, page));
	request.put.fd_access[0] = WW_PUT_TO_READERS | WW_PUT_TO_WRITERS;
	ww_try(ww_put_request_add_file(&request, client->requests.mapping, WW_ACCESS_READ,
		WW_PUT_TO_WRITERS));
	ww_try(ww_put_request_add_file(&request, client->replies.mapping, WW_ACCESS_WRITE,
		WW_PUT_TO_WRITERS));
	request.put.bytes = request.host_bytes;
	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	ww_service_client_ref_write(&ref, request.put.description);
	request.put.description_bytes = WW_SERVICE_CLIENT_REF_BYTES;
	return ww_peer_process_put(&request, &client->timeline->attachments, client->broker,
		WW_PUT_TO_WRITERS);
}

static ww_status join(struct ww_get_reply *grant, const struct ww_client_params *params,
	struct ww_client **out_client)
{
	WW_CLEANUP(ww_client_free_p) struct ww_client *client = NULL;
	struct ww_wire_service_ref form;
	ww_status status;
	const struct ww_wire_granted *granted = &grant->granted;

	ww_try(ww_service_ref_read(granted->description, granted->description_bytes, &form));
	if (memcmp(form.service_id, granted->id, sizeof(granted->id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the service's description is that of another one");
	status = ww_client_new(&form, grant->broker, &client);
	if (status != WW_OK)
		return status;
	client->is_observer = params->flags & WW_CLIENT_OBSERVE;
	client->gid = params->gid;
	client->server_uid = grant->granted.uid;
	ww_try(open_files(client, grant));
	ww_get_reply_keep(grant, &client->object);
	if (!client->is_observer) {
		uint32_t wanted = ww_service_page_files_wanted(&client->page);

		ww_try(wanted ? ww_client_fail_files(client, wanted, "a client") : WW_OK);
		ww_try(ww_timeline_create_alone(&client->timeline));
		ww_try(put_client(client, params->gid));
	}
	*out_client = ww_steal(client);
	return WW_OK;
}

/* --- calls --- */

static ww_status read_params(const struct ww_client_params *params, struct ww_client_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_client_params"));
	if (ours->flags & ~WW_CLIENT_OBSERVE || ours->reserved)
		return ww_fail(WW_ERR_INVALID,
			"ww_client_params.flags has unknown bits: 0x%" PRIx32
			", or reserved is not 0",
			ours->flags);
	return WW_OK;
}

static uint8_t access_of(const struct ww_client_params *params)
{
	return params->flags & WW_CLIENT_OBSERVE ? WW_WIRE_ACCESS_READ : WW_WIRE_ACCESS_WRITE;
}

/*
 * The broker looks at the access first, and says of a sealed memory that it cannot be written.
 * Return: @status; WW_ERR_UNSUPPORTED, recorded: the object of this name is not a service.
 */
static ww_status explain(struct ww_broker *broker, const char *name, ww_status status)
{
	struct ww_object_info info = {.struct_size = sizeof(info)};
	struct ww_error record;

	if (status != WW_ERR_ACCESS)
		return status;
	ww_error_save(&record);
	if (ww_broker_stat(broker, name, &info) == WW_OK && info.kind != WW_OBJECT_SERVICE)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"'%.100s' is no service: it is of kind %s; use the call for that kind, or "
			"the name of a service",
			name, ww_object_kind_name((uint16_t)info.kind));
	ww_error_restore(&record);
	return status;
}

ww_status ww_client_open(ww_broker *broker, const char *name, const struct ww_client_params *params,
	uint64_t timeout_ns, ww_cancel *cancel, ww_client **out_client)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	struct ww_client_params ours;
	struct ww_call_limit limit;
	ww_status status;

	ww_clear(out_client, NULL);
	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_SERVICE);
	ww_try(ww_process_enter());
	ww_require(name && out_client, "ww_client_open: name or out_client is NULL");
	ww_try(ww_name_check(name));
	ww_try(read_params(params, &ours));
	message.access = access_of(&ours);
	ww_call_limit_begin(&limit, timeout_ns);
	ww_get_reply_set_name(&grant, &message, name, timeout_ns);
	status = ww_choose_broker(&grant.broker, &opened, 0);
	if (status == WW_OK) {
		status = ww_get_reply_ask(&grant);
		if (status == WW_OK)
			status = join(&grant, &ours, out_client);
		status = explain(grant.broker, name, status);
	}
	if (status == WW_OK) {
		/* The next server of the name is found by it when this one has ended. */
		(*out_client)->name = strdup(name);
		if (!(*out_client)->name)
			status = ww_fail(WW_ERR_NO_MEMORY, "cannot keep a client: out of memory");
	}
	if (status < 0)
		*out_client = ww_client_unref(*out_client);
	status = ww_call_limit_end(&limit, status);
	if (status == WW_TIMED_OUT) /* it has a record, since a caller can only pass it on */
		ww_fail(WW_TIMED_OUT,
			"cannot become a client of '%.100s': no service of that name came within "
			"%" PRIu64 " ms; start its server, or wait longer",
			name, timeout_ns / NS_PER_MS);
	return status;
}

ww_status ww_client_import(ww_broker *broker, const struct ww_token *token,
	const struct ww_client_params *params, ww_cancel *cancel, ww_client **out_client)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_IMPORT struct ww_import import;
	struct ww_client_params ours;
	ww_status status = read_params(params, &ours);

	ww_clear(out_client, NULL);
	ww_import_init(&import, WW_OBJECT_SERVICE,
		status == WW_OK ? access_of(&ours) : WW_ACCESS_READ);
	ww_try(ww_process_enter());
	ww_require(token && out_client, "ww_client_import: token or out_client is NULL");
	ww_try(status);
	ww_try(ww_import_ask(&import, broker, token));
	return join(&import.grant, &ours, out_client);
}
