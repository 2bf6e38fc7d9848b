/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - running calls, and ending them
 *
 * The leader finds what is to be run (serve.c); the thread that has led runs it.
 */
#ifndef WW_SERVICE_RUN_H
#define WW_SERVICE_RUN_H

#include "service/call.h"

/* What is run at once: one call, or a batch of calls of one function (batch.h). */
struct ww_run {
	uint32_t count;
	struct ww_call *calls[WW_SERVICE_BATCH_MAX];
};

/* Not locked. */
void ww_run_calls(struct ww_run *run);

/* Ends a call that was begun and whose work is complete. @was_working: on a stream. Not locked. */
void ww_call_end(struct ww_call *call, bool was_working);

/* Of a call that is in service->working. */
bool ww_call_work_is_done(const struct ww_call *call);

/* @function: of a call that ends before it was started; may be none. Locked. */
void ww_call_count_not_started(const struct ww_service *service, uint32_t function);

#endif
