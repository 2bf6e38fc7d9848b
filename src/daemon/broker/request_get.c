/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_get.c - requests by which processes hold and release objects, and remove them from the
 * broker
 *
 * By name, the mode decides which processes may have an object; by token, the secret does. Either
 * way grant.c grants a hold and those descriptors of the object that fit the access.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/broker/grant.h"
#include "daemon/broker/pending_request.h"
#include "daemon/broker/request.h"
#include "daemon/broker/request_check.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/delivery.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* The first version in which a remove can end a memory. */
#define REMOVE_END_VERSION 8

ww_status request_get(void *context, const struct ww_wire_header *header,
	const struct ww_wire_get *get)
{
	struct peer *peer = context;
	struct name name;
	ww_status status;
	bool waits;

	ww_try(request_check_name(peer, get->name));
	if (get->flags & ~(uint32_t)(WW_WIRE_GET_FLAG_WAIT | WW_WIRE_GET_FLAG_FROM_OWNER))
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a get", get->flags);
	ww_try(request_check_get_inside(peer, get->name, get->access));
	/*
	 * Inside an object that was removed no name comes any more, and nothing would end the wait.
	 */
	waits = get->flags & WW_WIRE_GET_FLAG_WAIT &&
		(!ww_name_is_inside(get->name) || request_find_outer(peer, get->name));
	name = name_find(&peer->server->registry, get->name);
	if (!name.object) {
		const struct object *outer = request_find_outer(peer, get->name);

		/*
		 * The name does not exist. If the creator of an object that stays inside of the
		 * same outer object has ended, the name will never come. That status is sent here,
		 * since returning it would mean that the supervisor is gone.
		 */
		if (outer && outer->extra->nesting && outer->extra->nesting->is_left) {
			peer_send_error(peer, header->serial,
				wait_fail_left(get->name, outer->extra->nesting->left_pid));
			return WW_OK;
		}
		if (waits)
			return wait_for_name(peer, header->serial, get);
		return request_fail_not_found(get->name);
	}
	status = grant_check(peer, name, get);
	if (status == WW_OK)
		return grant_send(peer, header->serial, name, get->access, NULL);
	if (status == WW_NOT_READY && waits)
		return wait_for_name(peer, header->serial, get);
	if (status == WW_NOT_READY)
		return ww_fail(WW_ERR_STATE,
			"'%.100s' is still being written, by process %" PRIu32
			"; get it with a timeout",
			get->name, object_record(&peer->server->registry, name.object)->maker_pid);
	return status;
}

static ww_status object_check_sealed(const struct ww_layout_object_record *record, uint8_t access)
{
	if (access == WW_WIRE_ACCESS_WRITE && record->state == WW_WIRE_STATE_SEALED)
		return ww_fail(WW_ERR_ACCESS,
			"the object is sealed, for reading only; use WW_ACCESS_READ");
	return WW_OK;
}

static ww_status import_send(struct peer *peer, uint32_t serial, struct object *object,
	uint8_t access)
{
	const struct ww_layout_object_record *record = object_record(&peer->server->registry,
		object);

	return grant_send(peer, serial, name_first(object), access,
		access == WW_WIRE_ACCESS_WRITE ? record->write_secret : record->read_secret);
}

/*
 * Whether the connection broke before the answer came, and the import was counted: then the process
 * holds the object, and the delivery has ended, or this process was the last to use it. A holder
 * gains nothing by a request that only says so.
 */
static bool import_is_repeated(const struct peer *peer, const struct ww_wire_header *header,
	const struct object *object, const struct hold *delivery,
	const struct ww_wire_import *import)
{
	const struct registry *registry = &peer->server->registry;
	const struct hold *hold = hold_find(registry, peer->holder, object);
	uint32_t state = object_record(registry, object)->state;

	if (delivery && !delivery_was_used_by(registry, delivery, peer->holder))
		return false;
	return header->flags & WW_WIRE_HEADER_FLAG_AGAIN && hold &&
		hold_record(registry, hold)->access >= import->access &&
		(state == WW_WIRE_STATE_SHARED ||
			(state == WW_WIRE_STATE_SEALED && import->access == WW_WIRE_ACCESS_READ));
}

