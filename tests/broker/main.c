/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the broker suite's tables
 */
#include "broker/suite.h"

#include <unistd.h>

#define BROKER_CASE(name, needs)     \
	static void run_##name(void) \
	{                            \
		suite_begin();       \
		name();              \
		suite_settle();      \
	}
BROKER_CASES(BROKER_CASE)
#undef BROKER_CASE

static const struct check_case cases[] = {
#define BROKER_CASE(name, needs) {#name, run_##name, needs},
	BROKER_CASES(BROKER_CASE)
#undef BROKER_CASE
};

static const struct check_role roles[] = {
#define BROKER_ROLE(name) {#name, name},
	BROKER_ROLES(BROKER_ROLE)
#undef BROKER_ROLE
};

static const char *skip(const struct check_case *item)
{
	if ((item->needs & AS_ROOT) && geteuid() != 0)
		return "only root can become another user";
	return NULL;
}

void suite_repeat(int times)
{
	for (int round = 0; round < times; round++) {
		for (size_t i = 0; i < CHECK_COUNT(cases); i++) {
			if (!(cases[i].needs & ONCE) && !skip(&cases[i]))
				cases[i].run();
		}
	}
}

static struct check_suite suite = {
	.name = "broker",
	.cases = cases,
	.case_count = CHECK_COUNT(cases),
	.roles = roles,
	.role_count = CHECK_COUNT(roles),
	.skip = skip,
	.warm_up = suite_settle,
	.leaks = true,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
