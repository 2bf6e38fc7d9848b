/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_scenario.h - a program that uses a broker in every way once, and can fail anywhere
 *
 * A step that failed is done again at once and must then succeed: nothing is wrong any more. So
 * every run comes to its end, and leaves nothing. Only when the connection itself ended may what
 * was held be gone.
 */
#ifndef WW_TESTS_TORTURE_BROKER_SCENARIO_H
#define WW_TESTS_TORTURE_BROKER_SCENARIO_H

#include <warpway/warpway.h>

#include "support/allocation.h"

/*
 * What another process puts: one that is there, and one that is ready when somebody waits for it.
 */
#define SCENARIO_READY "partner/ready"
#define SCENARIO_SOON  "partner/soon"

/* And on a GPU what it has wrapped. */
#define SCENARIO_LEGACY "partner/legacy"
#define SCENARIO_POOL   "partner/pool"

/* Memory of both kinds that the driver itself gave, for all runs; none on host. */
#define SCENARIO_ALLOCATIONS 2
extern struct allocation scenario_allocations[SCENARIO_ALLOCATIONS];

/* Makes it, and goes out of the context that it is in. */
void scenario_allocate(void);

/*
 * All there is to do with the broker at scenario_address. Return: WW_OK, or how the first step that
 * failed did, with its record as the last error.
 */
ww_status broker_scenario_run(const char **out_step);

/*
 * What a program does that is the first to need a broker: opens the user's own, whose processes are
 * then known here, and uses it a little.
 */
ww_status broker_scenario_start(const char **out_step);

extern struct ww_broker_info scenario_info; /* of the broker that was used last */

#endif
