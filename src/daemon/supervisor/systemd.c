/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd.c - the daemon as a service of systemd, see systemd.h
 *
 * The variables stay in the environment, since a broker that becomes a supervisor notifies too.
 * LISTEN_PID names the first process only, so no other process takes descriptor 3 for a listening
 * socket.
 */
#include "daemon/supervisor/systemd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/fd.h"
#include "base/log.h"

#define FIRST_FD 3

static int get_option(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) ? -1 : value;
}

static ww_status check_listener(int fd, char *out_path, size_t room)
{
	union {
		struct sockaddr any;
		struct sockaddr_un local;
	} address = {.any = {0}};
	const int off = 0;
	socklen_t length = sizeof(address);

	if (get_option(fd, SO_TYPE) != SOCK_SEQPACKET || get_option(fd, SO_ACCEPTCONN) != 1)
		return ww_fail(WW_ERR_INVALID,
			"what systemd hands over is not a listening socket of type SOCK_SEQPACKET; "
			"write ListenSequentialPacket= in the socket unit");
	if (getsockname(fd, &address.any, &length) < 0 || address.any.sa_family != AF_UNIX ||
		length <= offsetof(struct sockaddr_un, sun_path) ||
		address.local.sun_path[0] != '/')
		return ww_fail(WW_ERR_INVALID,
			"the socket that systemd hands over has no path in the file system");
	snprintf(out_path, room, "%.*s", (int)sizeof(address.local.sun_path),
		address.local.sun_path);
	/*
	 * These options add data to each packet, which takes the room of its descriptors.
	 * Connections inherit them.
	 */
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_PASSSEC, &off, sizeof(off));
	return WW_OK;
}

ww_status systemd_listener(int *out_listener, char *out_path, size_t room)
{
	const char *pid = ww_environment_find(WW_VARIABLE_LISTEN_PID);
	const char *count = ww_environment_find(WW_VARIABLE_LISTEN_FDS);

	*out_listener = -1;
	if (!pid || !count || strtol(pid, NULL, 10) != getpid())
		return WW_OK;
	if (strcmp(count, "1") != 0)
		return ww_fail(WW_ERR_INVALID,
			"systemd hands over %.10s sockets; a broker listens on one", count);
	ww_try(check_listener(FIRST_FD, out_path, room));
	*out_listener = FIRST_FD;
	return WW_OK;
}

void systemd_notify(const char *format, ...)
{
	const char *path = ww_environment_find(WW_VARIABLE_NOTIFY_SOCKET);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	WW_AUTO_FD int fd = -1;
	char state[256];
	va_list arguments;
	size_t length = path ? strlen(path) : 0;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') /* a name in the kernel's memory instead of a path */
		address.sun_path[0] = '\0';
	va_start(arguments, format);
	vsnprintf(state, sizeof(state), format, arguments);
	va_end(arguments);
	/* The supervisor does not wait until systemd has read it. */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
		sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
			(const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		ww_log_debug("cannot notify systemd at %s: %m", path);
}
