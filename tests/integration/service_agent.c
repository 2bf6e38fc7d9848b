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

static uint64_t number(size_t word)
{
	return agent_number(word);
}

static uint32_t option(const char *name)
{
	return (uint32_t)agent_number_option(name, 10);
}

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

static ww_status obey_serve(void)
{
	own.is_serving = true;
	MUST(!pthread_create(&own.thread, NULL, serve, NULL));
	return WW_OK;
}

static ww_status obey_create(void)
{
	const struct ww_service_params *params = WW_PARAMS(struct ww_service_params,
		.calls_max = option("calls"), .clients_max = option("clients"),
		.clients_per_uid_max = option("clients_per_uid"),
		.mode = (uint32_t)agent_number_option("mode", 8),
		.builtin = agent_has_option("builtin")
			? WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC
			: 0,
		.alloc_bytes_max = agent_number_option("alloc_bytes", 10),
		.keep_ns = agent_has_option("keep") ? WW_FOREVER : 0,
		.flags = agent_has_option("replace") ? WW_PUT_REPLACE : 0);
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	if (status == WW_OK)
		status = ww_service_create(agent_device(), broker, agent_word(1), params, NULL,
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
static ww_status obey_serve_fault(void)
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
static ww_status obey_files(void)
{
	struct rlimit limit;
	int lowest = dup(STDERR_FILENO);

	MUST(lowest >= 0 && !close(lowest));
	MUST_CALL(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = agent_has_option("all") ? limit.rlim_max : (rlim_t)lowest + number(1);
	MUST_CALL(setrlimit(RLIMIT_NOFILE, &limit));
	return WW_OK;
}

static ww_status obey_drain(void)
{
	MUST_OK(ww_service_drain(own.service));
	MUST_EQUAL(WW_END, stop_serving());
	return WW_OK;
}

/* Serving ends by itself. */
static ww_status obey_served(void)
{
	return stop_serving();
}

static ww_status obey_clients(void)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(own.service, &info));
		sched_yield();
	} while (info.clients != number(1));
	return WW_OK;
}

static ww_status obey_taken(void)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_service_info_get(own.service, &info));
		sched_yield();
	} while (info.calls != number(1));
	return WW_OK;
}

static ww_status obey_has_taken(void)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	MUST_OK(ww_service_info_get(own.service, &info));
	return info.calls == number(1) ? WW_OK : WW_NOT_READY;
}

/* --- the client --- */

static ww_status obey_open(void)
{
	ww_broker *broker;
	ww_status status = agent_broker(&broker);

	MUST(!own.client);
	return status
		? status
		: ww_client_open(broker, agent_word(1),
			  WW_PARAMS(struct ww_client_params,
				  .flags = agent_has_option("observe") ? WW_CLIENT_OBSERVE : 0),
			  agent_time_option("wait_ms"), NULL, &own.client);
}

static ww_status obey_submit(void)
{
	uint32_t function;
	ww_status status = ww_client_find(own.client, agent_word(1), NULL, 0, NULL, &function);

	own.ticket = ww_ticket_unref(own.ticket);
	return status
		? status
		: ww_client_submit(own.client, function, NULL, 0,
			  WW_PARAMS(struct ww_submit_params, .lane = option("lane"),
				  .deadline_ns = agent_number_option("deadline_ms", 10) * 1000000),
			  WW_FOREVER, NULL, &own.ticket);
}

static ww_status obey_wait(void)
{
	return ww_ticket_wait(own.ticket, WW_FOREVER, NULL);
}

static ww_status obey_call(void)
{
	ww_status status = obey_submit();

	return status ? status : obey_wait();
}

static ww_status obey_ready(void)
{
	return ww_client_wait_ready(own.client, WW_FOREVER, NULL);
}

static ww_status obey_find(void)
{
	uint32_t function;

	return ww_client_find(own.client, agent_word(1), NULL, WW_FOREVER, NULL, &function);
}

static ww_status obey_state(void)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_OK(ww_client_service_info_get(own.client, &info));
		sched_yield();
	} while (info.state != number(1));
	return WW_OK;
}

static ww_status obey_repeat(void)
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

