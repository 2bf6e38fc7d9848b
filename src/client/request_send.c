/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_send.c - packets to the broker, see request_exchange.h
 *
 * Sending never waits. A packet that finds no room in the socket is sent later: a request and a
 * cancel by the request's own thread, a release before the next packet.
 */
#include <string.h>

#include "base/error.h"
#include "client/request_exchange.h"

#define PACKET_BYTES 2048 /* of every message that is sent here */

/*
 * Return: as ww_packet_send(). After WW_ERR_PEER_LOST the connection breaks when its reader has
 * taken what the broker sent before its end.
 */
static ww_status send_message(struct ww_broker *broker, uint16_t code, const void *message,
	const struct ww_wire_header *header, const int *fds)
{
	const struct ww_connection *connection = broker->connection;
	uint8_t packet[PACKET_BYTES];
	size_t bytes = ww_wire_encode(code, message, connection->welcome.version, header, packet,
		sizeof(packet));
	ww_status status;

	/* Every field was checked before, so only the version can prevent it. */
	if (bytes == 0)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"the broker at %s speaks version %u of the protocol, which has no %s; use a "
			"newer broker (%s)",
			broker->address.path, connection->welcome.version, ww_wire_name(code),
			WW_VERSION);
	status = ww_packet_send(connection->socket, packet, bytes, fds, header->fd_count);
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

/* A release has no answer, so it has no serial. */
static ww_status send_release(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
{
	struct ww_wire_release release;
	ww_status status;

	memcpy(release.id, id, sizeof(release.id));
	status = send_message(broker, WW_WIRE_RELEASE, &release, &(struct ww_wire_header){0}, NULL);
	if (status == WW_OK)
		ww_holds_note_release(&broker->holds, id, broker->sequence);
	return status;
}

/* Nobody waits for the answer. A broker of an older version removes nothing by its id. */
static ww_status send_remove(struct ww_broker *broker, const struct ww_hold *hold)
{
	struct ww_wire_remove remove = {.flags = 0};

	if (!hold->removed_name || broker->connection->welcome.version < WW_REMOVES_BY_ID)
		return WW_OK;
	memcpy(remove.name, hold->removed_name, strlen(hold->removed_name));
	memcpy(remove.id, hold->id, sizeof(remove.id));
	return send_message(broker, WW_WIRE_REMOVE, &remove,
		&(struct ww_wire_header){.serial = next_serial(broker)}, NULL);
}

void ww_broker_client_send_due(struct ww_broker *broker)
{
	struct ww_hold *hold;

	while (broker->connection && !broker->is_ending &&
		(hold = ww_holds_first_due(&broker->holds)) != NULL) {
		if (send_remove(broker, hold) != WW_OK || send_release(broker, hold->id) != WW_OK)
			return;
		ww_holds_forget(&broker->holds, hold);
	}
}

/*
 * While there is no connection, the broker counts the object only if a recovery that is under way
 * has confirmed it.
 */
void ww_broker_client_release_unknown(struct ww_broker *broker, const uint8_t id[WW_WIRE_ID_BYTES])
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

void ww_broker_client_undo_put(struct ww_broker *broker, struct ww_request *request)
{
	const struct ww_wire_put *put = request->message;
	struct ww_hold *hold = ww_holds_take(&broker->holds, put->id, true, &request->spare);

	if (!hold->removed_name) /* another thread may have got the object before */
		hold->removed_name = strdup(put->name);
	ww_holds_drop(&broker->holds, hold);
	ww_broker_client_send_due(broker);
}

ww_status ww_broker_client_send_request(struct ww_broker *broker, struct ww_request *request)
{
	struct ww_wire_header header = {
		.fd_count = (uint16_t)request->fd_count,
		.flags = request->is_repeated ? WW_WIRE_HEADER_FLAG_AGAIN : 0,
	};
	ww_status status;

	ww_broker_client_send_due(broker);
	header.serial = request->serial = next_serial(broker);
	status = send_message(broker, request->code, request->message, &header, request->fds);
	if (status == WW_OK) {
		request->state = WW_REQUEST_SENT;
		request->sequence = broker->sequence;
	}
	return status == WW_ERR_PEER_LOST ? WW_OK : status;
}

ww_status ww_broker_client_send_cancel(struct ww_broker *broker, struct ww_request *request)
{
	const struct ww_wire_cancel cancel = {.waiting = request->serial};
	ww_status status = send_message(broker, WW_WIRE_CANCEL, &cancel,
		&(struct ww_wire_header){.serial = next_serial(broker)}, NULL);

	if (status == WW_OK)
		request->is_cancel_due = false;
	return status == WW_ERR_PEER_LOST ? WW_OK : status;
}
