/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_exchange.c - many threads, one connection, see broker_client.h
 *
 * Each request goes through step() until it is over: connect, send, then lead or follow. Every step
 * either gets further or waits for an event, and starts from what is true then, so whatever
 * happened meanwhile needs no special case.
 *
 * A connection that breaks takes nobody with it: requests without an answer are sent again, flagged
 * so, for they may have had their effect. One that was there each time when the broker ended, with
 * nothing answered after it, is suspected of being the cause and not sent for ever.
 *
 * Whatever comes is checked like an untrusted process's. Answers nobody waits for (any more) are
 * dropped, and what they granted is released.
 *
 * All statics here are called with the broker's lock held; those that wait give it up meanwhile.
 */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/error.h"
#include "base/log.h"
#include "base/close_async.h"
#include "client/broker_client.h"

#define NS_PER_MS       UINT64_C(1000000)
#define RELEASE_WAIT_NS (100 * NS_PER_MS) /* for room, before a release is put off */
/* for the answer to what is asked when a limit is reached */
#define GRACE_NS     (100 * NS_PER_MS)
#define PACKET_BYTES 2048 /* of a request */

/*
 * So many that no broker which is killed again and again by others is taken for a victim of one
 * request.
 */
#define SUSPICIONS_MAX 100

static void wake_all(const struct ww_broker *broker)
{
	ww_list_for_each (link, &broker->requests)
		pthread_cond_signal(&ww_container(link, struct ww_request, link)->changed);
}

/* Somebody must read, if anybody waits for an answer. */
static void wake_next(const struct ww_broker *broker)
{
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->is_following && request->state < WW_REQUEST_ANSWERED) {
			pthread_cond_signal(&request->changed);
			return;
		}
	}
}

static void fail_request(struct ww_request *request, ww_status failure)
{
	request->state = WW_REQUEST_FAILED;
	request->failure = failure;
}

/* What becomes of a request that was sent over a connection which is no more. */
static void unsend(const struct ww_broker *broker, struct ww_request *request, ww_status why)
{
	request->is_again = true;
	request->state = WW_REQUEST_UNSENT;
	if (request->sequence > broker->answered_sequence)
		request->suspicions++;
	if (why == WW_ERR_PROTOCOL)
		fail_request(request, WW_ERR_PROTOCOL);
	else if (request->suspicions > SUSPICIONS_MAX)
		fail_request(request, WW_ERR_NO_BROKER);
}

/* @why: WW_ERR_PROTOCOL: what came is not from a broker, so nothing is repeated */
static void break_link(struct ww_broker *broker, ww_status why)
{
	ww_connection_shut(broker->connection);
	broker->connection = ww_connection_unref(broker->connection);
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->state == WW_REQUEST_SENT)
			unsend(broker, request, why);
	}
	wake_all(broker);
}

/* --- sending --- */

/* Return: as ww_packet_send(); WW_ERR_PEER_LOST leaves the end to who reads. */
static ww_status send_packet(struct ww_broker *broker, const void *packet, size_t bytes,
	const int *fds, size_t fd_count)
{
	ww_status status = ww_packet_send(broker->connection->socket, packet, bytes, fds, fd_count);

	if (status == WW_ERR_PEER_LOST)
		broker->is_ending = true;
	if (status == WW_OK) {
		broker->sequence++;
		broker->is_stalled = false;
	}
	return status;
}

static uint32_t next_serial(struct ww_broker *broker)
{
	if (++broker->serial == 0)
		broker->serial = 1;
	return broker->serial;
}

/* Asks for no answer. */
static ww_status send_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	const struct ww_wire_header header = {.serial = 0};
	struct ww_wire_release release;
	uint8_t packet[PACKET_BYTES];
	ww_status status;
	size_t bytes;

	memcpy(release.id, id, sizeof(release.id));
	bytes = ww_wire_encode_release(&release, broker->connection->welcome.version, &header,
		packet, sizeof(packet));
	ww_assert(bytes > 0);
	status = send_packet(broker, packet, bytes, NULL, 0);
	if (status == WW_OK)
		ww_holds_note_release(&broker->holds, id, broker->sequence);
	return status;
}

