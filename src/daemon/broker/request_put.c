/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_put.c - requests that put objects into the broker, and make them ready
 *
 * Everything is checked before anything changes. While an object replaces another one, the name
 * always has an object: the new one gets the name before the old one ends, see object.h.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "daemon/broker/descriptor_check.h"
#include "daemon/broker/request.h"
#include "daemon/broker/request_check.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/delivery_counts.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

#define MODE_MAX    0777
#define FD_ACCESSES 3 /* readers, writers, or both */

/* The first version with the fd_access of last wills. */
#define LAST_WILL_VERSION 2

/* The first version in which an object may stay. */
#define STAYS_VERSION 4

/* The first version in which a put may only give a name. */
#define FURTHER_VERSION 8

/* The first version with files that count deliveries. */
#define COUNTS_VERSION 6

/* How many objects of one id there may be: all but one are removed, and still held. */
#define SAME_ID_MOST 256

/* @most: the largest fd_access that is allowed */
static bool put_is_fd_access(const struct peer *peer, uint8_t access, uint8_t most)
{
	if (access & DELIVERY_COUNTS)
		return peer->version >= COUNTS_VERSION &&
			(access & ~DELIVERY_COUNTS) <= FD_ACCESSES;
	return access > 0 && access <= most;
}

/*
 * Readers of an object may put objects inside of it. If the outer object has descriptors, these
 * must not stay in it.
 */
static ww_status check_stays(const struct peer *peer, const char *name, const uint8_t *fd_access,
	size_t fd_count)
{
	const struct object *outer = request_find_outer(peer, name);

	if (last_will_find(fd_access, fd_count) < 0 || !outer ||
		object_record(&peer->server->registry, outer)->fd_count > 0)
		return ww_fail(WW_ERR_INVALID,
			"an object that stays without its creator needs a signal page, and an outer object "
			"without descriptors");
	return WW_OK;
}

static ww_status put_check(const struct peer *peer, const struct ww_wire_put *put)
{
	uint8_t most;
	uint32_t known;

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
	if (put->ttl_ns > 0 && put->life != WW_WIRE_LIFE_KEPT)
		return ww_fail(WW_ERR_INVALID,
			"only objects of life kept have a time to live; put it as kept, or without");
	if (put->life == WW_WIRE_LIFE_KEPT && !put->name[0])
		return ww_fail(WW_ERR_INVALID,
			"an object without a name cannot be kept: no other process could remove it; give it a name");
	most = peer->version < LAST_WILL_VERSION ? FD_ACCESSES : LAST_WILL_ACCESS;
	for (size_t i = 0; i < WW_WIRE_FDS; i++) {
		uint8_t access = put->fd_access[i];

		if (i < peer->fd_count ? !put_is_fd_access(peer, access, most) : access != 0)
			return ww_fail(WW_ERR_INVALID,
				"fd_access of descriptor %zu is %u; 1 to %u for each that comes, 0 behind",
				i, access, most);
	}
	ww_try(request_check_inside(peer, put->name, WW_WIRE_ACCESS_READ));
	known = WW_WIRE_PUT_FLAG_REPLACE;
	if (peer->version >= STAYS_VERSION)
		known |= WW_WIRE_PUT_FLAG_STAYS;
	if (peer->version >= FURTHER_VERSION)
		known |= WW_WIRE_PUT_FLAG_FURTHER;
	if (put->flags & ~known)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a put", put->flags);
	return put->flags & WW_WIRE_PUT_FLAG_STAYS
		? check_stays(peer, put->name, put->fd_access, peer->fd_count)
		: WW_OK;
}

static ww_status put_check_name(const struct peer *peer, const struct ww_wire_put *put,
	struct name taken)
{
	struct name replacement;

	if (!ww_name_is_inside(put->name) &&
		!config_may_take(peer->server->setup->config, put->name, peer->uid, peer->gids,
			peer->gid_count))
		return ww_fail(WW_ERR_ACCESS,
			"the name '%.120s' is reserved for others than user %u; choose another",
			put->name, peer->uid);
	if (!taken.object)
		return WW_OK;
	if (!(put->flags & WW_WIRE_PUT_FLAG_REPLACE))
		return request_fail_taken(&peer->server->registry, taken);
	ww_try(request_check_remove(peer, taken, "replace"));
	replacement = name_find_replacement(&peer->server->registry, put->name);
	return replacement.object ? request_check_remove(peer, replacement, "replace") : WW_OK;
}

