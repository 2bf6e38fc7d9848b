/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_fault.c - calls that fail on purpose, and the counts that tests look at
 *
 * One failure can be asked for at a time: the Nth call of a function, or of any function. It comes
 * once. Cleanup is counted apart and fails only when its own name was asked for: a test that walks
 * over "the Nth call of any" wants to see the clean-up after a failure succeed.
 *
 * All of this is under the one lock.
 */
#include "fake.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANY     (-1)
#define CLEANUP (-2)
#define NOBODY  (-3)

/* No codes of the driver: what else a call can do. */
#define CRASH (-1)
#define HANG  (-2)
#define CALL  (-3)

static const struct {
	const char *name;
	const char *symbol;
} functions[] = {
#define NAMES(name, symbol, parameters) {#name, #symbol},
	WW_CUDA_FUNCTIONS(NAMES)
#undef NAMES
};

static uint64_t counts[FAKE_FUNCTION_COUNT];
static uint64_t total_count;
static uint64_t cleanup_count;

/* The failure asked for: when 'left' more calls of 'target' have come. */
static int target = NOBODY;
static uint64_t left;
static ww_CUresult code;
static void (*function_of_test)(void); /* for CALL */
static bool environment_read;

static bool is_cleanup(int function)
{
	switch (function) {
	case FAKE_cuMemRelease:
	case FAKE_cuMemUnmap:
	case FAKE_cuMemAddressFree:
	case FAKE_cuMemFree:
	case FAKE_cuMemFreeHost:
	case FAKE_cuMemFreeAsync:
	case FAKE_cuMemHostUnregister:
	case FAKE_cuMemPoolDestroy:
	case FAKE_cuStreamDestroy:
	case FAKE_cuEventDestroy:
	case FAKE_cuModuleUnload:
	case FAKE_cuIpcCloseMemHandle:
	case FAKE_cuCtxDestroy:
	case FAKE_cuCtxPopCurrent:
	case FAKE_cuThreadExchangeStreamCaptureMode:
	case FAKE_cuDevicePrimaryCtxRelease:
		return true;
	default:
		return false;
	}
}

static int find(const char *name)
{
	if (!strcmp(name, "*"))
		return ANY;
	if (!strcmp(name, "cleanup"))
		return CLEANUP;
	for (int i = 0; i < FAKE_FUNCTION_COUNT; i++)
		if (!strcmp(name, functions[i].name) || !strcmp(name, functions[i].symbol))
			return i;
	fprintf(stderr, "fakecuda: %s is no function of the driver\n", name);
	abort();
}

static bool code_read(const char *word, ww_CUresult *out_code)
{
	char *end;
	long number = strtol(word, &end, 10);

	if (!strcmp(word, "crash"))
		*out_code = CRASH;
	else if (!strcmp(word, "hang"))
		*out_code = HANG;
	else if (*end || number <= 0 || number > 9999)
		return false;
	else
		*out_code = (ww_CUresult)number;
	return true;
}

/* Whatever handles signals here does not handle this one. */
static void crash(void)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void read_environment(void)
{
	const char *text = fake_config()->fail;
	environment_read = true;
	if (!text)
		return;

	char name[64];
	char word[16];
	unsigned long long nth;
	if (sscanf(text, "%63[^:]:%llu:%15s", name, &nth, word) != 3 || !nth ||
		!code_read(word, &code)) {
		fprintf(stderr, "fakecuda: FAKECUDA_FAIL=%s is not NAME:N:CODE\n", text);
		abort();
	}
	target = find(name);
	left = nth;
}

/* Counts a call. Returns what it must fail with, or success. */
ww_CUresult fake_fault_count(enum fake_function function)
{
	bool cleanup = is_cleanup((int)function);

	if (!environment_read)
		read_environment();
	counts[function]++;
	if (cleanup)
		cleanup_count++;
	else
		total_count++;

	if (target != (int)function && !(target == ANY && !cleanup))
		return WW_CUDA_SUCCESS;
	if (--left > 0)
		return WW_CUDA_SUCCESS;
	target = NOBODY;
	if (code == CRASH)
		crash();
	while (code == HANG)
		pause();
	if (code == CALL)
		function_of_test();
	return code == CALL ? WW_CUDA_SUCCESS : code;
}

void fakecuda_fail(const char *name, uint64_t nth, int error)
{
	fake_lock();
	environment_read = true;
	target = nth ? find(name) : NOBODY;
	left = nth;
	code = error;
	fake_unlock();
}

void fakecuda_at(const char *name, uint64_t nth, void (*function)(void))
{
	fake_lock();
	function_of_test = function;
	fake_unlock();
	fakecuda_fail(name, nth, CALL);
}

void fakecuda_fail_off(void)
{
	fake_lock();
	environment_read = true;
	target = NOBODY;
	fake_unlock();
}

uint64_t fakecuda_call_count(const char *name)
{
	fake_lock();
	int function = find(name);
	uint64_t count = function == ANY ? total_count
		: function == CLEANUP    ? cleanup_count
					 : counts[function];
	fake_unlock();
	return count;
}
