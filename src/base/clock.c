/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - time limits, see clock.h
 */
#include "base/clock.h"

#include <stddef.h>

#define NS_PER_S UINT64_C(1000000000)

uint64_t ww_clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t ww_clock_deadline_ns(uint64_t timeout_ns)
{
	uint64_t deadline;

	if (timeout_ns == UINT64_MAX)
		return WW_NEVER;
	if (__builtin_add_overflow(ww_clock_now_ns(), timeout_ns, &deadline))
		return WW_NEVER;
	return deadline;
}

uint64_t ww_clock_left_ns(uint64_t deadline_ns)
{
	uint64_t now = ww_clock_now_ns();

	if (deadline_ns == WW_NEVER)
		return UINT64_MAX;
	return deadline_ns > now ? deadline_ns - now : 0;
}

uint64_t ww_clock_sooner_ns(uint64_t timeout_ns, uint64_t deadline_ns)
{
	uint64_t end_ns = ww_clock_deadline_ns(timeout_ns);

	return end_ns < deadline_ns ? end_ns : deadline_ns;
}

const struct timespec *ww_clock_left(uint64_t deadline_ns, struct timespec *out_left)
{
	uint64_t left = ww_clock_left_ns(deadline_ns);

	if (deadline_ns == WW_NEVER)
		return NULL;
	out_left->tv_sec = (time_t)(left / NS_PER_S);
	out_left->tv_nsec = (long)(left % NS_PER_S);
	return out_left;
}
