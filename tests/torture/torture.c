/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture.c - the loops that every suite of failures has, see torture.h
 */
#include "torture/torture.h"

#include <string.h>

#include "support/fail_call.h"
#include "support/leak_count.h"
#include "support/check.h"
#include "support/driver.h"
#include "support/subject.h"

#define CALLS_MAX 5000

static const struct expectation *expectation_of(const struct torture *torture, const char *function,
	int error)
{
	for (size_t i = 0; i < torture->expectation_count; i++) {
		const struct expectation *expectation = &torture->expectations[i];

		if (!strcmp(expectation->function, function) && expectation->error == error)
			return expectation;
	}
	FAIL("nobody said what becomes of error %d of %s", error, function);
}

static void must_have_sentence(ww_status status, const char *what)
{
	const struct ww_error *error = ww_error_last();

	if (error->status != status || strlen(error->message) < 10)
		FAIL("%s: %s, but the record says %s, \"%s\"", what, ww_status_name(status),
			ww_status_name(error->status), error->message);
}

static const struct exception exceptions_of_all[] = {
	{"cuMemImportFromShareableHandle", WW_CUDA_ERROR_UNKNOWN, NULL, WW_ERR_DESCRIPTOR},
	{"cuMemPoolImportFromShareableHandle", WW_CUDA_ERROR_UNKNOWN, NULL, WW_ERR_DESCRIPTOR},
};

static const struct exception *find_exception(const struct exception *exceptions, size_t count,
	const char *name, int code, const char *step)
{
	for (size_t i = 0; i < count; i++) {
		const struct exception *exception = &exceptions[i];

		if (!strcmp(exception->name, name) && exception->code == code &&
			(!exception->step ||
				(step && !strncmp(exception->step, step, strlen(exception->step)))))
			return exception;
	}
	return NULL;
}

