/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - one connection to a broker, from connect(2) to the broker's welcome
 *
 * A connection is made whole or not at all, and once it broke it is of no more use: whoever needs
 * one makes another. It is counted, so that a thread may wait on its socket without a lock: the
 * descriptor stays open, and so stays what it is, as long as somebody looks at it.
 *
 * Sending and receiving here wait, each for one packet. Many threads on one connection are
 * broker_client.h's business.
 */
#ifndef WW_CLIENT_CONNECTION_H
#define WW_CLIENT_CONNECTION_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "client/address.h"
#include "wire/packet.h"
#include "wire/protocol.h"

struct ww_connection {
	struct ww_ref ref;
	int socket;
	uint32_t uid;                   /* of who made the listening socket, by the kernel's word */
	struct ww_wire_welcome welcome; /* what the broker said of itself */
};

/* What a hello says of us. */
struct ww_caller {
	uint8_t process_id[WW_WIRE_ID_BYTES]; /* of this process, as one broker knows it */
	bool is_watcher;                      /* the connection only watches */
};

/* A packet that came. */
struct ww_arrival {
	struct ww_wire_header header;
	size_t bytes;
	int fds[WW_PACKET_FDS];
	size_t fd_count;
};

/*
 * Connects and says hello. Never starts a broker.
 * @out_is_absent:  nobody listens there, so that one might be started; the status is
 *                  WW_ERR_NO_BROKER then
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_NO_BROKER; WW_ERR_ACCESS; WW_ERR_PROTOCOL; or what the broker
 *         answers: WW_ERR_VERSION, WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_connection_open(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent);

/*
 * The same in two steps, each of them one attempt. A deadline that has passed means: without
 * waiting.
 * Return: as ww_connection_open(), but also: WW_TIMED_OUT or WW_CANCELLED (connect: there is none;
 *         greet: the welcome is still to come, so greet again); WW_ERR_PEER_LOST (it ended on the
 *         way: connect again).
 */
ww_status ww_connection_connect(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent);
ww_status ww_connection_greet(struct ww_connection *connection, const struct ww_address *address,
	uint64_t deadline_ns);

struct ww_connection *ww_connection_ref(struct ww_connection *connection);

/*
 * The last one ends the connection, also where a child made by fork() has the socket too. Takes
 * NULL, returns NULL.
 */
struct ww_connection *ww_connection_unref(struct ww_connection *connection);

WW_DEFINE_CLEANUP(struct ww_connection, ww_connection_unref)
#define WW_AUTO_CONNECTION WW_CLEANUP(ww_connection_unref_p)

/* Wakes everybody who waits on the socket; nothing comes or goes any more. */
void ww_connection_shut(struct ww_connection *connection);

/*
 * Waits until the socket is ready.
 * @events: of poll(2)
 * Return: WW_OK (an attempt is worth it); WW_TIMED_OUT; WW_CANCELLED; WW_ERR_SYSTEM.
 */
ww_status ww_connection_wait(struct ww_connection *connection, short events, uint64_t deadline_ns);

/* Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was sent); as ww_packet_send(). */
ww_status ww_connection_send(struct ww_connection *connection, const void *packet, size_t bytes,
	uint64_t deadline_ns);

/*
 * Takes the next packet, its header read.
 * @room:         of @packet
 * @out_arrival:  its descriptors are the caller's
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_PEER_LOST (the other end is closed);
 *         WW_ERR_PROTOCOL; as ww_packet_receive().
 */
ww_status ww_connection_receive(struct ww_connection *connection, void *packet, size_t room,
	uint64_t deadline_ns, struct ww_arrival *out_arrival);

/*
 * The same, of what is there now.
 * Return: also WW_NOT_READY; WW_ERR_DESCRIPTOR (one may hang whoever closes it: see close_async.h);
 *         WW_ERR_LIMIT (no descriptor left for one that came: the packet is there without any, its
 *         header and length in @out_arrival as far as they can be read).
 */
ww_status ww_connection_take(struct ww_connection *connection, void *packet, size_t room,
	struct ww_arrival *out_arrival);

/* Closes the descriptors of a packet that nobody wants. */
void ww_arrival_drop(struct ww_arrival *arrival);

/*
 * Records what the broker refused, from a message `error`.
 * Return: the status it says; WW_ERR_PROTOCOL (it says nothing that can be).
 */
ww_status ww_connection_fail(const void *packet, size_t bytes, uint16_t version);

#endif
