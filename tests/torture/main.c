/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the 1st, 2nd, 3rd ... call fails, until there is none left to fail
 *
 * For each the scenario is run once. The failure must come out as a status that fits it, with a
 * sentence in the record, and nothing may be left: allocations, descriptors, mappings and what the
 * driver holds are counted before and after. Some failures may be overcome: those are listed.
 *
 * What a process does only once, such as loading the driver, is tortured in fresh processes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/calls.h"
#include "support/census.h"
#include "support/check.h"
#include "support/child.h"
#include "support/driver.h"
#include "support/subject.h"
#include "torture/scenario.h"

#define CALLS_MAX 5000

enum called {
	ALWAYS,
	ON_HOST, /* only there */
	RARELY   /* at first use, or on the way out of another failure */
};

/* What a call's failure must come out as. */
struct expectation {
	const char *function;
	int error;
	ww_status status;
	bool may_be_overcome; /* by another way, or since nobody needs it */
	enum called called;
};

static const struct expectation expectations[] = {
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"aligned_alloc", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"memfd_create", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"memfd_create", ENFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"memfd_create", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	/* A kernel that does not know a flag: there is another attempt without it. */
	{"memfd_create", EINVAL, WW_ERR_SYSTEM, true, ALWAYS},
	{"ftruncate", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ftruncate", EFBIG, WW_ERR_OVERFLOW, false, ALWAYS},
	{"ftruncate", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fallocate", ENOSPC, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fallocate", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"fallocate", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fallocate", EOPNOTSUPP, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"fallocate", EINTR, WW_OK, true, ALWAYS},
	{"fchmod", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"fcntl(F_DUPFD_CLOEXEC)", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_ADD_SEALS)", EINVAL, WW_ERR_SYSTEM, false, ALWAYS},
	/* What has no seals is no memory. */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_GET_SEALS)", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"fcntl(F_GETFL)", EINVAL, WW_OK, true, ALWAYS},
	{"fcntl", EINVAL, WW_OK, true, ALWAYS},
	{"fstatfs", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	/* Also asked whether two descriptors are the same: unknown means no. */
	{"fstat", EIO, WW_ERR_SYSTEM, true, ALWAYS},
	{"mmap", ENOMEM, WW_ERR_LIMIT, false, ALWAYS},
	{"mmap", EACCES, WW_ERR_ACCESS, false, ALWAYS},
	{"mmap", ENODEV, WW_ERR_SYSTEM, false, ALWAYS},
	{"open", EMFILE, WW_ERR_LIMIT, false, ALWAYS},
	{"open", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"open", EACCES, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"open", ENOENT, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"getrandom", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"getrandom", ENOSYS, WW_ERR_UNSUPPORTED, false, ALWAYS},
	{"getrandom", EINTR, WW_OK, true, ALWAYS},
	{"getsockopt", ENOTSOCK, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"getsockopt", EBADF, WW_ERR_DESCRIPTOR, false, ALWAYS},
	/* Asked whether an empty message is the last one: unknown means yes. */
	{"poll", ENOMEM, WW_OK, true, ALWAYS},
	{"ppoll", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"ppoll", EINVAL, WW_ERR_SYSTEM, false, ALWAYS},
	{"ppoll", EINTR, WW_OK, true, ALWAYS},
	{"sendmsg", EPIPE, WW_ERR_PEER_LOST, false, ALWAYS},
	{"sendmsg", ECONNRESET, WW_ERR_PEER_LOST, false, ALWAYS},
	{"sendmsg", ENOTCONN, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"sendmsg", ENOBUFS, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"sendmsg", ETOOMANYREFS, WW_ERR_LIMIT, false, ALWAYS},
	{"sendmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"sendmsg", EINTR, WW_OK, true, ALWAYS},
	{"recvmsg", ENOMEM, WW_ERR_NO_MEMORY, false, ALWAYS},
	{"recvmsg", EINVAL, WW_ERR_DESCRIPTOR, false, ALWAYS},
	{"recvmsg", EIO, WW_ERR_SYSTEM, false, ALWAYS},
	{"recvmsg", EAGAIN, WW_OK, true, ALWAYS},
	{"recvmsg", EINTR, WW_OK, true, ALWAYS},
	{"pthread_create", EAGAIN, WW_ERR_LIMIT, false, ON_HOST},
	{"pthread_create", ENOMEM, WW_ERR_NO_MEMORY, false, ON_HOST},
	{"pthread_atfork", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	{"dlopen", ENOMEM, WW_ERR_NO_DEVICE, false, RARELY},
	{"dlsym", ENOMEM, WW_ERR_NO_DEVICE, false, RARELY},
	/* Two ways of asking how much memory is free: the other one is left. */
	{"sysinfo", EFAULT, WW_ERR_SYSTEM, false, RARELY},
	{"fopen", EMFILE, WW_OK, true, RARELY},
};

static const struct expectation *expectation_of(const char *function, int error)
{
	for (size_t i = 0; i < CHECK_COUNT(expectations); i++)
		if (!strcmp(expectations[i].function, function) && expectations[i].error == error)
			return &expectations[i];
	FAIL("nobody said what becomes of error %d of %s", error, function);
}

static void must_have_sentence(ww_status status, const char *what)
{
	const struct ww_error *error = ww_error_last();

	if (error->status != status || strlen(error->message) < 10)
		FAIL("%s: %s, but the record says %s, \"%s\"", what, ww_status_name(status),
			ww_status_name(error->status), error->message);
}

/* A failure of `function`, with an error or a CUresult, must have this status, unless overcome. */
static void must_be(ww_status expected, const char *function, int error, const char *step,
	ww_status status)
{
	if (status == WW_OK)
		FAIL("%s failed with %d, and nobody noticed", function, error);
	must_have_sentence(status, function);
	if (status != expected)
		FAIL("%s failed with %d; %s returned %s, not %s: \"%s\"", function, error, step,
			ww_status_name(status), ww_status_name(expected), ww_error_last()->message);
}

static void must_fit(const char *function, int error, const char *step, ww_status status)
{
	const struct expectation *expectation = expectation_of(function, error);

	if (status != WW_OK || !expectation->may_be_overcome)
		must_be(expectation->status, function, error, step, status);
}

struct holdings {
	struct census census;
	struct fakecuda_live live;
	int64_t allocations;
};

static void take_holdings(struct holdings *out)
{
	memset(out, 0, sizeof(*out));
	census_take(&out->census);
	out->allocations = calls_live_allocations();
	if (fake_get())
		fake_get()->live(&out->live);
}

static void must_hold_no_more(const struct holdings *before, const char *function, uint64_t nth)
{
	struct holdings after;

	take_holdings(&after);
	if (memcmp(before, &after, sizeof(after))) {
		check_note("left behind after call %llu failed, %s", (unsigned long long)nth,
			function);
		census_must_match(&before->census);
		MUST_EQUAL(before->allocations, after.allocations);
		MUST_MATCH(&before->live, &after.live, sizeof(after.live));
	}
}

/* Brings everything to where it stays from the first use on. */
static void warm_up(void)
{
	const char *step;

	for (int i = 0; i < 2; i++)
		MUST_OK(scenario_run(&step));
}

/* Lets calls fail as they were told to; returns whether there was one left to fail. */
static bool run_with_failure(const struct holdings *before, uint64_t nth, uint64_t *overcome)
{
	const char *step;
	ww_status status = scenario_run(&step);
	int error;
	const char *function = calls_off(&error);

	if (!function) {
		MUST_OK(status);
		return false;
	}
	must_fit(function, error, step, status);
	must_hold_no_more(before, function, nth);
	*overcome += status == WW_OK;
	return true;
}

static void fail_calls(int kinds)
{
	struct holdings before;
	uint64_t overcome = 0;
	uint64_t nth = 0;

	warm_up();
	do {
		take_holdings(&before);
		calls_fail(kinds, ++nth);
	} while (run_with_failure(&before, nth, &overcome) && nth < CALLS_MAX);
	MUST(nth > 10 && nth < CALLS_MAX);
	check_note("%llu calls failed one by one, %llu were overcome", (unsigned long long)nth - 1,
		(unsigned long long)overcome);
}

static void allocations_fail(void)
{
	fail_calls(CALLS_ALLOCATIONS);
}

static void system_calls_fail(void)
{
	fail_calls(CALLS_SYSTEM);
}

/* Every call of a function, with every error of it that is listed. */
static void system_calls_fail_with_every_error(void)
{
	warm_up();
	for (size_t i = 0; i < CHECK_COUNT(expectations); i++) {
		const struct expectation *expected = &expectations[i];
		struct holdings before;
		uint64_t overcome = 0;
		uint64_t nth = 0;

		do {
			take_holdings(&before);
			calls_fail_named(expected->function, expected->error, ++nth, 1);
		} while (run_with_failure(&before, nth, &overcome) && nth < CALLS_MAX);
		MUST(nth < CALLS_MAX);
		if (nth == 1 &&
			(expected->called == ALWAYS ||
				(expected->called == ON_HOST && !subject_is_cuda())))
			FAIL("%s was never called", expected->function);
	}
}

/* Makes memory while calls are interrupted. */
static void make_large_memory(void)
{
	ww_device *device = subject_open();
	ww_memory *memory;

	if (!(device_info(device).capabilities & WW_CAP_HOST_MEMORY)) {
		ww_device_unref(device);
		check_skip("the device cannot use host memory");
	}
	memory = memory_make(device, WW_MEMORY_HOST, 64 * MIB);
	MUST(calls_off(NULL));
	MUST_EQUAL(64 * MIB, memory_info(memory).bytes);
	memory_must_be(memory, 0);
	ww_memory_unref(memory);
	ww_device_unref(device);
}

/* Signals that come now and then: the allocation goes on. */
static void allocation_interrupted_at_times(void)
{
	for (uint64_t times = 1; times <= 9; times += 4) {
		calls_fail_named("fallocate", EINTR, 1, times);
		make_large_memory();
	}
}

/* Signals that come faster than a large step takes: the steps become smaller. */
static void allocation_interrupted_for_ever(void)
{
	calls_interrupt_above(2 * MIB);
	make_large_memory();
}

struct driver_function {
	const char *name;
	bool may_be_overcome;
	bool is_cleanup; /* failing it is failing to release: nobody can do anything about it */
};

/* Those not named here must not fail unnoticed. */
static const struct driver_function driver_functions[] = {
	{"cuDriverGetVersion", true, false},
	{"cuDeviceGetName", true, false},
	{"cuDeviceGetAttribute", true, false},
	{"cuMemGetAccess", true, false},
	{"cuMemGetAllocationPropertiesFromHandle", true, false},
	{"cuDeviceCanAccessPeer", true, false},
	/* Also called on the way to a release, which succeeds all the same: nothing is left. */
	{"cuCtxGetCurrent", true, false},
	{"cuCtxPushCurrent", true, false},
	{"cuStreamSynchronize", true, false},
	{"cuMemRelease", true, true},
	{"cuMemUnmap", true, true},
	{"cuMemAddressFree", true, true},
	{"cuMemFree", true, true},
	{"cuMemFreeHost", true, true},
	{"cuMemHostUnregister", true, true},
	{"cuStreamDestroy", true, true},
	{"cuEventDestroy", true, true},
	{"cuCtxDestroy", true, true},
	{"cuCtxPopCurrent", true, true},
	{"cuDevicePrimaryCtxRelease", true, true},
	{"cuGetErrorName", true, true},
	{"cuGetErrorString", true, true},
};

/* Out of memory is WW_ERR_DEVICE_MEMORY and all else WW_ERR_DEVICE, but for these. */
static const struct {
	const char *name;
	int code;
	const char *step; /* NULL: every one */
	ww_status status;
} driver_exceptions[] = {
	/* Driver 580 says so of a descriptor that is no memory of a GPU: the two cannot be told apart. */
	{"cuMemImportFromShareableHandle", WW_CUDA_ERROR_UNKNOWN, NULL, WW_ERR_DESCRIPTOR},
	/* Memory just made has the size asked for; what comes from elsewhere not that of its description. */
	{"cuMemMap", WW_CUDA_ERROR_INVALID_VALUE, "ww_memory_create", WW_ERR_DEVICE},
	{"cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED, "ww_memory_create", WW_ERR_UNSUPPORTED},
	{"cuMemMap", WW_CUDA_ERROR_INVALID_VALUE, NULL, WW_ERR_MISMATCH},
	{"cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED, NULL, WW_ERR_MISMATCH},
};

static const struct driver_function *driver_function_of(const char *name)
{
	for (size_t i = 0; i < CHECK_COUNT(driver_functions); i++)
		if (!strcmp(driver_functions[i].name, name))
			return &driver_functions[i];
	return NULL;
}

static ww_status status_of_code(const char *name, int code, const char *step)
{
	for (size_t i = 0; i < CHECK_COUNT(driver_exceptions); i++) {
		const char *its_step = driver_exceptions[i].step;

		if (!strcmp(driver_exceptions[i].name, name) && driver_exceptions[i].code == code &&
			(!its_step || !strncmp(its_step, step, strlen(its_step))))
			return driver_exceptions[i].status;
	}
	return code == WW_CUDA_ERROR_OUT_OF_MEMORY ? WW_ERR_DEVICE_MEMORY : WW_ERR_DEVICE;
}

static void must_fit_driver(const char *name, int code, const char *step, ww_status status)
{
	const struct driver_function *function = driver_function_of(name);

	if (status == WW_OK && function && function->may_be_overcome)
		return;
	must_be(step ? status_of_code(name, code, step) : WW_OK, name, code, step, status);
	MUST_EQUAL(WW_DOMAIN_CUDA, ww_error_last()->domain);
	MUST_EQUAL(code, ww_error_last()->native);
}

/* Fails the 1st, 2nd, ... call of one function; returns how many there are. */
static uint64_t fail_driver_function(const char *name, int code)
{
	const struct fake *fake = fake_get();
	uint64_t nth;

	for (nth = 1; nth < CALLS_MAX; nth++) {
		uint64_t calls = fake->call_count(name);
		struct holdings before;
		const char *step;
		ww_status status;

		take_holdings(&before);
		fake->fail(name, nth, code);
		status = scenario_run(&step);
		fake->fail_off();
		if (fake->call_count(name) - calls < nth) {
			MUST_OK(status);
			break;
		}
		must_fit_driver(name, code, step, status);
		must_hold_no_more(&before, name, nth);
	}
	MUST(nth < CALLS_MAX);
	return nth - 1;
}

static void fail_driver(int code)
{
	static const char *const names[] = {
#define NAME(name, symbol, parameters) #name,
		WW_CUDA_FUNCTIONS(NAME)
#undef NAME
	};
	uint64_t failed = 0;
	uint64_t functions = 0;

	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	warm_up();
	for (size_t i = 0; i < CHECK_COUNT(names); i++) {
		const struct driver_function *function = driver_function_of(names[i]);
		uint64_t count;

		if (function && function->is_cleanup)
			continue;
		count = fail_driver_function(names[i], code);
		failed += count;
		functions += count > 0;
	}
	MUST(functions > 15);
	check_note("%llu calls of %llu functions failed one by one with %d",
		(unsigned long long)failed, (unsigned long long)functions, code);
}

static void driver_out_of_memory(void)
{
	fail_driver(WW_CUDA_ERROR_OUT_OF_MEMORY);
}

static void driver_fails_for_no_reason(void)
{
	fail_driver(WW_CUDA_ERROR_UNKNOWN);
}

/* The driver maps nothing but the whole of an allocation. */
static void driver_maps_no_other_size(void)
{
	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	warm_up();
	MUST(fail_driver_function("cuMemMap", WW_CUDA_ERROR_INVALID_VALUE) > 1);
	MUST(fail_driver_function("cuMemMap", WW_CUDA_ERROR_NOT_SUPPORTED) > 1);
}

/* A fresh process in which the Nth call fails; afterwards everything must work. */
static void role_first_use(int count, char **arguments)
{
	uint64_t nth = strtoull(arguments[0], NULL, 10);
	const char *function;
	const char *step;
	ww_status status;
	int error;

	MUST(count == 2);
	scenario_uses_peer = atoi(arguments[1]);
	calls_fail(CALLS_ALLOCATIONS | CALLS_SYSTEM, nth);
	status = scenario_run(&step);
	function = calls_off(&error);
	if (function)
		must_fit(function, error, step, status);
	else
		MUST_OK(status);
	MUST_OK(scenario_run(&step));
	role_tell(function ? "failed" : "all");
}

static void first_use_fails(void)
{
	char word[CHILD_WORD_BYTES] = "";
	int nth;

	/* What comes later than the first memory is no first use any more. */
	for (nth = 1; nth <= 40 && strcmp(word, "all"); nth++) {
		char text[16];
		const char *const arguments[] = {text, scenario_uses_peer ? "1" : "0", NULL};
		struct child child;

		snprintf(text, sizeof(text), "%d", nth);
		child_start(&child, "first_use", &(struct child_options){.arguments = arguments});
		child_hear_any(&child, word);
		child_finish(&child);
	}
	MUST(nth > 10);
}

/* The same for the driver: its start fails. The fake one is told so by its environment. */
static void role_driver_start(int count, char **arguments)
{
	ww_device *device;

	MUST(count == 1);
	MUST_REFUSE(atoi(arguments[0]), "", ww_device_open(subject_name(), &device));
	MUST(!device);
	MUST_OK(ww_device_open("host", &device));
	ww_device_unref(device);
	MUST_OK(ww_device_open(subject_name(), &device)); /* the failure was for once */
	ww_device_unref(device);
}

static void driver_start_fails(void)
{
	static const struct {
		const char *setting;
		ww_status status;
	} failures[] = {
		{"FAKECUDA_FAIL=cuInit:1:100", WW_ERR_NO_DEVICE}, /* CUDA_ERROR_NO_DEVICE */
		{"FAKECUDA_FAIL=cuInit:1:999", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuInit:1:34", WW_ERR_NO_DEVICE}, /* CUDA_ERROR_STUB_LIBRARY */
		{"FAKECUDA_FAIL=cuGetProcAddress:1:500", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuGetProcAddress:7:500", WW_ERR_NO_DEVICE},
		{"FAKECUDA_FAIL=cuDeviceGetUuid:1:999", WW_ERR_DEVICE},
		{"FAKECUDA_FAIL=cuDeviceGetUuid:1:2", WW_ERR_DEVICE_MEMORY},
	};

	if (!fake_get() || !subject_is_cuda())
		check_skip("only the fake driver fails when it is told to");
	for (size_t i = 0; i < CHECK_COUNT(failures); i++) {
		const char *const environment[] = {failures[i].setting, NULL};
		char status[16];
		const char *const arguments[] = {status, NULL};
		struct child child;

		snprintf(status, sizeof(status), "%d", failures[i].status);
		child_start(&child, "driver_start",
			&(struct child_options){.environment = environment,
				.arguments = arguments});
		child_finish(&child);
	}
}

static const struct check_case cases[] = {
	{"allocations_fail", allocations_fail, 0},
	{"system_calls_fail", system_calls_fail, 0},
	{"system_calls_fail_with_every_error", system_calls_fail_with_every_error, 0},
	{"allocation_interrupted_at_times", allocation_interrupted_at_times, 0},
	{"allocation_interrupted_for_ever", allocation_interrupted_for_ever, 0},
	{"driver_out_of_memory", driver_out_of_memory, 0},
	{"driver_fails_for_no_reason", driver_fails_for_no_reason, 0},
	{"driver_maps_no_other_size", driver_maps_no_other_size, 0},
	{"first_use_fails", first_use_fails, 0},
	{"driver_start_fails", driver_start_fails, 0},
};

static const struct check_role roles[] = {
	{"first_use", role_first_use},
	{"driver_start", role_driver_start},
};

static void look_at_subject(void)
{
	ww_device *device = subject_open();
	ww_device *other = subject_is_cuda() ? subject_open_other() : NULL;

	scenario_uses_peer = other && devices_are_peers(device, other);
	ww_device_unref(other);
	ww_device_unref(device);
}

int main(int argc, char **argv)
{
	static const struct check_suite suite = {
		.name = "torture",
		.cases = cases,
		.case_count = CHECK_COUNT(cases),
		.roles = roles,
		.role_count = CHECK_COUNT(roles),
		.warm_up = look_at_subject,
	};

	return check_main(&suite, argc, argv);
}
