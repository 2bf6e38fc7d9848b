/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receiver_process.c - receives descriptors for the broker, see receiver_process.h
 *
 * Descriptors that are not kept are closed only after the broker has its answer. close() may hang
 * for as long as the sender likes, even if this process is killed. The broker notices that with its
 * next request.
 */
#include "daemon/receiver_process.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/descriptor_kind.h"
#include "wire/packet.h"

static void answer_fill(struct receiver_answer *answer, ww_status status, size_t bytes)
{
	answer->status = status;
	answer->bytes = (uint32_t)bytes;
	if (status < 0)
		snprintf(answer->message, sizeof(answer->message), "%s", ww_error_last()->message);
}

static ww_status answer_send(const struct receiver_answer *answer, const int *fds, size_t fd_count)
{
	return ww_packet_send(RECEIVER_SOCKET, answer,
		offsetof(struct receiver_answer, packet) + answer->bytes, fds, fd_count);
}

/*
 * What runs here must not delay a broker on the same CPU. A nice value of 10 is enough for
 * messages: the broker preempts this process, which still gets a tenth of a CPU beside one busy
 * process.
 */
#define RECEIVER_NICE 10

/*
 * To close what is not kept takes the kernel longer, and only tasks of this policy are preempted at
 * once. On a machine whose CPUs are all busy they hardly run, and there is no way back without
 * privileges, so a process takes this policy only when it has something to close.
 */
static void process_give_way(void)
{
	static bool gave_way;
	const struct sched_param none = {0};

	if (!gave_way)
		(void)sched_setscheduler(0, SCHED_IDLE, &none);
	gave_way = true;
}

/*
 * Receives one packet. Closes the socket first, then the descriptors, which may hang. Return:
 * whether the broker has the answer.
 */
static bool receiver_take_packet(int *socket)
{
	static struct receiver_answer answer;
	int fds[WW_PACKET_FDS];
	int kept[WW_PACKET_FDS];
	size_t kept_count = 0;
	size_t fd_count = 0;
	size_t bytes = 0;
	ww_status status = ww_packet_receive(*socket, answer.packet, sizeof(answer.packet), &bytes,
		fds, &fd_count);

	answer.fd_count = (uint32_t)fd_count;
	answer.kept = 0;
	answer_fill(&answer, status, bytes);
	for (size_t i = 0; status == WW_OK && i < fd_count; i++) {
		if (!kind_is_kept(fds[i]))
			continue;
		answer.kept |= 1U << i;
		kept[kept_count++] = fds[i];
	}
	status = answer_send(&answer, kept, kept_count);
	if (status < 0 && status != WW_ERR_PEER_LOST) {
		answer.kept = 0;
		answer_fill(&answer, status, 0);
		status = answer_send(&answer, NULL, 0);
	}
	if (answer.status != WW_OK || kept_count < fd_count)
		process_give_way();
	*socket = ww_fd_close(*socket);
	for (size_t i = 0; i < fd_count; i++)
		ww_fd_close(fds[i]);
	return status == WW_OK;
}

/* Serves one request. Return: whether there may be more. */
static bool receiver_serve_request(void)
{
	struct pollfd broker = {.fd = RECEIVER_SOCKET, .events = POLLIN};
	struct receiver_request request;
	int fds[WW_PACKET_FDS];
	size_t fd_count = 0;
	size_t bytes = 0;
	bool goes_on = true;
	ww_status status;

	if (poll(&broker, 1, -1) < 0)
		return errno == EINTR;
	status = ww_packet_receive(RECEIVER_SOCKET, &request, sizeof(request), &bytes, fds,
		&fd_count);
	if (status == WW_NOT_READY)
		return true;
	if (status != WW_OK || bytes != sizeof(request) || fd_count != 1)
		goes_on = false;
	else if (request.what == RECEIVER_TAKE)
		goes_on = receiver_take_packet(&fds[0]);
	else
		process_give_way();
	while (fd_count > 0)
		ww_fd_close(fds[--fd_count]);
	return goes_on;
}

int receiver_process_run(void)
{
	struct rlimit files;

	(void)setpriority(PRIO_PROCESS, 0, RECEIVER_NICE);
	/*
	 * The kernel counts descriptors in flight against the sender's limit, together with those
	 * of the broker's user.
	 */
	if (getrlimit(RLIMIT_NOFILE, &files) >= 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	while (receiver_serve_request())
		;
	return 0;
}
