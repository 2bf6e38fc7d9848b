/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_client.h - one broker as this process has it, for all threads
 *
 * A ww_broker outlives its connections: when one breaks the next call makes another, says what this
 * process holds, and every thread repeats the request it has no answer to. There is no thread of
 * our own. Of those that wait one is the leader: it reads the socket and hands the others their
 * answers; when it has its own, the next one leads.
 *
 *        ask ──> list of requests ──> sent over the connection
 *                    ^                       │
 *                    └── leader: take, find by serial, wake its thread
 *
 * What a broker says of itself is not believed: one that a token named may say that it is another.
 * So a process is known by another id to each ww_broker, which nobody can use elsewhere, and two
 * addresses are one ww_broker only if they lead to the same socket file, by the kernel's word. An
 * address that only tokens named is never taken for another one: who made it may let it lead
 * elsewhere at any time.
 *
 * The lock is held while sending, which never waits, and never while reading, waiting or
 * connecting. Only the leader reads, only the thread that set is_connecting connects, and never
 * both.
 */
#ifndef WW_CLIENT_BROKER_CLIENT_H
#define WW_CLIENT_BROKER_CLIENT_H

#include <warpway/broker.h>

#include "client/request.h"

struct ww_recovery; /* in recovery.c */

struct ww_broker {
	struct ww_ref ref;
	struct ww_list open;       /* in the list of open brokers, under its lock */
	struct ww_address address; /* constant, as is the next */
	uint8_t process_id
		[WW_WIRE_ID_BYTES]; /* what this process calls itself here, and nowhere else */

	pthread_mutex_t lock; /* for all that follows */
	uint64_t timeout_ns;
	bool may_start;
	bool is_foreign; /* only tokens named this address, and they may come from anybody */

	struct ww_connection *connection; /* NULL: none (any more) */
	struct ww_recovery
		*recovery; /* owned; of the next connection, which nobody had the time to finish */
	bool is_ending;    /* the broker reads no more; what it had sent may still be there */
	/* it did not make room for a release, so none waits for room until it does */
	bool is_stalled;
	bool has_leader;
	bool is_connecting;
	bool has_known_broker; /* broker_id is set */
	uint8_t broker_id[WW_WIRE_ID_BYTES];

	struct ww_list requests;
	uint32_t serial;            /* the last one chosen */
	uint64_t sequence;          /* of what was sent last, over all connections */
	uint64_t answered_sequence; /* the highest that was answered over this connection */
	struct ww_holds holds;
	bool has_turn; /* a thread waits for room in the quota */
	pthread_cond_t turn_ended;

	uint8_t coming[WW_WIRE_PACKET_BYTES]; /* the leader's alone */
};

/*
 * Opens without connecting: the broker of this address that is open already, or one of another
 * address which leads to the same socket file, or a new one.
 * @params:      whose limit on time and permission to start are taken over
 * @is_foreign:  it is a token that says so
 * @out_broker:  with a reference
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_broker_client_open(const struct ww_address *address,
	const struct ww_broker_params *params, bool is_foreign, struct ww_broker **out_broker);

/*
 * Keeps a broker open for a while that was opened for one call, so that the next one need not
 * connect again. One is kept; it is let go of by the next request to any broker, or release, a
 * second later. Until then its connection counts there, so a process that asks no broker anything
 * any more may keep one from leaving when it is idle.
 * @broker:  its reference is taken over
 */
void ww_broker_client_keep(struct ww_broker *broker);

/* Lets go of the one that is kept, if its time has come. @at_once: whether that has come or not */
void ww_broker_client_drop_kept(bool at_once);

/*
 * Connects, if there is no connection, or what is at its other end has ended.
 * @may_start:  a broker may be started for this, if it may be at all
 */
ww_status ww_broker_client_ensure(struct ww_broker *broker, bool may_start);

/* Who says hello. */
struct ww_caller ww_broker_client_caller(const struct ww_broker *broker, bool is_watcher);

WW_DEFINE_CLEANUP(struct ww_broker, ww_broker_unref)
#define WW_AUTO_BROKER WW_CLEANUP(ww_broker_unref_p)

/*
 * Asks and waits for the answer. For put, get and import one count of the hold is the caller's when
 * this succeeds.
 * Return: WW_OK (the answer is of the code that was asked for); WW_TIMED_OUT (the request waited
 *         and was called off); WW_CANCELLED (no answer came WW_CANCEL_GRACE_NS after the thread's
 *         flag was noticed, or the request waited and was called off, or there was no connection;
 *         what may have been granted is released); what the broker answers; WW_ERR_NO_BROKER;
 *         WW_ERR_PROTOCOL; WW_ERR_LIMIT; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_broker_client_ask(struct ww_broker *broker, struct ww_request *request);

/* Lets go of one count of a hold; the broker is told of the last. Keeps the error record. */
void ww_broker_client_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/* Whether the broker counts this process among the object's holders, as far as is known here. */
bool ww_broker_client_is_held(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * The object's tokens are about to be revoked: from now on the broker is asked about each of them,
 * as long as this process holds the object. An import that is under way may learn an old one yet,
 * which must not count afterwards.
 */
void ww_broker_client_doubt_tokens(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * Whether a token which the broker has once accepted is as good as ever: the object is held, and
 * none was revoked.
 */
bool ww_broker_client_believes_tokens(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/* As ww_broker_client_is_held(); if so, it is counted once more. */
bool ww_broker_client_hold_again(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/* One thread at a time waits for room in the quota. Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED. */
ww_status ww_broker_client_begin_turn(struct ww_broker *broker, uint64_t deadline_ns);
void ww_broker_client_end_turn(struct ww_broker *broker);

/* Which broker this is now, and who runs it; zeros and UINT32_MAX before it was ever reached.
 * @out_uid: may be NULL */
void ww_broker_client_peer(struct ww_broker *broker, uint8_t out_id[WW_WIRE_ID_BYTES],
	uint32_t *out_uid);

/* Version of the protocol that is spoken over the present connection; 0: there is none. */
uint32_t ww_broker_client_version(struct ww_broker *broker);

uint64_t ww_broker_client_timeout_ns(struct ww_broker *broker);

/*
 * Whether a broker may be started where none listens: it is the user's own, and nobody switched it
 * off.
 */
bool ww_broker_client_may_start(struct ww_broker *broker);

/* --- between broker_client.c, request_exchange.c and recovery.c, under the lock --- */

/*
 * Makes a connection; drops the lock meanwhile.
 * @may_start:  a broker too, if that may be at all
 * Return: as ww_connection_open() and ww_start(). After WW_CANCELLED the next caller goes on with
 * what was begun.
 */
ww_status ww_broker_client_recover(struct ww_broker *broker, bool may_start, uint64_t deadline_ns);

struct ww_recovery *ww_recovery_free(struct ww_recovery *recovery); /* takes NULL, returns NULL */

/* Tells the broker what is due. */
void ww_broker_client_send_due(struct ww_broker *broker);

#endif
