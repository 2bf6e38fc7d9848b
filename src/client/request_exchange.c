/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_exchange.c - the steps of one request, see request.h for its states
 *
 * Many threads share one connection. Each thread repeats request_step() for its own request until
 * that has ended. A step decides anew from what is true at that moment, so it need not know what
 * other threads did while it waited:
 *
 *   request_step()
 *     ANSWERED, FAILED        ──> the end: WW_OK, request_failure()
 *     ww_cancel_nowait()      ──> the end, unless only a connection is asked for, and is there
 *     ww_cancel is set        ──> request_stop()     until_ns is the end of the grace; go on
 *     until_ns has passed     ──> request_expire()   withdraw it and go on, or the end. An UNSENT
 *                                                    one is sent first if there is a connection
 *     there is no connection  ──> request_connect()  one thread connects, the others follow()
 *     else                    ──> request_exchange()
 *       UNSENT, or withdrawn  ──>   send_next()      the request, or a cancel
 *       the socket is full    ──>   wait_for_room()
 *       no thread reads       ──>   lead()           reads one packet, for whichever request it is
 *       a thread reads        ──>   follow()         waits for request.changed
 *
 * When the leader has its own answer, request_run() wakes the next thread to lead.
 *
 * The caller of all static functions holds the broker's lock, but for request_run(). The functions
 * that wait drop it meanwhile: lead(), follow(), wait_for_room(), request_connect().
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/log.h"
#include "client/request_exchange.h"

#define NS_PER_MS UINT64_C(1000000)
#define GRACE_NS  (100 * NS_PER_MS) /* the time to wait for an answer after a limit has passed */

/* --- waiting --- */

/* Reads one packet, for all requests. @events: POLLIN, and what else to wait for. */
static void lead(struct ww_broker *broker, const struct ww_request *request, short events)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = ww_connection_ref(broker->connection);
	struct ww_arrival arrival = {.fd_count = 0};
	ww_status status;

	broker->has_leader = true;
	pthread_mutex_unlock(&broker->lock);
	status = ww_connection_wait(connection, events, request->until_ns);
	if (status == WW_OK)
		status = ww_connection_take(connection, broker->packet, sizeof(broker->packet),
			&arrival);
	if (status < 0)
		ww_log_debug("nothing came from %s: %s", broker->address.path,
			ww_error_last()->message);
	pthread_mutex_lock(&broker->lock);
	broker->has_leader = false;
	ww_broker_client_receive(broker, status, &arrival);
}

/* Waits until another thread wakes this one, because the request changed or to lead. */
static void follow(struct ww_broker *broker, struct ww_request *request)
{
	request->is_following = true;
	ww_condition_wait(&request->changed, &broker->lock, request->until_ns);
	request->is_following = false;
}

/*
 * Waits for room in the socket. A thread must read meanwhile, because a broker that cannot send its
 * answers may read no requests. If the leader stops reading, the next packet wakes this thread, and
 * it leads.
 */
static void wait_for_room(struct ww_broker *broker, const struct ww_request *request)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = NULL;

	if (!broker->has_leader) {
		lead(broker, request, POLLIN | POLLOUT);
		return;
	}
	connection = ww_connection_ref(broker->connection);
	pthread_mutex_unlock(&broker->lock);
	(void)ww_connection_wait(connection, POLLIN | POLLOUT, request->until_ns);
	pthread_mutex_lock(&broker->lock);
}

/* Wakes one thread that follows, so that it leads. */
static void wake_next_leader(const struct ww_broker *broker)
{
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->is_following && request->state < WW_REQUEST_ANSWERED) {
			pthread_cond_signal(&request->changed);
			return;
		}
	}
}

/* --- the end of a request without an answer --- */

static bool is_expired(const struct ww_request *request)
{
	return request->until_ns != WW_NEVER && ww_clock_now_ns() >= request->until_ns;
}

static void request_withdraw(struct ww_request *request)
{
	request->is_withdrawn = true;
	request->is_cancel_due = true;
}

/*
 * The thread's ww_cancel is set. An UNSENT request is still sent if that need not wait, and its
 * answer is waited for until the grace ends. A request that waits in the broker is withdrawn.
 */
static void request_stop(struct ww_request *request)
{
	uint64_t grace_end_ns = ww_cancel_grace_end_ns();
	bool must_withdraw = request->waits && !request->is_withdrawn;

	/* A request that is withdrawn has all of this grace, also if its own limit is earlier. */
	if (!request->is_stopped && (must_withdraw || request->until_ns > grace_end_ns))
		request->until_ns = grace_end_ns;
	request->is_stopped = true;
	if (must_withdraw && request->state == WW_REQUEST_SENT)
		request_withdraw(request);
}

