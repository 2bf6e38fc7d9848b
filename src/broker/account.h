/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - what each user makes the broker hold, and how much of it there may be
 *
 * Everything that stays in the broker for somebody's sake is charged to that user's account when it comes and
 * given back when it goes. A charge is made whole or not at all. The accounts are found anew after a restart, from
 * the records.
 *
 * Waiting for room is in turn (wait.h): while anybody of a user does, nobody else of that user is given room for an
 * object.
 */
#ifndef WW_BROKER_ACCOUNT_H
#define WW_BROKER_ACCOUNT_H

#include <sys/types.h>

#include "base/map.h"
#include "broker/config.h"

/* An amount of everything that is charged; unused fields are 0. */
struct charge {
	uint64_t bytes;
	uint64_t host_bytes;
	uint64_t objects;
	uint64_t fds;
	uint64_t holds;
	uint64_t connections;
	uint64_t waits;
	uint64_t watches;
};

struct account {
	struct ww_map_node node; /* by uid */
	uid_t uid;
	uint32_t users; /* how many things point here */
	struct limits limits;
	struct charge used;
	uint32_t queued; /* reservations that wait in turn */
	uint32_t unread; /* descriptors in answers that its connections have not read, see peer.c */
	uint32_t parked; /* of these, in answers that could not even be sent */
	uint32_t closing;  /* descriptors that wait to be closed, see descriptor.c */
	uint64_t swept_ms; /* when `unread` was last looked through */
	uint64_t blocked;  /* the round in which one of them did not fit, see wait.c */
};

struct accounts {
	struct ww_map by_uid;
	const struct config *config;
	uint64_t fd_limit; /* what all users together may have */
	uint64_t fds;
};

/* Has a user's account, once more in use. Return: NULL when there is no memory. */
struct account *account_get(struct accounts *accounts, uid_t uid);
void account_put(struct accounts *accounts, struct account *account);

/* Return: WW_OK; WW_ERR_QUOTA (the record says which limit, and what is used). */
ww_status account_charge(struct accounts *accounts, struct account *account,
	const struct charge *charge);

/*
 * Charges what is there already, over the limits too: after a restart.
 * Return: WW_OK; WW_ERR_OVERFLOW (nobody can ever have been charged so much).
 */
ww_status account_charge_anyway(struct accounts *accounts, struct account *account,
	const struct charge *charge);

void account_return(struct accounts *accounts, struct account *account,
	const struct charge *charge);

/* Whether a charge could be met if nothing else were used. Return: WW_OK; WW_ERR_QUOTA. */
ww_status account_check_possible(const struct accounts *accounts, const struct account *account,
	const struct charge *charge);

#endif
