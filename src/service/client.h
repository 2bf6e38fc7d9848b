/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - a client's side of a service
 *
 *   FREE ──submit──> published ──done──> reaped: the reply is copied, the slot is FREE
 *                                          └──> with arrays as results: the slot is kept until the
 *                                               ticket is released, which the server reads there
 *
 * A slot is published until the server says that its call is done, whatever the caller does with
 * the ticket: so the client never waits for its own caller to make room, unless results are arrays.
 */
#ifndef WW_SERVICE_CLIENT_H
#define WW_SERVICE_CLIENT_H

#include <unistd.h>

#include <warpway/client.h>

#include "base/eventfd.h"
#include "base/list.h"
#include "call/signature.h"
#include "client/broker_client.h"
#include "service/ring.h"
#include "group/peer_process.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

#define WW_CLIENT_AREA_WORDS 64 /* 4096 units of WW_SERVICE_AREA_UNIT: the largest area */

/* Which units of an area are given out: a bit for each. */
struct ww_client_area {
	uint64_t used[WW_CLIENT_AREA_WORDS];
	uint32_t unit_count;
};

/* What a call's tokens name: it is kept until the call is done. References. */
struct ww_client_holds {
	uint32_t count;
	ww_memory *memories[WW_CALL_ARGS_MAX + 1];    /* NULL: it is a timeline */
	ww_timeline *timelines[WW_CALL_ARGS_MAX + 1]; /* the last: that the call starts after */
};

struct ww_client_slot {
	uint64_t call;     /* 0: free */
	ww_ticket *ticket; /* borrowed; NULL: no thread waits */
	uint32_t function;
	uint32_t arguments_at; /* as in the request, as are the next three */
	uint32_t arguments_bytes;
	uint32_t results_at;
	uint32_t results_bytes;
	bool is_reaped;                /* kept for its arrays */
	struct ww_client_holds *holds; /* owned; NULL: none was needed yet */
};

/* A function that was looked at. */
struct ww_client_function {
	struct ww_signature *signature; /* owned; NULL: not looked at yet */
	uint32_t results_bytes;         /* room that its results need at most */
	bool has_arrays;                /* as results */
};

struct ww_ticket {
	struct ww_list link; /* in free_tickets */
	ww_client *client;   /* a reference */
	uint64_t call;
	uint64_t value;       /* of its lane's timeline */
	uint64_t deadline_ns; /* WW_NEVER: none */
	uint32_t function;
	uint32_t lane;
	uint32_t slot; /* while it has one */
	bool has_slot;
	bool has_ended;
	bool is_answered; /* it has ended, and the server has said so */
	bool has_started;
	ww_status status;
	uint64_t failed_call;
	char message[WW_ERROR_MESSAGE_BYTES];
	uint8_t *record; /* owned; the results */
	uint32_t record_room;
	uint32_t record_bytes;
	struct ww_call_args *results; /* owned; NULL: not asked for yet */
	bool is_decoded;
	struct ww_eventfd *eventfd; /* owned; NULL: no call asked for one, or it has ended */
};

struct ww_client {
	struct ww_ref ref;
	struct ww_wire_service_ref form; /* constant, as are the next ones */
	bool is_observer;
	uint32_t server_uid;
	_Atomic uint32_t files_wanted;   /* when this client gave up; 0: it did not */
	uint32_t gid;                    /* as it was opened with */
	char *name;                      /* owned; NULL: it was opened by a token */
	struct ww_broker *broker;        /* a reference */
	struct ww_attachments object;    /* the hold of the service's object */
	struct ww_signal_map *server;    /* its signal page, a reference */
	struct ww_peer_process *process; /* the server's, a reference; NULL: not known */
	struct ww_service_page page;
	struct ww_service_bell bell;
	ww_timeline *timeline; /* own; its attachments have the hold of the own object */
	struct ww_service_requests requests;
	struct ww_service_replies replies;

	uint64_t calls;                            /* number of the last one */
	uint64_t lane_calls[WW_SERVICE_LANES_MAX]; /* of each lane: the value of its last call */
	uint64_t lane_last[WW_SERVICE_LANES_MAX];  /* the same: the number; 0: there is none */
	ww_timeline *lane_timelines[WW_SERVICE_LANES_MAX]; /* references; NULL: not asked for */
	struct ww_client_function lane_function;           /* WW_SERVICE_LANE_FUNCTION */
	struct ww_client_function *functions;              /* functions_max */
	struct ww_client_slot *slots;                      /* calls_max, as are the next */
	uint32_t *free_slots; /* a stack: the one that was freed last is used first */
	uint32_t free_count;
	uint32_t kept_count; /* slots that tickets keep */
	struct ww_client_area arguments;
	struct ww_client_area results;
	uint8_t *record; /* WW_CALL_RECORD_MAX, and a token */
	struct ww_call_args *values;
	struct ww_token *tokens;       /* of memories that are exported; NULL: none was yet */
	struct ww_client_holds *holds; /* owned, as the tokens: of the call that is being made */
	struct ww_list free_tickets;
	uint32_t eventfd_count; /* of tickets; unless it is 0, is_asleep stays set */
	bool keeps_thread;      /* of eventfds, once a ticket had one */
	struct ww_client *next; /* of the next server, for calls that are repeated; or NULL */
};