/*
 * until_ns has passed. A request that waits in the broker is withdrawn first, and has a short time
 * for its answer. An answer that comes later is discarded.
 * Return: WW_NOT_READY (withdrawn); WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NO_BROKER.
 */
static ww_status request_expire(struct ww_broker *broker, struct ww_request *request)
{
	uint64_t passed_ns = ww_clock_now_ns() - request->begun_ns;

	if (request->is_stopped)
		return WW_CANCELLED;
	if (request->waits && !request->is_withdrawn) {
		request_withdraw(request);
		request->until_ns = ww_clock_deadline_ns(GRACE_NS);
		return WW_NOT_READY;
	}
	if (request->waits && passed_ns < broker->timeout_ns)
		return WW_TIMED_OUT;
	return ww_fail(WW_ERR_NO_BROKER,
		"the broker at %s did not answer %s within %" PRIu64
		" ms; is it stopped, or very busy?",
		broker->address.path, request->code ? ww_wire_name(request->code) : "hello",
		passed_ns / NS_PER_MS);
}

/* Records why a request is FAILED. */
static ww_status request_failure(const struct ww_broker *broker, const struct ww_request *request)
{
	const char *what = ww_wire_name(request->code);
	const char *path = broker->address.path;

	switch (request->failure) {
	case WW_ERR_LIMIT:
		return ww_fail_errno(EMFILE, NULL,
			"the broker granted %s, but its descriptors had no room", what);
	case WW_ERR_NO_BROKER:
		return ww_fail(WW_ERR_NO_BROKER,
			"the broker at %s ended %d times while it had this request, %s", path,
			WW_REQUEST_BREAKS, what);
	case WW_ERR_DESCRIPTOR:
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused a descriptor that came from %s for %s: it is neither memory nor a device, but a "
			"file of a kind that may hang the process that closes it",
			path, what);
	default:
		return ww_fail(WW_ERR_PROTOCOL,
			"what came from %s is no answer to %s; is it a broker, and of this version?",
			path, what);
	}
}

/* --- one step --- */

/* Connects, or waits for the thread that does. A withdrawn request needs no connection. */
static ww_status request_connect(struct ww_broker *broker, struct ww_request *request)
{
	uint64_t limit_ns = ww_clock_deadline_ns(broker->timeout_ns);
	ww_status status;

	if (request->is_withdrawn)
		return WW_TIMED_OUT;
	if (broker->is_connecting) {
		if (request->is_stopped)
			return WW_CANCELLED;
		follow(broker, request);
		return WW_NOT_READY;
	}
	/* If the ww_cancel is set, that ends the connecting: the grace is for answers only. */
	if (limit_ns > request->until_ns && !request->is_stopped)
		limit_ns = request->until_ns;
	broker->is_connecting = true;
	status = ww_broker_client_recover(broker, !request->starts_none, limit_ns);
	broker->is_connecting = false;
	ww_broker_client_wake_all(broker);
	if (status == WW_OK)
		return WW_NOT_READY;
	return request->waits && is_expired(request) ? request_expire(broker, request) : status;
}

/*
 * Sends the request, or its cancel.
 * Return: WW_OK (also if there is nothing to send); WW_NOT_READY (no room); WW_TIMED_OUT; an error.
 */
static ww_status send_next(struct ww_broker *broker, struct ww_request *request)
{
	if (broker->is_ending)
		return WW_OK;
	if (request->state == WW_REQUEST_UNSENT && request->is_withdrawn)
		return WW_TIMED_OUT;
	if (request->state == WW_REQUEST_UNSENT) {
		ww_status status = ww_broker_client_send_request(broker, request);

		if (status != WW_OK || request->state != WW_REQUEST_SENT)
			return status;
		if (request->is_stopped && request->waits)
			request_withdraw(request); /* at once: it gets what is there now */
	}
	if (request->is_cancel_due)
		return ww_broker_client_send_cancel(broker, request);
	return WW_OK;
}

/* Whether the broker has closed the connection; packets that it sent before may be unread. */
static bool has_ended(const struct ww_broker *broker)
{
	return broker->is_ending || ww_connection_wait(broker->connection, 0, 0) == WW_OK;
}

