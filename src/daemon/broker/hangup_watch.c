/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangup_watch.c - notices at once when a connection of a process with last wills is closed, see
 * hangup_watch.h
 */
#include "daemon/broker/hangup_watch.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/broker/server_state.h"

/* The least time between two looks. */
#define PAUSE_NS 200000

ww_status hangup_watch_open(struct server *server)
{
	server->hangup_watch = epoll_create1(EPOLL_CLOEXEC);
	if (server->hangup_watch < 0)
		return ww_fail_errno(errno, NULL,
			"the broker cannot watch for the ends of connections");
	return WW_OK;
}

/* If this fails, the loop still reports the end, only later. */
void hangup_watch_keep(struct peer *peer)
{
	struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = peer};

	if (peer->is_hangup_watched || peer->is_closed)
		return;
	if (epoll_ctl(peer->server->hangup_watch, EPOLL_CTL_ADD, peer->socket, &event) < 0) {
		ww_log_debug("hangup watch: cannot watch process %u: %m", peer->pid);
		return;
	}
	peer->is_hangup_watched = true;
	peer->server->hangup_watch_count++;
}

void hangup_watch_leave(struct peer *peer)
{
	struct epoll_event event = {0};

	if (!peer->is_hangup_watched)
		return;
	peer->is_hangup_watched = false;
	peer->server->hangup_watch_count--;
	(void)epoll_ctl(peer->server->hangup_watch, EPOLL_CTL_DEL, peer->socket, &event);
}

size_t hangup_watch_look(struct server *server, struct peer *out_peers[HANGUP_WATCH_ENDS])
{
	struct epoll_event ends[HANGUP_WATCH_ENDS];
	uint64_t now_ns;
	int count;

	if (server->hangup_watch_count == 0)
		return 0;
	now_ns = ww_clock_now_ns();
	if (now_ns - server->hangup_watch_ns < PAUSE_NS)
		return 0;
	server->hangup_watch_ns = now_ns;
	count = epoll_wait(server->hangup_watch, ends, HANGUP_WATCH_ENDS, 0);
	for (int i = 0; i < count; i++)
		out_peers[i] = ends[i].data.ptr;
	return count > 0 ? (size_t)count : 0;
}
