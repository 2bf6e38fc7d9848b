/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - a message of fixed size with descriptors, over a Unix socket, see message.h
 *
 * Every call on the socket is non-blocking (MSG_DONTWAIT) with ppoll() between, whatever the
 * socket's own mode is, so that the deadline holds. A stream may deliver a message in pieces; a
 * packet socket delivers it whole or cut.
 */
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/close_async.h"

/*
 * Room for more descriptors than we accept, so that a wrong count is seen, and for what a socket
 * with SO_PASSCRED, SO_PASSSEC or SO_PASSPIDFD puts before them; the kernel closes what has no
 * room.
 */
#define FD_ROOM     4
#define OTHERS_ROOM (CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(256))

#ifndef SCM_PIDFD /* Linux 6.5 */
#define SCM_PIDFD 4
#endif

union control {
	struct cmsghdr header; /* for alignment */
	char bytes[CMSG_SPACE(FD_ROOM * sizeof(int)) + OTHERS_ROOM];
};

/* What has come so far. */
struct arrival {
	size_t bytes;
	size_t fd_count; /* all that came, kept or not */
	/* the kernel dropped descriptors: no room, here or in the table of open files */
	bool is_cut;
	int fd; /* the first one */
};

static ww_status check_socket(int socket, int *out_type)
{
	int domain;
	socklen_t length = sizeof(int);

	if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0 ||
		getsockopt(socket, SOL_SOCKET, SO_TYPE, out_type, &length) < 0)
		return ww_fail_errno_as(WW_ERR_DESCRIPTOR, errno, "pass a connected Unix socket",
			"cannot use descriptor %d as a socket", socket);
	if (domain != AF_UNIX)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %d is a socket of family %d, which carries no descriptors; use a Unix "
			"socket (family %d)",
			socket, domain, AF_UNIX);
	if (*out_type == SOCK_DGRAM)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %d is a datagram socket, which does not tell when the other process is "
			"gone; use SOCK_SEQPACKET or SOCK_STREAM",
			socket);
	return WW_OK;
}

static bool is_again(int error)
{
	return error == EAGAIN || error == EWOULDBLOCK;
}

static void attach(struct msghdr *header, union control *control, int fd)
{
	struct cmsghdr *item;

	header->msg_control = control->bytes;
	header->msg_controllen = CMSG_SPACE(sizeof(int));
	item = CMSG_FIRSTHDR(header);
	item->cmsg_level = SOL_SOCKET;
	item->cmsg_type = SCM_RIGHTS;
	item->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(item), &fd, sizeof(int));
}

static ww_status fail_send(int socket, int error, size_t sent)
{
	if (sent > 0)
		return ww_fail_errno_as(WW_ERR_TRUNCATED, error, "close the socket",
			"socket %d broke after %zu bytes of a message", socket, sent);
	if (error == EPIPE || error == ECONNRESET || error == ECONNREFUSED)
		return ww_fail_errno(error, "the other process has closed its end or died",
			"cannot send over socket %d", socket);
	return ww_fail_errno(error, error == ENOTCONN ? "connect it first" : NULL,
		"cannot send over socket %d", socket);
}

ww_status ww_message_send(int socket, const void *message, size_t bytes, int fd,
	uint64_t deadline_ns)
{
	size_t sent = 0;
	int type = 0;

	ww_try(check_socket(socket, &type));
	while (sent < bytes) {
		struct iovec part = {(char *)message + sent, bytes - sent};
		struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
		union control control = {.bytes = {0}};
		ww_status status;
		ssize_t count;

		if (sent == 0)
			attach(&header, &control, fd);
		count = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (count >= 0) {
			sent += (size_t)count;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (!is_again(errno))
			return fail_send(socket, errno, sent);
		status = ww_fd_wait(socket, POLLOUT, deadline_ns, "a socket");
		if (status > 0 && sent > 0)
			return fail_send(socket, status == WW_CANCELLED ? ECANCELED : ETIMEDOUT,
				sent);
		if (status != WW_OK)
			return status;
	}
	return WW_OK;
}

/* Keeps the first descriptor of an item and closes the others. */
static void collect(struct arrival *arrival, const struct cmsghdr *item)
{
	size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
		if (item->cmsg_type == SCM_RIGHTS && arrival->fd_count++ == 0)
			arrival->fd = fd;
		else
			ww_close_async(fd);
	}
}

/* A closed packet socket and an empty packet both read as nothing. */
static ww_status check_empty(int socket, const struct arrival *arrival)
{
	struct pollfd poll_fd = {.fd = socket, .events = POLLRDHUP};

	if (arrival->fd_count > 0 || poll(&poll_fd, 1, 0) == 0)
		return ww_fail(WW_ERR_TRUNCATED, "refused an empty message from socket %d", socket);
	return WW_END;
}

