/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_check.c - checks of several requests, see request_check.h
 */
#include "daemon/broker/request_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* The first version with names inside objects. */
#define INSIDE_VERSION 2

ww_status request_check_name(const struct peer *peer, const char *name)
{
	ww_try(ww_name_check(name));
	if (ww_name_is_inside(name) && peer->version < INSIDE_VERSION)
		return ww_fail(WW_ERR_INVALID,
			"a name that begins with '@' needs version %d of the protocol, this connection "
			"speaks %u; choose another, or use a newer library",
			INSIDE_VERSION, peer->version);
	return WW_OK;
}

struct object *request_find_outer(const struct peer *peer, const char *name)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	if (!ww_name_is_inside(name))
		return NULL;
	ww_name_outer(name, id);
	return object_find_id(&peer->server->registry, id);
}

/*
 * The object that a name is inside of, if this process made that; one that was removed too, while
 * this process holds it, unless another object has its id now.
 */
static const struct object *find_own_outer(const struct peer *peer, const char *name)
{
	const struct registry *registry = &peer->server->registry;
	const struct object *outer = request_find_outer(peer, name);
	uint8_t id[WW_WIRE_ID_BYTES];
	const struct hold *hold;

	if (!outer && ww_name_is_inside(name)) {
		ww_name_outer(name, id);
		hold = hold_find_id(registry, peer->holder, id);
		outer = hold ? hold_object(registry, hold) : NULL;
	}
	return outer && outer->creator && outer->creator == peer->holder ? outer : NULL;
}

ww_status request_check_get_inside(const struct peer *peer, const char *name, uint8_t access)
{
	if (!request_find_outer(peer, name) && find_own_outer(peer, name))
		return WW_OK;
	return request_check_inside(peer, name, access);
}

ww_status request_check_inside(const struct peer *peer, const char *name, uint8_t access)
{
	const struct registry *registry = &peer->server->registry;
	const struct object *outer = request_find_outer(peer, name);
	const struct hold *hold = outer ? hold_find(registry, peer->holder, outer) : NULL;

	if (!ww_name_is_inside(name))
		return WW_OK;
	if (!hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot use '%.100s': %s the object that contains this name; get that object first",
			name, outer ? "this process does not hold" : "the broker does not have");
	if (hold_record(registry, hold)->access < access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot get '%.100s' for writing: this process holds the object that contains this "
			"name for reading only; get that object for writing first",
			name);
	return WW_OK;
}

bool request_is_creator_of_outer(const struct peer *peer,
	const struct ww_layout_object_record *record)
{
	const struct object *outer = find_own_outer(peer, (const char *)record->name);
	const struct ww_layout_object_record *its;

	if (!outer)
		return false;
	/* Another process may have put an object of the same id since. */
	its = object_record(&peer->server->registry, outer);
	return its->generation < record->generation;
}

const char *request_label(const struct registry *registry, struct name name)
{
	const char *text = name_text(registry, name);

	return text[0] ? text : "an object without a name";
}

ww_status request_check_remove(const struct peer *peer, struct name name, const char *action)
{
	const struct registry *registry = &peer->server->registry;
	const struct object *object = name.object;
	const struct ww_layout_object_record *record = object_record(registry, object);
	bool is_creator_of_outer = request_is_creator_of_outer(peer, record);

	if (peer->uid != 0 && peer->uid != record->uid && !is_creator_of_outer)
		return ww_fail(WW_ERR_ACCESS,
			"'%.100s' belongs to user %" PRIu32 "; only that user and root may %s it",
			request_label(registry, name), record->uid, action);
	/* The creator of the outer object may remove members that other users put inside it. */
	if (object->creator != peer->holder && object_is_member(registry, object) &&
		(!is_creator_of_outer || peer->uid == record->uid))
		return ww_fail(WW_ERR_STATE,
			"cannot %s '%.100s': process %" PRIu32
			" shows there what it uses, and still runs; it ends when that process releases it or ends",
			action, record->name, record->maker_pid);
	return WW_OK;
}

ww_status request_fail_not_found(const char *name)
{
	return ww_fail(WW_ERR_NOT_FOUND,
		"there is no object '%.120s' in this broker; see `warpway ls`", name);
}

/* The broker may not see the process, in a container. */
static void name_process(uint32_t pid, char out_text[32])
{
	if (pid)
		snprintf(out_text, 32, "process %" PRIu32, pid);
	else
		snprintf(out_text, 32, "a process");
}

ww_status request_fail_taken(const struct registry *registry, struct name taken)
{
	const struct ww_layout_object_record *record = object_record(registry, taken.object);
	const char *program = taken.object->creator
		? (const char *)holder_record(registry, taken.object->creator)->program
		: "ended";
	char process[32];

	name_process(record->maker_pid, process);
	return ww_fail(WW_ERR_EXISTS,
		"'%.70s' is taken: %s (%.31s) of user %" PRIu32
		" put it; remove it first, or replace it (WW_PUT_REPLACE, --replace)",
		name_text(registry, taken), process, program, record->uid);
}

ww_status request_check_no_writer(const struct peer *peer, const uint8_t id[16])
{
	const struct registry *registry = &peer->server->registry;
	const struct hold *hold = hold_find_writer(registry, peer->holder, id);
	const struct ww_layout_holder_record *writer;
	char process[32];

	if (!hold)
		return WW_OK;
	writer = holder_record(registry, hold->holder);
	name_process(writer->pid, process);
	return ww_fail(WW_ERR_STATE,
		"cannot seal this object: %s (%.31s) of user %" PRIu32
		" holds it for writing; have it release the object first, or use WW_STATE_SHARED",
		process, (const char *)writer->program, writer->uid);
}
