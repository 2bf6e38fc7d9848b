/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_scenario.h - a program that uses pools in every way once, and can fail anywhere
 *
 * A step that failed must have changed nothing. It is done again at once and must then succeed, so
 * every run comes to its end, where everything that was allocated is to be had again.
 */
#ifndef WW_TESTS_TORTURE_POOL_SCENARIO_H
#define WW_TESTS_TORTURE_POOL_SCENARIO_H

#include <warpway/warpway.h>

#define SCENARIO_KIB   UINT64_C(1024)
#define SCENARIO_CHUNK (UINT64_C(2) << 20)
#define SCENARIO_SLICE (64 * SCENARIO_KIB)

/* Two slices of a partner's pool, which the second of the following imports. */
extern struct ww_token scenario_tokens[2];
#define SCENARIO_NAME "partner" /* of the first of them */

/*
 * A pool of this process, of one chunk, of which a partner has imported a slice since we last
 * looked; for the third.
 */
extern ww_pool *scenario_pool;

/* Return: WW_OK, or how the first step that failed did, with its record as the last error. */
ww_status pool_scenario_own(const char **out_step);
ww_status pool_scenario_member(const char **out_step);
ww_status pool_scenario_meet(const char **out_step);

#endif
