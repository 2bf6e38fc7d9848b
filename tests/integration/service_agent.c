/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_agent.c - what agents do with services, see service.h
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "integration/service.h"
#include "service/service.h"
#include "support/kernels.h"

static struct {
	ww_service *service;
	ww_cancel *cancel;
	pthread_t thread;
	bool is_serving;
	bool is_awaiting; /* the function that faults waits for its kernel, on its own stream */
	ww_client *client;
	ww_ticket *ticket;
	struct ww_token token; /* of what it had the server make */
	ww_timeline *timeline;
	ww_timeline *gate; /* for which the stream waits */
	ww_stream *stream;
} own;

/* --- the server --- */

static void *serve(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)ww_service_serve(own.service, WW_FOREVER, own.cancel);
}

static ww_status stop_serving(void)
{
	void *status = NULL;

	if (own.is_serving)
		MUST(!pthread_join(own.thread, &status));
	own.is_serving = false;
	return (ww_status)(intptr_t)status;
}

COMMAND(service, serve)
{
	own.is_serving = true;
	MUST(!pthread_create(&own.thread, NULL, serve, NULL));
	return WW_OK;
}

COMMAND_BROKER(service, create)
{
	const struct ww_service_params *params = WW_PARAMS(struct ww_service_params,
		.calls_max = agent_option("calls"), .clients_max = agent_option("clients"),
		.clients_per_uid_max = agent_option("clients_per_uid"),
		.mode = (uint32_t)agent_number_option("mode", 8),
		.builtin = agent_has_option("builtin")
			? WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC
			: 0,
		.alloc_bytes_max = agent_number_option("alloc_bytes", 10),
		.keep_ns = agent_has_option("keep") ? WW_FOREVER : 0,
		.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0);
	ww_status status = ww_service_create(agent_device(), broker, agent_word(1), params, NULL,
		&own.service);

	if (status != WW_OK)
		return status;
	MUST_OK(ww_cancel_create(&own.cancel));
	if (!agent_has_option("bare"))
		service_offer_all(own.service, agent_device());
	if (!agent_has_option("idle") && !agent_has_option("bare"))
		return obey_serve();
	return WW_OK;
}

/* The kernel stores to memory that is gone, behind its stream. */
static ww_status fault(void *context, ww_call *call)
{
	const struct ww_launch_params *one = WW_PARAMS(struct ww_launch_params, .grid = {1, 1, 1},
		.block = {1, 1, 1});
	ww_memory *memory = memory_make(agent_device(), WW_MEMORY_VMM, 2 * MIB);
	void *pointer = ww_memory_pointer(memory);
	const uint64_t count = 1;
	const float factor = 1;
	const struct ww_kernel_argument arguments[] = {ARGUMENT(factor), ARGUMENT(pointer),
		ARGUMENT(pointer), ARGUMENT(count)};
	ww_stream *stream;
	ww_status status;

	ww_memory_unref(memory);
	if (!own.is_awaiting) {
		MUST_OK(ww_call_stream(call, &stream));
		return ww_kernel_launch(context, stream, one, arguments, CHECK_COUNT(arguments));
	}
	stream = stream_make(agent_device());
	MUST_OK(ww_kernel_launch(context, stream, one, arguments, CHECK_COUNT(arguments)));
	status = ww_stream_synchronize(stream, WW_FOREVER, NULL);
	ww_stream_unref(stream);
	return status;
}

/* A service whose only function faults. Serving it ends by itself. */
COMMAND(service, serve_fault)
{
	OWN(module) ww_module *module = kernels_load(agent_device());
	OWN(kernel) ww_kernel *kernel = kernel_find(module, "saxpy");
	ww_status status;

	own.is_awaiting = agent_has_option("await");
	MUST_OK(ww_service_offer(own.service, "fault", "", fault, kernel, NULL));
	MUST_OK(ww_service_start(own.service));
	MUST_OK(obey_serve());
	status = stop_serving();
	return status;
}

