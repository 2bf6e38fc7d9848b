/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_scenario.c - see broker_scenario.h
 */
#include "torture/broker_scenario.h"

#include <string.h>

#include "support/fail_call.h"
#include "support/child.h"
#include "support/subject.h"
#include "torture/torture_step.h"

#define NAME         "torture/object"
#define MEMORIES_MAX 8
#define NS_PER_MS    UINT64_C(1000000)

struct ww_broker_info scenario_info;
struct allocation scenario_allocations[SCENARIO_ALLOCATIONS];

void scenario_allocate(void)
{
	static const enum allocation_kind kinds[SCENARIO_ALLOCATIONS] = {ALLOCATION_LEGACY,
		ALLOCATION_POOL};

	allocation_enter_apart();
	for (size_t i = 0; i < SCENARIO_ALLOCATIONS; i++)
		MUST(allocation_make(&scenario_allocations[i], kinds[i], 4096));
	allocation_step_out();
}

struct scenario {
	struct first_failure failure;
	bool is_over; /* the connection ended, and what was held by it with that */
	ww_device *device;
	ww_broker *broker;
	ww_watch *watch;
	ww_snapshot *snapshot;
	ww_memory *memories[MEMORIES_MAX];
	size_t memory_count;
	struct ww_token token;
	ww_event *events[2];
};

/*
 * Whether what failed made an end of the connection, with a broker that lives: then nothing is held
 * any more.
 */
static bool has_lost_connection(void)
{
	static const char *const functions[] = {"ppoll", "recvmsg", "sendmsg"};
	const char *function = calls_off(NULL);

	for (size_t i = 0; function && i < CHECK_COUNT(functions); i++)
		if (!strcmp(function, functions[i]))
			return true;
	return false;
}

/* What becomes of a request that is about something which was held before. */
static bool is_of_loss(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_ACCESS || status == WW_ERR_EXISTS;
}

static void end_step(struct scenario *scenario, const char *step, ww_status status)
{
	if (status == WW_OK)
		return;
	if (!is_of_loss(status) || !has_lost_connection())
		check_status(__FILE__, __LINE__, step, WW_OK, status);
	scenario->is_over = true;
	if (is_of_loss(scenario->failure.status))
		scenario->failure.status = WW_OK;
}