/* The put says something else than the broker has of this object. @what: of the put */
static ww_status put_fail_differs(const struct registry *registry, struct name name,
	const char *what)
{
	static const char *const lives[] = {"held", "owner", "kept"};
	static const char *const states[] = {"being written", "sealed", "shared", "removed"};
	const struct ww_layout_object_record *record = object_record(registry, name.object);

	return ww_fail(WW_ERR_EXISTS,
		"this memory is in the broker already, as '%.80s' (mode 0%03o, group %" PRIu32
		", %s, %s); %s",
		request_label(registry, name), record->mode, record->gid,
		lives[name_read(registry, name).life - 1], states[record->state - 1], what);
}

/* Whether an object that the broker has may become sealed now, if it is to. */
static ww_status record_check_sealed(const struct peer *peer,
	const struct ww_layout_object_record *record, uint32_t state)
{
	int fds[WW_WIRE_FDS];

	if (state != WW_WIRE_STATE_SEALED)
		return WW_OK;
	ww_try(request_check_no_writer(peer, record->id));
	for (size_t i = 0; i < record->fd_count; i++)
		fds[i] = (int)record->fds[i];
	return descriptor_check_sealed(fds, record->fd_access, record->fd_count);
}

/* --- parts of a pool --- */

/* Whether the put says the same of this name, which a part of the pool has. */
static bool part_agrees(const struct peer *peer, struct name name, const struct ww_wire_put *put,
	gid_t gid)
{
	const struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, name.object);

	return name_agrees(registry, name, put) && record->mode == put->mode && record->gid == gid;
}

static ww_status put_part(struct peer *peer, const struct ww_wire_put *put, gid_t gid)
{
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, put->id);
	struct name repeated;
	const struct ww_layout_object_record *record;

	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the pool whose part is to get a name is not in this broker (any more)");
	record = object_record(registry, object);
	if (object->creator != peer->holder)
		return ww_fail(WW_ERR_ACCESS,
			"process %" PRIu32
			" put this pool, and alone may name parts of it; have it do so, or copy the slice",
			record->maker_pid);
	if (!object_may_have_parts(record))
		return ww_fail(WW_ERR_STATE, "parts of this object cannot have names");
	if (!put->name[0] || ww_name_is_inside(put->name))
		return ww_fail(WW_ERR_INVALID,
			"a part of a pool is put under a name that is not inside another object");
	if (put->life != WW_WIRE_LIFE_OWNER || put->kind != record->kind ||
		put->state != record->state)
		return ww_fail(WW_ERR_INVALID,
			"a part of a pool is put as a shared one, with life owner");
	repeated = name_find_of(registry, object, put->name);
	if (!repeated.object || !part_agrees(peer, repeated, put, gid)) {
		if (object->extra->further && (record->mode != put->mode || record->gid != gid))
			return ww_fail(WW_ERR_EXISTS,
				"other slices of this pool have names with mode 0%03o and group %" PRIu32
				", which are the pool's; put this one with the same, remove these names, or use another "
				"pool",
				record->mode, record->gid);
		if (object_count_further(registry, object) >= FURTHER_NAMES_MOST)
			return ww_fail(WW_ERR_QUOTA,
				"slices of this pool have %d names already; remove some of them first",
				FURTHER_NAMES_MOST);
		ww_try(put_check_name(peer, put, name_find(registry, put->name)));
		ww_try(object_add_name(registry, object, peer->uid, put, gid));
	}
	return hold_take(registry, peer->holder, object, WW_WIRE_ACCESS_WRITE);
}

/* --- objects that the broker has already --- */

