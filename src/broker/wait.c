/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - requests that are answered later, see wait.h
 */
#include "broker/wait.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "broker/registry_items.h"
#include "broker/server_parts.h"
#include "wire/name.h"

static const struct charge one_wait = {.waits = 1};

static struct wait *find_serial(const struct peer *peer, uint32_t serial)
{
	ww_list_for_each (link, &peer->waits) {
		struct wait *wait = ww_container(link, struct wait, of_peer);

		if (wait->serial == serial)
			return wait;
	}
	return NULL;
}

static ww_status make(struct peer *peer, uint32_t serial, struct wait **out_wait)
{
	struct accounts *accounts = &peer->server->registry.accounts;
	struct wait *wait;

	if (find_serial(peer, serial))
		return ww_fail(WW_ERR_PROTOCOL,
			"a request has serial %" PRIu32 ", which another one that waits has",
			serial);
	ww_try(account_charge(accounts, peer->account, &one_wait));
	wait = calloc(1, sizeof(*wait));
	if (!wait) {
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

static void end(struct wait *wait)
{
	struct server *server = wait->peer->server;

	if (wait->is_inside)
		ww_map_remove(&server->waits_by_outer, &wait->by_outer);
	if (wait->is_get) {
		ww_map_remove(&server->waits_by_name, &wait->by_name);
	} else if (!ww_list_is_empty(&wait->turn)) {
		ww_list_remove(&wait->turn);
		wait->peer->account->queued--;
	}
	ww_list_remove(&wait->of_peer);
	account_return(&server->registry.accounts, wait->peer->account, &one_wait);
	server->wait_count--;
	free(wait);
}

/* Enters a get where it will be looked for. */
static ww_status enter(struct server *server, struct wait *wait)
{
	const char *name = wait->get.name;

	ww_try(ww_map_insert(&server->waits_by_name, &wait->by_name, registry_hash_name(name)));
	wait->is_get = true;
	if (!ww_name_is_inside(name))
		return WW_OK;
	ww_name_outer(name, wait->outer);
	ww_try(ww_map_insert(&server->waits_by_outer, &wait->by_outer,
		registry_hash_id(wait->outer)));
	wait->is_inside = true;
	return WW_OK;
}

ww_status wait_for_name(struct peer *peer, uint32_t serial, const struct ww_wire_get *get)
{
	struct wait *wait = NULL;
	ww_status status;

	ww_try(make(peer, serial, &wait));
	wait->get = *get;
	status = enter(peer->server, wait);
	if (status < 0) {
		end(wait);
		return status;
	}
	return WW_NOT_READY;
}

ww_status wait_for_room(struct peer *peer, uint32_t serial, const struct charge *charge)
{
	struct wait *wait = NULL;

	ww_try(make(peer, serial, &wait));
	wait->charge = *charge;
	ww_list_append(&peer->server->turns, &wait->turn);
	peer->account->queued++;
	return WW_NOT_READY;
}

bool wait_cancel(struct peer *peer, uint32_t serial)
{
	struct wait *wait = find_serial(peer, serial);

	if (!wait)
		return false;
	end(wait);
	peer_send_error(peer, serial,
		ww_fail(WW_ERR_CANCELLED, "the request was given up by its sender"));
	return true;
}

void wait_end_all(struct peer *peer)
{
	while (!ww_list_is_empty(&peer->waits))
		end(ww_container(peer->waits.next, struct wait, of_peer));
}

/* The next wait for this very name, from a node on. */
static struct wait *find(struct ww_map_node *node, const char *name)
{
	for (; node; node = ww_map_next(node)) {
		struct wait *wait = ww_container(node, struct wait, by_name);

		if (!strcmp(wait->get.name, name))
			return wait;
	}
	return NULL;
}

static struct wait *find_first(struct server *server, const char *name)
{
	return find(ww_map_first(&server->waits_by_name, registry_hash_name(name)), name);
}

void wait_name_ready(struct server *server, struct object *object)
{
	const char *name = (const char *)object_record(&server->registry, object)->name;
	struct wait *wait;

	/* Each is answered and gone, well or badly. */
	while ((wait = find_first(server, name))) {
		struct peer *peer = wait->peer;
		uint32_t serial = wait->serial;
		uint8_t access = wait->get.access;
		ww_status status = request_may_get(peer, object, &wait->get);

		end(wait);
		if (status == WW_OK)
			status = request_grant(peer, serial, object, access);
		if (status < 0)
			peer_send_error(peer, serial, status);
	}
}

void wait_name_lost(struct server *server, const char *name, uint32_t maker_pid)
{
	struct wait *wait;

	while ((wait = find_first(server, name))) {
		struct peer *peer = wait->peer;
		uint32_t serial = wait->serial;

		end(wait);
		peer_send_error(peer, serial,
			ww_fail(WW_ERR_PEER_LOST,
				"'%.120s' will not be ready: process %" PRIu32
				" ended, or let go of it, while writing it",
				name, maker_pid));
	}
}

/* The next wait for a name inside an object, of a process or (NULL) any. */
static struct wait *find_inside(struct server *server, const struct holder *holder,
	const uint8_t id[16])
{
	for (struct ww_map_node *node = ww_map_first(&server->waits_by_outer, registry_hash_id(id));
		node; node = ww_map_next(node)) {
		struct wait *wait = ww_container(node, struct wait, by_outer);

		if (!memcmp(wait->outer, id, sizeof(wait->outer)) &&
			(!holder || wait->peer->holder == holder))
			return wait;
	}
	return NULL;
}

/* The waiters hold the object, so if it is gone its maker ended. */
static ww_status fail_outer(const struct wait *wait, const struct ww_layout_object_record *outer,
	uint8_t what)
{
	if (what == WW_WIRE_WHAT_GONE || what == WW_WIRE_WHAT_LOST)
		return ww_fail(WW_ERR_PEER_LOST,
			"'%.100s' will not come: the object that it is to be inside of was process %" PRIu32
			"'s, which ended or let go of it",
			wait->get.name, outer->maker_pid);
	return ww_fail(WW_ERR_NOT_FOUND,
		"'%.100s' will not come: the object that it is to be inside of %s", wait->get.name,
		what == WW_WIRE_WHAT_EXPIRED ? "has expired" : "was removed");
}

void wait_outer_ended(struct server *server, const struct ww_layout_object_record *outer,
	uint8_t what)
{
	struct wait *wait;

	while ((wait = find_inside(server, NULL, outer->id))) {
		struct peer *peer = wait->peer;
		uint32_t serial = wait->serial;
		ww_status status = fail_outer(wait, outer, what);

		end(wait);
		peer_send_error(peer, serial, status);
	}
}

void wait_outer_released(struct server *server, const struct holder *holder, const uint8_t id[16])
{
	struct wait *wait;

	while ((wait = find_inside(server, holder, id))) {
		struct peer *peer = wait->peer;
		uint32_t serial = wait->serial;
		ww_status status = ww_fail(WW_ERR_NOT_FOUND,
			"'%.100s' is waited for no longer: this process let go of the object that it is to "
			"be inside of",
			wait->get.name);

		end(wait);
		peer_send_error(peer, serial, status);
	}
}

/* Meets one reservation. Return: whether it is answered. */
static bool serve(struct server *server, struct wait *wait)
{
	struct peer *peer = wait->peer;
	struct holder *holder = peer->holder;
	uint32_t serial = wait->serial;

	if (holder->has_reservation) { /* it asked twice before the first was met */
		end(wait);
		peer_send_error(peer, serial, request_fail_reserved());
		return true;
	}
	if (account_charge(&server->registry.accounts, holder->account, &wait->charge) != WW_OK)
		return false;
	holder->reservation = wait->charge;
	holder->has_reservation = true;
	end(wait);
	peer_send_done(peer, serial);
	return true;
}

void wait_serve_room(struct server *server)
{
	struct ww_list *link = server->turns.next;

	server->round++;
	while (link != &server->turns) {
		struct wait *wait = ww_container(link, struct wait, turn);
		struct account *account = wait->peer->account;

		link = link->next;
		if (account->blocked != server->round && !serve(server, wait))
			account->blocked = server->round;
	}
}
