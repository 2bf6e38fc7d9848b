/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ticket.c - what became of a call, as its client sees it
 *
 * The reply comes from another process: what it says is copied, and the copy is checked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/params.h"
#include "base/process.h"
#include "base/utf8.h"
#include "device/stream.h"
#include "service/client.h"
#include "service/service.h"

#define INFO_V1_BYTES sizeof(struct ww_ticket_info)

ww_ticket *ww_ticket_new(struct ww_client *client)
{
	struct ww_list *link = ww_list_take_first(&client->free_tickets);
	ww_ticket *ticket = link ? ww_container(link, ww_ticket, link) : calloc(1, sizeof(*ticket));

	if (!ticket)
		return NULL;
	ww_list_init(&ticket->link);
	ticket->client = ww_client_ref(client);
	ticket->has_slot = false;
	ticket->has_ended = false;
	ticket->is_answered = false;
	ticket->has_started = false;
	ticket->is_decoded = false;
	ticket->record_bytes = 0;
	ticket->failed_call = 0;
	ticket->eventfd = NULL;
	return ticket;
}

/* --- event loops --- */

/* The thread sleeps on the same word as the user's, and reads nothing that this one changes. */
static bool ticket_look(void *context, uint64_t now_ns, struct ww_await_sleep *sleep)
{
	const ww_ticket *ticket = context;
	const struct ww_client *client = ticket->client;
	const uint32_t *wakes = &client->replies.header->wakes;
	uint32_t seen = __atomic_load_n(wakes, __ATOMIC_ACQUIRE);

	(void)now_ns;
	(void)ww_peer_process_look(client->process);
	if (ww_client_is_known_over(client) ||
		(ww_client_join(client) == 0 && ww_service_page_files_wanted(&client->page)) ||
		ww_service_replies_is_done(&client->replies, ticket->slot, ticket->call))
		return true;
	ww_await_sleep_for(sleep, wakes, seen);
	return false;
}

/* While a ticket has a descriptor, the server wakes the client for each reply. */
static ww_status eventfd_begin(ww_ticket *ticket)
{
	static const struct ww_eventfd_class class = {.look = ticket_look};
	struct ww_client *client = ticket->client;

	if (!client->keeps_thread)
		ww_try(ww_eventfd_thread_keep());
	client->keeps_thread = true;
	ww_try(ww_eventfd_create(&class, ticket, &ticket->eventfd));
	client->eventfd_count++;
	__atomic_store_n(&client->requests.header->is_asleep, 1, __ATOMIC_SEQ_CST);
	ww_eventfd_arm(ticket->eventfd);
	return WW_OK;
}

/* Duplicates are readable from now on. */
static void eventfd_end(ww_ticket *ticket)
{
	struct ww_client *client = ticket->client;

	if (!ticket->eventfd)
		return;
	ticket->eventfd = ww_eventfd_free(ticket->eventfd);
	if (--client->eventfd_count == 0)
		__atomic_store_n(&client->requests.header->is_asleep, 0, __ATOMIC_RELAXED);
}

/* It was readable for a reply or an end that a hostile server has taken back, or may be. */
static void eventfd_go_on(ww_ticket *ticket)
{
	if (!ticket->eventfd)
		return;
	ww_eventfd_pause(ticket->eventfd);
	ww_eventfd_arm(ticket->eventfd);
}

static ww_status open_readable(int *out_fd)
{
	ww_try(ww_eventfd_open(out_fd));
	(void)eventfd_write(*out_fd, 1);
	return WW_OK;
}

ww_status ww_ticket_eventfd(ww_ticket *ticket, int *out_fd)
{
	ww_clear(out_fd, -1);
	ww_try(ww_process_enter());
	ww_require(ticket && out_fd, "ww_ticket_eventfd: ticket or out_fd is NULL");
	ww_try(ww_ref_check(&ticket->client->ref, "a client"));
	if (ticket->has_ended)
		return open_readable(out_fd);
	if (!ticket->eventfd)
		ww_try(eventfd_begin(ticket));
	return ww_eventfd_duplicate(ticket->eventfd, out_fd);
}

