/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier_join.c - see barrier_join.h
 */
#include "barrier_join.h"

#include <errno.h>
#include <time.h>

#define LOOK_NS 20000000 /* how often a wait looks at its flag */

static ww_status join_directly(struct barrier_join *join, uint64_t timeout_ns, ww_cancel *cancel)
{
	if (join->name[0])
		return ww_barrier_get(join->broker, join->name, join->rank, timeout_ns, cancel,
			&join->barrier);
	return ww_barrier_import(join->broker, &join->token, join->rank, timeout_ns, cancel,
		&join->barrier);
}

static void *join_thread(void *argument)
{
	struct barrier_join *join = argument;

	join->status = join_directly(join, join->timeout_ns, join->stop);
	join->record = *ww_error_last();
	pthread_mutex_lock(&join->lock);
	join->has_ended = true;
	pthread_cond_signal(&join->ended);
	pthread_mutex_unlock(&join->lock);
	return NULL;
}

static bool start(struct barrier_join *join, uint64_t timeout_ns)
{
	pthread_condattr_t attributes;

	if (ww_cancel_create(&join->stop) != WW_OK)
		return false;
	join->timeout_ns = timeout_ns;
	pthread_mutex_init(&join->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&join->ended, &attributes);
	pthread_condattr_destroy(&attributes);
	join->is_running = thread_start(&join->thread, join_thread, join);
	if (!join->is_running)
		join->stop = ww_cancel_unref(join->stop);
	return join->is_running;
}

static struct timespec next_look(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += LOOK_NS;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	return at;
}

/* Return: whether it has; false: the flag was set first. */
static bool wait_until_ended(struct barrier_join *join, const ww_cancel *cancel)
{
	bool has_ended;

	pthread_mutex_lock(&join->lock);
	while (!join->has_ended && !ww_cancel_is_set(cancel)) {
		struct timespec at = next_look();

		pthread_cond_timedwait(&join->ended, &join->lock, &at);
	}
	has_ended = join->has_ended;
	pthread_mutex_unlock(&join->lock);
	return has_ended;
}

static void take_result(struct barrier_join *join)
{
	pthread_join(join->thread, NULL);
	join->is_running = false;
	join->has_record = join->status < 0;
	join->stop = ww_cancel_unref(join->stop);
	pthread_cond_destroy(&join->ended);
	pthread_mutex_destroy(&join->lock);
}

ww_status barrier_join_run(struct barrier_join *join, uint64_t timeout_ns, ww_cancel *cancel)
{
	if (!join->is_running && (join->has_cancel || !cancel || !start(join, timeout_ns)))
		return join_directly(join, timeout_ns, cancel);
	if (!wait_until_ended(join, cancel))
		return WW_CANCELLED;
	take_result(join);
	return join->status;
}

void barrier_join_end(struct barrier_join *join)
{
	if (!join->is_running)
		return;
	ww_cancel_set(join->stop);
	take_result(join);
}
