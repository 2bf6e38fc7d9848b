/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_main.c - the suite's tables, and what its files share
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "crash/broker.h"
#include "support/driver.h"

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t kills_wanted(void)
{
	const char *value = getenv("WW_TEST_KILLS");
	unsigned long kills = value ? strtoul(value, NULL, 10) : 100;

	MUST(kills > 0 && kills <= 1000000);
	return (uint32_t)kills;
}

static int compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a;
	uint64_t second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

void note_times(const char *what, uint64_t *times_ns, size_t count)
{
	MUST(count > 0);
	qsort(times_ns, count, sizeof(*times_ns), compare);
	check_note("%s: %zu times, p50 %.2f ms, p99 %.2f ms, max %.2f ms", what, count,
		(double)times_ns[count / 2] / 1e6, (double)times_ns[count * 99 / 100] / 1e6,
		(double)times_ns[count - 1] / 1e6);
}

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

static const struct check_case cases[] = {
#define CRASH_CASE(name) {#name, name, 0},
	CRASH_BROKER_CASES(CRASH_CASE)
#undef CRASH_CASE
};

static const struct check_role roles[] = {{"agent", role_agent},
#define CRASH_ROLE(name) {#name, name},
	CRASH_BROKER_ROLES(CRASH_ROLE)
#undef CRASH_ROLE
};

static bool exports;

static struct check_suite suite;

static void look_at_subject(void)
{
	ww_device *device = subject_open();

	exports = device_info(device).capabilities & WW_CAP_EXPORT;
	/* A real driver opens descriptors of its own whenever it likes. */
	suite.leaks = !subject_is_cuda() || fake_get();
	ww_device_unref(device);
}

static const char *skip(const struct check_case *item)
{
	(void)item;
	return exports ? NULL : "the device cannot export memory";
}

static struct check_suite suite = {
	.name = "crash-broker",
	.cases = cases,
	.case_count = CHECK_COUNT(cases),
	.roles = roles,
	.role_count = CHECK_COUNT(roles),
	.skip = skip,
	.warm_up = look_at_subject,
};

int main(int argc, char **argv)
{
	return check_main(&suite, argc, argv);
}
