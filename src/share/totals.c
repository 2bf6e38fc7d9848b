/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - the sums that a broker keeps, copied out of the packets in which they came
 */
#include <stdlib.h>
#include <string.h>

#include <warpway/monitor.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/choose_broker.h"
#include "share/snapshot.h"

#define BROKER_V1_BYTES  sizeof(struct ww_broker_totals)
#define USER_V1_BYTES    sizeof(struct ww_user_total)
#define DEVICE_V1_BYTES  sizeof(struct ww_device_total)
#define REQUEST_V1_BYTES sizeof(struct ww_request_total)

#define PAGES_MAX (UINT32_C(1) << 16)

struct ww_totals {
	struct ww_broker_totals broker;
	struct ww_rows users;    /* struct ww_user_total */
	struct ww_rows devices;  /* struct ww_device_total */
	struct ww_rows requests; /* struct ww_request_total */
};

static void free_p(void *pointer)
{
	free(*(void **)pointer);
}

WW_DEFINE_CLEANUP(struct ww_totals, ww_totals_free)

static ww_status add_user(struct ww_totals *totals, const struct ww_wire_user_total *user)
{
	struct ww_user_total *info = ww_rows_add(&totals->users, sizeof(*info));

	if (!info)
		return WW_ERR_NO_MEMORY;
	*info = (struct ww_user_total){
		.uid = user->uid,
		.bytes = user->bytes,
		.bytes_limit = user->bytes_limit,
		.host_bytes = user->host_bytes,
		.host_bytes_limit = user->host_bytes_limit,
		.objects = user->objects,
		.objects_limit = user->objects_limit,
		.fds = user->fds,
		.fds_limit = user->fds_limit,
		.holds = user->holds,
		.holds_limit = user->holds_limit,
		.connections = user->connections,
		.connections_limit = user->connections_limit,
		.waits = user->waits,
		.waits_limit = user->waits_limit,
		.watches = user->watches,
		.watches_limit = user->watches_limit,
		.holders = user->holders,
		.tokens = user->tokens,
		.deliveries = user->deliveries,
		.delivery_bytes = user->delivery_bytes,
		.requests = user->requests,
		.refused = user->refused,
	};
	return WW_OK;
}

static ww_status add_device(struct ww_totals *totals, const struct ww_wire_device_total *device)
{
	struct ww_device_total *info = ww_rows_add(&totals->devices, sizeof(*info));

	if (!info)
		return WW_ERR_NO_MEMORY;
	*info = (struct ww_device_total){
		.uid = device->uid,
		.kind = device->kind,
		.is_others = device->others,
		.objects = device->objects,
		.bytes = device->bytes,
		.removed = device->removed,
		.removed_bytes = device->removed_bytes,
	};
	memcpy(info->home_uuid, device->home_uuid, sizeof(info->home_uuid));
	return WW_OK;
}

static ww_status add_request(struct ww_totals *totals, const struct ww_wire_request_total *request)
{
	struct ww_request_total *info = ww_rows_add(&totals->requests, sizeof(*info));
	const char *name = request->request ? ww_wire_name(request->request) : "invalid";

	if (!info)
		return WW_ERR_NO_MEMORY;
	if (!name)
		name = "unknown";
	*info = (struct ww_request_total){.status = request->status, .count = request->count};
	memcpy(info->request, name, strnlen(name, sizeof(info->request) - 1));
	return WW_OK;
}

static void fill_broker(const struct ww_wire_total_listing *listing, struct ww_broker_totals *info)
{
	*info = (struct ww_broker_totals){
		.is_all = listing->all,
		.objects = listing->objects,
		.holders = listing->holders,
		.holds = listing->holds,
		.bytes = listing->bytes,
		.waits = listing->waits,
		.fds = listing->fds,
		.fds_limit = listing->fds_limit,
		.connections = listing->connections,
		.connections_limit = listing->connections_limit,
		.refused_connections = listing->refused_connections,
		.unlogged = listing->unlogged,
		.up_ns = listing->up_ns,
	};
}

