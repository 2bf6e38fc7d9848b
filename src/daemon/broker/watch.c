/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - sends events to watchers, see watch.h
 *
 * A watcher may ask for the objects that exist already too. These are sent as fast as it reads, in
 * the order of the records, while changes go on. A change to a record that was not sent yet causes
 * no event of its own.
 *
 * If a name passes to another object, the registry reports that the former one is replaced, and
 * then that the next one is put. A watcher gets one event for both, when the next one is put. It
 * gets two if it has an older version of the protocol, or is still told of the objects that exist.
 */
#include "daemon/broker/watch.h"

#include <string.h>

#include "base/error.h"
#include "daemon/broker/listing.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/unread_replies.h"
#include "daemon/registry/object.h"

/* The most events that are queued for a watcher, in addition to those in its socket. */
#define EVENTS_MAX 256

/* How many records are read before others have their turn. */
#define SCAN_MAX 512

/* The first version with the event `replaced`. */
#define REPLACED_VERSION 8

static const struct charge one_watch = {.watches = 1};

ww_status watch_begin(struct peer *peer, const struct ww_wire_watch *watch)
{
	if (!peer->is_watcher || peer->is_watching)
		return ww_fail(WW_ERR_INVALID, "cannot watch on this connection: %s",
			peer->is_watching ? "it watches already" : "its hello did not say watcher");
	ww_try(account_charge(&peer->server->registry.accounts, peer->account, &one_watch));
	peer->is_watching = true;
	peer->is_replaying = watch->flags & WW_WIRE_WATCH_FLAG_EXISTING;
	memcpy(peer->prefix, watch->prefix, sizeof(peer->prefix));
	ww_list_append(&peer->server->watchers, &peer->of_watchers);
	peer->server->wait_count++;
	return WW_OK;
}

void watch_end(struct peer *peer)
{
	if (!peer->is_watching)
		return;
	peer->is_watching = false;
	ww_list_remove(&peer->of_watchers);
	account_return(&peer->server->registry.accounts, peer->account, &one_watch);
	peer->server->wait_count--;
}

/* Return: whether it could be sent or queued. */
static bool watch_send_event(struct peer *peer, struct name name, uint8_t what)
{
	const struct replaced_object *former = &peer->server->replaced;
	const struct ww_wire_header header = {0};
	struct ww_wire_event event = {.what = what};
	uint8_t packet[1024];
	size_t bytes;

	if (name.object) {
		listing_fill_entry(peer, name, &event.entry);
		if (what == WW_WIRE_WHAT_REPLACED) {
			memcpy(event.former_id, former->id, sizeof(event.former_id));
			event.former_generation = former->generation;
		}
	} else { /* the codec accepts only valid values */
		event.entry.state = WW_WIRE_STATE_REMOVED;
		event.entry.life = WW_WIRE_LIFE_HELD;
	}
	bytes = ww_wire_encode_event(&event, peer->version, &header, packet, sizeof(packet));
	return bytes > 0 && peer_send(peer, packet, bytes, NULL, 0) == WW_OK;
}

static void watch_send_or_overflow(struct peer *peer, struct name name, uint8_t what)
{
	bool has_room = peer->out_count < EVENTS_MAX &&
		(peer->out_count == 0 || !unread_is_too_much(peer->account));

	if (has_room && watch_send_event(peer, name, what))
		return;
	peer->has_overflowed = true;
	/*
	 * If nothing is queued, no event of the socket will continue this: it is tried again later.
	 */
	if (ww_list_is_empty(&peer->out)) {
		peer->is_starved = true;
		server_retry(peer->server);
	}
	peer_listen(peer);
}

static bool watch_includes(const struct peer *peer, const char *name)
{
	return name[0] && !strncmp(name, peer->prefix, strlen(peer->prefix));
}

/* What a watcher is told of a change. Return: of WW_WIRE_WHAT_...; 0: nothing. */
static uint8_t watch_choose(const struct peer *peer, struct name name, uint8_t what)
{
	bool has_both = peer->version < REPLACED_VERSION || peer->is_replaying;

	if (peer->is_replaying && name_place(name) >= peer->replay)
		return 0;
	if (what == WW_WIRE_WHAT_REPLACED)
		return has_both ? WW_WIRE_WHAT_REMOVED : 0;
	if (what == WW_WIRE_WHAT_PUT && peer->server->replaced.generation && !has_both)
		return WW_WIRE_WHAT_REPLACED;
	return what;
}

void watch_tell(struct server *server, struct name name, uint8_t what)
{
	const char *text = name_text(&server->registry, name);

	if (name_is_replacement(&server->registry, name))
		return; /* another object still has the name */
	if (what == WW_WIRE_WHAT_REPLACED) {
		const struct ww_layout_object_record *record = object_record(&server->registry,
			name.object);

		memcpy(server->replaced.id, record->id, sizeof(server->replaced.id));
		server->replaced.generation = record->generation;
	}
	ww_list_for_each (link, &server->watchers) {
		struct peer *peer = ww_container(link, struct peer, of_watchers);
		uint8_t told = watch_choose(peer, name, what);

		if (!peer->has_overflowed && watch_includes(peer, text) && told)
			watch_send_or_overflow(peer, name, told);
	}
	if (what == WW_WIRE_WHAT_PUT)
		server->replaced.generation = 0;
}

void watch_go_on(struct peer *peer)
{
	uint32_t records = SCAN_MAX;
	struct name name;

	if (peer->has_overflowed) {
		peer->has_overflowed = false;
		watch_send_or_overflow(peer, (struct name){NULL, NULL}, WW_WIRE_WHAT_OVERFLOW);
	}
	while (peer->is_replaying && ww_list_is_empty(&peer->out)) {
		const struct registry *registry = &peer->server->registry;

		while ((name = name_walk(registry, &peer->replay, &records)).object) {
			if (object_record(registry, name.object)->state != WW_WIRE_STATE_REMOVED &&
				watch_includes(peer, name_text(registry, name)) &&
				!name_is_replacement(registry, name))
				break;
		}
		if (name.object)
			watch_send_or_overflow(peer, name, WW_WIRE_WHAT_PUT);
		else if (peer->replay < PLACE_END)
			return; /* at the next turn */
		else
			peer->is_replaying = false;
	}
}
