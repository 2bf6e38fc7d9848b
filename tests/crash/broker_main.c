/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - the suite's tables, and what its files share
 */
#include <stdio.h>

#include "crash/broker.h"
#include "support/needs.h"

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

CHECK_MAIN(needs_main, .name = "crash-broker", .leaks = true, .needs = WW_CAP_EXPORT)