#define DO(call)                                                         \
	do {                                                             \
		ww_status status_ = WW_OK;                               \
                                                                         \
		if (!scenario->is_over)                                  \
			status_ = (call);                                \
		if (step_has_failed(&scenario->failure, #call, status_)) \
			status_ = (call);                                \
		end_step(scenario, #call, status_);                      \
	} while (0)

static ww_memory **next(struct scenario *scenario)
{
	MUST(scenario->memory_count < MEMORIES_MAX);
	return &scenario->memories[scenario->memory_count];
}

static void release_memories(struct scenario *scenario)
{
	while (scenario->memory_count) {
		ww_memory **memory = &scenario->memories[--scenario->memory_count];

		*memory = ww_memory_unref(
			*memory); /* a step that is left out leaves its place as it was */
	}
}

static ww_status make(struct scenario *scenario)
{
	return ww_memory_create(scenario->device,
		WW_PARAMS(struct ww_memory_params, .kind = WW_MEMORY_VMM, .bytes = 4096),
		next(scenario));
}

static ww_status put(struct scenario *scenario, const char *name, uint32_t state, uint64_t flags)
{
	const struct ww_put_params *params = WW_PARAMS(struct ww_put_params,
		.life = name ? WW_LIFE_KEPT : WW_LIFE_HELD, .state = state, .flags = flags,
		.ttl_ns = name ? UINT64_C(3600) * 1000 * NS_PER_MS : 0);

	return ww_memory_put(*next(scenario), scenario->broker, name, params, 0, NULL);
}

static ww_status get(struct scenario *scenario, const char *name, uint32_t access,
	uint64_t timeout_ns)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	return ww_memory_get(scenario->device, scenario->broker, name,
		WW_PARAMS(struct ww_get_params, .access = access), timeout_ns, NULL, next(scenario),
		&info);
}

static ww_status wait_in_vain(struct scenario *scenario)
{
	ww_status status = get(scenario, "torture/nothing", WW_ACCESS_READ, NS_PER_MS);

	return status == WW_TIMED_OUT ? WW_OK : status;
}

static ww_status export(struct scenario *scenario)
{
	const struct ww_export_params params = {
		.struct_size = sizeof(params),
		.access = WW_ACCESS_WRITE,
		.offset = 64,
		.bytes = 64,
		.escrow_ns = NS_PER_MS, /* this process holds it: nothing is to keep it later */
		.uses = 1,
	};

	return ww_memory_export(*next(scenario), scenario->broker, &params, NULL, &scenario->token);
}

/* By the address in the token. */
static ww_status import(struct scenario *scenario)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	return ww_memory_import(scenario->device, NULL, &scenario->token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, next(scenario),
		&info);
}

static ww_status look(struct scenario *scenario)
{
	struct ww_object_info info = WW_INIT(struct ww_object_info);

	return ww_broker_stat(scenario->broker, NAME, &info);
}

static ww_status list(struct scenario *scenario)
{
	scenario->snapshot = ww_snapshot_free(scenario->snapshot);
	return ww_snapshot_create(scenario->broker, NULL,
		WW_SNAPSHOT_OBJECTS | WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDERS | WW_SNAPSHOT_HOLDS,
		&scenario->snapshot);
}

/* Whatever it is: after a failure it is the news that some were missed. */
static ww_status hear(struct scenario *scenario)
{
	struct ww_watch_event event = WW_INIT(struct ww_watch_event);

	return ww_watch_next(scenario->watch, (uint64_t)child_limit_ms() * NS_PER_MS, NULL, &event);
}

static ww_status ask_how_it_is(struct scenario *scenario)
{
	scenario_info.struct_size = sizeof(scenario_info);
	return ww_broker_info_get(scenario->broker, &scenario_info);
}

/* What another process put. */
static void use_others(struct scenario *scenario)
{
	DO(get(scenario, SCENARIO_SOON, WW_ACCESS_READ, (uint64_t)child_limit_ms() * NS_PER_MS));
	scenario->memory_count++;
	DO(wait_in_vain(scenario));
	DO(get(scenario, SCENARIO_READY, WW_ACCESS_READ, 0));
	scenario->memory_count++;
	DO(get(scenario, SCENARIO_READY, WW_ACCESS_READ, 0));
	scenario->memory_count++;
	release_memories(scenario);
}

/* What another process wrapped is opened by the driver. */
static void use_wrapped_by_others(struct scenario *scenario)
{
	if (!scenario_allocations[0].address)
		return;
	for (int i = 0; i < 2; i++) {
		DO(get(scenario, SCENARIO_LEGACY, WW_ACCESS_READ, 0));
		scenario->memory_count++;
		DO(get(scenario, SCENARIO_POOL, WW_ACCESS_READ, 0));
		scenario->memory_count++;
	}
	release_memories(scenario);
}

static ww_status wrap(struct scenario *scenario, size_t which)
{
	return ww_memory_wrap(scenario->device, allocation_at(&scenario_allocations[which], 100), 0,
		NULL, next(scenario));
}

static ww_status put_wrapped(struct scenario *scenario)
{
	return ww_memory_put(*next(scenario), scenario->broker, NULL,
		WW_PARAMS(struct ww_put_params, .state = WW_STATE_SHARED), 0, NULL);
}

static void use_token(struct scenario *scenario)
{
	char text[WW_TOKEN_TEXT_BYTES];

	DO(export(scenario));
	DO(ww_token_to_text(&scenario->token, text));
	DO(ww_token_from_text(text, &scenario->token));
	scenario->memory_count++;
	DO(import(scenario));
	scenario->memory_count++;
}

/* It is in the broker as long as the connection lasts; then it is put again. */
static ww_status export_again(struct scenario *scenario)
{
	ww_status status = WW_ERR_NOT_FOUND;

	for (int i = 0; i < 2 && status == WW_ERR_NOT_FOUND; i++)
		status = export(scenario);
	return status;
}

static void use_wrapped(struct scenario *scenario)
{
	for (size_t i = 0; i < SCENARIO_ALLOCATIONS && scenario_allocations[i].address; i++) {
		DO(wrap(scenario, i));
		DO(put_wrapped(scenario));
		DO(export_again(scenario));
		scenario->memory_count++;
		DO(import(scenario));
		scenario->memory_count++;
		release_memories(scenario);
	}
}

/* One that is written first, one without a name, and one in the place of the first. */
static void use_own(struct scenario *scenario)
{
	DO(make(scenario));
	DO(put(scenario, NAME, WW_STATE_WRITING, 0));
	DO(ww_memory_publish(*next(scenario), scenario->broker, WW_STATE_SHARED, NULL));
	DO(look(scenario));
	use_token(scenario);
	DO(make(scenario));
	DO(put(scenario, NULL, WW_STATE_SEALED, 0));
	scenario->memory_count++;
	DO(make(scenario));
	DO(put(scenario, NAME, WW_STATE_SEALED | WW_STATE_READ_ONLY, WW_PUT_REPLACE));
	scenario->memory_count++;
}

/*
 * It puts the event, and asks for a token then; between the two the connection may end, and what
 * was put is gone.
 */
static ww_status export_event(struct scenario *scenario)
{
	ww_status status = WW_ERR_NOT_FOUND;

	for (int i = 0; i < 2 && status == WW_ERR_NOT_FOUND; i++)
		status = ww_event_export(scenario->events[0], scenario->broker, NULL, NULL,
			&scenario->token);
	return status;
}

static ww_status import_event(struct scenario *scenario)
{
	return ww_event_import(scenario->device, NULL, &scenario->token, NULL,
		&scenario->events[1]);
}

/*
 * One of a GPU. What has a page of timelines is left out: the broker mourns over it for seconds
 * when a connection breaks, and here that is done a thousand times.
 */
static void use_event(struct scenario *scenario)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	DO(ww_device_info_get(scenario->device, &info));
	if (!subject_is_cuda() || !(info.capabilities & WW_CAP_EVENT))
		return;
	DO(ww_event_create(scenario->device, NULL, &scenario->events[0]));
	DO(export_event(scenario));
	DO(import_event(scenario));
}

