/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_at_call.c - makes the daemon die at a call of the test's choosing
 *
 * Linked into a warpwayd of the tests' own. WW_TEST_DIE in the environment says which process dies,
 * and when:
 *   ROLE:RESTARTS:FUNCTION:NTH:before|after:start|signal
 * the process of this role with so many restarts behind it, at the Nth call of this function ("*":
 * of any), counted from its start or from when it gets SIGUSR2; a second SIGUSR2 calls it off.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fail_call.h"

static struct {
	char role[16];
	unsigned int restarts;
	char function[32];
	unsigned long long nth;
	char when[16];
	char armed[16];
} plan;

static void arm(void)
{
	if (strcmp(plan.function, "*"))
		calls_die_at(plan.function, plan.nth, !strcmp(plan.when, "after"));
	else
		calls_die(plan.nth);
}

static void on_signal(int number)
{
	static volatile sig_atomic_t is_armed;

	(void)number;
	if (is_armed)
		calls_off(NULL);
	else
		arm();
	is_armed = 1;
}

/* Whether an option of the command line has this value. */
static int says(int count, char **arguments, const char *option, const char *value)
{
	for (int i = 1; i + 1 < count; i++)
		if (!strcmp(arguments[i], option))
			return !strcmp(arguments[i + 1], value);
	return 0;
}

__attribute__((constructor)) static void begin(int count, char **arguments)
{
	const char *text = getenv("WW_TEST_DIE");
	char restarts[16];

	if (!text ||
		sscanf(text, "%15[^:]:%u:%31[^:]:%llu:%15[^:]:%15s", plan.role, &plan.restarts,
			plan.function, &plan.nth, plan.when, plan.armed) != 6)
		return;
	snprintf(restarts, sizeof(restarts), "%u", plan.restarts);
	if (!says(count, arguments, "--role", plan.role) ||
		!says(count, arguments, "--restarts", restarts))
		return;
	if (!strcmp(plan.armed, "start"))
		arm();
	else
		signal(SIGUSR2, on_signal);
}