ww_status ww_client_await_reply(struct ww_client *client, ww_await_fn look, void *context,
	uint64_t deadline_ns)
{
	if (client->eventfd_count > 0)
		return ww_await(&client->replies.header->wakes, look, context, deadline_ns);
	return ww_service_await_reply(&client->replies, &client->requests, look, context,
		deadline_ns);
}

/* --- slots --- */

void ww_client_holds_release(struct ww_client_holds *holds)
{
	while (holds && holds->count > 0) {
		holds->count--;
		ww_memory_unref(holds->memories[holds->count]);
		ww_timeline_unref(holds->timelines[holds->count]);
	}
}

void ww_client_free_slot(struct ww_client *client, uint32_t index)
{
	struct ww_client_slot *slot = &client->slots[index];

	ww_client_area_give_back(&client->arguments, slot->arguments_at, slot->arguments_bytes);
	ww_client_area_give_back(&client->results, slot->results_at, slot->results_bytes);
	client->kept_count -= slot->is_reaped;
	slot->call = 0;
	slot->ticket = NULL;
	client->free_slots[client->free_count++] = index;
}

/* The caller of a call whose results are arrays, or would be, has done with them. */
static void release_results(struct ww_client *client, uint32_t index)
{
	__atomic_store_n(&client->requests.slots[index].released, client->slots[index].call,
		__ATOMIC_RELEASE);
}

static ww_status copy_record(ww_ticket *ticket, const struct ww_client_slot *slot, uint32_t bytes)
{
	const struct ww_client *client = ticket->client;

	if (bytes > slot->results_bytes)
		return WW_ERR_PROTOCOL;
	if (bytes > ticket->record_room) {
		free(ticket->record);
		ticket->record = malloc(bytes);
		ticket->record_room = ticket->record ? bytes : 0;
		if (!ticket->record)
			return WW_ERR_NO_MEMORY;
	}
	if (bytes > 0)
		memcpy(ticket->record, client->replies.area + slot->results_at, bytes);
	ticket->record_bytes = bytes;
	return WW_OK;
}

static bool is_known_status(ww_status status)
{
	return status == WW_OK || status == WW_TIMED_OUT || status == WW_CANCELLED ||
		(status < 0 && strcmp(ww_status_name(status), "WW_UNKNOWN") != 0);
}

static void fill_failed(ww_ticket *ticket, ww_status status, const char *message)
{
	ticket->status = status;
	snprintf(ticket->message, sizeof(ticket->message), "%s", message);
}

static void fill_done(ww_ticket *ticket, const struct ww_client_slot *slot)
{
	const struct ww_layout_service_reply *reply = &ticket->client->replies.slots[ticket->slot];
	uint32_t bytes = __atomic_load_n(&reply->results_bytes, __ATOMIC_RELAXED);

	ticket->status = (ww_status)__atomic_load_n(&reply->status, __ATOMIC_RELAXED);
	ticket->failed_call = __atomic_load_n(&reply->failed_call, __ATOMIC_RELAXED);
	if (ticket->status == WW_OK) {
		ticket->status = copy_record(ticket, slot, bytes);
	} else if (is_known_status(ticket->status)) {
		char message[WW_ERROR_MESSAGE_BYTES];

		memcpy(message, reply->message, sizeof(message));
		message[sizeof(message) - 1] = 0;
		if (!ww_utf8_is_plain(message))
			message[0] = 0;
		snprintf(ticket->message, sizeof(ticket->message), "%s",
			message[0] ? message : ww_status_text(ticket->status));
	} else {
		ticket->status = WW_ERR_PROTOCOL;
	}
	if (ticket->status == WW_ERR_PROTOCOL && ticket->record_bytes == 0 && !ticket->message[0])
		fill_failed(ticket, WW_ERR_PROTOCOL, "the server's reply says what cannot be");
	if (ticket->status == WW_ERR_NO_MEMORY && !ticket->message[0])
		fill_failed(ticket, WW_ERR_NO_MEMORY, "cannot copy results: out of memory");
}

