/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - a message of fixed size with descriptors, over a Unix socket, see message.h
 *
 * Every call on the socket is non-blocking (scm_rights.h) with ppoll() between, so that the
 * deadline holds. A stream may deliver a message in pieces; a packet socket delivers it whole or
 * cut.
 */
#include "base/message.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/close_async.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/scm_rights.h"

/* What has come so far. */
struct arrival {
	struct ww_scm_arrival scm; /* with room for one descriptor */
	size_t bytes;
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
			"descriptor %d is a datagram socket, which does not tell when the other process has "
			"ended; use SOCK_SEQPACKET or SOCK_STREAM",
			socket);
	return WW_OK;
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
		ssize_t count = ww_scm_send(socket, (const char *)message + sent, bytes - sent, &fd,
			sent == 0 ? 1 : 0);
		ww_status status;

		if (count >= 0) {
			sent += (size_t)count;
			continue;
		}
		if (errno != EAGAIN)
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

/*
 * One part of a message. Return: WW_OK; WW_NOT_READY (nothing there now); WW_END (closed); an
 * error.
 */
static ww_status receive_part(int socket, char *message, size_t bytes, struct arrival *arrival)
{
	ssize_t count = ww_scm_receive(socket, message + arrival->bytes, bytes - arrival->bytes,
		true, &arrival->scm);

	if (count < 0 && errno == EAGAIN)
		return WW_NOT_READY;
	if (count < 0 && errno == ECONNRESET)
		return WW_END;
	if (count < 0 && errno == EINVAL)
		return ww_fail_errno_as(WW_ERR_DESCRIPTOR, errno, "connect it first",
			"cannot receive from socket %d", socket);
	if (count < 0)
		return ww_fail_errno(errno, NULL, "cannot receive from socket %d", socket);
	if (arrival->scm.flags & MSG_TRUNC)
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
		if (status == WW_END && !is_stream && !ww_scm_is_end(socket, &arrival->scm))
			return ww_fail(WW_ERR_TRUNCATED, "refused an empty message from socket %d",
				socket);
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

ww_status ww_message_receive(int socket, void *message, size_t bytes, uint64_t deadline_ns,
	int *out_fd)
{
	WW_AUTO_CLOSE_ASYNC int fd = -1;
	struct arrival arrival = {.scm = {.fds = &fd, .fd_room = 1}};
	ww_status status;
	int type = 0;
	size_t fd_count;
	bool is_cut;

	*out_fd = -1;
	ww_try(check_socket(socket, &type));
	ww_try(ww_close_async_check_room());
	status = receive_all(socket, message, bytes, type == SOCK_STREAM, deadline_ns, &arrival);
	if (status != WW_OK)
		return status;
	fd_count = arrival.scm.fd_count + arrival.scm.surplus_count;
	is_cut = arrival.scm.flags & MSG_CTRUNC;
	if (is_cut && fd_count <= 1)
		return ww_fail_errno(EMFILE, NULL, "a descriptor that came over socket %d was lost",
			socket);
	if (is_cut || fd_count != 1)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a message from socket %d with %zu%s descriptors, not one", socket,
			fd_count, is_cut ? " or more" : "");
	if (!ww_close_async_is_local(fd))
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused a descriptor from socket %d: it is not memory, but a file of a kind that may hang "
			"the process that closes it; close the socket",
			socket);
	*out_fd = ww_fd_steal(&fd);
	return ww_fd_adopt(out_fd);
}
