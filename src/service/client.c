/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - what a client knows of the service and its functions, and the areas of its files
 */
#include "service/client.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "service/service.h"
#include "sync/wait_result.h"

#define SERVICE_INFO_V1_BYTES  sizeof(struct ww_service_info)
#define FUNCTION_INFO_V1_BYTES offsetof(struct ww_function_info, batches)

/* What a result needs in a record, call/arguments.h. */
#define ITEM_BYTES   8
#define SCALAR_BYTES 8
#define ARRAY_BYTES  (WW_TOKEN_BYTES + 272)

/* --- area --- */

void ww_client_area_init(struct ww_client_area *area, uint32_t bytes)
{
	area->unit_count = bytes / WW_SERVICE_AREA_UNIT;
}

static void set_used(struct ww_client_area *area, uint32_t first, uint32_t count, bool used)
{
	for (uint32_t unit = first; unit < first + count; unit++) {
		uint64_t bit = UINT64_C(1) << unit % 64;

		if (used)
			area->used[unit / 64] |= bit;
		else
			area->used[unit / 64] &= ~bit;
	}
}

static uint32_t units_of(uint32_t bytes)
{
	return (bytes + WW_SERVICE_AREA_UNIT - 1) / WW_SERVICE_AREA_UNIT;
}

bool ww_client_area_take(struct ww_client_area *area, uint32_t bytes, uint32_t *out_at)
{
	uint32_t count = units_of(bytes);
	uint32_t free_units = 0;

	*out_at = 0;
	if (count == 0)
		return true;
	for (uint32_t unit = 0; unit < area->unit_count; unit++) {
		free_units = area->used[unit / 64] >> unit % 64 & 1 ? 0 : free_units + 1;
		if (free_units < count)
			continue;
		*out_at = (unit + 1 - count) * WW_SERVICE_AREA_UNIT;
		set_used(area, unit + 1 - count, count, true);
		return true;
	}
	return false;
}

void ww_client_area_give_back(struct ww_client_area *area, uint32_t at, uint32_t bytes)
{
	set_used(area, at / WW_SERVICE_AREA_UNIT, units_of(bytes), false);
}

/* --- the service --- */

static ww_status fail_lost(const struct ww_client *client, const char *what, const char *outcome)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	return ww_fail(WW_ERR_PEER_LOST,
		"%s %s: the service's server, %s, has ended; open the service anew", what, outcome,
		ww_wait_result_process(client->server, process));
}

bool ww_client_has_given_up(struct ww_client *client)
{
	if (!client->files_wanted)
		client->files_wanted = ww_service_page_files_wanted(&client->page);
	if (client->files_wanted)
		__atomic_store_n(&client->requests.header->has_left, 1, __ATOMIC_SEQ_CST);
	return client->files_wanted;
}

ww_status ww_client_fail_files(const struct ww_client *client, uint32_t wanted, const char *what)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	return ww_fail(WW_ERR_LIMIT,
		"%s is refused: the service's server, %s, may open too few files for one more client; raise its limit to %" PRIu32
		" for all that it may have (LimitNOFILE, ulimit -n)",
		what, ww_wait_result_process(client->server, process), wanted);
}

ww_status ww_client_fail_over(const struct ww_client *client, const char *what, const char *outcome)
{
	uint32_t join = client->is_observer
		? 0
		: __atomic_load_n(&client->replies.header->join, __ATOMIC_ACQUIRE);

	if (client->files_wanted)
		return ww_client_fail_files(client, client->files_wanted, what);
	if (join == WW_WIRE_SERVICE_JOIN_REFUSED_KEY)
		return ww_fail(WW_ERR_ACCESS,
			"%s is refused: the server does not know this client's key", what);
	if (join == WW_WIRE_SERVICE_JOIN_REFUSED_LIMIT)
		return ww_fail(WW_ERR_LIMIT,
			"%s is refused: the service has as many clients as it may have, or as this "
			"user may have (clients_max, clients_per_uid_max)",
			what);
	if (join == WW_WIRE_SERVICE_JOIN_FORGOTTEN)
		return ww_fail(WW_ERR_PEER_LOST,
			"%s %s: the server took this client for one that has ended, since its "
			"connection to the broker was cut; open the service anew",
			what, outcome);
	if (join > WW_WIRE_SERVICE_JOIN_JOINED)
		return ww_fail(WW_ERR_PROTOCOL,
			"%s is refused: the server says that this client's requests are not valid",
			what);
	if (ww_service_page_state(&client->page) == WW_WIRE_SERVICE_STATE_STOPPED)
		return ww_fail(WW_ERR_UNAVAILABLE, "%s %s: the server has closed the service", what,
			outcome);
	return fail_lost(client, what, outcome);
}

