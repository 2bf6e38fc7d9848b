/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the broker suite's tables
 */
#include "broker/suite.h"

#include <unistd.h>

static const char *skip(const struct check_case *item)
{
	if ((item->needs & AS_ROOT) && geteuid() != 0)
		return "only root can become another user";
	return NULL;
}

void suite_repeat(int times)
{
	for (int round = 0; round < times; round++) {
		for (const struct check_case *item = check_first(); item; item = item->next) {
			if (item->needs & ONCE || skip(item))
				continue;
			check_renew_alarm();
			suite_begin();
			item->run();
			suite_settle();
		}
	}
}

static struct check_suite suite = {
	.name = "broker",
	.skip = skip,
	.warm_up = suite_settle,
	.before = suite_begin,
	.after = suite_settle,
	.leaks = true,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
