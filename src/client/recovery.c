/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovery.c - a broker's next connection, and what the broker is told over it first
 *
 *   list_held()      under the lock: lists the objects that this process holds
 *   connect_again()  without the lock; repeats connect_once() while the broker ends on the way
 *     begin_connection()  connects, and receives the welcome; or starts a broker
 *     confirm_held()      tells the broker the list, in parts; notes which it does not know
 *   use_connection() under the lock: the holds that the broker does not know are lost
 *
 * The first connection of a ww_broker is made here too, with an empty list. Without the lock no
 * hold can be granted, since there is no connection. A hold that is released meanwhile is due, and
 * is sent when there is a connection.
 *
 * The list also names the objects of puts without an answer. If the broker has executed such a put,
 * it would otherwise release the object before the put is sent again.
 *
 * If a process connects and disconnects, the broker takes that for its end, and releases what it
 * held. So if the caller's time ends, or it is cancelled, the recovery is kept as it is, and the
 * next caller continues it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/error.h"
#include "client/request_exchange.h"
#include "client/spawn.h"

#define CONFIRM_PART 2048 /* ids in one packet */

struct ww_recovery {
	struct ww_wire_held *held; /* owned; the list: held_count ids, then put_count ids */
	size_t held_count;
	size_t live_count;            /* of them are held; the others are to be removed */
	size_t put_count;             /* of puts without an answer */
	struct ww_wire_held *unknown; /* owned; those of the list that the broker does not know */
	size_t unknown_count;
	bool may_start;
	bool has_lost_all; /* the broker ended for good, and what was held there ended, too */
	uint8_t *packet;   /* owned; of WW_WIRE_PACKET_BYTES */

	struct ww_connection *connection; /* owned; the fields below say how far it is */
	bool is_welcome;
	bool is_asked;          /* a part was sent, and its answer has not come */
	bool is_done;           /* the last part was answered */
	uint32_t serial;        /* of the last part; that of the hello is 1 */
	size_t confirmed_count; /* ids in the parts that were answered */
};

struct ww_recovery *ww_recovery_free(struct ww_recovery *recovery)
{
	if (!recovery)
		return NULL;
	free(recovery->held);
	free(recovery->unknown);
	free(recovery->packet);
	ww_connection_unref(recovery->connection);
	free(recovery);
	return NULL;
}

WW_DEFINE_CLEANUP(struct ww_recovery, ww_recovery_free)

static size_t list_puts(const struct ww_broker *broker, struct ww_wire_held *out_ids)
{
	size_t count = 0;

	ww_list_for_each (link, &broker->requests) {
		const struct ww_request *request = ww_container(link, struct ww_request, link);

		if (request->code != WW_WIRE_PUT || request->state != WW_REQUEST_UNSENT)
			continue;
		if (out_ids)
			memcpy(out_ids[count].id, request->id, WW_WIRE_ID_BYTES);
		count++;
	}
	return count;
}

/* Under the lock. A release that is due need not be sent: the object is not in the list. */
static ww_status list_held(struct ww_broker *broker, struct ww_recovery *recovery)
{
	size_t count;

	ww_holds_forget_due(&broker->holds);
	recovery->held_count = ww_holds_list(&broker->holds, NULL);
	recovery->live_count = ww_holds_live_count(&broker->holds);
	recovery->put_count = list_puts(broker, NULL);
	count = recovery->held_count + recovery->put_count;
	if (count == 0)
		return WW_OK;
	recovery->held = calloc(count, sizeof(*recovery->held));
	recovery->unknown = calloc(count, sizeof(*recovery->unknown));
	if (!recovery->held || !recovery->unknown)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot list what is held: out of memory");
	ww_holds_list(&broker->holds, recovery->held);
	list_puts(broker, recovery->held + recovery->held_count);
	return WW_OK;
}

/* How many ids of the list are not confirmed. */
static size_t left_count(const struct ww_recovery *recovery)
{
	return recovery->held_count + recovery->put_count - recovery->confirmed_count;
}

/* How many ids the next part has. */
static size_t part_count(const struct ww_recovery *recovery)
{
	size_t left = left_count(recovery);

	return left < CONFIRM_PART ? left : CONFIRM_PART;
}

