/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.c - what each user makes the broker hold, see account.h
 */
#include "daemon/registry/account.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/list.h"
#include "daemon/registry/device_total.h"

/*
 * What root, and the user that the broker runs as, have reserved each; at most an eighth of the
 * limit.
 */
#define PLACES_RESERVED 16
#define FDS_RESERVED    64

/* What is charged, in the order of struct charge. */
static const char *const charge_names[CHARGE_COUNT] = {"bytes of objects", "bytes of host memory",
	"objects", "descriptors", "holds", "connections", "waiting requests", "watches"};

_Static_assert(offsetof(struct charge, watches) == offsetof(struct limits, watches) &&
		sizeof(struct limits) == sizeof(struct charge) + sizeof(uint64_t),
	"charges and limits are in the same order");

#define SLOT_NONE   UINT32_MAX
#define SLOTS_FIRST 16

/* The hash of a uid: spread, since uids are consecutive. */
static uint64_t uid_hash(uid_t uid)
{
	return (uint64_t)uid * UINT64_C(0x9e3779b97f4a7c15);
}

struct account *account_find(const struct accounts *accounts, uid_t uid)
{
	ww_map_for_each (node, &accounts->by_uid, uid_hash(uid)) {
		struct account *account = ww_container(node, struct account, node);

		if (account->uid == uid)
			return account;
	}
	return NULL;
}

static void slots_mark_free(struct accounts *accounts, uint32_t slot)
{
	accounts->slots[slot] = 1 + 2 * (uintptr_t)accounts->slot_free;
	accounts->slot_free = slot;
}

/* Puts an account into the map and into a slot. */
static ww_status account_enter(struct accounts *accounts, struct account *account, uid_t uid)
{
	if (accounts->slot_count == 0 || accounts->slot_free == SLOT_NONE) {
		uint32_t count = accounts->slot_count;
		uint32_t larger = count ? 2 * count : SLOTS_FIRST;
		uintptr_t *slots = realloc(accounts->slots, larger * sizeof(*slots));

		if (!slots)
			return WW_ERR_NO_MEMORY;
		accounts->slots = slots;
		accounts->slot_count = larger;
		if (count == 0)
			accounts->slot_free = SLOT_NONE;
		while (larger > count)
			slots_mark_free(accounts, --larger);
	}
	ww_try(ww_map_insert(&accounts->by_uid, &account->node, uid_hash(uid)));
	account->slot = accounts->slot_free;
	accounts->slot_free = (uint32_t)(accounts->slots[account->slot] >> 1);
	accounts->slots[account->slot] = (uintptr_t)account;
	return WW_OK;
}

struct account *account_at(const struct accounts *accounts, uint32_t slot)
{
	uintptr_t place = accounts->slots[slot];

	return place & 1 ? NULL : (struct account *)place;
}

struct account *account_get(struct accounts *accounts, uid_t uid)
{
	struct account *account = account_find(accounts, uid);

	if (account) {
		account->users++;
		return account;
	}
	account = calloc(1, sizeof(*account));
	if (!account || account_enter(accounts, account, uid) != WW_OK) {
		ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
		free(account);
		return NULL;
	}
	account->uid = uid;
	account->users = 1;
	ww_list_init(&account->turns);
	ww_list_init(&account->of_turns);
	ww_list_init(&account->ready);
	ww_list_init(&account->of_ready);
	ww_list_init(&account->unread_peers);
	ww_list_init(&account->devices);
	/* One user can have at most half of the descriptors that there are for objects. */
	config_limits(accounts->config, account->uid, &account->limits);
	if (account->limits.fds > accounts->fd_limit / 2)
		account->limits.fds = accounts->fd_limit / 2;
	return account;
}

void account_put(struct accounts *accounts, struct account *account)
{
	ww_assert(account->users > 0);
	if (--account->users > 0)
		return;
	for (size_t i = 0; i < CHARGE_COUNT; i++)
		ww_assert(account->used.amounts[i] == 0);
	ww_assert(ww_list_is_empty(&account->devices) && account->holders == 0 &&
		account->escrows == 0 && account->deliveries == 0);
	ww_map_remove(&accounts->by_uid, &account->node);
	slots_mark_free(accounts, account->slot);
	free(account);
}

void accounts_free(struct accounts *accounts)
{
	for (uint32_t slot = 0; slot < accounts->slot_count; slot++) {
		struct account *account = account_at(accounts, slot);
		struct ww_list *link;

		if (!account)
			continue;
		while ((link = ww_list_take_first(&account->devices)))
			free(ww_container(link, struct device_total, of_account));
		ww_map_remove(&accounts->by_uid, &account->node);
		free(account);
	}
	ww_map_fini(&accounts->by_uid);
	free(accounts->slots);
	accounts->slots = NULL;
	accounts->slot_count = 0;
}

