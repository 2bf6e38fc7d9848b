/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - the request for the sums that the broker keeps, see totals.h
 *
 * A cursor is the slot of the next account. Accounts do not move, so one that exists all the time
 * is told of exactly once. A page covers SLOTS_MOST slots, even if most of them are free.
 */
#include "daemon/broker/totals.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/broker/server_state.h"
#include "daemon/registry/device_total.h"

#define USERS_MOST    64
#define DEVICES_MOST  512
#define REQUESTS_MOST 700
#define SLOTS_MOST    1024

_Static_assert(DEVICE_TOTAL_ROWS <= DEVICES_MOST, "a page has room for one user at least");
_Static_assert(REQUEST_CODES *(REQUEST_STATUSES + 1) <= REQUESTS_MOST,
	"a page has room for all requests and reasons");

/* One page, while it is being filled. */
struct page {
	struct ww_wire_user_total users[USERS_MOST];
	struct ww_wire_device_total devices[DEVICES_MOST];
	struct ww_wire_request_total requests[REQUESTS_MOST];
	struct ww_wire_total_listing listing;
};

static uint64_t sum_came(const struct request_counts *counts)
{
	uint64_t sum = 0;

	for (uint32_t code = 0; code < REQUEST_CODES; code++)
		sum += counts->came[code];
	return sum;
}

static uint64_t sum_refused(const struct request_counts *counts)
{
	uint64_t sum = 0;

	for (uint32_t code = 0; code < REQUEST_CODES; code++) {
		for (uint32_t reason = 0; reason < REQUEST_STATUSES; reason++)
			sum += counts->refused[code][reason];
	}
	return sum;
}

static void page_add_user(struct page *page, const struct account *account)
{
	const struct usage *used = &account->used;
	const struct limits *limits = &account->limits;

	page->users[page->listing.users.count++] = (struct ww_wire_user_total){
		.uid = account->uid,
		.bytes = byte_sum_told(used->bytes),
		.bytes_limit = limits->bytes,
		.host_bytes = byte_sum_told(used->host_bytes),
		.host_bytes_limit = limits->host_bytes,
		.objects = byte_sum_told(used->objects),
		.objects_limit = limits->objects,
		.fds = byte_sum_told(used->fds),
		.fds_limit = limits->fds,
		.holds = byte_sum_told(used->holds),
		.holds_limit = limits->holds,
		.connections = byte_sum_told(used->connections),
		.connections_limit = limits->connections,
		.waits = byte_sum_told(used->waits),
		.waits_limit = limits->waits,
		.watches = byte_sum_told(used->watches),
		.watches_limit = limits->watches,
		.holders = account->holders,
		.tokens = account->escrows - account->deliveries,
		.deliveries = account->deliveries,
		.delivery_bytes = byte_sum_told(account->delivery_bytes),
		.requests = sum_came(&account->requests),
		.refused = sum_refused(&account->requests),
	};
}

static void page_add_devices(struct page *page, const struct account *account)
{
	ww_list_for_each (link, &account->devices) {
		const struct device_total *total = ww_container(link, struct device_total,
			of_account);

		for (uint32_t kind = 0; kind < DEVICE_TOTAL_KINDS; kind++) {
			const struct kind_total *of_kind = &total->kinds[kind];
			struct ww_wire_device_total *row;

			if (of_kind->objects == 0 && of_kind->removed == 0)
				continue;
			row = &page->devices[page->listing.devices.count++];
			*row = (struct ww_wire_device_total){
				.uid = account->uid,
				.others = total->is_of_others,
				.kind = (uint16_t)kind,
				.objects = of_kind->objects,
				.bytes = byte_sum_told(of_kind->bytes),
				.removed = of_kind->removed,
				.removed_bytes = byte_sum_told(of_kind->removed_bytes),
			};
			memcpy(row->home_uuid, total->home_uuid, sizeof(row->home_uuid));
		}
	}
}

static void page_add_request(struct page *page, uint32_t code, ww_status status, uint64_t count)
{
	if (count > 0)
		page->requests[page->listing.requests.count++] = (struct ww_wire_request_total){
			.request = (uint16_t)code,
			.status = status,
			.count = count};
}

/* A refusal for a reason that has no code here is told as WW_ERR_SYSTEM. */
static void page_add_requests(struct page *page, const struct request_counts *counts)
{
	for (uint32_t code = 0; code < REQUEST_CODES; code++) {
		page_add_request(page, code, WW_OK, counts->came[code]);
		for (int32_t reason = 0; reason < REQUEST_STATUSES; reason++)
			page_add_request(page, code, reason ? -reason : WW_ERR_SYSTEM,
				counts->refused[code][reason]);
	}
}

/* Adds the users from a slot on. Return: the cursor of the next page; 0: there is none. */
static uint64_t page_add_users(struct page *page, const struct accounts *accounts, uint64_t cursor)
{
	uint32_t slot = cursor < accounts->slot_count ? (uint32_t)cursor : accounts->slot_count;

	for (uint32_t looked = 0; slot < accounts->slot_count && looked < SLOTS_MOST; looked++) {
		const struct account *account = account_at(accounts, slot);

		if (account) {
			if (page->listing.users.count == USERS_MOST ||
				page->listing.devices.count + DEVICE_TOTAL_ROWS > DEVICES_MOST)
				break;
			page_add_user(page, account);
			page_add_devices(page, account);
		}
		slot++;
	}
	return slot < accounts->slot_count ? slot : 0;
}

static void page_fill_head(struct page *page, const struct server *server)
{
	const struct registry *registry = &server->registry;

	page->listing = (struct ww_wire_total_listing){
		.objects = registry->object_table.used,
		.holders = registry->holder_table.used,
		.holds = registry->hold_table.used,
		.bytes = byte_sum_told(registry->bytes),
		.waits = server->wait_count,
		.fds = registry->accounts.fds,
		.fds_limit = registry->accounts.fd_limit,
		.connections = registry->accounts.connections,
		.connections_limit = registry->accounts.place_limit,
		.refused_connections = server->refused_connections,
		.unlogged = server->unlogged,
		.up_ns = ww_clock_now_ns() - server->began_ns,
		.users.items = page->users,
		.devices.items = page->devices,
		.requests.items = page->requests,
	};
}

ww_status totals_answer(void *context, const struct ww_wire_header *header,
	const struct ww_wire_totals *totals)
{
	static struct page page;
	struct peer *peer = context;
	const struct server *server = peer->server;
	bool sees_all = peer->uid == 0 || peer->uid == geteuid();

	page_fill_head(&page, server);
	page.listing.all = sees_all;
	if (totals->cursor == 0)
		page_add_requests(&page, sees_all ? &server->requests : &peer->account->requests);
	if (sees_all) {
		page.listing.next = page_add_users(&page, &server->registry.accounts,
			totals->cursor);
	} else if (totals->cursor == 0) {
		page_add_user(&page, peer->account);
		page_add_devices(&page, peer->account);
	}
	return peer_answer(peer, header->serial, total_listing, &page.listing);
}
