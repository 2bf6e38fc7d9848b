/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_scenario.c - see channel_scenario.h
 */
#include "torture/channel_scenario.h"

#include <unistd.h>

#include "support/channel.h"
#include "support/subject.h"
#include "torture/torture_step.h"

#define SLOT_BYTES 4096
#define SLOTS      2
#define CONSUMERS  2

struct ww_token scenario_token;
ww_channel *scenario_channel;

struct scenario {
	struct first_failure failure;
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream; /* NULL: no stream can signal values */
	ww_channel *producer;
	ww_channel *consumers[CONSUMERS];
	struct ww_token token;
	struct ww_frame frame;
	uint64_t value; /* of the last frame */
};

static void open_all(struct scenario *scenario)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);

	STEP(ww_device_open(subject_name(), &scenario->device));
	STEP(ww_device_info_get(scenario->device, &info));
	if (info.capabilities & WW_CAP_STREAM_VALUE)
		STEP(ww_stream_create(scenario->device, &scenario->stream));
	STEP(step_open_broker(&scenario->broker));
}

static ww_status finish(struct scenario *scenario, const char **out_step)
{
	for (int i = 0; i < CONSUMERS; i++)
		ww_channel_unref(scenario->consumers[i]);
	ww_channel_unref(scenario->producer);
	ww_stream_unref(scenario->stream);
	ww_broker_unref(scenario->broker);
	ww_device_unref(scenario->device);
	return step_report(&scenario->failure, out_step);
}

static ww_status create(struct scenario *scenario)
{
	ww_status status = ww_channel_create(scenario->device, scenario->broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = SLOT_BYTES, .slots = SLOTS,
			.consumers_max = CONSUMERS, .metadata_bytes = 64),
		NULL, &scenario->producer);

	return step_gives(status, scenario->producer);
}

static ww_status get(struct scenario *scenario, uint64_t history)
{
	ww_status status = ww_channel_get(scenario->device, scenario->broker, "c",
		WW_PARAMS(struct ww_consumer_params, .history = history,
			.flags = WW_CONSUMER_REATTACH),
		WW_FOREVER, NULL, &scenario->consumers[0]);

	return step_gives(status, scenario->consumers[0]);
}

static ww_status import(struct scenario *scenario, const struct ww_token *token, uint64_t history)
{
	ww_status status = ww_channel_import(scenario->device, scenario->broker, token,
		WW_PARAMS(struct ww_consumer_params, .history = history), NULL,
		&scenario->consumers[1]);

	return step_gives(status, scenario->consumers[1]);
}

static ww_status acquire(struct scenario *scenario, ww_channel *channel)
{
	scenario->frame = WW_INIT(struct ww_frame);
	return ww_channel_acquire(channel, scenario->stream, WW_FOREVER, NULL, &scenario->frame);
}

static ww_status receive(struct scenario *scenario, ww_channel *channel)
{
	scenario->frame = WW_INIT(struct ww_frame);
	return ww_channel_receive(channel, scenario->stream, WW_FOREVER, NULL, &scenario->frame);
}

static void settle(struct scenario *scenario)
{
	if (scenario->stream)
		STEP(ww_stream_synchronize(scenario->stream, WW_FOREVER, NULL));
}

/* What was copied to write it could fail as well: that is the test's, and no part of this. */
static void send_one(struct scenario *scenario)
{
	STEP(acquire(scenario, scenario->producer));
	settle(scenario);
	STEP(ww_channel_publish(scenario->producer, &scenario->frame, scenario->stream));
	MUST_EQUAL(++scenario->value, scenario->frame.number);
}

static void take_one(struct scenario *scenario, ww_channel *channel)
{
	STEP(receive(scenario, channel));
	MUST_EQUAL(scenario->value, scenario->frame.number);
	STEP(ww_channel_release(channel, &scenario->frame, scenario->stream));
	settle(scenario);
}

static void pass_one(struct scenario *scenario)
{
	send_one(scenario);
	for (int i = 0; i < CONSUMERS; i++)
		take_one(scenario, scenario->consumers[i]);
}

