/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - processes that use a broker are killed, and so are the broker and its supervisor
 *
 * At every step: a victim that dies of SIGKILL before or after its Nth message, for N = 1, 2, 3 ...
 * until it comes through. At random: under load, many times; WW_TEST_KILLS says how often (100 if
 * unset). Either way nobody else is harmed: what was kept is there, whole; every call ends as it
 * says; and at the end the broker has nothing left.
 */
#ifndef WW_TESTS_CRASH_BROKER_H
#define WW_TESTS_CRASH_BROKER_H

#include <stdint.h>

#include "crash/figures.h"
#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/broker_case.h"
#include "support/subject.h"

/* A child of this process of the kernel's, but the one given; 0: none (yet). */
pid_t find_child(pid_t parent, pid_t but);

/* --- load: processes that use the broker as fast as they can, and check all they see --- */

/* Starts some; they work until load_end(), which sees that nothing is lost, and removes it all. */
void load_begin(void);
void load_end(void);

#endif
