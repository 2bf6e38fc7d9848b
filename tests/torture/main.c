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

struct expectation {
	const char *function;
	ww_status statuses[4]; /* those that fit; the unused ones are 0 */
	bool may_be_overcome;
};

/* What the errors in support/calls.c must come out as. */
static const struct expectation expectations[] = {
	{"malloc", {WW_ERR_NO_MEMORY}, false},
	{"calloc", {WW_ERR_NO_MEMORY}, false},
	{"realloc", {WW_ERR_NO_MEMORY}, false},
	{"aligned_alloc", {WW_ERR_NO_MEMORY}, false},
	{"memfd_create", {WW_ERR_LIMIT}, false},
	{"ftruncate", {WW_ERR_NO_MEMORY}, false},
	{"fallocate", {WW_ERR_NO_MEMORY}, false},
	{"fchmod", {WW_ERR_SYSTEM}, false},
	/* For a duplicate, for the seals, or for the mode a descriptor was opened in. */
	{"fcntl", {WW_ERR_LIMIT, WW_ERR_SYSTEM, WW_ERR_DESCRIPTOR}, true},
	/* Also asked whether two descriptors are the same: unknown means no. */
	{"fstat", {WW_ERR_SYSTEM}, true},
	{"mmap", {WW_ERR_NO_MEMORY, WW_ERR_LIMIT}, false},
	{"open", {WW_ERR_LIMIT}, false},
	{"getrandom", {WW_ERR_SYSTEM}, false},
	{"getsockopt", {WW_ERR_DESCRIPTOR}, false},
	{"ppoll", {WW_ERR_NO_MEMORY}, false},
	{"sendmsg", {WW_ERR_PEER_LOST}, false},
	{"recvmsg", {WW_ERR_NO_MEMORY}, false},
	{"pthread_create", {WW_ERR_LIMIT}, false},
	{"pthread_atfork", {WW_ERR_NO_MEMORY}, false},
	{"dlopen", {WW_ERR_NO_DEVICE}, false},
	{"dlsym", {WW_ERR_NO_DEVICE}, false},
	/* Two ways of asking how much memory is free: the other one is left. */
	{"sysinfo", {WW_ERR_SYSTEM}, true},
	{"fopen", {WW_ERR_LIMIT}, true},
};

static const struct expectation *expectation_of(const char *function)
{
	size_t length = strlen(function);

	/* "mmap64" is the same as "mmap". */
	if (length > 2 && !strcmp(function + length - 2, "64"))
		length -= 2;
	for (size_t i = 0; i < CHECK_COUNT(expectations); i++)
		if (!strncmp(expectations[i].function, function, length) &&
			!expectations[i].function[length])
			return &expectations[i];
	FAIL("nobody said what becomes of a failure of %s", function);
}

static void must_have_sentence(ww_status status, const char *what)
{
	const struct ww_error *error = ww_error_last();

	if (error->status != status || strlen(error->message) < 10)
		FAIL("%s: %s, but the record says %s, \"%s\"", what, ww_status_name(status),
			ww_status_name(error->status), error->message);
}

static void must_fit(const char *function, const char *step, ww_status status)
{
	const struct expectation *expectation = expectation_of(function);

	if (status == WW_OK && expectation->may_be_overcome)
		return;
	if (status == WW_OK)
		FAIL("%s failed, and nobody noticed", function);
	must_have_sentence(status, function);
	for (size_t i = 0; i < CHECK_COUNT(expectation->statuses); i++)
		if (status == expectation->statuses[i])
			return;
	FAIL("%s failed; %s returned %s: \"%s\"", function, step, ww_status_name(status),
		ww_error_last()->message);
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

static void fail_calls(int kinds)
{
	struct holdings before;
	uint64_t overcome = 0;
	uint64_t nth;

	warm_up();
	for (nth = 1; nth < CALLS_MAX; nth++) {
		const char *function;
		const char *step;
		ww_status status;

		take_holdings(&before);
		calls_fail(kinds, nth);
		status = scenario_run(&step);
		function = calls_off();
		if (!function) {
			MUST_OK(status);
			break;
		}
		must_fit(function, step, status);
		must_hold_no_more(&before, function, nth);
		overcome += status == WW_OK;
	}
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

static const struct driver_function *driver_function_of(const char *name)
{
	for (size_t i = 0; i < CHECK_COUNT(driver_functions); i++)
		if (!strcmp(driver_functions[i].name, name))
			return &driver_functions[i];
	return NULL;
}

/* The status of a driver's failure: the device's, never the caller's fault. */
static void must_fit_driver(const char *name, int code, const char *step, ww_status status)
{
	const struct driver_function *function = driver_function_of(name);

	if (status == WW_OK && function && function->may_be_overcome)
		return;
	if (status == WW_OK)
		FAIL("%s failed with %d, and nobody noticed", name, code);
	must_have_sentence(status, name);
	if (status == WW_ERR_INVALID || status > 0)
		FAIL("%s failed with %d; %s returned %s: \"%s\"", name, code, step,
			ww_status_name(status), ww_error_last()->message);
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

/* A fresh process in which the Nth call fails; afterwards everything must work. */
static void role_first_use(int count, char **arguments)
{
	uint64_t nth = strtoull(arguments[0], NULL, 10);
	const char *function;
	const char *step;
	ww_status status;

	MUST(count == 2);
	scenario_uses_peer = atoi(arguments[1]);
	calls_fail(CALLS_ALLOCATIONS | CALLS_SYSTEM, nth);
	status = scenario_run(&step);
	function = calls_off();
	if (function)
		must_fit(function, step, status);
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
	{"driver_out_of_memory", driver_out_of_memory, 0},
	{"driver_fails_for_no_reason", driver_fails_for_no_reason, 0},
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
