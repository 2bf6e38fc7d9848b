/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vigil.c - the connections whose end must not wait for its turn, see vigil.h
 */
#include "broker/vigil.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "broker/server_parts.h"

/* How often it is looked, and for how many ends at a time. */
#define PAUSE_NS 200000
#define ENDS     16

ww_status vigil_open(struct server *server)
{
	server->vigil = epoll_create1(EPOLL_CLOEXEC);
	if (server->vigil < 0)
		return ww_fail_errno(errno, NULL,
			"the broker cannot watch for the ends of connections");
	return WW_OK;
}

/* Where this fails the loop still tells, only later. */
void vigil_keep(struct peer *peer)
{
	struct epoll_event event = {.events = EPOLLRDHUP, .data.ptr = peer};

	if (peer->is_vigil || peer->is_closed)
		return;
	if (epoll_ctl(peer->server->vigil, EPOLL_CTL_ADD, peer->socket, &event) < 0) {
		ww_log_debug("vigil: cannot watch over process %u: %m", peer->pid);
		return;
	}
	peer->is_vigil = true;
	peer->server->vigil_count++;
}

void vigil_leave(struct peer *peer)
{
	struct epoll_event event = {0};

	if (!peer->is_vigil)
		return;
	peer->is_vigil = false;
	peer->server->vigil_count--;
	(void)epoll_ctl(peer->server->vigil, EPOLL_CTL_DEL, peer->socket, &event);
}

void vigil_look(struct server *server)
{
	struct epoll_event ends[ENDS];
	uint64_t now_ns;
	int count;

	if (server->vigil_count == 0)
		return;
	now_ns = ww_clock_now_ns();
	if (now_ns - server->vigil_ns < PAUSE_NS)
		return;
	server->vigil_ns = now_ns;
	count = epoll_wait(server->vigil, ends, ENDS, 0);
	for (int i = 0; i < count; i++)
		peer_hear_last(ends[i].data.ptr);
	for (int i = 0; i < count; i++)
		peer_mourn(ends[i].data.ptr);
	for (int i = 0; i < count; i++)
		peer_close(ends[i].data.ptr);
}
