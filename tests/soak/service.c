/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - services and their clients: every answer is that of the call it answers
 */
#include <string.h>

#include "soak/soak.h"
#include "support/service.h"

#define CLIENTS 2
#define TICKETS 8
#define NAMES   3

static ww_service *own;
static struct client {
	ww_client *client;
	bool is_evil;
	uint32_t add;
	uint32_t fail;
	uint32_t fill;
	uint64_t last; /* number of the last call */
} clients[CLIENTS];
static struct call {
	ww_ticket *ticket;
	bool is_evil;
	int64_t sum; /* that it must answer */
	bool fails;
	ww_memory *memory; /* that it fills */
	uint8_t byte;
} calls[TICKETS];

static void drop_call(struct call *call)
{
	ww_ticket_unref(call->ticket);
	ww_memory_unref(call->memory);
	*call = (struct call){NULL};
}

static void let_go(void)
{
	for (size_t i = 0; i < TICKETS; i++)
		drop_call(&calls[i]);
	for (size_t i = 0; i < CLIENTS; i++)
		clients[i].client = ww_client_unref(clients[i].client);
	own = ww_service_unref(own);
}

__attribute__((constructor)) static void register_let_go(void)
{
	soak_at_end(let_go);
}

/* Others may call it: whoever may see it may also write to it. */
OP(service_make, 4)
{
	const struct ww_service_params *params = WW_PARAMS(struct ww_service_params, .mode = 0666,
		.clients_max = 4 + draw_below(8), .calls_max = 8,
		.flags = draw_one_in(2) ? WW_PUT_REPLACE : 0,
		.keep_ns = draw_one_in(2) ? 10 * MS : 0);
	char name[NAME_BYTES];

	own = ww_service_unref(own);
	draw_name_to_make(name, "s", NAMES);
	if (DO(ALLOW(WW_ERR_EXISTS) | ALLOW(WW_ERR_QUOTA),
		    ww_service_create(soak.device, soak.broker, name, params, NULL, &own)) == WW_OK)
		service_offer_all(own, soak.device);
}

OP(service_serve, 24)
{
	if (own)
		DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_END),
			ww_service_serve(own, draw_wait_ns(5), NULL));
}

OP(service_drain, 1)
{
	if (own && draw_one_in(4))
		DO(0, ww_service_drain(own));
}

OP(service_export, 2)
{
	const struct ww_token_params params = draw_token_params();
	struct ww_token token;

	if (own &&
		DO(ALLOW(WW_ERR_QUOTA) | ALLOW(WW_ERR_NOT_FOUND),
			ww_service_export(own, WW_ACCESS_WRITE, &params, NULL, &token)) == WW_OK)
		soak_offer(TOKEN_SERVICE, &token, 0);
}

OP(client_open, 8)
{
	const uint64_t evil = ALLOW_ALL;
	struct client *client = &clients[draw_below(CLIENTS)];
	struct soak_offer offer;
	char name[NAME_BYTES];
	uint64_t allowed = ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_NOT_FOUND) | ALLOW(WW_ERR_ACCESS) |
		ALLOW(WW_ERR_QUOTA);
	ww_status status;

	client->client = ww_client_unref(client->client);
	client->last = 0;
	draw_name_to_get(name, "s", NAMES);
	client->is_evil = name_is_evil(name);
	if (soak_take(TOKEN_SERVICE, &offer) && draw_one_in(3)) {
		client->is_evil = false;
		status = DO(allowed,
			ww_client_import(soak.broker, &offer.token, NULL, NULL, &client->client));
	} else {
		status = DO(allowed | (client->is_evil ? evil : 0),
			ww_client_open(soak.broker, name, NULL, draw_wait_ns(5), NULL,
				&client->client));
	}
	allowed = client->is_evil ? evil : allowed | ALLOW(WW_ERR_PEER_LOST);
	if (status == WW_OK)
		status = DO(allowed,
			ww_client_find(client->client, "add", NULL, draw_wait_ns(5), NULL,
				&client->add));
	if (status == WW_OK)
		status = DO(allowed,
			ww_client_find(client->client, "fail", NULL, 0, NULL, &client->fail));
	if (status == WW_OK)
		status = DO(allowed,
			ww_client_find(client->client, "fill", NULL, 0, NULL, &client->fill));
	if (status != WW_OK)
		client->client = ww_client_unref(client->client);
}

