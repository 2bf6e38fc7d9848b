/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unread_replies.c - what was sent to users and is not read yet, see unread_replies.h
 *
 * The connections of a user with something unread are in a list, in the order in which they were
 * measured. One request measures at most SWEEP_MOST of them.
 */
#include "daemon/broker/unread_replies.h"

#include <inttypes.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/error.h"
#include "daemon/broker/server_state.h"

/*
 * The least that a packet with descriptors occupies in a socket's queue, as the kernel counts it.
 */
#define PACKET_BYTES_LEAST 640

/* What the kernel needs of a socket's room in addition to a packet. */
#define PACKET_BYTES_MORE 64

/* How many connections are measured again for one request. */
#define SWEEP_MOST 64

/* The kernel doubles the value of this option. */
void unread_bound(int socket)
{
	const int bytes = UNREAD_ROOM / 2;

	(void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void unread_widen(int socket, size_t bytes)
{
	const int room = (int)(bytes + PACKET_BYTES_MORE) / 2 + 1;

	(void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

static void unread_set_fds(struct peer *peer, uint32_t count)
{
	peer->account->unread += count - peer->unread;
	peer->unread = count;
}

uint32_t unread_measure(struct peer *peer)
{
	struct account *account = peer->account;
	int in_socket = 0;
	uint64_t bytes;
	uint32_t most;

	if (ioctl(peer->socket, SIOCOUTQ, &in_socket) < 0 || in_socket < 0)
		in_socket = 0;
	bytes = peer->out_bytes + (uint64_t)in_socket;
	account->unread_bytes += bytes - peer->unread_bytes;
	peer->unread_bytes = bytes;
	/*
	 * What the kernel says of the socket's queue tells how many descriptors the peer may not
	 * have read yet.
	 */
	most = peer->out_count * WW_PACKET_FDS +
		(uint32_t)in_socket / PACKET_BYTES_LEAST * WW_PACKET_FDS;
	if (most < peer->unread)
		unread_set_fds(peer, most);
	ww_list_remove(&peer->of_unread);
	if (bytes > 0)
		ww_list_append(&account->unread_peers, &peer->of_unread);
	return (uint32_t)in_socket;
}

void unread_forget(struct peer *peer)
{
	unread_set_fds(peer, 0);
	ww_list_remove(&peer->of_unread);
	peer->account->unread_bytes -= peer->unread_bytes;
	peer->unread_bytes = 0;
}

bool unread_is_none(struct peer *peer)
{
	(void)unread_measure(peer);
	return peer->unread_bytes == 0;
}

/*
 * While a user has more unread than this, measures the connections that were measured the longest
 * time ago.
 */
static void unread_sweep(struct account *account, uint64_t bytes, uint64_t fds)
{
	for (int i = 0; i < SWEEP_MOST && !ww_list_is_empty(&account->unread_peers) &&
		(account->unread_bytes > bytes || account->unread > fds);
		i++)
		(void)unread_measure(
			ww_container(account->unread_peers.next, struct peer, of_unread));
}

bool unread_is_too_much(struct account *account)
{
	unread_sweep(account, account->limits.unread_bytes, UINT64_MAX);
	return account->unread_bytes > account->limits.unread_bytes;
}

ww_status unread_fail(const struct account *account)
{
	return ww_fail(WW_ERR_QUOTA,
		"%" PRIu64
		" bytes of answers were sent to user %u and are not read, more than the limit of %" PRIu64
		"; have that user's processes read them, end them, or raise unread_bytes "
		"(warpwayd.conf)",
		account->unread_bytes, account->uid, account->limits.unread_bytes);
}

ww_status unread_fail_fds(const struct peer *peer)
{
	return ww_fail(WW_ERR_QUOTA,
		"%" PRIu32
		" descriptors were sent to user %u and are not read; read the answers first",
		peer->account->unread, peer->uid);
}

/* Descriptors in flight are charged to the user that is to read them. */
ww_status unread_charge_fds(struct peer *peer, size_t fd_count)
{
	struct account *account = peer->account;
	uint32_t most = peer->server->unread_fds;

	if (peer->unread > 0)
		(void)unread_measure(peer);
	if (fd_count <= most)
		unread_sweep(account, UINT64_MAX, most - fd_count);
	if (account->unread + fd_count > most)
		return unread_fail_fds(peer);
	unread_set_fds(peer, peer->unread + (uint32_t)fd_count);
	return WW_OK;
}

void unread_return_fds(struct peer *peer, size_t fd_count)
{
	unread_set_fds(peer, peer->unread - (uint32_t)fd_count);
}
