/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enough_memory.c - does the demo fit into this machine?
 *
 * The ring needs most: its processes are dealt out over the devices, and all run at once. Each
 * makes one memory, and on a GPU a context too; the parent holds three sockets for each while it
 * starts them.
 */
#include "demo/demo.h"

#include <dirent.h>
#include <sys/resource.h>

/*
 * What a context takes of a GPU's memory: about 525 MiB on an H200 with driver 580, and some to
 * spare.
 */
#define CONTEXT_BYTES (UINT64_C(600) << 20)

#define FDS_PER_PROCESS 3
#define FDS_TO_SPARE    16  /* those a process is started with, and what the steps open besides */
#define FDS_OPEN_GUESS  128 /* where /proc is missing */

static int refuse_memory(const struct demo *demo, const struct ww_device_info *info,
	uint64_t processes, uint64_t bytes_each, uint64_t free_bytes)
{
	bool needs_context = info->backend == WW_BACKEND_CUDA;
	char needed[NUMBER_BYTES];
	char context[NUMBER_BYTES];
	char available[NUMBER_BYTES];

	number_size_text(bytes_each, needed);
	number_size_text(CONTEXT_BYTES, context);
	number_size_text(free_bytes, available);
	return refuse(
		"%llu elements in %llu processes do not fit: the ring needs %llu x %s%s%s%s on "
		"%s, which has %s free; choose fewer --elements or --processes",
		(unsigned long long)demo->elements, (unsigned long long)demo->processes,
		(unsigned long long)processes, needed, needs_context ? " and a context (" : "",
		needs_context ? context : "", needs_context ? ")" : "", info->selector, available);
}

/* The device may be one that only the ring uses, so it is not open yet. */
static int find_free_bytes(const struct ww_device_info *info, uint64_t *out_bytes)
{
	OWN(device) ww_device *device = NULL;

	if (ww_device_open(info->selector, &device) != WW_OK ||
		ww_device_free_bytes(device, out_bytes) != WW_OK)
		return refuse("%s", ww_error_last()->message);
	return 0;
}

static int check_memory(const struct demo *demo, size_t index)
{
	const struct ww_device_info *info = &demo->devices[index];
	uint64_t granularity = info->granularity ? info->granularity : 1;
	uint64_t units = (demo->elements * sizeof(float) - 1) / granularity + 1;
	uint64_t context_bytes = info->backend == WW_BACKEND_CUDA ? CONTEXT_BYTES : 0;
	uint64_t processes = (demo->processes + demo->device_count - 1 - index) /
		demo->device_count;
	uint64_t free_bytes = 0;
	uint64_t bytes;

	if (find_free_bytes(info, &free_bytes))
		return -1;
	if (!__builtin_mul_overflow(units * granularity + context_bytes, processes, &bytes) &&
		bytes <= free_bytes)
		return 0;
	return refuse_memory(demo, info, processes, units * granularity, free_bytes);
}

static uint64_t count_open_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	uint64_t count = 0;

	if (!folder)
		return FDS_OPEN_GUESS;
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static int reserve_fds(const struct demo *demo)
{
	uint64_t needed = count_open_fds() + FDS_PER_PROCESS * demo->processes + FDS_TO_SPARE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= needed)
		return 0;
	if (limit.rlim_max < needed)
		return refuse(
			"a ring of %llu processes needs %llu file descriptors, and `ulimit -Hn` "
			"allows %llu; raise that limit or choose fewer --processes",
			(unsigned long long)demo->processes, (unsigned long long)needed,
			(unsigned long long)limit.rlim_max);
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return refuse("cannot raise the limit of file descriptors to %llu: %m",
			(unsigned long long)limit.rlim_max);
	return 0;
}

int demo_room_check(const struct demo *demo)
{
	for (size_t i = 0; i < demo->device_count; i++) {
		if (check_memory(demo, i))
			return EXIT_CANNOT;
	}
	return reserve_fds(demo);
}