ssize_t ww_message_receive_once(int socket, struct msghdr *header)
{
	struct msghdr attempt;
	bool was_reset = false;
	bool was_end = false;
	ssize_t count;

	for (;;) {
		attempt = *header;
		count = recvmsg(socket, &attempt, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (count < 0 && errno == ECONNRESET && !was_reset)
			was_reset = true;
		else if (count == 0 && attempt.msg_controllen == 0 && !was_end)
			was_end = true;
		else if (count >= 0 || errno != EINTR)
			break;
	}
	if (count < 0 && was_end && is_again(errno))
		count = 0;
	else if (count < 0 && was_reset && is_again(errno))
		errno = ECONNRESET;
	*header = attempt;
	return count;
}

/*
 * One part of a message. Return: WW_OK; WW_NOT_READY (nothing there now); WW_END (closed); an
 * error.
 */
static ww_status receive_part(int socket, char *message, size_t bytes, struct arrival *arrival)
{
	struct iovec part = {message + arrival->bytes, bytes - arrival->bytes};
	union control control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t count = ww_message_receive_once(socket, &header);

	if (count < 0 && is_again(errno))
		return WW_NOT_READY;
	if (count < 0 && errno == ECONNRESET)
		return WW_END;
	if (count < 0 && errno == EINVAL)
		return ww_fail_errno_as(WW_ERR_DESCRIPTOR, errno, "connect it first",
			"cannot receive from socket %d", socket);
	if (count < 0)
		return ww_fail_errno(errno, NULL, "cannot receive from socket %d", socket);
	for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item;
		item = CMSG_NXTHDR(&header, item)) {
		if (item->cmsg_level == SOL_SOCKET &&
			(item->cmsg_type == SCM_RIGHTS || item->cmsg_type == SCM_PIDFD))
			collect(arrival, item);
	}
	arrival->is_cut = arrival->is_cut || header.msg_flags & MSG_CTRUNC;
	if (header.msg_flags & MSG_TRUNC)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a message of more than %zu bytes from socket %d", bytes, socket);
	if (count == 0)
		return WW_END;
	arrival->bytes += (size_t)count;
	return WW_OK;
}

static ww_status fail_end(int socket, size_t got, size_t bytes)
{
	if (got == 0)
		return ww_fail(WW_ERR_PEER_LOST,
			"no message from socket %d: the other process has closed its end or died",
			socket);
	return ww_fail(WW_ERR_TRUNCATED,
		"a message from socket %d ended after %zu of %zu bytes; close the socket", socket,
		got, bytes);
}

static ww_status receive_all(int socket, char *message, size_t bytes, bool is_stream,
	uint64_t deadline_ns, struct arrival *arrival)
{
	while (arrival->bytes < bytes) {
		ww_status status = receive_part(socket, message, bytes, arrival);

		ww_try(status);
		if (status == WW_END && !is_stream)
			ww_try(check_empty(socket, arrival));
		if (status == WW_END || (status == WW_OK && !is_stream && arrival->bytes < bytes))
			return fail_end(socket, arrival->bytes, bytes);
		if (status != WW_NOT_READY)
			continue;
		status = ww_fd_wait(socket, POLLIN, deadline_ns, "a socket");
		if (status > 0 && arrival->bytes > 0)
			return fail_end(socket, arrival->bytes, bytes);
		if (status != WW_OK)
			return status;
	}
	return WW_OK;
}

static ww_status check_descriptors(int socket, const struct arrival *arrival)
{
	if (arrival->is_cut && arrival->fd_count <= 1)
		return ww_fail(WW_ERR_LIMIT,
			"a descriptor that came over socket %d was lost: this process has too many open; "
			"raise the limit (ulimit -n)",
			socket);
	if (arrival->is_cut || arrival->fd_count != 1)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a message from socket %d with %zu%s descriptors, not one", socket,
			arrival->fd_count, arrival->is_cut ? " or more" : "");
	return WW_OK;
}

ww_status ww_message_receive(int socket, void *message, size_t bytes, uint64_t deadline_ns,
	int *out_fd)
{
	struct arrival arrival = {.fd = -1};
	WW_AUTO_CLOSE_ASYNC int fd = -1;
	ww_status status;
	int type = 0;

	*out_fd = -1;
	ww_try(check_socket(socket, &type));
	ww_try(ww_close_async_check_room());
	status = receive_all(socket, message, bytes, type == SOCK_STREAM, deadline_ns, &arrival);
	fd = arrival.fd;
	if (status != WW_OK)
		return status;
	ww_try(check_descriptors(socket, &arrival));
	if (!ww_close_async_is_local(fd))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused a descriptor from socket %d: it is no memory, but a file of a kind that may hang "
			"whoever closes it; close the socket",
			socket);
	*out_fd = ww_fd_steal(&fd);
	return ww_fd_adopt(out_fd);
}
