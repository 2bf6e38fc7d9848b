/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client_state.c - a ww_client that several threads may use, and its tickets
 *
 * A wait of a thread lasts a slice of time at most; then other threads may use the client. While
 * only one thread uses it, a slice is WAIT_NS. Otherwise it is an eighth of the time that was
 * waited so far, at most SHARED_NS: so a thread that waits for a reply learns of it late by as
 * much.
 *
 * In a child made by fork() the lock may be held for ever, so it is not taken: the library refuses
 * every call there before it looks at anything.
 */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS   UINT64_C(40000000)
#define SHARED_NS UINT64_C(2000000)
#define LEAST_NS  UINT64_C(50000)

static bool is_inherited(const struct client_state *state)
{
	return state->pid != getpid();
}

static bool is_closed(const struct client_state *state)
{
	return __atomic_load_n(&state->is_closed, __ATOMIC_ACQUIRE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* --- using it --- */

/* For a call that does not wait. */
static void state_enter(struct client_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->lock);
	state->is_shared |= state->is_used;
	state->wanted++;
	while (state->is_used)
		pthread_cond_wait(&state->is_free, &state->lock);
	state->wanted--;
	state->is_used = true;
	pthread_mutex_unlock(&state->lock);
}

/* For a call that may wait: after those that do not. */
static void state_enter_to_wait(struct client_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->lock);
	state->is_shared |= state->is_used;
	while (state->is_used || state->wanted > 0)
		pthread_cond_wait(&state->is_free, &state->lock);
	state->is_used = true;
	pthread_mutex_unlock(&state->lock);
}

/* By the thread that uses the client. */
static void ticket_close_fd(struct ticket_state *ticket)
{
	struct ticket_state **place = &ticket->client->polled;

	if (ticket->ready_fd < 0)
		return;
	/* It is not listed in a child that was made while another thread made the descriptor. */
	while (*place && *place != ticket)
		place = &(*place)->next_polled;
	if (*place)
		*place = ticket->next_polled;
	close(ticket->ready_fd);
}

/* Under the lock, which is released meanwhile. */
static void state_drop_tickets(struct client_state *state)
{
	struct ticket_state *ticket;

	while ((ticket = state->dropped)) {
		state->dropped = ticket->next;
		ticket_close_fd(ticket);
		pthread_mutex_unlock(&state->lock);
		ww_ticket_unref(ticket->ticket);
		client_state_unref(ticket->client);
		free(ticket);
		pthread_mutex_lock(&state->lock);
	}
}

/* The caller has a reference of the state beside those of the tickets. */
static void state_leave(struct client_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->lock);
	state_drop_tickets(state);
	state->is_used = false;
	pthread_cond_broadcast(&state->is_free);
	pthread_mutex_unlock(&state->lock);
}

static uint64_t slice_ns(const struct client_state *state, uint64_t timeout_ns, uint64_t spent_ns)
{
	uint64_t left_ns = timeout_ns == WW_FOREVER ? WW_FOREVER
		: spent_ns < timeout_ns             ? timeout_ns - spent_ns
						    : 0;
	uint64_t most_ns = WAIT_NS;

	if (state->is_shared) {
		most_ns = spent_ns / 8 < LEAST_NS ? LEAST_NS : spent_ns / 8;
		most_ns = most_ns < SHARED_NS ? most_ns : SHARED_NS;
	}
	return left_ns < most_ns ? left_ns : most_ns;
}

static ww_status try_call(struct client_state *state, client_fn fn, void *call, uint64_t slice,
	ww_cancel *cancel)
{
	ww_status status = STATUS_CLOSED;

	if (slice > 0)
		state_enter_to_wait(state);
	else
		state_enter(state);
	if (state->client && !is_closed(state))
		status = fn(state->client, call, slice, cancel);
	state_leave(state);
	return status;
}

ww_status client_state_call(struct client_state *state, client_fn fn, void *call,
	uint64_t timeout_ns, ww_cancel *cancel)
{
	uint64_t begin_ns = 0, spent_ns = 0;
	ww_status status;

	for (;;) {
		status = try_call(state, fn, call, slice_ns(state, timeout_ns, spent_ns), cancel);
		if (status != WW_TIMED_OUT || timeout_ns == 0)
			return status;
		if (begin_ns == 0)
			begin_ns = now_ns();
		spent_ns = now_ns() - begin_ns + 1;
		if (spent_ns >= timeout_ns)
			return status;
	}
}

/* --- making and freeing --- */

struct client_state *client_state_new(ww_client *client, const char *name, uint64_t timeout_ns)
{
	struct client_state *state = calloc(1, sizeof(*state));
	pthread_condattr_t attributes;

