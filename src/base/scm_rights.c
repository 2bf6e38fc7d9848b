/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scm_rights.c - descriptors that travel beside bytes over a Unix socket, see scm_rights.h
 */
#include "base/scm_rights.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/close_async.h"
#include "base/error.h"
#include "base/fd.h"

/* What a socket with SO_PASSCRED, SO_PASSSEC or SO_PASSPIDFD puts before the descriptors. */
#define OTHERS_ROOM (CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(256))

#ifndef SCM_PIDFD /* Linux 6.5 */
#define SCM_PIDFD 4
#endif

union control {
	struct cmsghdr header; /* for alignment */
	char bytes[CMSG_SPACE(WW_SCM_FDS_MAX * sizeof(int)) + OTHERS_ROOM];
};

ssize_t ww_scm_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count)
{
	struct iovec part = {(void *)bytes, count};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {.bytes = {0}};
	ssize_t sent;

	ww_assert(fd_count <= WW_SCM_FDS_MAX);
	if (fd_count > 0) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, fd_count * sizeof(int));
	}
	do {
		sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent;
}

static void collect(struct ww_scm_arrival *arrival, const struct cmsghdr *item)
{
	size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof(int));
		if (item->cmsg_type == SCM_PIDFD) {
			ww_fd_close(fd);
		} else if (arrival->fd_count < arrival->fd_room) {
			arrival->fds[arrival->fd_count++] = fd;
		} else {
			arrival->surplus_count++;
			ww_close_async(fd);
		}
	}
}

static ssize_t receive_once(int socket, struct msghdr *header)
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
	if (count < 0 && was_end && errno == EAGAIN)
		count = 0;
	else if (count < 0 && was_reset && errno == EAGAIN)
		errno = ECONNRESET;
	*header = attempt;
	return count;
}

ssize_t ww_scm_receive(int socket, void *buffer, size_t room, bool takes_others,
	struct ww_scm_arrival *arrival)
{
	struct iovec part = {buffer, room};
	union control control;
	struct msghdr header = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		/* CMSG_LEN(): the padding of CMSG_SPACE() could be room for one more. */
		.msg_controllen = takes_others ? sizeof(control.bytes)
					       : CMSG_LEN(arrival->fd_room * sizeof(int)),
	};
	ssize_t count = receive_once(socket, &header);

	if (count < 0)
		return -1;
	for (struct cmsghdr *item = CMSG_FIRSTHDR(&header); item;
		item = CMSG_NXTHDR(&header, item)) {
		if (item->cmsg_level == SOL_SOCKET &&
			(item->cmsg_type == SCM_RIGHTS || item->cmsg_type == SCM_PIDFD))
			collect(arrival, item);
	}
	arrival->flags |= header.msg_flags;
	return count;
}

bool ww_scm_is_end(int socket, const struct ww_scm_arrival *arrival)
{
	struct pollfd poll_fd = {.fd = socket, .events = POLLRDHUP};

	return arrival->fd_count == 0 && poll(&poll_fd, 1, 0) != 0;
}
