/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.h - who holds what in a broker, and why each object is still there
 *
 * A snapshot's three lists, with the ways between them. The lists are taken one after the other while the
 * broker goes on, so a hold may name a holder or an object that is in none of them: it is passed over.
 */
#ifndef TOOLS_PICTURE_H
#define TOOLS_PICTURE_H

#include <warpway/warpway.h>

#include <stddef.h>
#include <stdint.h>

struct picture_hold {
	struct ww_hold_info info;
	const struct ww_object_info *object; /* NULL: not in the list */
	const struct ww_holder_info *holder; /* NULL: a token in escrow, or not in the list */
};

struct picture {
	struct ww_object_info *objects; /* by name */
	size_t object_count;
	struct ww_holder_info *holders; /* by number */
	size_t holder_count;
	struct picture_hold *holds; /* by object */
	size_t hold_count;
	const struct picture_hold *
		*held; /* the same by holder, then by name; unknown holders first */
};

/* Takes a snapshot into a picture, all zero before. Return: WW_OK; as ww_snapshot_create(). */
ww_status picture_take(struct picture *picture, ww_broker *broker);

/* Puts the lists in order and finds the ways between them. picture_take() does it. */
ww_status picture_link(struct picture *picture);
void picture_fini(struct picture *picture);

/* The holds of an object, which lie together. Return: the first; NULL with *out_count 0: it has none. */
const struct picture_hold *picture_holds(const struct picture *picture,
	const struct ww_object_info *object, size_t *out_count);

/* What a holder holds; of holds that lead nowhere none. Return: the first; NULL with *out_count 0: nothing. */
const struct picture_hold *const *picture_held(const struct picture *picture,
	const struct ww_holder_info *holder, size_t *out_count);

#define PICTURE_WHY_BYTES 512

/**
 * picture_why() - why an object is still there
 *
 * Such as "kept, no time to live", "held by pid 123 (python) and 2 tokens in escrow, 41 s left", or
 * "removed, but held by pid 4 (c)".
 */
void picture_why(const struct picture *picture, const struct ww_object_info *object,
	char out_text[PICTURE_WHY_BYTES]);

#define PICTURE_HOLDER_BYTES 80

/* "pid 123 (python)"; "a process (python)" where the broker cannot see its pid. */
void picture_holder(const struct ww_holder_info *holder, char out_text[PICTURE_HOLDER_BYTES]);

#endif
