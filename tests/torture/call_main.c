/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_main.c - calls are tortured: while a service and a client are made, and while the server
 * gets to know its client and runs what that has called
 *
 * A private broker runs, and must be idle again after each run.
 */
#include <errno.h>
#include <time.h>

#include "client/broker_client.h"
#include "support/broker.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/fail_call.h"
#include "support/raw_client.h"
#include "support/subject.h"
#include "torture/call_scenario.h"
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
	/* What has no seals is no memory; to a server, who shows such files is no client. */
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

static void end_serving(void)
{
	call_scenario_end_serving();
	must_become_idle();
}

static const struct torture torture_making = {
	.expectations = expectations,
	.expectation_count = CHECK_COUNT(expectations),
	.exceptions = exceptions,
	.exception_count = CHECK_COUNT(exceptions),
	.run = call_scenario_make,
	.end = must_become_idle,
};

/* What the server cannot do for a newcomer it does later. */
static const struct torture torture_serving = {
	.expectations = expectations,
	.expectation_count = CHECK_COUNT(expectations),
	.exceptions = exceptions,
	.exception_count = CHECK_COUNT(exceptions),
	.run = call_scenario_serve,
	.begin = call_scenario_begin_serving,
	.end = end_serving,
	.loses_codes = true,
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

static void fail_driver(const struct torture *torture, int code)
{
	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	begin();
	torture_driver(torture, code);
	end();
}

CASE(making_allocations_fail, 0)
{
	fail_allocations(&torture_making);
}

CASE(making_system_calls_fail, 0)
{
	fail_system_calls(&torture_making);
}

CASE(making_driver_out_of_memory, 0)
{
	fail_driver(&torture_making, WW_CUDA_ERROR_OUT_OF_MEMORY);
}

CASE(serving_allocations_fail, 0)
{
	fail_allocations(&torture_serving);
}

CASE(serving_system_calls_fail, 0)
{
	fail_system_calls(&torture_serving);
}

CASE(serving_driver_out_of_memory, 0)
{
	fail_driver(&torture_serving, WW_CUDA_ERROR_OUT_OF_MEMORY);
}

CASE(serving_driver_fails_for_no_reason, 0)
{
	fail_driver(&torture_serving, WW_CUDA_ERROR_UNKNOWN);
}

int main(int argc, char **argv)
{
	static const struct check_suite suite = {
		.name = "torture-call",
	};

	return check_main(&suite, argc, argv);
}
