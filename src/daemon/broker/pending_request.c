/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_request.c - requests that are answered later, see pending_request.h
 */
#include "daemon/broker/pending_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/broker/grant.h"
#include "daemon/broker/refusal.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/key_hash.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

static const struct charge one_wait = {.waits = 1};

static uint64_t hash_serial(const struct peer *peer, uint32_t serial)
{
	return key_hash_pair((uint32_t)((uintptr_t)peer >> 4), serial);
}

static uint64_t hash_holder(const struct holder *holder, const uint8_t id[16])
{
	return key_hash_id(id) + key_hash_pair(holder->index, 0);
}

static struct wait *wait_find_serial(const struct peer *peer, uint32_t serial)
{
	ww_map_for_each (node, &peer->server->waits_by_serial, hash_serial(peer, serial)) {
		struct wait *wait = ww_container(node, struct wait, by_serial);

		if (wait->peer == peer && wait->serial == serial)
			return wait;
	}
	return NULL;
}

static ww_status wait_make(struct peer *peer, uint32_t serial, struct wait **out_wait)
{
	struct accounts *accounts = &peer->server->registry.accounts;
	struct wait *wait;

	if (wait_find_serial(peer, serial))
		return ww_fail(WW_ERR_PROTOCOL,
			"a request has serial %" PRIu32 ", which another one that waits has",
			serial);
	ww_try(account_charge(accounts, peer->account, &one_wait));
	wait = calloc(1, sizeof(*wait));
	if (!wait ||
		ww_map_insert(&peer->server->waits_by_serial, &wait->by_serial,
			hash_serial(peer, serial)) != WW_OK) {
		free(wait);
		account_return(accounts, peer->account, &one_wait);
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	}
	wait->peer = peer;
	wait->serial = serial;
	ww_list_append(&peer->waits, &wait->of_peer);
	ww_list_init(&wait->turn);
	peer->server->wait_count++;
	*out_wait = wait;
	return WW_OK;
}

static void wait_end(struct wait *wait)
{
	struct server *server = wait->peer->server;

	if (wait->is_inside) {
		ww_map_remove(&server->waits_by_outer, &wait->by_outer);
		ww_map_remove(&server->waits_by_holder, &wait->by_holder);
	}
	if (wait->is_get) {
		ww_map_remove(&server->waits_by_name, &wait->by_name);
	} else if (!ww_list_is_empty(&wait->turn)) {
		ww_list_remove(&wait->turn);
		if (--wait->peer->account->queued == 0)
			ww_list_remove(&wait->peer->account->of_turns);
	}
	ww_map_remove(&server->waits_by_serial, &wait->by_serial);
	ww_list_remove(&wait->of_peer);
	account_return(&server->registry.accounts, wait->peer->account, &one_wait);
	server->wait_count--;
	free(wait);
}

/* Ends a wait and answers it with an error, whose reason is in the thread's record. */
static void wait_refuse(struct wait *wait, ww_status status)
{
	struct peer *peer = wait->peer;
	uint32_t serial = wait->serial;

	refusal_note(peer, wait->is_get ? WW_WIRE_GET : WW_WIRE_RESERVE, status);
	wait_end(wait);
	peer_send_error(peer, serial, status);
}

/* Adds a get to the maps in which it will be looked up. */
static ww_status wait_add_get(struct server *server, struct wait *wait)
{
	const char *name = wait->get.name;

	ww_try(ww_map_insert(&server->waits_by_name, &wait->by_name, key_hash_name(name)));
	wait->is_get = true;
	if (!ww_name_is_inside(name))
		return WW_OK;
	ww_name_outer(name, wait->outer);
	ww_try(ww_map_insert(&server->waits_by_outer, &wait->by_outer, key_hash_id(wait->outer)));
	if (ww_map_insert(&server->waits_by_holder, &wait->by_holder,
		    hash_holder(wait->peer->holder, wait->outer)) != WW_OK) {
		ww_map_remove(&server->waits_by_outer, &wait->by_outer);
		return WW_ERR_NO_MEMORY;
	}
	wait->is_inside = true;
	return WW_OK;
}

ww_status wait_for_name(struct peer *peer, uint32_t serial, const struct ww_wire_get *get)
{
	struct wait *wait = NULL;
	ww_status status;

	ww_try(wait_make(peer, serial, &wait));
	wait->get = *get;
	status = wait_add_get(peer->server, wait);
	if (status < 0) {
		wait_end(wait);
		return status;
	}
	return WW_NOT_READY;
}

ww_status wait_for_room(struct peer *peer, uint32_t serial, const struct charge *charge)
{
	struct wait *wait = NULL;

	ww_try(wait_make(peer, serial, &wait));
	wait->charge = *charge;
	ww_list_append(&peer->account->turns, &wait->turn);
	if (peer->account->queued++ == 0)
		ww_list_append(&peer->server->turns, &peer->account->of_turns);
	return WW_NOT_READY;
}

void wait_cancel(const struct peer *peer, uint32_t serial)
{
	struct wait *wait = wait_find_serial(peer, serial);

	if (wait)
		wait_refuse(wait,
			ww_fail(WW_ERR_GIVEN_UP, "the request was given up by its sender"));
}

void wait_end_all(struct peer *peer)
{
	while (!ww_list_is_empty(&peer->waits))
		wait_end(ww_container(peer->waits.next, struct wait, of_peer));
}

