/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - the second process beside the one that probes a device, and how the two speak
 *
 * The peer does one task after the other until its socket is closed.
 */
#include "doctor/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/packet.h"

/* --- in the first process --- */

int peer_spawn(struct probe *probe)
{
	const struct child_plan plan = {
		.name = "the second process",
		.arguments = {"doctor-child", "peer", probe->selector},
		.timeout_ns = WW_FOREVER,
	};

	if (probe->has_peer)
		return 0;
	if (child_spawn(&probe->peer, &plan))
		return -1;
	probe->has_peer = true;
	return peer_do(probe, PEER_OPEN, NULL, 0, -1);
}

void peer_stop(struct probe *probe)
{
	child_fini(&probe->peer);
	probe->has_peer = false;
}

int peer_start(struct probe *probe, enum peer_task task, const void *bytes, size_t count, int fd)
{
	struct peer_message message = {.task = task};

	if (!probe->has_peer && peer_spawn(probe))
		return -1;
	if (count > 0)
		memcpy(message.bytes, bytes, count);
	if (packet_send(probe->peer.socket, &message, sizeof(message), fd, 0))
		return complain("cannot reach the second process: %s", strerror(errno));
	return 0;
}

/* It is gone: how? */
static int explain_end(struct probe *probe)
{
	int status = 0;

	if (probe->peer.pid > 0 && waitpid(probe->peer.pid, &status, 0) == probe->peer.pid)
		probe->peer.pid = 0;
	peer_stop(probe);
	probe->cause = "crash";
	if (WIFSIGNALED(status))
		return complain("the second process was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	return complain("the second process ended with exit status %d", WEXITSTATUS(status));
}

int peer_end(struct probe *probe)
{
	struct peer_message message;
	OWN(fd) int fd = -1;

	if (packet_receive(probe->peer.socket, &message, sizeof(message), &fd, 0) !=
		(ssize_t)sizeof(message))
		return explain_end(probe);
	message.said[sizeof(message.said) - 1] = 0;
	return message.failed ? complain("in the second process: %s", message.said) : 0;
}

int peer_do(struct probe *probe, enum peer_task task, const void *bytes, size_t count, int fd)
{
	return peer_start(probe, task, bytes, count, fd) || peer_end(probe) ? -1 : 0;
}

/* --- in the second process --- */

static int peer_open(struct probe *probe, const struct peer_message *message, int fd)
{
	(void)message;
	(void)fd;
	return probe_open_driver(probe);
}

static int (*const tasks[PEER_TASKS])(struct probe *probe, const struct peer_message *message,
	int fd) = {
	[PEER_OPEN] = peer_open,
	[PEER_DESCRIPTOR] = peer_descriptor,
	[PEER_LEGACY] = peer_legacy,
	[PEER_POOL] = peer_pool,
	[PEER_EVENT] = peer_event,
	[PEER_SHARE] = peer_share,
	[PEER_TIMELINE] = peer_timeline,
	[PEER_SLICE] = peer_slice,
};

/* Return: whether there may be another one. */
static bool serve(struct probe *probe)
{
	struct peer_message message;
	OWN(fd) int fd = -1;

	if (packet_receive(LINK_FD, &message, sizeof(message), &fd, 0) !=
			(ssize_t)sizeof(message) ||
		message.task >= PEER_TASKS)
		return false;
	probe->said[0] = 0;
	message.failed = tasks[message.task](probe, &message, fd);
	snprintf(message.said, sizeof(message.said), "%s", probe->said);
	return packet_send(LINK_FD, &message, sizeof(message), -1, 0) == 0;
}

int child_peer(int argc, char *argv[])
{
	struct probe probe;

	if (argc != 2 || probe_init(&probe, argv[1]))
		return EXIT_CANNOT;
	report_capture(probe.said, sizeof(probe.said));
	while (serve(&probe))
		;
	probe_fini(&probe);
	return EXIT_DONE;
}
