/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_link.c - small messages between a verb and the processes it starts
 */
#include "common/child_link.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/packet.h"

#define LINK_MAGIC    UINT32_C(0x6b6c7777)
#define NS_PER_MS     UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)

uint64_t link_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static int poll_ms(uint64_t deadline_ns)
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

int link_poll(struct pollfd entries[], size_t count, uint64_t deadline_ns)
{
	int ready;

	do {
		ready = poll(entries, count, poll_ms(deadline_ns));
	} while (ready < 0 && errno == EINTR);
	return ready;
}

static enum link_result wait_for(int socket, short events, uint64_t timeout_ns)
{
	uint64_t deadline = WW_FOREVER;
	struct pollfd entry = {.fd = socket, .events = events};
	int count;

	if (timeout_ns != WW_FOREVER)
		deadline = link_now_ns() + timeout_ns;
	count = link_poll(&entry, 1, deadline);
	if (count < 0 || (entry.revents & POLLNVAL))
		return LINK_BROKEN;
	return count == 0 ? LINK_TIMED_OUT : LINK_OK;
}

static enum link_result result_of_errno(void)
{
	return errno == EPIPE || errno == ECONNRESET ? LINK_CLOSED : LINK_BROKEN;
}

enum link_result link_send(int socket, const struct link_message *message, int fd,
	uint64_t timeout_ns)
{
	struct link_message copy = *message;
	enum link_result result = wait_for(socket, POLLOUT, timeout_ns);

	if (result != LINK_OK)
		return result;
	copy.magic = LINK_MAGIC;
	if (packet_send(socket, &copy, sizeof(copy), fd, MSG_DONTWAIT))
		return result_of_errno();
	return LINK_OK;
}

enum link_result link_receive(int socket, enum link_kind kind, struct link_message *out_message,
	int *out_fd, uint64_t timeout_ns)
{
	enum link_result result = wait_for(socket, POLLIN, timeout_ns);
	ssize_t bytes;
	int fd;

	if (result != LINK_OK)
		return result;
	bytes = packet_receive(socket, out_message, sizeof(*out_message), &fd, MSG_DONTWAIT);
	if (bytes < 0)
		return result_of_errno();
	if (bytes == sizeof(*out_message) && out_message->magic == LINK_MAGIC &&
		out_message->kind == (uint32_t)kind && (fd >= 0) == (out_fd != NULL)) {
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
