/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_scenario.c - see call_scenario.h
 */
#include "torture/call_scenario.h"

#include <string.h>

#include "support/broker.h"
#include "support/service.h"
#include "support/subject.h"
#include "torture/torture_broker.h"
#include "torture/torture_step.h"

#define BYTES   4096
#define TEXT    "some bytes"
#define FILLED  7
#define PATIENT UINT64_C(3000000000) /* longer than a server waits before it asks a broker again */

enum {
	MARK,
	FILL,
	MAKE,
	ECHO,
	ADD,
	FUNCTIONS
};

/* As support/service.h has them. */
static const char *const names[FUNCTIONS] = {"mark", "fill", "make", "echo", "add"};
static const char *const signatures[FUNCTIONS] = {"u8[n] x write, u64 at",
	"u8[*] x write, u8 value", "u64 bytes, u8 value -> u8[*] x", "bytes data -> bytes same",
	"i64 a, i64 b = 10 -> i64 sum"};

static struct {
	struct first_failure failure;
	ww_device *device;
	ww_broker *broker;
	ww_service *service;
	ww_client *clients[2]; /* by name, and by token */
	ww_memory *memory;
	ww_ticket *tickets[FUNCTIONS];
	uint32_t functions[FUNCTIONS];
	struct ww_token token; /* of the service */
} the_scenario, *const scenario = &the_scenario;

static void release_all(void)
{
	for (int i = 0; i < FUNCTIONS; i++)
		ww_ticket_unref(scenario->tickets[i]);
	for (int i = 0; i < 2; i++)
		ww_client_unref(scenario->clients[i]);
	ww_service_unref(scenario->service);
	ww_memory_unref(scenario->memory);
	ww_broker_unref(scenario->broker);
	ww_device_unref(scenario->device);
}

/* --- steps --- */

static ww_status create(void)
{
	ww_status status = ww_service_create(scenario->device, scenario->broker, "s",
		WW_PARAMS(struct ww_service_params, .calls_max = 8), NULL, &scenario->service);

	return step_gives(status, scenario->service);
}

static ww_status nothing(void *context, ww_call *call)
{
	(void)context;
	(void)call;
	return WW_OK;
}

static ww_status nothing_at_once(void *context, ww_call *const *calls, uint32_t count)
{
	(void)context;
	(void)calls;
	(void)count;
	return WW_OK;
}

static ww_status offer(int index)
{
	uint32_t uid = 1000;

	if (index == MARK)
		return ww_service_offer_batch(scenario->service, names[index], signatures[index],
			nothing_at_once, NULL, NULL);
	return ww_service_offer(scenario->service, names[index], signatures[index], nothing, NULL,
		index == ADD ? WW_PARAMS(struct ww_function_params, .uids = &uid, .uid_count = 1)
			     : NULL);
}

static ww_status make_memory(void)
{
	ww_status status = ww_memory_create(scenario->device,
		WW_PARAMS(struct ww_memory_params, .bytes = BYTES), &scenario->memory);

	return step_gives(status, scenario->memory);
}

static ww_status open_client(void)
{
	ww_status status = ww_client_open(scenario->broker, "s", NULL, 0, NULL,
		&scenario->clients[0]);

	return step_gives(status, scenario->clients[0]);
}

static ww_status import_client(void)
{
	ww_status status = ww_client_import(scenario->broker, &scenario->token, NULL, NULL,
		&scenario->clients[1]);

	return step_gives(status, scenario->clients[1]);
}

static ww_status find(int index)
{
	return ww_client_find(scenario->clients[0], names[index], NULL, 0, NULL,
		&scenario->functions[index]);
}

static ww_status submit(int index)
{
	const struct ww_value array = value_memory(scenario->memory);
	const struct ww_value values[FUNCTIONS][2] = {
		[MARK] = {array, value_u64(0)},
		[FILL] = {array, value_u8(FILLED)},
		[MAKE] = {value_u64(BYTES), value_u8(FILLED)},
		[ECHO] = {value_bytes(TEXT, sizeof(TEXT))},
		[ADD] = {value_i64(3), value_i64(4)},
	};
	ww_status status = ww_client_submit(scenario->clients[0], scenario->functions[index],
		values[index], index == ECHO ? 1 : 2,
		WW_PARAMS(struct ww_submit_params, .lane = (uint32_t)index % 2), 0, NULL,
		&scenario->tickets[index]);

	return step_gives(status, scenario->tickets[index]);
}

