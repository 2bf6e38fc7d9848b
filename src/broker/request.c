/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what a client may ask for, one function for each request
 *
 * A handler checks, changes the registry, and answers; or returns why not, which is then answered as an error; or
 * returns WW_NOT_READY and the answer comes later. What a message must look like the codec has checked; what it may
 * mean is checked here. A peer that breaks the protocol is told so and cut off.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "broker/server_parts.h"
#include "broker/vigil.h"
#include "wire/name.h"

/* --- who comes --- */

static ww_status choose_version(const struct ww_wire_hello *hello, uint16_t *out_version)
{
	if (hello->least > hello->most || hello->most < WW_WIRE_LEAST ||
		hello->least > WW_WIRE_VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the client speaks versions %u to %u of the protocol, this broker (%s) %d to %d; "
			"use versions of Warpway that are closer to each other",
			hello->least, hello->most, WW_VERSION, WW_WIRE_LEAST, WW_WIRE_VERSION);
	*out_version = hello->most < WW_WIRE_VERSION ? hello->most : WW_WIRE_VERSION;
	return WW_OK;
}

/* Whether a holder that is known under this id is the process that connects now. */
static ww_status check_same(const struct peer *peer, const struct holder *holder)
{
	const struct ww_layout_holder_record *record = holder_record(&peer->server->registry,
		holder);

	if (record->uid != peer->uid || record->pid != peer->pid)
		return ww_fail(WW_ERR_ACCESS,
			"this process id belongs to another process (pid %" PRIu32 ", user %" PRIu32
			"); each process makes its own",
			record->pid, record->uid);
	return WW_OK;
}

static ww_status enter_holder(struct peer *peer, const struct ww_wire_hello *hello,
	struct holder **out_holder)
{
	struct registry *registry = &peer->server->registry;
	WW_AUTO_FD int pidfd = peer_open_pidfd(peer);
	ww_status status;

	ww_try(holder_add(registry, hello->process_id, peer->pid, peer->uid, peer->gid, pidfd,
		hello->program, out_holder));
	status = server_watch_holder(peer->server, *out_holder);
	if (status < 0)
		holder_end(registry, *out_holder);
	return status;
}

/* Finds the process, or enters it. @out_known: it was here before the broker was restarted. */
static ww_status find_holder(struct peer *peer, const struct ww_wire_hello *hello, bool *out_known)
{
	struct holder *holder = holder_find(&peer->server->registry, hello->process_id);

	*out_known = false;
	if (holder) {
		ww_try(check_same(peer, holder));
		*out_known = ww_list_is_empty(&holder->peers);
	} else {
		ww_try(enter_holder(peer, hello, &holder));
	}
	peer->holder = holder;
	ww_list_append(&holder->peers, &peer->of_holder);
	return WW_OK;
}

static void expect_confirmation(struct holder *holder)
{
	holder->is_confirming = true;
	ww_list_for_each (link, &holder->holds) {
		ww_container(link, struct hold, of_holder)->is_confirmed = false;
	}
}

static ww_status on_hello(void *context, const struct ww_wire_header *header,
	const struct ww_wire_hello *hello)
{
	struct peer *peer = context;
	struct ww_wire_header answer = {.serial = header->serial};
	struct ww_wire_welcome welcome = {.least = WW_WIRE_LEAST, .most = WW_WIRE_VERSION};
	uint8_t packet[128];
	bool is_known = false;

	peer->is_last = true; /* until all of this has gone well */
	ww_try(choose_version(hello, &welcome.version));
	if (!hello->watcher)
		ww_try(find_holder(peer, hello, &is_known));
	if (is_known)
		expect_confirmation(peer->holder);
	if (peer->holder && !ww_list_is_empty(&peer->holder->pages))
		vigil_keep(peer);
	peer->is_last = false;
	peer->is_watcher = hello->watcher;
	peer->version = welcome.version;
	welcome.known = is_known;
	welcome.restarts = peer->server->setup->restarts;
	registry_id(&peer->server->registry, welcome.broker_id);
	return peer_send(peer, packet,
		ww_wire_encode_welcome(&welcome, welcome.version, &answer, packet, sizeof(packet)),
		NULL, 0);
}