/* Sends and reads over a connection. Return: as request_step(). */
static ww_status request_exchange(struct ww_broker *broker, struct ww_request *request,
	bool is_late)
{
	/* If the ww_cancel is set already, it does not end the waiting: until_ns does. */
	WW_AUTO_CANCEL struct ww_cancel_scope scope = request->is_stopped ? ww_cancel_mask()
									  : ww_cancel_enter(NULL);
	ww_status status = WW_OK;

	/* The request may contain a secret, which another broker must not read. */
	if (request->broker_id &&
		memcmp(request->broker_id, broker->broker_id, WW_WIRE_ID_BYTES) != 0) {
		if (!has_ended(broker))
			return ww_fail(WW_ERR_NOT_FOUND,
				"the broker at %s is another one than %s is for",
				broker->address.path, ww_wire_name(request->code));
	} else if (request->code != 0) {
		status = send_next(broker, request);
	} else if (!has_ended(broker)) {
		return WW_OK;
	}
	if (status < 0 || status == WW_TIMED_OUT)
		return status;
	if (status == WW_NOT_READY && is_late)
		return request_expire(broker, request);
	if (status == WW_NOT_READY)
		wait_for_room(broker, request);
	else if (broker->has_leader)
		follow(broker, request);
	else
		lead(broker, request, POLLIN);
	return WW_NOT_READY;
}

/*
 * An UNSENT request is sent even if its time has passed, so that a call without time to wait gets
 * what is there.
 * Return: WW_NOT_READY (there is another step); how the request ended.
 */
static ww_status request_step(struct ww_broker *broker, struct ww_request *request)
{
	bool is_late;

	if (request->state == WW_REQUEST_ANSWERED)
		return WW_OK;
	if (request->state == WW_REQUEST_FAILED)
		return request_failure(broker, request);
	if (ww_cancel_is_nowait() && (request->code != 0 || !broker->connection))
		return WW_CANCELLED;
	if (ww_cancel_is_pending())
		request_stop(request);
	is_late = is_expired(request);
	if (is_late && (!broker->connection || request->state == WW_REQUEST_SENT))
		return request_expire(broker, request);
	if (!broker->connection)
		return request_connect(broker, request);
	return request_exchange(broker, request, is_late);
}

/* --- all steps --- */

/* After a request that did not succeed, the broker must not wait for it, nor count a hold of it. */
static void request_clean_up(struct ww_broker *broker, struct ww_request *request)
{
	bool was_sent = request->state == WW_REQUEST_SENT || request->is_repeated;

	if (request->state == WW_REQUEST_SENT && request->is_cancel_due && !broker->is_ending)
		(void)ww_broker_client_send_cancel(broker, request);
	if (request->id && was_sent && request->state != WW_REQUEST_ANSWERED) {
		const struct ww_wire_put *put = request->message;

		/* The broker may have executed it. */
		if (request->code == WW_WIRE_PUT && put->flags & WW_WIRE_PUT_FLAG_STAYS)
			ww_broker_client_undo_put(broker, request);
		else
			ww_broker_client_release_unknown(broker, request->id);
	} else if (request->has_stale) {
		ww_broker_client_release_unknown(broker, request->stale_id);
	}
}

static ww_status request_run(struct ww_broker *broker, struct ww_request *request)
{
	ww_status status;
	uint64_t least;
	uint64_t most;

	pthread_mutex_lock(&broker->lock);
	request->begun_ns = ww_clock_now_ns();
	if (request->limit_ns > ww_request_limit())
		request->limit_ns = ww_request_limit();
	/*
	 * A request that does not wait in the broker has a short time by any limit, and the
	 * broker's timeout at most.
	 */
	least = ww_clock_deadline_ns(GRACE_NS);
	most = ww_clock_deadline_ns(broker->timeout_ns);
	if (request->waits) {
		request->until_ns = request->limit_ns;
	} else {
		if (request->limit_ns > least)
			least = request->limit_ns;
		request->until_ns = least < most ? least : most;
	}
	ww_list_append(&broker->requests, &request->link);
	do {
		status = request_step(broker, request);
	} while (status == WW_NOT_READY);
	request_clean_up(broker, request);
	ww_list_remove(&request->link);
	if (!broker->has_leader)
		wake_next_leader(broker);
	pthread_mutex_unlock(&broker->lock);
	return status;
}

ww_status ww_broker_client_ask(struct ww_broker *broker, struct ww_request *request)
{
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_broker_client_drop_kept(false);
	status = request_run(broker, request);
	if (status == WW_OK && request->code != 0 && request->answer_code == WW_WIRE_ERROR)
		status = ww_connection_fail(request->answer, request->answer_bytes,
			request->version);
	if (status == WW_ERR_GIVEN_UP && request->is_withdrawn)
		status = WW_TIMED_OUT;
	if (status == WW_TIMED_OUT && request->is_stopped)
		status = WW_CANCELLED;
	if (status >= 0)
		ww_error_restore(&record); /* the call has recovered from failures on the way */
	return status;
}

ww_status ww_broker_client_ensure(struct ww_broker *broker, bool may_start)
{
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, 0, 0, NULL);
	request.starts_none = !may_start;
	return ww_broker_client_ask(broker, &request);
}
