/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_notice.c - tells the client that started this daemon whether it serves, see start_notice.h
 *
 * The line is written with SIGPIPE ignored, and its result does not matter: if the client no longer
 * reads, it has stopped waiting, and the broker serves other clients.
 */
#include "daemon/supervisor/start_notice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"

/* Closes the client's streams. Standard error stays open only if the client debugs. */
static ww_status start_notice_leave_streams(void)
{
	WW_AUTO_FD int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	int last = ww_environment_is_on(WW_VARIABLE_DEBUG) ? STDOUT_FILENO : STDERR_FILENO;

	if (nothing < 0)
		return ww_fail_errno(errno, NULL, "cannot open /dev/null");
	for (int stream = STDIN_FILENO; stream <= last; stream++) {
		if (dup3(nothing, stream, 0) < 0)
			return ww_fail_errno(errno, NULL, "cannot replace standard stream %d",
				stream);
	}
	return WW_OK;
}

ww_status start_notice_leave(void)
{
	pid_t child = fork();

	if (child < 0)
		return ww_fail_errno(errno, "raise the limit of processes (ulimit -u)",
			"cannot start a process for the broker");
	if (child > 0)
		_exit(0);
	setsid(); /* a new child leads no process group, so this cannot fail */
	if (chdir("/") < 0)
		return ww_fail_errno(errno, NULL, "cannot change to the folder /");
	return start_notice_leave_streams();
}

static void start_notice_write(int *fd, const char *line, int length)
{
	if (*fd >= 0 && write(*fd, line, (size_t)length) < 0)
		ww_log_debug("the client that started the broker does not read: %m");
	*fd = ww_fd_close(*fd);
}

void start_notice_ready(int *fd)
{
	start_notice_write(fd, "ready\n", 6);
}

void start_notice_failed(int *fd, const char *reason)
{
	char line[WW_ERROR_MESSAGE_BYTES + 16];
	int length = snprintf(line, sizeof(line), "failed: %.*s\n", WW_ERROR_MESSAGE_BYTES - 1,
		reason);

	start_notice_write(fd, line, length);
}