static struct wait *wait_find_first(struct server *server, const char *name)
{
	struct ww_map_node *node = ww_map_first(&server->waits_by_name, key_hash_name(name));

	for (; node; node = ww_map_next(node)) {
		struct wait *wait = ww_container(node, struct wait, by_name);

		if (!strcmp(wait->get.name, name))
			return wait;
	}
	return NULL;
}

void wait_name_ready(struct server *server, struct name name)
{
	struct wait *wait;

	/* Each is answered, with the object or with an error, and ends. */
	while ((wait = wait_find_first(server, name_text(&server->registry, name)))) {
		struct peer *peer = wait->peer;
		uint32_t serial = wait->serial;
		uint8_t access = wait->get.access;
		ww_status status = grant_check(peer, name, &wait->get);

		wait_end(wait);
		if (status == WW_OK)
			status = grant_send(peer, serial, name, access, NULL);
		if (status < 0) {
			refusal_note(peer, WW_WIRE_GET, status);
			peer_send_error(peer, serial, status);
		}
	}
}

void wait_name_lost(struct server *server, const char *name, uint32_t maker_pid)
{
	struct wait *wait;

	while ((wait = wait_find_first(server, name)))
		wait_refuse(wait,
			ww_fail(WW_ERR_PEER_LOST,
				"'%.120s' will not be ready: process %" PRIu32
				" ended, or released it, while writing it",
				name, maker_pid));
}

/* The next wait for a name inside an object. */
static struct wait *wait_find_inside(struct server *server, const uint8_t id[16])
{
	ww_map_for_each (node, &server->waits_by_outer, key_hash_id(id)) {
		struct wait *wait = ww_container(node, struct wait, by_outer);

		if (!memcmp(wait->outer, id, sizeof(wait->outer)))
			return wait;
	}
	return NULL;
}

/* The same, of one process. */
static struct wait *wait_find_inside_of(struct server *server, const struct holder *holder,
	const uint8_t id[16])
{
	ww_map_for_each (node, &server->waits_by_holder, hash_holder(holder, id)) {
		struct wait *wait = ww_container(node, struct wait, by_holder);

		if (!memcmp(wait->outer, id, sizeof(wait->outer)) && wait->peer->holder == holder)
			return wait;
	}
	return NULL;
}

/*
 * The waiting processes hold the outer object. So if it has ended as gone, its creator has ended.
 */
static ww_status wait_fail_outer(const struct wait *wait,
	const struct ww_layout_object_record *outer, uint8_t what)
{
	if (what == WW_WIRE_WHAT_GONE || what == WW_WIRE_WHAT_LOST)
		return ww_fail(WW_ERR_PEER_LOST,
			"'%.100s' will not come: its outer object was put by process %" PRIu32
			", which ended or released it",
			wait->get.name, outer->maker_pid);
	return ww_fail(WW_ERR_NOT_FOUND, "'%.100s' will not come: its outer object %s",
		wait->get.name,
		what == WW_WIRE_WHAT_EXPIRED            ? "has expired"
			: what == WW_WIRE_WHAT_REPLACED ? "was replaced"
							: "was removed");
}

void wait_outer_ended(struct server *server, const struct ww_layout_object_record *outer,
	uint8_t what)
{
	struct wait *wait;

	while ((wait = wait_find_inside(server, outer->id)))
		wait_refuse(wait, wait_fail_outer(wait, outer, what));
}

ww_status wait_fail_left(const char *name, uint32_t left_pid)
{
	return ww_fail(WW_ERR_PEER_LOST,
		"'%.100s' will not come: process %" PRIu32
		", which had put another object inside the same outer object, ended or released it",
		name, left_pid);
}

void wait_outer_left(struct server *server, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(&server->registry, object);
	uint8_t outer[WW_WIRE_ID_BYTES];
	struct wait *wait;

	ww_name_outer((const char *)record->name, outer);
	while ((wait = wait_find_inside(server, outer)))
		wait_refuse(wait, wait_fail_left(wait->get.name, record->maker_pid));
}

void wait_outer_released(struct server *server, const struct holder *holder, const uint8_t id[16])
{
	struct wait *wait;

	while ((wait = wait_find_inside_of(server, holder, id)))
		wait_refuse(wait,
			ww_fail(WW_ERR_NOT_FOUND,
				"the wait for '%.100s' has ended: this process released its outer object",
				wait->get.name));
}

ww_status wait_fail_reserved(void)
{
	return ww_fail(WW_ERR_STATE, "this process has room reserved already; put something first");
}

/* Meets one reservation. Return: whether it is answered. */
static bool wait_serve_reservation(struct server *server, struct wait *wait)
{
	struct peer *peer = wait->peer;
	struct holder *holder = peer->holder;
	uint32_t serial = wait->serial;

	if (holder->has_reservation) { /* it reserved twice before the first was met */
		wait_refuse(wait, wait_fail_reserved());
		return true;
	}
	if (account_charge(&server->registry.accounts, holder->account, &wait->charge) != WW_OK)
		return false;
	holder->reservation = wait->charge;
	holder->has_reservation = true;
	wait_end(wait);
	peer_send_done(peer, serial);
	return true;
}

void wait_serve_room(struct server *server)
{
	struct ww_list *link = server->turns.next;

	while (link != &server->turns) {
		struct account *account = ww_container(link, struct account, of_turns);

		link = link->next;
		while (!ww_list_is_empty(&account->turns) &&
			wait_serve_reservation(server,
				ww_container(account->turns.next, struct wait, turn)))
			;
	}
}
