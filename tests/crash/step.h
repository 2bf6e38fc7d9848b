/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - a process dies at one step of a protocol, or at one call that it makes
 *
 * The steps are functions of the library: the linker (--wrap) has each go through one that STEP()
 * defines, where the Nth one can be the last. Calls are those of support/fail_call.h.
 */
#ifndef WW_TESTS_CRASH_STEP_H
#define WW_TESTS_CRASH_STEP_H

#include <stdbool.h>

#include "support/child.h"

#define STEPS_MAX 2000
#define ANY_CALL  "call" /* in place of a function: any allocation or system call */

/* A process is here; dies if it is to. */
void step(const char *function, bool after);

/* arguments: FUNCTION NTH before|after, as step_start_victim() passes them */
void step_arm(char **arguments);
void step_disarm(void);

/* The types are those of the functions themselves, so a change of one is noticed. */
#define DECLARE(name)                   \
	__typeof__(name) __real_##name; \
	__typeof__(name) __wrap_##name

#define STEP_VOID(name, parameters, arguments) \
	DECLARE(name);                         \
	void __wrap_##name parameters          \
	{                                      \
		step(#name, false);            \
		__real_##name arguments;       \
		step(#name, true);             \
	}

#define STEP(type, name, parameters, arguments)   \
	DECLARE(name);                            \
	type __wrap_##name parameters             \
	{                                         \
		type result;                      \
                                                  \
		step(#name, false);               \
		result = __real_##name arguments; \
		step(#name, true);                \
		return result;                    \
	}

/*
 * Meets a process that dies there, if it makes so many of these steps. Return: whether it died.
 * Called for the 1st, 2nd, ... until it does not die any more.
 */
typedef bool (*step_meet_fn)(const char *function, int nth, bool after);

/* Return: how often one died. */
int step_kill_at_each(step_meet_fn meet, const char *function, bool after);

/* Before and after each of these functions. */
int step_kill_at_all(step_meet_fn meet, const char *const *functions, int count);

/* Whole cases: more than @least die, at these functions or at calls. */
void step_case(step_meet_fn meet, const char *const *functions, int count, int least);
void step_case_calls(step_meet_fn meet, int least);

/* Starts the role, with FUNCTION NTH before|after, @how and @more; @more: NULL: nothing more. */
void step_start_victim(struct child *victim, const char *role, const char *function, int nth,
	bool after, const char *how, const char *more);

/* Waits for its end. Return: whether it died; it may also have come through. */
bool step_has_died(struct child *victim);

/* Everything is gone but our connection. */
void step_nothing_is_left(void);

#endif