static ww_status receive_confirmed(struct ww_recovery *recovery, uint64_t deadline_ns)
{
	uint16_t version = recovery->connection->welcome.version;
	struct ww_wire_confirmed confirmed;
	struct ww_arrival arrival;
	ww_status status = ww_connection_receive(recovery->connection, recovery->packet,
		WW_WIRE_PACKET_BYTES, deadline_ns, &arrival);
	struct ww_wire_held held;

	if (status != WW_OK)
		return status;
	ww_arrival_drop(&arrival);
	if (arrival.header.code == WW_WIRE_ERROR)
		return ww_connection_fail(recovery->packet, arrival.bytes, version);
	if (arrival.header.serial != recovery->serial)
		return ww_fail(WW_ERR_PROTOCOL,
			"the broker sent another answer instead of the objects that this process holds");
	ww_try(ww_wire_decode_confirmed(recovery->packet, arrival.bytes, version, &confirmed));
	while (ww_wire_held_next(&confirmed.unknown, &held)) {
		if (recovery->unknown_count == recovery->held_count + recovery->put_count)
			return ww_fail(WW_ERR_PROTOCOL,
				"the broker does not know all objects that this process told it that it holds");
		recovery->unknown[recovery->unknown_count++] = held;
	}
	recovery->is_asked = false;
	recovery->confirmed_count += part_count(recovery);
	recovery->is_done = left_count(recovery) == 0;
	return WW_OK;
}

/* Continues with the list where it was left. Return: as ww_connection_receive(). */
static ww_status confirm_held(struct ww_recovery *recovery, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

	if (!recovery->packet)
		recovery->packet = malloc(WW_WIRE_PACKET_BYTES);
	if (!recovery->packet)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot tell what is held: out of memory");
	while (status == WW_OK && !recovery->is_done) {
		if (!recovery->is_asked) {
			const struct ww_wire_header header = {.serial = recovery->serial + 1};
			const struct ww_wire_confirm part = {
				.last = left_count(recovery) <= CONFIRM_PART,
				.held = {.count = (uint32_t)part_count(recovery),
					.items = recovery->held
						? recovery->held + recovery->confirmed_count
						: NULL},
			};
			size_t bytes = ww_wire_encode_confirm(&part,
				recovery->connection->welcome.version, &header, recovery->packet,
				WW_WIRE_PACKET_BYTES);

			ww_assert(bytes > 0);
			status = ww_connection_send(recovery->connection, recovery->packet, bytes,
				deadline_ns);
			if (status == WW_OK) {
				recovery->serial++;
				recovery->is_asked = true;
			}
		}
		if (status == WW_OK)
			status = receive_confirmed(recovery, deadline_ns);
	}
	return status;
}

struct ww_caller ww_broker_client_caller(const struct ww_broker *broker, bool is_watcher)
{
	struct ww_caller caller = {.is_watcher = is_watcher};

	memcpy(caller.process_id, broker->process_id, sizeof(caller.process_id));
	return caller;
}

/* Return: as connect_once(). */
static ww_status begin_connection(const struct ww_broker *broker, struct ww_recovery *recovery,
	uint64_t deadline_ns)
{
	const struct ww_caller caller = ww_broker_client_caller(broker, false);
	bool is_absent = false;
	ww_status status = WW_OK;

	if (!recovery->connection)
		status = ww_connection_connect(&broker->address, &caller, deadline_ns,
			&recovery->connection, &is_absent);
	if (is_absent) {
		/* No process listens at the address. */
		if (!recovery->may_start || ww_environment_is_on(WW_VARIABLE_NO_START))
			return WW_ERR_NO_BROKER; /* ww_connection_connect() has recorded it */
		if (recovery->live_count > 0) {
			recovery->has_lost_all = true;
			return ww_fail(WW_ERR_NO_BROKER,
				"the broker at %s has ended, and with it what this process held there (objects: "
				"%zu); the next call starts a new one",
				broker->address.path, recovery->live_count);
		}
		ww_try(ww_start(&broker->address, &caller, deadline_ns, &recovery->connection));
		recovery->is_welcome = true;
		return WW_OK;
	}
	if (status == WW_OK)
		status = ww_connection_receive_welcome(recovery->connection, &broker->address,
			deadline_ns);
	recovery->is_welcome = status == WW_OK;
	return status;
}

