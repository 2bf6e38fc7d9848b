/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_call.c - the one lock, and what holds for every call
 *
 * A call is refused before it does anything: in a forked child of an initialised process and
 * before cuInit (NOT_INITIALIZED), inside a host function of a stream (NOT_PERMITTED), and when a
 * test asked for a failure. In the child of a fork the lock is never touched: another thread of
 * the parent may have held it.
 */
#include "fake.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static atomic_bool initialised;
static atomic_bool forked;
static _Thread_local bool in_callback;

static void forget_parent(void)
{
	if (atomic_load(&initialised))
		atomic_store(&forked, true);
}

static void prepare(void)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_atfork(NULL, NULL, forget_parent);
}

void fake_lock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, prepare);
	pthread_mutex_lock(&mutex);
}

void fake_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

void fake_wait(void)
{
	pthread_cond_wait(&changed, &mutex);
}

void fake_wait_ns(int64_t ns)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns % 1000000000;
	until.tv_sec += ns / 1000000000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&changed, &mutex, &until);
}

void fake_wake(void)
{
	pthread_cond_broadcast(&changed);
}

bool fake_is_initialised(void)
{
	return atomic_load(&initialised);
}

void fake_set_initialised(void)
{
	atomic_store(&initialised, true);
}

void fake_callback_begin(void)
{
	in_callback = true;
}

void fake_callback_end(void)
{
	in_callback = false;
}

static bool works_before_init(enum fake_function function)
{
	switch (function) {
	case FAKE_cuInit:
	case FAKE_cuDriverGetVersion:
	case FAKE_cuGetProcAddress:
	case FAKE_cuGetErrorName:
	case FAKE_cuGetErrorString:
		return true;
	default:
		return false;
	}
}

struct fake_call fake_enter(enum fake_function function)
{
	struct fake_call call = {.error = WW_CUDA_SUCCESS};

	if (atomic_load(&forked)) {
		call.error = WW_CUDA_ERROR_NOT_INITIALIZED;
		return call;
	}
	fake_lock();
	call.error = fake_fault_count(function);
	if (!call.error && fake_lacks_function(function))
		call.error = WW_CUDA_ERROR_NOT_SUPPORTED;
	if (!call.error && in_callback)
		call.error = WW_CUDA_ERROR_NOT_PERMITTED;
	if (!call.error && !fake_is_initialised() && !works_before_init(function))
		call.error = WW_CUDA_ERROR_NOT_INITIALIZED;
	if (!call.error)
		call.error = fake_capture_check(function);
	if (call.error)
		fake_unlock();
	return call;
}

void fake_leave(struct fake_call *call)
{
	if (!call->error)
		fake_unlock();
}

/* What the driver makes of a system call that failed. */
ww_CUresult fake_error_from_errno(int number)
{
	return number == ENOMEM ? WW_CUDA_ERROR_OUT_OF_MEMORY : WW_CUDA_ERROR_OPERATING_SYSTEM;
}
