/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inherited.c - what a process of the daemon inherits, see inherited.h
 */
#include "daemon/inherited.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/proc_file.h"
#include "base/log.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/admin_log.h"

/* Above every fixed number. */
#define ASIDE 16

/* The most open files that are asked for: the kernel keeps a table of them. */
#define FILES_MOST (UINT64_C(1) << 20)

/* With fewer, sockets or the fdstore would have too few. */
#define FILES_LEAST 256

/* How many numbers are for sockets: a quarter, within these bounds. */
#define SOCKETS_LEAST 128
#define SOCKETS_MOST  16384

#define CONFIG_BYTES_MOST (1 << 20)

/*
 * Below the first, the tables have no room for even a few objects. Up to the second, they may be
 * full too early.
 */
#define TABLE_BYTES_LEAST (UINT64_C(1) << 20)
#define TABLE_BYTES_MOST  (UINT64_C(1) << 30)

/* For the tables and stacks, which take address space but no memory. */
#define SPACE_BYTES_LEAST (UINT64_C(2) << 30)

ww_status inherit_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return ww_fail_errno(errno, NULL, "cannot open /dev/null");
	} while (fd <= STDERR_FILENO);
	close(fd);
	return WW_OK;
}

void inherit_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number,
			SIG_DFL); /* it fails for a few signals, whose actions cannot change */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a table that cannot grow is an error of one request */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

ww_status inherit_aside(int *fd)
{
	int moved;

	if (*fd < 0)
		return WW_OK;
	moved = fcntl(*fd, F_DUPFD_CLOEXEC, ASIDE);
	if (moved < 0)
		return ww_fail_errno(errno, NULL, "cannot use descriptor %d", *fd);
	close(*fd);
	*fd = moved;
	return WW_OK;
}

ww_status inherit_only(int *listener, int *ready)
{
	unsigned int first;
	unsigned int second;

	ww_try(inherit_aside(listener));
	ww_try(inherit_aside(ready));
	first = *listener >= 0 ? (unsigned int)*listener : ASIDE;
	second = *ready >= 0 ? (unsigned int)*ready : ASIDE;
	if (close_range(SUPERVISOR_SOCKET, ASIDE - 1, 0) < 0)
		return ww_fail_errno(errno, "Linux 5.9 or newer is needed",
			"cannot close what was inherited");
	for (unsigned int fd = ASIDE; fd <= first || fd <= second; fd++) {
		if ((int)fd != *listener && (int)fd != *ready)
			close((int)fd);
	}
	close_range((first > second ? first : second) + 1, UINT32_MAX, 0);
	return WW_OK;
}

ww_status inherit_as(int *fd, int number)
{
	if (*fd < 0)
		return WW_OK;
	ww_assert(*fd >= ASIDE);
	if (dup2(*fd, number) < 0)
		return ww_fail_errno(errno, NULL, "cannot put descriptor %d at %d", *fd, number);
	*fd = ww_fd_close(*fd);
	return WW_OK;
}

/* How many files the kernel lets a privileged process open. */
static uint64_t files_allowed(void)
{
	char line[32];

	if (!ww_proc_file_read_line("/proc/sys/fs/nr_open", line, sizeof(line)))
		return 0;
	return strtoull(line, NULL, 10);
}

/* Sets a soft limit to @most, or to the hard limit if that is lower. @what: is limited */
static ww_status limit_set(int resource, const char *what, uint64_t most, uint64_t *out_limit)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return ww_fail_errno(errno, NULL, "cannot ask for the limit of %s", what);
	limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
	if (setrlimit(resource, &limit) < 0)
		return ww_fail_errno(errno, NULL, "cannot set the limit of %s to %" PRIu64, what,
			(uint64_t)limit.rlim_cur);
	*out_limit = limit.rlim_cur;
	return WW_OK;
}

