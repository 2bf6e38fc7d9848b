/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_send.c - answers to a connection, at once or when there is room, see peer.h
 *
 * A packet that has no room in the socket is queued, and nothing more is read from that connection
 * until the queue is empty.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/broker/descriptor_check.h"
#include "daemon/broker/peer.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/unread_replies.h"
#include "daemon/registry/holder.h"

/* A packet that is longer needs more room in the socket than a connection has. */
#define LONG_BYTES (UNREAD_ROOM / 2)

/* A packet that waits for room in the socket. */
struct queued_packet {
	struct ww_list link;
	size_t bytes;
	size_t fd_count;
	int fds[WW_PACKET_FDS]; /* duplicates: the object may have ended when the packet is sent */
	uint8_t packet[];
};

int peer_wanted_events(const struct peer *peer)
{
	bool has_work = !ww_list_is_empty(&peer->out) || peer->is_replaying || peer->is_paused ||
		peer->has_overflowed;

	if (peer->is_starved)
		return UV_DISCONNECT;
	if (has_work)
		return UV_DISCONNECT | UV_WRITABLE;
	return peer->is_stalled || peer->is_away ? UV_DISCONNECT : UV_DISCONNECT | UV_READABLE;
}

void peer_listen(struct peer *peer)
{
	int events = peer_wanted_events(peer);

	if (peer->is_closed || peer->is_ending || peer->is_muted || events == peer->events)
		return;
	peer->events = events;
	uv_poll_start(&peer->poll, events, peer->server->calls->on_event);
}

bool peer_has_last_wills(const struct peer *peer)
{
	return peer->holder && !ww_list_is_empty(&peer->holder->signal_pages);
}

void peer_mute(struct peer *peer)
{
	peer->is_muted = true;
	peer->events = !peer->has_hung_up && peer_has_last_wills(peer) ? UV_DISCONNECT : 0;
	if (peer->events)
		uv_poll_start(&peer->poll, UV_DISCONNECT, peer->server->calls->on_event);
	else
		uv_poll_stop(&peer->poll);
}

static void queued_packet_free(struct peer *peer, struct queued_packet *queued_packet)
{
	descriptor_close_all(peer->server, peer->account, queued_packet->fds,
		queued_packet->fd_count);
	peer->account->parked -= (uint32_t)queued_packet->fd_count;
	free(queued_packet);
}

static void queued_packet_remove(struct peer *peer, struct queued_packet *queued_packet)
{
	ww_list_remove(&queued_packet->link);
	peer->out_count--;
	peer->out_bytes -= sizeof(*queued_packet) + queued_packet->bytes;
	queued_packet_free(peer, queued_packet);
}

static ww_status peer_transmit(const struct peer *peer, const void *packet, size_t bytes,
	const int *fds, size_t fd_count)
{
	ww_status status;

	if (fd_count > 0)
		return fdstore_send(&peer->server->fdstore, peer->socket, packet, bytes, fds,
			fd_count);
	if (bytes <= LONG_BYTES)
		return ww_packet_send(peer->socket, packet, bytes, NULL, 0);
	unread_widen(peer->socket, bytes);
	status = ww_packet_send(peer->socket, packet, bytes, NULL, 0);
	unread_bound(peer->socket);
	return status;
}

static ww_status queued_packet_add(struct peer *peer, const void *packet, size_t bytes,
	const int *fds, size_t fd_count)
{
	struct queued_packet *queued_packet;
	ww_status status = WW_OK;

	if (fd_count > 0 && peer->account->parked + fd_count > peer->server->waiting_fds)
		return unread_fail_fds(peer);
	queued_packet = malloc(sizeof(*queued_packet) + bytes);
	if (!queued_packet)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	queued_packet->bytes = bytes;
	queued_packet->fd_count = 0;
	memcpy(queued_packet->packet, packet, bytes);
	while (status == WW_OK && queued_packet->fd_count < fd_count) {
		status = ww_fd_duplicate(fds[queued_packet->fd_count],
			&queued_packet->fds[queued_packet->fd_count]);
		if (status == WW_OK) {
			queued_packet->fd_count++;
			peer->account->parked++;
		}
	}
	if (status < 0) {
		queued_packet_free(peer, queued_packet);
		return status;
	}
	ww_list_append(&peer->out, &queued_packet->link);
	peer->out_count++;
	peer->out_bytes += sizeof(*queued_packet) + bytes;
	peer_listen(peer);
	return WW_OK;
}