void ww_broker_client_send_due(struct ww_broker *broker)
{
	struct ww_hold *hold;

	while (broker->connection && !broker->is_ending &&
		(hold = ww_holds_first_due(&broker->holds)) != NULL) {
		if (send_release(broker, hold->id) != WW_OK)
			return;
		ww_holds_forget(&broker->holds, hold);
	}
}

/*
 * Releases what nothing in this process stands for; where there is no room now, as something that
 * is due. Without memory for that it stays held until the connection ends. Over a connection that
 * is being made it may have been confirmed already; over one that is yet to be made it will not be.
 */
static void release_unheld(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_hold *spare;

	if (ww_holds_find(&broker->holds, id) ||
		(!broker->connection && !broker->is_connecting && !broker->recovery))
		return;
	if (broker->connection && !broker->is_ending && send_release(broker, id) == WW_OK)
		return;
	spare = ww_hold_new();
	if (spare)
		ww_holds_drop(&broker->holds, ww_holds_take(&broker->holds, id, false, &spare));
}

/* Return: WW_OK (sent, or to be sent over the next one); WW_NOT_READY (no room now); an error. */
static ww_status transmit(struct ww_broker *broker, struct ww_request *request)
{
	uint8_t packet[PACKET_BYTES];
	ww_status status;
	size_t bytes;

	ww_broker_client_send_due(broker);
	request->serial = next_serial(broker);
	bytes = ww_request_encode(request, broker->connection->welcome.version, packet,
		sizeof(packet));
	status = send_packet(broker, packet, bytes, request->fds, request->fd_count);
	if (status == WW_OK) {
		request->state = WW_REQUEST_SENT;
		request->sequence = broker->sequence;
	}
	return status == WW_ERR_PEER_LOST ? WW_OK : status;
}

/* Calls a request off; its own answer tells what came of that. Return: as transmit(). */
static ww_status send_cancel(struct ww_broker *broker, struct ww_request *request)
{
	const struct ww_wire_header header = {.serial = next_serial(broker)};
	const struct ww_wire_cancel cancel = {.waiting = request->serial};
	uint8_t packet[PACKET_BYTES];
	size_t bytes = ww_wire_encode_cancel(&cancel, broker->connection->welcome.version, &header,
		packet, sizeof(packet));
	ww_status status;

	ww_assert(bytes > 0);
	status = send_packet(broker, packet, bytes, NULL, 0);
	if (status == WW_OK)
		request->is_cancel_due = false;
	return status == WW_ERR_PEER_LOST ? WW_OK : status;
}

/* --- receiving --- */

static struct ww_request *find_request(const struct ww_broker *broker, uint32_t serial)
{
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->state == WW_REQUEST_SENT && request->serial == serial)
			return request;
	}
	return NULL;
}

/* An answer to a request whose thread has given up. */
static void discard(struct ww_broker *broker, struct ww_arrival *arrival)
{
	struct ww_wire_granted granted;
	struct ww_error record;

	ww_arrival_drop(arrival);
	if (arrival->header.code != WW_WIRE_GRANTED)
		return;
	ww_error_save(&record);
	if (ww_wire_decode_granted(broker->coming, arrival->bytes,
		    broker->connection->welcome.version, &granted) == WW_OK)
		release_unheld(broker, granted.id);
	ww_error_restore(&record);
}

/* Counts what an answer brings, before anybody can let go of it. */
static void count_hold(struct ww_broker *broker, struct ww_request *request,
	const uint8_t id[WW_WIRE_ID_BYTES], bool is_own)
{
	const struct ww_hold *hold = ww_holds_take(&broker->holds, id, is_own, &request->spare);

	request->has_hold = true;
	request->is_own = hold->is_own;
	memcpy(request->held_id, id, WW_WIRE_ID_BYTES);
}

/* Whether a release of ours, sent after the request, may have undone what it was answered. */
static bool is_undone(const struct ww_broker *broker, struct ww_request *request,
	const uint8_t id[WW_WIRE_ID_BYTES])
{
	if (ww_holds_find(&broker->holds, id) ||
		!ww_holds_may_be_released(&broker->holds, id, request->sequence))
		return false;
	request->has_stale = true;
	memcpy(request->stale_id, id, sizeof(request->stale_id));
	return true;
}

