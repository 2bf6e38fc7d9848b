/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - one request of one thread, until it is answered
 *
 * It lives on the stack of the thread that makes it. The message stays the thread's and is encoded
 * each time it is sent, since a broker that was restarted may speak another version than the one
 * before. Who has the request in the connection's list touches it under the connection's lock only.
 *
 *   unsent ──sent──> sent ──> answered (by the code that was asked for, or by `error`)
 *     ^               │ └───> failed   (nobody will answer it any more)
 *     └─connection broke────┘
 */
#ifndef WW_CLIENT_REQUEST_H
#define WW_CLIENT_REQUEST_H

#include <pthread.h>

#include "client/holds.h"
#include "client/connection.h"

/* Of every answer but listings. */
#define WW_ANSWER_BYTES 1024

enum ww_request_state {
	WW_REQUEST_UNSENT,
	WW_REQUEST_SENT,
	WW_REQUEST_ANSWERED,
	WW_REQUEST_FAILED
};

struct ww_request {
	/* What is asked: the caller's, constant. */
	uint16_t code;       /* WW_WIRE_...; 0: only that there be a connection */
	uint16_t reply;      /* what answers it, unless an error does */
	const void *message; /* the struct of the code */
	const int *fds;      /* that go with it; borrowed */
	size_t fd_count;
	const uint8_t *id; /* what this process holds when it is done (put, import); else NULL */
	const uint8_t *broker_id; /* of the one broker that may see it; NULL: any */
	bool waits;               /* the answer may take until limit_ns, and is then called off */
	uint64_t limit_ns; /* CLOCK_MONOTONIC, the call's own; WW_NEVER: only the broker's counts */
	bool starts_none;  /* no broker is started for it */
	struct ww_hold *spare; /* owned; for put, get and import */

	/* The answer. */
	void *answer; /* a packet; own_answer or a larger room of the caller */
	size_t room;
	size_t answer_bytes;
	uint16_t answer_code;
	uint16_t version;
	int fds_come[WW_PACKET_FDS]; /* the request's until it is finished */
	size_t fds_come_count;
	bool has_hold; /* one count of a hold is the request's, for its caller to use */
	bool is_own;   /* this process put what is held */
	uint8_t held_id[WW_WIRE_ID_BYTES];

	/* On its way: the connection's, under its lock. */
	struct ww_list link;
	pthread_cond_t changed;
	enum ww_request_state state;
	ww_status failure; /* why it failed */
	bool is_following; /* its thread waits on `changed` */
	uint32_t serial;   /* 0: not chosen */
	uint64_t sequence; /* its place in the order of sending */
	uint64_t begun_ns;
	uint64_t until_ns;   /* when its thread looks at the clock next */
	uint32_t suspicions; /* connections that ended while they had it */
	bool is_again;       /* a connection broke after it was sent */
	bool is_cancelled;   /* its time is up, the outcome is waited for */
	bool is_stopped; /* its thread's ww_cancel is set: an answer is waited for until until_ns */
	bool is_cancel_due; /* the broker is yet to be told */
	/* what was answered was undone by a release of ours, so it is asked again */
	bool has_stale;
	uint8_t stale_id[WW_WIRE_ID_BYTES];
	uint8_t own_answer[WW_ANSWER_BYTES];
};

/* @message: borrowed until fini, as is whatever is set in the request afterwards. */
void ww_request_init(struct ww_request *request, uint16_t code, uint16_t reply,
	const void *message);

/* Closes the descriptors nobody took, frees the spare. */
void ww_request_fini(struct ww_request *request);
#define WW_AUTO_REQUEST WW_CLEANUP(ww_request_fini)

/*
 * Limits all requests of this thread, whatever their own limits are, so that a call of several
 * requests keeps its own limit. Never later than what holds already.
 */
void ww_request_limit_all(uint64_t deadline_ns);
uint64_t ww_request_limit(void);
void ww_request_restore_limit(const uint64_t *former_ns); /* as ww_request_limit() said before */
#define WW_AUTO_REQUEST_LIMIT WW_CLEANUP(ww_request_restore_limit) __attribute__((unused))

/* Makes room for the hold that the request brings. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_request_expect_hold(struct ww_request *request);

/* Return: the packet's length; never 0, for what is in a message was checked before. */
size_t ww_request_encode(const struct ww_request *request, uint16_t version, void *out,
	size_t room);

/* Records that an answer cannot be read. Return: WW_ERR_PROTOCOL. */
ww_status ww_request_fail_answer(const struct ww_request *request);

#endif
