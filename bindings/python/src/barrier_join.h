/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier_join.h - becoming a member of a barrier, in spite of signals
 *
 * A process that stops joining breaks the barrier for the processes that had seen it there. A
 * signal whose handler raises no exception must not have that effect, but ends the call of the
 * library in the main thread (wait.c). So for the main thread another thread joins, and the main
 * thread waits for that one, as often as signals interrupt it.
 */
#ifndef CORE_BARRIER_JOIN_H
#define CORE_BARRIER_JOIN_H

#include "core.h"

#include <pthread.h>

struct barrier_join {
	ww_broker *broker;        /* a reference, or NULL */
	char name[WW_NAME_BYTES]; /* "": by the token */
	struct ww_token token;
	uint32_t rank;
	bool has_cancel;        /* the caller's Cancel ends the call: no other thread is needed */
	ww_barrier *barrier;    /* once joined */
	bool has_record;        /* the failure is that of another thread */
	struct ww_error record; /* why it failed there */
	/* of the thread */
	bool is_running; /* it was started, and not waited for yet */
	bool has_ended;  /* under lock */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	ww_cancel *stop;
	uint64_t timeout_ns;
	ww_status status;
};

/* For wait_run(): may be called again after WW_CANCELLED. Return: as ww_barrier_import(). */
ww_status barrier_join_run(struct barrier_join *join, uint64_t timeout_ns, ww_cancel *cancel);

/*
 * Ends the thread: without the GIL, when wait_run() has returned. It may have joined all the same.
 */
void barrier_join_end(struct barrier_join *join);

#endif
