/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_main.c - channels are tortured: by a process that has both sides, by a consumer, and
 * while a producer gets to know a consumer
 *
 * A private broker runs, and must be idle again after each run.
 */
#include <errno.h>
#include <time.h>

#include "client/broker_client.h"
#include "support/broker.h"
#include "support/channel.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/fail_call.h"
#include "support/raw_client.h"
#include "support/subject.h"
#include "torture/channel_scenario.h"
#include "torture/torture.h"

static const struct expectation expectations[] = {
	/* A record may be printed in another way. */
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"strdup", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, RARELY},
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, RARELY},
	{"fchmod", EIO, WW_ERR_SYSTEM, false, RARELY},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, RARELY},
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, RARELY},
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, RARELY},
	{"fcntl", EINVAL, WW_OK, true, RARELY},
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, RARELY},
	/* Also asked whether two descriptors are the same: unknown means no. */
	{"fstat", EIO, WW_ERR_SYSTEM, true, RARELY},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, RARELY},
	{"open", EMFILE, WW_ERR_LIMIT, false, RARELY},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, RARELY},
	{"eventfd", EMFILE, WW_ERR_LIMIT, false, RARELY},
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, RARELY},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"sendmsg", EINTR, WW_OK, true, ALWAYS},
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS},
	/*
	 * What has no seals is no memory. Last, and for the consumer alone: to a producer, whoever
	 * shows such marks is no consumer. A pidfd has none, and is closed all the same.
	 */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, true, RARELY},
};

static const struct exception exceptions[] = {
	/* The driver says so of a descriptor that is no memory of a GPU. */
	{"cuMemImportFromShareableHandle", WW_CUDA_ERROR_UNKNOWN, NULL, WW_ERR_DESCRIPTOR},
};

static struct broker server;
static struct raw observer;
static struct ww_wire_condition idle; /* how the broker is between two runs */

/* --- the broker --- */

static bool is_idle(const struct ww_wire_condition *now)
{
	return now->objects == idle.objects && now->holders == idle.holders &&
		now->holds == idle.holds && now->bytes == idle.bytes && now->fds == idle.fds &&
		now->waits == idle.waits && now->open_fds == idle.open_fds;
}

/* Each question is a round trip, so this waits for the broker and not for a clock. */
static void must_become_idle(void)
{
	time_t limit = time(NULL) + child_limit_ms() / 1000;
	struct ww_wire_condition now;

	ww_broker_client_drop_kept(true);
	do {
		MUST_OK(raw_condition(&observer, &now));
		if (is_idle(&now))
			return;
	} while (time(NULL) < limit);
	FAIL("left in the broker: %lld objects, %lld holders, %lld holds, %lld bytes, %lld waits, "
	     "%lld descriptors (%lld open)",
		(long long)(now.objects - idle.objects), (long long)(now.holders - idle.holders),
		(long long)(now.holds - idle.holds), (long long)(now.bytes - idle.bytes),
		(long long)(now.waits - idle.waits), (long long)(now.fds - idle.fds),
		(long long)(now.open_fds - idle.open_fds));
}

/* --- the runs --- */

static ww_device *device;
static ww_broker *broker;
static ww_channel *newcomer;

static void make_channel(void)
{
	const struct ww_channel_params params = {
		.struct_size = sizeof(params),
		.slot_bytes = FRAME_WORDS * sizeof(uint64_t),
		.slots = 1,
	};

	device = subject_open();
	MUST_OK(broker_open_patient(server.address, &broker));
	MUST_OK(ww_channel_create(device, broker, "c", &params, NULL, &scenario_channel));
	frame_send(scenario_channel, 1);
}

static void end_channel(void)
{
	scenario_channel = ww_channel_unref(scenario_channel);
	broker = ww_broker_unref(broker);
	device = ww_device_unref(device);
	must_become_idle();
}

static void begin_joining(void)
{
	const struct ww_token_params twice = {.struct_size = sizeof(twice), .uses = 2};

	make_channel();
	MUST_OK(ww_channel_export(scenario_channel, &twice, NULL, &scenario_token));
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

static const struct torture torture_own = {
	.expectations = expectations,
	.expectation_count = CHECK_COUNT(expectations) - 1,
	.exceptions = exceptions,
	.exception_count = CHECK_COUNT(exceptions),
	.run = channel_scenario_own,
	.end = must_become_idle,
};

static const struct torture torture_joining = {
	.expectations = expectations,
	.expectation_count = CHECK_COUNT(expectations),
	.exceptions = exceptions,
	.exception_count = CHECK_COUNT(exceptions),
	.run = channel_scenario_join,
	.begin = begin_joining,
	.end = end_joining,
};

static const struct torture torture_meeting = {
	.expectations = expectations,
	.expectation_count = CHECK_COUNT(expectations) - 1,
	.run = channel_scenario_meet,
	.begin = begin_meeting,
	.end = end_meeting,
	.forgives = true,
};

/* A case that failed has left its own. */
static void begin(void)
{
	if (server.group)
		broker_kill(&server);
	broker_start(&server, NULL);
	scenario_address = server.address;
	raw_open(&observer, server.address);
	MUST_OK(raw_condition(&observer, &idle));
}

static void end(void)
{
	raw_close(&observer);
	broker_stop(&server);
}

static void fail_allocations(const struct torture *torture)
{
	begin();
	torture_calls(torture, CALLS_ALLOCATIONS);
	end();
}

static void fail_system_calls(const struct torture *torture)
{
	begin();
	torture_every_error(torture);
	end();
}

static void fail_driver(int code)
{
	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	begin();
	torture_driver(&torture_own, code);
	end();
}

CASE(own_allocations_fail, 0)
{
	fail_allocations(&torture_own);
}

CASE(own_system_calls_fail, 0)
{
	fail_system_calls(&torture_own);
}

CASE(own_driver_out_of_memory, 0)
{
	fail_driver(WW_CUDA_ERROR_OUT_OF_MEMORY);
}

CASE(own_driver_fails_for_no_reason, 0)
{
	fail_driver(WW_CUDA_ERROR_UNKNOWN);
}

CASE(joining_allocations_fail, 0)
{
	fail_allocations(&torture_joining);
}

CASE(joining_system_calls_fail, 0)
{
	fail_system_calls(&torture_joining);
}

CASE(meeting_allocations_fail, 0)
{
	fail_allocations(&torture_meeting);
}

CASE(meeting_system_calls_fail, 0)
{
	fail_system_calls(&torture_meeting);
}

int main(int argc, char **argv)
{
	static const struct check_suite suite = {
		.name = "torture-channel",
	};

	return check_main(&suite, argc, argv);
}