ww_status request_import(void *context, const struct ww_wire_header *header,
	const struct ww_wire_import *import)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, import->id);
	struct hold *delivery;
	bool is_new;
	const struct ww_layout_object_record *record;
	uint8_t granted;
	bool may_write;
	bool may_read;

	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the token's object is not in this broker: it has ended, or was never here");
	delivery = delivery_find(registry, object, import->secret);
	if (import_is_repeated(peer, header, object, delivery, import))
		return import_send(peer, header->serial, object, import->access);
	record = object_record(registry, object);
	granted = delivery ? hold_record(registry, delivery)->access : 0;
	may_write = granted == WW_WIRE_ACCESS_WRITE ||
		key_is_secret(record->write_secret, import->secret);
	may_read = granted || key_is_secret(record->read_secret, import->secret);
	if (!may_write && !may_read)
		return ww_fail(WW_ERR_ACCESS,
			"the token's secret does not open the object (any more): the token was imported "
			"as often as it may be, was revoked, or is forged; ask for a new one");
	if (import->access == WW_WIRE_ACCESS_WRITE && !may_write)
		return ww_fail(WW_ERR_ACCESS,
			"the token was made for reading only; use WW_ACCESS_READ");
	if (record->state == WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_STATE,
			"the token's object is still being written, by process %" PRIu32
			"; wait for it by name",
			record->maker_pid);
	ww_try(object_check_sealed(record, import->access));
	is_new = !hold_find(registry, peer->holder, object);
	ww_try(import_send(peer, header->serial, object, import->access));
	if (delivery)
		delivery_use(registry, delivery, peer->holder);
	else if (is_new)
		hold_use_escrow(registry, object, import->access);
	return WW_OK;
}

static ww_status export_plainly(struct peer *peer, struct object *object,
	const struct ww_wire_export *export, struct ww_wire_exported *out_exported)
{
	struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (export->escrow_ns > 0)
		ww_try(hold_escrow(registry, peer->account, object, export->access, export->uses,
			ww_clock_now_ns() + export->escrow_ns));
	memcpy(out_exported->secret,
		export->access == WW_WIRE_ACCESS_WRITE ? record->write_secret : record->read_secret,
		sizeof(out_exported->secret));
	return WW_OK;
}

ww_status request_export(void *context, const struct ww_wire_header *header,
	const struct ww_wire_export *export)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, export->id);
	struct hold *hold = object ? hold_find(registry, peer->holder, object) : NULL;
	struct ww_wire_exported exported = {0};
	uint64_t most_ns = config_escrow_max_ns(peer->server->setup->config);

	if (!object || !hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot export an object that this process does not hold in this broker; if it was ended "
			"or never put, put it (again)");
	/* First, because a process asks for the secret of what it holds also to map it. */
	ww_try(object_check_sealed(object_record(registry, object), export->access));
	if (export->access > hold_record(registry, hold)->access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot export for writing what this process has for reading only; use WW_ACCESS_READ");
	if (export->escrow_ns > most_ns)
		return ww_fail(WW_ERR_INVALID,
			"an escrow of %" PRIu64 " s is longer than this broker allows (%" PRIu64
			" s, escrow_max_s in warpwayd.conf)",
			export->escrow_ns / 1000000000, most_ns / 1000000000);
	if (export->flags & ~(uint32_t)WW_WIRE_EXPORT_FLAG_DELIVERY)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for an export", export->flags);
	if (export->flags && (export->uses == 0 || export->escrow_ns == 0))
		return ww_fail(WW_ERR_INVALID,
			"a delivery has a number of uses, and a time that it lasts after its exporter");
	if (export->flags & WW_WIRE_EXPORT_FLAG_DELIVERY) {
		const struct ww_layout_hold_record *record;

		/* The secret and the number of a delivery are its own. */
		ww_try(delivery_make(registry, peer->holder, object, export, &hold));
		record = hold_record(registry, hold);
		exported.delivery = record->delivery;
		memcpy(exported.secret, record->secret, sizeof(exported.secret));
	} else {
		ww_try(export_plainly(peer, object, export, &exported));
	}
	exported.generation = object_record(registry, object)->generation;
	return peer_answer(peer, header->serial, exported, &exported);
}

ww_status request_recall(void *context, const struct ww_wire_header *header,
	const struct ww_wire_recall *recall)
{
	struct peer *peer = context;
	struct recall work = {.wanted = recall};

	delivery_recall(&peer->server->registry, peer->holder, &work);
	return peer_answer(peer, header->serial, recalled, &work.done);
}

void request_let_go(struct peer *peer, struct hold *hold)
{
	struct registry *registry = &peer->server->registry;
	const struct object *other;
	uint8_t id[WW_WIRE_ID_BYTES];

	memcpy(id, object_record(registry, hold_object(registry, hold))->id, sizeof(id));
	object_end_known(registry, hold_object(registry, hold), peer->holder);
	hold_drop(registry, hold);
	other = object_find_id(registry,
		id); /* another object of that id may have been put since */
	if (!other || !hold_find(registry, peer->holder, other))
		wait_outer_released(peer->server, peer->holder, id);
}