/* Lets go of what the holder did not name. Return: how many these were. */
static uint32_t release_unconfirmed(struct peer *peer)
{
	struct holder *holder = peer->holder;
	struct ww_list *link = holder->holds.next;
	uint32_t count = 0;

	holder->is_confirming = false;
	while (link != &holder->holds) {
		struct hold *hold = ww_container(link, struct hold, of_holder);

		link = link->next;
		if (!hold->is_confirmed) {
			request_let_go(peer, hold);
			count++;
		}
	}
	return count;
}

/*
 * A process whose connection broke, and not the broker, may come before its former connection's end was noticed, or
 * after: it then learns what of its objects is gone, and nothing is released.
 */
static ww_status on_confirm(void *context, const struct ww_wire_header *header,
	const struct ww_wire_confirm *confirm)
{
	static struct ww_wire_held unknown[2048];
	struct peer *peer = context;
	struct server *server = peer->server;
	const struct ww_wire_header answer = {.serial = header->serial};
	struct ww_wire_confirmed confirmed = {.unknown.items = unknown};
	struct ww_wire_held_list list = confirm->held;
	struct ww_wire_held held;

	if (!peer->holder->is_confirming && confirm->held.count == 0)
		return ww_fail(WW_ERR_STATE,
			"nothing is to be confirmed: this process is not one from before a restart, or has "
			"said all");
	while (ww_wire_held_next(&list, &held)) {
		struct hold *hold = hold_find_id(&server->registry, peer->holder, held.id);

		if (hold)
			hold->is_confirmed = true;
		else
			unknown[confirmed.unknown.count++] = held;
	}
	if (confirm->last && peer->holder->is_confirming)
		confirmed.released = release_unconfirmed(peer);
	return peer_send(peer, server->out,
		ww_wire_encode_confirmed(&confirmed, peer->version, &answer, server->out,
			sizeof(server->out)),
		NULL, 0);
}

/* --- what several of them need --- */

/* Since which version there are names inside objects. */
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

ww_status request_check_inside(const struct peer *peer, const char *name, uint8_t access)
{
	const struct registry *registry = &peer->server->registry;
	const struct object *outer = request_find_outer(peer, name);
	const struct hold *hold = outer ? hold_find(registry, peer->holder, outer) : NULL;

	if (!ww_name_is_inside(name))
		return WW_OK;
	if (!hold)
		return ww_fail(WW_ERR_NOT_FOUND,
			"cannot use '%.100s': %s the object that the name is inside of; get that first",
			name, outer ? "this process does not hold" : "the broker does not have");
	if (hold_record(registry, hold)->access < access)
		return ww_fail(WW_ERR_ACCESS,
			"cannot have '%.100s' for writing: this process holds the object that the name is "
			"inside of for reading only; get that for writing first",
			name);
	return WW_OK;
}

/* Whether the process made the object that this one is inside of. */
static bool is_of_outer(const struct peer *peer, const struct ww_layout_object_record *record)
{
	const struct object *outer = request_find_outer(peer, (const char *)record->name);

	return outer && outer->maker && outer->maker == peer->holder;
}

ww_status request_check_remove(const struct peer *peer, const struct object *object,
	const char *action)
{
	const struct registry *registry = &peer->server->registry;
	const struct ww_layout_object_record *record = object_record(registry, object);

	if (peer->uid != 0 && peer->uid != record->uid && !is_of_outer(peer, record))
		return ww_fail(WW_ERR_ACCESS,
			"cannot %s '%.100s': it belongs to user %" PRIu32
			"; only that user and root may",
			action, record->name, record->uid);
	if (object->maker != peer->holder && object_is_member(registry, object))
		return ww_fail(WW_ERR_STATE,
			"cannot %s '%.100s': process %" PRIu32
			" shows there what it uses, and lives; it goes when that lets go or ends",
			action, record->name, record->maker_pid);
	return WW_OK;
}

