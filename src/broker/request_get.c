/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_get.c - requests by which processes hold objects, let go of them, and take them out of the broker
 *
 * By name, the mode decides who is let in; by token, the secret. Either way what is granted is a hold and those
 * descriptors of the object that fit the access.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "broker/server_parts.h"
#include "wire/name.h"

#define READERS 1 /* bits of fd_access */
#define WRITERS 2

ww_status request_may_get(const struct peer *peer, const struct object *object,
	const struct ww_wire_get *get)
{
	const struct ww_layout_object_record *record = object_record(&peer->server->registry,
		object);
	uint32_t may = peer_may(peer, record);
	uint32_t needed = get->access == WW_WIRE_ACCESS_WRITE ? WW_WIRE_ENTRY_FLAG_MAY_WRITE
							      : WW_WIRE_ENTRY_FLAG_MAY_READ;

	if ((get->flags & WW_WIRE_GET_FLAG_FROM_OWNER) && record->uid != get->owner)
		return ww_fail(WW_ERR_ACCESS,
			"'%.100s' belongs to user %" PRIu32 ", not to user %" PRIu32 " as demanded",
			get->name, record->uid, get->owner);
	if (!(may & needed) && record->state == WW_WIRE_STATE_SEALED &&
		(may & WW_WIRE_ENTRY_FLAG_MAY_READ))
		return ww_fail(WW_ERR_ACCESS, "'%.100s' is sealed: it can be had for reading only",
			get->name);
	if (!(may & needed))
		return ww_fail(WW_ERR_ACCESS,
			"user %u may not %s '%.100s': it has mode 0%03o, user %" PRIu32
			" and group %" PRIu32,
			peer->uid, get->access == WW_WIRE_ACCESS_WRITE ? "write" : "read",
			get->name, record->mode, record->uid, record->gid);
	return record->state == WW_WIRE_STATE_WRITING ? WW_NOT_READY : WW_OK;
}

/* The descriptors that an access needs. */
static size_t choose_fds(const struct ww_layout_object_record *record, uint8_t access,
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

ww_status request_grant(struct peer *peer, uint32_t serial, struct object *object, uint8_t access)
{
	struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct ww_wire_header header = {.serial = serial};
	struct ww_wire_granted granted = {
		.kind = record->kind,
		.access = access,
		.state = (uint8_t)record->state,
		.uid = record->uid,
		.bytes = record->bytes,
		.generation = record->generation,
		.description_bytes = record->description_bytes,
	};
	bool is_new = !hold_find(registry, peer->holder, object);
	int fds[WW_WIRE_FDS];
	uint8_t packet[1024];
	ww_status status;

	ww_try(hold_take(registry, peer->holder, object, access));
	memcpy(granted.id, record->id, sizeof(granted.id));
	memcpy(granted.name, record->name, sizeof(granted.name));
	memcpy(granted.description, record->description, record->description_bytes);
	header.fd_count = (uint16_t)choose_fds(record, access, fds);
	status = peer_send(peer, packet,
		ww_wire_encode_granted(&granted, peer->version, &header, packet, sizeof(packet)),
		fds, header.fd_count);
	if (status < 0 && is_new)
		hold_drop(registry, hold_find(registry, peer->holder, object));
	return status;
}

static ww_status check_get(const struct peer *peer, const struct ww_wire_get *get)
{
	ww_try(request_check_name(peer, get->name));
	if (get->flags & ~(uint32_t)(WW_WIRE_GET_FLAG_WAIT | WW_WIRE_GET_FLAG_FROM_OWNER))
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a get", get->flags);
	return request_check_inside(peer, get->name, get->access);
}

ww_status request_get(void *context, const struct ww_wire_header *header,
	const struct ww_wire_get *get)
{
	struct peer *peer = context;
	bool waits = get->flags & WW_WIRE_GET_FLAG_WAIT;
	struct object *object;
	ww_status status;

	ww_try(check_get(peer, get));
	object = object_find(&peer->server->registry, get->name);
	if (!object)
		return waits ? wait_for_name(peer, header->serial, get)
			     : request_fail_not_found(get->name);
	status = request_may_get(peer, object, get);
	if (status == WW_OK)
		return request_grant(peer, header->serial, object, get->access);
	if (status == WW_NOT_READY && waits)
		return wait_for_name(peer, header->serial, get);
	if (status == WW_NOT_READY)
		return ww_fail(WW_ERR_STATE,
			"'%.100s' is still being written, by process %" PRIu32
			"; get it with a timeout",
			get->name, object_record(&peer->server->registry, object)->maker_pid);
	return status;
}

/* Takes as long whatever the bytes are. */
static bool is_secret(const uint8_t a[16], const uint8_t b[16])
{
	uint8_t differences = 0;

	for (size_t i = 0; i < WW_WIRE_ID_BYTES; i++)
		differences |= a[i] ^ b[i];
	return differences == 0;
}

static ww_status check_import(const struct ww_layout_object_record *record,
	const struct ww_wire_import *import)
{
	bool may_write = is_secret(record->write_secret, import->secret);
	bool may_read = is_secret(record->read_secret, import->secret);

	if (!may_write && !may_read)
		return ww_fail(WW_ERR_ACCESS, "the token's secret is not this object's");
	if (import->access == WW_WIRE_ACCESS_WRITE && !may_write)
		return ww_fail(WW_ERR_ACCESS, "the token was made for reading only");
	if (record->state == WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_STATE,
			"the token's object is still being written, by process %" PRIu32
			"; wait for it by name",
			record->maker_pid);
	if (import->access == WW_WIRE_ACCESS_WRITE && record->state == WW_WIRE_STATE_SEALED)
		return ww_fail(WW_ERR_ACCESS,
			"the token's object is sealed: it can be had for reading only");
	return WW_OK;
}

ww_status request_import(void *context, const struct ww_wire_header *header,
	const struct ww_wire_import *import)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, import->id);
	bool is_new;

	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token's object is not in this broker: it is gone, or was never here");
	ww_try(check_import(object_record(registry, object), import));
	is_new = !hold_find(registry, peer->holder, object);
	ww_try(request_grant(peer, header->serial, object, import->access));
	if (is_new)
		hold_use_escrow(registry, object, import->access);
	return WW_OK;
}

