/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.c - a connection, see peer.h
 */
#include "daemon/broker/peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/broker/descriptor_check.h"
#include "daemon/broker/fair_queue.h"
#include "daemon/broker/pending_request.h"
#include "daemon/broker/receiver.h"
#include "daemon/broker/refusal.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/unread_replies.h"
#include "daemon/broker/watch.h"
#include "daemon/registry/holder.h"

/* How many packets are still read after the other end was closed. */
#define LAST_PACKETS 64

/*
 * How many of those whose other ends were closed are served before others have their turn, and for
 * how long, if it is more than one.
 */
#define HUNG_UP_MOST 16
#define HUNG_UP_NS   50000

/* How often closed connections with unread answers are measured, see peer_close(). */
#define LINGER_MS       50
#define LINGER_FIRST_MS 2

/* How many of these are measured each time. */
#define LINGER_LOOKS 128

/*
 * Refused connections that stay until they have read the reason: the most of all users, and of one
 * user.
 */
#define REFUSED_MOST    16
#define REFUSED_OF_USER 4

/* --- receiving --- */

void peer_receive(struct peer *peer, ww_status status, const uint8_t *packet, size_t bytes)
{
	if (status == WW_NOT_READY)
		return;
	if (status == WW_OK) {
		peer->server->calls->handle(peer, packet, bytes);
		return;
	}
	descriptor_discard(peer);
	if (status < 0 && status != WW_ERR_PEER_LOST) {
		refusal_count_request(peer, 0);
		refusal_note(peer, 0, status);
		peer_send_error(peer, 0, status);
	}
	peer_close(peer);
}

static void peer_receive_next(struct peer *peer)
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
	if (receiver_is_needed(peer)) {
		receiver_take(peer);
		return;
	}
	status = ww_packet_receive(peer->socket, server->in, sizeof(server->in), &bytes, peer->fds,
		&peer->fd_count);
	peer_receive(peer, status, server->in, bytes);
}

/* Whether another packet of it may be read. */
static bool peer_may_hear(const struct peer *peer)
{
	return ww_list_is_empty(&peer->out) && !peer->is_replaying && !peer->is_stalled &&
		!peer->is_starved && !peer->is_last;
}

/* Its other end is closed, but a receiver has a packet of it: peer_go_on() does the rest. */
static void peer_await_receiver(struct peer *peer)
{
	peer->is_ending = true;
	peer->events = 0;
	uv_poll_stop(&peer->poll);
}

/*
 * The other end is closed: handles the packets that were sent before, as far as they are there. A
 * process that released an object in order has not died holding it. If the process has died, its
 * packets do not matter. May close the peer.
 * Return: false: a receiver still has one of these packets, and the peer is closed when that is
 * done.
 */
static bool peer_hear_last(struct peer *peer)
{
	if (peer->holder && holder_is_over(&peer->server->registry, peer->holder))
		return true;
	for (int i = 0; i < LAST_PACKETS && !peer->is_closed && !peer->is_away; i++) {
		if (!peer_may_hear(peer))
			return true;
		peer_receive_next(peer); /* closes the peer after the last packet */
	}
	if (peer->is_closed || !peer->is_away)
		return true;
	peer_await_receiver(peer);
	return false;
}

/* The other end is closed: the packets that it had sent before are handled in turns. */
static void peer_hang_up(struct peer *peer)
{
	if (!peer->has_hung_up)
		peer->last_packets = LAST_PACKETS;
	peer->has_hung_up = true;
}

/*
 * Has it served in its turn. If it waits for its turn already, the loop leaves it alone until then.
 */
static void peer_queue(struct peer *peer)
{
	if (!fair_queue_join(peer))
		peer_mute(peer);
}