/* A process that did not put the object may name it if its user may, and it has the object. */
static ww_status put_check_namer(const struct peer *peer, const struct object *object)
{
	const struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (peer->uid != 0 && peer->uid != record->uid)
		return ww_fail(WW_ERR_ACCESS,
			"this memory is in the broker already, put by process %" PRIu32
			" of user %" PRIu32
			"; only that user and root may name it: hand it on by a token, or copy it",
			record->maker_pid, record->uid);
	if (record->life == WW_WIRE_LIFE_OWNER)
		return ww_fail(WW_ERR_EXISTS,
			"this memory is in the broker already and lives with process %" PRIu32
			", which alone may name it; have it do so, or copy it",
			record->maker_pid);
	if (!hold_find(registry, peer->holder, object))
		return ww_fail(WW_ERR_EXISTS,
			"this memory is in the broker already, put by process %" PRIu32
			"; get it from there first, or use that object",
			record->maker_pid);
	return WW_OK;
}

/* A name of an object that has one, or that another process has put, changes nothing of it. */
static ww_status put_check_further(const struct peer *peer, struct object *object,
	const struct ww_wire_put *put, gid_t gid)
{
	const struct registry *registry = &peer->server->registry;
	struct name name = name_any(registry, object);

	if (!put->name[0] || !object_may_have_names(object_record(registry, object)))
		return ww_fail(WW_ERR_EXISTS,
			"this object is in the broker already, as '%.120s'; remove that first",
			request_label(registry, name));
	if (ww_name_is_inside(put->name))
		return ww_fail(WW_ERR_INVALID,
			"a further name of a memory is not inside another object; choose one without '@'");
	if (!object_agrees(registry, object, put, gid))
		return put_fail_differs(registry, name,
			"a further name needs the same mode, group and state, and life owner only if the memory "
			"has that");
	if (object_count_further(registry, object) >= FURTHER_NAMES_MOST)
		return ww_fail(WW_ERR_QUOTA,
			"this memory has %d names already; remove some of them first",
			FURTHER_NAMES_MOST + 1);
	return WW_OK;
}

/* Its creator puts it, and it has no name. */
static ww_status put_check_unnamed(const struct peer *peer, const struct object *object,
	const struct ww_wire_put *put)
{
	const struct ww_layout_object_record *record = object_record(&peer->server->registry,
		object);

	if (put->life != WW_WIRE_LIFE_HELD &&
		delivery_counts_find(record->fd_access, record->fd_count) >= 0)
		return ww_fail(WW_ERR_STATE,
			"this object is in the broker already and counts deliveries, so its life is held; put "
			"it as held");
	if (put->state == WW_WIRE_STATE_WRITING && record->state != WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_STATE,
			"cannot put as writing what others may have by token already; put it as sealed or shared");
	if (record->state == WW_WIRE_STATE_SEALED && put->state != WW_WIRE_STATE_SEALED)
		return ww_fail(WW_ERR_STATE,
			"this memory is in the broker already, sealed, and stays so; put it as sealed");
	return record_check_sealed(peer, record, put->state);
}

/*
 * The name of the object that a put repeats. Return: no object: it gives the object a new one,
 * which may replace one of the same text: that of another part, or with another life.
 */
static struct name put_find_repeated(const struct registry *registry, struct object *object,
	const struct ww_wire_put *put, gid_t gid)
{
	struct name name = {object_is_named(registry, object) ? NULL : object, NULL};

	if (!put->name[0])
		return name;
	name = name_find_of(registry, object, put->name);
	if (name.object && put->flags & WW_WIRE_PUT_FLAG_REPLACE &&
		object_agrees(registry, object, put, gid) && !name_agrees(registry, name, put) &&
		object_may_have_names(object_record(registry, object)))
		name.object = NULL;
	return name;
}

