/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_scenario.c - see pool_scenario.h
 */
#include "torture/pool_scenario.h"

#include "support/subject.h"
#include "torture/torture_step.h"

struct ww_token scenario_tokens[2];
ww_pool *scenario_pool;

struct scenario {
	struct first_failure failure;
	bool has_values;
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_pool *pool;
	ww_memory *slices[3];
	ww_object *object;
	struct ww_token token;
};

static void open_all(struct scenario *scenario)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	STEP(ww_device_open(subject_name(), &scenario->device));
	STEP(ww_device_info_get(scenario->device, &info));
	scenario->has_values = info.capabilities & WW_CAP_STREAM_VALUE;
	STEP(ww_stream_create(scenario->device, &scenario->stream));
	STEP(step_open_broker(&scenario->broker));
}

static ww_status finish(struct scenario *scenario, const char **out_step)
{
	for (size_t i = 0; i < CHECK_COUNT(scenario->slices); i++)
		ww_memory_unref(scenario->slices[i]);
	ww_object_unref(scenario->object);
	ww_pool_unref(scenario->pool);
	ww_stream_unref(scenario->stream);
	ww_broker_unref(scenario->broker);
	ww_device_unref(scenario->device);
	return step_report(&scenario->failure, out_step);
}

static ww_status create(struct scenario *scenario)
{
	ww_status status = ww_pool_create(scenario->device,
		WW_PARAMS(struct ww_pool_params, .bytes_max = 2 * SCENARIO_CHUNK,
			.chunk_bytes = SCENARIO_CHUNK, .slices_max = 64),
		&scenario->pool);

	return step_gives(status, scenario->pool);
}

static ww_status alloc(struct scenario *scenario, uint64_t bytes, uint64_t alignment, int place)
{
	ww_memory **out = &scenario->slices[place];
	ww_status status = ww_pool_alloc(scenario->pool, bytes, alignment, 0, NULL, out);

	return step_gives(status, *out);
}

/* No token that was not made is waited for, and one that was is imported here. */
static ww_status export(struct scenario *scenario, int place, uint64_t offset)
{
	return ww_memory_export(scenario->slices[place], scenario->broker,
		WW_PARAMS(struct ww_export_params, .access = WW_ACCESS_WRITE, .offset = offset),
		NULL, &scenario->token);
}

static ww_status import(struct scenario *scenario, const struct ww_token *token, int place)
{
	ww_memory **out = &scenario->slices[place];
	ww_status status = ww_memory_import(scenario->device, scenario->broker, token,
		WW_PARAMS(struct ww_import_params, .access = WW_ACCESS_WRITE), NULL, out, NULL);

	return step_gives(status, *out);
}

static ww_status get(struct scenario *scenario, const char *name, int place)
{
	ww_memory **out = &scenario->slices[place];
	ww_status status = ww_memory_get(scenario->device, scenario->broker, name, NULL, 0, NULL,
		out, NULL);

	return step_gives(status, *out);
}

static void unref(struct scenario *scenario, int place)
{
	scenario->slices[place] = ww_memory_unref(scenario->slices[place]);
}

static ww_status take(struct scenario *scenario, const struct ww_token *token)
{
	ww_status status = ww_object_import(scenario->broker, token, NULL, &scenario->object, NULL);

	return step_gives(status, scenario->object);
}

/* For reading, so that the chunk of an import for writing is another mapping. */
static ww_status map(struct scenario *scenario, int place)
{
	ww_memory **out = &scenario->slices[place];
	ww_status status = ww_object_map(scenario->object, scenario->device, NULL, NULL, out);

	return step_gives(status, *out);
}

static void unref_object(struct scenario *scenario)
{
	scenario->object = ww_object_unref(scenario->object);
}

static ww_status release(struct scenario *scenario, int place)
{
	ww_status status = ww_pool_release(scenario->slices[place], scenario->stream);

	if (status == WW_OK)
		scenario->slices[place] = NULL;
	return status;
}