void ww_client_reap(struct ww_client *client, uint32_t index, bool is_done)
{
	struct ww_client_slot *slot = &client->slots[index];
	ww_ticket *ticket = slot->ticket;
	bool is_kept = false;

	ww_client_holds_release(slot->holds);
	if (ticket) {
		eventfd_end(ticket);
		ticket->has_ended = true;
		ticket->is_answered = is_done;
		ticket->has_started = ww_service_replies_is_started(&client->replies, index,
					      slot->call) ||
			(!is_done && ww_client_is_met_late(client));
		ticket->message[0] = 0;
		if (is_done) {
			fill_done(ticket, slot);
		} else {
			char what[40];
			ww_status status;

			snprintf(what, sizeof(what), "call %" PRIu64, ticket->call);
			status = ww_client_fail_over(ticket->client, what, "has no answer");
			fill_failed(ticket, status, ww_error_last()->message);
		}
		is_kept = is_done && ww_client_function_of(client, slot->function)->has_arrays &&
			ticket->status == WW_OK;
		ticket->has_slot = is_kept;
	}
	if (is_kept) {
		slot->is_reaped = true;
		client->kept_count++;
		return;
	}
	release_results(client, index);
	ww_client_free_slot(client, index);
}

uint32_t ww_client_reap_all(struct ww_client *client)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < client->form.calls_max; i++) {
		const struct ww_client_slot *slot = &client->slots[i];

		if (!slot->call || slot->is_reaped ||
			!ww_service_replies_is_done(&client->replies, i, slot->call))
			continue;
		ww_client_reap(client, i, true);
		count++;
	}
	return count;
}

/* --- waiting --- */

static enum ww_await_look look_for_reply(void *context)
{
	const ww_ticket *ticket = context;

	return ww_service_replies_is_done(&ticket->client->replies, ticket->slot, ticket->call) ||
			ww_client_is_over(ticket->client)
		? WW_AWAIT_DONE
		: WW_AWAIT_SLEEP;
}

/* If no reply can come any more, one may have come before that. */
static void look_at_reply(ww_ticket *ticket)
{
	bool is_over = ww_client_is_over(ticket->client);
	bool is_done = ww_service_replies_is_done(&ticket->client->replies, ticket->slot,
		ticket->call);

	if (is_done || is_over)
		ww_client_reap(ticket->client, ticket->slot, is_done);
}

static ww_status wait_for_reply(ww_ticket *ticket, uint64_t deadline_ns)
{
	struct ww_client *client = ticket->client;
	ww_status status = WW_OK;

	for (;;) {
		uint64_t until_ns;

		look_at_reply(ticket);
		if (ticket->has_ended || status != WW_OK)
			return status;
		until_ns = ww_clock_deadline_ns(WW_PEER_LOOK_NS);
		if (until_ns > deadline_ns)
			until_ns = deadline_ns;
		status = ww_client_await_reply(client, look_for_reply, ticket, until_ns);
		if (status == WW_TIMED_OUT &&
			(ww_peer_process_look(client->process) || until_ns < deadline_ns))
			status = WW_OK;
	}
}

/* How the call has ended, with its record. */
static ww_status end_status(const ww_ticket *ticket)
{
	if (ticket->status >= 0 && ticket->status != WW_TIMED_OUT)
		return ticket->status;
	return ww_fail(ticket->status, "%s", ticket->message);
}

ww_status ww_ticket_wait(ww_ticket *ticket, uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);

	ww_try(ww_process_enter());
	ww_require(ticket, "ww_ticket_wait: ticket is NULL");
	ww_try(ww_ref_check(&ticket->client->ref, "a client"));
	if (!ticket->has_ended)
		(void)wait_for_reply(ticket, ww_clock_deadline_ns(timeout_ns));
	if (ticket->has_ended)
		return end_status(ticket);
	eventfd_go_on(ticket);
	return WW_NOT_READY;
}

