/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_main.c - timelines, events and barriers are tortured
 *
 * A private broker runs, and a partner has a timeline and an event, and joins a barrier in each
 * run. What breaks a connection is left out here: the broker mourns then over the pages of a
 * process that lives on, for seconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/broker.h"
#include "support/fail_call.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/needs.h"
#include "support/subject.h"
#include "torture/sync_scenario.h"
#include "torture/torture_broker.h"

static const struct expectation expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, ON_HOST},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fchmod", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, ALWAYS},
	/* What has no seals is no memory. */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, RARELY},
	{"fcntl", EINVAL, WW_OK, true, RARELY},
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, RARELY},
	/* Also asked whether two descriptors are the same: unknown means no. */
	{"fstat", EIO, WW_ERR_SYSTEM, true, ALWAYS},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, ALWAYS},
	{"open", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"eventfd", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, ALWAYS},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"sendmsg", EINTR, WW_OK, true, ALWAYS},
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS},
};

/* --- the partner --- */

struct possessions {
	ww_device *device;
	ww_broker *broker;
	ww_stream *stream;
	ww_timeline *timeline;
	ww_event *event;
};

static void partner_make(struct possessions *mine)
{
	struct ww_token token = {{0}};

	mine->device = subject_open();
	MUST_OK(broker_open_patient(NULL, &mine->broker));
	MUST_OK(ww_timeline_create(WW_PARAMS(struct ww_timeline_params, .value = PARTNER_VALUE),
		&mine->timeline));
	MUST_OK(ww_timeline_put(mine->timeline, mine->broker, SCENARIO_PARTNER, NULL, NULL));
	if (device_info(mine->device).capabilities & WW_CAP_EVENT) {
		MUST_OK(ww_stream_create(mine->device, &mine->stream));
		MUST_OK(ww_event_create(mine->device, NULL, &mine->event));
		MUST_OK(ww_event_record(mine->event, mine->stream));
		MUST_OK(ww_event_export(mine->event, mine->broker, NULL, NULL, &token));
	}
	MUST_EQUAL(sizeof(token), write(CHILD_SOCKET, &token, sizeof(token)));
}

static void partner_drop(struct possessions *mine)
{
	ww_event_unref(mine->event);
	ww_stream_unref(mine->stream);
	ww_timeline_unref(mine->timeline);
	ww_broker_unref(mine->broker);
	ww_device_unref(mine->device);
}

/*
 * One round together. Return: whether all went well; else the scenario failed, and this partner is
 * killed.
 */
static bool pass(ww_broker *broker, const char *name)
{
	ww_barrier *barrier;
	ww_status status = ww_barrier_get(broker, name, 1, WW_FOREVER, NULL, &barrier);

	if (status == WW_OK)
		status = ww_barrier_wait(barrier, WW_FOREVER, NULL);
	ww_barrier_unref(barrier);
	MUST(status == WW_OK || status == WW_ERR_PEER_LOST);
	return status == WW_OK;
}

/* Each word is the name of a barrier. */
ROLE(partner)
{
	struct possessions mine = {.device = NULL};
	char word[CHILD_WORD_BYTES];

	MUST(count == 0 && !arguments[0]);
	partner_make(&mine);
	role_tell("ready");
	while (role_hear_any(word) && strcmp(word, "stop") != 0) {
		if (pass(mine.broker, word))
			role_tell("passed");
	}
	partner_drop(&mine);
}

static void receive_event(void)
{
	MUST_EQUAL(sizeof(scenario_event),
		recv(torture_partner.socket, &scenario_event, sizeof(scenario_event), MSG_WAITALL));
}

static void replace_partner(void)
{
	child_kill(&torture_partner);
	torture_partner_start();
	receive_event();
	child_tell(&torture_partner, SCENARIO_SECOND_BARRIER);
}

/* --- the runs --- */

static int64_t allocations_before;

static void begin_run(void)
{
	child_tell(&torture_partner, SCENARIO_BARRIER);
}

static void end_run(void)
{
	child_hear(&torture_partner, "passed");
	torture_broker_must_be_idle();
}

static void begin_closing(void)
{
	allocations_before = calls_live_allocations();
}

/* What waited for a stream is given back by later calls, when the stream has come to it. */
static void end_closing(void)
{
	time_t limit = time(NULL) + child_limit_ms() / 1000;
	ww_timeline *timeline;

	do {
		MUST_OK(ww_timeline_create(NULL, &timeline));
		ww_timeline_unref(timeline);
	} while (calls_live_allocations() > allocations_before && time(NULL) < limit);
}

static void open_with_partner(void)
{
	scenario_replace_partner = replace_partner;
	torture_partner_open();
	receive_event();
}

static const struct torture torture = TORTURE(expectations, .run = sync_scenario_run,
	.begin = begin_run, .end = end_run, .open = open_with_partner,
	.close = torture_partner_close);

static const struct expectation closing_expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, ALWAYS},
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, ON_HOST},
};

static const struct torture torture_closing = TORTURE(closing_expectations,
	.run = sync_scenario_close, .begin = begin_closing, .end = end_closing, .forgives = true);

CASE_CALL(allocations_fail, 0, torture_calls(&torture, CALLS_ALLOCATIONS))
CASE_CALL(system_calls_fail, 0, torture_every_error(&torture))
CASE_CALL(driver_out_of_memory, 0, torture_driver(&torture, WW_CUDA_ERROR_OUT_OF_MEMORY))
CASE_CALL(driver_fails_for_no_reason, 0, torture_driver(&torture, WW_CUDA_ERROR_UNKNOWN))
CASE_CALL(closing_while_calls_fail, 0, torture_every_error(&torture_closing))
CASE_CALL(closing_while_driver_fails, 0,
	torture_driver(&torture_closing, WW_CUDA_ERROR_OUT_OF_MEMORY))

CHECK_MAIN(needs_main, .name = "torture-sync", .needs = WW_CAP_STREAM_VALUE)
