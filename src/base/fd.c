/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd.c - file descriptors with an owner, see fd.h
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"

#ifndef F_DUPFD_QUERY /* Linux 6.10 */
#define F_DUPFD_QUERY 1027
#endif

#define LOWEST 3 /* the descriptors below are the standard streams */

int ww_fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

ww_status ww_fd_duplicate(int fd, int *out_fd)
{
	*out_fd = fcntl(fd, F_DUPFD_CLOEXEC, LOWEST);
	if (*out_fd < 0)
		return ww_fail_errno(errno, NULL, "cannot duplicate descriptor %d", fd);
	return WW_OK;
}

ww_status ww_fd_adopt(int *fd)
{
	WW_AUTO_FD int given = ww_fd_steal(fd);

	if (given < LOWEST)
		return ww_fd_duplicate(given, fd);
	fcntl(given, F_SETFD, FD_CLOEXEC);
	*fd = ww_fd_steal(&given);
	return WW_OK;
}

ww_status ww_fd_wait(int fd, short events, uint64_t deadline_ns, const char *what)
{
	struct pollfd entry = {.fd = fd, .events = events};
	ww_status status = WW_OK;
	struct timespec left;
	int ready;

	do {
		ready = ppoll(&entry, 1, ww_clock_left(ww_cancel_sleep_end_ns(deadline_ns), &left),
			NULL);
		if (ready > 0)
			return WW_OK;
		if (ready < 0 && errno != EINTR)
			return ww_fail_errno(errno, NULL, "cannot wait for %s", what);
		status = ready == 0 ? ww_cancel_check(deadline_ns) : WW_OK;
	} while (status == WW_OK);
	return status;
}

bool ww_fd_is_duplicate(int a, int b)
{
	pid_t self = getpid();

	if (fcntl(a, F_DUPFD_QUERY, b) == 1)
		return true;
	return syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}
