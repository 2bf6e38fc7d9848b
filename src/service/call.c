/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - a call that runs, as a function sees it, see call.h
 *
 * Memories and timelines are imported when the function asks for them, by the service's own broker
 * only: a token of a client may name an address where an attacker listens. The import takes the
 * rights of the token, not those of the server.
 */
#include "service/call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "device/deferred_release.h"
#include "service/allocation.h"
#include "service/kept_results.h"

#define INFO_V1_BYTES sizeof(struct ww_call_info)

struct ww_call *ww_call_new(struct ww_service *service)
{
	struct ww_list *link = ww_list_take_first(&service->free_calls);
	struct ww_call *call;

	if (link)
		return ww_container(link, struct ww_call, link);
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	ww_list_init(&call->link);
	call->service = service;
	return call;
}

void ww_call_free(struct ww_call *call)
{
	free(call->record);
	free(call->result_bytes);
	free(call->result_tokens);
	free(call);
}

/* --- arguments --- */

void ww_call_reset(struct ww_call *call)
{
	call->first = call;
	call->start_ns = 0;
	call->status = WW_OK;
	call->message[0] = 0;
	call->stream = NULL;
	call->held = 0;
	call->results.count = 0;
	call->results_set = 0;
	call->result_record_bytes = 0;
}

ww_status ww_call_read(struct ww_call *call)
{
	const struct ww_layout_service_request *request = &call->request;
	uint32_t bytes;
	const struct ww_client_view *view = call->view;

	if (!ww_service_arguments_are_inside(request, view->requests.area_bytes) ||
		ww_service_record_bytes(request) > WW_CALL_RECORD_MAX ||
		!ww_service_is_inside(request->results_at, request->results_bytes,
			view->replies.area_bytes))
		return ww_fail(WW_ERR_PROTOCOL,
			"the call's arguments, or the room for its results, are outside their areas");
	bytes = ww_service_record_bytes(request);
	if (bytes > call->record_room) {
		free(call->record);
		call->record_room = 0;
		call->record = malloc(bytes);
		if (!call->record)
			return ww_fail(WW_ERR_NO_MEMORY,
				"cannot copy the arguments of a call: the server is out of memory");
		call->record_room = bytes;
	}
	if (bytes > 0)
		memcpy(call->record, call->view->requests.area + request->arguments_at, bytes);
	ww_try(ww_call_args_decode(call->record, bytes, &call->arguments));
	return ww_signature_bind(call->offer->signature, &call->arguments, &call->binding);
}

void ww_call_release(struct ww_call *call)
{
	if (call->held > 0 && call->service->params.keep_ns > 0) {
		uint64_t now_ns = ww_clock_now_ns();

		/* What is kept is not released now; but perhaps what was kept before. */
		pthread_mutex_lock(&call->service->lock);
		for (uint32_t i = 0; i < call->held; i++) {
			struct ww_call_memory *held = &call->imports[i];

			if (held->is_kept)
				held->memory = ww_recent_keep(&call->view->recent, held->memory,
					now_ns);
		}
		pthread_mutex_unlock(&call->service->lock);
	}
	for (uint32_t i = 0; i < call->held; i++) {
		ww_memory_unref(call->imports[i].memory);
		ww_timeline_unref(call->imports[i].timeline);
	}
	call->held = 0;
}

/* The entries up to an argument's are there. */
static struct ww_call_memory *hold(struct ww_call *call, uint32_t index)
{
	while (call->held <= index)
		call->imports[call->held++] = (struct ww_call_memory){NULL, NULL, false};
	return &call->imports[index];
}

