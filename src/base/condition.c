/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition.c - condition variables whose waits have a deadline, see condition.h
 */
#include "base/condition.h"

#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"

#define NS_PER_S UINT64_C(1000000000)

void ww_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};
}

void ww_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	uint64_t until_ns = ww_cancel_sleep_end_ns(deadline_ns);
	const struct timespec until = timespec_of(until_ns);

	if (until_ns == WW_NEVER)
		pthread_cond_wait(condition, lock);
	else
		pthread_cond_timedwait(condition, lock, &until);
}

ww_status ww_lock_unless_cancelled(pthread_mutex_t *lock)
{
	if (pthread_mutex_trylock(lock) == 0)
		return WW_OK;
	if (ww_cancel_is_nowait())
		return WW_CANCELLED;
	while (ww_cancel_is_given()) {
		struct timespec until;

		/* Not pthread_mutex_clocklock(), which thread sanitizers do not know. */
		clock_gettime(CLOCK_REALTIME, &until);
		until = timespec_of((uint64_t)until.tv_sec * NS_PER_S + (uint64_t)until.tv_nsec +
			WW_CANCEL_LOOK_NS);
		if (pthread_mutex_timedlock(lock, &until) == 0)
			return WW_OK;
		if (ww_cancel_is_pending())
			return WW_CANCELLED;
	}
	pthread_mutex_lock(lock);
	return WW_OK;
}