ww_status request_fail_not_found(const char *name)
{
	return ww_fail(WW_ERR_NOT_FOUND,
		"there is no object '%.120s' in this broker; see `warpway ls`", name);
}

ww_status request_fail_reserved(void)
{
	return ww_fail(WW_ERR_STATE, "this process has room reserved already; put something first");
}

void request_let_go(struct peer *peer, struct hold *hold)
{
	struct registry *registry = &peer->server->registry;
	const struct object *other;
	uint8_t id[WW_WIRE_ID_BYTES];

	memcpy(id, object_record(registry, hold_object(registry, hold))->id, sizeof(id));
	hold_drop(registry, hold);
	other = object_find_id(registry,
		id); /* one of that id may have been removed, and put anew */
	if (!other || !hold_find(registry, peer->holder, other))
		wait_outer_released(peer->server, peer->holder, id);
}

void request_use_reservation(struct peer *peer)
{
	struct holder *holder = peer->holder;

	if (!holder->has_reservation)
		return;
	holder->has_reservation = false;
	account_return(&peer->server->registry.accounts, holder->account, &holder->reservation);
}

/* --- looking --- */

static ww_status on_stat(void *context, const struct ww_wire_header *header,
	const struct ww_wire_stat *stat)
{
	struct peer *peer = context;
	const struct ww_wire_header answer = {.serial = header->serial};
	struct object *object = object_find(&peer->server->registry, stat->name);
	struct ww_wire_described described;
	uint8_t packet[1024];

	ww_try(request_check_name(peer, stat->name));
	if (!object)
		return request_fail_not_found(stat->name);
	entry_fill(peer, object, &described.entry);
	return peer_send(peer, packet,
		ww_wire_encode_described(&described, peer->version, &answer, packet,
			sizeof(packet)),
		NULL, 0);
}

static ww_status on_list(void *context, const struct ww_wire_header *header,
	const struct ww_wire_list *list)
{
	return page_list(context, header->serial, list);
}

static ww_status on_holders(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holders *holders)
{
	return page_holders(context, header->serial, holders->cursor);
}

static ww_status on_holds(void *context, const struct ww_wire_header *header,
	const struct ww_wire_holds *holds)
{
	return page_holds(context, header->serial, holds->cursor);
}

static ww_status on_status(void *context, const struct ww_wire_header *header,
	const struct ww_wire_status *status)
{
	(void)status;
	return page_status(context, header->serial);
}

static ww_status on_watch(void *context, const struct ww_wire_header *header,
	const struct ww_wire_watch *watch)
{
	struct peer *peer = context;

	ww_try(ww_name_check_prefix(watch->prefix));
	if (watch->flags & ~(uint32_t)WW_WIRE_WATCH_FLAG_EXISTING)
		return ww_fail(WW_ERR_INVALID, "unknown flags 0x%x for a watch", watch->flags);
	ww_try(watch_begin(peer, watch));
	peer_send_done(peer, header->serial);
	watch_go_on(peer);
	return WW_OK;
}

/* --- waiting --- */