/* Return: WW_OK; WW_NOT_READY (it is undone: ask again); WW_ERR_PROTOCOL. */
static ww_status take_grant(struct ww_broker *broker, struct ww_request *request, size_t bytes)
{
	struct ww_wire_granted granted;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	status = ww_wire_decode_granted(broker->coming, bytes, broker->connection->welcome.version,
		&granted);
	ww_error_restore(&record);
	if (status < 0 || !request->spare)
		return WW_ERR_PROTOCOL;
	if (is_undone(broker, request, granted.id))
		return WW_NOT_READY;
	count_hold(broker, request, granted.id, false);
	return WW_OK;
}

/* The hold that comes with an answer. Return: as take_grant(). */
static ww_status take_hold(struct ww_broker *broker, struct ww_request *request,
	const struct ww_arrival *arrival)
{
	if (arrival->header.code == WW_WIRE_GRANTED)
		return take_grant(broker, request, arrival->bytes);
	if (arrival->header.code != WW_WIRE_DONE || request->code != WW_WIRE_PUT)
		return WW_OK;
	if (is_undone(broker, request, request->id)) {
		request->is_again = true; /* for it may still be there */
		return WW_NOT_READY;
	}
	count_hold(broker, request, request->id, true);
	return WW_OK;
}

static void answer(struct ww_broker *broker, struct ww_request *request, struct ww_arrival *arrival)
{
	const struct ww_wire_header *header = &arrival->header;
	ww_status status = WW_ERR_PROTOCOL;

	if (request->sequence > broker->answered_sequence)
		broker->answered_sequence = request->sequence;
	if ((header->code == request->reply || header->code == WW_WIRE_ERROR) &&
		arrival->bytes <= request->room)
		status = take_hold(broker, request, arrival);
	if (status == WW_OK) {
		memcpy(request->answer, broker->coming, arrival->bytes);
		memcpy(request->fds_come, arrival->fds, sizeof(arrival->fds));
		request->fds_come_count = arrival->fd_count;
		request->answer_bytes = arrival->bytes;
		request->answer_code = header->code;
		request->version = broker->connection->welcome.version;
		request->state = WW_REQUEST_ANSWERED;
	} else {
		ww_arrival_drop(arrival);
		request->state = WW_REQUEST_UNSENT;
		if (status < 0)
			fail_request(request, status);
	}
	pthread_cond_signal(&request->changed);
}

/*
 * Its descriptors were lost on the last step, for this process may open no more, or are none to be
 * used.
 */
static void answer_cut(struct ww_broker *broker, ww_status why, struct ww_arrival *arrival)
{
	struct ww_request *request = find_request(broker, arrival->header.serial);

	if (request) {
		fail_request(request, why);
		pthread_cond_signal(&request->changed);
	}
	discard(broker, arrival);
}

static void deliver(struct ww_broker *broker, struct ww_arrival *arrival)
{
	struct ww_request *request = find_request(broker, arrival->header.serial);

	if (arrival->header.serial == 0) { /* the broker refuses the connection, or is none */
		ww_arrival_drop(arrival);
		break_link(broker, WW_ERR_PROTOCOL);
	} else if (request) {
		answer(broker, request, arrival);
	} else {
		discard(broker, arrival);
	}
}

static void receive(struct ww_broker *broker, ww_status status, struct ww_arrival *arrival)
{
	if (status == WW_OK)
		deliver(broker, arrival);
	else if (status == WW_ERR_LIMIT)
		answer_cut(broker, status, arrival);
	/*
	 * A broker may have passed on what somebody put there, so it stays; but not one that does
	 * nothing else.
	 */
	else if (status == WW_ERR_DESCRIPTOR && ww_close_async_check_room() == WW_OK)
		answer_cut(broker, status, arrival);
	else if (status == WW_ERR_PROTOCOL || status == WW_ERR_DESCRIPTOR)
		break_link(broker, WW_ERR_PROTOCOL);
	else if (status < 0)
		break_link(broker, WW_ERR_PEER_LOST);
}

/* --- waiting --- */

