/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_identity.c - which process and user is at the other end of a connection, and what it may do,
 * see peer.h
 *
 * The kernel says it, once, when the connection is accepted.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/broker/peer.h"

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

ww_status peer_identify(struct peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return ww_fail_errno(errno, NULL, "cannot find out which process connected");
	peer->pid = credentials.pid > 0 ? (uint32_t)credentials.pid : 0;
	peer->uid = credentials.uid;
	peer->gid = credentials.gid;
	peer->is_trusted = peer->uid == 0 || peer->uid == geteuid();
	/* The groups of the process come next: its own first, then the others. */
	length = 0;
	(void)getsockopt(peer->socket, SOL_SOCKET, SO_PEERGROUPS, NULL, &length);
	if (length > GROUPS_MAX * sizeof(gid_t))
		length = 0;
	peer->gids = malloc(sizeof(gid_t) + length);
	if (!peer->gids)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	peer->gids[0] = peer->gid;
	peer->gid_count = 1;
	if (length > 0 &&
		getsockopt(peer->socket, SOL_SOCKET, SO_PEERGROUPS, peer->gids + 1, &length) == 0)
		peer->gid_count += length / sizeof(gid_t);
	return WW_OK;
}

int peer_open_pidfd(const struct peer *peer)
{
	socklen_t length = sizeof(int);
	int pidfd = -1;

	if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0)
		return pidfd;
	return peer->pid ? (int)syscall(SYS_pidfd_open, peer->pid, 0) : -1;
}

bool peer_has_group(const struct peer *peer, gid_t gid)
{
	for (size_t i = 0; i < peer->gid_count; i++) {
		if (peer->gids[i] == gid)
			return true;
	}
	return false;
}

uint32_t peer_may(const struct peer *peer, const struct ww_layout_object_record *record)
{
	uint32_t bits = record->mode;
	uint32_t may = 0;

	if (peer->uid == 0)
		bits = 06;
	else if (peer->uid == record->uid)
		bits >>= 6;
	else if (peer_has_group(peer, record->gid))
		bits >>= 3;
	if (bits & 04)
		may |= WW_WIRE_ENTRY_FLAG_MAY_READ;
	if ((bits & 06) == 06 && record->state != WW_WIRE_STATE_SEALED)
		may |= WW_WIRE_ENTRY_FLAG_MAY_WRITE;
	return may;
}