/* The object is in the broker already: a put that is repeated, or one that gives it a name. */
static ww_status put_again(struct peer *peer, struct object *object, const struct ww_wire_put *put,
	gid_t gid)
{
	struct registry *registry = &peer->server->registry;
	struct name repeated = put_find_repeated(registry, object, put, gid);
	bool is_creator = object->creator == peer->holder;
	ww_status status;
	bool is_new;

	if (!is_creator)
		ww_try(put_check_namer(peer, object));
	if (last_will_find(put->fd_access, peer->fd_count) >= 0 && !object->extra->last_will)
		return ww_fail(WW_ERR_STATE,
			"this object is in the broker already, without a signal page; put the page as an "
			"object of its own");
	if (repeated.object) {
		/*
		 * If a put is repeated because its answer was lost, it says the same. A put cannot
		 * change an object.
		 */
		if (!object_agrees(registry, repeated.object, put, gid) ||
			!name_agrees(registry, repeated, put))
			return put_fail_differs(registry, repeated,
				"a second put changes nothing: put it with what it was put with, replace the name (for another "
				"life, time to live, array or part), or remove all its names (for another mode or group)");
		return is_creator ? hold_take(registry, peer->holder, object, WW_WIRE_ACCESS_WRITE)
				  : WW_OK;
	}
	ww_try(is_creator && !object_is_named(registry, object)
			? put_check_unnamed(peer, object, put)
			: put_check_further(peer, object, put, gid));
	ww_try(put_check_name(peer, put, name_find(registry, put->name)));
	is_new = !hold_find(registry, peer->holder, object);
	if (is_creator)
		ww_try(hold_take(registry, peer->holder, object, WW_WIRE_ACCESS_WRITE));
	status = object_add_name(registry, object, peer->uid, put, gid);
	if (status < 0 && is_new)
		hold_drop(registry, hold_find(registry, peer->holder, object));
	return status;
}

static ww_status put_new(struct peer *peer, struct ww_wire_put *put, gid_t gid, bool was_reserved)
{
	struct registry *registry = &peer->server->registry;
	struct hold *former = hold_find_id(registry, peer->holder, put->id);
	bool has_page = former && hold_object(registry, former)->extra->last_will;
	struct object *object;
	uint64_t host_bytes;
	bool is_memory;
	uint32_t count = object_count_id(registry, put->id);

	/* An object is found by its id among all objects of that id, so their number is limited. */
	if (count >= SAME_ID_MOST)
		return ww_fail(WW_ERR_QUOTA,
			"this memory was put and removed %" PRIu32
			" times while other processes still hold it; have them release it first",
			count);
	if (put->name[0])
		ww_try(put_check_name(peer, put, name_find(registry, put->name)));
	ww_try(descriptor_check(peer->fds, peer->fd_count, &host_bytes, &is_memory));
	ww_try(last_will_check(put, peer->fds, peer->fd_count));
	ww_try(delivery_counts_check(put, peer->fds, peer->fd_count));
	if (put->state == WW_WIRE_STATE_SEALED) {
		ww_try(request_check_no_writer(peer, put->id));
		ww_try(descriptor_check_sealed(peer->fds, put->fd_access, peer->fd_count));
	}
	if (is_memory || put->bytes < host_bytes)
		put->bytes = host_bytes;
	/*
	 * While reservations of a user wait in turn for room, only a process with a reservation may
	 * put.
	 */
	if (!was_reserved && peer->account->queued > 0)
		return ww_fail(WW_ERR_QUOTA,
			"%" PRIu32 " others of user %u wait for room in the broker; wait in turn",
			peer->account->queued, peer->uid);
	/* The former object was removed: this is the same memory, put anew. */
	if (former && !has_page)
		hold_drop(registry, former);
	ww_try(object_put(registry, peer->holder, put, peer->fds, peer->fd_count, host_bytes, gid,
		&object));
	descriptor_release(peer);
	if (has_page) /* only now, so that a holder existed all the time */
		hold_drop(registry, former);
	return WW_OK;
}

static ww_status put_checked(struct peer *peer, struct ww_wire_put *put, bool was_reserved)
{
	struct object *present;
	gid_t gid;

	gid = put->gid == UINT32_MAX ? peer->gid : put->gid;
	if (peer->uid != 0 && !peer_has_group(peer, gid))
		return ww_fail(WW_ERR_ACCESS,
			"user %u is not in group %u; give an object to a group you are in",
			peer->uid, gid);
	if (put->part)
		return put_part(peer, put, gid);
	present = object_find_id(&peer->server->registry, put->id);
	if (!present && put->flags & WW_WIRE_PUT_FLAG_FURTHER)
		return ww_fail(WW_ERR_NOT_FOUND,
			"the memory is not in this broker any more, and another process made it; that one can "
			"put it again, or copy it");
	return present ? put_again(peer, present, put, gid) : put_new(peer, put, gid, was_reserved);
}

