/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - a connection, see peer.h
 */
#include "broker/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/registry_items.h"
#include "broker/server_parts.h"
#include "broker/vigil.h"

#ifndef SO_PEERPIDFD /* Linux 6.5 */
#define SO_PEERPIDFD 77
#endif

#define GROUPS_MAX 65536 /* NGROUPS_MAX of Linux */

/* What a packet with descriptors takes of a socket's queue at least, by the kernel's reckoning. */
#define PACKET_BYTES_LEAST 640

/* How often a user's connections are looked through for what they have read. */
#define SWEEP_MS 10

/* How many packets are still read of a connection that has ended. */
#define LAST_PACKETS 64

/* How often a connection that has ended is looked at, see peer_close(). */
#define LINGER_MS 50

/* Connections that even the privileged leave to others. */
#define PEERS_LEFT 16

/* A packet that waits for room. */
struct parcel {
	struct ww_list link;
	size_t bytes;
	size_t fd_count;
	int fds[WW_PACKET_FDS]; /* duplicates: what was granted may have ended by the time it is sent */
	uint8_t packet[];
};

static void on_event(uv_poll_t *poll, int error, int events);

/* Reads from it unless something is queued for it; always learns that it is gone. */
void peer_listen(struct peer *peer)
{
	bool has_work = !ww_list_is_empty(&peer->out) || peer->is_replaying || peer->is_paused ||
		peer->has_overflowed;
	int events = UV_DISCONNECT;

	if (peer->is_starved)
		events = UV_DISCONNECT;
	else if (has_work)
		events |= UV_WRITABLE;
	else if (!peer->is_stalled)
		events |= UV_READABLE;
	if (!peer->is_closed)
		uv_poll_start(&peer->poll, events, on_event);
}

/* --- sending --- */

static void free_parcel(struct peer *peer, struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->fd_count; i++)
		ww_fd_close(parcel->fds[i]);
	peer->account->parked -= (uint32_t)parcel->fd_count;
	free(parcel);
}

static ww_status fail_unread(const struct peer *peer)
{
	return ww_fail(WW_ERR_QUOTA,
		"%" PRIu32
		" descriptors were sent to user %u and are not read; read the answers first",
		peer->account->unread, peer->uid);
}

/* How many descriptors it may not have read yet, from what the kernel says of the socket's queue. */
static uint32_t count_unread(const struct peer *peer)
{
	uint32_t most = (uint32_t)(peer->out_count * WW_PACKET_FDS);
	int bytes = 0;

	if (ioctl(peer->socket, SIOCOUTQ, &bytes) == 0 && bytes > 0)
		most += (uint32_t)bytes / PACKET_BYTES_LEAST * WW_PACKET_FDS;
	return most < peer->unread ? most : peer->unread;
}

static void set_unread(struct peer *peer, uint32_t count)
{
	peer->account->unread += count - peer->unread;
	peer->unread = count;
}

/* Looks at all connections of a user, but not for each of its requests. */
static void sweep_unread(const struct peer *peer)
{
	struct account *account = peer->account;
	uint64_t now_ms = uv_now(&peer->server->loop);

	if (now_ms - account->swept_ms < SWEEP_MS)
		return;
	account->swept_ms = now_ms;
	ww_list_for_each (link, &peer->server->peers) {
		struct peer *other = ww_container(link, struct peer, of_server);

		if (other->account == account && other->unread > 0)
			set_unread(other, count_unread(other));
	}
}

/* Descriptors in flight are the user's who is to read them. */
static ww_status note_unread(struct peer *peer, size_t fd_count)
{
	struct account *account = peer->account;
	uint32_t most = peer->server->unread_fds;

	if (peer->unread > 0)
		set_unread(peer, count_unread(peer));
	if (account->unread + fd_count > most)
		sweep_unread(peer);
	if (account->unread + fd_count > most)
		return fail_unread(peer);
	set_unread(peer, peer->unread + (uint32_t)fd_count);
	return WW_OK;
}

static ww_status transmit(const struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	if (fd_count == 0)
		return ww_packet_send(peer->socket, packet, bytes, NULL, 0);
	return vault_send(&peer->server->vault, peer->socket, packet, bytes, fds, fd_count);
}