/* Those that nobody serves end with the client. */
ww_status call_scenario_make(const char **out_step)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	memset(scenario, 0, sizeof(*scenario));
	STEP(ww_device_open(subject_name(), &scenario->device));
	STEP(step_open_broker(&scenario->broker));
	STEP(create());
	for (int i = 0; i < FUNCTIONS; i++)
		STEP(offer(i));
	STEP(ww_service_start(scenario->service));
	STEP(ww_service_export(scenario->service, WW_ACCESS_WRITE, NULL, NULL, &scenario->token));
	STEP(open_client());
	STEP(import_client());
	STEP(ww_client_service_info_get(scenario->clients[1], &info));
	STEP(make_memory());
	for (int i = 0; i < FUNCTIONS; i++) {
		STEP(find(i));
		STEP(submit(i));
	}
	release_all();
	return step_report(&scenario->failure, out_step);
}

/* --- the server's side --- */

void call_scenario_begin_serving(void)
{
	memset(scenario, 0, sizeof(*scenario));
	scenario->device = subject_open();
	MUST_OK(broker_open_patient(scenario_address, &scenario->broker));
	MUST_OK(create());
	service_offer_all(scenario->service, scenario->device);
	MUST_OK(open_client());
	MUST_OK(make_memory());
	for (int i = 0; i < FUNCTIONS; i++) {
		MUST_OK(find(i));
		MUST_OK(submit(i));
	}
}

void call_scenario_end_serving(void)
{
	release_all();
}

static bool has_met_client(void)
{
	struct ww_service_info info = WW_INIT(struct ww_service_info);

	MUST_OK(ww_service_info_get(scenario->service, &info));
	return info.clients > 0;
}

/* A server that cannot meet its client tries again a second later, which is seen once only. */
static bool serve_until_met(void)
{
	static bool was_seen;

	MUST_STATUS(WW_TIMED_OUT, ww_service_serve(scenario->service, 0, NULL));
	if (has_met_client() || was_seen)
		return has_met_client();
	was_seen = true;
	while (!has_met_client())
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(scenario->service, PATIENT, NULL));
	return true;
}

static ww_status wait_for(int index)
{
	struct ww_ticket_info info = WW_INIT(struct ww_ticket_info);

	do {
		MUST_STATUS(WW_TIMED_OUT, ww_service_serve(scenario->service, 0, NULL));
		MUST_OK(ww_ticket_info_get(scenario->tickets[index], &info));
	} while (!info.has_ended &&
		ww_ticket_wait(scenario->tickets[index], 0, NULL) == WW_NOT_READY);
	return ww_ticket_wait(scenario->tickets[index], 0, NULL);
}

/* A call that failed is made again. */
static void finish(int index)
{
	ww_status status = wait_for(index);

	if (step_has_failed(&scenario->failure, names[index], status)) {
		scenario->tickets[index] = ww_ticket_unref(scenario->tickets[index]);
		MUST_OK(submit(index));
		status = wait_for(index);
	}
	MUST_OK(status);
}

static ww_status get_result(int index, struct ww_value *out_value)
{
	return ww_ticket_result(scenario->tickets[index], 0, out_value);
}

static ww_status import(const struct ww_token *token, ww_memory **out_memory)
{
	ww_status status = ww_memory_import(scenario->device, scenario->broker, token, NULL, NULL,
		out_memory, NULL);

	return step_gives(status, *out_memory);
}

static void results_must_be_right(void)
{
	OWN(memory) ww_memory *made = NULL;
	struct ww_value value;

	STEP(get_result(ADD, &value));
	MUST_EQUAL(7, value.scalar);
	STEP(get_result(ECHO, &value));
	MUST_EQUAL(sizeof(TEXT), value.bytes);
	MUST_MATCH(TEXT, value.data, sizeof(TEXT));
	STEP(get_result(MAKE, &value));
	STEP(import(value.token, &made));
}

ww_status call_scenario_serve(const char **out_step)
{
	if (!serve_until_met())
		return step_report(&scenario->failure, out_step);
	for (int i = 0; i < FUNCTIONS; i++)
		finish(i);
	results_must_be_right();
	return step_report(&scenario->failure, out_step);
}