/*
 * Counts the new member on the outer object's page before the put is answered: from then on the
 * member relies on being known to the owner. If the page cannot be mapped, nothing is put. A
 * repeated put counts again, which only makes the owner look.
 */
static ww_status put_inside(struct peer *peer, struct ww_wire_put *put, bool was_reserved)
{
	const struct object *outer = request_find_outer(peer, put->name);
	struct ww_layout_signal_page *page;
	ww_status status;

	ww_try(last_will_borrow(&peer->server->registry, outer, &page));
	status = put_checked(peer, put, was_reserved);
	if (page && status == WW_OK)
		ww_signal_page_count_member(page);
	last_will_give_back(outer, page);
	return status;
}

void request_use_reservation(struct peer *peer)
{
	struct holder *holder = peer->holder;

	if (!holder->has_reservation)
		return;
	holder->has_reservation = false;
	account_return(&peer->server->registry.accounts, holder->account, &holder->reservation);
}

ww_status request_put(void *context, const struct ww_wire_header *header,
	const struct ww_wire_put *message)
{
	struct peer *peer = context;
	struct ww_wire_put put = *message;
	bool was_reserved = peer->holder->has_reservation;

	request_use_reservation(peer); /* even if this put is refused */
	ww_try(put_check(peer, &put));
	ww_try(ww_name_is_inside(put.name) ? put_inside(peer, &put, was_reserved)
					   : put_checked(peer, &put, was_reserved));
	peer_send_done(peer, header->serial);
	return WW_OK;
}

static ww_status check_seal_flags(const struct peer *peer,
	const struct ww_layout_object_record *record, uint32_t flags)
{
	if (flags & ~(uint32_t)WW_WIRE_SEAL_FLAG_STAYS)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a seal", flags);
	return check_stays(peer, (const char *)record->name, record->fd_access, record->fd_count);
}

ww_status request_seal(void *context, const struct ww_wire_header *header,
	const struct ww_wire_seal *seal)
{
	struct peer *peer = context;
	struct registry *registry = &peer->server->registry;
	struct object *object = object_find_id(registry, seal->id);
	bool is_repeated = header->flags & WW_WIRE_HEADER_FLAG_AGAIN;
	struct ww_layout_object_record *record;
	const char *label;
	bool was_written;

	if (seal->state != WW_WIRE_STATE_SEALED && seal->state != WW_WIRE_STATE_SHARED)
		return ww_fail(WW_ERR_INVALID,
			"writing ends as sealed (2) or shared (3), not as %u", seal->state);
	if (!object)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot end writing: the object is not in this broker, or not any more; put "
			"it with WW_STATE_WRITING first");
	record = object_record(registry, object);
	label = request_label(registry, name_any(registry, object));
	if (object->creator != peer->holder)
		return ww_fail(WW_ERR_ACCESS,
			"cannot end writing of '%.100s': process %" PRIu32 " put it", label,
			record->maker_pid);
	if (seal->flags)
		ww_try(check_seal_flags(peer, record, seal->flags));
	was_written = record->state == WW_WIRE_STATE_WRITING;
	if (was_written)
		ww_try(record_check_sealed(peer, record, seal->state));
	if (was_written)
		object_seal(registry, object, seal->state);
	else if (record->state != seal->state)
		return ww_fail(WW_ERR_STATE,
			"'%.100s' is %s already; its state cannot change any more", label,
			record->state == WW_WIRE_STATE_SEALED ? "sealed" : "shared");
	else if (seal->flags) /* from now on it stays without its creator */
		last_will_stay(record);
	else if (request_check_inside(peer, (const char *)record->name, WW_WIRE_ACCESS_READ) ==
		WW_OK)
		object_complete(registry, object);
	if (object_has_lost_name(registry, object) && (was_written || is_repeated))
		return ww_fail(WW_ERR_NOT_FOUND,
			"the memory is ready, but its name was removed or given to another object while it "
			"was being written; put it again to give it a name");
	peer_send_done(peer, header->serial);
	return WW_OK;
}
