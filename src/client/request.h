/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - one request of one thread, until it is answered
 *
 * A request is on the stack of the thread that makes it. Its message is encoded each time it is
 * sent, since a broker that was restarted may speak another version of the protocol than before.
 * While a request is in ww_broker.requests, every thread reads and writes it under ww_broker.lock
 * only.
 *
 *   UNSENT ──ww_broker_client_send_request()──> SENT ──accept_answer()──> ANSWERED
 *     ^                                           │
 *     └──break_connection(), accept_answer()──────┤
 *                                                 └──accept_answer(), break_connection(),
 *                                                    fail_without_descriptors()──> FAILED
 *
 * ANSWERED: the broker sent the code that was asked for, or `error`. FAILED: no answer will come,
 * and the request is not sent again. request_exchange.c has the steps from UNSENT to the end.
 */
#ifndef WW_CLIENT_REQUEST_H
#define WW_CLIENT_REQUEST_H

#include <pthread.h>

#include "client/holds.h"
#include "client/connection.h"

#define WW_ANSWER_BYTES  1024 /* the most of every answer but listings */
#define WW_REMOVES_BY_ID 6    /* version of the protocol from which on a broker does */
#define WW_REMOVES_NAMES 8    /* the same: memories go on without a name */

/*
 * A request fails after so many connections broke while it was SENT. The number is high, because
 * others may kill the broker again and again, and then the request is not the cause.
 */
#define WW_REQUEST_BREAKS 101

enum ww_request_state {
	WW_REQUEST_UNSENT,
	WW_REQUEST_SENT,
	WW_REQUEST_ANSWERED,
	WW_REQUEST_FAILED
};

struct ww_request {
	/* What is asked: the caller's, constant. */
	uint16_t code;       /* WW_WIRE_...; 0: nothing is sent, a connection is made */
	uint16_t reply;      /* the code of the answer, unless it is an error */
	const void *message; /* the struct of the code */
	const int *fds;      /* sent with it; borrowed */
	size_t fd_count;
	const uint8_t *id;        /* the object that it makes this process hold (put, import) */
	const uint8_t *broker_id; /* the one broker that may read it; NULL: any */
	bool waits;               /* the broker may wait until limit_ns, then it is withdrawn */
	uint64_t limit_ns;        /* CLOCK_MONOTONIC; WW_NEVER: ww_broker.timeout_ns counts */
	bool starts_none;         /* no broker is started for it */
	struct ww_hold *spare;    /* owned; for put, get and import */

	/* The answer. */
	void *answer; /* a packet; own_answer or a larger room of the caller */
	size_t room;
	size_t answer_bytes;
	uint16_t answer_code;
	uint16_t version;
	int fds_come[WW_PACKET_FDS]; /* owned; ww_request_fini() closes those that are left */
	size_t fds_come_count;
	bool has_hold; /* the caller gets one count of a hold, of held_id */
	bool is_own;   /* this process put the object that is held */
	uint8_t held_id[WW_WIRE_ID_BYTES];

	/* Its progress, under ww_broker.lock. */
	struct ww_list link; /* in ww_broker.requests */
	pthread_cond_t changed;
	enum ww_request_state state;
	ww_status failure; /* why it is FAILED */
	bool is_following; /* its thread waits on `changed` */
	uint32_t serial;   /* 0: never sent */
	uint64_t sequence; /* its place in the order of sending */
	uint64_t begun_ns;
	uint64_t until_ns;    /* when its thread stops waiting */
	uint32_t break_count; /* connections that broke before they answered it or a later one */
	bool is_repeated;     /* it was sent before, and may have been executed */
	bool is_stopped;      /* the thread's ww_cancel is set; until_ns is the end of its grace */
	bool is_withdrawn;  /* it waits no longer; its answer says whether it was granted before */
	bool is_cancel_due; /* the broker must be told that it is withdrawn */
	bool has_stale;     /* a release may have ended the hold of stale_id: it is sent again */
	uint8_t stale_id[WW_WIRE_ID_BYTES];
	uint8_t own_answer[WW_ANSWER_BYTES];
};

/* @message, and what the caller sets in the request afterwards: borrowed until fini. */
void ww_request_init(struct ww_request *request, uint16_t code, uint16_t reply,
	const void *message);

/* Closes the descriptors that the caller left there, and frees the spare hold. */
void ww_request_fini(struct ww_request *request);
#define WW_AUTO_REQUEST WW_CLEANUP(ww_request_fini)

/*
 * Limits all requests of this thread, so that a call of several requests keeps its own limit. A
 * later limit than the present one changes nothing.
 */
void ww_request_limit_all(uint64_t deadline_ns);
uint64_t ww_request_limit(void);
void ww_request_restore_limit(const uint64_t *former_ns); /* what ww_request_limit() returned */
#define WW_AUTO_REQUEST_LIMIT WW_CLEANUP(ww_request_restore_limit) __attribute__((unused))

/* Makes room for the hold that the request brings. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_request_expect_hold(struct ww_request *request);

/* Records that an answer cannot be read. Return: WW_ERR_PROTOCOL. */
ww_status ww_request_fail_answer(const struct ww_request *request);

#endif
