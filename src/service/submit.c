/* SPDX-License-Identifier: Apache-2.0 */
/*
 * submit.c - making a call: checking and encoding its arguments, and publishing it
 *
 * Nothing is allocated for a call without arguments but its ticket, and that once.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/utf8.h"
#include "service/client.h"
#include "service/service.h"

#define PARAMS_V1_BYTES offsetof(struct ww_submit_params, after)

/* A call that is being made. */
struct submission {
	struct ww_client *client;
	struct ww_client_function *function;
	uint32_t index; /* of the function */
	struct ww_submit_params params;
	uint64_t depends[WW_SUBMIT_DEPENDS_MAX];
	uint32_t record_bytes; /* in client->record, with the token of params.after */
};

/* --- arguments --- */

/* Room for tokens, and for what they name. Return: WW_OK; WW_ERR_NO_MEMORY. */
static ww_status make_token_room(struct ww_client *client)
{
	if (!client->tokens)
		client->tokens = malloc(WW_CALL_ARGS_MAX * sizeof(*client->tokens));
	if (!client->holds)
		client->holds = calloc(1, sizeof(*client->holds));
	if (!client->tokens || !client->holds)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a token: out of memory");
	return WW_OK;
}

/* The call keeps what it names until it is done. */
static void keep(struct ww_client *client, ww_memory *memory, ww_timeline *timeline)
{
	struct ww_client_holds *holds = client->holds;

	holds->memories[holds->count] = memory ? ww_memory_ref(memory) : NULL;
	holds->timelines[holds->count] = timeline ? ww_timeline_ref(timeline) : NULL;
	holds->count++;
}

static ww_status read_memory(struct ww_client *client, uint32_t index, const struct ww_value *value,
	uint32_t access, struct ww_call_arg *out_arg)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = access,
		.escrow_ns = WW_ESCROW_NONE,
	};
	struct ww_token *token;

	ww_try(make_token_room(client));
	token = &client->tokens[index];
	ww_try(ww_memory_export(value->memory, client->broker, &params, NULL, token));
	keep(client, value->memory, NULL);
	return ww_call_arg_array(token, value->array, out_arg);
}

/* The access that a parameter wants; of one too many, reading. */
static uint32_t access_of(const struct ww_signature *signature, uint32_t index)
{
	uint32_t access = index < signature->parameter_count ? signature->parameters[index].access
							     : 0;

	return access ? access : WW_ACCESS_READ;
}

static ww_status read_value(const struct submission *submission, uint32_t index,
	const struct ww_value *value, struct ww_call_arg *out_arg)
{
	struct ww_client *client = submission->client;

	switch (value->kind) {
	case WW_ARGUMENT_NONE:
		ww_call_arg_none(out_arg);
		return WW_OK;
	case WW_ARGUMENT_SCALAR:
		ww_call_arg_scalar(value->dtype, value->scalar, out_arg);
		return WW_OK;
	case WW_ARGUMENT_BYTES:
		if (value->bytes > WW_CALL_BYTES_MAX)
			return ww_fail(WW_ERR_LIMIT,
				"an argument of %" PRIu64 " bytes is more than %d; pass a memory",
				value->bytes, WW_CALL_BYTES_MAX);
		ww_call_arg_bytes(value->data, (uint32_t)value->bytes, out_arg);
		return WW_OK;
	case WW_ARGUMENT_ARRAY:
		if (value->memory)
			return read_memory(client, index, value,
				access_of(submission->function->signature, index), out_arg);
		if (value->token)
			return ww_call_arg_array(value->token, value->array, out_arg);
		return ww_fail(WW_ERR_INVALID, "an array has neither a memory nor a token");
	case WW_ARGUMENT_TIMELINE:
		if (value->timeline) {
			const struct ww_token_params params = {
				.struct_size = sizeof(params),
				.escrow_ns = WW_ESCROW_NONE,
			};
			struct ww_token *token;

			ww_try(make_token_room(client));
			token = &client->tokens[index];
			ww_try(ww_timeline_export(value->timeline, client->broker, &params, NULL,
				token));
			keep(client, NULL, value->timeline);
			return ww_call_arg_timeline(token, out_arg);
		}
		if (value->token)
			return ww_call_arg_timeline(value->token, out_arg);
		return ww_fail(WW_ERR_INVALID, "a timeline has neither an object nor a token");
	default:
		return ww_fail(WW_ERR_INVALID, "there is no kind %" PRIu32 " of a value",
			value->kind);
	}
}

