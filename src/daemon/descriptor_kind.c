/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptor_kind.c - the kind of a descriptor, see descriptor_kind.h
 *
 * Only calls are used that the kernel answers from its own memory: fcntl(2), statx(2) with the flag
 * not to ask the file system, and readlink(2) of what the kernel calls a descriptor. fstat(2) asks
 * the file system, so it is used for memory only.
 */
#include "daemon/descriptor_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define NVIDIA_MAJOR 195
#define MAJORS_MOST  32
#define LIST_BYTES   16384
#define LOOK_NS      UINT64_C(1000000000)

/* To free so much takes about 50 us. */
#define LARGE_BYTES (1 << 20)
#define BLOCK_BYTES 512 /* of st_blocks */

static struct {
	uint32_t majors[MAJORS_MOST];
	size_t count;
	uint64_t looked_ns; /* 0: never */
} driver;

bool kind_is_memory(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0;
}

bool kind_is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_GROW);
}

/* Its major number; 0, which no device has, if it is no device, or only a path (O_PATH). */
static uint32_t device_major(int fd)
{
	struct statx status;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH))
		return 0;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) < 0)
		return 0;
	return S_ISCHR(status.stx_mode) ? status.stx_rdev_major : 0;
}

/* The major of a line "MAJOR NAME"; 0: it is of another driver. */
static uint32_t read_major(const char *line)
{
	char *end;
	unsigned long major = strtoul(line, &end, 10);

	if (end == line || *end != ' ')
		return 0;
	end += strspn(end, " ");
	return !strncmp(end, "nvidia", 6) ? (uint32_t)major : 0;
}

size_t kind_find_majors(const char *text, uint32_t *out_majors, size_t room)
{
	const char *line = strstr(text, "Character devices:");
	const char *end = strstr(text, "Block devices:");
	size_t count = 0;

	while (line && (!end || line < end) && count < room) {
		uint32_t major = read_major(line);

		if (major)
			out_majors[count++] = major;
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return count;
}

static void driver_read_majors(void)
{
	WW_AUTO_FD int list = open("/proc/devices", O_RDONLY | O_CLOEXEC);
	static char text[LIST_BYTES];
	size_t used = 0;
	ssize_t count;

	if (list < 0)
		return;
	do {
		count = read(list, text + used, sizeof(text) - 1 - used);
		if (count > 0)
			used += (size_t)count;
	} while (count > 0 || (count < 0 && errno == EINTR));
	text[used] = '\0';
	driver.count = kind_find_majors(text, driver.majors, MAJORS_MOST);
}

static bool driver_has_major(uint32_t major)
{
	for (size_t i = 0; i < driver.count; i++) {
		if (driver.majors[i] == major)
			return true;
	}
	return major == NVIDIA_MAJOR;
}

bool kind_is_gpu(int fd)
{
	uint32_t major = device_major(fd);
	uint64_t now_ns;

	if (major == 0 || driver_has_major(major))
		return major != 0;
	now_ns = ww_clock_now_ns();
	if (driver.looked_ns && now_ns - driver.looked_ns < LOOK_NS)
		return false;
	driver.looked_ns = now_ns;
	driver_read_majors();
	return driver_has_major(major);
}

/* The kernel's own name for it, which no path can be: a path begins with a slash or a bracket. */
bool kind_is_process(int fd)
{
	static const char expected[] = "anon_inode:[pidfd]";
	char link[64];
	char name[sizeof(expected)];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name)) == (ssize_t)sizeof(expected) - 1 &&
		memcmp(name, expected, sizeof(expected) - 1) == 0;
}

bool kind_is_kept(int fd)
{
	return kind_is_sealed(fd) || kind_is_gpu(fd) || kind_is_process(fd);
}

bool kind_is_large(int fd)
{
	struct stat status;

	if (!kind_is_memory(fd))
		return device_major(fd) != 0;
	return fstat(fd, &status) < 0 || status.st_blocks > LARGE_BYTES / BLOCK_BYTES;
}