static ww_status get_array(struct ww_call *call, uint32_t index, struct ww_value *out_value)
{
	const struct ww_call_arg *argument = &call->arguments.items[index];
	struct ww_call_memory *held = hold(call, index);
	char *host_pointer;
	const struct ww_import_params params = {
		.struct_size = sizeof(params),
		.access = argument->access,
	};
	struct ww_service *service;
	const struct ww_memory *whole;
	bool is_allocation;

	if (!held->memory) {
		ww_try(ww_memory_import(call->service->device, call->service->broker,
			argument->token, &params, NULL, &held->memory, NULL));
		service = call->service;
		whole = ww_memory_whole(held->memory);
		if (service->params.keep_ns == 0 || whole->is_chunk) {
			held->is_kept = false;
		} else {
			pthread_mutex_lock(&service->lock);
			is_allocation = ww_allocations_have(service, whole);
			pthread_mutex_unlock(&service->lock);
			held->is_kept = !is_allocation;
		}
	}
	ww_try(ww_array_check(&argument->array, held->memory->bytes));
	host_pointer = ww_memory_host_pointer(held->memory);
	out_value->memory = held->memory;
	out_value->array = &argument->array;
	out_value->bytes = held->memory->bytes;
	out_value->pointer = (char *)ww_memory_pointer(held->memory) + argument->array.offset;
	out_value->host_pointer = host_pointer ? host_pointer + argument->array.offset : NULL;
	return WW_OK;
}

ww_status ww_call_argument(ww_call *call, uint32_t index, struct ww_value *out_value)
{
	const struct ww_call_arg *argument;
	struct ww_call_memory *held;

	ww_require(call && out_value, "ww_call_argument: call or out_value is NULL");
	if (index >= call->arguments.count)
		return WW_END;
	argument = &call->arguments.items[index];
	memset(out_value, 0, sizeof(*out_value));
	out_value->kind = argument->kind;
	switch (argument->kind) {
	case WW_ARGUMENT_SCALAR:
		out_value->dtype = argument->dtype;
		out_value->scalar = argument->scalar;
		return WW_OK;
	case WW_ARGUMENT_BYTES:
		out_value->data = argument->data;
		out_value->bytes = argument->bytes;
		return WW_OK;
	case WW_ARGUMENT_ARRAY:
		return get_array(call, index, out_value);
	case WW_ARGUMENT_TIMELINE:
		held = hold(call, index);
		if (!held->timeline)
			ww_try(ww_timeline_import(call->service->broker,
				call->arguments.items[index].token, NULL, &held->timeline));
		out_value->timeline = held->timeline;
		return WW_OK;
	default:
		return WW_OK;
	}
}

/* --- results --- */

/* Keeps the memory until the client has taken it. */
static ww_status keep_result(struct ww_call *call, ww_memory *memory)
{
	struct ww_service *service = call->service;
	struct ww_client_view *view = call->view;
	struct ww_kept_result *kept = malloc(sizeof(*kept));
	uint64_t bytes = ww_memory_whole(memory)->bytes;
	bool is_too_much;

	if (!kept)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a result: out of memory");
	*kept = (struct ww_kept_result){.bytes = bytes, .call = call->request.call};
	kept->slot = call->slot;
	pthread_mutex_lock(&service->lock);
	ww_client_view_release(service, view, false);
	is_too_much = bytes > service->params.memory_bytes_max ||
		view->kept_bytes > service->params.memory_bytes_max - bytes;
	if (!is_too_much) {
		kept->memory = ww_memory_ref(memory);
		view->kept_bytes += bytes;
		ww_list_append(&view->kept, &kept->link);
	}
	pthread_mutex_unlock(&service->lock);
	if (!is_too_much)
		return WW_OK;
	free(kept);
	return ww_fail(WW_ERR_QUOTA,
		"a result of %" PRIu64
		" bytes is more than the service keeps for one client, %" PRIu64
		" (memory_bytes_max); release tickets of earlier results",
		bytes, service->params.memory_bytes_max);
}

static ww_status make_result_tokens(struct ww_call *call)
{
	if (!call->result_tokens)
		call->result_tokens = malloc(WW_CALL_ARGS_MAX * sizeof(*call->result_tokens));
	if (!call->result_tokens)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a result: out of memory");
	return WW_OK;
}

static ww_status set_array(struct ww_call *call, uint32_t index, const struct ww_value *value)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = value->memory ? ww_memory_access(value->memory) : 0,
		.escrow_ns = WW_ESCROW_NONE,
	};
	struct ww_token *token;

	if (!value->memory)
		return ww_fail(WW_ERR_INVALID, "a result that is an array needs a memory");
	ww_try(make_result_tokens(call));
	token = &call->result_tokens[index];
	ww_try(ww_memory_export(value->memory, call->service->broker, &params, NULL, token));
	ww_try(ww_call_arg_array(token, value->array, &call->results.items[index]));
	return keep_result(call, value->memory);
}