static ww_status queue(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	struct parcel *parcel;
	ww_status status = WW_OK;

	if (fd_count > 0 && peer->account->parked + fd_count > peer->server->waiting_fds)
		return fail_unread(peer);
	parcel = malloc(sizeof(*parcel) + bytes);
	if (!parcel)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	parcel->bytes = bytes;
	parcel->fd_count = 0;
	memcpy(parcel->packet, packet, bytes);
	while (status == WW_OK && parcel->fd_count < fd_count) {
		status = ww_fd_duplicate(fds[parcel->fd_count], &parcel->fds[parcel->fd_count]);
		if (status == WW_OK) {
			parcel->fd_count++;
			peer->account->parked++;
		}
	}
	if (status < 0) {
		free_parcel(peer, parcel);
		return status;
	}
	ww_list_append(&peer->out, &parcel->link);
	peer->out_count++;
	peer_listen(peer);
	return WW_OK;
}

/*
 * A peer that asks and does not read would have descriptors pile up in its socket, of which the kernel
 * allows a user only so many. The bound is where the kernel says "writable" again.
 */
static void pause_if_unread(struct peer *peer)
{
	int unread = 0;
	int room = 0;
	socklen_t length = sizeof(room);

	if (ioctl(peer->socket, SIOCOUTQ, &unread) < 0 ||
		getsockopt(peer->socket, SOL_SOCKET, SO_SNDBUF, &room, &length) < 0)
		return;
	if (unread > room / 4) {
		peer->is_paused = true;
		peer_listen(peer);
	}
}

/* What may be different in a moment. */
static bool is_scarce(ww_status status)
{
	return status == WW_ERR_LIMIT || status == WW_ERR_NO_MEMORY;
}

/* Nothing can be sent to it: it learns that by the end of the connection, and so do we. */
static void cut_off(const struct peer *peer, ww_status status)
{
	if (status != WW_ERR_PEER_LOST)
		ww_log_debug("peer: cut off process %" PRIu32 ": %s", peer->pid,
			ww_error_last()->message);
	shutdown(peer->socket, SHUT_RDWR);
}

static ww_status send_or_queue(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	ww_status status;

	if (!ww_list_is_empty(&peer->out))
		return queue(peer, packet, bytes, fds, fd_count);
	status = transmit(peer, packet, bytes, fds, fd_count);
	if (status == WW_NOT_READY)
		return queue(peer, packet, bytes, fds, fd_count);
	if (is_scarce(status))
		return status;
	if (status < 0)
		cut_off(peer, status);
	else if (fd_count > 0)
		pause_if_unread(peer);
	return WW_OK; /* the loop says so too */
}

ww_status peer_send(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	ww_status status;

	if (peer->is_closed)
		return WW_OK;
	if (fd_count == 0)
		return send_or_queue(peer, packet, bytes, NULL, 0);
	ww_try(note_unread(peer, fd_count));
	status = send_or_queue(peer, packet, bytes, fds, fd_count);
	if (status < 0)
		set_unread(peer, peer->unread - (uint32_t)fd_count);
	return status;
}

/* What is queued, as far as there is room. */
static void flush(struct peer *peer)
{
	while (!ww_list_is_empty(&peer->out)) {
		struct parcel *parcel = ww_container(peer->out.next, struct parcel, link);
		ww_status status = transmit(peer, parcel->packet, parcel->bytes, parcel->fds,
			parcel->fd_count);

		if (status == WW_NOT_READY)
			return;
		if (is_scarce(status)) {
			peer->is_starved = true;
			server_retry(peer->server);
			return;
		}
		if (status < 0)
			cut_off(peer, status);
		ww_list_remove(&parcel->link);
		peer->out_count--;
		free_parcel(peer, parcel);
	}
}

/* An answer that cannot even be queued would be waited for: the connection ends instead, and its client comes again. */
static void send_or_end(struct peer *peer, const void *packet, size_t bytes)
{
	if (peer_send(peer, packet, bytes, NULL, 0) < 0)
		shutdown(peer->socket, SHUT_RDWR);
}

void peer_send_done(struct peer *peer, uint32_t serial)
{
	const struct ww_wire_header header = {.serial = serial};
	const struct ww_wire_done done = {0};
	uint8_t packet[64];
	size_t bytes;

	if (serial == 0)
		return;
	bytes = ww_wire_encode_done(&done, peer->version, &header, packet, sizeof(packet));
	send_or_end(peer, packet, bytes);
}

void peer_send_error(struct peer *peer, uint32_t serial, ww_status status)
{
	const struct ww_error *record = ww_error_last();
	const struct ww_wire_header header = {.serial = serial};
	struct ww_wire_error error = {.status = status};
	uint8_t packet[512];
	size_t bytes;

	if (record->status == status) {
		error.domain = record->domain;
		error.native = record->native;
		memcpy(error.message, record->message, sizeof(error.message));
		error.message[sizeof(error.message) - 1] = '\0';
	}
	bytes = ww_wire_encode_error(&error, WW_WIRE_LEAST, &header, packet, sizeof(packet));
	send_or_end(peer, packet, bytes);
}

