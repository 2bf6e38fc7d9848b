/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.c - small messages between a verb and the processes it starts
 */
#include "link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LINK_MAGIC    UINT32_C(0x6b6c7777)
#define LINK_FDS_MAX  4
#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(LINK_FDS_MAX * sizeof(int))];
};

uint64_t link_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

int link_poll_ms(uint64_t deadline_ns)
{
	uint64_t now = link_now_ns();
	uint64_t left;

	if (deadline_ns == WW_FOREVER)
		return -1;
	if (now >= deadline_ns)
		return 0;
	left = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
	return left > INT_MAX ? INT_MAX : (int)left;
}

static enum link_result wait_for(int socket, short events, uint64_t timeout_ns)
{
	uint64_t deadline = WW_FOREVER;
	struct pollfd entry = {.fd = socket, .events = events};
	int count;

	if (timeout_ns != WW_FOREVER)
		deadline = link_now_ns() + timeout_ns;
	do {
		count = poll(&entry, 1, link_poll_ms(deadline));
	} while (count < 0 && errno == EINTR);
	if (count < 0 || (entry.revents & POLLNVAL))
		return LINK_BROKEN;
	return count == 0 ? LINK_TIMED_OUT : LINK_OK;
}

static enum link_result result_of_errno(void)
{
	return errno == EPIPE || errno == ECONNRESET ? LINK_CLOSED : LINK_BROKEN;
}

static void attach_fd(struct msghdr *header, union control *control, int fd)
{
	struct cmsghdr *attached;

	memset(control, 0, sizeof(*control));
	header->msg_control = control;
	header->msg_controllen = CMSG_SPACE(sizeof(int));
	attached = CMSG_FIRSTHDR(header);
	attached->cmsg_level = SOL_SOCKET;
	attached->cmsg_type = SCM_RIGHTS;
	attached->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(attached), &fd, sizeof(fd));
}

enum link_result link_send(int socket, const struct link_message *message, int fd,
	uint64_t timeout_ns)
{
	struct link_message copy = *message;
	struct iovec span = {.iov_base = &copy, .iov_len = sizeof(copy)};
	struct msghdr header = {.msg_iov = &span, .msg_iovlen = 1};
	union control control;
	enum link_result result = wait_for(socket, POLLOUT, timeout_ns);

	if (result != LINK_OK)
		return result;
	copy.magic = LINK_MAGIC;
	if (fd >= 0)
		attach_fd(&header, &control, fd);
	if (sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return result_of_errno();
	return LINK_OK;
}

/* Takes the descriptors out of a message: the first is kept, the others closed. */
static int take_fds(struct msghdr *header, int *out_fd)
{
	int count = 0;

	*out_fd = -1;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(header); at; at = CMSG_NXTHDR(header, at)) {
		int fds[LINK_FDS_MAX];
		size_t taken;

		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		taken = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(at), taken * sizeof(int));
		for (size_t i = 0; i < taken; i++) {
			if (count++ == 0)
				*out_fd = fds[i];
			else
				close(fds[i]);
		}
	}
	return count;
}

enum link_result link_receive(int socket, enum link_kind kind, struct link_message *out_message,
	int *out_fd, uint64_t timeout_ns)
{
	struct iovec span = {.iov_base = out_message, .iov_len = sizeof(*out_message)};
	union control control;
	struct msghdr header = {
		.msg_iov = &span,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	enum link_result result = wait_for(socket, POLLIN, timeout_ns);
	ssize_t bytes;
	int count;
	int fd;

	if (result != LINK_OK)
		return result;
	bytes = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (bytes < 0)
		return result_of_errno();
	count = take_fds(&header, &fd);
	if (bytes == sizeof(*out_message) && !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		out_message->magic == LINK_MAGIC && out_message->kind == (uint32_t)kind &&
		count == (out_fd ? 1 : 0)) {
		if (out_fd)
			*out_fd = fd;
		return LINK_OK;
	}
	if (fd >= 0)
		close(fd);
	return bytes == 0 ? LINK_CLOSED : LINK_BROKEN;
}

const char *link_result_text(enum link_result result)
{
	switch (result) {
	case LINK_OK:
		return "done";
	case LINK_CLOSED:
		return "the other process is gone";
	case LINK_TIMED_OUT:
		return "the other process did not answer in time";
	case LINK_BROKEN:
		break;
	}
	return "the other process sent no message of ours";
}
