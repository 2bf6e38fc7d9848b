/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_main.c - calls are tortured: while a service and a client are made, and while the server
 * gets to know its client and runs what that has called
 *
 * A private broker runs, and must be idle again after each run.
 */
#include <errno.h>

#include "support/check.h"
#include "support/driver.h"
#include "support/fail_call.h"
#include "torture/call_scenario.h"
#include "torture/torture_broker.h"

static const struct expectation expectations[] = {
	/* A record may be printed in another way. */
	{"malloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"calloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"realloc", ENOMEM, WW_ERR_NO_MEMORY, true, RARELY},
	{"strdup", ENOMEM, WW_ERR_NO_MEMORY, false, RARELY},
	SHARING_EXPECTATIONS,
	/* What has no seals is no memory; to a server, who shows such files is no client. */
	{"fcntl(F_GET_SEALS)", EINVAL, WW_ERR_DESCRIPTOR, true, RARELY},
};

/* --- the runs --- */

static void end_serving(void)
{
	call_scenario_end_serving();
	torture_broker_must_be_idle();
}

static const struct torture torture_making = TORTURE(expectations, .run = call_scenario_make,
	.end = torture_broker_must_be_idle, .open = torture_broker_open,
	.close = torture_broker_stop);

/* What the server cannot do for a newcomer it does later. */
static const struct torture torture_serving = TORTURE(expectations, .run = call_scenario_serve,
	.begin = call_scenario_begin_serving, .end = end_serving, .loses_codes = true,
	.forgives = true, .open = torture_broker_open, .close = torture_broker_stop);

TORTURE_SYSTEM_CASES(making)
CASE_CALL(making_driver_out_of_memory, 0,
	torture_driver(&torture_making, WW_CUDA_ERROR_OUT_OF_MEMORY))
TORTURE_CASES(serving)

CHECK_MAIN(check_main, .name = "torture-call")