static const struct exception *exception_of(const struct torture *torture, const char *name,
	int code, const char *step)
{
	const struct exception *own = find_exception(torture->exceptions, torture->exception_count,
		name, code, step);

	return own ? own
		   : find_exception(exceptions_of_all, CHECK_COUNT(exceptions_of_all), name, code,
			     step);
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

void torture_must_fit(const struct torture *torture, const char *function, int error,
	const char *step, ww_status status)
{
	const struct expectation *expectation = expectation_of(torture, function, error);
	const struct exception *exception = exception_of(torture, function, error, step);

	if (status != WW_OK || !(expectation->may_be_overcome || torture->forgives))
		must_be(exception ? exception->status : expectation->status, function, error, step,
			status);
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

static void call_hook(void (*hook)(void))
{
	if (hook)
		hook();
}

void torture_warm_up(const struct torture *torture)
{
	const char *step;

	for (int i = 0; i < 2; i++) {
		call_hook(torture->begin);
		MUST_OK(torture->run(&step));
		call_hook(torture->end);
	}
}

/* Lets calls fail as they were told to; returns whether there was one left to fail. */
static bool run_with_failure(const struct torture *torture, const struct holdings *before,
	uint64_t nth, uint64_t *overcome)
{
	const char *step;
	ww_status status = torture->run(&step);
	int error;
	const char *function = calls_off(&error);

	if (function)
		torture_must_fit(torture, function, error, step, status);
	else
		MUST_OK(status);
	call_hook(torture->end);
	if (!function)
		return false;
	must_hold_no_more(before, function, nth);
	*overcome += status == WW_OK;
	return true;
}

void torture_calls(const struct torture *torture, int kinds)
{
	struct holdings before;
	uint64_t overcome = 0;
	uint64_t nth = 0;

	call_hook(torture->open);
	torture_warm_up(torture);
	do {
		take_holdings(&before);
		call_hook(torture->begin);
		calls_fail(kinds, ++nth);
	} while (run_with_failure(torture, &before, nth, &overcome) && nth < CALLS_MAX);
	MUST(nth > 5 && nth < CALLS_MAX);
	check_note("%llu calls failed one by one, %llu were overcome", (unsigned long long)nth - 1,
		(unsigned long long)overcome);
	call_hook(torture->close);
}

static void fail_with(const struct torture *torture, const struct expectation *expected)
{
	struct holdings before;
	uint64_t overcome = 0;
	uint64_t nth = 0;

	do {
		take_holdings(&before);
		call_hook(torture->begin);
		calls_fail_named(expected->function, expected->error, ++nth, 1);
	} while (run_with_failure(torture, &before, nth, &overcome) && nth < CALLS_MAX);
	MUST(nth < CALLS_MAX);
	if (nth == 1 &&
		(expected->called == ALWAYS || (expected->called == ON_HOST && !subject_is_cuda())))
		FAIL("%s was never called", expected->function);
}

void torture_every_error(const struct torture *torture)
{
	call_hook(torture->open);
	torture_warm_up(torture);
	for (size_t i = 0; i < torture->expectation_count; i++)
		fail_with(torture, &torture->expectations[i]);
	call_hook(torture->close);
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
	{"cuCtxSynchronize", true, false},
	{"cuMemAlloc", true, false},
	{"cuStreamIsCapturing", true, false},
	{"cuThreadExchangeStreamCaptureMode", true, true},
	{"cuStreamQuery", true, false},
	{"cuStreamCreate", true, false},
	{"cuMemFreeAsync", true, false},
	{"cuIpcCloseMemHandle", true, true},
	{"cuMemPoolDestroy", true, true},
	{"cuModuleUnload", true, true},
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

static ww_status status_of_code(const struct torture *torture, const char *name, int code,
	const char *step)
{
	const struct exception *exception = exception_of(torture, name, code, step);

	if (exception)
		return exception->status;
	return code == WW_CUDA_ERROR_OUT_OF_MEMORY ? WW_ERR_DEVICE_MEMORY : WW_ERR_DEVICE;
}

static void must_fit_driver(const struct torture *torture, const char *name, int code,
	const char *step, ww_status status)
{
	const struct driver_function *function = driver_function_of(name);

	if (status == WW_OK && (torture->forgives || (function && function->may_be_overcome)))
		return;
	must_be(step ? status_of_code(torture, name, code, step) : WW_OK, name, code, step, status);
	if (torture->loses_codes)
		return;
	MUST_EQUAL(WW_DOMAIN_CUDA, ww_error_last()->domain);
	MUST_EQUAL(code, ww_error_last()->native);
}

uint64_t torture_driver_function(const struct torture *torture, const char *name, int code)
{
	const struct fake *fake = fake_get();
	uint64_t nth;

	for (nth = 1; nth < CALLS_MAX; nth++) {
		uint64_t calls = fake->call_count(name);
		struct holdings before;
		const char *step;
		ww_status status;

		take_holdings(&before);
		call_hook(torture->begin);
		fake->fail(name, nth, code);
		status = torture->run(&step);
		fake->fail_off();
		if (fake->call_count(name) - calls < nth) {
			MUST_OK(status);
			call_hook(torture->end);
			break;
		}
		must_fit_driver(torture, name, code, step, status);
		call_hook(torture->end);
		must_hold_no_more(&before, name, nth);
	}
	MUST(nth < CALLS_MAX);
	return nth - 1;
}

void torture_driver(const struct torture *torture, int code)
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
	call_hook(torture->open);
	torture_warm_up(torture);
	for (size_t i = 0; i < CHECK_COUNT(names); i++) {
		const struct driver_function *function = driver_function_of(names[i]);
		uint64_t count;

		if (function && function->is_cleanup)
			continue;
		count = torture_driver_function(torture, names[i], code);
		failed += count;
		functions += count > 0;
	}
	MUST(functions > 10);
	check_note("%llu calls of %llu functions failed one by one with %d",
		(unsigned long long)failed, (unsigned long long)functions, code);
	call_hook(torture->close);
}