static ww_status check_export(const struct peer *peer, const struct object *object,
	const struct hold *hold, const struct ww_wire_export *export)
{
	const struct registry *registry = &peer->server->registry;
	uint64_t most_ns = config_escrow_max_ns(peer->server->setup->config);

	if (!object || !hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot export an object that this process does not hold in this broker");
	if (export->access > hold_record(registry, hold)->access ||
		(export->access == WW_WIRE_ACCESS_WRITE &&
			object_record(registry, object)->state == WW_WIRE_STATE_SEALED))
		return ww_fail(WW_ERR_ACCESS,
			"cannot export for writing what this process has for reading only, or is sealed");
	if (export->escrow_ns > most_ns)
		return ww_fail(WW_ERR_INVALID,
			"an escrow of %" PRIu64 " s is longer than this broker allows (%" PRIu64
			" s, escrow_max_s in warpwayd.conf)",
			export->escrow_ns / 1000000000, most_ns / 1000000000);
	return WW_OK;
}

ww_status request_export(void *context, const struct ww_wire_header *header,
	const struct ww_wire_export *export)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, export->id);
	struct hold *hold = object ? hold_find(registry, peer->holder, object) : NULL;
	const struct ww_wire_header answer = {.serial = header->serial};
	const struct ww_layout_object_record *record;
	struct ww_wire_exported exported = {0};
	uint8_t packet[64];

	ww_try(check_export(peer, object, hold, export));
	record = object_record(registry, object);
	if (export->escrow_ns > 0)
		ww_try(hold_escrow(registry, peer->account, object, export->access, export->uses,
			ww_clock_now_ns() + export->escrow_ns));
	exported.generation = record->generation;
	memcpy(exported.secret,
		export->access == WW_WIRE_ACCESS_WRITE ? record->write_secret : record->read_secret,
		sizeof(exported.secret));
	return peer_send(peer, packet,
		ww_wire_encode_exported(&exported, peer->version, &answer, packet, sizeof(packet)),
		NULL, 0);
}

ww_status request_release(void *context, const struct ww_wire_header *header,
	const struct ww_wire_release *release)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct hold *hold = hold_find_id(registry, peer->holder, release->id);

	if (!hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot let go of an object that this process does not hold");
	request_let_go(peer, hold);
	peer_send_done(peer, header->serial);
	return WW_OK;
}

ww_status request_remove(void *context, const struct ww_wire_header *header,
	const struct ww_wire_remove *remove)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find(registry, remove->name);

	ww_try(request_check_name(peer, remove->name));
	if (remove->flags)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a remove", remove->flags);
	if (!object && !(header->flags & WW_WIRE_HEADER_FLAG_AGAIN))
		return request_fail_not_found(remove->name);
	if (object)
		ww_try(request_check_remove(peer, object, "remove"));
	if (object)
		object_end(registry, object, WW_WIRE_WHAT_REMOVED);
	peer_send_done(peer, header->serial);
	return WW_OK;
}
