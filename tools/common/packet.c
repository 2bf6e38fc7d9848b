/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - packets of a SOCK_SEQPACKET socket, see packet.h
 */
#include "common/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/child_link.h"
#include "common/cleanup.h"
#include "common/say.h"

/* About what a request to put takes. */
#define ECHO_BYTES 256

#define PACKET_FDS_MAX 8

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(PACKET_FDS_MAX * sizeof(int))];
};

int packet_send(int socket, const void *bytes, size_t count, int fd, int flags)
{
	struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int))}};
	ssize_t sent;

	if (fd >= 0) {
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int));
	}
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

/* Keeps the first descriptor. */
static int take_fd(struct msghdr *message)
{
	int fds[PACKET_FDS_MAX];
	int kept = -1;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
		header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(header), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (kept < 0)
				kept = fds[i];
			else
				close(fds[i]);
		}
	}
	return kept;
}

ssize_t packet_receive(int socket, void *buffer, size_t room, int *out_fd, int flags)
{
	struct iovec part = {.iov_base = buffer, .iov_len = room};
	union control control;
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t count;

	*out_fd = -1;
	do {
		count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -1;
	*out_fd = take_fd(&message);
	if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return count;
	own_fd(out_fd);
	*out_fd = -1;
	errno = EBADMSG;
	return -1;
}

int packet_echo(int socket)
{
	char packet[ECHO_BYTES];

	for (;;) {
		OWN(fd) int fd = -1;
		ssize_t count = packet_receive(socket, packet, sizeof(packet), &fd, 0);

		if (count == 0)
			return 0;
		if (count < 0 || packet_send(socket, packet, (size_t)count, -1, 0))
			return complain("cannot echo: %s", strerror(errno));
	}
}

int packet_round_trip(int socket, int fd, uint64_t *out_ns)
{
	char packet[ECHO_BYTES] = {0};
	uint64_t start = link_now_ns();
	OWN(fd) int answered = -1;

	if (packet_send(socket, packet, sizeof(packet), fd, 0) ||
		packet_receive(socket, packet, sizeof(packet), &answered, 0) !=
			(ssize_t)sizeof(packet))
		return complain("the process that echoes does not answer: %s", strerror(errno));
	*out_ns = link_now_ns() - start;
	return 0;
}