void peer_go_on(struct peer *peer)
{
	peer->is_away = false;
	if (peer->is_closed)
		return;
	if (peer->is_ending) {
		peer_hang_up(peer);
		peer_queue(peer);
	} else if (peer->is_last && ww_list_is_empty(&peer->out)) {
		peer_close(peer);
	} else {
		peer_listen(peer);
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

void peer_on_event(uv_poll_t *poll, int error, int events)
{
	struct peer *peer = poll->data;

	if (peer->is_closed)
		return;
	if (error < 0 || (events & UV_DISCONNECT)) {
		peer_hang_up(peer);
		if (peer_has_last_wills(peer)) {
			ww_list_remove(&peer->of_hung_up);
			ww_list_append(&peer->server->hung_up, &peer->of_hung_up);
		}
	} else if (events & UV_WRITABLE) {
		peer->is_writable = true;
	}
	peer_queue(peer);
}

/*
 * Handles one of the packets that came before the end, or the end itself: as peer_hear_last(), in
 * turns.
 */
static void peer_serve_last(struct peer *peer)
{
	bool is_over = peer->holder && holder_is_over(&peer->server->registry, peer->holder);

	if (is_over || (!peer->is_away && (!peer_may_hear(peer) || peer->last_packets-- == 0))) {
		peer_close(peer);
		return;
	}
	if (!peer->is_away)
		peer_receive_next(peer); /* closes the peer after the last packet */
	if (peer->is_closed)
		return;
	if (peer->is_away)
		peer_await_receiver(peer);
	else
		peer_queue(peer);
}

/* --- what it is charged --- */

static void peer_return_connection(struct peer *peer)
{
	const struct charge charge = {.connections = 1};

	if (peer->is_charged) {
		account_return(&peer->server->registry.accounts, peer->account, &charge);
		peer->account->peers--;
		receiver_release(peer->account);
	}
	peer->is_charged = false;
}

static ww_status peer_charge_connection(struct peer *peer)
{
	const struct charge charge = {.connections = 1};
	struct accounts *accounts = &peer->server->registry.accounts;

	peer->account = account_get(accounts, peer->uid);
	if (!peer->account)
		return WW_ERR_NO_MEMORY;
	if (unread_is_too_much(peer->account))
		return unread_fail(peer->account);
	ww_try(account_charge(accounts, peer->account, &charge));
	peer->is_charged = true;
	peer->account->peers++;
	return account_check_connection(accounts, peer->account);
}

/* --- accepting and closing --- */

static void free_peer(uv_handle_t *handle)
{
	struct peer *peer = handle->data;

	free(peer->gids);
	free(peer);
}

static void peer_add(struct peer *peer)
{
	struct server *server = peer->server;

	ww_list_append(&server->peers, &peer->of_server);
	server->peer_count++;
	peer_listen(peer);
}

/* Frees the peer, its socket, and what it was charged. */
static void peer_release(struct peer *peer)
{
	peer_return_connection(peer);
	if (peer->account) {
		unread_forget(peer);
		account_put(&peer->server->registry.accounts, peer->account);
	}
	ww_list_remove(&peer->of_server);
	uv_close((uv_handle_t *)&peer->poll, free_peer);
	/*
	 * Descriptors in the socket's queue of an untrusted user must not be released by this
	 * process.
	 */
	if (peer->is_trusted)
		ww_fd_close(peer->socket);
	else
		receiver_close_socket(peer->server, peer->socket);
}

/* Frees the refused connections that have read the reason. */
static void peers_drop_refused(struct server *server)
{
	struct ww_list *link = server->refused.next;

	while (link != &server->refused) {
		struct peer *peer = ww_container(link, struct peer, of_server);

		link = link->next;
		if (unread_is_none(peer)) {
			peer->server->refused_count--;
			peer->account->refused--;
			peer_release(peer);
		}
	}
}

static void peer_linger(struct peer *peer, struct ww_list *list);

/*
 * Sends the reason and closes. The socket stays open until the reason is read, or refusals could
 * fill the kernel's memory. If several refused connections do not read, no reason is sent. A new
 * socket has room for that packet, so nothing is queued.
 */
static void peer_refuse(struct peer *peer, ww_status status)
{
	struct server *server = peer->server;

	refusal_note_connection(peer, status);
	peers_drop_refused(server);
	peer_return_connection(peer);
	if (!peer->account || peer->account->refused >= REFUSED_OF_USER ||
		server->refused_count >= REFUSED_MOST) {
		peer_release(peer);
		return;
	}
	peer_send_error(peer, 0, status);
	peer->is_closed = true;
	server->refused_count++;
	peer->account->refused++;
	peer_linger(peer, &server->refused);
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
	ww_list_init(&peer->of_hung_up);
	ww_list_init(&peer->of_receiver);
	ww_list_init(&peer->waits);
	ww_list_init(&peer->out);
	ww_list_init(&peer->of_ready);
	ww_list_init(&peer->of_unread);
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
	if (uv_poll_init(&server->loop, &peer->poll, socket) < 0) {
		free(peer);
		ww_fd_close(socket);
		return ww_fail(WW_ERR_SYSTEM, "the broker cannot watch the connection");
	}
	peer->poll.data = peer;
	unread_bound(socket);
	status = peer_identify(peer);
	if (status == WW_OK)
		status = peer_charge_connection(peer);
	if (status < 0)
		peer_refuse(peer, status);
	else
		peer_add(peer);
	return status;
}

static void peer_finish(struct peer *peer)
{
	struct server *server = peer->server;

	peer_release(peer);
	server->peer_count--;
	server_listen(server);
}

/*
 * The kernel reports no event when a socket's last packet was read. So sockets are measured, a
 * bounded number at a time.
 */
static void on_linger(uv_timer_t *timer)
{
	struct server *server = timer->loop->data;
	struct ww_list *last = server->lingering.previous;

	peers_drop_refused(server);
	for (int i = 0; i < LINGER_LOOKS && !ww_list_is_empty(&server->lingering); i++) {
		struct ww_list *link = server->lingering.next;
		struct peer *peer = ww_container(link, struct peer, of_server);

		ww_list_remove(link);
		ww_list_append(&server->lingering, link);
		if (unread_is_none(peer))
			peer_finish(peer);
		if (link == last)
			break;
	}
	if (ww_list_is_empty(&server->lingering) && server->refused_count == 0)
		uv_timer_stop(timer);
}

/*
 * Closed for the broker, but the socket stays open until the other end has read all, see
 * peer_close().
 */
static void peer_linger(struct peer *peer, struct ww_list *list)
{
	struct server *server = peer->server;

	uv_poll_stop(&peer->poll);
	shutdown(peer->socket, SHUT_RDWR);
	/* If the other end is closed too, all counts as read soon. */
	if (!uv_is_active((const uv_handle_t *)&server->linger) ||
		uv_timer_get_due_in(&server->linger) > LINGER_FIRST_MS)
		uv_timer_start(&server->linger, on_linger, LINGER_FIRST_MS, LINGER_MS);
	ww_list_remove(&peer->of_server);
	ww_list_append(list, &peer->of_server);
}

static void peer_await_exit(struct peer *peer)
{
	struct registry *registry = &peer->server->registry;
	struct holder *holder = peer->holder;

	if (holder && peer->of_holder.next == peer->of_holder.previous &&
		!holder_awaits_exit(registry, holder))
		holder_await_exit(registry, holder);
}

void peer_close(struct peer *peer)
{
	struct server *server = peer->server;
	struct holder *holder = peer->holder;

	if (peer->is_closed)
		return;
	peer->is_closed = true;
	peer_await_exit(peer);
	ww_list_remove(&peer->of_holder);
	peer->holder = NULL;
	fair_queue_leave(peer);
	ww_list_remove(&peer->of_hung_up);
	receiver_forget(peer);
	wait_end_all(peer);
	watch_end(peer);
	peer_drop_queue(peer);
	if (unread_is_none(peer))
		peer_finish(peer);
	else
		peer_linger(peer, &server->lingering);
	if (holder && ww_list_is_empty(&holder->peers))
		holder_end(&server->registry, holder);
}

void peer_close_hung_up(struct server *server)
{
	uint64_t until_ns = ww_clock_now_ns() + HUNG_UP_NS;
	struct ww_list heard;
	struct ww_list *link;

	ww_list_init(&heard);
	for (int i = 0; i < HUNG_UP_MOST && (i == 0 || ww_clock_now_ns() < until_ns) &&
		(link = ww_list_take_first(&server->hung_up));
		i++) {
		struct peer *peer = ww_container(link, struct peer, of_hung_up);

		if (peer_hear_last(peer) && !peer->is_closed)
			ww_list_append(&heard, link);
	}
	ww_list_for_each (of_hung_up, &heard)
		peer_await_exit(ww_container(of_hung_up, struct peer, of_hung_up));
	while ((link = ww_list_take_first(&heard)))
		peer_close(ww_container(link, struct peer, of_hung_up));
}

void peer_serve(struct peer *peer)
{
	peer->is_muted = false;
	if (peer->has_hung_up) {
		peer_serve_last(peer);
		return;
	}
	if (peer->is_writable) {
		peer->is_writable = false;
		peer->is_paused = false;
		peer_flush(peer);
		(void)unread_measure(peer);
		if (ww_list_is_empty(&peer->out) && peer->is_watching)
			watch_go_on(peer);
	} else if (peer_wanted_events(peer) & UV_READABLE) {
		peer_receive_next(peer);
	}
	if (!peer->is_closed && peer->is_last && ww_list_is_empty(&peer->out))
		peer_close(peer);
	peer_listen(peer);
}
