/* SPDX-License-Identifier: Apache-2.0 */
/*
 * system_memory_test.c - how much memory there is, with and without control groups
 */
#include "base/unit_test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_memory.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/warpway-machine-test-XXXXXX";

static const char *const folders[] = {"/proc", "/proc/self", "/sys", "/sys/fs", "/sys/fs/cgroup",
	"/sys/fs/cgroup/outer", "/sys/fs/cgroup/outer/inner"};
static const char *const files[] = {"/proc/meminfo", "/proc/self/cgroup",
	"/sys/fs/cgroup/outer/memory.max", "/sys/fs/cgroup/outer/memory.current",
	"/sys/fs/cgroup/outer/memory.stat", "/sys/fs/cgroup/outer/inner/memory.max",
	"/sys/fs/cgroup/outer/inner/memory.current"};

#define FOLDER_COUNT (sizeof(folders) / sizeof(folders[0]))
#define FILE_COUNT   (sizeof(files) / sizeof(files[0]))

static const char *below(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(below(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_tree(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		if (mkdir(below(folders[i]), 0700) < 0)
			return -1;
	}
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	for (size_t i = 0; i < FILE_COUNT; i++)
		unlink(below(files[i]));
	for (size_t i = FOLDER_COUNT; i > 0; i--)
		rmdir(below(folders[i - 1]));
	return rmdir(root);
}

static void expect(uint64_t free_mib, uint64_t total_mib)
{
	uint64_t free_bytes;
	uint64_t total;

	assert_ok(ww_system_memory_at(root, &free_bytes, &total));
	assert_int_equal(free_bytes, free_mib * MIB);
	assert_int_equal(total, total_mib * MIB);
}

UNIT_TEST(groups_leave_what_they_leave)
{
	put("/proc/meminfo", "MemTotal:  4096000 kB\nMemFree: 1 kB\nMemAvailable:  2048000 kB\n");
	expect(2000, 4000);
	put("/proc/self/cgroup", "4:memory:/old\n");
	expect(2000, 4000);
	put("/proc/self/cgroup", "0::/outer/inner\n");
	expect(2000, 4000);
	put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
	put("/sys/fs/cgroup/outer/inner/memory.current", "1048576\n");
	expect(2000, 4000);
	put("/sys/fs/cgroup/outer/memory.max", "1048576000\n");
	expect(1000, 1000);
	put("/sys/fs/cgroup/outer/memory.current", "943718400\n");
	expect(100, 1000);
	put("/sys/fs/cgroup/outer/memory.stat",
		"anon 1\ninactive_file 104857600\nactive_file 52428800\n");
	expect(250, 1000);
	put("/sys/fs/cgroup/outer/inner/memory.max", "52428800\n");
	expect(49, 50);
	put("/sys/fs/cgroup/outer/inner/memory.current", "104857600\n");
	expect(0, 50);
}

UNIT_TEST(this_machine)
{
	uint64_t free_bytes;
	uint64_t total;

	assert_ok(ww_system_memory(&free_bytes, &total));
	assert_true(free_bytes > 0 && free_bytes <= total);
	/* Without /proc. */
	assert_ok(ww_system_memory_at("/nowhere", &free_bytes, &total));
	assert_true(free_bytes > 0 && free_bytes <= total);
}

UNIT_MAIN_WITH("machine", make_tree, remove_tree)
