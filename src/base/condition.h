/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition.h - condition variables whose waits have a deadline on CLOCK_MONOTONIC
 */
#ifndef WW_BASE_CONDITION_H
#define WW_BASE_CONDITION_H

#include <pthread.h>
#include <stdint.h>

#include <warpway/base.h>

void ww_condition_init(pthread_cond_t *condition); /* ended by pthread_cond_destroy() */

/*
 * Waits, as pthread_cond_timedwait() does; the caller looks again afterwards, however it ended.
 * While the thread has a ww_cancel it returns early enough for that to be looked at (cancel.h).
 * @deadline_ns:  WW_NEVER: none
 */
void ww_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline_ns);

/*
 * Locks what another thread may hold while it asks a broker.
 * Return: WW_OK (locked); WW_CANCELLED.
 */
ww_status ww_lock_unless_cancelled(pthread_mutex_t *lock);

#endif
