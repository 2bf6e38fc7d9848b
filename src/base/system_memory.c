/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_memory.c - how much memory this machine has for this process, see system_memory.h
 */
#include "base/system_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/error.h"
#include "base/proc_file.h"

#define PATH_BYTES 512

struct path {
	char text[PATH_BYTES];
};

static struct path join(const char *root, const char *middle, const char *file)
{
	struct path path;
	int length = snprintf(path.text, sizeof(path.text), "%s%s%s", root, middle, file);

	if (length < 0 || (size_t)length >= sizeof(path.text))
		path.text[0] = '\0'; /* the name of no file */
	return path;
}

/* The number behind a word at the beginning of a line, as in "MemTotal:  123 kB". */
static bool read_number(struct path path, const char *word, uint64_t *out_number)
{
	FILE *file = fopen(path.text, "re");
	size_t length = strlen(word);
	bool is_found = false;
	char line[128];

	if (!file)
		return false;
	while (!is_found && fgets(line, sizeof(line), file)) {
		is_found = strncmp(line, word, length) == 0 && line[length] == ' ';
		if (is_found)
			*out_number = strtoull(line + length, NULL, 10);
	}
	fclose(file);
	return is_found;
}

static bool read_meminfo(const char *root, uint64_t *out_free, uint64_t *out_total)
{
	const uint64_t unit = 1024;

	if (!read_number(join(root, "/proc/meminfo", ""), "MemAvailable:", out_free) ||
		!read_number(join(root, "/proc/meminfo", ""), "MemTotal:", out_total))
		return false;
	*out_free *= unit;
	*out_total *= unit;
	return true;
}

/* What a group may use in all; UINT64_MAX: it says "max", or nothing. */
static uint64_t read_group_limit(const char *group)
{
	char line[32];
	char *end;
	uint64_t limit;

	if (!ww_proc_file_read_line(join(group, "/memory.max", "").text, line, sizeof(line)))
		return UINT64_MAX;
	limit = strtoull(line, &end, 10);
	return end == line ? UINT64_MAX : limit;
}

/* What a group uses and cannot give back: pages that merely cache files do not count. */
static uint64_t read_group_use(const char *group)
{
	static const char *const caches[] = {"active_file", "inactive_file"};
	uint64_t use;
	char line[32];

	if (!ww_proc_file_read_line(join(group, "/memory.current", "").text, line, sizeof(line)))
		return 0;
	use = strtoull(line, NULL, 10);
	for (size_t i = 0; i < 2; i++) {
		uint64_t cached = 0;

		read_number(join(group, "/memory.stat", ""), caches[i], &cached);
		use -= cached < use ? cached : use;
	}
	return use;
}

/* Lowers both numbers to what one group leaves. */
static void apply_group(const char *group, uint64_t *free_bytes, uint64_t *total)
{
	uint64_t limit = read_group_limit(group);
	uint64_t use = limit == UINT64_MAX ? 0 : read_group_use(group);
	uint64_t left = limit > use ? limit - use : 0;

	*free_bytes = *free_bytes < left ? *free_bytes : left;
	*total = *total < limit ? *total : limit;
}

ww_status ww_system_memory_at(const char *root, uint64_t *out_free, uint64_t *out_total)
{
	struct sysinfo info;
	char line[256];
	char *group;
	char *slash;

	if (!read_meminfo(root, out_free, out_total)) {
		if (sysinfo(&info) < 0)
			return ww_fail_errno(errno, NULL,
				"cannot find out how much memory is free");
		*out_free = (uint64_t)info.freeram * info.mem_unit;
		*out_total = (uint64_t)info.totalram * info.mem_unit;
	}
	/* The line of version 2 is "0::/group/in/group"; groups of version 1 are not asked. */
	group = line + 3;
	if (ww_proc_file_read_line(join(root, "/proc/self/cgroup", "").text, line, sizeof(line)) &&
		strncmp(line, "0::", 3) == 0)
		do {
			apply_group(join(root, "/sys/fs/cgroup", group).text, out_free, out_total);
			slash = strrchr(group, '/');
			if (slash)
				*slash = '\0';
		} while (slash);
	return WW_OK;
}

ww_status ww_system_memory(uint64_t *out_free, uint64_t *out_total)
{
	return ww_system_memory_at("", out_free, out_total);
}