static ww_status obey_many(void)
{
	uint64_t count = number(1);
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

static ww_status obey_mark(void)
{
	const struct ww_value values[] = {value_memory(*agent_memory()), value_u64(number(1))};
	uint32_t mark;

	MUST_OK(ww_client_find(own.client, "mark", NULL, 0, NULL, &mark));
	return ww_client_call(own.client, mark, values, 2, NULL, WW_FOREVER, NULL, NULL);
}

static ww_status obey_alloc(void)
{
	const char *name = agent_find_option("name");
	struct ww_value values[] = {
		value_u64(number(1)),
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

static ww_status obey_free(void)
{
	const struct ww_value memory = *agent_memory() ? value_memory(*agent_memory())
						       : value_token(&own.token);
	uint32_t function;

	MUST_OK(ww_client_find(own.client, "warpway.free", NULL, 0, NULL, &function));
	return ww_client_call(own.client, function, &memory, 1, NULL, WW_FOREVER, NULL, NULL);
}

static ww_status obey_fill_lanes(void)
{
	OWN(timeline) ww_timeline *timeline;
	ww_broker *broker;
	uint32_t nop;

	MUST_OK(agent_broker(&broker));
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

static ww_status obey_timeline(void)
{
	ww_broker *broker;

	MUST_OK(agent_broker(&broker));
	MUST_OK(ww_timeline_create(NULL, &own.timeline));
	return ww_timeline_put(own.timeline, broker, agent_word(1), NULL, NULL);
}

static ww_status obey_signal(void)
{
	return ww_timeline_signal(own.timeline, number(1));
}

static ww_status obey_submit_signal(void)
{
	MUST_OK(ww_stream_create(agent_device(), &own.stream));
	MUST_OK(ww_timeline_create(NULL, &own.gate));
	MUST_OK(ww_timeline_stream_wait(own.gate, own.stream, 1, WW_WAIT_UNSUBMITTED, 0, NULL));
	return ww_timeline_stream_signal(own.timeline, own.stream, number(1));
}

static ww_status obey_go(void)
{
	MUST_OK(ww_timeline_signal(own.gate, 1));
	MUST_OK(ww_stream_synchronize(own.stream, WW_FOREVER, NULL));
	own.stream = ww_stream_unref(own.stream);
	own.gate = ww_timeline_unref(own.gate);
	return WW_OK;
}

static ww_status obey_close(void)
{
	own.timeline = ww_timeline_unref(own.timeline);
	return WW_OK;
}

/* --- the ticket --- */

static struct ww_ticket_info ticket_info(void)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	MUST_OK(ww_ticket_info_get(own.ticket, &info));
	return info;
}

static ww_status obey_started(void)
{
	while (!ticket_info().has_started)
		sched_yield();
	return WW_OK;
}

static ww_status obey_has_started(void)
{
	MUST_EQUAL(number(1), ticket_info().has_started);
	return WW_OK;
}

static ww_status obey_cancel(void)
{
	ww_ticket_cancel(own.ticket);
	return WW_OK;
}

static ww_status obey_leave(void)
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

static const struct agent_command commands[] = {
	{"create", obey_create},
	{"serve", obey_serve},
	{"serve_fault", obey_serve_fault},
	{"files", obey_files},
	{"drain", obey_drain},
	{"served", obey_served},
	{"clients", obey_clients},
	{"taken", obey_taken},
	{"has_taken", obey_has_taken},
	{"open", obey_open},
	{"ready", obey_ready},
	{"find", obey_find},
	{"state", obey_state},
	{"call", obey_call},
	{"many", obey_many},
	{"repeat", obey_repeat},
	{"mark", obey_mark},
	{"alloc", obey_alloc},
	{"free", obey_free},
	{"submit", obey_submit},
	{"fill_lanes", obey_fill_lanes},
	{"timeline", obey_timeline},
	{"signal", obey_signal},
	{"submit_signal", obey_submit_signal},
	{"go", obey_go},
	{"close", obey_close},
	{"started", obey_started},
	{"has_started", obey_has_started},
	{"cancel", obey_cancel},
	{"wait", obey_wait},
	{"leave", obey_leave},
};

ROLE(role_service)
{
	(void)count;
	(void)arguments;
	agent_extend(commands, CHECK_COUNT(commands), let_go);
	agent_serve();
}

void service_start(struct child *agent, const struct child_options *options)
{
	child_start(agent, "role_service", options);
}

void service_start_all(struct child *server, struct child *clients, int count, const char *options)
{
	service_start(server, NULL);
	agent_must(server, WW_OK, "create s %s", options);
	for (int i = 0; i < count; i++) {
		service_start(&clients[i], NULL);
		agent_must(&clients[i], WW_OK, "open s");
	}
}
