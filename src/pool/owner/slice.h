/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - a slice of a pool in its owner's process
 *
 * A slice goes through these states in this order; it may skip the second:
 *
 *   USED      references are left in this process
 *   WAITING   no reference is left, but a token of the slice is in flight, it has a name, or a
 *             stream of this process or another process still uses it
 *   free      its bytes are the arena's again, and its slot may get another slice
 *
 * Slices that wait stand in a list. An allocation looks at them again; there is no thread that
 * does. A slice that waits can still be imported while a token of it is in flight, or by a token
 * that an importer made. If this process imports it, it is used again.
 *
 * Three files: slice.c takes slices from one state to the next; slice_name.c gives them names in a
 * broker; slice_use.c says who uses them. The functions are called under pool->lock, unless they
 * say otherwise.
 */
#ifndef WW_POOL_OWNER_SLICE_H
#define WW_POOL_OWNER_SLICE_H

#include "pool/owner/pool.h"

/* A stream that has yet to let go of a slice. */
struct ww_release {
	struct ww_release *next;
	struct ww_marks_cell cell; /* of pool->own */
};

/*
 * A number that a slice had until its tokens were revoked. Its slot is closed. It may get another
 * slice when no process marks this number.
 */
struct ww_former_number {
	struct ww_former_number *next;
	uint64_t number;
};

/*
 * A number of a slice, and what is known of the tokens that name it. Either all of these tokens are
 * deliveries, or none is: an importer counts imports for each number, so the imports of one kind do
 * not end the escrow of the other.
 */
struct ww_slice_tokens {
	uint64_t number;
	bool is_shared;      /* a token was made */
	bool are_deliveries; /* if is_shared */
	bool is_written;     /* deliveries.h */
	uint32_t keep_ms;    /* how long deliveries keep the pool after this process */
	uint64_t until_ns;   /* CLOCK_MONOTONIC; WW_NEVER: of deliveries, as long as the pool */
	uint64_t sent_ns;    /* the last delivery */
	uint64_t expected;   /* imports that all tokens together expect */
	uint64_t taken;      /* imports here, and by processes that are gone */
	uint64_t taken_here;
};

#define WW_SLICE_KINDS 2 /* of tokens: deliveries, others */

struct ww_slice {
	struct ww_memory view; /* whole: the chunk's memory */
	struct ww_pool *pool;  /* a reference as long as it is used */
	struct ww_chunk *chunk;
	struct ww_arena_block *block;
	/* The second one has a number since tokens of both kinds were made. */
	struct ww_slice_tokens tokens[WW_SLICE_KINDS];
	uint32_t kind_count; /* of these that have a number */
	/* The one that its names say, by the broker's last answer; 0: there are none. */
	uint64_t name_number;
	bool is_listed; /* while the names are looked at */
	bool is_used;
	struct ww_release *releases;
	struct ww_former_number *formers;
	struct ww_list parts; /* the parts of it that tokens of it gave to this process */
	struct ww_list link;  /* when it is not used: in pool->waiting, or in pool->spare */
};

/* @slot: of one of its numbers */
static inline struct ww_slice_tokens *ww_slice_tokens_in(struct ww_slice *slice, uint32_t slot)
{
	return &slice->tokens[ww_slice_slot(slice->tokens[0].number) != slot];
}

/*
 * Looks again at slices that wait: at so many.
 * Return: whether any is free now.
 */
bool ww_slices_sweep(struct ww_pool *pool, uint32_t count);

/*
 * There must be a slot. Return: a slice with one reference, whose pool and chunk count it; NULL,
 * recorded: out of memory.
 */
struct ww_slice *ww_slice_open(struct ww_pool *pool, struct ww_arena_block *block);

/*
 * The tokens of the slice of which one more is made.
 * @is_delivery:  of which kind
 * Return: WW_OK; WW_ERR_LIMIT (the pool has no slot left).
 */
ww_status ww_slice_choose_tokens(struct ww_slice *slice, bool is_delivery,
	struct ww_slice_tokens **out_tokens);

