/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_step.h - the steps of a scenario, of which the first that fails is done again
 *
 * The second time it must succeed: nothing is wrong any more.
 */
#ifndef WW_TESTS_TORTURE_TORTURE_STEP_H
#define WW_TESTS_TORTURE_TORTURE_STEP_H

#include <stdbool.h>

#include <warpway/warpway.h>

#include "support/check.h"

/* The first step that failed, with its status and its record. */
struct first_failure {
	const char *step; /* NULL: none */
	ww_status status;
	struct ww_error record;
};

/* Return: whether to do the step again, since this was the failure that was to be. */
bool step_has_failed(struct first_failure *failure, const char *step, ww_status status);

/* What a scenario returns: the status of the first failure, which is the last error again. */
ww_status step_report(const struct first_failure *failure, const char **out_step);

/* A step. `scenario` is a pointer to a structure that has a `failure`. */
#define STEP(call)                                                               \
	do {                                                                     \
		ww_status status_ = (call);                                      \
                                                                                 \
		if (step_has_failed(&scenario->failure, #call, status_))         \
			status_ = (call);                                        \
		if (status_ != WW_OK)                                            \
			check_status(__FILE__, __LINE__, #call, WW_OK, status_); \
	} while (0)

/* What gives something out does so if, and only if, it succeeds. Return: the status */
ww_status step_gives(ww_status status, const void *out);

/* Opens the broker at scenario_address. */
ww_status step_open_broker(ww_broker **out_broker);

#endif
