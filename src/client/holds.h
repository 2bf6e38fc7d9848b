/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds.h - the objects of one broker that this process holds
 *
 * For the broker a process holds an object or does not. In this process several things may use one
 * hold: each memory that maps the object, and each answer that will become a memory. So each hold
 * has a count, and the broker is told when the count is 0 again.
 *
 *   (none) ──take──> count > 0, live ──drop──> count 0, due ──release sent, forget──> (none)
 *                         │     ^                 └──take──> live
 *                         v     └──take──┐
 *                    lost: the broker does not know it ──drop to 0──> (none)
 *
 * An object that stays when it is released (a member of a barrier or of a queue) tells others that
 * this member came and left. If it did not become one, because a put had no answer for example, the
 * object is removed first. Until both were sent it counts as held. If this process puts the object
 * anew before, neither is sent.
 *
 * A release that was sent after a get may end the hold that the answer of the get brings. So the
 * last releases are stored, with their places in the order of sending.
 *
 * Nothing here locks or sends: every call is made under ww_broker.lock.
 */
#ifndef WW_CLIENT_HOLDS_H
#define WW_CLIENT_HOLDS_H

#include <stdbool.h>

#include "base/list.h"
#include "base/map.h"
#include "wire/protocol.h"

#define WW_HOLDS_RELEASES 64

struct ww_hold {
	struct ww_map_node node; /* by id */
	struct ww_list link;     /* in holds.all */
	struct ww_list due;      /* in holds.due: the count is 0, and the broker must be told */
	uint8_t id[WW_WIRE_ID_BYTES];
	uint32_t count;
	bool is_own;        /* this process put the object */
	bool is_lost;       /* the broker does not know it any more */
	bool is_revoked;    /* tokens were revoked: the broker is asked about each token */
	char *removed_name; /* owned; it is taken from the object before the release; or NULL */
};

struct ww_holds {
	struct ww_map map;
	struct ww_list all;
	struct ww_list due;
	uint64_t release_count; /* ever sent */
	struct {
		uint8_t id[WW_WIRE_ID_BYTES];
		uint64_t sequence;     /* its place in the order of sending */
	} releases[WW_HOLDS_RELEASES]; /* a ring of the last ones, by release_count */
};

/* Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_holds_init(struct ww_holds *holds);
void ww_holds_fini(struct ww_holds *holds); /* frees what is left */

/*
 * A hold for ww_holds_take(), made before it is needed. Return: NULL: out of memory; the record is
 * filled.
 */
struct ww_hold *ww_hold_new(void);

/* Return: NULL: there is none. */
struct ww_hold *ww_holds_find(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES]);

/* Whether this process is a holder of the object, as far as it knows. */
bool ww_hold_is_live(const struct ww_hold *hold); /* takes NULL */

/*
 * Adds one to the count.
 * @spare:  used, and set to NULL, if there is no hold of this id
 * Return: the hold, never NULL.
 */
struct ww_hold *ww_holds_take(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	bool is_own, struct ww_hold **spare);

/* Subtracts one from the count. At 0 the hold is due, or is freed if it is lost. */
void ww_holds_drop(struct ww_holds *holds, struct ww_hold *hold);

/* Frees a hold whose count is 0; the caller has told the broker, or need not. */
void ww_holds_forget(struct ww_holds *holds, struct ww_hold *hold);

/*
 * Frees those that are due, unless their objects are to be removed: for the next broker, what it is
 * not told of is released.
 */
void ww_holds_forget_due(struct ww_holds *holds);

/* Return: a hold that is due; NULL: there is none. */
struct ww_hold *ww_holds_first_due(const struct ww_holds *holds);

/* For when the broker ended, and its objects with it: all holds are lost, those due are freed. */
void ww_holds_lose_all(struct ww_holds *holds);

size_t ww_holds_live_count(const struct ww_holds *holds);

/*
 * Lists the ids of all holds that are live, or whose object is to be removed.
 * @out_ids:  NULL: only count
 * Return: how many there are.
 */
size_t ww_holds_list(const struct ww_holds *holds, struct ww_wire_held *out_ids);

/* Stores that a release was sent. */
void ww_holds_note_release(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence);

/* Whether a release may have been sent after @sequence: true if that is too long ago to know. */
bool ww_holds_may_be_released(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence);

#endif