#define FILL_BYTES 4096

/* A memory of its own for each: the server writes it. */
static void make_array(struct call *call, struct ww_value *value, struct ww_array *array)
{
	call->memory = memory_make(soak.device, WW_MEMORY_HOST, FILL_BYTES);
	call->byte = (uint8_t)(1 + draw_below(255));
	*array = (struct ww_array){.struct_size = sizeof(*array),
		.dtype = {WW_DTYPE_UINT, 8, 1},
		.ndim = 1};
	array->shape[0] = FILL_BYTES;
	array->strides[0] = 1;
	*value = value_memory(call->memory);
	value->array = array;
}

OP(client_submit, 20)
{
	struct client *client = &clients[draw_below(CLIENTS)];
	struct call *call = &calls[draw_below(TICKETS)];
	const struct ww_submit_params *params = WW_PARAMS(struct ww_submit_params,
		.lane = draw_below(4), .deadline_ns = draw_one_in(3) ? draw_below(20) * MS : 0,
		.depends_on = draw_one_in(4) ? client->last : 0);
	int64_t a = (int64_t)(draw_number() >> 8);
	struct ww_value values[2] = {value_i64(a), value_i64(7)};
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);
	uint32_t function = client->add;
	struct ww_array array;
	uint32_t count = 1 + draw_below(2);

	drop_call(call);
	if (!client->client)
		return;
	call->is_evil = client->is_evil;
	call->sum = a + (count == 2 ? 7 : 10);
	if (draw_one_in(6)) {
		function = client->fail;
		values[0] = value_i32(WW_ERR_GIVEN_UP);
		count = 1;
		call->fails = true;
	} else if (draw_one_in(4) && !client->is_evil) {
		function = client->fill;
		make_array(call, &values[0], &array);
		values[1] = value_u8(call->byte);
		count = 2;
	}
	if (DO(ALLOW(WW_TIMED_OUT) | ALLOW(WW_ERR_UNAVAILABLE) | ALLOW(WW_ERR_PEER_LOST) |
			    ALLOW(WW_ERR_LIMIT) | ALLOW(WW_ERR_QUOTA) |
			    (client->is_evil ? ALLOW_ALL : 0),
		    ww_client_submit(client->client, function, values, count, params,
			    draw_wait_ns(3), NULL, &call->ticket)) != WW_OK) {
		drop_call(call);
		return;
	}
	DO(0, ww_ticket_info_get(call->ticket, &info));
	client->last = info.number;
}

static void check_answer(struct call *call)
{
	uint8_t bytes[FILL_BYTES];

	if (call->is_evil || soak.is_forger)
		return;
	MUST(!call->fails);
	if (!call->memory) {
		MUST_EQUAL(call->sum, (int64_t)result_scalar(call->ticket, 0));
		return;
	}
	memory_get(call->memory, 0, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		MUST_EQUAL(call->byte, bytes[i]);
}

OP(client_wait, 24)
{
	struct call *call = &calls[draw_below(TICKETS)];
	uint64_t allowed = ALLOW(WW_NOT_READY) | ALLOW(WW_TIMED_OUT) | ALLOW(WW_CANCELLED) |
		ALLOW(WW_ERR_UNAVAILABLE) | ALLOW(WW_ERR_PEER_LOST) |
		ALLOW(WW_ERR_DEPENDENCY_FAILED) | ALLOW(WW_ERR_LIMIT);
	ww_status status;

	if (!call->ticket)
		return;
	if (draw_one_in(16))
		ww_ticket_cancel(call->ticket);
	if (call->fails)
		allowed |= ALLOW(WW_ERR_GIVEN_UP);
	status = DO(call->is_evil ? ALLOW_ALL : allowed,
		ww_ticket_wait(call->ticket, draw_wait_ns(5), NULL));
	if (status == WW_OK)
		check_answer(call);
	if (status != WW_NOT_READY)
		drop_call(call);
}

OP(client_close, 1)
{
	struct client *client = &clients[draw_below(CLIENTS)];

	client->client = ww_client_unref(client->client);
}