/* Reads for everybody until something came. @events: POLLIN, and what else to wait for. */
static void lead(struct ww_broker *broker, const struct ww_request *request, short events)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = ww_connection_ref(broker->connection);
	struct ww_arrival arrival = {.fd_count = 0};
	ww_status status;

	broker->has_leader = true;
	pthread_mutex_unlock(&broker->lock);
	status = ww_connection_wait(connection, events, request->until_ns);
	if (status == WW_OK)
		status = ww_connection_take(connection, broker->coming, sizeof(broker->coming),
			&arrival);
	if (status < 0)
		ww_log_debug("nothing came from %s: %s", broker->address.path,
			ww_error_last()->message);
	pthread_mutex_lock(&broker->lock);
	broker->has_leader = false;
	receive(broker, status, &arrival);
}

/* Waits until somebody has news for this request, or it is to lead. */
static void follow(struct ww_broker *broker, struct ww_request *request)
{
	request->is_following = true;
	ww_condition_wait(&request->changed, &broker->lock, request->until_ns);
	request->is_following = false;
}

/*
 * Waits for room in the socket. Somebody must read meanwhile, for a broker that cannot answer may
 * take no more: if the leader leaves, what comes then wakes this thread, which leads.
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

/* --- one request --- */

static ww_status fail_silence(const struct ww_broker *broker, const struct ww_request *request)
{
	return ww_fail(WW_ERR_NO_BROKER,
		"the broker at %s did not answer %s within %" PRIu64
		" ms; is it stopped, or very busy?",
		broker->address.path, request->code ? ww_wire_name(request->code) : "hello",
		(ww_clock_now_ns() - request->begun_ns) / NS_PER_MS);
}

static bool is_expired(const struct ww_request *request)
{
	return request->until_ns != WW_NEVER && ww_clock_now_ns() >= request->until_ns;
}

static void call_off(struct ww_request *request)
{
	request->is_cancelled = true;
	request->is_cancel_due = true;
}

/*
 * The caller's flag is set. What is yet to be sent is sent if that need not wait; an answer is
 * waited for until the call's grace ends. A request that waits in the broker is called off.
 */
static void stop(struct ww_request *request)
{
	uint64_t grace_end_ns = ww_cancel_grace_end_ns();
	bool is_to_call_off = request->waits && !request->is_cancelled;

	/* What is called off has this grace, whatever was left of its own limit. */
	if (!request->is_stopped && (is_to_call_off || request->until_ns > grace_end_ns))
		request->until_ns = grace_end_ns;
	request->is_stopped = true;
	if (is_to_call_off && request->state == WW_REQUEST_SENT)
		call_off(request);
}

/*
 * Its time is up. One that waits is called off, and what comes of that is waited for a moment; an
 * answer that comes later is dropped like all that nobody waits for.
 * Return: WW_NOT_READY (the outcome is to come); WW_TIMED_OUT; WW_CANCELLED; WW_ERR_NO_BROKER.
 */
static ww_status expire(struct ww_broker *broker, struct ww_request *request)
{
	if (request->is_stopped)
		return WW_CANCELLED;
	if (request->waits && !request->is_cancelled) {
		call_off(request);
		request->until_ns = ww_clock_deadline_ns(GRACE_NS);
		return WW_NOT_READY;
	}
	if (request->waits && ww_clock_now_ns() - request->begun_ns < broker->timeout_ns)
		return WW_TIMED_OUT;
	return fail_silence(broker, request);
}

static ww_status fail_failed(const struct ww_broker *broker, const struct ww_request *request)
{
	const char *what = ww_wire_name(request->code);

	if (request->failure == WW_ERR_LIMIT)
		return ww_fail(WW_ERR_LIMIT,
			"the broker granted %s, but its descriptors had no room: this process has too many "
			"open; raise the limit (ulimit -n)",
			what);
	if (request->failure == WW_ERR_NO_BROKER)
		return ww_fail(WW_ERR_NO_BROKER,
			"the broker at %s ended %d times while it had this request, %s",
			broker->address.path, SUSPICIONS_MAX + 1, what);
	if (request->failure == WW_ERR_DESCRIPTOR)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"refused a descriptor that came from %s for %s: it is no memory and no device, but a file of "
			"a kind that may hang whoever closes it",
			broker->address.path, what);
	return ww_fail(WW_ERR_PROTOCOL,
		"what came from %s is no answer to %s; is it a broker, and of this version?",
		broker->address.path, what);
}

