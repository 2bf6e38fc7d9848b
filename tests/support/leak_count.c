/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leak_count.c - reads /proc/self/fd and /proc/self/maps
 */
#include "support/leak_count.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/broker_client.h"
#include "support/check.h"
#include "support/child.h"

static int count_descriptors(bool show)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[256];
	int count = 0;

	if (!folder)
		FAIL("cannot read /proc/self/fd: %m");
	while ((entry = readdir(folder))) {
		ssize_t length;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(folder))
			continue;
		count++;
		length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		if (show && length > 0)
			check_note("descriptor %s -> %.*s", entry->d_name, (int)length, target);
	}
	closedir(folder);
	return count;
}

static int count_mappings(bool show)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	if (!maps)
		FAIL("cannot read /proc/self/maps: %m");
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "memfd:"))
			continue;
		count++;
		line[strcspn(line, "\n")] = '\0';
		if (show)
			check_note("mapping %s", line);
	}
	fclose(maps);
	return count;
}

void census_take(struct census *out)
{
	ww_broker_client_drop_kept(true);
	out->descriptors = count_descriptors(false);
	out->mappings = count_mappings(false);
}

static bool census_matches(const struct census *before, struct census *out_after)
{
	census_take(out_after);
	return out_after->descriptors == before->descriptors &&
		out_after->mappings == before->mappings;
}

/* A thread of the library may still close what the case has released. */
void census_must_match(const struct census *before)
{
	uint64_t end_ns = ww_clock_deadline_ns((uint64_t)child_limit_ms() * 1000000);
	struct census after;

	while (!census_matches(before, &after)) {
		if (ww_clock_now_ns() >= end_ns) {
			count_descriptors(true);
			count_mappings(true);
			FAIL("%d descriptors are open and %d memfds mapped, %d and %d were before",
				after.descriptors, after.mappings, before->descriptors,
				before->mappings);
		}
		usleep(1000);
	}
}
