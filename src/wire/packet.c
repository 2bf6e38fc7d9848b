/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - one packet with its descriptors in one call of the kernel's, see packet.h
 *
 * Sending and receiving never wait (MSG_DONTWAIT), whatever the socket's own mode is.
 *
 * The control buffer has room for the descriptors a packet may have and no more, so the kernel
 * drops what is beyond them by itself and says so (MSG_CTRUNC). It says the same when the table of
 * open files is full; the two are told apart by how many descriptors came: as many as there is room
 * for, or fewer.
 *
 * A socket that was told to deliver credentials, security labels or pidfds too puts them into the
 * same buffer. They are skipped; where they took the room of descriptors, that is named as the
 * reason.
 *
 * Descriptors that came are not closed here, whatever is wrong with their packet: to close a file
 * of some file systems waits for whoever serves them, and only the caller knows when it may wait.
 */
#include "wire/packet.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/close_async.h"

#ifndef SCM_PIDFD /* Linux 6.5 */
#define SCM_PIDFD 4
#endif
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

/* CMSG_LEN(), since the padding of CMSG_SPACE() could be room for one descriptor more. */
#define CONTROL_BYTES CMSG_LEN(WW_PACKET_FDS * sizeof(int))

union control {
	struct cmsghdr header; /* for alignment */
	char bytes[CMSG_SPACE(WW_PACKET_FDS * sizeof(int))];
};

/* What one call of the kernel's brought. */
struct arrival {
	size_t bytes;
	int flags;
	int *fds;
	size_t fd_count;
};

static void attach(struct msghdr *header, union control *control, const int *fds, size_t fd_count)
{
	struct cmsghdr *item;

	header->msg_control = control->bytes;
	header->msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	item = CMSG_FIRSTHDR(header);
	item->cmsg_level = SOL_SOCKET;
	item->cmsg_type = SCM_RIGHTS;
	item->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
	memcpy(CMSG_DATA(item), fds, fd_count * sizeof(int));
}

static ww_status fail_send(int socket, int error, size_t count, size_t fd_count)
{
	const char *remedy = NULL;

	if (error == EPIPE || error == ECONNRESET || error == ECONNREFUSED)
		remedy = "the other process has closed its end or died";
	else if (error == ETOOMANYREFS)
		remedy = "too many descriptors of this user are in flight; let them be received first";
	return ww_fail_errno(error, remedy,
		"cannot send a packet of %zu bytes and %zu descriptors over socket %d", count,
		fd_count, socket);
}

ww_status ww_packet_send(int socket, const void *bytes, size_t count, const int *fds,
	size_t fd_count)
{
	struct iovec part = {(void *)bytes, count};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {.bytes = {0}};
	ssize_t sent;

	ww_assert(count > 0 && fd_count <= WW_PACKET_FDS);
	if (fd_count > 0)
		attach(&header, &control, fds, fd_count);
	do {
		sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return WW_OK;
	if (errno == EAGAIN)
		return WW_NOT_READY;
	return fail_send(socket, errno, count, fd_count);
}

static ww_status fail_receive(int socket, int error)
{
	if (error == EAGAIN)
		return WW_NOT_READY;
	if (error == ECONNRESET)
		return WW_END;
	return ww_fail_errno(error, NULL, "cannot receive from socket %d", socket);
}

static void collect(struct arrival *arrival, const struct cmsghdr *item)
{
	size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count && arrival->fd_count < WW_PACKET_FDS; i++) {
		memcpy(&arrival->fds[arrival->fd_count], CMSG_DATA(item) + i * sizeof(int),
			sizeof(int));
		arrival->fd_count++;
	}
}

/* A pidfd that comes with a message although nobody here asked; to close one never waits. */
static void drop_pidfd(const struct cmsghdr *item)
{
	int fd;

	if (item->cmsg_len < CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(item), sizeof(int));
	ww_fd_close(fd);
}