/* @form: constant. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_client_new(const struct ww_wire_service_ref *form, struct ww_broker *broker,
	struct ww_client **out_client);
void ww_client_free(struct ww_client *client); /* takes one that is not whole yet, too */

WW_DEFINE_CLEANUP(struct ww_client, ww_client_free)

/* A function that the page has, parsed. Return: WW_OK; WW_ERR_INVALID; WW_ERR_PROTOCOL. */
ww_status ww_client_know_function(struct ww_client *client, uint32_t index,
	struct ww_client_function **out_function);

/* One that is known. */
static inline struct ww_client_function *ww_client_function_of(struct ww_client *client,
	uint32_t index)
{
	return index == UINT32_MAX ? &client->lane_function : &client->functions[index];
}

/* Whether the server's process is known to have ended. */
static inline bool ww_client_is_lost(const struct ww_client *client)
{
	return __atomic_load_n(&client->server->header->lost, __ATOMIC_ACQUIRE) ||
		ww_peer_process_has_ended(client->process);
}

/* Whether the server is of the user that the caller is. */
static inline bool ww_client_is_of_own_user(const struct ww_client *client)
{
	return client->server_uid == geteuid();
}

/*
 * Of a client that the server has not met: whether it waits no longer for that, since the server
 * may open too few files (file_limit.h). If the server meets it later, it runs none of its calls.
 */
bool ww_client_has_given_up(struct ww_client *client);

/* Whether the server has met it all the same, meanwhile, and may have started a call. */
static inline bool ww_client_is_met_late(const struct ww_client *client)
{
	return client->files_wanted &&
		__atomic_load_n(&client->replies.header->join, __ATOMIC_SEQ_CST) != 0;
}

static inline uint32_t ww_client_join(const struct ww_client *client)
{
	return __atomic_load_n(&client->replies.header->join, __ATOMIC_ACQUIRE);
}

/* Whether no further reply will come. */
static inline bool ww_client_is_known_over(const struct ww_client *client)
{
	return ww_client_is_lost(client) ||
		ww_service_page_state(&client->page) == WW_WIRE_SERVICE_STATE_STOPPED ||
		ww_client_join(client) > WW_WIRE_SERVICE_JOIN_JOINED || client->files_wanted;
}

/* The same, by a call of the user: a client that the server has not met may give up. */
static inline bool ww_client_is_over(struct ww_client *client)
{
	return ww_client_is_known_over(client) ||
		(ww_client_join(client) == 0 && ww_client_has_given_up(client));
}

/* --- repeats (repeat.c) --- */

/* Whether a call of the function is repeated when the server has ended. */
bool ww_client_may_repeat(const struct ww_client *client, uint32_t function,
	const struct ww_submit_params *params);

/*
 * A client of the next server, at client->next, and the same function there.
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; WW_ERR_ACCESS (that server is of another user); as
 *         ww_client_open() and ww_client_find().
 */
ww_status ww_client_find_next(struct ww_client *client, uint32_t function, uint64_t deadline_ns,
	uint32_t *out_function);

/* Why, recorded. @what: "call 5"; @outcome: "has no answer" */
ww_status ww_client_fail_over(const struct ww_client *client, const char *what,
	const char *outcome);

/* That the server may open too few files. Return: WW_ERR_LIMIT. */
ww_status ww_client_fail_files(const struct ww_client *client, uint32_t wanted, const char *what);

/* --- area --- */

void ww_client_area_init(struct ww_client_area *area, uint32_t bytes);

/* Return: false: there is no room now. @out_at: 0 for no bytes */
bool ww_client_area_take(struct ww_client_area *area, uint32_t bytes, uint32_t *out_at);
void ww_client_area_give_back(struct ww_client_area *area, uint32_t at, uint32_t bytes);

/* --- tickets --- */

/* Return: NULL: out of memory. */
ww_ticket *ww_ticket_new(struct ww_client *client);

/* Waits as ww_service_await_reply(). */
ww_status ww_client_await_reply(struct ww_client *client, ww_await_fn look, void *context,
	uint64_t deadline_ns);

/* The result of WW_SERVICE_LANE_FUNCTION. Return: WW_OK; WW_ERR_PROTOCOL; as an import. */
ww_status ww_ticket_timeline(ww_ticket *ticket, ww_timeline **out_timeline);

/*
 * The call of a slot has ended, or will not: fills its ticket, and frees the slot unless the ticket
 * keeps it.
 */
void ww_client_reap(struct ww_client *client, uint32_t slot, bool is_done);

/* Looks at all slots. Return: how many calls have ended. */
uint32_t ww_client_reap_all(struct ww_client *client);

void ww_client_holds_release(struct ww_client_holds *holds); /* takes NULL */
void ww_client_free_slot(struct ww_client *client, uint32_t slot);

#endif
