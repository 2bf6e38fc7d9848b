/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - sendmsg(2) and recvmsg(2) with SCM_RIGHTS
 */
#include "support/packet.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "support/check.h"
#include "support/child.h"

const int packet_types[2] = {SOCK_STREAM, SOCK_SEQPACKET};

const char *packet_type_name(int type)
{
	return type == SOCK_STREAM ? "stream" : "seqpacket";
}

void packet_pair(int type, int out_sockets[2])
{
	MUST_CALL(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, out_sockets));
}

void packet_send(int socket, const void *bytes, size_t count, const int *descriptors,
	size_t descriptor_count)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(PACKET_DESCRIPTORS_MAX * sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec part = {(void *)bytes, count};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	MUST(descriptor_count <= PACKET_DESCRIPTORS_MAX);
	if (descriptor_count) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(descriptor_count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(descriptor_count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), descriptors, descriptor_count * sizeof(int));
	}
	MUST_EQUAL(count, sendmsg(socket, &message, MSG_NOSIGNAL));
}

void packet_receive(int socket, void *bytes, size_t count, int *out_descriptor)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {bytes, count};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct pollfd waiting = {.fd = socket, .events = POLLIN};

	MUST_EQUAL(1, poll(&waiting, 1, child_limit_ms()));
	MUST_EQUAL(count, recvmsg(socket, &message, MSG_CMSG_CLOEXEC));
	MUST(CMSG_FIRSTHDR(&message) && control.header.cmsg_type == SCM_RIGHTS);
	memcpy(out_descriptor, CMSG_DATA(&control.header), sizeof(int));
}