/* Errors that may pass soon. */
static bool is_scarce(ww_status status)
{
	return status == WW_ERR_LIMIT || status == WW_ERR_NO_MEMORY;
}

/* Nothing can be sent to it. So the socket is shut down, and the loop reports its end. */
static void peer_cut_off(const struct peer *peer, ww_status status)
{
	if (status != WW_ERR_PEER_LOST)
		ww_log_debug("peer: cut off process %" PRIu32 ": %s", peer->pid,
			ww_error_last()->message);
	shutdown(peer->socket, SHUT_RDWR);
}

static ww_status peer_send_or_queue(struct peer *peer, const void *packet, size_t bytes,
	const int *fds, size_t fd_count)
{
	ww_status status;

	if (!ww_list_is_empty(&peer->out))
		return queued_packet_add(peer, packet, bytes, fds, fd_count);
	status = peer_transmit(peer, packet, bytes, fds, fd_count);
	if (status == WW_NOT_READY)
		return queued_packet_add(peer, packet, bytes, fds, fd_count);
	if (is_scarce(status))
		return status;
	if (status < 0)
		peer_cut_off(peer, status);
	return WW_OK; /* the loop reports the end */
}

ww_status peer_send(struct peer *peer, const void *packet, size_t bytes, const int *fds,
	size_t fd_count)
{
	ww_status status;
	uint32_t in_socket;

	if (peer->is_closed)
		return WW_OK;
	if (fd_count > 0)
		ww_try(unread_charge_fds(peer, fd_count));
	status = peer_send_or_queue(peer, packet, bytes, fds, fd_count);
	if (status < 0) {
		unread_return_fds(peer, fd_count);
		return status;
	}
	in_socket = unread_measure(peer);
	/*
	 * If a peer sends requests and does not read the answers, descriptors pile up in its
	 * socket, and the kernel limits these for each user. The bound is where the kernel says
	 * "writable" again.
	 */
	if (fd_count > 0 && in_socket > UNREAD_ROOM / 4) {
		peer->is_paused = true;
		peer_listen(peer);
	}
	return WW_OK;
}

ww_status peer_send_out(struct peer *peer, size_t bytes)
{
	return peer_send(peer, peer->server->out, bytes, NULL, 0);
}

void peer_flush(struct peer *peer)
{
	while (!ww_list_is_empty(&peer->out)) {
		struct queued_packet *queued_packet = ww_container(peer->out.next,
			struct queued_packet, link);
		ww_status status = peer_transmit(peer, queued_packet->packet, queued_packet->bytes,
			queued_packet->fds, queued_packet->fd_count);

		if (status == WW_NOT_READY)
			return;
		if (is_scarce(status)) {
			peer->is_starved = true;
			server_retry(peer->server);
			return;
		}
		if (status < 0)
			peer_cut_off(peer, status);
		queued_packet_remove(peer, queued_packet);
	}
}

void peer_drop_queue(struct peer *peer)
{
	while (!ww_list_is_empty(&peer->out))
		queued_packet_remove(peer,
			ww_container(peer->out.next, struct queued_packet, link));
}

/*
 * If an answer cannot even be queued, its client would wait for ever. So the connection ends, and
 * the client connects again.
 */
static void peer_end_if_unsent(const struct peer *peer, ww_status status)
{
	if (status < 0)
		shutdown(peer->socket, SHUT_RDWR);
}

void peer_send_done(struct peer *peer, uint32_t serial)
{
	const struct ww_wire_done done = {0};

	if (serial != 0)
		peer_end_if_unsent(peer, peer_answer(peer, serial, done, &done));
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
	peer_end_if_unsent(peer, peer_send(peer, packet, bytes, NULL, 0));
}

uint32_t peer_read_serial(const uint8_t *packet, size_t bytes)
{
	if (bytes < 8)
		return 0;
	return (uint32_t)packet[4] | (uint32_t)packet[5] << 8 | (uint32_t)packet[6] << 16 |
		(uint32_t)packet[7] << 24;
}
