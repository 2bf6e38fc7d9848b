/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_answer.c - packets from the broker, see request_exchange.h
 *
 * Every packet is checked like one of an untrusted process.
 *
 *   what came                                        what follows
 *   the answer of a request                          accept_answer(): it is ANSWERED
 *   ... whose hold a later release may have ended    accept_answer(): it is UNSENT again
 *   ... whose descriptors were lost, or may hang     fail_without_descriptors(): FAILED
 *   the answer of a request that has ended           discard_answer(): what it granted is released
 *   no answer of a broker                            break_connection(): all SENT ones are FAILED
 *   the end of the connection                        break_connection(): all SENT ones are UNSENT
 *
 * A request that is sent again is flagged so, because the broker may have executed it before. If
 * the broker ended each time while it had a request, and nothing that was sent after the request
 * was answered, then the request may be the cause. So there is a maximum of attempts.
 */
#include <string.h>

#include "base/close_async.h"
#include "base/error.h"
#include "client/request_exchange.h"

void ww_broker_client_wake_all(const struct ww_broker *broker)
{
	ww_list_for_each (link, &broker->requests)
		pthread_cond_signal(&ww_container(link, struct ww_request, link)->changed);
}

static void fail_request(struct ww_request *request, ww_status failure)
{
	request->state = WW_REQUEST_FAILED;
	request->failure = failure;
}

/*
 * @why:  WW_ERR_PEER_LOST: the connection has ended; WW_ERR_PROTOCOL: no broker is at the other
 *        end, so no request is repeated
 */
static void break_connection(struct ww_broker *broker, ww_status why)
{
	ww_connection_shut(broker->connection);
	broker->connection = ww_connection_unref(broker->connection);
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->state == WW_REQUEST_SENT) {
			request->is_repeated = true;
			request->state = WW_REQUEST_UNSENT;
			if (request->sequence > broker->answered_sequence)
				request->break_count++;
			if (why == WW_ERR_PROTOCOL)
				fail_request(request, WW_ERR_PROTOCOL);
			else if (request->break_count >= WW_REQUEST_BREAKS)
				fail_request(request, WW_ERR_NO_BROKER);
		}
	}
	ww_broker_client_wake_all(broker);
}

static struct ww_request *find_request(const struct ww_broker *broker, uint32_t serial)
{
	ww_list_for_each (link, &broker->requests) {
		struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->state == WW_REQUEST_SENT && request->serial == serial)
			return request;
	}
	return NULL;
}

/* Return: whether the packet can be read as the message `granted`; keeps the error record. */
static bool read_granted(const struct ww_broker *broker, size_t bytes,
	struct ww_wire_granted *out_granted)
{
	struct ww_error record;
	bool is_read;

	ww_error_save(&record);
	is_read = ww_wire_decode_granted(broker->packet, bytes, broker->connection->welcome.version,
			  out_granted) == WW_OK;
	ww_error_restore(&record);
	return is_read;
}

static void discard_answer(struct ww_broker *broker, struct ww_arrival *arrival)
{
	struct ww_wire_granted granted;

	ww_arrival_drop(arrival);
	if (arrival->header.code == WW_WIRE_GRANTED &&
		read_granted(broker, arrival->bytes, &granted))
		ww_broker_client_release_unknown(broker, granted.id);
}

/*
 * Counts the hold that an answer brings, unless this process sent a release of the object after the
 * request: the broker may have executed that after the request, so that there is no hold.
 * Return: WW_OK; WW_NOT_READY (such a release was sent: the request must be sent again).
 */
static ww_status count_hold(struct ww_broker *broker, struct ww_request *request,
	const uint8_t id[WW_WIRE_ID_BYTES], bool is_own)
{
	const struct ww_hold *hold;

	if (!ww_holds_find(&broker->holds, id) &&
		ww_holds_may_be_released(&broker->holds, id, request->sequence)) {
		request->has_stale = true;
		memcpy(request->stale_id, id, sizeof(request->stale_id));
		return WW_NOT_READY;
	}
	hold = ww_holds_take(&broker->holds, id, is_own, &request->spare);
	request->has_hold = true;
	request->is_own = hold->is_own;
	memcpy(request->held_id, id, WW_WIRE_ID_BYTES);
	return WW_OK;
}

/* The hold that comes with an answer, if any. Return: as count_hold(); WW_ERR_PROTOCOL. */
static ww_status take_hold(struct ww_broker *broker, struct ww_request *request,
	const struct ww_arrival *arrival)
{
	const struct ww_wire_put *put = request->message;
	struct ww_wire_granted granted;
	ww_status status;

	if (arrival->header.code == WW_WIRE_GRANTED) {
		if (!request->spare || !read_granted(broker, arrival->bytes, &granted))
			return WW_ERR_PROTOCOL;
		return count_hold(broker, request, granted.id, false);
	}
	if (arrival->header.code != WW_WIRE_DONE || request->code != WW_WIRE_PUT)
		return WW_OK;
	status = count_hold(broker, request, request->id, !(put->flags & WW_WIRE_PUT_FLAG_FURTHER));
	if (status == WW_NOT_READY)
		request->is_repeated = true; /* the object may be there still */
	return status;
}

static void accept_answer(struct ww_broker *broker, struct ww_request *request,
	struct ww_arrival *arrival)
{
	const struct ww_wire_header *header = &arrival->header;
	ww_status status = WW_ERR_PROTOCOL;

	if (request->sequence > broker->answered_sequence)
		broker->answered_sequence = request->sequence;
	if ((header->code == request->reply || header->code == WW_WIRE_ERROR) &&
		arrival->bytes <= request->room)
		status = take_hold(broker, request, arrival);
	if (status == WW_OK) {
		memcpy(request->answer, broker->packet, arrival->bytes);
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
 * The descriptors of an answer were lost. @why: WW_ERR_LIMIT: this process may open no more;
 * WW_ERR_DESCRIPTOR: closing one may hang
 */
static void fail_without_descriptors(struct ww_broker *broker, ww_status why,
	struct ww_arrival *arrival)
{
	struct ww_request *request = find_request(broker, arrival->header.serial);

	if (request) {
		fail_request(request, why);
		pthread_cond_signal(&request->changed);
	}
	discard_answer(broker, arrival);
}

static void deliver_answer(struct ww_broker *broker, struct ww_arrival *arrival)
{
	struct ww_request *request = find_request(broker, arrival->header.serial);

	if (arrival->header.serial == 0) { /* a broker refuses a connection so, at its begin only */
		ww_arrival_drop(arrival);
		break_connection(broker, WW_ERR_PROTOCOL);
	} else if (request) {
		accept_answer(broker, request, arrival);
	} else {
		discard_answer(broker, arrival);
	}
}

void ww_broker_client_receive(struct ww_broker *broker, ww_status status,
	struct ww_arrival *arrival)
{
	if (status == WW_OK)
		deliver_answer(broker, arrival);
	else if (status == WW_ERR_LIMIT)
		fail_without_descriptors(broker, status, arrival);
	/*
	 * A client of the broker may have put a descriptor that hangs, so the connection stays. But
	 * a broker that sends very many of them is the attacker itself.
	 */
	else if (status == WW_ERR_DESCRIPTOR && ww_close_async_check_room() == WW_OK)
		fail_without_descriptors(broker, status, arrival);
	else if (status == WW_ERR_PROTOCOL || status == WW_ERR_DESCRIPTOR)
		break_connection(broker, WW_ERR_PROTOCOL);
	else if (status < 0)
		break_connection(broker, WW_ERR_PEER_LOST);
}
