/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - dispatches requests; those that open a connection, and those that look; see request.h
 *
 * The codec has checked the form of a message, and the handlers check its meaning. If a peer breaks
 * the protocol, it gets an error and its connection ends.
 */
#include "daemon/broker/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/broker/descriptor_check.h"
#include "daemon/broker/exit_poll.h"
#include "daemon/broker/largest.h"
#include "daemon/broker/listing.h"
#include "daemon/broker/pending_request.h"
#include "daemon/broker/refusal.h"
#include "daemon/broker/request_check.h"
#include "daemon/broker/server_state.h"
#include "daemon/broker/totals.h"
#include "daemon/broker/watch.h"
#include "daemon/registry/hold.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/name_loss.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

/* --- opening a connection --- */

static ww_status holder_enter(struct peer *peer, const struct ww_wire_hello *hello,
	struct holder **out_holder)
{
	struct registry *registry = &peer->server->registry;
	WW_AUTO_FD int pidfd = peer_open_pidfd(peer);
	ww_status status;

	ww_try(account_check_process(&registry->accounts, peer->account));
	ww_try(holder_add(registry, hello->process_id, peer->pid, peer->uid, peer->gid, pidfd,
		hello->program, out_holder));
	status = exit_poll_start(peer->server, *out_holder);
	if (status < 0)
		holder_end(registry, *out_holder);
	return status;
}

static void holder_expect_confirmation(struct holder *holder)
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
	struct ww_wire_welcome welcome = {.least = WW_WIRE_LEAST, .most = WW_WIRE_VERSION};
	bool is_known = false;

	peer->is_last = true; /* until all of this has succeeded */
	if (hello->least > hello->most || hello->most < WW_WIRE_LEAST ||
		hello->least > WW_WIRE_VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the client speaks versions %u to %u of the protocol, this broker (%s) %d to %d; "
			"use versions of Warpway that are closer to each other",
			hello->least, hello->most, WW_VERSION, WW_WIRE_LEAST, WW_WIRE_VERSION);
	welcome.version = hello->most < WW_WIRE_VERSION ? hello->most : WW_WIRE_VERSION;
	if (!hello->watcher) {
		struct holder *holder = holder_find(&peer->server->registry, hello->process_id);

		is_known = false;
		if (holder) {
			const struct ww_layout_holder_record
				*record = holder_record(&peer->server->registry, holder);

			if (record->uid != peer->uid || record->pid != peer->pid)
				return ww_fail(WW_ERR_ACCESS,
					"this process id belongs to another process (pid %" PRIu32
					", user %" PRIu32 "); each process makes its own",
					record->pid, record->uid);
			is_known = ww_list_is_empty(&holder->peers);
		} else {
			ww_try(holder_enter(peer, hello, &holder));
		}
		peer->holder = holder;
		holder_attach(&peer->server->registry, holder);
		ww_list_append(&holder->peers, &peer->of_holder);
	}
	if (is_known)
		holder_expect_confirmation(peer->holder);
	peer->is_last = false;
	peer->is_watcher = hello->watcher;
	peer->version = welcome.version;
	welcome.known = is_known;
	welcome.restarts = peer->server->setup->restarts;
	registry_id(&peer->server->registry, welcome.broker_id);
	return peer_answer(peer, header->serial, welcome, &welcome);
}

/*
 * If only the connection broke and not the broker, the process may connect again before the end of
 * the former connection was noticed, or after it. Then it learns which of its objects are gone, and
 * nothing is released.
 */
static ww_status on_confirm(void *context, const struct ww_wire_header *header,
	const struct ww_wire_confirm *confirm)
{
	static struct ww_wire_held unknown[2048];
	struct peer *peer = context;
	struct ww_wire_confirmed confirmed = {.unknown.items = unknown};
	struct ww_wire_held_list list = confirm->held;
	struct ww_wire_held held;

	if (!peer->holder->is_confirming && confirm->held.count == 0)
		return ww_fail(WW_ERR_STATE,
			"nothing is to be confirmed: this process is not one from before a restart, or has "
			"said all");
	while (ww_wire_held_next(&list, &held)) {
		struct hold *hold = hold_find_id(&peer->server->registry, peer->holder, held.id);

		if (hold)
			hold->is_confirmed = true;
		else
			unknown[confirmed.unknown.count++] = held;
	}
	if (confirm->last && peer->holder->is_confirming) {
		struct holder *holder = peer->holder;
		struct ww_list *link = holder->holds.next;
		uint32_t count = 0;

		/* The objects that the holder did not confirm are released. */
		holder->is_confirming = false;
		while (link != &holder->holds) {
			struct hold *hold = ww_container(link, struct hold, of_holder);

			link = link->next;
			if (!hold->is_confirmed) {
				request_let_go(peer, hold);
				count++;
			}
		}
		confirmed.released = count;
	}
	return peer_answer(peer, header->serial, confirmed, &confirmed);
}

