/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_server.c - the process whose functions are called, and what all of the cast have in common
 */
#include <pthread.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crash/call.h"
#include "support/leak_count.h"

#define BATCH_NS  UINT64_C(200000)
#define CALLS_MAX 64 /* of one client: more than a client has, so that none is refused */

/* --- the board --- */

struct call_board *call_board_map(bool create)
{
	return scene_share(create, sizeof(struct call_board));
}

void call_board_unmap(struct call_board *board)
{
	munmap(board, sizeof(*board));
}

uint64_t call_answer(uint64_t at)
{
	return (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

ww_memory *call_array_make(uint64_t bytes, struct ww_token *out_token)
{
	ww_memory *array = memory_make(scene.device, WW_MEMORY_HOST, bytes);

	memset(ww_memory_host_pointer(array), 0, bytes);
	MUST_OK(ww_memory_export(array, scene.broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE,
			.escrow_ns = WW_ESCROW_NONE),
		NULL, out_token));
	return array;
}

/* --- functions --- */

static struct call_board *board; /* NULL: there is none */

static void add_one(void *byte)
{
	__atomic_fetch_add((uint8_t *)byte, 1, __ATOMIC_RELAXED);
}

static void must_be_open(uint64_t at)
{
	MUST(at < CALL_MOST);
	if (atomic_load(&board->places[at].gate) != CALL_OPEN)
		FAIL("the call at %llu was run before the value that it starts after",
			(unsigned long long)at);
}

static ww_status place_of(ww_call *call, void **out_byte)
{
	struct ww_value array;
	struct ww_value at;
	struct ww_value answer;
	ww_status status = ww_call_argument(call, 0, &array);

	if (status == WW_OK)
		status = ww_call_argument(call, 1, &at);
	if (status != WW_OK)
		return status;
	if (board) {
		atomic_fetch_add(&board->steps[0], 1);
		must_be_open(at.scalar);
	}
	*out_byte = (uint8_t *)array.host_pointer + at.scalar;
	answer = value_u64(call_answer(at.scalar));
	return ww_call_result(call, 0, &answer);
}

static ww_status run_mark(void *context, ww_call *call)
{
	void *byte;
	ww_status status = place_of(call, &byte);

	(void)context;
	if (status == WW_OK)
		add_one(byte);
	return status;
}

static ww_status run_mark_later(void *context, ww_call *call)
{
	ww_stream *stream;
	void *byte;
	ww_status status = place_of(call, &byte);

	(void)context;
	if (status == WW_OK)
		status = ww_call_stream(call, &stream);
	return status == WW_OK ? ww_stream_call(stream, add_one, byte) : status;
}

/* By the stream of the first. */
static ww_status run_mark_together(void *context, ww_call *const *calls, uint32_t count)
{
	(void)context;
	for (uint32_t i = 0; i < count; i++) {
		ww_stream *stream;
		void *byte;
		ww_status status = place_of(calls[i], &byte);

		if (status == WW_OK)
			status = ww_call_stream(calls[0], &stream);
		if (status == WW_OK)
			status = ww_stream_call(stream, add_one, byte);
		if (status != WW_OK)
			(void)ww_call_fail(calls[i], status, ww_error_last()->message);
	}
	return WW_OK;
}

/* --- serving --- */

ww_service *call_service_make(ww_device *device, ww_broker *broker, const char *name)
{
	static const char signature[] = "u8[n] array write, u64 at -> u64 answer";
	ww_service *service;

	MUST_OK(ww_service_create(device, broker, name,
		WW_PARAMS(struct ww_service_params, .calls_max = CALLS_MAX, .flags = WW_PUT_REPLACE,
			.builtin = WW_SERVICE_BUILTIN_DATA | WW_SERVICE_BUILTIN_ALLOC),
		NULL, &service));
	MUST_OK(ww_service_offer(service, "mark", signature, run_mark, NULL, NULL));
	MUST_OK(ww_service_offer(service, "mark_again", signature, run_mark, NULL,
		WW_PARAMS(struct ww_function_params, .flags = WW_FUNCTION_IDEMPOTENT)));
	MUST_OK(ww_service_offer(service, "mark_later", signature, run_mark_later, NULL,
		WW_PARAMS(struct ww_function_params, .flags = WW_FUNCTION_ENQUEUES)));
	MUST_OK(ww_service_offer_batch(service, "mark_together", signature, run_mark_together, NULL,
		WW_PARAMS(struct ww_function_params, .batch_calls_max = 8,
			.batch_wait_ns = BATCH_NS)));
	return service;
}

static void *serve(void *service)
{
	while (atomic_load(&board->stops) < CALL_SERVER_STOPS)
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, CALL_TURN_NS, NULL));
	return NULL;
}

/* Those that were killed, and those that have left. */
static void forget_all_clients(ww_service *service)
{
	uint64_t limit_ns = now_ns() + (uint64_t)child_limit_ms() * 1000000;
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	do {
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(service, CALL_TURN_NS, NULL));
		MUST_OK(ww_service_info_get(service, &info));
	} while (info.clients > 0 && now_ns() < limit_ns);
	MUST_EQUAL(0, info.clients);
}

/* role_call_server: runs until the board says that it is over */
ROLE(role_call_server)
{
	ww_device *device = subject_open();
	struct census before;
	ww_service *service;
	ww_broker *broker;
	pthread_t other;

	board = call_board_map(false);
	atomic_fetch_add(&board->servers, 1);
	MUST_OK(broker_open_patient(NULL, &broker));
	ww_service_unref(call_service_make(device, broker, NULL));
	census_take(&before);
	service = call_service_make(device, broker, "calls");
	MUST_OK(ww_service_start(service));
	atomic_fetch_add(&board->servers_started, 1);
	MUST(!pthread_create(&other, NULL, serve, service));
	serve(service);
	pthread_join(other, NULL);
	forget_all_clients(service);
	ww_service_unref(service);
	if (subject_is_countable())
		census_must_match(&before);
	ww_broker_unref(broker);
	ww_device_unref(device);
	call_board_unmap(board);
}