/* Encodes them into client->record. */
static ww_status read_values(struct submission *submission, const struct ww_value *values,
	uint32_t count)
{
	const struct ww_signature *signature = submission->function->signature;
	struct ww_client *client = submission->client;
	struct ww_call_args *args = client->values;
	struct ww_signature_binding binding;
	size_t bytes;

	if (count == 0 && signature->parameter_count == 0)
		return WW_OK;
	if (count > WW_CALL_ARGS_MAX)
		return ww_fail(WW_ERR_MISMATCH, "a call cannot have %" PRIu32 " arguments", count);
	args->count = count;
	for (uint32_t i = 0; i < count; i++)
		ww_try(read_value(submission, i, &values[i], &args->items[i]));
	ww_try(ww_signature_bind(signature, args, &binding));
	ww_try(ww_call_args_encode(args, client->record, WW_CALL_RECORD_MAX, &bytes));
	submission->record_bytes = (uint32_t)bytes;
	return WW_OK;
}

static ww_status read_arguments(struct submission *submission, const struct ww_value *values,
	uint32_t count)
{
	const struct ww_submit_params *params = &submission->params;
	struct ww_client *client = submission->client;
	struct ww_call_arg unused;
	struct ww_token token;

	ww_try(read_values(submission, values, count));
	/* The token of the timeline that the call starts after goes behind its arguments. */
	if (params->after_value != 0) {
		if (params->after) {
			const struct ww_token_params how = {
				.struct_size = sizeof(how),
				.escrow_ns = WW_ESCROW_NONE,
			};

			ww_try(make_token_room(client));
			ww_try(ww_timeline_export(params->after, client->broker, &how, NULL,
				&token));
			keep(client, NULL, params->after);
		} else {
			token = *params->after_token;
			ww_try(ww_call_arg_timeline(&token, &unused));
		}
		memcpy(client->record + submission->record_bytes, &token, sizeof(token));
		submission->record_bytes += WW_TOKEN_BYTES;
	}
	if (submission->record_bytes > client->form.arguments_bytes ||
		submission->function->results_bytes > client->form.results_bytes)
		return ww_fail(WW_ERR_LIMIT,
			"the call needs %" PRIu32 " bytes for arguments and %" PRIu32
			" for results; the service has room for %" PRIu32 " and %" PRIu32
			" (arguments_bytes, results_bytes)",
			submission->record_bytes, submission->function->results_bytes,
			client->form.arguments_bytes, client->form.results_bytes);
	return WW_OK;
}

/* --- room --- */

/* A free slot, with room in both areas. Return: false: there is none now. */
static bool take_slot(const struct submission *submission, uint32_t *out_slot)
{
	struct ww_client *client = submission->client;
	struct ww_client_slot *slot;
	uint32_t arguments_at;
	uint32_t results_at;

	if (client->free_count == 0 ||
		!ww_client_area_take(&client->arguments, submission->record_bytes, &arguments_at))
		return false;
	if (!ww_client_area_take(&client->results, submission->function->results_bytes,
		    &results_at)) {
		ww_client_area_give_back(&client->arguments, arguments_at,
			submission->record_bytes);
		return false;
	}
	*out_slot = client->free_slots[--client->free_count];
	slot = &client->slots[*out_slot];
	slot->function = submission->index;
	slot->arguments_at = arguments_at;
	slot->arguments_bytes = submission->record_bytes;
	slot->results_at = results_at;
	slot->results_bytes = submission->function->results_bytes;
	slot->is_reaped = false;
	if (client->holds && client->holds->count > 0) {
		struct ww_client_holds *empty = slot->holds;

		slot->holds = client->holds;
		client->holds = empty;
	}
	return true;
}