static ww_status account_check_limits(const struct account *account, const struct charge *charge,
	const struct usage *used)
{
	for (size_t i = 0; i < CHARGE_COUNT; i++) {
		uint64_t limit = account->limits.values[i];
		uint64_t wanted = charge->amounts[i];
		byte_sum sum = used->amounts[i] + wanted;
		uint64_t have = byte_sum_told(used->amounts[i]);

		if (wanted == 0)
			continue;
		if (limit > 0 && sum > limit)
			return ww_fail(WW_ERR_QUOTA,
				"the broker holds %" PRIu64 " %s for user %u, %" PRIu64
				" more would exceed the limit of %" PRIu64
				"; remove some, wait, or raise the limit (warpwayd.conf)",
				have, charge_names[i], account->uid, wanted, limit);
	}
	return WW_OK;
}

static bool uid_is_privileged(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

static uint64_t limit_reserve(uint64_t limit, uint64_t most)
{
	return limit / 8 < most ? limit / 8 : most;
}

static ww_status accounts_check_fds(const struct accounts *accounts, const struct account *account,
	uint64_t have, uint64_t wanted)
{
	uint64_t limit = accounts->fd_limit;

	if (!uid_is_privileged(account->uid))
		limit -= limit_reserve(limit, FDS_RESERVED);
	if (wanted > 0 && have + wanted > limit)
		return ww_fail(WW_ERR_QUOTA,
			"the broker holds %" PRIu64
			" descriptors for all users and may open no more than %" PRIu64
			"; remove objects, or raise its limit (ulimit -n, LimitNOFILE)",
			have, limit);
	return WW_OK;
}

/* How many connections stay reserved for a privileged user, if that is another one. */
static uint64_t accounts_reserved_for(const struct accounts *accounts, uid_t uid,
	const struct account *account)
{
	uint64_t reserve = limit_reserve(accounts->place_limit, PLACES_RESERVED);
	const struct account *other = account_find(accounts, uid);
	uint64_t have = other ? (uint64_t)other->used.connections + other->awaited : 0;

	return account->uid == uid || have >= reserve ? 0 : reserve - have;
}

static ww_status accounts_check_places(const struct accounts *accounts,
	const struct account *account, uint64_t own, uint64_t all)
{
	uint64_t limit = accounts->place_limit;
	uint64_t reserved = accounts_reserved_for(accounts, 0, account);

	if (geteuid() != 0)
		reserved += accounts_reserved_for(accounts, geteuid(), account);
	if (!uid_is_privileged(account->uid) && own > limit / 2)
		return ww_fail(WW_ERR_QUOTA,
			"user %u has %" PRIu64 " of the %" PRIu64
			" connections this broker can have; end some, or raise its limit of open "
			"files (LimitNOFILE, ulimit -n)",
			account->uid, limit / 2, limit);
	if (all + reserved > limit)
		return ww_fail(WW_ERR_QUOTA,
			"all %" PRIu64
			" connections this broker can have are taken, but for %" PRIu64
			" of root and of the broker's user; end some, or raise its limit of open "
			"files (LimitNOFILE, ulimit -n)",
			limit, reserved);
	return WW_OK;
}

ww_status account_check_connection(const struct accounts *accounts, const struct account *account)
{
	return accounts_check_places(accounts, account, (uint64_t)account->used.connections,
		accounts->connections);
}

ww_status account_check_process(const struct accounts *accounts, const struct account *account)
{
	uint64_t own = (uint64_t)account->used.connections + account->awaited;

	if (account->awaited == 0)
		return WW_OK;
	if (account->limits.connections > 0 && own > account->limits.connections)
		return ww_fail(WW_ERR_QUOTA,
			"user %u has %" PRIu32
			" processes that the broker keeps objects for since its "
			"restart, and that did not connect again; these count as connections, of which "
			"there may be %" PRIu64 "; end them",
			account->uid, account->awaited, account->limits.connections);
	return accounts_check_places(accounts, account, own,
		accounts->connections + accounts->awaited);
}

void account_await(struct accounts *accounts, struct account *account)
{
	account->awaited++;
	accounts->awaited++;
}

void account_await_no_more(struct accounts *accounts, struct account *account)
{
	account->awaited--;
	accounts->awaited--;
}

ww_status account_check_possible(const struct accounts *accounts, const struct account *account,
	const struct charge *charge)
{
	const struct usage nothing = {.bytes = 0};

	ww_try(account_check_limits(account, charge, &nothing));
	return accounts_check_fds(accounts, account, 0, charge->fds);
}

ww_status account_charge(struct accounts *accounts, struct account *account,
	const struct charge *charge)
{
	ww_try(account_check_limits(account, charge, &account->used));
	ww_try(accounts_check_fds(accounts, account, accounts->fds, charge->fds));
	account_charge_anyway(accounts, account, charge);
	return WW_OK;
}

void account_charge_anyway(struct accounts *accounts, struct account *account,
	const struct charge *charge)
{
	for (size_t i = 0; i < CHARGE_COUNT; i++)
		account->used.amounts[i] += charge->amounts[i];
	accounts->fds += charge->fds;
	accounts->connections += charge->connections;
}

void account_return(struct accounts *accounts, struct account *account, const struct charge *charge)
{
	for (size_t i = 0; i < CHARGE_COUNT; i++) {
		ww_assert(account->used.amounts[i] >= charge->amounts[i]);
		account->used.amounts[i] -= charge->amounts[i];
	}
	accounts->fds -= charge->fds;
	accounts->connections -= charge->connections;
}
