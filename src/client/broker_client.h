/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker_client.h - one broker, for all threads of this process
 *
 * A ww_broker outlives its connections. When a connection breaks, the next call makes another one
 * and tells the broker what this process holds (recovery.c), and every thread sends its unanswered
 * request again. The library has no thread of its own. Of the threads that wait for answers one is
 * the leader: it reads the socket and gives each answer to its request. When the leader has its own
 * answer, another thread leads.
 *
 *        ask ──> list of requests ──send──> connection ──> broker
 *                    ^                           │
 *                    │                           v
 *                    └── find by serial ── the leader reads
 *
 * A broker that a token named may be an attacker's, and may claim to be another broker. So this
 * process uses another id with each ww_broker, which is worth nothing elsewhere. Two addresses are
 * one ww_broker only if the kernel says that they are the same socket file. An address that only
 * tokens named is never the same as another one, since its creator may change at any time where it
 * leads.
 *
 * The lock is held while sending, which never waits. It is not held while reading, waiting or
 * connecting. Only the leader reads, only the thread that set is_connecting connects, and never
 * both at once.
 */
#ifndef WW_CLIENT_BROKER_CLIENT_H
#define WW_CLIENT_BROKER_CLIENT_H

#include <warpway/broker.h>

#include "client/request.h"

struct ww_recovery; /* in recovery.c */

struct ww_broker {
	struct ww_ref ref;
	struct ww_list open;                  /* in the list of open brokers, under its lock */
	struct ww_address address;            /* constant, as is the next */
	uint8_t process_id[WW_WIRE_ID_BYTES]; /* of this process, for this broker only */

	pthread_mutex_t lock; /* for all that follows */
	uint64_t timeout_ns;
	bool may_start;
	bool is_foreign; /* only tokens named this address; an attacker may have made them */

	struct ww_connection *connection; /* NULL: none */
	struct ww_recovery *recovery;     /* owned; a connection that was begun; or NULL */
	bool is_ending;  /* the broker closed the connection; packets from it may be unread */
	bool is_stalled; /* a release waited for room and got none: the next does not wait */
	bool has_leader;
	bool is_connecting;
	bool has_known_broker; /* broker_id is set */
	uint8_t broker_id[WW_WIRE_ID_BYTES];

	struct ww_list requests;
	uint32_t serial;            /* the last one chosen */
	uint64_t sequence;          /* counts the packets sent, over all connections */
	uint64_t answered_sequence; /* the latest request that this connection answered */
	struct ww_holds holds;
	uint64_t deliveries; /* exported, ever */
	bool has_deliveries; /* some may be in flight: then it holds a reference of itself */
	struct ww_wire_export unanswered; /* see below; access 0: none */
	bool has_turn;                    /* a thread waits for room in the quota */
	pthread_cond_t turn_ended;

	uint8_t packet[WW_WIRE_PACKET_BYTES]; /* that came; the leader's, without the lock */
};

/*
 * Opens a broker without connecting: the one of this address if it is open already, or one of
 * another address which leads to the same socket file, or a new one.
 * @params:      its timeout and its permission to start a broker apply from now on
 * @is_foreign:  a token named the address
 * @out_broker:  with a reference
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_broker_client_open(const struct ww_address *address,
	const struct ww_broker_params *params, bool is_foreign, struct ww_broker **out_broker);

/*
 * Keeps a broker open that was opened for one call, so that the next call need not connect again.
 * One broker is kept. The first request or release, to any broker, that comes a second later or
 * more closes it. Until then the connection is open, so a process that makes no more calls may
 * prevent a broker from ending when it is idle.
 * @broker:  its reference is taken over
 */
void ww_broker_client_keep(struct ww_broker *broker);

/* Closes the broker that is kept, if its second is over. @at_once: also before */
void ww_broker_client_drop_kept(bool at_once);

/*
 * Connects, if there is no connection or the broker has closed it.
 * @may_start:  false: no broker is started
 * Return: as ww_broker_client_ask().
 */
ww_status ww_broker_client_ensure(struct ww_broker *broker, bool may_start);

/* recovery.c: what this process tells the broker in its hello. */
struct ww_caller ww_broker_client_caller(const struct ww_broker *broker, bool is_watcher);

WW_DEFINE_CLEANUP(struct ww_broker, ww_broker_unref)
#define WW_AUTO_BROKER WW_CLEANUP(ww_broker_unref_p)

