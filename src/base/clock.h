/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - time limits
 *
 * A public call takes a timeout in nanoseconds; inside it becomes a deadline once, on
 * CLOCK_MONOTONIC, so that a wait that is interrupted or has several steps keeps to it.
 */
#ifndef WW_BASE_CLOCK_H
#define WW_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WW_NEVER UINT64_MAX

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t ww_clock_now_ns(void);

/*
 * The deadline @timeout_ns from now; WW_NEVER for UINT64_MAX and whatever lies past the clock's
 * end.
 */
uint64_t ww_clock_deadline_ns(uint64_t timeout_ns);

/* The same, or @deadline_ns if that is sooner. */
uint64_t ww_clock_sooner_ns(uint64_t timeout_ns, uint64_t deadline_ns);

/*
 * How long until a deadline, for ppoll(): zero when it has passed.
 * Return: @out_left; NULL for WW_NEVER, as ppoll() wants it.
 */
const struct timespec *ww_clock_left(uint64_t deadline_ns, struct timespec *out_left);

/* The same as a timeout: UINT64_MAX for WW_NEVER. */
uint64_t ww_clock_left_ns(uint64_t deadline_ns);

#endif
