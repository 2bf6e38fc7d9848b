/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torture_broker.h - a private broker for the runs of a case, which is idle again after each run
 */
#ifndef WW_TESTS_TORTURE_TORTURE_BROKER_H
#define WW_TESTS_TORTURE_TORTURE_BROKER_H

#include "torture/torture.h"

/* Where it listens; each suite's scenario has this variable. */
extern const char *scenario_address;

/* Starts it. If a case has failed, its broker is still there, and is killed. */
void torture_broker_start(void);
/* From now on it is idle if it is as it is now: what a partner has put there stays. */
void torture_broker_watch(void);
void torture_broker_must_be_idle(void);
void torture_broker_stop(void);

/* Both of the first: struct torture.open of a suite without a partner. */
void torture_broker_open(void);

#endif