static void use_lists(struct scenario *scenario)
{
	DO(list(scenario));
	DO(ww_watch_create(scenario->broker, "torture/", WW_WATCH_EXISTING, &scenario->watch));
	DO(hear(scenario));
	DO(ww_broker_end(scenario->broker, NAME, NULL));
	DO(hear(scenario));
	DO(ask_how_it_is(scenario));
}

static ww_status finish(struct scenario *scenario, const char **out_step)
{
	if (scenario->is_over)
		ww_broker_end(scenario->broker, NAME,
			NULL); /* its tokens would keep it for a time */
	ww_snapshot_free(scenario->snapshot);
	ww_watch_free(scenario->watch);
	release_memories(scenario);
	ww_event_unref(scenario->events[1]);
	ww_event_unref(scenario->events[0]);
	ww_broker_unref(scenario->broker);
	ww_device_unref(scenario->device);
	return step_report(&scenario->failure, out_step);
}

ww_status broker_scenario_run(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;

	DO(step_open_broker(&scenario->broker));
	DO(ww_device_open(subject_name(), &scenario->device));
	use_others(scenario);
	use_wrapped_by_others(scenario);
	use_wrapped(scenario);
	use_own(scenario);
	use_event(scenario);
	use_lists(scenario);
	return finish(scenario, out_step);
}

ww_status broker_scenario_start(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;

	DO(ww_broker_open(NULL, &scenario->broker));
	DO(ask_how_it_is(scenario));
	return finish(scenario, out_step);
}