static ww_status set_result(struct ww_call *call, uint32_t index, const struct ww_value *value)
{
	uint8_t *room;

	switch (value->kind) {
	case WW_ARGUMENT_SCALAR:
		ww_call_arg_scalar(value->dtype, value->scalar, &call->results.items[index]);
		return WW_OK;
	case WW_ARGUMENT_BYTES:
		if (value->bytes > WW_CALL_BYTES_MAX)
			return ww_fail(WW_ERR_LIMIT,
				"a result of %" PRIu64 " bytes is more than %d; return a memory",
				value->bytes, WW_CALL_BYTES_MAX);
		if (!call->result_bytes)
			call->result_bytes = malloc((size_t)WW_CALL_ARGS_MAX * WW_CALL_BYTES_MAX);
		if (!call->result_bytes)
			return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a result: out of memory");
		room = call->result_bytes + (size_t)index * WW_CALL_BYTES_MAX;
		if (value->bytes > 0)
			memcpy(room, value->data, value->bytes);
		ww_call_arg_bytes(room, (uint32_t)value->bytes, &call->results.items[index]);
		return WW_OK;
	case WW_ARGUMENT_ARRAY:
		return set_array(call, index, value);
	default:
		return ww_fail(WW_ERR_INVALID, "a result cannot be of kind %" PRIu32, value->kind);
	}
}

ww_status ww_call_result(ww_call *call, uint32_t index, const struct ww_value *value)
{
	const struct ww_signature *signature;
	ww_status status;

	ww_require(call && value, "ww_call_result: call or value is NULL");
	signature = call->offer->signature;
	if (index >= signature->result_count)
		return ww_fail(WW_ERR_MISMATCH,
			"there is no result %" PRIu32 ": '%.80s' has %" PRIu32, index,
			signature->text, signature->result_count);
	if (value->kind != signature->results[index].kind)
		return ww_fail(WW_ERR_MISMATCH, "the result '%s' is of another kind in '%.120s'",
			signature->results[index].name, signature->text);
	status = set_result(call, index, value);
	if (status != WW_OK) {
		struct ww_error record;

		/*
		 * A function that cannot return its memory releases it: first the stream is done
		 * with it.
		 */
		if (call->first->stream) {
			ww_error_save(&record);
			(void)ww_stream_synchronize(call->first->stream->stream, WW_FOREVER, NULL);
			ww_error_restore(&record);
		}
		return status;
	}
	call->results_set |= UINT32_C(1) << index;
	return WW_OK;
}

/* --- the timeline of a lane --- */

/* The lane's timeline, which it has from now on. A lane runs one such call at a time. */
static ww_status make_timeline(struct ww_call *call)
{
	WW_AUTO_TIMELINE ww_timeline *timeline = NULL;
	struct ww_service *service = call->service;

	if (call->lane->timeline)
		return WW_OK;
	ww_try(ww_timeline_create_alone(&timeline));
	ww_try(ww_timeline_prepare(timeline, service->device));
	pthread_mutex_lock(&service->lock);
	call->lane->timeline = ww_steal(timeline);
	pthread_mutex_unlock(&service->lock);
	return WW_OK;
}

ww_status ww_call_give_timeline(void *context, struct ww_call *call)
{
	const struct ww_token_params params = {
		.struct_size = sizeof(params),
		.escrow_ns = WW_ESCROW_NONE,
	};

	(void)context;
	ww_deferred_reclaim(); /* the pages of clients that have ended */
	ww_try(make_timeline(call));
	ww_try(make_result_tokens(call));
	ww_try(ww_timeline_export(call->lane->timeline, call->service->broker, &params, NULL,
		&call->result_tokens[0]));
	ww_try(ww_call_arg_timeline(&call->result_tokens[0], &call->results.items[0]));
	call->results.count = 1;
	return WW_OK;
}

/* --- results as they are sent --- */