/* --- waits beside other things, and the next producer --- */

static ww_status open_eventfd(struct scenario *scenario, int *out_fd)
{
	ww_status status = ww_channel_eventfd(scenario->consumers[1], out_fd);

	MUST_EQUAL(status == WW_OK, *out_fd >= 0);
	return status;
}

/* The first of all that can go on; here the producer, which has free slots. */
static ww_status wait_any(struct scenario *scenario)
{
	ww_channel *const all[] = {scenario->consumers[0], scenario->producer,
		scenario->consumers[1]};
	uint32_t index = 0;
	ww_status status = ww_channel_wait_any(all, 3, WW_FOREVER, NULL, &index);

	MUST_EQUAL(status == WW_OK ? 1 : 0, index);
	return status;
}

static void wait_in_many_ways(struct scenario *scenario)
{
	OWN(fd) int fd = -1;

	STEP(open_eventfd(scenario, &fd));
	STEP(wait_any(scenario));
	pass_one(scenario);
}

static ww_status receive_end(struct scenario *scenario)
{
	ww_status status = receive(scenario, scenario->consumers[0]);

	MUST(status != WW_OK);
	return status == WW_END ? WW_OK : status;
}

/* The first consumer outlasts the producer. */
static void go_on(struct scenario *scenario)
{
	scenario->consumers[1] = ww_channel_unref(scenario->consumers[1]);
	scenario->producer = ww_channel_unref(scenario->producer);
	STEP(receive_end(scenario));
	STEP(create(scenario));
	scenario->value = 0;
	send_one(scenario);
	take_one(scenario, scenario->consumers[0]);
	MUST_EQUAL(2, scenario->frame.generation);
}

ww_status channel_scenario_own(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;
	struct ww_channel_info info = WW_INIT(struct ww_channel_info);

	open_all(scenario);
	STEP(create(scenario));
	STEP(acquire(scenario, scenario->producer));
	STEP(ww_channel_discard(scenario->producer, &scenario->frame, scenario->stream));
	for (int i = 0; i < SLOTS; i++) /* no slot is free then: the next one looks who has come */
		send_one(scenario);
	STEP(get(scenario, 0));
	STEP(ww_channel_export(scenario->producer, NULL, NULL, &scenario->token));
	STEP(import(scenario, &scenario->token, 0));
	for (int i = 0; i < SLOTS; i++)
		pass_one(scenario);
	STEP(ww_channel_info_get(scenario->producer, &info));
	MUST_EQUAL(2 * SLOTS, info.published);
	MUST_EQUAL(CONSUMERS, info.consumers);
	MUST_EQUAL(0, info.held);
	wait_in_many_ways(scenario);
	go_on(scenario);
	return finish(scenario, out_step);
}

ww_status channel_scenario_join(const char **out_step)
{
	struct scenario all = {.failure.step = NULL, .value = 1};
	struct scenario *scenario = &all;

	open_all(scenario);
	STEP(get(scenario, 1));
	STEP(import(scenario, &scenario_token, 1));
	for (int i = 0; i < CONSUMERS; i++)
		take_one(scenario, scenario->consumers[i]);
	return finish(scenario, out_step);
}

/* Whatever fails, the slot is not taken from a consumer that needs the frame. */
ww_status channel_scenario_meet(const char **out_step)
{
	struct scenario all = {.failure.step = NULL};
	struct scenario *scenario = &all;
	struct ww_frame frame = WW_INIT(struct ww_frame);
	ww_status status = ww_channel_acquire(scenario_channel, NULL, 0, NULL, &frame);

	MUST(status != WW_OK);
	if (status != WW_TIMED_OUT)
		(void)step_has_failed(&scenario->failure, "ww_channel_acquire", status);
	MUST_STATUS(WW_TIMED_OUT, ww_channel_acquire(scenario_channel, NULL, 0, NULL, &frame));
	return finish(scenario, out_step);
}