static bool is_former_broker(const struct ww_broker *broker, const struct ww_connection *connection)
{
	return broker->has_known_broker &&
		memcmp(broker->broker_id, connection->welcome.broker_id, WW_WIRE_ID_BYTES) == 0;
}

/*
 * Continues where the recovery was left.
 * Return: WW_OK; WW_ERR_PEER_LOST (the broker ended on the way); WW_TIMED_OUT; WW_CANCELLED; an
 *         error.
 */
static ww_status connect_once(const struct ww_broker *broker, struct ww_recovery *recovery,
	uint64_t deadline_ns)
{
	if (!recovery->is_welcome) {
		ww_status status = begin_connection(broker, recovery, deadline_ns);

		if (status != WW_OK)
			return status;
	}
	/* Another broker does not know what the former one kept. */
	if (!is_former_broker(broker, recovery->connection))
		recovery->held_count = recovery->put_count = 0;
	if (!recovery->connection->welcome.known && recovery->held_count + recovery->put_count == 0)
		return WW_OK;
	return confirm_held(recovery, deadline_ns);
}

/* Return: as connect_once(), of the last attempt. */
static ww_status connect_again(const struct ww_broker *broker, struct ww_recovery *recovery,
	uint64_t deadline_ns)
{
	ww_status status = WW_ERR_PEER_LOST;

	for (int i = 0; i < WW_CONNECTION_ATTEMPTS && status == WW_ERR_PEER_LOST; i++) {
		status = connect_once(broker, recovery, deadline_ns);
		if (status < 0) {
			recovery->connection = ww_connection_unref(recovery->connection);
			recovery->is_welcome = false;
			recovery->is_asked = false;
			recovery->is_done = false;
			recovery->serial = 1;
			recovery->confirmed_count = 0;
			recovery->unknown_count = 0;
		}
	}
	return status;
}

/* Under the lock. Return: the one that was begun, or a new one; NULL: out of memory. */
static struct ww_recovery *take_recovery(struct ww_broker *broker)
{
	WW_CLEANUP(ww_recovery_free_p) struct ww_recovery *recovery = ww_steal(broker->recovery);

	if (recovery)
		return ww_steal(recovery);
	recovery = calloc(1, sizeof(*recovery));
	if (!recovery) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot connect to a broker: out of memory");
		return NULL;
	}
	recovery->serial = 1;
	return list_held(broker, recovery) == WW_OK ? ww_steal(recovery) : NULL;
}

ww_status ww_broker_client_recover(struct ww_broker *broker, bool may_start, uint64_t deadline_ns)
{
	WW_CLEANUP(ww_recovery_free_p) struct ww_recovery *recovery = take_recovery(broker);
	ww_status status;

	if (!recovery)
		return WW_ERR_NO_MEMORY;
	recovery->may_start = may_start && broker->may_start && broker->address.is_own;
	pthread_mutex_unlock(&broker->lock);
	status = connect_again(broker, recovery, deadline_ns);
	pthread_mutex_lock(&broker->lock);
	if (status == WW_OK) {
		struct ww_connection *connection = ww_steal(recovery->connection);

		if (broker->has_known_broker && !is_former_broker(broker, connection))
			ww_holds_lose_all(&broker->holds);
		for (size_t i = 0; i < recovery->unknown_count; i++) {
			struct ww_hold *hold = ww_holds_find(&broker->holds,
				recovery->unknown[i].id);

			if (hold && hold->count == 0)
				ww_holds_forget(&broker->holds, hold);
			else if (hold)
				hold->is_lost = true;
		}
		memcpy(broker->broker_id, connection->welcome.broker_id, WW_WIRE_ID_BYTES);
		broker->has_known_broker = true;
		broker->connection = connection;
		broker->is_ending = false;
		broker->is_stalled = false;
		broker->answered_sequence = broker->sequence;
		ww_broker_client_send_due(broker);
	} else if (recovery->has_lost_all) {
		ww_holds_lose_all(&broker->holds);
	}
	if ((status == WW_TIMED_OUT || status == WW_CANCELLED) && recovery->connection)
		broker->recovery = ww_steal(recovery);
	return ww_connection_fail_open(&broker->address, status);
}