static enum ww_await_look look_for_room(void *context)
{
	struct ww_client *client = context;

	for (uint32_t i = 0; i < client->form.calls_max; i++) {
		const struct ww_client_slot *slot = &client->slots[i];

		if (slot->call && !slot->is_reaped &&
			ww_service_replies_is_done(&client->replies, i, slot->call))
			return WW_AWAIT_DONE;
	}
	return ww_client_is_over(client) ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
}

/* A function's name, as the server's page has it. */
static void read_name(const struct ww_client *client, uint32_t function,
	char out[WW_FUNCTION_NAME_BYTES])
{
	memset(out, 0, WW_FUNCTION_NAME_BYTES);
	if (function < ww_service_page_count(&client->page))
		memcpy(out, client->page.functions[function].name, WW_FUNCTION_NAME_BYTES - 1);
	if (!out[0] || !ww_utf8_is_plain(out))
		memcpy(out, "a function", sizeof("a function"));
}

static ww_status find_room(const struct submission *submission, uint64_t deadline_ns,
	uint32_t *out_slot)
{
	struct ww_client *client = submission->client;
	ww_status status = WW_OK;
	char name[WW_FUNCTION_NAME_BYTES];

	while (status == WW_OK) {
		uint64_t until_ns;

		if (ww_client_is_over(client))
			return ww_client_fail_over(client, "the call", "was not made");
		if (take_slot(submission, out_slot))
			return WW_OK;
		if (ww_client_reap_all(client) > 0)
			continue;
		/* Nothing is under way that could make room. */
		if (client->free_count + client->kept_count == client->form.calls_max)
			return ww_fail(WW_ERR_LIMIT,
				"there is no room for the call: %" PRIu32
				" tickets with arrays as results keep it; release one",
				client->kept_count);
		until_ns = ww_clock_deadline_ns(WW_PEER_LOOK_NS);
		if (until_ns > deadline_ns)
			until_ns = deadline_ns;
		status = ww_client_await_reply(client, look_for_room, client, until_ns);
		if (status == WW_TIMED_OUT)
			status = ww_peer_process_look(client->process) || until_ns < deadline_ns
				? WW_OK
				: status;
	}
	if (status != WW_TIMED_OUT)
		return status;
	read_name(client, submission->index, name);
	return ww_fail(WW_TIMED_OUT,
		"the call of '%s' was not made: there was no room in time beside %" PRIu32
		" calls that have not ended, of at most %" PRIu32
		" (calls_max); wait for one of them, or wait longer",
		name, client->form.calls_max - client->free_count - client->kept_count,
		client->form.calls_max);
}

/* --- publish --- */

static void publish(const struct submission *submission, uint32_t index, ww_ticket *ticket)
{
	struct ww_client *client = submission->client;
	struct ww_layout_service_request *request = &client->requests.slots[index];
	struct ww_client_slot *slot = &client->slots[index];

	slot->call = ++client->calls;
	client->lane_calls[submission->params.lane]++;
	if (submission->index != WW_SERVICE_LANE_FUNCTION)
		client->lane_last[submission->params.lane] = slot->call;
	slot->ticket = ticket;
	request->call = slot->call;
	request->function = submission->index;
	request->lane = submission->params.lane;
	request->hash = submission->function->signature->hash;
	request->deadline_ns = submission->params.deadline_ns
		? ww_clock_deadline_ns(submission->params.deadline_ns)
		: WW_NEVER;
	request->arguments_at = slot->arguments_at;
	request->arguments_bytes = slot->arguments_bytes;
	request->results_at = slot->results_at;
	request->results_bytes = slot->results_bytes;
	request->depends_on = submission->depends[0];
	memcpy(request->depends_more, &submission->depends[1], sizeof(request->depends_more));
	request->after = submission->params.after_value;
	if (slot->arguments_bytes > 0)
		memcpy(client->requests.area + slot->arguments_at, client->record,
			slot->arguments_bytes);
	ww_service_requests_publish(&client->requests, index, slot->call);
	ww_service_bell_ring(&client->bell, &client->page, &client->replies);
}

