/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - where a process dies, see step.h
 */
#include "crash/step.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/fail_call.h"

static const char *_Atomic fatal; /* the function that is; NULL: none */
static atomic_int left;           /* calls of it until then */
static atomic_bool is_after;

void step(const char *function, bool after)
{
	const char *name = atomic_load(&fatal);

	if (name && after == atomic_load(&is_after) && !strcmp(name, function) &&
		atomic_fetch_sub(&left, 1) == 1)
		kill(getpid(), SIGKILL);
}

void step_arm(char **arguments)
{
	uint64_t nth = strtoull(arguments[1], NULL, 10);

	if (!strcmp(arguments[0], ANY_CALL)) {
		calls_die(nth);
		return;
	}
	atomic_store(&left, (int)nth);
	atomic_store(&is_after, !strcmp(arguments[2], "after"));
	atomic_store(&fatal, arguments[0]);
}

void step_disarm(void)
{
	calls_off(NULL);
	atomic_store(&fatal, NULL);
}

int step_kill_at_each(step_meet_fn meet, const char *function, bool after)
{
	int nth = 1;

	while (meet(function, nth, after)) {
		MUST(++nth < STEPS_MAX);
		check_renew_alarm();
	}
	return nth - 1;
}

int step_kill_at_all(step_meet_fn meet, const char *const *functions, int count)
{
	int kills = 0;

	for (int i = 0; i < count; i++) {
		kills += step_kill_at_each(meet, functions[i], false);
		kills += step_kill_at_each(meet, functions[i], true);
	}
	return kills;
}