/*
 * Makes a memory of a slice that is used or in flight: itself, with one reference more, or a part
 * of it.
 * @is_import:  whether that counts as an import by a token
 * Return: WW_OK; WW_ERR_NOT_FOUND (it was let go of); WW_ERR_UNSUPPORTED (a slow route);
 * WW_ERR_NO_MEMORY.
 */
ww_status ww_slice_take(struct ww_pool *pool, const struct ww_token_info *info,
	const struct ww_import_options *options, bool is_import, struct ww_memory **out_memory);

/*
 * The memory of a slice that ww_slice_take() made of a token, once more, with the access that is
 * asked for. That is no import, and needs no valid token. Takes pool->lock.
 * @held:  borrowed
 * @info:  of the token
 * Return: WW_OK; WW_ERR_UNSUPPORTED (another device, a slow route); WW_ERR_NO_MEMORY;
 * WW_CANCELLED.
 */
ww_status ww_slice_map(struct ww_memory *held, const struct ww_device *device,
	const struct ww_token_info *info, const struct ww_import_options *options,
	struct ww_memory **out_memory);

/*
 * No delivery of a slice in flight opens it any more. If this process uses the slice, no other
 * token of it does either; if not, the slice may be given back by this.
 * Return: WW_OK; WW_ERR_LIMIT (it is used, and the pool has no slot left); WW_ERR_NO_MEMORY.
 */
ww_status ww_slice_recall(struct ww_slice *slice);

/* --- slice_name.c --- */

/*
 * Gives a slice a name. Takes pool->lock.
 * @view:    the slice or a part of it, which the name then names
 * @broker:  borrowed, chosen
 * @name:    NULL: the slice gets into the broker without one
 * @params:  as for the operation put of its class
 * Return: WW_OK; as ww_memory_put().
 */
ww_status ww_slice_put(struct ww_slice *slice, struct ww_memory *view, struct ww_broker *broker,
	const char *name, const struct ww_put_params *params, uint64_t timeout_ns);

/* How many slices that wait have a name, as far as this process knows. */
uint32_t ww_slices_count_named(const struct ww_pool *pool);

/* Looks which slices have lost their names, if the broker has counted any. */
void ww_pool_meet_names(struct ww_pool *pool);

/*
 * The slice, which has a name, has another number from now on: the broker is told.
 * Return: WW_OK; as a request: then its names may lead nowhere until the names are looked at.
 */
ww_status ww_slice_rename(struct ww_slice *slice, uint64_t number);

/* --- slice_use.c --- */

/* Whether a stream of this process may still use memory of the pool. */
bool ww_slices_have_streams(struct ww_pool *pool);

/* Whether there is a slot for one slice more. */
bool ww_slices_have_slot(struct ww_pool *pool);

/* A slot that no slice has any more. */
static inline void ww_pool_give_slot(struct ww_pool *pool, uint64_t number)
{
	pool->free_slots[pool->free_slot_count++] = ww_slice_slot(number);
	pool->has_come_back = true;
}

/* Whether one of the tokens, of a slice of the pool, may still be imported for the first time. */
bool ww_tokens_are_in_flight(const struct ww_pool *pool, const struct ww_slice_tokens *tokens);

/* How many imports deliveries expect yet. 0: none is in flight, or they are no deliveries. */
uint64_t ww_tokens_deliveries(const struct ww_pool *pool, const struct ww_slice_tokens *tokens);

/* Whether a stream of this process has yet to let go of it. Forgets those that have. */
bool ww_slice_is_streaming(struct ww_slice *slice);

/*
 * Whether a process still uses the slice by a number from before a revocation. Forgets the numbers
 * that no process uses: their slots were closed before this look, see slice_table.h.
 */
bool ww_slice_has_formers(struct ww_slice *slice);

/*
 * The look that decides whether the slice, which is not in flight, is free. Until then its numbers
 * stay, so that a process that uses it can hand it on.
 */
bool ww_slice_is_free(struct ww_slice *slice);

void ww_formers_free(struct ww_former_number *formers); /* the list; takes NULL */

/* Frees a slice that nothing refers to. */
void ww_slice_free(struct ww_slice *slice);

#endif