ww_status ww_client_service_info_get(ww_client *client, struct ww_service_info *info)
{
	struct ww_service_info ours = {.struct_size = sizeof(ours)};

	ww_try(ww_process_enter());
	ww_require(client && info, "ww_client_service_info_get: client or info is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	ww_service_describe(&client->page, &client->form, client->server, &ours);
	if (ours.state != WW_SERVICE_STOPPED && ww_peer_process_look(client->process))
		ours.state = WW_SERVICE_LOST;
	ours.uid = client->server_uid;
	return ww_params_write(info, &ours, sizeof(ours), SERVICE_INFO_V1_BYTES, "ww_service_info");
}

ww_status ww_client_function_info_get(ww_client *client, uint32_t index,
	struct ww_function_info *info)
{
	struct ww_function_info ours = {.struct_size = sizeof(ours)};

	ww_try(ww_process_enter());
	ww_require(client && info, "ww_client_function_info_get: client or info is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	if (index >= ww_service_page_count(&client->page))
		return WW_END;
	ww_service_describe_function(&client->page, index, &ours);
	return ww_params_write(info, &ours, sizeof(ours), FUNCTION_INFO_V1_BYTES,
		"ww_function_info");
}

static enum ww_await_look look_for_state(void *context)
{
	const struct ww_client *client = context;

	return ww_service_page_state(&client->page) != WW_WIRE_SERVICE_STATE_STARTING ||
			ww_client_is_lost(client)
		? WW_AWAIT_DONE
		: WW_AWAIT_SLEEP;
}

/* Waits for the state, or the count of functions, to change. @look: whether it has */
static ww_status await_page(struct ww_client *client, ww_await_fn look, void *context,
	uint64_t deadline_ns)
{
	ww_status status;

	do {
		status = ww_await(&client->page.header->wakes, look, context,
			ww_clock_sooner_ns(WW_PEER_LOOK_NS, deadline_ns));
		if (status == WW_TIMED_OUT && ww_peer_process_look(client->process))
			return WW_OK;
	} while (status == WW_TIMED_OUT && ww_clock_now_ns() < deadline_ns);
	return status;
}

ww_status ww_client_wait_ready(ww_client *client, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(client, "ww_client_wait_ready: client is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	(void)ww_peer_process_look(client->process);
	status = await_page(client, look_for_state, client, ww_clock_deadline_ns(timeout_ns));
	if (status != WW_OK)
		return status;
	if (ww_client_is_lost(client))
		return fail_lost(client, "the wait", "has no result");
	if (ww_service_page_state(&client->page) == WW_WIRE_SERVICE_STATE_READY)
		return WW_OK;
	return ww_fail(WW_ERR_UNAVAILABLE, "the service takes no calls any more");
}

/* --- functions --- */

ww_status ww_client_know_function(struct ww_client *client, uint32_t index,
	struct ww_client_function **out_function)
{
	struct ww_client_function *function = &client->functions[index];
	struct ww_function_info info = {.struct_size = sizeof(info)};
	const struct ww_signature *signature;

	if (index >= ww_service_page_count(&client->page))
		return ww_fail(WW_ERR_INVALID, "the service has no function %" PRIu32, index);
	*out_function = function;
	if (function->signature)
		return WW_OK;
	ww_service_describe_function(&client->page, index, &info);
	function->signature = malloc(sizeof(*function->signature));
	if (!function->signature)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a signature: out of memory");
	if (ww_signature_parse(info.signature, function->signature) != WW_OK) {
		free(function->signature);
		function->signature = NULL;
		return ww_fail(WW_ERR_PROTOCOL, "the service shows a function without a signature");
	}
	signature = function->signature;
	for (uint32_t i = 0; i < signature->result_count; i++) {
		const struct ww_parameter *result = &signature->results[i];

		function->results_bytes += ITEM_BYTES;
		if (result->kind == WW_ARGUMENT_SCALAR)
			function->results_bytes += SCALAR_BYTES;
		else if (result->kind == WW_ARGUMENT_BYTES)
			function->results_bytes += (result->bytes_max + 7) / 8 * 8;
		else
			function->results_bytes += ARRAY_BYTES;
		function->has_arrays |= result->kind == WW_ARGUMENT_ARRAY;
	}
	return WW_OK;
}

struct finding {
	const struct ww_client *client;
	const char *name;
	uint32_t index;
};

static bool find_function(struct finding *finding)
{
	const struct ww_service_page *page = &finding->client->page;
	uint32_t count = ww_service_page_count(page);

	for (uint32_t i = 0; i < count; i++) {
		char name[WW_FUNCTION_NAME_BYTES] = "";

		memcpy(name, page->functions[i].name, sizeof(name) - 1);
		finding->index = i;
		if (!strcmp(name, finding->name))
			return true;
	}
	return false;
}

static enum ww_await_look look_for_function(void *context)
{
	struct finding *finding = context;

	if (find_function(finding))
		return WW_AWAIT_DONE;
	return look_for_state((void *)finding->client);
}

ww_status ww_client_find(ww_client *client, const char *name, const char *signature,
	uint64_t timeout_ns, ww_cancel *cancel, uint32_t *out_function)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct finding finding = {client, name, 0};
	ww_status status = WW_OK;
	struct ww_signature_info wanted = {.struct_size = sizeof(wanted)};
	struct ww_client_function *function;

	ww_clear(out_function, 0);
	ww_try(ww_process_enter());
	ww_require(client && name && out_function,
		"ww_client_find: client, name or out_function is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	if (timeout_ns > 0)
		status = await_page(client, look_for_function, &finding,
			ww_clock_deadline_ns(timeout_ns));
	if (status != WW_OK)
		return status;
	if (!find_function(&finding)) {
		if (ww_client_is_lost(client))
			return fail_lost(client, "the look-up", "has no result");
		if (ww_service_page_state(&client->page) == WW_WIRE_SERVICE_STATE_STARTING)
			return ww_fail(WW_ERR_NOT_FOUND,
				"the service has no function '%.64s' yet, as it is still starting; wait for "
				"the function with a time limit",
				name);
		return ww_fail(WW_ERR_NOT_FOUND,
			"the service has no function '%.64s'; see `warpway functions`", name);
	}
	ww_try(ww_client_know_function(client, finding.index, &function));
	if (signature) {
		ww_try(ww_signature_info_get(signature, &wanted));
		if (strcmp(wanted.text, function->signature->text))
			return ww_fail(WW_ERR_MISMATCH,
				"the function is '%.100s', and '%.100s' was asked for",
				function->signature->text, wanted.text);
	}
	*out_function = finding.index;
	return WW_OK;
}
