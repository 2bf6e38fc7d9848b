/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - the library's side of a broker is tortured
 *
 * A private broker runs, a partner puts what others wait for, and each run of the scenario opens a
 * connection of its own. Whatever failed, after each run the broker must be as it was before.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/broker.h"
#include "support/fail_call.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/needs.h"
#include "support/subject.h"
#include "torture/broker_scenario.h"
#include "torture/torture_broker.h"

static const struct expectation expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, ON_HOST},
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, ON_HOST},
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, ON_HOST},
	{"fchmod", EIO, WW_ERR_SYSTEM, false, ON_HOST},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, ON_HOST},
	/* What has no seals is no memory. */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, false, ON_HOST},
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, RARELY},
	{"fcntl", EINVAL, WW_OK, true, RARELY},
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, RARELY},
	{"fstat", EIO, WW_ERR_SYSTEM, true, ON_HOST},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, ON_HOST},
	{"open", EMFILE, WW_ERR_LIMIT, false, RARELY},
	/* A mapping's address alone is worth no failure. */
	{"fopen", EMFILE, WW_OK, true, RARELY},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"getrandom", EINTR, WW_OK, true, ALWAYS},
	{"socket", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"socket", ENFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"socket", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"socket", EACCES, WW_ERR_ACCESS, false, ALWAYS},
	{"connect", ECONNREFUSED, WW_ERR_NO_BROKER, false, ALWAYS},
	{"connect", ENOENT, WW_ERR_NO_BROKER, false, ALWAYS},
	{"connect", EAGAIN, WW_ERR_NO_BROKER, false, ALWAYS},
	{"connect", EACCES, WW_ERR_ACCESS, false, ALWAYS},
	{"connect", EPROTOTYPE, WW_ERR_PROTOCOL, false, ALWAYS},
	{"connect", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"connect", EINTR, WW_OK, true, ALWAYS},
	{"setsockopt", ENOMEM, WW_OK, true, ALWAYS},
	/* Asked whether two addresses are of one socket: unknown means no. */
	{"stat", EACCES, WW_OK, true, ALWAYS},
	/* Asked who the broker is: then nobody is told. */
	{"getsockopt", ENOTSOCK, WW_OK, true, ALWAYS},
	/* Asked whether an empty message is the last one: unknown means yes. */
	{"poll", ENOMEM, WW_OK, true, RARELY},
	/* A link that fails is left for another one, but for the first and that of a watch. */
	{"ppoll", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"ppoll", EINVAL, WW_ERR_SYSTEM, true, ALWAYS},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"recvmsg", EIO, WW_ERR_SYSTEM, true, ALWAYS},
	{"recvmsg", ECONNRESET, WW_OK, true, ALWAYS},
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"recvmsg", EINTR, WW_OK, true, ALWAYS},
	/* What is let go of is told later, or by the connection's end. */
	{"sendmsg", EPIPE, WW_OK, true, ALWAYS},
	{"sendmsg", ECONNRESET, WW_OK, true, ALWAYS},
	{"sendmsg", ENOBUFS, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"sendmsg", ETOOMANYREFS, WW_ERR_LIMIT, true, ALWAYS},
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"sendmsg", EINTR, WW_OK, true, ALWAYS},
};

/* Of what a program does that starts its broker itself. */
static const struct expectation start_expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	/* Unknown whether the machine has one: then the user's own. */
	{"access", EACCES, WW_OK, true, ALWAYS},
	{"connect", ECONNREFUSED, WW_ERR_NO_BROKER, true, ALWAYS},
	{"connect", ENOENT, WW_ERR_NO_BROKER, true, ALWAYS},
	{"connect", EACCES, WW_ERR_ACCESS, true, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"fcntl", EINVAL, WW_OK, true, RARELY},
	{"flock", ENOLCK, WW_ERR_SYSTEM, true, ALWAYS}, /* unlocking need not succeed */
	{"flock", EINTR, WW_OK, true, ALWAYS},
	{"fstat", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"getsockopt", ENOTSOCK, WW_ERR_ACCESS, false, ALWAYS},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"mkdir", ENOSPC, WW_ERR_NO_BROKER, true, ALWAYS},
	{"mkdir", EACCES, WW_ERR_NO_BROKER, true, ALWAYS},
	{"mkfifo", ENOSPC, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"mkfifo", EACCES, WW_ERR_ACCESS, true, ALWAYS},
	{"open", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"open", EACCES, WW_ERR_ACCESS, false, ALWAYS},
	{"pipe2", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"posix_spawn_file_actions_adddup2", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"posix_spawnp", EAGAIN, WW_ERR_NO_BROKER, false, ALWAYS},
	{"posix_spawnp", ENOENT, WW_ERR_NO_BROKER, false, ALWAYS},
	{"posix_spawnp", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ppoll", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"read", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"read", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", ENOMEM, WW_ERR_NO_MEMORY, true, ALWAYS},
	{"recvmsg", ECONNRESET, WW_OK, true, ALWAYS},
	{"sendmsg", EPIPE, WW_OK, true, ALWAYS},
	{"sendmsg", ENOBUFS, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"setsockopt", ENOMEM, WW_OK, true, ALWAYS},
	{"socket", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"stat", EACCES, WW_OK, true, ALWAYS},
	{"waitpid", ECHILD, WW_OK, true, ALWAYS},
	{"waitpid", EINTR, WW_OK, true, ALWAYS},
};

/* --- the partner --- */

static ww_memory *partner_put(ww_device *device, ww_broker *broker, const char *name,
	uint32_t state)
{
	ww_memory *memory = memory_make(device, WW_MEMORY_VMM, 4096);

	MUST_OK(ww_memory_put(memory, broker, name, WW_PARAMS(struct ww_put_params, .state = state),
		0, NULL));
	return memory;
}

