/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.c - where metrics are served: on this machine only, see metrics.h
 *
 * A Unix socket whose mode says who may read, or a port of the loopback address, which every user
 * of this machine can read.
 */
#include "metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/number.h"
#include "common/say.h"

#define BACKLOG 16

static int fail_to_listen(const char *where)
{
	return refuse("cannot listen at %s: %s", where, strerror(errno));
}

/*
 * Whether a process has the address. The kernel refuses a connection only where no process listens:
 * any other error, such as that of a socket of another type, is one of a socket that is used. A
 * process that accepts nothing must not stop this one, so it does not wait.
 */
static bool is_in_use(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool is_so = fd < 0 ||
		connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
		errno != ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return is_so;
}

/* Removes the socket of a process that has ended. */
static int clear_path(const struct sockaddr_un *address)
{
	struct stat status;

	if (lstat(address->sun_path, &status) < 0)
		return errno == ENOENT ? 0 : fail_to_listen(address->sun_path);
	if (!S_ISSOCK(status.st_mode))
		return refuse("cannot listen at %s: it is there, and is no socket",
			address->sun_path);
	if (is_in_use(address))
		return refuse("cannot listen at %s: another process does", address->sun_path);
	return unlink(address->sun_path) == 0 ? 0 : fail_to_listen(address->sun_path);
}

/*
 * The socket has its mode from bind() on. chmod() would follow a link that another user has put in
 * its place, where the folder allows that.
 */
static int bind_path(int fd, const struct sockaddr_un *address, unsigned int mode)
{
	mode_t before = umask(~mode & 0777);
	int code = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	umask(before);
	if (code == 0 && listen(fd, BACKLOG) < 0) {
		code = -1;
		unlink(address->sun_path);
	}
	return code;
}

static int listen_at_path(struct listener *listener, const char *path, unsigned int mode)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int code;

	if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path))
		return refuse("%s is no absolute path of at most %zu bytes", path,
			sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	code = clear_path(&address);
	if (code)
		return code;
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 || bind_path(listener->fd, &address, mode) < 0)
		return fail_to_listen(path);
	listener->path = path;
	return 0;
}

/* Fills one of the two loopback addresses. Return: its length; 0: it is another one. */
static socklen_t parse_loopback(const char *where, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	uint64_t port;

	memset(out, 0, sizeof(*out));
	if (!strncmp(where, "127.0.0.1:", 10) && number_parse(where + 10, 1, 65535, &port)) {
		four->sin_family = AF_INET;
		four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		four->sin_port = htons((uint16_t)port);
		return sizeof(*four);
	}
	if (!strncmp(where, "[::1]:", 6) && number_parse(where + 6, 1, 65535, &port)) {
		six->sin6_family = AF_INET6;
		six->sin6_addr = in6addr_loopback;
		six->sin6_port = htons((uint16_t)port);
		return sizeof(*six);
	}
	return 0;
}

static int listen_at_port(struct listener *listener, const char *where)
{
	const int on = 1;
	struct sockaddr_storage address;
	socklen_t length = parse_loopback(where, &address);

	if (length == 0)
		return refuse("cannot listen at %s: it is no path of a socket, 127.0.0.1:PORT or "
			      "[::1]:PORT; metrics are for this machine, so put a proxy in front",
			where);
	listener->fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0 ||
		setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		bind(listener->fd, (const struct sockaddr *)&address, length) < 0 ||
		listen(listener->fd, BACKLOG) < 0)
		return fail_to_listen(where);
	return 0;
}

int listener_open(struct listener *listener, const char *where, unsigned int mode)
{
	int code;

	*listener = (struct listener){.fd = -1};
	if (!strncmp(where, "unix:", 5))
		code = listen_at_path(listener, where + 5, mode);
	else if (where[0] == '/')
		code = listen_at_path(listener, where, mode);
	else
		code = listen_at_port(listener, where);
	if (code)
		listener_close(listener);
	return code;
}

void listener_leave_path(struct listener *listener)
{
	if (listener->path)
		unlink(listener->path);
	listener->path = NULL;
}

void listener_close(struct listener *listener)
{
	listener_leave_path(listener);
	if (listener->fd >= 0)
		close(listener->fd);
	*listener = (struct listener){.fd = -1};
}