/* By the stream, where it can. */
static void let_go(struct scenario *scenario, int place)
{
	if (scenario->has_values)
		STEP(release(scenario, place));
	unref(scenario, place);
	STEP(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
}

static void must_be(ww_pool *pool, uint64_t used, uint64_t waiting)
{
	struct ww_pool_info info = WW_INIT(struct ww_pool_info);

	MUST_OK(ww_pool_info_get(pool, &info));
	MUST_EQUAL(used, info.bytes_used);
	MUST_EQUAL(waiting, info.bytes_waiting);
	MUST_EQUAL(info.bytes_reserved, info.bytes_free + used + waiting);
}

ww_status pool_scenario_own(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;
	uint64_t bytes;

	open_all(scenario);
	STEP(create(scenario));
	STEP(alloc(scenario, SCENARIO_SLICE, 0, 0));
	STEP(alloc(scenario, SCENARIO_CHUNK, SCENARIO_CHUNK, 1));
	STEP(ww_memory_put(scenario->slices[1], scenario->broker, "own", NULL, 0, NULL));
	STEP(get(scenario, "own", 2));
	unref(scenario, 2);
	STEP(ww_memory_revoke(scenario->slices[1], scenario->broker, NULL));
	STEP(export(scenario, 0, 0));
	STEP(import(scenario, &scenario->token, 2));
	unref(scenario, 2);
	STEP(take(scenario, &scenario->token));
	STEP(map(scenario, 2));
	unref_object(scenario);
	unref(scenario, 2);
	STEP(export(scenario, 1, SCENARIO_SLICE));
	unref(scenario, 1);
	STEP(import(scenario, &scenario->token, 2));
	unref(scenario, 2);
	let_go(scenario, 0);
	must_be(scenario->pool, 0, SCENARIO_CHUNK);
	STEP(ww_broker_remove(scenario->broker, "own"));
	STEP(alloc(scenario, SCENARIO_CHUNK, 0, 0));
	STEP(alloc(scenario, SCENARIO_CHUNK, 0, 1));
	must_be(scenario->pool, 2 * SCENARIO_CHUNK, 0);
	unref(scenario, 0);
	unref(scenario, 1);
	must_be(scenario->pool, 0, 0);
	STEP(ww_pool_trim(scenario->pool, 0, &bytes));
	MUST_EQUAL(2 * SCENARIO_CHUNK, bytes);
	return finish(scenario, out_step);
}

ww_status pool_scenario_member(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;

	open_all(scenario);
	STEP(get(scenario, SCENARIO_NAME, 2));
	unref(scenario, 2);
	STEP(take(scenario, &scenario_tokens[0]));
	STEP(map(scenario, 2));
	unref_object(scenario);
	unref(scenario, 2);
	STEP(import(scenario, &scenario_tokens[0], 0));
	STEP(import(scenario, &scenario_tokens[1], 1));
	STEP(export(scenario, 0, 0));
	unref(scenario, 0);
	STEP(import(scenario, &scenario->token, 2));
	unref(scenario, 2);
	let_go(scenario, 1);
	return finish(scenario, out_step);
}

/* The partner has a slice that we have let go of; whatever fails, it is not handed out. */
ww_status pool_scenario_meet(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;
	struct ww_pool_holder_info info = WW_INIT(struct ww_pool_holder_info);
	ww_memory *slice;
	ww_status status;

	status = ww_pool_alloc(scenario_pool, SCENARIO_CHUNK, 0, 0, NULL, &slice);
	MUST(status < 0 && !slice);
	if (status != WW_ERR_LIMIT || ww_pool_holder_get(scenario_pool, 0, &info) != WW_OK)
		(void)step_has_failed(&scenario->failure, "ww_pool_alloc", status);
	MUST_REFUSE(WW_ERR_LIMIT, "helper",
		ww_pool_alloc(scenario_pool, SCENARIO_CHUNK, 0, 0, NULL, &slice));
	MUST_OK(ww_pool_holder_get(scenario_pool, 0, &info));
	MUST_EQUAL(1, info.slice_count);
	must_be(scenario_pool, 0, SCENARIO_SLICE);
	return finish(scenario, out_step);
}
