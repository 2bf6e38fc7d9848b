/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd.c - file descriptors with an owner, see fd.h
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

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
		return ww_fail_errno(errno, errno == EMFILE ? "raise the limit (ulimit -n)" : NULL,
			"cannot duplicate descriptor %d", fd);
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

bool ww_fd_is_duplicate(int a, int b)
{
	pid_t self = getpid();

	if (fcntl(a, F_DUPFD_QUERY, b) == 1)
		return true;
	return syscall(SYS_kcmp, self, self, KCMP_FILE, a, b) == 0;
}