/* --- what comes --- */

static void receive(struct peer *peer)
{
	struct server *server = peer->server;
	size_t bytes = 0;
	ww_status status;

	if (descriptor_is_flooded(peer)) {
		peer->is_stalled = true;
		server->has_stalled = true;
		peer_listen(peer);
		return;
	}
	status = ww_packet_receive(peer->socket, server->in, sizeof(server->in), &bytes, peer->fds,
		&peer->fd_count);
	if (status == WW_NOT_READY)
		return;
	if (status == WW_OK) {
		request_handle(peer, server->in, bytes);
		return;
	}
	descriptor_discard(peer);
	if (status < 0 && status != WW_ERR_PEER_LOST)
		peer_send_error(peer, 0, status);
	peer_close(peer);
}

/* What it sent before its end is still done: who let go in order has not died holding it. Who has died waits for none. */
void peer_hear_last(struct peer *peer)
{
	if (peer->holder && holder_is_over(&peer->server->registry, peer->holder))
		return;
	for (int i = 0; i < LAST_PACKETS && !peer->is_closed; i++) {
		if (!ww_list_is_empty(&peer->out) || peer->is_replaying || peer->is_stalled ||
			peer->is_starved)
			return;
		receive(peer); /* closes it at the end of what there is */
	}
}

void peer_resume_all(struct server *server)
{
	server->has_stalled = false;
	ww_list_for_each (link, &server->peers) {
		struct peer *peer = ww_container(link, struct peer, of_server);

		if (peer->is_stalled || peer->is_starved) {
			peer->is_stalled = false;
			peer->is_starved = false;
			peer_listen(peer);
		}
	}
}

static void on_event(uv_poll_t *poll, int error, int events)
{
	struct peer *peer = poll->data;

	vigil_look(peer->server);
	if (peer->is_closed)
		return;
	if (error < 0 || (events & UV_DISCONNECT)) {
		peer_hear_last(peer);
		peer_close(peer);
		return;
	}
	if (events & UV_WRITABLE) {
		peer->is_paused = false;
		flush(peer);
		if (ww_list_is_empty(&peer->out) && peer->is_watching)
			watch_go_on(peer);
		peer_listen(peer);
	} else if (events & UV_READABLE) {
		receive(peer);
		if (peer->is_replaying) /* which needs turns of its own */
			peer_listen(peer);
	}
	if (!peer->is_closed && peer->is_last && ww_list_is_empty(&peer->out))
		peer_close(peer);
}

/* --- who it is --- */

int peer_open_pidfd(const struct peer *peer)
{
	socklen_t length = sizeof(int);
	int pidfd = -1;

	if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) == 0)
		return pidfd;
	return peer->pid ? (int)syscall(SYS_pidfd_open, peer->pid, 0) : -1;
}