	if (!state) {
		ww_client_unref(client);
		return NULL;
	}
	state->refs = 1;
	state->pid = getpid();
	state->client = client;
	state->timeout_ns = timeout_ns;
	state->is_named = name;
	snprintf(state->name, sizeof(state->name), "%s", name ? name : "a token's service");
	pthread_mutex_init(&state->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&state->is_free, &attributes);
	pthread_condattr_destroy(&attributes);
	return state;
}

void *client_state_ref(void *object)
{
	struct client_state *state = object;

	__atomic_add_fetch(&state->refs, 1, __ATOMIC_RELAXED);
	return state;
}

void *client_state_unref(void *object)
{
	struct client_state *state = object;

	if (!state || __atomic_sub_fetch(&state->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	client_state_unref(state->next);
	ww_client_unref(state->client);
	ww_broker_unref(state->broker);
	if (!is_inherited(state)) {
		pthread_mutex_destroy(&state->lock);
		pthread_cond_destroy(&state->is_free);
	}
	free(state);
	return NULL;
}

const struct handle_class client_class = {"Client", client_state_ref, client_state_unref};

/* Puts another one in its place. Return: what was there. */
static struct client_state *swap_next(struct client_state *state, struct client_state *next)
{
	struct client_state *before;

	if (!is_inherited(state))
		pthread_mutex_lock(&state->lock);
	before = state->next;
	state->next = next;
	if (!is_inherited(state))
		pthread_mutex_unlock(&state->lock);
	return before;
}

void client_state_close(struct client_state *state)
{
	struct client_state *next;
	ww_client *client;

	__atomic_store_n(&state->is_closed, 1, __ATOMIC_RELEASE);
	state_enter(state);
	client = state->client;
	state->client = NULL;
	ww_client_unref(client);
	for (struct ticket_state *ticket = state->polled; ticket && !is_inherited(state);
		ticket = ticket->next_polled)
		(void)eventfd_write(ticket->ready_fd, 1);
	state_leave(state);
	next = swap_next(state, NULL);
	if (next)
		client_state_close(next);
	client_state_unref(next);
}

/* --- what the service is, and the next of its name --- */

static ww_status info_by(ww_client *client, void *call, uint64_t timeout_ns, ww_cancel *cancel)
{
	(void)timeout_ns;
	(void)cancel;
	return ww_client_service_info_get(client, call);
}

ww_status client_state_info(struct client_state *state, struct ww_service_info *out_info)
{
	*out_info = WW_INIT(struct ww_service_info);
	return client_state_call(state, info_by, out_info, 0, NULL);
}

bool client_state_is_over(struct client_state *state)
{
	struct ww_service_info info;

	return client_state_info(state, &info) != WW_OK || info.state == WW_SERVICE_LOST ||
		info.state == WW_SERVICE_STOPPED;
}

/* A reference; NULL: none was met, or it is over. */
static struct client_state *known_next(struct client_state *state)
{
	struct client_state *next;

	pthread_mutex_lock(&state->lock);
	next = state->next ? client_state_ref(state->next) : NULL;
	pthread_mutex_unlock(&state->lock);
	return next && client_state_is_over(next) ? client_state_unref(next) : next;
}

static ww_status open_next(struct client_state *state, uint64_t timeout_ns, ww_cancel *cancel,
	struct client_state **out_next)
{
	struct ww_client_params params = WW_INIT(struct ww_client_params);
	struct client_state *next;
	ww_client *client;
	ww_status status;

	params.gid = state->gid;
	status = ww_client_open(state->broker, state->name, &params, timeout_ns, cancel, &client);
	if (status != WW_OK)
		return status;
	next = client_state_new(client, state->name, state->timeout_ns);
	if (!next)
		return WW_ERR_NO_MEMORY;
	if (client_state_is_over(next)) { /* it was found, and ended meanwhile */
		client_state_unref(next);
		return WW_ERR_PEER_LOST;
	}
	*out_next = client_state_ref(next);
	client_state_unref(swap_next(state, next));
	if (is_closed(state)) /* meanwhile */
		client_state_close(*out_next);
	return WW_OK;
}

/* The broker takes the name from a server that has ended a little later than its client knows. */
static void pause_briefly(void)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)SHARED_NS}, NULL);
}

ww_status client_state_next(struct client_state *state, uint64_t timeout_ns, ww_cancel *cancel,
	struct client_state **out_next)
{
	uint64_t begin_ns = now_ns(), spent_ns = 0;
	ww_status status = WW_OK;

