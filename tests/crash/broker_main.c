/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - the suite's tables, and what its files share
 */
#include <stdio.h>

#include "crash/broker.h"

pid_t find_child(pid_t parent, pid_t but)
{
	char path[64];
	pid_t found = 0;
	pid_t child;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &child) == 1)
		found = child != but ? child : found;
	fclose(file);
	return found;
}

static bool exports;

static struct check_suite suite;

static void look_at_subject(void)
{
	ww_device *device = subject_open();

	exports = device_info(device).capabilities & WW_CAP_EXPORT;
	suite.leaks = subject_is_countable();
	ww_device_unref(device);
}

static const char *skip(const struct check_case *item)
{
	(void)item;
	return exports ? NULL : "the device cannot export memory";
}

static struct check_suite suite = {
	.name = "crash-broker",
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