static ww_status check_dependency(const struct ww_client *client, uint64_t on)
{
	if (on > client->calls)
		return ww_fail(WW_ERR_INVALID,
			"a call cannot depend on call %" PRIu64 ", which was not made yet", on);
	if (on && client->calls - on >= WW_SERVICE_DEPENDS_MAX - 1)
		return ww_fail(WW_ERR_INVALID,
			"a call cannot depend on call %" PRIu64
			", which is more than %d calls ago; wait for its ticket instead",
			on, WW_SERVICE_DEPENDS_MAX - 1);
	return WW_OK;
}

static bool is_named(const struct submission *submission, uint64_t on, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (submission->depends[i] == on)
			return true;
	}
	return false;
}

static ww_status add_dependency(struct submission *submission, uint64_t on, uint32_t *count)
{
	if (on == 0 || is_named(submission, on, *count))
		return WW_OK;
	if (*count == WW_SUBMIT_DEPENDS_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a call cannot depend on more than %d others; have a call of a function that "
			"does nothing depend on some of them",
			WW_SUBMIT_DEPENDS_MAX);
	submission->depends[(*count)++] = on;
	return WW_OK;
}

/* The calls that it depends on. */
static ww_status read_dependencies(struct submission *submission)
{
	const struct ww_submit_params *params = &submission->params;
	uint32_t count = 0;

	ww_try(check_dependency(submission->client, params->depends_on));
	ww_try(add_dependency(submission, params->depends_on, &count));
	if (params->flags & WW_SUBMIT_CHAIN) /* the server knows it, however long ago it was */
		ww_try(add_dependency(submission, submission->client->lane_last[params->lane],
			&count));
	for (uint32_t i = 0; i < params->depends_more_count; i++) {
		ww_try(check_dependency(submission->client, params->depends_more[i]));
		ww_try(add_dependency(submission, params->depends_more[i], &count));
	}
	return WW_OK;
}

static ww_status read_params(const struct ww_submit_params *params, struct ww_submit_params *ours)
{
	memset(ours, 0, sizeof(*ours));
	if (params)
		ww_try(ww_params_read(ours, sizeof(*ours), params, PARAMS_V1_BYTES,
			"ww_submit_params"));
	if (ours->lane >= WW_SERVICE_LANES_MAX)
		return ww_fail(WW_ERR_INVALID, "there is no lane %" PRIu32 "; a client has %d",
			ours->lane, WW_SERVICE_LANES_MAX);
	if (ours->depends_more_count && !ours->depends_more)
		return ww_fail(WW_ERR_INVALID,
			"depends_more is NULL, and depends_more_count is not 0");
	if (ours->reserved)
		return ww_fail(WW_ERR_INVALID, "ww_submit_params.reserved is not 0");
	if (ours->flags & ~WW_SUBMIT_CHAIN)
		return ww_fail(WW_ERR_INVALID,
			"flags 0x%" PRIx64
			" of a call are unknown, or for calls that are waited for only",
			ours->flags);
	if (ours->after_value > WW_TIMELINE_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a call cannot start after value %" PRIu64 ": the highest value is 2^62",
			ours->after_value);
	if (ours->after_value && !ours->after && !ours->after_token)
		return ww_fail(WW_ERR_INVALID,
			"a call cannot start after value %" PRIu64
			" alone: set after, or after_token, to the timeline",
			ours->after_value);
	return WW_OK;
}

static ww_status check_open(const struct ww_client *client)
{
	if (client->is_observer)
		return ww_fail(WW_ERR_ACCESS,
			"cannot call: this client observes; open the service without "
			"WW_CLIENT_OBSERVE");
	if (ww_service_page_state(&client->page) == WW_WIRE_SERVICE_STATE_DRAINING)
		return ww_fail(WW_ERR_UNAVAILABLE, "the service %s: it takes no more calls",
			ww_signal_page_is_replaced(client->server->header)
				? "was replaced by another one of its name"
				: "is draining");
	return WW_OK;
}