	*out_next = known_next(state);
	while (!*out_next) {
		uint64_t left_ns = timeout_ns == WW_FOREVER ? WW_FOREVER : timeout_ns - spent_ns;

		if (is_closed(state))
			return STATUS_CLOSED;
		if (cancel && ww_cancel_is_set(cancel))
			return WW_CANCELLED;
		status = open_next(state, left_ns < WAIT_NS ? left_ns : WAIT_NS, cancel, out_next);
		if (status == WW_ERR_PEER_LOST || status == WW_ERR_NOT_FOUND)
			pause_briefly();
		else if (status != WW_TIMED_OUT)
			return status;
		spent_ns = now_ns() - begin_ns;
		if (spent_ns >= timeout_ns && !*out_next)
			return WW_TIMED_OUT;
	}
	return WW_OK;
}

/* --- tickets --- */

struct ticket_state *ticket_state_new(struct client_state *state, ww_ticket *ticket)
{
	struct ticket_state *made = calloc(1, sizeof(*made));

	if (!made) {
		ww_ticket_unref(ticket);
		return NULL;
	}
	made->client = client_state_ref(state);
	made->ticket = ticket;
	made->ready_fd = -1;
	made->info = WW_INIT(struct ww_ticket_info);
	ww_ticket_info_get(ticket, &made->info);
	return made;
}

void ticket_state_free(struct ticket_state *ticket)
{
	struct client_state *state;
	bool is_used;

	if (!ticket)
		return;
	state = client_state_ref(ticket->client);
	if (is_inherited(state)) {
		ticket_close_fd(ticket);
		client_state_unref(ticket->client);
		free(ticket);
		client_state_unref(state);
		return;
	}
	pthread_mutex_lock(&state->lock);
	ticket->next = state->dropped;
	state->dropped = ticket;
	is_used = state->is_used;
	state->is_used = true;
	pthread_mutex_unlock(&state->lock);
	if (!is_used)
		state_leave(state);
	client_state_unref(state);
}

/* By the thread that uses the client. */
static void ticket_note_end(struct ticket_state *ticket)
{
	ww_status status;

	if (__atomic_load_n(&ticket->has_ended, __ATOMIC_ACQUIRE))
		return;
	status = ww_ticket_wait(ticket->ticket, 0, NULL);
	if (status == WW_NOT_READY)
		return;
	if (status < 0 || status == WW_TIMED_OUT)
		ticket->record = *ww_error_last();
	ww_ticket_info_get(ticket->ticket, &ticket->info);
	ticket->record.status = status == WW_ERR_STATE && ticket->info.has_started ? FUNCTION_FAILED
										   : status;
	__atomic_store_n(&ticket->has_ended, 1, __ATOMIC_RELEASE);
}

/* Those for which other threads sleep. By the thread that uses the client. */
static void state_note_ends(struct client_state *state)
{
	if (is_inherited(state))
		return;
	pthread_mutex_lock(&state->lock);
	for (struct ticket_state *ticket = state->waiting; ticket; ticket = ticket->next)
		ticket_note_end(ticket);
	pthread_mutex_unlock(&state->lock);
}

/* Takes the client if nobody uses it. Return: false: a slice of time has passed instead. */
static bool enter_or_sleep(struct ticket_state *ticket, uint64_t most_ns)
{
	struct client_state *state = ticket->client;
	uint64_t end_ns = now_ns() + most_ns;
	const struct timespec end = {
		.tv_sec = (time_t)(end_ns / 1000000000),
		.tv_nsec = (long)(end_ns % 1000000000),
	};
	struct ticket_state **place;
	bool has_entered;

	if (is_inherited(state))
		return true;
	pthread_mutex_lock(&state->lock);
	state->is_shared |= state->is_used;
	if (ticket->sleepers++ == 0) {
		ticket->next = state->waiting;
		state->waiting = ticket;
	}
	while ((state->is_used || state->wanted > 0) &&
		!__atomic_load_n(&ticket->has_ended, __ATOMIC_ACQUIRE)) {
		if (pthread_cond_timedwait(&state->is_free, &state->lock, &end) == ETIMEDOUT)
			break;
	}
	has_entered = !state->is_used && state->wanted == 0;
	state->is_used |= has_entered;
	if (--ticket->sleepers == 0) {
		for (place = &state->waiting; *place != ticket;)
			place = &(*place)->next;
		*place = ticket->next;
	}
	pthread_mutex_unlock(&state->lock);
	return has_entered;
}