/* From now on it may open so many more files. */
COMMAND(service, files)
{
	struct rlimit limit;
	int lowest = dup(STDERR_FILENO);

	MUST(lowest >= 0 && !close(lowest));
	MUST_CALL(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = agent_has_option("all") ? limit.rlim_max
						 : (rlim_t)lowest + agent_number(1);
	MUST_CALL(setrlimit(RLIMIT_NOFILE, &limit));
	return WW_OK;
}

COMMAND(service, drain)
{
	MUST_OK(ww_service_drain(own.service));
	MUST_EQUAL(WW_END, stop_serving());
	return WW_OK;
}

/* As a hostile server does it, while it goes on. */
COMMAND(service, show_stopped)
{
	ww_service_page_set_state(&own.service->page,
		agent_number(1) ? WW_WIRE_SERVICE_STATE_STOPPED : WW_WIRE_SERVICE_STATE_READY);
	return WW_OK;
}

/* Serving ends by itself. */
COMMAND_CALL(service, served, stop_serving())

COMMAND(service, clients)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(own.service, &info));
		sched_yield();
	} while (info.clients != agent_number(1));
	return WW_OK;
}

COMMAND(service, taken)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(own.service, &info));
		sched_yield();
	} while (info.calls != agent_number(1));
	return WW_OK;
}

COMMAND(service, has_taken)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	MUST_OK(ww_service_info_get(own.service, &info));
	return info.calls == agent_number(1) ? WW_OK : WW_NOT_READY;
}

/* --- the client --- */

COMMAND_BROKER(service, open)
{
	MUST(!own.client);
	return ww_client_open(broker, agent_word(1),
		WW_PARAMS(struct ww_client_params,
			.flags = agent_has_option("observe") ? WW_CLIENT_OBSERVE : 0),
		agent_time_option("wait_ms"), NULL, &own.client);
}

COMMAND(service, submit)
{
	uint32_t function;
	ww_status status = ww_client_find(own.client, agent_word(1), NULL, 0, NULL, &function);

	own.ticket = ww_ticket_unref(own.ticket);
	return status
		? status
		: ww_client_submit(own.client, function, NULL, 0,
			  WW_PARAMS(struct ww_submit_params, .lane = agent_option("lane"),
				  .deadline_ns = agent_number_option("deadline_ms", 10) * 1000000),
			  WW_FOREVER, NULL, &own.ticket);
}

COMMAND_CALL(service, wait, ww_ticket_wait(own.ticket, WW_FOREVER, NULL))

COMMAND(service, call)
{
	ww_status status = obey_submit();

	return status ? status : obey_wait();
}

COMMAND_CALL(service, ready, ww_client_wait_ready(own.client, WW_FOREVER, NULL))

COMMAND(service, find)
{
	uint32_t function;

	return ww_client_find(own.client, agent_word(1), NULL, WW_FOREVER, NULL, &function);
}

COMMAND(service, state)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_client_service_info_get(own.client, &info));
		sched_yield();
	} while (info.state != agent_number(1));
	return WW_OK;
}

COMMAND(service, repeat)
{
	const struct ww_value values[] = {value_i64(20), value_i64(22)};
	uint32_t count = strcmp(agent_word(1), "add") ? 0 : 2;
	uint64_t timeout_ms = agent_number_option("timeout_ms", 10);
	OWN(ticket) ww_ticket *ticket;
	uint32_t function;
	ww_status status;

	MUST_OK(ww_client_find(own.client, agent_word(1), NULL, 0, NULL, &function));
	status = ww_client_call(own.client, function, values, count,
		WW_PARAMS(struct ww_submit_params,
			.deadline_ns = agent_number_option("deadline_ms", 10) * 1000000,
			.flags = WW_SUBMIT_REPEAT),
		timeout_ms ? timeout_ms * 1000000 : WW_FOREVER, NULL, &ticket);
	if (status == WW_OK && count > 0)
		MUST_EQUAL(42, result_scalar(ticket, 0));
	return status;
}

COMMAND(service, many)
{
	uint64_t count = agent_number(1);
	uint32_t add;

	MUST_OK(ww_client_find(own.client, "add", NULL, 0, NULL, &add));
	for (uint64_t i = 0; i < count; i++) {
		const struct ww_value values[] = {value_i64((int64_t)i), value_i64(1)};
		ww_ticket *ticket;
		ww_status status = ww_client_call(own.client, add, values, 2, NULL, WW_FOREVER,
			NULL, &ticket);

		if (status != WW_OK)
			return status;
		MUST_EQUAL(i + 1, result_scalar(ticket, 0));
		ww_ticket_unref(ticket);
	}
	return WW_OK;
}

COMMAND(service, mark)
{
	const struct ww_value values[] = {value_memory(*agent_memory()),
		value_u64(agent_number(1))};
	uint32_t mark;

	MUST_OK(ww_client_find(own.client, "mark", NULL, 0, NULL, &mark));
	return ww_client_call(own.client, mark, values, 2, NULL, WW_FOREVER, NULL, NULL);
}