/* Its own group first, then the others. */
static ww_status identify_groups(struct peer *peer)
{
	socklen_t length = 0;

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

static ww_status identify(struct peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);

	if (getsockopt(peer->socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0)
		return ww_fail_errno(errno, NULL, "cannot tell who connected");
	peer->pid = credentials.pid > 0 ? (uint32_t)credentials.pid : 0;
	peer->uid = credentials.uid;
	peer->gid = credentials.gid;
	return identify_groups(peer);
}

/*
 * One user cannot have all connections there may be: others have half of them, and root and the user whose broker
 * it is leave a few to each other.
 */
static ww_status check_share(const struct peer *peer)
{
	uint32_t limit = peer->server->peer_limit;
	bool is_privileged = peer->uid == 0 || peer->uid == geteuid();
	uint32_t share = is_privileged ? limit - PEERS_LEFT : limit / 2;

	if (peer->account->used.connections > share)
		return ww_fail(WW_ERR_QUOTA,
			"user %u has %" PRIu32 " of the %" PRIu32
			" connections this broker can have; end some, or raise its limit of open files "
			"(LimitNOFILE, ulimit -n)",
			peer->uid, share, limit);
	return WW_OK;
}

static void return_connection(struct peer *peer)
{
	const struct charge charge = {.connections = 1};
	struct accounts *accounts = &peer->server->registry.accounts;

	if (!peer->account)
		return;
	account_return(accounts, peer->account, &charge);
	account_put(accounts, peer->account);
	peer->account = NULL;
}

static ww_status charge_connection(struct peer *peer)
{
	const struct charge charge = {.connections = 1};
	struct accounts *accounts = &peer->server->registry.accounts;
	struct account *account = account_get(accounts, peer->uid);
	ww_status status;

	if (!account)
		return WW_ERR_NO_MEMORY;
	status = account_charge(accounts, account, &charge);
	if (status < 0) {
		account_put(accounts, account);
		return status;
	}
	peer->account = account;
	status = check_share(peer);
	if (status < 0)
		return_connection(peer);
	return status;
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

/* --- coming and going --- */

static void free_peer(uv_handle_t *handle)
{
	struct peer *peer = handle->data;

	free(peer->gids);
	free(peer);
}

static void enter(struct peer *peer)
{
	struct server *server = peer->server;

	ww_list_append(&server->peers, &peer->of_server);
	server->peer_count++;
	peer_listen(peer);
}

/* Says why not, and closes. A new socket has room for that one packet, so nothing is queued. */
static void refuse(struct peer *peer, ww_status status)
{
	peer_send_error(peer, 0, status);
	ww_fd_close(peer->socket);
	free(peer->gids);
	free(peer);
}

static struct peer *peer_new(struct server *server, int socket)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->server = server;
	peer->socket = socket;
	ww_list_init(&peer->of_server);
	ww_list_init(&peer->of_holder);
	ww_list_init(&peer->of_watchers);
	ww_list_init(&peer->waits);
	ww_list_init(&peer->out);
	return peer;
}

ww_status peer_accept(struct server *server, int socket)
{
	struct peer *peer = peer_new(server, socket);
	ww_status status;

	if (!peer) {
		ww_fd_close(socket);
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	}
	status = identify(peer);
	if (status == WW_OK)
		status = charge_connection(peer);
	if (status < 0) {
		refuse(peer, status);
		return status;
	}
	if (uv_poll_init(&server->loop, &peer->poll, socket) < 0) {
		return_connection(peer);
		refuse(peer, ww_fail(WW_ERR_SYSTEM, "the broker cannot watch the connection"));
		return WW_ERR_SYSTEM;
	}
	peer->poll.data = peer;
	enter(peer);
	return WW_OK;
}

static void drop_queue(struct peer *peer)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&peer->out)))
		free_parcel(peer, ww_container(link, struct parcel, link));
	peer->out_count = 0;
}

static void finish(struct peer *peer)
{
	struct server *server = peer->server;

	set_unread(peer, 0);
	return_connection(peer);
	ww_list_remove(&peer->of_server);
	uv_close((uv_handle_t *)&peer->poll, free_peer);
	ww_fd_close(peer->socket);
	server->peer_count--;
	server_listen(server);
}

/* The kernel tells nobody when a socket's last packet was read. */
static void on_linger(uv_timer_t *timer)
{
	struct server *server = timer->data;
	struct ww_list *link = server->lingering.next;

	while (link != &server->lingering) {
		struct peer *peer = ww_container(link, struct peer, of_server);

		link = link->next;
		if (count_unread(peer) == 0)
			finish(peer);
	}
	if (ww_list_is_empty(&server->lingering))
		uv_timer_stop(timer);
}

static void linger(struct peer *peer)
{
	struct server *server = peer->server;

	uv_poll_stop(&peer->poll);
	shutdown(peer->socket, SHUT_RDWR);
	if (ww_list_is_empty(&server->lingering))
		uv_timer_start(&server->linger, on_linger, LINGER_MS, LINGER_MS);
	ww_list_remove(&peer->of_server);
	ww_list_append(&server->lingering, &peer->of_server);
}

void peer_mourn(struct peer *peer)
{
	struct registry *registry = &peer->server->registry;
	struct holder *holder = peer->holder;

	if (holder && peer->of_holder.next == peer->of_holder.previous &&
		!holder_is_mourned(registry, holder))
		holder_mourn(registry, holder);
}

void peer_close(struct peer *peer)
{
	struct server *server = peer->server;
	struct holder *holder = peer->holder;

	if (peer->is_closed)
		return;
	peer->is_closed = true;
	peer_mourn(peer);
	ww_list_remove(&peer->of_holder);
	peer->holder = NULL;
	vigil_leave(peer);
	wait_end_all(peer);
	watch_end(peer);
	drop_queue(peer);
	if (count_unread(peer) > 0)
		linger(peer);
	else
		finish(peer);
	if (holder && ww_list_is_empty(&holder->peers))
		holder_end(&server->registry, holder);
}