/*
 * Sends a request and waits for its answer. After WW_OK of put, get and import, one count of the
 * hold is the caller's.
 * Return: WW_OK (the answer has the code that was asked for); WW_TIMED_OUT (the request waited in
 *         the broker and was withdrawn); WW_CANCELLED (no answer came within WW_CANCEL_GRACE_NS
 *         after the thread saw its ww_cancel, or the request waited in the broker and was
 *         withdrawn, or there was no connection; a hold that was granted is released); the status
 *         of an error that the broker sent; WW_ERR_NO_BROKER; WW_ERR_PROTOCOL; WW_ERR_LIMIT;
 *         WW_ERR_DESCRIPTOR; WW_ERR_NO_MEMORY; WW_ERR_SYSTEM.
 */
ww_status ww_broker_client_ask(struct ww_broker *broker, struct ww_request *request);

/* Releases one count of a hold; after the last one tells the broker. Keeps the error record. */
void ww_broker_client_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * Takes the name from a held object just before the object is released, because the broker did not
 * answer when it was asked to. Without memory for that the object keeps the name.
 */
void ww_broker_client_remove_at_release(struct ww_broker *broker,
	const uint8_t id[WW_WIRE_ID_BYTES], const char *name);

/* Whether this process is a holder of the object, as far as it knows: see ww_hold_is_live(). */
bool ww_broker_client_is_held(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/* Whether it is, and another process put the object. */
bool ww_broker_client_is_others(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * Call this before the object's tokens are revoked. As long as this process holds the object, the
 * broker is then asked about each token of it: an import in another thread may store an old token
 * as accepted after this call.
 */
void ww_broker_client_note_revoked(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * Whether the broker need not be asked about a token that it accepted before: this process holds
 * the object, and the object's tokens were not revoked.
 */
bool ww_broker_client_has_valid_tokens(struct ww_broker *broker,
	const uint8_t id[WW_WIRE_ID_BYTES]);

/* As ww_broker_client_is_held(); if true, the hold is counted once more. */
bool ww_broker_client_hold_again(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * A delivery was exported (WW_EXPORT_DELIVERY). The broker must not take the end of the connection
 * for the end of this process, so this broker stays open from now on.
 */
void ww_broker_client_note_delivery(struct ww_broker *broker);

/*
 * The answer to such an export did not come, but the broker may have executed it. The next equal
 * one takes the secret, and gets the same delivery. Only the last such export is kept.
 */
void ww_broker_client_keep_export(struct ww_broker *broker, const struct ww_wire_export *export);

/* @export: without a secret. Return: whether there was one, whose secret it has now. */
bool ww_broker_client_take_export(struct ww_broker *broker, struct ww_wire_export *export);

/* How many were exported, ever. */
uint64_t ww_broker_client_deliveries(struct ww_broker *broker);

/* None is in flight; unless more than @seen were exported, the broker need not stay open. */
void ww_broker_client_no_deliveries(struct ww_broker *broker, uint64_t seen);

/*
 * Walks the open brokers by which deliveries were exported. @before: a reference, which is
 * released; NULL: begin with the first one. Return: with a reference; NULL: there are no more.
 */
struct ww_broker *ww_broker_client_next_exporter(struct ww_broker *before);

/*
 * One thread at a time waits for room in the quota: it has the turn.
 * Return: WW_OK (this thread has it); WW_TIMED_OUT; WW_CANCELLED.
 */
ww_status ww_broker_client_begin_turn(struct ww_broker *broker, uint64_t deadline_ns);
void ww_broker_client_end_turn(struct ww_broker *broker);

/*
 * @out_id:   of the broker; zeros before the first connection
 * @out_uid:  of its process; UINT32_MAX: there is no connection. May be NULL
 */
void ww_broker_client_peer(struct ww_broker *broker, uint8_t out_id[WW_WIRE_ID_BYTES],
	uint32_t *out_uid);

/* The version of the protocol on the present connection; 0: there is no connection. */
uint32_t ww_broker_client_version(struct ww_broker *broker);

uint64_t ww_broker_client_timeout_ns(struct ww_broker *broker);

/*
 * Whether a broker may be started where none listens: the address is the user's own, and neither
 * WW_BROKER_NO_START nor WARPWAY_NO_START forbids it. The caller does not hold the lock.
 */
bool ww_broker_client_may_start(struct ww_broker *broker);

#endif
