/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - warpway.Client and what belongs to it inside the extension
 *
 * The library lets one thread at a time use a ww_client with its tickets. So the object of a Client
 * is a struct client_state, and that of a Ticket a struct ticket_state:
 *
 *   Client ────> client_state ──> ww_client
 *                     ^
 *   Function ─────────┤
 *   Ticket ────> ticket_state ──> ww_ticket
 *
 * A state may have another one, of the next server of the same name, by which calls are repeated.
 *
 * A thread that uses the ww_client does not have the lock. If several threads wait for tickets, one
 * of them waits in the library, for its own; now and then it looks at the tickets of the others,
 * which sleep until then.
 */
#ifndef CORE_CLIENT_H
#define CORE_CLIENT_H

#include "core.h"

#include <pthread.h>

struct ticket_state;

struct client_state {
	int refs;            /* atomic */
	int is_closed;       /* atomic: no call is to wait any more */
	int pid;             /* of the process that made it */
	uint64_t timeout_ns; /* for functions that are not offered yet */
	char name[WW_NAME_BYTES];
	bool is_named;     /* it was opened by this name */
	uint32_t gid;      /* as it was opened */
	ww_broker *broker; /* a reference, or NULL: the default one */

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t is_free;
	bool is_used;                 /* a thread uses the client: it need not have the lock */
	bool is_shared;               /* more than one thread uses it */
	uint32_t wanted;              /* threads that are to use it before those that wait */
	ww_client *client;            /* NULL: it is closed */
	struct ticket_state *waiting; /* for which other threads sleep */
	struct ticket_state *dropped; /* whose Ticket has gone */
	struct ticket_state *polled;  /* that have a ready_fd; of the thread that uses the client */
	struct client_state *next;    /* a reference, or NULL: by which calls are repeated */
};

struct ticket_state {
	struct client_state *client; /* a reference */
	ww_ticket *ticket;
	struct ww_ticket_info info; /* once it has ended, and at the beginning */
	struct ww_error record;     /* why it failed; of this process */
	int has_ended;              /* atomic */
	uint32_t sleepers;          /* under the lock */
	struct ticket_state *next;  /* in waiting or dropped */
	int ready_fd;               /* of fileno(), as the next; -1: it was not asked for */
	struct ticket_state *next_polled;
};

/* --- client_state.c: nothing here touches Python objects, or needs the GIL --- */

/* Takes over @client, also on failure. @name: NULL: it was a token's. NULL: there is no memory. */
struct client_state *client_state_new(ww_client *client, const char *name, uint64_t timeout_ns);
void *client_state_ref(void *state);
void *client_state_unref(void *state);
extern const struct handle_class client_class;

/* Ends the waits, and leaves the service. */
void client_state_close(struct client_state *state);

/* What is done with the client, by one thread at a time. */
typedef ww_status (
	*client_fn)(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel);

/*
 * Calls @fn, in turns with other threads, until it does not return WW_TIMED_OUT.
 * Return: its status; STATUS_CLOSED.
 */
ww_status client_state_call(struct client_state *state, client_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel);

/*
 * The state of a service whose server has not ended: the one that was met before, or that of the
 * next server of the name.
 * @out_next:  a reference
 * Return: as ww_client_open(); STATUS_CLOSED.
 */
ww_status client_state_next(struct client_state *state, uint64_t timeout_ns, ww_cancel *cancel,
	struct client_state **out_next);
/* Return: as ww_client_service_info_get(); STATUS_CLOSED. */
ww_status client_state_info(struct client_state *state, struct ww_service_info *out_info);
/* The server has ended, or has closed the service. */
bool client_state_is_over(struct client_state *state);

/* Takes over @ticket, also on failure. By the thread that uses the client. NULL: no memory. */
struct ticket_state *ticket_state_new(struct client_state *state, ww_ticket *ticket);
/* The library's ticket is released by the next thread that uses the client. May be NULL. */
void ticket_state_free(struct ticket_state *ticket);

/* Return: WW_OK (it has ended); WW_TIMED_OUT; WW_CANCELLED; STATUS_CLOSED. */
ww_status ticket_state_wait(struct ticket_state *ticket, uint64_t timeout_ns, ww_cancel *cancel);
/*
 * Its own descriptor, opened by the first call. It is also readable when the client is closed.
 * Return: as ww_ticket_eventfd(); STATUS_CLOSED.
 */
ww_status ticket_state_fileno(struct ticket_state *ticket, int *out_fd);
void ticket_state_cancel(struct ticket_state *ticket);
/* Return: as ww_ticket_info_get(). */
ww_status ticket_state_info(struct ticket_state *ticket, struct ww_ticket_info *info);
/*
 * As ww_ticket_stream_wait().
 * @out_is_late:  with WW_TIMED_OUT: the call's deadline has passed; else @timeout_ns has
 * Return: WW_OK; WW_TIMED_OUT; WW_CANCELLED; STATUS_CLOSED; an error.
 */
ww_status ticket_state_stream_wait(struct ticket_state *ticket, ww_stream *stream, uint64_t flags,
	uint64_t timeout_ns, ww_cancel *cancel, bool *out_is_late);
/* What a result points to is valid as long as the ticket. Return: as ww_ticket_result(). */
ww_status ticket_state_result(struct ticket_state *ticket, uint32_t index,
	struct ww_value *out_value);

/* --- client.pxi --- */

/* A Client of what a token names. */
PyObject *client_open_token(struct core *core, const struct ww_token *token);

#endif