/* --- a stream that waits --- */

/* Whether the call was too late, and has ended before one that is before it in its lane. */
static bool is_out_of_order(const ww_ticket *ticket)
{
	const struct ww_client *client = ticket->client;

	if (!ticket->is_answered || ticket->has_started || ticket->deadline_ns == WW_NEVER)
		return false;
	for (uint32_t i = 0; i < client->form.calls_max; i++) {
		uint64_t call = client->slots[i].call;

		if (call && call < ticket->call && !client->slots[i].is_reaped &&
			client->requests.slots[i].lane == ticket->lane &&
			!ww_service_replies_is_done(&client->replies, i, call))
			return true;
	}
	return false;
}

ww_status ww_ticket_stream_wait(ww_ticket *ticket, ww_stream *stream, uint64_t flags,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);
	ww_timeline *timeline;
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(ticket && stream, "ww_ticket_stream_wait: ticket or stream is NULL");
	ww_try(ww_ref_check(&ticket->client->ref, "a client"));
	if (flags & ~(WW_WAIT_UNSUBMITTED | WW_WAIT_OTHER_USER))
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a wait of a stream",
			flags);
	ww_try(ww_stream_check_order(stream));
	if (!ticket->has_ended)
		look_at_reply(ticket);
	if (ticket->has_ended && !is_out_of_order(ticket))
		return ticket->is_answered ? WW_OK : end_status(ticket);
	if (!ww_client_is_of_own_user(ticket->client) && !(flags & WW_WAIT_OTHER_USER)) {
		bool is_limit = ticket->deadline_ns <= deadline_ns;

		/* Nothing is enqueued. */
		if (!ticket->has_ended)
			(void)wait_for_reply(ticket, is_limit ? ticket->deadline_ns : deadline_ns);
		if (ticket->has_ended && !is_out_of_order(ticket))
			return ticket->is_answered ? WW_OK : end_status(ticket);
		if (ticket->deadline_ns > ww_clock_now_ns())
			return WW_NOT_READY;
		ww_fail(WW_TIMED_OUT,
			"the deadline of call %" PRIu64
			" has passed, and its server, of user %" PRIu32
			", has not %s; the stream does not wait for it",
			ticket->call, ticket->client->server_uid,
			ticket->has_ended ? "started it" : "answered");
		return WW_TIMED_OUT;
	}
	timeline = ticket->client->lane_timelines[ticket->lane];
	if (!timeline)
		return ww_fail(WW_ERR_STATE,
			"a stream cannot wait for call %" PRIu64 ": the timeline of lane %" PRIu32
			" is not known; call ww_client_lane_timeline() before the calls of the lane",
			ticket->call, ticket->lane);
	status = ww_timeline_stream_wait(timeline, stream, ticket->value, flags,
		ww_clock_left_ns(deadline_ns), NULL);
	return status > 0 ? WW_NOT_READY : status;
}

/* --- results --- */