ww_status inherit_limits(uint32_t *out_fdstore_first, uint32_t *out_fdstore_limit)
{
	uint64_t sockets;
	uint64_t files = 0;
	uint64_t allowed = files_allowed();
	struct rlimit limit;

	/* A privileged process may raise its hard limit. */
	if (allowed > FILES_MOST)
		allowed = FILES_MOST;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < allowed)
		(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){allowed, allowed});
	ww_try(limit_set(RLIMIT_NOFILE, "open files", FILES_MOST, &files));
	if (files < FILES_LEAST)
		return ww_fail(WW_ERR_LIMIT,
			"this process may open %" PRIu64
			" files, which is too few for a broker; raise the limit (LimitNOFILE, "
			"ulimit -n) to %d at least",
			files, FILES_LEAST);
	*out_fdstore_limit = (uint32_t)files;
	sockets = files / 4;
	if (sockets < SOCKETS_LEAST)
		sockets = SOCKETS_LEAST;
	if (sockets > SOCKETS_MOST)
		sockets = SOCKETS_MOST;
	*out_fdstore_first = (uint32_t)sockets;
	return WW_OK;
}

ww_status inherit_check_limits(void)
{
	uint64_t space = 0;
	uint64_t file = 0;

	ww_try(limit_set(RLIMIT_AS, "address space", RLIM_INFINITY, &space));
	if (space < SPACE_BYTES_LEAST)
		return ww_fail(WW_ERR_LIMIT,
			"this process may have %" PRIu64
			" bytes of address space, and a broker maps its tables at their full size; raise "
			"the limit (LimitAS, ulimit -v) to %" PRIu64 " bytes at least",
			space, SPACE_BYTES_LEAST);
	ww_try(limit_set(RLIMIT_FSIZE, "file sizes", RLIM_INFINITY, &file));
	if (file < TABLE_BYTES_LEAST)
		return ww_fail(WW_ERR_LIMIT,
			"this process may make files of %" PRIu64
			" bytes, which is too few for a broker's tables; raise the limit (LimitFSIZE, "
			"ulimit -f) to %" PRIu64 " bytes at least",
			file, TABLE_BYTES_LEAST);
	if (file < TABLE_BYTES_MOST)
		admin_log(
			"this process may make files of %" PRIu64
			" bytes only: when a table has grown to that, further objects are refused; raise "
			"the limit (LimitFSIZE, ulimit -f)",
			file);
	return WW_OK;
}

ww_status inherit_files(uint32_t count)
{
	uint64_t files = 0;

	ww_try(limit_set(RLIMIT_NOFILE, "open files", count, &files));
	if (files < count)
		return ww_fail(WW_ERR_LIMIT, "cannot set the limit of open files to %" PRIu32,
			count);
	return WW_OK;
}

uint32_t inherit_top(uint32_t first, uint32_t limit)
{
	DIR *table = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint32_t top = first;

	if (!table)
		return limit;
	while ((entry = readdir(table))) {
		unsigned long number = strtoul(entry->d_name, NULL, 10);

		if (number >= top && number < limit)
			top = (uint32_t)number + 1;
	}
	closedir(table);
	return top;
}

ww_status inherit_config(const char *path, int *out_copy)
{
	WW_AUTO_FD int file = -1;
	WW_AUTO_FD int copy = -1;
	ssize_t copied;
	off_t bytes = 0;

	*out_copy = -1;
	if (path[0] == '\0')
		return WW_OK;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return ww_fail_errno_as(errno == ENOENT ? WW_ERR_NOT_FOUND
							: ww_status_from_errno(errno),
			errno, NULL, "cannot read the configuration %s", path);
	copy = memfd_create("warpwayd.conf", MFD_CLOEXEC);
	if (copy < 0)
		return ww_fail_errno(errno, NULL, "cannot copy the configuration");
	ww_try(inherit_aside(&copy));
	/* sendfile(2) copies between files without memory of this process. */
	do {
		copied = sendfile(copy, file, NULL, CONFIG_BYTES_MOST);
		if (copied > 0)
			bytes += copied;
	} while ((copied > 0 && bytes <= CONFIG_BYTES_MOST) || (copied < 0 && errno == EINTR));
	if (copied < 0)
		return ww_fail_errno(errno, NULL, "cannot read the configuration %s", path);
	if (bytes > CONFIG_BYTES_MOST)
		return ww_fail(WW_ERR_INVALID, "the configuration %s is longer than %d bytes", path,
			CONFIG_BYTES_MOST);
	*out_copy = ww_fd_steal(&copy);
	return WW_OK;
}
