/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_scenario.h - a program that uses everything once, and can fail anywhere
 *
 * It opens a device, makes streams and memory of both kinds, copies, fills, exports, imports,
 * sends, receives, signals, waits, loads a module, launches a kernel of it, and releases all it
 * has, whether it came to the end or not.
 */
#ifndef WW_TESTS_TORTURE_MEMORY_SCENARIO_H
#define WW_TESTS_TORTURE_MEMORY_SCENARIO_H

#include <stdbool.h>

#include <warpway/warpway.h>

#include "support/allocation.h"

/* Whether it uses a second GPU too; false unless somebody has found out that it can. */
extern bool scenario_uses_peer;

/*
 * Memory that the driver itself gave, in a context of its own, for all runs; none unless somebody
 * has made it.
 */
#define SCENARIO_ALLOCATIONS 3
extern struct allocation scenario_allocations[SCENARIO_ALLOCATIONS];
void scenario_allocate(void);

/* Runs it; sets which call it was that failed, or NULL. */
ww_status scenario_run(const char **out_step);

#endif