static ww_status submit(struct submission *submission, const struct ww_value *arguments,
	uint32_t count, uint64_t deadline_ns, ww_ticket **out_ticket)
{
	struct ww_client *client = submission->client;
	ww_ticket *ticket = NULL;
	uint32_t slot = 0;
	ww_status status;

	ww_client_holds_release(client->holds); /* of a call that was not made */
	ww_try(read_arguments(submission, arguments, count));
	if (out_ticket) {
		ticket = ww_ticket_new(client);
		if (!ticket)
			return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a ticket: out of memory");
	}
	status = find_room(submission, deadline_ns, &slot);
	if (status != WW_OK) {
		ww_ticket_unref(ticket);
		return status;
	}
	publish(submission, slot, ticket);
	if (ticket) {
		ticket->call = client->calls;
		ticket->value = client->lane_calls[submission->params.lane];
		ticket->deadline_ns = client->requests.slots[slot].deadline_ns;
		ticket->function = submission->index;
		ticket->lane = submission->params.lane;
		ticket->slot = slot;
		ticket->has_slot = true;
		*out_ticket = ticket;
	}
	return WW_OK;
}

static ww_status check_and_submit(ww_client *client, uint32_t function,
	const struct ww_value *arguments, uint32_t count, const struct ww_submit_params *params,
	uint64_t deadline_ns, ww_ticket **out_ticket)
{
	struct submission submission = {.client = client, .index = function};

	ww_try(ww_process_enter());
	ww_require(client && (arguments || count == 0),
		"ww_client_submit: client or arguments is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	ww_try(check_open(client));
	ww_try(read_params(params, &submission.params));
	ww_try(read_dependencies(&submission));
	ww_try(ww_client_know_function(client, function, &submission.function));
	return submit(&submission, arguments, count, deadline_ns, out_ticket);
}

ww_status ww_client_submit(ww_client *client, uint32_t function, const struct ww_value *arguments,
	uint32_t count, const struct ww_submit_params *params, uint64_t timeout_ns,
	ww_cancel *cancel, ww_ticket **out_ticket)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

	ww_clear(out_ticket, NULL);
	return check_and_submit(client, function, arguments, count, params,
		ww_clock_deadline_ns(timeout_ns), out_ticket);
}

/* --- waiting for a call that was submitted --- */

/* Cancels the call if its time is over. */
static ww_status finish(ww_ticket *ticket, uint64_t deadline_ns)
{
	ww_status status = ww_ticket_wait(ticket, ww_clock_left_ns(deadline_ns), NULL);
	const struct ww_client *client = ticket->client;
	char name[WW_FUNCTION_NAME_BYTES];

	if (status != WW_NOT_READY)
		return status;
	ww_ticket_cancel(ticket);
	if (ww_cancel_is_pending())
		return WW_CANCELLED;
	read_name(client, ticket->function, name);
	return ww_fail(WW_TIMED_OUT,
		"call %" PRIu64 " of '%s' has not ended in time, and is cancelled: its function %s",
		ticket->call, name,
		ww_service_replies_is_started(&client->replies, ticket->slot, ticket->call)
			? "was started, and runs; wait longer"
			: "was not started; is the server busy, or does the call wait for others?");
}

static ww_status ask_for_timeline(ww_client *client, uint32_t lane, uint64_t deadline_ns,
	ww_ticket **out_ticket)
{
	struct submission submission = {
		.client = client,
		.index = WW_SERVICE_LANE_FUNCTION,
		.function = &client->lane_function,
	};
	const struct ww_submit_params params = {.struct_size = sizeof(params), .lane = lane};
	struct ww_client_function *function;

	ww_try(check_open(client));
	ww_try(read_params(&params, &submission.params));
	function = &client->lane_function;
	function->results_bytes = 8 + WW_TOKEN_BYTES;
	if (!function->signature) {
		function->signature = malloc(sizeof(*function->signature));
		if (!function->signature)
			return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a signature: out of memory");
		ww_try(ww_signature_parse("", function->signature));
	}
	return submit(&submission, NULL, 0, deadline_ns, out_ticket);
}