/* --- looking --- */

static ww_status on_stat(void *context, const struct ww_wire_header *header,
	const struct ww_wire_stat *stat)
{
	struct peer *peer = context;
	struct name name = name_find(&peer->server->registry, stat->name);
	struct ww_wire_described described;

	ww_try(request_check_name(peer, stat->name));
	if (!name.object)
		return request_fail_not_found(stat->name);
	listing_fill_entry(peer, name, &described.entry);
	return peer_answer(peer, header->serial, described, &described);
}

static ww_status on_loss(void *context, const struct ww_wire_header *header,
	const struct ww_wire_loss *message)
{
	struct peer *peer = context;
	const struct ww_layout_name_loss *loss = name_loss_find(&peer->server->registry,
		message->id);
	struct ww_wire_lost lost;

	if (!loss)
		return ww_fail(WW_ERR_NOT_FOUND,
			"no object of this id is known to have lost its name by a process");
	lost = (struct ww_wire_lost){
		.what = (uint8_t)loss->what,
		.pid = loss->pid,
		.uid = loss->uid,
	};
	memcpy(lost.program, loss->program, sizeof(lost.program) - 1);
	return peer_answer(peer, header->serial, lost, &lost);
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
		return wait_fail_reserved();
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

	wait_cancel(peer, cancel->waiting);
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
	.list = listing_objects,
	.holders = listing_holders,
	.holds = listing_holds,
	.watch = on_watch,
	.reserve = on_reserve,
	.cancel = on_cancel,
	.status = listing_status,
	.revoke = request_revoke,
	.recall = request_recall,
	.totals = totals_answer,
	.largest = largest_objects,
	.largest_holders = largest_holders,
	.object_holds = largest_object_holds,
	.loss = on_loss,
	.parts = request_parts,
	.renumber = request_renumber,
};

/* Requests for a watcher's connection, which has no holder. */
static bool request_is_for_watchers(uint16_t code)
{
	return code == WW_WIRE_WATCH || code == WW_WIRE_STATUS;
}

static bool status_breaks_protocol(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_TRUNCATED;
}

void request_handle(struct peer *peer, const uint8_t *packet, size_t bytes)
{
	struct server *server = peer->server;
	uint32_t serial = peer_read_serial(packet, bytes);
	struct ww_wire_header header = {.code = 0};
	ww_status status = ww_wire_read_header(packet, bytes, peer->fd_count, &header);
	uint16_t code = status == WW_OK ? header.code : 0;

	refusal_count_request(peer, code);
	if (status == WW_OK) {
		if ((header.code == WW_WIRE_HELLO) != (peer->version == 0))
			status = ww_fail(WW_ERR_PROTOCOL,
				"a connection begins with one hello, and has no other; this is %s",
				ww_wire_name(header.code));
		else if (peer->is_watcher && !request_is_for_watchers(header.code))
			status = ww_fail(WW_ERR_PROTOCOL,
				"a watcher's connection cannot be used to %s",
				ww_wire_name(header.code));
		else if (header.serial == 0 && header.code != WW_WIRE_RELEASE)
			status = ww_fail(WW_ERR_PROTOCOL,
				"a %s needs a serial number that is not 0",
				ww_wire_name(header.code));
	}
	if (status == WW_OK)
		status = ww_wire_dispatch(&handlers, peer,
			peer->version ? peer->version : WW_WIRE_LEAST, packet, bytes,
			peer->fd_count);
	descriptor_discard(peer);
	if (status == WW_ERR_PEER_LOST) {
		/* The supervisor is gone: no answer is sent, and the clients connect again. */
		server_stop(server, SERVER_SUPERVISOR_LOST);
		return;
	}
	if (status < 0)
		refusal_note(peer, code, status);
	if (status < 0 && (serial != 0 || status_breaks_protocol(status)))
		peer_send_error(peer, serial, status);
	if (status_breaks_protocol(status))
		peer->is_last = true;
}
