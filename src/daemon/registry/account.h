/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - what the broker holds for each user, and the limits of that
 *
 * Everything that stays in the broker is charged to an account, that of the user that caused it,
 * and returned when it ends. A charge is made whole or not at all. After a restart the accounts are
 * computed anew, from the records.
 *
 * Reservations of a user are met in turn (pending_request.h): while one of them waits, no other
 * process of that user gets room for an object.
 *
 * Root, and the user that the broker runs as, have a few connections and descriptors reserved, so
 * that they can always connect and repair. Each other user can have at most half of all connections
 * and descriptors.
 */
#ifndef WW_DAEMON_REGISTRY_ACCOUNT_H
#define WW_DAEMON_REGISTRY_ACCOUNT_H

#include <sys/types.h>

#include "base/list.h"
#include "base/map.h"
#include "daemon/config.h"
#include "daemon/registry/byte_sum.h"
#include "daemon/registry/request_counts.h"

#define CHARGE_COUNT 8

/*
 * An amount of everything that is charged, in the order of struct limits, whose last one is not
 * charged but measured; unused fields are 0.
 */
struct charge {
	union {
		struct {
			uint64_t bytes;
			uint64_t host_bytes;
			uint64_t objects;
			uint64_t fds;
			uint64_t holds;
			uint64_t connections;
			uint64_t waits;
			uint64_t watches;
		};
		uint64_t amounts[CHARGE_COUNT];
	};
};

/* What a user is charged: sums of struct charge, which are exact, see byte_sum.h. */
struct usage {
	union {
		struct {
			byte_sum bytes;
			byte_sum host_bytes;
			byte_sum objects;
			byte_sum fds;
			byte_sum holds;
			byte_sum connections;
			byte_sum waits;
			byte_sum watches;
		};
		byte_sum amounts[CHARGE_COUNT];
	};
};

struct account {
	struct ww_map_node node; /* by uid */
	uid_t uid;
	uint32_t users; /* how many items point here */
	struct limits limits;
	struct usage used;
	uint32_t awaited;        /* processes from before a restart that have not connected again */
	uint32_t queued;         /* reservations that wait in turn */
	struct ww_list turns;    /* these: struct wait.turn, oldest first */
	struct ww_list of_turns; /* in server.turns while there are any */
	struct ww_list ready;    /* struct peer.of_ready, see fair_queue.h */
	struct ww_list of_ready; /* in server.ready or server.deaf while there are any */
	struct ww_list unread_peers; /* struct peer.of_unread, see unread_replies.h */
	uint64_t unread_bytes;       /* that these have not read */
	uint32_t unread; /* descriptors in answers that its connections have not read, see peer.c */
	uint32_t parked; /* of these, in answers that could not even be sent */
	uint32_t closing;          /* descriptors that wait to be closed, see descriptor_check.c */
	uint32_t refused;          /* refused connections that have not read the reason */
	struct receiver *receiver; /* NULL: none, see receiver.h */
	uint32_t peers; /* its connections; receivers and awaited processes are not counted here */

	/* what monitors are told */
	uint32_t slot; /* in accounts.slots */
	uint32_t device_count;
	struct ww_list devices; /* struct device_total.of_account */
	uint64_t holders;
	uint64_t escrows; /* charged to it, deliveries included */
	uint64_t deliveries;
	byte_sum delivery_bytes;
	struct request_counts requests;
};

struct accounts {
	struct ww_map by_uid;
	const struct config *config;
	uint64_t fd_limit; /* what all users together may have */
	uint64_t fds;
	uint64_t place_limit; /* connections, and processes from before a restart, there may be */
	uint64_t connections; /* of all users */
	uint64_t awaited;     /* of all users */

	/*
	 * All accounts, at places that do not change, so that a listing can go on. A free place has
	 * 1 + twice the number of the next free one, SLOT_NONE behind the last.
	 */
	uintptr_t *slots;
	uint32_t slot_count;
	uint32_t slot_free;
};

/* Has a user's account, once more in use. Return: NULL when there is no memory. */
struct account *account_get(struct accounts *accounts, uid_t uid);
void account_put(struct accounts *accounts, struct account *account);

/* Return: NULL when the user has none. */
struct account *account_find(const struct accounts *accounts, uid_t uid);

/* Return: NULL: there is none at this place. @slot: below accounts.slot_count */
struct account *account_at(const struct accounts *accounts, uint32_t slot);

/* Frees all accounts, whatever they are charged. */
void accounts_free(struct accounts *accounts);

/* Return: WW_OK; WW_ERR_QUOTA (the record says which limit, and what is used). */
ww_status account_charge(struct accounts *accounts, struct account *account,
	const struct charge *charge);

/* Charges what is there already, over the limits too. */
void account_charge_anyway(struct accounts *accounts, struct account *account,
	const struct charge *charge);

void account_return(struct accounts *accounts, struct account *account,
	const struct charge *charge);

/*
 * Whether a connection that is charged already leaves others theirs; and whether its process, which
 * is new, may be added in addition to those that have not connected again.
 * Return: WW_OK; WW_ERR_QUOTA.
 */
ww_status account_check_connection(const struct accounts *accounts, const struct account *account);
ww_status account_check_process(const struct accounts *accounts, const struct account *account);

/* A process from before a restart has not connected again yet; or it has, or has ended. */
void account_await(struct accounts *accounts, struct account *account);
void account_await_no_more(struct accounts *accounts, struct account *account);

/* Whether a charge could be met if nothing else were used. Return: WW_OK; WW_ERR_QUOTA. */
ww_status account_check_possible(const struct accounts *accounts, const struct account *account,
	const struct charge *charge);

#endif