static void collect_all(struct arrival *arrival, struct msghdr *header)
{
	for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
		if (item->cmsg_level != SOL_SOCKET)
			continue;
		if (item->cmsg_type == SCM_RIGHTS)
			collect(arrival, item);
		else if (item->cmsg_type == SCM_PIDFD)
			drop_pidfd(item);
	}
}

/* Return: the option that makes this socket deliver more than descriptors, or NULL. */
static const char *other_items(int socket)
{
	static const struct {
		int option;
		const char *name;
	} options[] = {{SO_PASSCRED, "SO_PASSCRED"}, {SO_PASSSEC, "SO_PASSSEC"},
		{SO_PASSPIDFD, "SO_PASSPIDFD"}};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		int value = 0;
		socklen_t length = sizeof(value);

		if (getsockopt(socket, SOL_SOCKET, options[i].option, &value, &length) == 0 &&
			value != 0)
			return options[i].name;
	}
	return NULL;
}

/* Why the kernel dropped descriptors. */
static ww_status fail_cut(int socket, const struct arrival *arrival)
{
	const char *option = other_items(socket);

	if (arrival->fd_count >= WW_PACKET_FDS)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a packet from socket %d with more than %d descriptors", socket,
			WW_PACKET_FDS);
	if (option)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"lost descriptors of a packet from socket %d: %s took their room; switch it off",
			socket, option);
	return ww_fail(WW_ERR_LIMIT,
		"lost descriptors of a packet from socket %d: this process has too many open; raise "
		"the limit (ulimit -n)",
		socket);
}

/* A closed socket and an empty packet both read as nothing. */
static ww_status check_empty(int socket, const struct arrival *arrival)
{
	struct pollfd poll_fd = {.fd = socket, .events = POLLRDHUP};

	if (arrival->fd_count > 0 || poll(&poll_fd, 1, 0) == 0)
		return ww_fail(WW_ERR_PROTOCOL, "refused an empty packet from socket %d", socket);
	return WW_END;
}

static ww_status check(int socket, const struct arrival *arrival, size_t room)
{
	if (arrival->flags & MSG_TRUNC)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a packet of more than %zu bytes from socket %d", room, socket);
	if (arrival->flags & MSG_CTRUNC)
		return fail_cut(socket, arrival);
	if (arrival->bytes == 0)
		return check_empty(socket, arrival);
	return WW_OK;
}

/* The standard streams are not ours to be: see fd.h. */
static ww_status adopt_all(struct arrival *arrival)
{
	size_t kept = 0;
	ww_status status = WW_OK;

	for (size_t i = 0; i < arrival->fd_count; i++) {
		int fd = arrival->fds[i];

		/*
		 * To adopt closes it, which may wait for ever; such a one is refused by whoever
		 * asked for the packet.
		 */
		if (fd <= 2 && ww_close_async_is_local(fd) && ww_fd_adopt(&fd) != WW_OK)
			status = WW_ERR_LIMIT;
		else
			arrival->fds[kept++] = fd;
	}
	arrival->fd_count = kept;
	return status;
}

ww_status ww_packet_receive(int socket, void *buffer, size_t room, size_t *out_bytes,
	int out_fds[WW_PACKET_FDS], size_t *out_fd_count)
{
	struct arrival arrival = {.fds = out_fds};
	struct iovec part = {buffer, room};
	union control control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CONTROL_BYTES,
	};
	ssize_t count = ww_message_receive_once(socket, &header);
	ww_status adopted;
	ww_status status;

	*out_bytes = 0;
	*out_fd_count = 0;
	if (count < 0)
		return fail_receive(socket, errno);
	arrival.bytes = (size_t)count;
	arrival.flags = header.msg_flags;
	collect_all(&arrival, &header);
	adopted = adopt_all(&arrival);
	*out_fd_count = arrival.fd_count;
	status = check(socket, &arrival, room);
	if (status == WW_OK)
		status = adopted;
	if (status == WW_OK)
		*out_bytes = arrival.bytes;
	return status;
}
