/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_put.c - requests by which objects come into the broker, and become ready
 *
 * Everything is checked before anything changes. A name is never without an object while one gives way to
 * another: the new one comes first, without a name.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "broker/server_parts.h"
#include "broker/testament.h"
#include "broker/vigil.h"
#include "wire/name.h"

#define MODE_MAX    0777
#define FD_ACCESSES 3 /* readers, writers, or both */

/* Since which version there is another fd_access: that of testaments. */
#define TESTAMENT_VERSION 2

static ww_status check_fd_access(const struct peer *peer, const struct ww_wire_put *put,
	size_t fd_count)
{
	uint8_t most = peer->version < TESTAMENT_VERSION ? FD_ACCESSES : TESTAMENT_ACCESS;

	for (size_t i = 0; i < WW_WIRE_FDS; i++) {
		uint8_t access = put->fd_access[i];

		if (i < fd_count ? access == 0 || access > most : access != 0)
			return ww_fail(WW_ERR_INVALID,
				"fd_access of descriptor %zu is %u; 1 to %u for each that comes, 0 behind",
				i, access, most);
	}
	return WW_OK;
}

static ww_status check_put(const struct peer *peer, const struct ww_wire_put *put)
{
	if (put->name[0])
		ww_try(request_check_name(peer, put->name));
	if (put->kind == 0)
		return ww_fail(WW_ERR_INVALID, "an object has a kind, which is not 0");
	if (put->state < WW_WIRE_STATE_WRITING || put->state > WW_WIRE_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"an object is put as writing (1), sealed (2) or shared (3), not as %u",
			put->state);
	if (put->bytes > INT64_MAX)
		return ww_fail(WW_ERR_INVALID, "no object has %" PRIu64 " bytes", put->bytes);
	if (put->mode > MODE_MAX)
		return ww_fail(WW_ERR_INVALID, "mode 0%o has more than the permission bits 0777",
			put->mode);
	if (put->flags & ~(uint32_t)WW_WIRE_PUT_FLAG_REPLACE)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a put", put->flags);
	if (put->ttl_ns > 0 && put->life != WW_WIRE_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"only objects of life kept have a time to live; put it as kept, or without");
	if (put->life == WW_WIRE_LIFE_KEPT && !put->name[0])
		return ww_fail(WW_ERR_INVALID,
			"an object without a name cannot be kept: nobody could remove it; give it a name");
	ww_try(check_fd_access(peer, put, peer->fd_count));
	return request_check_inside(peer, put->name, WW_WIRE_ACCESS_READ);
}

static ww_status choose_group(const struct peer *peer, const struct ww_wire_put *put,
	gid_t *out_gid)
{
	*out_gid = put->gid == UINT32_MAX ? peer->gid : put->gid;
	if (peer->uid != 0 && !peer_has_group(peer, *out_gid))
		return ww_fail(WW_ERR_ACCESS,
			"user %u is not in group %u; give an object to a group you are in",
			peer->uid, *out_gid);
	return WW_OK;
}

static ww_status check_name_is_free(const struct peer *peer, const struct ww_wire_put *put,
	const struct object *taken)
{
	const struct ww_layout_object_record *record;

	if (!ww_name_is_inside(put->name) &&
		!config_may_take(peer->server->setup->config, put->name, peer->uid, peer->gids,
			peer->gid_count))
		return ww_fail(WW_ERR_ACCESS,
			"the name '%.120s' is reserved for others than user %u; choose another",
			put->name, peer->uid);
	if (!taken)
		return WW_OK;
	record = object_record(&peer->server->registry, taken);
	if (!(put->flags & WW_WIRE_PUT_FLAG_REPLACE))
		return ww_fail(WW_ERR_EXISTS,
			"'%.120s' is taken, by an object of user %" PRIu32
			"; remove it first, or put with replace",
			put->name, record->uid);
	return request_check_remove(peer, taken, "replace");
}

/* The object is in the broker already: a put that is repeated, or one that gives it a name. */
static ww_status put_again(struct peer *peer, struct object *object, const struct ww_wire_put *put,
	gid_t gid)
{
	struct registry *registry = &peer->server->registry;
	struct ww_layout_object_record *record = object_record(registry, object);
	struct object *taken = put->name[0] ? object_find(registry, put->name) : NULL;

	if (object->maker != peer->holder)
		return ww_fail(WW_ERR_EXISTS,
			"this memory is in the broker already, put by process %" PRIu32
			" as '%.100s'; use that object",
			record->maker_pid, (const char *)record->name);
	if (testament_find(put->fd_access, peer->fd_count) >= 0 && !object->testament)
		return ww_fail(WW_ERR_STATE,
			"this object is in the broker already, without a signal page; put the page as an "
			"object of its own");
	if (!strcmp((const char *)record->name, put->name))
		return hold_take(registry, peer->holder, object, WW_WIRE_ACCESS_WRITE);
	if (record->name[0])
		return ww_fail(WW_ERR_EXISTS,
			"this memory is in the broker already, as '%.120s'; remove that first",
			(const char *)record->name);
	if (put->state == WW_WIRE_STATE_WRITING && record->state != WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_STATE,
			"cannot put as writing what others may have by token already; put it as sealed or shared");
	if (record->state == WW_WIRE_STATE_SEALED && put->state != WW_WIRE_STATE_SEALED)
		return ww_fail(WW_ERR_STATE,
			"this memory is in the broker already, sealed, and stays so; put it as sealed");
	ww_try(check_name_is_free(peer, put, taken));
	ww_try(hold_take(registry, peer->holder, object, WW_WIRE_ACCESS_WRITE));
	ww_try(object_set_end(registry, object, put->ttl_ns));
	if (taken)
		object_end(registry, taken, WW_WIRE_WHAT_REMOVED);
	return object_name(registry, object, put, gid);
}

