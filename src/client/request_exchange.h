/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_exchange.h - what the files of one broker client call of each other
 *
 *   request_exchange.c  the steps of one request, and which thread reads for all
 *   request_send.c      packets to the broker: requests, cancels, releases
 *   request_answer.c    packets from the broker: answers, and the holds that come with them
 *   recovery.c          the next connection
 *   held_objects.c      what this process holds: asked, counted once more, released
 *
 * The caller of every function here, but ww_recovery_free(), holds ww_broker.lock.
 * ww_broker_client_recover() drops it while it connects; the others keep it, and none waits.
 */
#ifndef WW_CLIENT_REQUEST_EXCHANGE_H
#define WW_CLIENT_REQUEST_EXCHANGE_H

#include "client/broker_client.h"

/*
 * Makes a connection, and starts a broker if that is needed.
 * @may_start:  false: no broker is started
 * Return: as ww_connection_open() and ww_start(). After WW_CANCELLED, or if the time was too short,
 *         the next call continues what this one began.
 */
ww_status ww_broker_client_recover(struct ww_broker *broker, bool may_start, uint64_t deadline_ns);

struct ww_recovery *ww_recovery_free(struct ww_recovery *recovery); /* takes NULL, returns NULL */

/* Sends the releases that are due, as far as the socket has room. */
void ww_broker_client_send_due(struct ww_broker *broker);

/*
 * Releases an object that the broker may count as held by this process, but no hold is known here.
 * If the socket has no room, the release becomes due. Without memory for that the broker counts the
 * object as held until the connection ends.
 */
void ww_broker_client_release_unknown(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * The same for a put without an answer whose object stays when it is released: the object is
 * removed first, now or over the next connection.
 */
void ww_broker_client_undo_put(struct ww_broker *broker, struct ww_request *request);

/*
 * Return: WW_OK (sent, or to be sent over the next connection); WW_NOT_READY (no room); an error.
 */
ww_status ww_broker_client_send_request(struct ww_broker *broker, struct ww_request *request);

/* Tells the broker that a request is withdrawn; the answer to the request says whether in time. */
ww_status ww_broker_client_send_cancel(struct ww_broker *broker, struct ww_request *request);

/*
 * Handles what ww_connection_take() returned: gives an answer to its request, or breaks the
 * connection.
 * @status, @arrival:  its results; the packet is in broker->packet
 */
void ww_broker_client_receive(struct ww_broker *broker, ww_status status,
	struct ww_arrival *arrival);

/* Wakes the threads of all requests. */
void ww_broker_client_wake_all(const struct ww_broker *broker);

#endif