/* Connects, or waits for the thread that does. What is called off is worth no connection. */
static ww_status recover(struct ww_broker *broker, struct ww_request *request)
{
	uint64_t limit_ns = ww_clock_deadline_ns(broker->timeout_ns);
	ww_status status;

	if (request->is_cancelled)
		return WW_TIMED_OUT;
	if (broker->is_connecting) {
		if (request->is_stopped)
			return WW_CANCELLED;
		follow(broker, request);
		return WW_NOT_READY;
	}
	/* The flag itself ends the connecting: a grace is for answers. */
	if (limit_ns > request->until_ns && !request->is_stopped)
		limit_ns = request->until_ns;
	broker->is_connecting = true;
	status = ww_broker_client_recover(broker, !request->starts_none, limit_ns);
	broker->is_connecting = false;
	wake_all(broker);
	if (status == WW_OK)
		return WW_NOT_READY;
	return request->waits && is_expired(request) ? expire(broker, request) : status;
}

/*
 * What there is to send. Return: WW_OK (nothing, or done); WW_NOT_READY (no room); WW_TIMED_OUT; an
 * error.
 */
static ww_status send_next(struct ww_broker *broker, struct ww_request *request)
{
	if (broker->is_ending)
		return WW_OK;
	if (request->state == WW_REQUEST_UNSENT && request->is_cancelled)
		return WW_TIMED_OUT;
	if (request->state == WW_REQUEST_UNSENT) {
		ww_status status = transmit(broker, request);

		if (status != WW_OK || request->state != WW_REQUEST_SENT)
			return status;
		if (request->is_stopped && request->waits)
			call_off(request); /* at once, for it gets what is there now */
	}
	if (request->is_cancel_due)
		return send_cancel(broker, request);
	return WW_OK;
}

/* Whether the other end of the connection is closed; what it had sent may still be there. */
static bool has_ended(const struct ww_broker *broker)
{
	return broker->is_ending || ww_connection_wait(broker->connection, 0, 0) == WW_OK;
}

/*
 * What it says, a secret perhaps, is for one broker alone, and another may listen at its address by
 * now.
 */
static bool is_for_another(const struct ww_broker *broker, const struct ww_request *request)
{
	return request->broker_id &&
		memcmp(request->broker_id, broker->broker_id, WW_WIRE_ID_BYTES) != 0;
}

/* Over a connection. Return: as step(). */
static ww_status exchange(struct ww_broker *broker, struct ww_request *request, bool is_late)
{
	/* Whose flag is set waits until until_ns, for an answer. */
	WW_AUTO_CANCEL struct ww_cancel_scope scope = request->is_stopped ? ww_cancel_mask()
									  : ww_cancel_enter(NULL);
	ww_status status = WW_OK;

	if (is_for_another(broker, request)) {
		if (!has_ended(broker))
			return ww_fail(WW_ERR_NOT_FOUND,
				"the broker at %s is another one than %s is for",
				broker->address.path, ww_wire_name(request->code));
	} else if (request->code != 0)
		status = send_next(broker, request);
	else if (!has_ended(broker))
		return WW_OK;
	if (status < 0 || status == WW_TIMED_OUT)
		return status;
	if (status == WW_NOT_READY && is_late)
		return expire(broker, request);
	if (status == WW_NOT_READY)
		wait_for_room(broker, request);
	else if (broker->has_leader)
		follow(broker, request);
	else
		lead(broker, request, POLLIN);
	return WW_NOT_READY;
}

/*
 * Whatever its limit, what can be asked is asked: who has no time to wait gets what is there.
 * Return: WW_NOT_READY (once more); how it ended.
 */