ww_status ww_ticket_result(ww_ticket *ticket, uint32_t index, struct ww_value *out_value)
{
	const struct ww_signature *signature;
	struct ww_signature_binding binding;
	const struct ww_call_arg *result;

	ww_try(ww_process_enter());
	ww_require(ticket && out_value, "ww_ticket_result: ticket or out_value is NULL");
	ww_try(ww_ref_check(&ticket->client->ref, "a client"));
	if (!ticket->has_ended || ticket->status != WW_OK)
		return ww_fail(WW_ERR_STATE,
			"call %" PRIu64 " has no results: it has not ended, or not with WW_OK",
			ticket->call);
	if (index >=
		ww_client_function_of(ticket->client, ticket->function)->signature->result_count)
		return WW_END;
	signature = ticket->client->functions[ticket->function].signature;
	if (!ticket->is_decoded) {
		if (!ticket->results)
			ticket->results = malloc(sizeof(*ticket->results));
		if (!ticket->results)
			return ww_fail(WW_ERR_NO_MEMORY, "cannot read results: out of memory");
		ww_try(ww_call_args_decode(ticket->record, ticket->record_bytes, ticket->results));
		ww_signature_binding_init(&binding);
		if (ww_signature_bind_results(signature, &binding, ticket->results) != WW_OK)
			return ww_fail(WW_ERR_PROTOCOL,
				"the server sent results that are not those of '%.120s'",
				signature->text);
		ticket->is_decoded = true;
	}
	result = &ticket->results->items[index];
	memset(out_value, 0, sizeof(*out_value));
	out_value->kind = result->kind;
	if (result->kind == WW_ARGUMENT_SCALAR) {
		out_value->dtype = result->dtype;
		out_value->scalar = result->scalar;
	} else if (result->kind == WW_ARGUMENT_BYTES) {
		out_value->data = result->data;
		out_value->bytes = result->bytes;
	} else if (result->kind == WW_ARGUMENT_ARRAY) {
		out_value->token = result->token;
		out_value->array = &result->array;
		out_value->bytes = result->span_bytes;
	}
	return WW_OK;
}

ww_status ww_ticket_timeline(ww_ticket *ticket, ww_timeline **out_timeline)
{
	struct ww_call_args *results = ticket->client->values;

	ww_try(ww_call_args_decode(ticket->record, ticket->record_bytes, results));
	if (results->count != 1 || results->items[0].kind != WW_ARGUMENT_TIMELINE)
		return ww_fail(WW_ERR_PROTOCOL, "the server sent no timeline of the lane");
	return ww_timeline_import(ticket->client->broker, results->items[0].token, NULL,
		out_timeline);
}

/* --- the rest --- */

void ww_ticket_cancel(ww_ticket *ticket)
{
	if (!ticket || ticket->has_ended || !ticket->has_slot ||
		ww_ref_is_inherited(&ticket->client->ref))
		return;
	__atomic_store_n(&ticket->client->requests.slots[ticket->slot].cancelled, ticket->call,
		__ATOMIC_RELEASE);
}

ww_status ww_ticket_info_get(ww_ticket *ticket, struct ww_ticket_info *info)
{
	struct ww_ticket_info ours = {.struct_size = sizeof(ours)};

	ww_try(ww_process_enter());
	ww_require(ticket && info, "ww_ticket_info_get: ticket or info is NULL");
	ww_try(ww_ref_check(&ticket->client->ref, "a client"));
	if (!ticket->has_ended) {
		(void)ww_peer_process_look(ticket->client->process);
		look_at_reply(ticket);
	}
	ours.has_ended = ticket->has_ended;
	ours.has_started = ticket->has_ended
		? ticket->has_started
		: ww_service_replies_is_started(&ticket->client->replies, ticket->slot,
			  ticket->call);
	ours.status = ticket->has_ended ? ticket->status : WW_NOT_READY;
	ours.number = ticket->call;
	ours.failed_call = ticket->failed_call;
	ours.function = ticket->function;
	ours.lane = ticket->lane;
	ours.value = ticket->value;
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_ticket_info");
}

ww_ticket *ww_ticket_unref(ww_ticket *ticket)
{
	struct ww_client *client;

	if (!ticket || ww_ref_is_inherited(&ticket->client->ref))
		return NULL;
	client = ticket->client;
	eventfd_end(ticket);
	if (ticket->has_slot && ticket->has_ended) {
		release_results(client, ticket->slot);
		ww_client_free_slot(client, ticket->slot);
	} else if (ticket->has_slot) {
		client->slots[ticket->slot].ticket = NULL;
	}
	ticket->has_slot = false;
	ww_list_append(&client->free_tickets, &ticket->link);
	return (ww_client_unref(client), NULL);
}
