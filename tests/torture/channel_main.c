/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - channels are tortured: by a process that has both sides, by a consumer, and
 * while a producer gets to know a consumer
 *
 * A private broker runs, and must be idle again after each run.
 */
#include <errno.h>

#include "support/broker.h"
#include "support/channel.h"
#include "support/check.h"
#include "support/driver.h"
#include "support/fail_call.h"
#include "support/subject.h"
#include "torture/channel_scenario.h"
#include "torture/torture_broker.h"

static const struct expectation expectations[] = {
	/* A record may be printed in another way. */
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"strdup", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	SHARING_EXPECTATIONS,
	/*
	 * What has no seals is no memory. Last, and for the consumer alone: to a producer, whoever
	 * shows such marks is no consumer. A pidfd has none, and is closed all the same.
	 */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, true, RARELY},
};

/* --- the runs --- */

static ww_device *device;
static ww_broker *broker;
static ww_channel *newcomer;

static void make_channel(void)
{
	device = subject_open();
	MUST_OK(broker_open_patient(scenario_address, &broker));
	MUST_OK(ww_channel_create(device, broker, "c",
		WW_PARAMS(struct ww_channel_params, .slot_bytes = FRAME_WORDS * sizeof(uint64_t),
			.slots = 1),
		NULL, &scenario_channel));
	frame_send(scenario_channel, 1);
}

static void end_channel(void)
{
	scenario_channel = ww_channel_unref(scenario_channel);
	broker = ww_broker_unref(broker);
	device = ww_device_unref(device);
	torture_broker_must_be_idle();
}

static void begin_joining(void)
{
	make_channel();
	MUST_OK(ww_channel_export(scenario_channel, WW_PARAMS(struct ww_token_params, .uses = 2),
		NULL, &scenario_token));
}

/* Those that came have left: the channel goes on. */
static void end_joining(void)
{
	frame_send(scenario_channel, 2);
	end_channel();
}

static void begin_meeting(void)
{
	make_channel();
	MUST_OK(ww_channel_get(device, broker, "c",
		WW_PARAMS(struct ww_consumer_params, .history = 1), 0, NULL, &newcomer));
}

/* The frame is still there, and the channel goes on when it is released. */
static void end_meeting(void)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);
	uint64_t value;

	MUST_OK(ww_channel_receive(newcomer, NULL, 0, NULL, &frame));
	MUST(frame_read(&frame, &value));
	MUST_EQUAL(1, value);
	MUST_OK(ww_channel_release(newcomer, &frame, NULL));
	frame_send(scenario_channel, 2);
	newcomer = ww_channel_unref(newcomer);
	end_channel();
}

static const struct torture torture_own = TORTURE_SOME(expectations, CHECK_COUNT(expectations) - 1,
	.run = channel_scenario_own, .end = torture_broker_must_be_idle,
	.open = torture_broker_open, .close = torture_broker_stop);

static const struct torture torture_joining = TORTURE(expectations, .run = channel_scenario_join,
	.begin = begin_joining, .end = end_joining, .open = torture_broker_open,
	.close = torture_broker_stop);

static const struct torture torture_meeting = TORTURE_SOME(expectations,
	CHECK_COUNT(expectations) - 1, .run = channel_scenario_meet, .begin = begin_meeting,
	.end = end_meeting, .forgives = true, .open = torture_broker_open,
	.close = torture_broker_stop);

TORTURE_CASES(own)
TORTURE_SYSTEM_CASES(joining)
TORTURE_SYSTEM_CASES(meeting)

CHECK_MAIN(check_main, .name = "torture-channel")