ww_status ww_call_write(struct ww_call *call)
{
	const struct ww_signature *signature = call->offer->signature;
	size_t bytes = 0;

	if (signature->result_count == 0 && call->results.count == 0)
		return WW_OK;
	for (uint32_t i = 0; i < signature->result_count; i++) {
		if (!(call->results_set >> i & 1))
			return ww_fail(WW_ERR_STATE,
				"the function '%s' did not set its result '%s'",
				(const char *)call->offer->shared->name,
				signature->results[i].name);
	}
	if (signature->result_count > 0) {
		call->results.count = signature->result_count;
		ww_try(ww_signature_bind_results(signature, &call->binding, &call->results));
	}
	ww_try(ww_call_args_encode(&call->results,
		call->view->replies.area + call->request.results_at, call->request.results_bytes,
		&bytes));
	call->result_record_bytes = (uint32_t)bytes;
	return WW_OK;
}

/* --- the rest of what a function asks for --- */

/* One that no lane uses, or the one that the fewest do. Locked. */
static struct ww_service_stream *choose_stream(struct ww_service *service)
{
	struct ww_service_stream *best = &service->streams[0];

	for (uint32_t i = 1; i < service->params.streams; i++) {
		if (service->streams[i].lanes < best->lanes)
			best = &service->streams[i];
	}
	return best;
}

/* Not locked: a driver may take its time. Another thread may be faster. */
static ww_status make_stream(struct ww_service *service, struct ww_service_stream *at)
{
	ww_timeline *timeline = NULL;
	ww_stream *stream = NULL;
	ww_status status = ww_stream_create(service->device, &stream);

	if (status == WW_OK)
		status = ww_timeline_create_alone(&timeline);
	if (status == WW_OK)
		status = ww_timeline_prepare(timeline, service->device);
	pthread_mutex_lock(&service->lock);
	if (status == WW_OK && !at->stream) {
		at->stream = ww_steal(stream);
		at->timeline = ww_steal(timeline);
	}
	pthread_mutex_unlock(&service->lock);
	ww_stream_unref(stream);
	ww_timeline_unref(timeline);
	return status;
}

ww_status ww_call_stream(ww_call *call, ww_stream **out_stream)
{
	struct ww_service *service;
	bool is_made;

	ww_clear(out_stream, NULL);
	ww_require(call && out_stream, "ww_call_stream: call or out_stream is NULL");
	call = call->first;
	service = call->service;
	if (!call->stream) {
		pthread_mutex_lock(&service->lock);
		if (!call->lane->stream) {
			call->lane->stream = choose_stream(service);
			call->lane->stream->lanes++;
		}
		is_made = call->lane->stream->stream;
		pthread_mutex_unlock(&service->lock);
		if (!is_made)
			ww_try(make_stream(service, call->lane->stream));
		call->stream = call->lane->stream;
	}
	*out_stream = call->stream->stream;
	return WW_OK;
}

ww_status ww_call_fail(ww_call *call, ww_status status, const char *message)
{
	ww_require(call, "ww_call_fail: call is NULL");
	if (!message)
		message = ww_status_text(status);
	status = ww_fail(status, "%s", message);
	call->status = status;
	memcpy(call->message, ww_error_last()->message, sizeof(call->message));
	return status;
}

int32_t ww_call_is_cancelled(ww_call *call)
{
	return call->view->is_gone ||
		__atomic_load_n(&call->view->member.page->header->lost, __ATOMIC_ACQUIRE) ||
		ww_peer_process_look(call->view->member.process) ||
		ww_service_requests_has_left(&call->view->requests) ||
		ww_service_requests_is_cancelled(&call->view->requests, call->slot,
			call->request.call) ||
		(call->request.deadline_ns != WW_NEVER &&
			ww_clock_now_ns() >= call->request.deadline_ns);
}

ww_status ww_call_info_get(ww_call *call, struct ww_call_info *info)
{
	struct ww_call_info ours = {.struct_size = sizeof(ours)};

	ww_require(call && info, "ww_call_info_get: call or info is NULL");
	ours.uid = call->view->member.uid;
	ours.gid = call->view->member.gid;
	ours.pid = call->view->member.pid;
	ours.client = call->view->number;
	ours.lane = call->request.lane;
	ours.number = call->request.call;
	ours.deadline_ns = call->request.deadline_ns;
	memcpy(ours.function, call->offer->shared->name, sizeof(ours.function));
	memcpy(ours.program, call->view->member.page->creator.program, sizeof(ours.program));
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_call_info");
}