/* Memory of the driver's own, wrapped; it ends with this process. */
static ww_memory *partner_wrap(ww_device *device, ww_broker *broker, const char *name, size_t which)
{
	const struct ww_put_params params = WW_INIT(struct ww_put_params);
	ww_memory *memory;

	MUST_OK(ww_memory_wrap(device, allocation_at(&scenario_allocations[which], 0), 0, NULL,
		&memory));
	MUST_OK(ww_memory_put(memory, broker, name, &params, 0, NULL));
	return memory;
}

static uint64_t count_waits(ww_broker *broker)
{
	struct ww_broker_info info = WW_INIT(struct ww_broker_info);

	MUST_OK(ww_broker_info_get(broker, &info));
	return info.waits;
}

/* Each word begins another run. */
ROLE(partner)
{
	OWN(device) ww_device *device = subject_open();
	char word[CHILD_WORD_BYTES];
	ww_memory *wrapped[SCENARIO_ALLOCATIONS] = {NULL};
	ww_memory *ready;
	OWN(broker) ww_broker *broker;

	MUST(count == 0 && !arguments[0]);
	MUST_OK(broker_open_patient(NULL, &broker));
	ready = partner_put(device, broker, SCENARIO_READY, WW_STATE_SEALED);
	if (device_info(device).capabilities & WW_CAP_FOREIGN) {
		scenario_allocate();
		wrapped[0] = partner_wrap(device, broker, SCENARIO_LEGACY, 0);
		wrapped[1] = partner_wrap(device, broker, SCENARIO_POOL, 1);
	}
	role_tell("ready");
	while (role_hear_any(word) && !strcmp(word, "begin")) {
		ww_memory *soon = partner_put(device, broker, SCENARIO_SOON, WW_STATE_WRITING);

		role_tell("begun");
		while (count_waits(broker) == 0)
			;
		MUST_OK(ww_memory_publish(soon, broker, WW_STATE_SEALED, NULL));
		role_hear("end");
		ww_memory_unref(soon);
		role_tell("ended");
	}
	for (size_t i = 0; i < SCENARIO_ALLOCATIONS; i++)
		ww_memory_unref(wrapped[i]);
	ww_memory_unref(ready);
}

/* --- the broker --- */

static void begin_run(void)
{
	child_tell(&torture_partner, "begin");
	child_hear(&torture_partner, "begun");
}

static void end_run(void)
{
	child_tell(&torture_partner, "end");
	child_hear(&torture_partner, "ended");
	torture_broker_must_be_idle();
}

static const struct torture torture = TORTURE(expectations, .run = broker_scenario_run,
	.begin = begin_run, .end = end_run, .open = torture_partner_open,
	.close = torture_partner_close);

CASE_CALL(allocations_fail, 0, torture_calls(&torture, CALLS_ALLOCATIONS))
CASE_CALL(system_calls_fail, 0, torture_calls(&torture, CALLS_SYSTEM))
CASE_CALL(system_calls_fail_with_every_error, 0, torture_every_error(&torture))
CASE_CALL(driver_out_of_memory, 0, torture_driver(&torture, WW_CUDA_ERROR_OUT_OF_MEMORY))
CASE_CALL(driver_fails_for_no_reason, 0, torture_driver(&torture, WW_CUDA_ERROR_UNKNOWN))

/* --- the first one that needs a broker --- */

static char runtime[] = "/tmp/warpway-test-XXXXXX";

/*
 * Its processes became ours when their parent left. Nothing is left of it, so that the next run is
 * a first one too.
 */
static void stop_started(void)
{
	static const char *const names[] = {"broker.sock.start", "broker.sock.lock"};
	char path[128];

	MUST_CALL(kill((pid_t)scenario_info.supervisor_pid, SIGTERM));
	MUST_EQUAL(scenario_info.supervisor_pid,
		waitpid((pid_t)scenario_info.supervisor_pid, NULL, 0));
	for (size_t i = 0; i < CHECK_COUNT(names); i++) {
		snprintf(path, sizeof(path), "%s/warpway/%s", runtime, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/warpway", runtime);
	MUST_CALL(rmdir(path));
}

static void begin_start(void)
{
	MUST_CALL(prctl(PR_SET_CHILD_SUBREAPER, 1));
	unsetenv("WARPWAY_BROKER");
	strcpy(runtime + strlen(runtime) - 6, "XXXXXX");
	MUST(mkdtemp(runtime));
	MUST_CALL(setenv("XDG_RUNTIME_DIR", runtime, 1));
}

static void end_start(void)
{
	MUST_CALL(rmdir(runtime));
	unsetenv("XDG_RUNTIME_DIR");
}

static const struct torture start_torture = TORTURE(start_expectations,
	.run = broker_scenario_start, .end = stop_started, .open = begin_start, .close = end_start);

CASE_CALL(allocations_fail_at_start, 0, torture_calls(&start_torture, CALLS_ALLOCATIONS))
CASE_CALL(system_calls_fail_at_start, 0, torture_calls(&start_torture, CALLS_SYSTEM))
CASE_CALL(system_calls_fail_with_every_error_at_start, 0, torture_every_error(&start_torture))

static void look_at_subject(void)
{
	OWN(device) ww_device *device = subject_open();

	if (device_info(device).capabilities & WW_CAP_FOREIGN)
		scenario_allocate();
}

CHECK_MAIN(needs_main, .name = "torture-broker", .needs = WW_CAP_EXPORT, .warm_up = look_at_subject)
