/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - where a process dies, see step.h
 */
#include "crash/step.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/broker_case.h"
#include "support/check.h"
#include "support/driver.h"
#include "support/fail_call.h"
#include "support/subject.h"

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

void step_case(step_meet_fn meet, const char *const *functions, int count, int least)
{
	int kills;

	scene_begin();
	kills = step_kill_at_all(meet, functions, count);
	scene_end();
	check_note("killed at %d steps", kills);
	MUST(kills > least);
}

/* Where each kill costs a second, steps are enough: calls are the same on every device. */
void step_case_calls(step_meet_fn meet, int least)
{
	int kills;

	if (subject_is_cuda() && !fake_get())
		check_skip("it starts hundreds of processes; the driver for tests shows the same");
	scene_begin();
	kills = step_kill_at_each(meet, ANY_CALL, false);
	scene_end();
	check_note("killed at %d calls", kills);
	MUST(kills > least);
}

void step_start_victim(struct child *victim, const char *role, const char *function, int nth,
	bool after, const char *how, const char *more)
{
	char number[16];
	const char *const arguments[] = {function, number, after ? "after" : "before", how, more,
		NULL};

	snprintf(number, sizeof(number), "%d", nth);
	child_start(victim, role, &(struct child_options){.arguments = arguments});
}

bool step_has_died(struct child *victim)
{
	int status = child_wait(victim);

	if (!WIFSIGNALED(status)) {
		MUST_EQUAL(0, WEXITSTATUS(status));
		return false;
	}
	MUST_EQUAL(SIGKILL, WTERMSIG(status));
	return true;
}

void step_nothing_is_left(void)
{
	scene_has_objects(0);
	scene_has_holders(1);
}