/* Not only its creator, which may have ended. */
static bool revoke_is_allowed(const struct peer *peer, const struct object *object)
{
	const struct registry *registry = &peer->server->registry;

	return (peer->uid == 0 || peer->uid == object_record(registry, object)->uid) &&
		hold_find(registry, peer->holder, object);
}

ww_status request_revoke(void *context, const struct ww_wire_header *header,
	const struct ww_wire_revoke *revoke)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, revoke->id);

	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot revoke tokens: their object is not in this broker, or not any more");
	if (object->creator != peer->holder && !revoke_is_allowed(peer, object))
		return ww_fail(WW_ERR_ACCESS,
			"cannot revoke tokens of this object: only processes of user %" PRIu32
			" and of root that hold it may",
			object_record(registry, object)->uid);
	ww_try(object_revoke(registry, object));
	peer_send_done(peer, header->serial);
	return WW_OK;
}

ww_status request_release(void *context, const struct ww_wire_header *header,
	const struct ww_wire_release *release)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct hold *hold = hold_find_id(registry, peer->holder, release->id);

	if (!hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot release an object that this process does not hold");
	request_let_go(peer, hold);
	peer_send_done(peer, header->serial);
	return WW_OK;
}

/* A name of a part is not the whole pool's. */
static ww_status remove_check_part(const struct peer *peer, struct name name, uint32_t flags)
{
	if (flags & WW_WIRE_REMOVE_FLAG_END && name_read(&peer->server->registry, name).part)
		return ww_fail(WW_ERR_INVALID,
			"'%.100s' names a slice of a pool, which does not end without the pool; remove the "
			"name only (without --end)",
			name_text(&peer->server->registry, name));
	return request_check_remove(peer, name, "remove");
}

/* Takes a name of an object, or ends the object. */
static void remove_name(const struct peer *peer, struct name name, uint32_t flags)
{
	struct registry *registry = &peer->server->registry;
	const struct ww_layout_name_loss loss = name_loss_by(registry, peer->holder);
	uint8_t id[WW_WIRE_ID_BYTES];

	memcpy(id, object_record(registry, name.object)->id, sizeof(id));
	if (flags & WW_WIRE_REMOVE_FLAG_END)
		object_end(registry, name.object, WW_WIRE_WHAT_REMOVED);
	else
		object_lose_name(registry, name, WW_WIRE_WHAT_REMOVED);
	name_loss_keep(registry, id, &loss);
}

/*
 * The object of an id, which must have the name, or wait for it, if one is given. Its replacement
 * gets the name.
 */
static ww_status remove_one(struct peer *peer, const struct ww_wire_header *header,
	const struct ww_wire_remove *remove)
{
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, remove->id);
	struct name name = remove->name[0] ? name_find_of(registry, object, remove->name)
					   : name_first(object);

	if (!name.object && !(header->flags & WW_WIRE_HEADER_FLAG_AGAIN))
		return !remove->name[0] || name_find(registry, remove->name).object
			? ww_fail(WW_ERR_NOT_FOUND,
				  "there is no object with this id%s in this broker; see `warpway ls --all --json`",
				  remove->name[0] ? " and name" : "")
			: request_fail_not_found(remove->name);
	if (name.object) {
		ww_try(remove_check_part(peer, name, remove->flags));
		remove_name(peer, name, remove->flags);
	}
	peer_send_done(peer, header->serial);
	return WW_OK;
}

ww_status request_remove(void *context, const struct ww_wire_header *header,
	const struct ww_wire_remove *remove)
{
	static const uint8_t any[WW_WIRE_ID_BYTES];
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct name name = name_find(registry, remove->name);
	struct name replacement = name_find_replacement(registry, remove->name);
	bool has_id = memcmp(remove->id, any, sizeof(any)) != 0;
	uint32_t known = peer->version < REMOVE_END_VERSION ? 0 : WW_WIRE_REMOVE_FLAG_END;

	if (remove->flags & ~known)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a remove", remove->flags);
	if (remove->name[0] || !has_id || !remove->flags)
		ww_try(request_check_name(peer, remove->name));
	if (has_id)
		return remove_one(peer, header, remove);
	if (!name.object && !(header->flags & WW_WIRE_HEADER_FLAG_AGAIN))
		return request_fail_not_found(remove->name);
	if (name.object)
		ww_try(remove_check_part(peer, name, remove->flags));
	if (replacement.object)
		ww_try(request_check_remove(peer, replacement, "remove"));
	/* In this order, so that the name becomes free and does not pass to the replacement. */
	if (replacement.object)
		remove_name(peer, replacement, remove->flags);
	name = name_find(registry,
		remove->name); /* it has ended if it was inside of the replacement */
	if (name.object)
		remove_name(peer, name, remove->flags);
	peer_send_done(peer, header->serial);
	return WW_OK;
}