ww_status ww_client_lane_timeline(ww_client *client, uint32_t lane, uint64_t timeout_ns,
	ww_cancel *cancel, ww_timeline **out_timeline)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	ww_ticket *ticket = NULL;
	ww_status status;

	ww_clear(out_timeline, NULL);
	ww_try(ww_process_enter());
	ww_require(client && out_timeline,
		"ww_client_lane_timeline: client or out_timeline is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	status = ask_for_timeline(client, lane, deadline_ns, &ticket);
	if (status == WW_OK)
		status = finish(ticket, deadline_ns);
	if (status == WW_OK)
		status = ww_ticket_timeline(ticket, out_timeline);
	if (status == WW_OK) {
		/* ww_ticket_stream_wait() uses it. */
		(*out_timeline)->is_guarded = !ww_client_is_of_own_user(client);
		ww_timeline_drop(client->lane_timelines[lane]);
		client->lane_timelines[lane] = ww_timeline_ref(*out_timeline);
	}
	ww_ticket_unref(ticket);
	return status;
}

static ww_status call_once(ww_client *client, uint32_t function, const struct ww_value *arguments,
	uint32_t count, const struct ww_submit_params *params, uint64_t deadline_ns,
	ww_ticket **out_ticket)
{
	ww_ticket *ticket = NULL;
	ww_status status;

	status = check_and_submit(client, function, arguments, count, params, deadline_ns, &ticket);
	if (status != WW_OK)
		return status;
	status = finish(ticket, deadline_ns);
	if (status == WW_OK && out_ticket)
		*out_ticket = ticket;
	else
		ww_ticket_unref(ticket);
	return status;
}

/* Whether a call has ended because its server has. A function may fail with that status, too. */
static bool has_lost_server(ww_client *client, ww_status status)
{
	return status == WW_ERR_PEER_LOST && ww_client_is_over(client);
}

/* By the next server, or the one after that. @once: the params without the flag */
static ww_status call_again(ww_client *client, uint32_t function, const struct ww_value *arguments,
	uint32_t count, struct ww_submit_params *once, uint64_t deadline_ns, ww_ticket **out_ticket)
{
	uint64_t start_ns = once->deadline_ns ? ww_clock_deadline_ns(once->deadline_ns) : WW_NEVER;
	ww_status status = WW_ERR_PEER_LOST;
	bool is_lost = true;

	if (!client->next || !ww_client_may_repeat(client, function, once)) {
		status = call_once(client, function, arguments, count, once, deadline_ns,
			out_ticket);
		is_lost = has_lost_server(client, status);
	}
	while (is_lost && ww_client_may_repeat(client, function, once)) {
		uint64_t until_ns = start_ns < deadline_ns ? start_ns : deadline_ns;
		uint32_t index;

		status = ww_client_find_next(client, function, until_ns, &index);
		if (status != WW_OK)
			break;
		if (start_ns != WW_NEVER)
			once->deadline_ns = ww_clock_left_ns(start_ns);
		if (once->deadline_ns == 0 && start_ns != WW_NEVER)
			return WW_TIMED_OUT;
		status = call_once(client->next, index, arguments, count, once, deadline_ns,
			out_ticket);
		is_lost = has_lost_server(client->next, status);
	}
	return status;
}

ww_status ww_client_call(ww_client *client, uint32_t function, const struct ww_value *arguments,
	uint32_t count, const struct ww_submit_params *params, uint64_t timeout_ns,
	ww_cancel *cancel, ww_ticket **out_ticket)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	struct ww_submit_params once = {.flags = 0};

	ww_clear(out_ticket, NULL);
	if (params)
		ww_try(ww_params_read(&once, sizeof(once), params, PARAMS_V1_BYTES,
			"ww_submit_params"));
	if (!params || !(once.flags & WW_SUBMIT_REPEAT))
		return call_once(client, function, arguments, count, params, deadline_ns,
			out_ticket);
	ww_try(ww_process_enter());
	ww_require(client, "ww_client_call: client is NULL");
	ww_try(ww_ref_check(&client->ref, "a client"));
	once.flags &= ~WW_SUBMIT_REPEAT;
	return call_again(client, function, arguments, count, &once, deadline_ns, out_ticket);
}
