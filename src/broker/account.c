/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.c - what each user makes the broker hold, see account.h
 */
#include "broker/account.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/list.h"

/* One kind of thing that is counted. */
struct item {
	const char *name;
	size_t in_charge; /* offset in struct charge */
	size_t in_limits; /* offset in struct limits */
};

#define ITEM(name, field)                                                            \
	{                                                                            \
		name, offsetof(struct charge, field), offsetof(struct limits, field) \
	}

static const struct item items[] = {
	ITEM("bytes of objects", bytes),
	ITEM("bytes of host memory", host_bytes),
	ITEM("objects", objects),
	ITEM("descriptors", fds),
	ITEM("holds", holds),
	ITEM("connections", connections),
	ITEM("waiting requests", waits),
	ITEM("watches", watches),
};

#define ITEM_COUNT (sizeof(items) / sizeof(items[0]))

static uint64_t *amount(const struct charge *charge, size_t offset)
{
	return (uint64_t *)(void *)((char *)charge + offset);
}

static uint64_t limit_of(const struct account *account, const struct item *item)
{
	return *(const uint64_t *)(const void *)((const char *)&account->limits + item->in_limits);
}

/* The hash of a uid: spread, since uids are consecutive. */
static uint64_t hash_uid(uid_t uid)
{
	return (uint64_t)uid * UINT64_C(0x9e3779b97f4a7c15);
}

struct account *account_get(struct accounts *accounts, uid_t uid)
{
	struct account *account;

	for (struct ww_map_node *node = ww_map_first(&accounts->by_uid, hash_uid(uid)); node;
		node = ww_map_next(node)) {
		account = ww_container(node, struct account, node);
		if (account->uid == uid) {
			account->users++;
			return account;
		}
	}
	account = calloc(1, sizeof(*account));
	if (!account || ww_map_insert(&accounts->by_uid, &account->node, hash_uid(uid)) != WW_OK) {
		ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
		free(account);
		return NULL;
	}
	account->uid = uid;
	account->users = 1;
	config_limits(accounts->config, uid, &account->limits);
	return account;
}

void account_put(struct accounts *accounts, struct account *account)
{
	ww_assert(account->users > 0);
	if (--account->users > 0)
		return;
	for (size_t i = 0; i < ITEM_COUNT; i++)
		ww_assert(*amount(&account->used, items[i].in_charge) == 0);
	ww_map_remove(&accounts->by_uid, &account->node);
	free(account);
}

static ww_status check(const struct account *account, const struct charge *charge,
	const struct charge *used)
{
	for (size_t i = 0; i < ITEM_COUNT; i++) {
		uint64_t limit = limit_of(account, &items[i]);
		uint64_t wanted = *amount(charge, items[i].in_charge);
		uint64_t have = *amount(used, items[i].in_charge);
		uint64_t sum;

		if (wanted == 0)
			continue;
		if (__builtin_add_overflow(have, wanted, &sum) || (limit > 0 && sum > limit))
			return ww_fail(WW_ERR_QUOTA,
				"the broker holds %" PRIu64 " %s for user %u, %" PRIu64
				" more would exceed the limit of %" PRIu64
				"; remove some, wait, or raise the limit (warpwayd.conf)",
				have, items[i].name, account->uid, wanted, limit);
	}
	return WW_OK;
}

static ww_status check_all_users(const struct accounts *accounts, uint64_t have, uint64_t wanted)
{
	if (wanted > 0 && have + wanted > accounts->fd_limit)
		return ww_fail(WW_ERR_QUOTA,
			"the broker holds %" PRIu64
			" descriptors for all users and may open no more than %" PRIu64
			"; remove objects, or raise its limit (ulimit -n, LimitNOFILE)",
			have, accounts->fd_limit);
	return WW_OK;
}

ww_status account_check_possible(const struct accounts *accounts, const struct account *account,
	const struct charge *charge)
{
	const struct charge nothing = {0};

	ww_try(check(account, charge, &nothing));
	return check_all_users(accounts, 0, charge->fds);
}

ww_status account_charge(struct accounts *accounts, struct account *account,
	const struct charge *charge)
{
	ww_try(check(account, charge, &account->used));
	ww_try(check_all_users(accounts, accounts->fds, charge->fds));
	return account_charge_anyway(accounts, account, charge);
}

ww_status account_charge_anyway(struct accounts *accounts, struct account *account,
	const struct charge *charge)
{
	for (size_t i = 0; i < ITEM_COUNT; i++) {
		uint64_t used = *amount(&account->used, items[i].in_charge);

		if (used > UINT64_MAX - *amount(charge, items[i].in_charge))
			return ww_fail(WW_ERR_OVERFLOW, "the %s of user %u are too many to count",
				items[i].name, account->uid);
	}
	for (size_t i = 0; i < ITEM_COUNT; i++)
		*amount(&account->used, items[i].in_charge) += *amount(charge, items[i].in_charge);
	accounts->fds += charge->fds;
	return WW_OK;
}

void account_return(struct accounts *accounts, struct account *account, const struct charge *charge)
{
	for (size_t i = 0; i < ITEM_COUNT; i++) {
		uint64_t *used = amount(&account->used, items[i].in_charge);
		uint64_t back = *amount(charge, items[i].in_charge);

		ww_assert(*used >= back);
		*used -= back;
	}
	accounts->fds -= charge->fds;
}
