/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grant.c - what a process gets of an object: a hold, and the descriptors for its access; see
 * grant.h
 */
#include "daemon/broker/grant.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "daemon/broker/request_check.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

#define READERS 1 /* bits of fd_access */
#define WRITERS 2

/* What is inside an object is there for its creator, whatever the mode says of others. */
static uint32_t grant_may(const struct peer *peer, const struct ww_layout_object_record *record)
{
	uint32_t may = peer_may(peer, record);

	if (request_is_creator_of_outer(peer, record))
		may |= WW_WIRE_ENTRY_FLAG_MAY_READ |
			(record->state != WW_WIRE_STATE_SEALED ? WW_WIRE_ENTRY_FLAG_MAY_WRITE : 0);
	return may;
}

ww_status grant_check(const struct peer *peer, struct name name, const struct ww_wire_get *get)
{
	const struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, name.object);
	uid_t owner = name_read(registry, name).uid;
	uint32_t may = grant_may(peer, record);
	uint32_t needed = get->access == WW_WIRE_ACCESS_WRITE ? WW_WIRE_ENTRY_FLAG_MAY_WRITE
							      : WW_WIRE_ENTRY_FLAG_MAY_READ;

	if (get->flags & WW_WIRE_GET_FLAG_FROM_OWNER &&
		(record->uid != get->owner || owner != get->owner))
		return ww_fail(WW_ERR_ACCESS,
			"'%.100s' belongs to user %" PRIu32 ", not to user %" PRIu32 " as demanded",
			get->name, record->uid != get->owner ? record->uid : owner, get->owner);
	if (!(may & needed) && record->state == WW_WIRE_STATE_SEALED &&
		(may & WW_WIRE_ENTRY_FLAG_MAY_READ))
		return ww_fail(WW_ERR_ACCESS,
			"'%.100s' is sealed, for reading only; use WW_ACCESS_READ, or have it put "
			"with WW_STATE_SHARED (--shared)",
			get->name);
	if (!(may & needed))
		return ww_fail(WW_ERR_ACCESS,
			"user %u may not %s '%.100s': it has mode 0%03o, user %" PRIu32
			" and group %" PRIu32,
			peer->uid, get->access == WW_WIRE_ACCESS_WRITE ? "write" : "read",
			get->name, record->mode, record->uid, record->gid);
	return record->state == WW_WIRE_STATE_WRITING ? WW_NOT_READY : WW_OK;
}

/* The descriptors that fit an access. */
static size_t grant_choose_fds(const struct ww_layout_object_record *record, uint8_t access,
	int out_fds[WW_WIRE_FDS])
{
	uint8_t bit = access == WW_WIRE_ACCESS_WRITE ? WRITERS : READERS;
	size_t count = 0;

	for (uint8_t i = 0; i < record->fd_count; i++) {
		if (record->fd_access[i] & bit)
			out_fds[count++] = (int)record->fds[i];
	}
	return count;
}

ww_status grant_send(struct peer *peer, uint32_t serial, struct name name, uint8_t access,
	const uint8_t secret[WW_WIRE_ID_BYTES])
{
	struct registry *registry = &peer->server->registry;
	struct name_fields fields = name_read(registry, name);
	struct object *object = name.object;
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct ww_wire_header header = {.serial = serial};
	struct ww_wire_granted granted = {
		.kind = record->kind,
		.access = access,
		.state = (uint8_t)record->state,
		.uid = record->uid,
		.bytes = record->bytes,
		.generation = record->generation,
		.description_bytes = fields.description_bytes,
		.part = fields.part,
		.pid = record->maker_pid,
	};
	bool is_new = !hold_find(registry, peer->holder, object);
	int fds[WW_WIRE_FDS];
	uint8_t packet[1024];
	ww_status status;

	if (fields.part) /* by which the part is had */
		secret = access == WW_WIRE_ACCESS_WRITE ? record->write_secret
							: record->read_secret;
	ww_try(hold_take(registry, peer->holder, object, access));
	memcpy(granted.id, record->id, sizeof(granted.id));
	memcpy(granted.name, fields.text, sizeof(granted.name));
	if (secret)
		memcpy(granted.secret, secret, sizeof(granted.secret));
	memcpy(granted.description, fields.description, fields.description_bytes);
	if (object->creator)
		memcpy(granted.program, holder_record(registry, object->creator)->program,
			sizeof(granted.program));
	header.fd_count = (uint16_t)grant_choose_fds(record, access, fds);
	status = peer_send(peer, packet,
		ww_wire_encode_granted(&granted, peer->version, &header, packet, sizeof(packet)),
		fds, header.fd_count);
	if (status < 0 && is_new)
		hold_drop(registry, hold_find(registry, peer->holder, object));
	return status;
}
