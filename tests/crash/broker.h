/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - processes that use a broker are killed, and so are the broker and its keeper
 *
 * At every step: a victim that dies of SIGKILL before or after its Nth message, for N = 1, 2, 3 ... until it comes
 * through. At random: under load, many times; WW_TEST_KILLS says how often (100 if unset). Either way nobody else is
 * harmed: what was kept is there, whole; every call ends as it says; and at the end the broker has nothing left.
 */
#ifndef WW_TESTS_CRASH_BROKER_H
#define WW_TESTS_CRASH_BROKER_H

#include <stdint.h>

#include "crash/figures.h"
#include "support/agent.h"
#include "support/check.h"
#include "support/child.h"
#include "support/scene.h"
#include "support/subject.h"

#define CRASH_CLIENT_CASES(X)          \
	X(client_killed_opening)       \
	X(client_killed_putting_kept)  \
	X(client_killed_putting_held)  \
	X(client_killed_putting_owned) \
	X(client_killed_replacing)     \
	X(client_killed_sealing)       \
	X(client_killed_getting)       \
	X(client_killed_exporting)     \
	X(client_killed_importing)     \
	X(client_killed_releasing)     \
	X(client_killed_removing)      \
	X(client_killed_listing)       \
	X(client_killed_watching)      \
	X(client_killed_at_every_call)

#define CRASH_DAEMON_CASES(X)             \
	X(broker_killed_at_every_message) \
	X(broker_killed_at_every_call)    \
	X(broker_killed_while_it_adopts)  \
	X(keeper_killed_at_every_message) \
	X(keeper_killed_at_every_call)

#define CRASH_LOAD_CASES(X)                     \
	X(load_broker_killed)                   \
	X(load_keeper_killed)                   \
	X(load_either_killed)                   \
	X(load_one_killed_while_other_restarts) \
	X(load_upgraded)

#define CRASH_HOLDER_CASES(X)                 \
	X(holder_killed_is_released_soon)     \
	X(holder_killed_while_broker_is_down) \
	X(writer_killed_while_broker_is_down) \
	X(holder_stays_while_broker_is_down)  \
	X(waiter_is_answered_after_restart)   \
	X(watch_goes_on_after_restart)

#define CRASH_BROKER_CASES(X) \
	CRASH_CLIENT_CASES(X) \
	CRASH_DAEMON_CASES(X) \
	CRASH_LOAD_CASES(X)   \
	CRASH_HOLDER_CASES(X)

#define CRASH_BROKER_ROLES(X) \
	X(role_mortal)        \
	X(role_loader)

#define CRASH_DECLARE_CASE(name) void name(void);
CRASH_BROKER_CASES(CRASH_DECLARE_CASE)
#undef CRASH_DECLARE_CASE

#define CRASH_DECLARE_ROLE(name) void name(int count, char **arguments);
CRASH_BROKER_ROLES(CRASH_DECLARE_ROLE)
#undef CRASH_DECLARE_ROLE

/* A child of this process of the kernel's, but the one given; 0: none (yet). */
pid_t find_child(pid_t parent, pid_t but);

/* --- load: processes that use the broker as fast as they can, and check all they see --- */

/* Starts some; they work until load_end(), which sees that nothing is lost, and removes it all. */
void load_begin(void);
void load_end(void);

#endif
