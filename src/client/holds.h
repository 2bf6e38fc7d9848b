/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holds.h - the objects of one broker that this process holds, as both sides see it
 *
 * To the broker a process holds an object or does not. Here several things may need one hold: each
 * memory that maps the object, and each answer that is on its way to become one. So holds are
 * counted, and the broker is told when the count is back at zero.
 *
 * Requests and answers cross on their way: a release that was sent after a get may have undone what
 * the get was granted. So the last releases are remembered, with their place in the order of
 * sending.
 *
 * Nothing here locks or sends: that is the connection's.
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
	struct ww_list due;      /* in holds.due: counted down to zero, the broker not yet told */
	uint8_t id[WW_WIRE_ID_BYTES];
	uint32_t count;
	bool is_own;     /* this process put the object */
	bool is_lost;    /* the broker does not know of it any more */
	bool is_revoked; /* tokens of it were: what is known of any is not relied on */
};

struct ww_holds {
	struct ww_map map;
	struct ww_list all;
	struct ww_list due;
	uint64_t release_count; /* ever sent */
	struct {
		uint8_t id[WW_WIRE_ID_BYTES];
		uint64_t sequence;     /* which place in the order of sending */
	} releases[WW_HOLDS_RELEASES]; /* the last ones, by release_count */
};

/* Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_holds_init(struct ww_holds *holds);
void ww_holds_fini(struct ww_holds *holds); /* frees what is left */

/*
 * Room for one more, made before it is needed. Return: NULL if there is no memory; the record is
 * filled.
 */
struct ww_hold *ww_hold_new(void);

/* Return: NULL when there is none. */
struct ww_hold *ww_holds_find(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES]);

/* Whether the broker counts this process among the object's holders, as far as is known here. */
bool ww_hold_is_live(const struct ww_hold *hold); /* takes NULL */

/*
 * Counts one more.
 * @spare:  taken if there is no hold of this id yet; NULL then
 * Return: the hold, never NULL.
 */
struct ww_hold *ww_holds_take(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	bool is_own, struct ww_hold **spare);

/* Counts one less. At zero it is due, or goes at once where the broker need not be told. */
void ww_holds_drop(struct ww_holds *holds, struct ww_hold *hold);

/* Takes out what is due; the caller has told the broker, or need not. */
void ww_holds_forget(struct ww_holds *holds, struct ww_hold *hold);

/* Return: one that is due; NULL when there is none. */
struct ww_hold *ww_holds_first_due(const struct ww_holds *holds);

/*
 * The objects of another broker than before are gone: all holds are lost, those due are forgotten.
 */
void ww_holds_lose_all(struct ww_holds *holds);

/*
 * The ids of all that is held.
 * @out_ids:  NULL: only count
 * Return: how many there are.
 */
size_t ww_holds_list(const struct ww_holds *holds, struct ww_wire_held *out_ids);

/* A release was sent. */
void ww_holds_note_release(struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence);

/* Whether one may have been sent after @sequence; what is long ago counts as yes. */
bool ww_holds_may_be_released(const struct ww_holds *holds, const uint8_t id[WW_WIRE_ID_BYTES],
	uint64_t sequence);

#endif