static ww_status take_page(struct ww_totals *totals, const struct ww_request *page, bool is_first,
	uint64_t *out_next)
{
	struct ww_wire_total_listing listing;
	struct ww_wire_user_total user;
	struct ww_wire_device_total device;
	struct ww_wire_request_total request;

	if (ww_wire_decode_total_listing(page->answer, page->answer_bytes, page->version,
		    &listing) < 0)
		return ww_request_fail_answer(page);
	if (is_first)
		fill_broker(&listing, &totals->broker);
	while (ww_wire_user_total_next(&listing.users, &user))
		ww_try(add_user(totals, &user));
	while (ww_wire_device_total_next(&listing.devices, &device))
		ww_try(add_device(totals, &device));
	while (ww_wire_request_total_next(&listing.requests, &request))
		ww_try(add_request(totals, &request));
	*out_next = listing.next;
	return WW_OK;
}

static ww_status read_page(struct ww_broker *broker, struct ww_totals *totals, uint64_t cursor,
	void *room, uint64_t *out_next)
{
	const struct ww_wire_totals message = {.cursor = cursor};
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_TOTALS, WW_WIRE_TOTAL_LISTING, &message);
	request.answer = room;
	request.room = WW_WIRE_PACKET_BYTES;
	ww_try(ww_broker_client_ask(broker, &request));
	return take_page(totals, &request, cursor == 0, out_next);
}

static ww_status read_pages(struct ww_broker *broker, struct ww_totals *totals, void *room)
{
	uint64_t cursor = 0;
	uint64_t next = 0;

	for (uint32_t pages = 0; pages < PAGES_MAX; pages++) {
		ww_try(read_page(broker, totals, cursor, room, &next));
		if (next == 0)
			return WW_OK;
		if (next <= cursor)
			break;
		cursor = next;
	}
	return ww_fail(WW_ERR_PROTOCOL, "the broker's list of users does not end");
}

ww_status ww_totals_create(ww_broker *broker, ww_totals **out_totals)
{
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	WW_CLEANUP(ww_totals_free_p) struct ww_totals *totals = NULL;
	WW_CLEANUP(free_p) void *room = NULL;

	ww_clear(out_totals, NULL);
	ww_try(ww_process_enter());
	ww_require(out_totals, "ww_totals_create: out_totals is NULL");
	totals = calloc(1, sizeof(*totals));
	room = malloc(WW_WIRE_PACKET_BYTES);
	if (!totals || !room)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot ask for totals: out of memory");
	ww_try(ww_choose_broker(&broker, &opened, 0));
	ww_try(read_pages(broker, totals, room));
	*out_totals = ww_steal(totals);
	return WW_OK;
}

ww_totals *ww_totals_free(ww_totals *totals)
{
	if (!totals)
		return NULL;
	free(totals->users.items);
	free(totals->devices.items);
	free(totals->requests.items);
	free(totals);
	return NULL;
}

ww_status ww_totals_broker(ww_totals *totals, struct ww_broker_totals *info)
{
	ww_try(ww_process_enter());
	ww_require(totals && info, "ww_totals_broker: totals or info is NULL");
	ww_try(ww_params_check(info, BROKER_V1_BYTES, "ww_broker_totals"));
	return ww_params_write(info, &totals->broker, sizeof(totals->broker), BROKER_V1_BYTES,
		"ww_broker_totals");
}

ww_status ww_totals_user(ww_totals *totals, size_t index, struct ww_user_total *info)
{
	ww_try(ww_process_enter());
	ww_require(totals && info, "ww_totals_user: totals or info is NULL");
	return ww_rows_get(&totals->users, index, sizeof(*info), info, USER_V1_BYTES,
		"ww_user_total");
}

ww_status ww_totals_device(ww_totals *totals, size_t index, struct ww_device_total *info)
{
	ww_try(ww_process_enter());
	ww_require(totals && info, "ww_totals_device: totals or info is NULL");
	return ww_rows_get(&totals->devices, index, sizeof(*info), info, DEVICE_V1_BYTES,
		"ww_device_total");
}

ww_status ww_totals_request(ww_totals *totals, size_t index, struct ww_request_total *info)
{
	ww_try(ww_process_enter());
	ww_require(totals && info, "ww_totals_request: totals or info is NULL");
	return ww_rows_get(&totals->requests, index, sizeof(*info), info, REQUEST_V1_BYTES,
		"ww_request_total");
}