static ww_status on_reserve(void *context, const struct ww_wire_header *header,
	const struct ww_wire_reserve *reserve)
{
	struct peer *peer = context;
	struct accounts *accounts = &peer->server->registry.accounts;
	struct holder *holder = peer->holder;
	const struct charge charge = {
		.bytes = reserve->bytes,
		.host_bytes = reserve->host_bytes,
		.objects = 1,
		.fds = reserve->fd_count,
	};

	if (reserve->fd_count > WW_WIRE_FDS)
		return ww_fail(WW_ERR_INVALID, "an object has at most %d descriptors, not %" PRIu32,
			WW_WIRE_FDS, reserve->fd_count);
	if (holder->has_reservation && (header->flags & WW_WIRE_HEADER_FLAG_AGAIN))
		request_use_reservation(peer);
	if (holder->has_reservation)
		return request_fail_reserved();
	ww_try(account_check_possible(accounts, holder->account, &charge));
	if (peer->account->queued > 0 ||
		account_charge(accounts, holder->account, &charge) != WW_OK)
		return wait_for_room(peer, header->serial, &charge);
	holder->reservation = charge;
	holder->has_reservation = true;
	peer_send_done(peer, header->serial);
	return WW_OK;
}

static ww_status on_cancel(void *context, const struct ww_wire_header *header,
	const struct ww_wire_cancel *cancel)
{
	struct peer *peer = context;

	(void)wait_cancel(peer, cancel->waiting);
	peer_send_done(peer, header->serial);
	return WW_OK;
}

/* --- one packet --- */

static const struct ww_wire_handlers handlers = {
	.hello = on_hello,
	.confirm = on_confirm,
	.put = request_put,
	.seal = request_seal,
	.get = request_get,
	.import = request_import,
	.export = request_export,
	.release = request_release,
	.remove = request_remove,
	.stat = on_stat,
	.list = on_list,
	.holders = on_holders,
	.holds = on_holds,
	.watch = on_watch,
	.reserve = on_reserve,
	.cancel = on_cancel,
	.status = on_status,
};

/* Requests of which a connection without a holder, a watcher's, has a use. */
static bool is_for_watchers(uint16_t code)
{
	return code == WW_WIRE_WATCH || code == WW_WIRE_STATUS;
}

static ww_status check_order(const struct peer *peer, const struct ww_wire_header *header)
{
	if ((header->code == WW_WIRE_HELLO) != (peer->version == 0))
		return ww_fail(WW_ERR_PROTOCOL,
			"a connection begins with one hello, and has no other; this is %s",
			ww_wire_name(header->code));
	if (peer->is_watcher && !is_for_watchers(header->code))
		return ww_fail(WW_ERR_PROTOCOL, "a watcher's connection cannot be used to %s",
			ww_wire_name(header->code));
	if (header->serial == 0 && header->code != WW_WIRE_RELEASE)
		return ww_fail(WW_ERR_PROTOCOL, "a %s needs a serial number that is not 0",
			ww_wire_name(header->code));
	return WW_OK;
}

/* Where there is no header to trust, its serial is still worth an attempt. */
static uint32_t read_serial(const uint8_t *packet, size_t bytes)
{
	if (bytes < 8)
		return 0;
	return (uint32_t)packet[4] | (uint32_t)packet[5] << 8 | (uint32_t)packet[6] << 16 |
		(uint32_t)packet[7] << 24;
}

static bool breaks_protocol(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_TRUNCATED;
}

void request_handle(struct peer *peer, const uint8_t *packet, size_t bytes)
{
	struct server *server = peer->server;
	uint32_t serial = read_serial(packet, bytes);
	struct ww_wire_header header;
	ww_status status = ww_wire_read_header(packet, bytes, peer->fd_count, &header);

	if (status == WW_OK)
		status = check_order(peer, &header);
	if (status == WW_OK)
		status = ww_wire_dispatch(&handlers, peer,
			peer->version ? peer->version : WW_WIRE_LEAST, packet, bytes,
			peer->fd_count);
	descriptor_discard(peer);
	if (status == WW_ERR_PEER_LOST) { /* the keeper: nobody is told, everybody comes again */
		server_stop(server, SERVER_KEEPER_LOST);
		return;
	}
	if (status < 0 && (serial != 0 || breaks_protocol(status)))
		peer_send_error(peer, serial, status);
	if (breaks_protocol(status))
		peer->is_last = true;
}