/* The new object comes without a name first, so that the name is never without an object. */
static ww_status put_in_place(struct peer *peer, struct object *taken,
	const struct ww_wire_put *put, uint64_t host_bytes, gid_t gid)
{
	struct registry *registry = &peer->server->registry;
	struct ww_wire_put unnamed = *put;
	struct object *object;

	memset(unnamed.name, 0, sizeof(unnamed.name));
	ww_try(object_put(registry, peer->holder, &unnamed, peer->fds, peer->fd_count, host_bytes,
		gid, &object));
	object_end(registry, taken, WW_WIRE_WHAT_REMOVED);
	return object_name(registry, object, put, gid);
}

/* While others of its user wait in turn for room, only who was given it comes in. */
static ww_status check_turn(const struct peer *peer)
{
	if (peer->account->queued > 0)
		return ww_fail(WW_ERR_QUOTA,
			"%" PRIu32 " others of user %u wait for room in the broker; wait in turn",
			peer->account->queued, peer->uid);
	return WW_OK;
}

static ww_status put_new(struct peer *peer, struct ww_wire_put *put, gid_t gid, bool was_reserved)
{
	struct registry *registry = &peer->server->registry;
	struct object *taken = put->name[0] ? object_find(registry, put->name) : NULL;
	struct hold *former = hold_find_id(registry, peer->holder, put->id);
	bool has_page = former && hold_object(registry, former)->testament;
	struct object *object;
	uint64_t host_bytes;
	bool is_memory;

	if (put->name[0])
		ww_try(check_name_is_free(peer, put, taken));
	ww_try(descriptor_check(peer->fds, peer->fd_count, &host_bytes, &is_memory));
	ww_try(testament_check(put, peer->fds, peer->fd_count));
	if (is_memory || put->bytes < host_bytes)
		put->bytes = host_bytes;
	if (!was_reserved)
		ww_try(check_turn(peer));
	/* Of an object that was removed: this is the same memory, put anew. */
	if (former && !has_page)
		hold_drop(registry, former);
	if (taken)
		ww_try(put_in_place(peer, taken, put, host_bytes, gid));
	else
		ww_try(object_put(registry, peer->holder, put, peer->fds, peer->fd_count,
			host_bytes, gid, &object));
	if (has_page) /* for which somebody could speak until now */
		hold_drop(registry, former);
	return WW_OK;
}

static ww_status put_checked(struct peer *peer, struct ww_wire_put *put, bool was_reserved)
{
	struct object *present;
	gid_t gid;

	ww_try(choose_group(peer, put, &gid));
	present = object_find_id(&peer->server->registry, put->id);
	return present ? put_again(peer, present, put, gid) : put_new(peer, put, gid, was_reserved);
}

/*
 * The owner of the outer object's page is told before anybody can rely on being known to it: so that must be possible,
 * or nothing is put. A put that is repeated tells it once more: that only says, look.
 */
static ww_status put_inside(struct peer *peer, struct ww_wire_put *put, bool was_reserved)
{
	const struct object *outer = request_find_outer(peer, put->name);
	struct ww_layout_signal_page *page;
	ww_status status;

	ww_try(testament_borrow(&peer->server->registry, outer, &page));
	status = put_checked(peer, put, was_reserved);
	if (page && status == WW_OK)
		ww_signal_page_count_member(page);
	testament_give_back(outer, page);
	return status;
}

ww_status request_put(void *context, const struct ww_wire_header *header,
	const struct ww_wire_put *message)
{
	struct peer *peer = context;
	struct ww_wire_put put = *message;
	bool was_reserved = peer->holder->has_reservation;

	request_use_reservation(peer); /* also if this put is refused */
	ww_try(check_put(peer, &put));
	ww_try(ww_name_is_inside(put.name) ? put_inside(peer, &put, was_reserved)
					   : put_checked(peer, &put, was_reserved));
	if (testament_find(put.fd_access, peer->fd_count) >= 0)
		vigil_keep(peer);
	peer_send_done(peer, header->serial);
	return WW_OK;
}

ww_status request_seal(void *context, const struct ww_wire_header *header,
	const struct ww_wire_seal *seal)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, seal->id);
	const struct ww_layout_object_record *record;

	if (seal->state != WW_WIRE_STATE_SEALED && seal->state != WW_WIRE_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"writing ends as sealed (2) or shared (3), not as %u", seal->state);
	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot end writing: the object is not in this broker (any more)");
	record = object_record(registry, object);
	if (object->maker != peer->holder)
		return ww_fail(WW_ERR_ACCESS,
			"cannot end writing of '%.100s': process %" PRIu32 " put it",
			(const char *)record->name, record->maker_pid);
	if (record->state == WW_WIRE_STATE_WRITING)
		object_seal(registry, object, seal->state);
	else if (record->state != seal->state)
		return ww_fail(WW_ERR_STATE, "'%.100s' is %s already", (const char *)record->name,
			record->state == WW_WIRE_STATE_SEALED ? "sealed" : "shared");
	peer_send_done(peer, header->serial);
	return WW_OK;
}