static ww_status step(struct ww_broker *broker, struct ww_request *request)
{
	bool is_late;

	if (request->state == WW_REQUEST_ANSWERED)
		return WW_OK;
	if (request->state == WW_REQUEST_FAILED)
		return fail_failed(broker, request);
	if (ww_cancel_is_pending())
		stop(request);
	is_late = is_expired(request);
	if (is_late && (!broker->connection || request->state == WW_REQUEST_SENT))
		return expire(broker, request);
	if (!broker->connection)
		return recover(broker, request);
	return exchange(broker, request, is_late);
}

/* What the broker may hold for us, or wait for, by a request that did not succeed. */
static void settle(struct ww_broker *broker, struct ww_request *request)
{
	bool was_sent = request->state == WW_REQUEST_SENT || request->is_again;

	if (request->state == WW_REQUEST_SENT && request->is_cancel_due && !broker->is_ending)
		(void)send_cancel(broker, request);
	if (request->has_stale)
		release_unheld(broker, request->stale_id);
	if (request->id && was_sent && request->state != WW_REQUEST_ANSWERED)
		release_unheld(broker, request->id);
}

/* What need not wait is given a moment by any limit, and the broker's time at most. */
static uint64_t first_until(const struct ww_broker *broker, const struct ww_request *request)
{
	uint64_t least = ww_clock_deadline_ns(GRACE_NS);
	uint64_t most = ww_clock_deadline_ns(broker->timeout_ns);

	if (request->waits)
		return request->limit_ns;
	if (request->limit_ns > least)
		least = request->limit_ns;
	return least < most ? least : most;
}

static ww_status run(struct ww_broker *broker, struct ww_request *request)
{
	ww_status status;

	pthread_mutex_lock(&broker->lock);
	request->begun_ns = ww_clock_now_ns();
	if (request->limit_ns > ww_request_limit())
		request->limit_ns = ww_request_limit();
	request->until_ns = first_until(broker, request);
	ww_list_append(&broker->requests, &request->link);
	do {
		status = step(broker, request);
	} while (status == WW_NOT_READY);
	settle(broker, request);
	ww_list_remove(&request->link);
	if (!broker->has_leader)
		wake_next(broker);
	pthread_mutex_unlock(&broker->lock);
	return status;
}

ww_status ww_broker_client_ask(struct ww_broker *broker, struct ww_request *request)
{
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_broker_client_drop_kept(false);
	status = run(broker, request);
	if (status == WW_OK && request->code != 0 && request->answer_code == WW_WIRE_ERROR)
		status = ww_connection_fail(request->answer, request->answer_bytes,
			request->version);
	if (status == WW_ERR_GIVEN_UP && request->is_cancelled)
		status = WW_TIMED_OUT;
	if (status == WW_TIMED_OUT && request->is_stopped)
		status = WW_CANCELLED;
	if (status >= 0)
		ww_error_restore(&record); /* what failed on the way was made good */
	return status;
}

ww_status ww_broker_client_ensure(struct ww_broker *broker, bool may_start)
{
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, 0, 0, NULL);
	request.starts_none = !may_start;
	return ww_broker_client_ask(broker, &request);
}

/* --- what others ask of it --- */

/*
 * A release that found no room waits a little for it, once: a broker that is stopped must not stop
 * us.
 */
static void wait_to_release(struct ww_broker *broker)
{
	WW_AUTO_CONNECTION struct ww_connection *connection = NULL;

	if (!broker->connection || broker->is_ending || broker->is_stalled ||
		!ww_holds_first_due(&broker->holds))
		return;
	broker->is_stalled = true;
	connection = ww_connection_ref(broker->connection);
	pthread_mutex_unlock(&broker->lock);
	(void)ww_connection_wait(connection, POLLOUT, ww_clock_deadline_ns(RELEASE_WAIT_NS));
	pthread_mutex_lock(&broker->lock);
	ww_broker_client_send_due(broker);
}

void ww_broker_client_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_error record;
	struct ww_hold *hold;

	ww_error_save(&record);
	pthread_mutex_lock(&broker->lock);
	hold = ww_holds_find(&broker->holds, id);
	ww_assert(hold);
	ww_holds_drop(&broker->holds, hold);
	ww_broker_client_send_due(broker);
	wait_to_release(broker);
	pthread_mutex_unlock(&broker->lock);
	ww_broker_client_drop_kept(false);
	ww_error_restore(&record);
}