/* Waits in the library for a slice of time. By the thread that uses the client. */
static ww_status ticket_look(struct ticket_state *ticket, uint64_t timeout_ns, ww_cancel *cancel)
{
	ww_status status = WW_OK;

	if (!__atomic_load_n(&ticket->has_ended, __ATOMIC_ACQUIRE)) {
		if (is_closed(ticket->client))
			return STATUS_CLOSED;
		if (timeout_ns > 0)
			(void)ww_ticket_wait(ticket->ticket, timeout_ns, cancel);
		ticket_note_end(ticket);
		status = ticket->has_ended ? WW_OK : WW_TIMED_OUT;
	}
	state_note_ends(ticket->client);
	return status;
}

static ww_status ticket_look_now(struct ticket_state *ticket)
{
	ww_status status;

	state_enter(ticket->client);
	status = ticket_look(ticket, 0, NULL);
	state_leave(ticket->client);
	return status;
}

static ww_status ticket_wait_slice(struct ticket_state *ticket, uint64_t slice, ww_cancel *cancel)
{
	ww_status status;

	if (!enter_or_sleep(ticket, slice))
		return __atomic_load_n(&ticket->has_ended, __ATOMIC_ACQUIRE) ? WW_OK
			: is_closed(ticket->client)                          ? STATUS_CLOSED
									     : WW_TIMED_OUT;
	status = ticket_look(ticket, slice, cancel);
	state_leave(ticket->client);
	return status;
}

ww_status ticket_state_wait(struct ticket_state *ticket, uint64_t timeout_ns, ww_cancel *cancel)
{
	uint64_t begin_ns = 0, spent_ns = 0;
	ww_status status;

	if (timeout_ns == 0)
		return ticket_look_now(ticket);
	for (;;) {
		status = ticket_wait_slice(ticket, slice_ns(ticket->client, timeout_ns, spent_ns),
			cancel);
		if (status != WW_TIMED_OUT)
			return status;
		if (cancel && ww_cancel_is_set(cancel))
			return WW_CANCELLED;
		if (begin_ns == 0)
			begin_ns = now_ns();
		spent_ns = now_ns() - begin_ns + 1;
		if (spent_ns >= timeout_ns)
			return status;
	}
}

struct stream_wait {
	ww_ticket *ticket;
	ww_stream *stream;
	uint64_t flags;
	bool is_late;
};

static ww_status stream_wait_by(ww_client *client, void *call, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	struct stream_wait *wait = call;
	ww_status status = ww_ticket_stream_wait(wait->ticket, wait->stream, wait->flags,
		timeout_ns, cancel);

	(void)client;
	wait->is_late = status == WW_TIMED_OUT;
	if (wait->is_late)
		return WW_OK;
	if (status != WW_NOT_READY)
		return status;
	return cancel && ww_cancel_is_set(cancel) ? WW_CANCELLED : WW_TIMED_OUT;
}

ww_status ticket_state_stream_wait(struct ticket_state *ticket, ww_stream *stream, uint64_t flags,
	uint64_t timeout_ns, ww_cancel *cancel, bool *out_is_late)
{
	struct stream_wait wait = {.ticket = ticket->ticket, .stream = stream, .flags = flags};
	ww_status status = client_state_call(ticket->client, stream_wait_by, &wait, timeout_ns,
		cancel);

	*out_is_late = wait.is_late;
	return wait.is_late ? WW_TIMED_OUT : status;
}

ww_status ticket_state_fileno(struct ticket_state *ticket, int *out_fd)
{
	struct client_state *state = ticket->client;
	ww_status status = WW_OK;

	state_enter(state);
	if (ticket->ready_fd < 0) {
		status = is_closed(state) ? STATUS_CLOSED
					  : ww_ticket_eventfd(ticket->ticket, &ticket->ready_fd);
		if (status == WW_OK) {
			ticket->next_polled = state->polled;
			state->polled = ticket;
		}
	}
	*out_fd = ticket->ready_fd;
	state_leave(state);
	return status;
}

void ticket_state_cancel(struct ticket_state *ticket)
{
	state_enter(ticket->client);
	if (!__atomic_load_n(&ticket->has_ended, __ATOMIC_ACQUIRE))
		ww_ticket_cancel(ticket->ticket);
	state_leave(ticket->client);
}

ww_status ticket_state_info(struct ticket_state *ticket, struct ww_ticket_info *info)
{
	ww_status status;

	*info = WW_INIT(struct ww_ticket_info);
	state_enter(ticket->client);
	status = ww_ticket_info_get(ticket->ticket, info);
	state_leave(ticket->client);
	return status;
}

ww_status ticket_state_result(struct ticket_state *ticket, uint32_t index,
	struct ww_value *out_value)
{
	ww_status status;

	state_enter(ticket->client);
	status = ww_ticket_result(ticket->ticket, index, out_value);
	state_leave(ticket->client);
	return status;
}
