/* SPDX-License-Identifier: Apache-2.0 */
/*
 * starter.c - the client that started this daemon, see starter.h
 *
 * The line is written with SIGPIPE ignored and its result does not matter: a client that no longer reads has given
 * up waiting, and the broker serves the next one.
 */
#include "broker/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"

/* The client's streams are not ours to keep open; what is said goes to it only where it debugs. */
static ww_status leave_streams(void)
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

ww_status starter_leave(void)
{
	pid_t child = fork();

	if (child < 0)
		return ww_fail_errno(errno, "raise the limit of processes (ulimit -u)",
			"cannot start a process for the broker");
	if (child > 0)
		_exit(0);
	setsid(); /* a new child leads no group: it cannot fail */
	if (chdir("/") < 0)
		return ww_fail_errno(errno, NULL, "cannot change to the folder /");
	return leave_streams();
}

static void tell(int *fd, const char *line, int length)
{
	if (*fd >= 0 && write(*fd, line, (size_t)length) < 0)
		ww_log_debug("who started the broker does not listen: %m");
	*fd = ww_fd_close(*fd);
}

void starter_ready(int *fd)
{
	tell(fd, "ready\n", 6);
}

void starter_failed(int *fd, const char *reason)
{
	char line[WW_ERROR_MESSAGE_BYTES + 16];
	int length = snprintf(line, sizeof(line), "failed: %.*s\n", WW_ERROR_MESSAGE_BYTES - 1,
		reason);

	tell(fd, line, length);
}
