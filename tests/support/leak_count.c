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

#include "client/broker_client.h"
#include "support/check.h"

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

void census_must_match(const struct census *before)
{
	struct census after;

	census_take(&after);
	if (after.descriptors != before->descriptors) {
		count_descriptors(true);
		FAIL("%d descriptors are open, %d were before", after.descriptors,
			before->descriptors);
	}
	if (after.mappings != before->mappings) {
		count_mappings(true);
		FAIL("%d memfds are mapped, %d were before", after.mappings, before->mappings);
	}
}
