/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.h - one connection to a broker, from connect(2) to the broker's welcome
 *
 *   connect() ──hello──> the broker ──welcome──> receive_welcome() ──> packets ──> end
 *
 * After a connection broke it is not used again; its user makes another one. A connection has a
 * reference count, so that a thread may wait on its socket without a lock: the descriptor stays
 * open until the last thread has stopped waiting.
 *
 * The functions here send or receive one packet and may wait for that. broker_client.h lets many
 * threads use one connection.
 */
#ifndef WW_CLIENT_CONNECTION_H
#define WW_CLIENT_CONNECTION_H

#include <stddef.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/ref.h"
#include "client/address.h"
#include "wire/packet.h"
#include "wire/protocol.h"

struct ww_connection {
	struct ww_ref ref;
	struct ww_list link; /* in the list of all */
	int socket;          /* -1: it is the parent's, and this process was made by fork() */
	uint32_t uid;        /* of the process that listens; the kernel says so */
	struct ww_wire_welcome welcome; /* as the broker sent it */
};

/* What this process tells a broker in its hello. */
struct ww_caller {
	uint8_t process_id[WW_WIRE_ID_BYTES]; /* of this process, for this broker only */
	bool is_watcher;                      /* the connection is for a ww_watch */
};

/* A packet that was received. */
struct ww_arrival {
	struct ww_wire_header header;
	size_t bytes;
	int fds[WW_PACKET_FDS];
	size_t fd_count;
};

/*
 * Connects, sends the hello and receives the welcome. Starts no broker.
 * @out_is_absent:  true: no process listens there, so that a broker may be started; the status is
 *                  WW_ERR_NO_BROKER then
 *
 * Return: WW_OK; WW_CANCELLED; WW_ERR_NO_BROKER; WW_ERR_ACCESS; WW_ERR_PROTOCOL; or what the broker
 *         answers: WW_ERR_VERSION, WW_ERR_QUOTA; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_connection_open(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent);

/*
 * The same in two steps, with one attempt each. If the deadline has passed, they do not wait.
 * Return: as ww_connection_open(), but also: WW_TIMED_OUT or WW_CANCELLED (of connect: there is no
 *         connection; of receive_welcome: call it again); WW_ERR_PEER_LOST (the broker ended on the
 *         way: connect again).
 */
ww_status ww_connection_connect(const struct ww_address *address, const struct ww_caller *caller,
	uint64_t deadline_ns, struct ww_connection **out_connection, bool *out_is_absent);
ww_status ww_connection_receive_welcome(struct ww_connection *connection,
	const struct ww_address *address, uint64_t deadline_ns);

#define WW_CONNECTION_ATTEMPTS 16

/*
 * Records why the last of WW_CONNECTION_ATTEMPTS attempts failed, unless that was done.
 * @status:  of that attempt
 * Return: WW_ERR_NO_BROKER, for WW_ERR_PEER_LOST and WW_TIMED_OUT; else @status.
 */
ww_status ww_connection_fail_open(const struct ww_address *address, ww_status status);

struct ww_connection *ww_connection_ref(struct ww_connection *connection);

/*
 * The last reference ends the connection, also if a child made by fork() has inherited the socket.
 * Takes NULL, returns NULL.
 */
struct ww_connection *ww_connection_unref(struct ww_connection *connection);

WW_DEFINE_CLEANUP(struct ww_connection, ww_connection_unref)
#define WW_AUTO_CONNECTION WW_CLEANUP(ww_connection_unref_p)

/* Ends sending and receiving, and wakes the threads that wait on the socket. */
void ww_connection_shut(struct ww_connection *connection);

/*
 * Waits until the socket is ready.
 * @events: of poll(2)
 * Return: WW_OK (try to send or receive); WW_TIMED_OUT; WW_CANCELLED; WW_ERR_SYSTEM.
 */
ww_status ww_connection_wait(struct ww_connection *connection, short events, uint64_t deadline_ns);

/* Return: WW_OK; WW_TIMED_OUT or WW_CANCELLED (nothing was sent); as ww_packet_send(). */
ww_status ww_connection_send(struct ww_connection *connection, const void *packet, size_t bytes,
	uint64_t deadline_ns);

/*
 * Receives the next packet and reads its header.
 * @room:         of @packet
 * @out_arrival:  the caller owns its descriptors
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_PEER_LOST (the other end is closed);
 *         WW_ERR_PROTOCOL; as ww_packet_receive().
 */
ww_status ww_connection_receive(struct ww_connection *connection, void *packet, size_t room,
	uint64_t deadline_ns, struct ww_arrival *out_arrival);

/*
 * The same, without waiting.
 * Return: also WW_NOT_READY; WW_ERR_DESCRIPTOR (to close one of its descriptors may hang: see
 *         close_async.h); WW_ERR_LIMIT (this process can open no more descriptors: the packet came
 *         without them, its header and length are in @out_arrival as far as they can be read).
 */
ww_status ww_connection_take(struct ww_connection *connection, void *packet, size_t room,
	struct ww_arrival *out_arrival);

/* Closes the descriptors of a packet. */
void ww_arrival_drop(struct ww_arrival *arrival);

/*
 * Records a message `error` of the broker.
 * Return: the status in it; WW_ERR_PROTOCOL (the message cannot be read, or the status is unknown).
 */
ww_status ww_connection_fail(const void *packet, size_t bytes, uint16_t version);

#endif