COMMAND(service, alloc)
{
	const char *name = agent_find_option("name");
	struct ww_value values[] = {
		value_u64(agent_number(1)),
		name ? value_bytes(name, strlen(name)) : (struct ww_value){.kind = 0},
		value_u64(agent_number_option("mode", 8)),
		value_u64(agent_has_option("kept")),
	};
	struct ww_value result;
	ww_ticket *ticket;
	uint32_t alloc;
	ww_status status;

	values[2].dtype = (struct ww_dtype){WW_DTYPE_UINT, 32, 1};
	values[3].dtype = (struct ww_dtype){WW_DTYPE_BOOL, 8, 1};
	MUST_OK(ww_client_find(own.client, "warpway.alloc", NULL, 0, NULL, &alloc));
	status = ww_client_call(own.client, alloc, values, 4, NULL, WW_FOREVER, NULL, &ticket);
	if (status != WW_OK)
		return status;
	MUST_OK(ww_ticket_result(ticket, 0, &result));
	own.token = *result.token;
	ww_ticket_unref(ticket);
	return WW_OK;
}

COMMAND(service, free)
{
	const struct ww_value memory = *agent_memory() ? value_memory(*agent_memory())
						       : value_token(&own.token);
	uint32_t function;

	MUST_OK(ww_client_find(own.client, "warpway.free", NULL, 0, NULL, &function));
	return ww_client_call(own.client, function, &memory, 1, NULL, WW_FOREVER, NULL, NULL);
}

COMMAND_BROKER(service, fill_lanes)
{
	OWN(timeline) ww_timeline *timeline;
	uint32_t nop;

	MUST_OK(ww_client_find(own.client, "nop", NULL, 0, NULL, &nop));
	MUST_OK(ww_timeline_get(broker, agent_word(1), 0, NULL, &timeline));
	for (uint32_t i = 0; i < WW_SERVICE_LANES_MAX; i++) {
		MUST_OK(ww_client_submit(own.client, nop, NULL, 0,
			WW_PARAMS(struct ww_submit_params, .lane = i, .after = timeline,
				.after_value = 1),
			WW_FOREVER, NULL, NULL));
	}
	return WW_OK;
}

/* --- a timeline --- */

COMMAND_BROKER(service, timeline)
{
	MUST_OK(ww_timeline_create(NULL, &own.timeline));
	return ww_timeline_put(own.timeline, broker, agent_word(1), NULL, NULL);
}

COMMAND_CALL(service, signal, ww_timeline_signal(own.timeline, agent_number(1)))

COMMAND(service, submit_signal)
{
	MUST_OK(ww_stream_create(agent_device(), &own.stream));
	MUST_OK(ww_timeline_create(NULL, &own.gate));
	MUST_OK(ww_timeline_stream_wait(own.gate, own.stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	return ww_timeline_stream_signal(own.timeline, own.stream, agent_number(1));
}

COMMAND(service, go)
{
	MUST_OK(ww_timeline_signal(own.gate, 1));
	MUST_OK(ww_stream_synchronize(own.stream, WW_FOREVER, NULL));
	own.stream = ww_stream_unref(own.stream);
	own.gate = ww_timeline_unref(own.gate);
	return WW_OK;
}

COMMAND_DO(service, close, own.timeline = ww_timeline_unref(own.timeline))

/* --- the ticket --- */

static struct ww_ticket_info ticket_info(void)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_OK(ww_ticket_info_get(own.ticket, &info));
	return info;
}

COMMAND(service, started)
{
	while (!ticket_info().has_started)
		sched_yield();
	return WW_OK;
}

COMMAND_DO(service, has_started, MUST_EQUAL(agent_number(1), ticket_info().has_started))

COMMAND_DO(service, cancel, ww_ticket_cancel(own.ticket))

COMMAND(service, leave)
{
	own.ticket = ww_ticket_unref(own.ticket);
	own.client = ww_client_unref(own.client);
	return WW_OK;
}

static void let_go(void)
{
	obey_leave();
	obey_close();
	if (own.cancel)
		ww_cancel_set(own.cancel);
	(void)stop_serving();
	own.service = ww_service_unref(own.service);
	own.cancel = ww_cancel_unref(own.cancel);
}

AGENTS(service, let_go)

void service_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "service", options);
}

void service_start_all(struct child *server, struct child *clients, int count, const char *options)
{
	agent_begin(server, "service", "create s %s", options);
	for (int i = 0; i < count; i++) {
		agent_begin(&clients[i], "service", "open s");
	}
}
