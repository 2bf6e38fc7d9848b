/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.h - calls of one function that are run together
 *
 * A call of such a function that could start is begun: it is taken out of its lane, which waits for
 * it. But it is not run; it waits for calls of other lanes, of any client:
 *
 *   begun ──> waits ──> run: when so many wait, or the first one has waited for so long, or the
 *                 │          service drains
 *                 └───> ends: cancelled, its deadline is over, or its client has ended
 *
 * All of it belongs to the leader.
 */
#ifndef WW_SERVICE_BATCH_H
#define WW_SERVICE_BATCH_H

#include "service/run.h"

struct ww_batch {
	struct ww_list link; /* in service->batches, while calls wait */
	uint32_t calls_max;  /* constant, as is the next one */
	uint64_t wait_ns;
	struct ww_list calls; /* struct ww_call: those that wait, oldest first */
	uint32_t count;
	uint64_t due_ns; /* when they are run, if no more come */
};

/* @params: as they were given. Return: WW_OK; WW_ERR_INVALID; WW_ERR_NO_MEMORY. */
ww_status ww_batch_create(const struct ww_function_params *params, struct ww_batch **out_batch);
void ww_batch_free(struct ww_batch *batch); /* takes NULL; and the calls that wait */

/* A call that was begun waits from now on. Return: whether as many wait as can be run at once. */
bool ww_batch_add(struct ww_service *service, struct ww_call *call);

/* Ends calls that are not to be run any more. Return: whether there are some to be run. */
bool ww_batch_take(struct ww_service *service, struct ww_run *out_run);

/* When to try to take some. WW_NEVER: none wait */
uint64_t ww_batch_look_ns(const struct ww_service *service);

#endif
