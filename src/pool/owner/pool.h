/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - a pool as its owner's process has it
 *
 * What is free is known here alone (arena.h); what others may know is in the table (slice_table.h).
 * A slice has one of these states, and goes through them in this order, though it may skip all but
 * the first and the last:
 *
 *   USED      references are left in this process
 *   WAITING   none are, but a token of it is in flight, a stream of this process or another process
 *             still uses it
 *   free      its bytes are the arena's again, its slot may have another slice
 *
 * Those that wait stand in a list, and are looked at again when something is allocated. Nobody else
 * does it: there is no thread. A slice that waits can still be imported while a token of it is in
 * flight, or by a token of who imported it; here too: then it is used again.
 *
 * Locks: pool->lock is for everything in a pool, also across calls of the driver (new chunks) and
 * of the broker (new holders). pools_lock, inside nothing and nothing inside it, is for the list of
 * pools.
 */
#ifndef WW_POOL_OWNER_POOL_H
#define WW_POOL_OWNER_POOL_H

#include "base/cleanup.h"
#include <warpway/broker.h>

#include "share/sync_object.h"
#include "memory/view.h"
#include "pool/owner/arena.h"
#include "pool/token_keys.h"
#include "pool/slice_table.h"

struct ww_chunk {
	struct ww_list link; /* in pool->chunks */
	struct ww_memory *memory;
	uint32_t index;             /* the N of "@ID/chunk-N"; none is used twice */
	uint32_t slice_count;       /* used and waiting */
	struct ww_arena_block *all; /* when slice_count is 0: its one free block */
};

/* A stream that has yet to let go of a slice. */
struct ww_release {
	struct ww_release *next;
	struct ww_marks_cell cell; /* of pool->own */
};

/*
 * A number that a slice had until its tokens were revoked. Its slot is closed, and has another
 * slice when nobody marks it.
 */
struct ww_former_number {
	struct ww_former_number *next;
	uint64_t number;
};

struct ww_slice {
	struct ww_memory view; /* whole: the chunk's memory */
	struct ww_pool *pool;  /* a reference as long as it is used */
	struct ww_chunk *chunk;
	struct ww_arena_block *block;
	uint64_t number;
	bool is_used;
	bool is_shared; /* a token of it was made */
	struct ww_release *releases;
	struct ww_former_number *formers;
	struct ww_list parts; /* what tokens that came home named of it */
	struct ww_list link;  /* when it is not used: in pool->waiting, or in pool->spare */

	/* The escrow. */
	uint64_t until_ns; /* CLOCK_MONOTONIC */
	uint64_t expected; /* imports that all tokens together expect */
	uint64_t taken;    /* imports here, and by processes that are gone */
};

/* A process that has imported slices. */
struct ww_pool_holder {
	struct ww_list link;
	uint8_t object_id[WW_WIRE_ID_BYTES];
	uint32_t owner_uid;         /* by the broker's word */
	struct ww_signal_map *page; /* what the broker says of it, and its name; a reference */
	const struct ww_layout_signal_cell *cell;
	struct ww_marks *marks; /* owned; NULL: it is gone, and all that it imported is counted */
	struct ww_attachments attachments;
};

struct ww_pool {
	struct ww_ref ref;
	struct ww_list
		link; /* among all pools of this process, or the retired ones, under pools_lock */
	ww_device *device;  /* a reference; constant, as are the following up to table */
	uint32_t kind;      /* WW_MEMORY_... */
	uint64_t bytes_max; /* UINT64_MAX: none */
	uint64_t chunk_bytes;
	uint64_t unit_bytes; /* sizes of chunks are multiples of it */
	uint32_t slot_count;
	uint8_t id[WW_WIRE_ID_BYTES];
	struct ww_slice_table table;

	pthread_mutex_t lock; /* of all that follows */
	struct ww_arena arena;
	struct ww_list chunks;
	uint32_t chunk_count;
	uint32_t next_chunk;
	uint64_t reserved;
	struct ww_slice **slices; /* by slot; of used and waiting ones */
	uint64_t *generations;    /* by slot, of the last slice there */
	uint32_t *free_slots;     /* a stack */
	uint32_t free_slot_count;
	uint32_t slots_touched; /* those above never had a slice */
	uint32_t former_count;  /* of all slices */
	struct ww_list waiting;
	struct ww_list queue; /* allocations that wait for room */
	bool has_come_back;   /* a slice, since they were last served */
	uint32_t wakes;       /* a futex, see base/await.h: for them */
	struct ww_list spare; /* slices that are free, to be used anew */
	uint32_t used_count;
	uint32_t waiting_count;
	uint64_t used_bytes;
	uint64_t waiting_bytes;
	uint64_t peak_bytes;
	uint64_t allocations;
	struct ww_marks
		*own; /* what this process's streams still use; never shared; NULL: none yet */

	/* Since it is shared. */
	struct ww_pool_keys keys;
	struct ww_attachments attachments; /* its hold in the broker */
	ww_timeline *life;                 /* on a page of its own: the broker speaks there */
	uint32_t members_seen;
	uint64_t ask_again_ns; /* the broker did not answer, and is not asked before; 0: it did */
	/* the broker has lost it, so who came, and was not seen, is not known any more */
	bool is_cut_off;
	struct ww_list holders;
	uint32_t holder_count; /* that are not gone */
};

WW_DEFINE_CLEANUP(ww_pool, ww_pool_unref)
#define WW_AUTO_POOL WW_CLEANUP(ww_pool_unref_p)

/*
 * Return: the pool of this process with that id, a reference; NULL: it is another process's, or no
 * more.
 */
struct ww_pool *ww_pool_find(const uint8_t id[WW_WIRE_ID_BYTES]);

/* The slice that a memory is; NULL: it is none that was allocated here. */
struct ww_slice *ww_slice_of(struct ww_memory *memory);

/* --- pool.c: under pool->lock --- */

/*
 * A slice, of what is free by now or of a new chunk.
 * Return: WW_OK; WW_NOT_READY (no room, or no slot; nothing recorded); WW_ERR_LIMIT (there will
 *         never be room); as ww_pool_alloc().
 */
ww_status ww_pool_cut(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	ww_memory **out_memory);

/* Records why there is no room, and who has most. Return: WW_ERR_LIMIT. */
ww_status ww_pool_fail_full(struct ww_pool *pool, uint64_t bytes);

/* --- queue.c --- */

/* Not under pool->lock. @timeout_ns: 0: at once. Return: as ww_pool_alloc(). */
ww_status ww_pool_cut_in_time(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	uint64_t timeout_ns, ww_memory **out_memory);

/* --- slice.c: under pool->lock --- */

/* A slice that nobody uses any more in this process: gives its bytes back, or has it wait. */
void ww_slice_retire(struct ww_slice *slice);

/*
 * Looks again at slices that wait: at so many.
 * Return: whether any is free now.
 */
bool ww_slices_sweep(struct ww_pool *pool, uint32_t count);

/* Whether a stream of this process may still use memory of the pool. */
bool ww_slices_have_streams(struct ww_pool *pool);

/* Whether a token of it may still be imported for the first time. */
bool ww_slice_is_in_flight(const struct ww_slice *slice);

/* Whether there is a slot for one slice more. */
bool ww_slices_have_slot(struct ww_pool *pool);

/*
 * There must be a slot. Return: a slice with one reference, whose pool and chunk count it; NULL,
 * recorded: out of memory.
 */
struct ww_slice *ww_slice_open(struct ww_pool *pool, struct ww_arena_block *block);

/*
 * Makes a memory of a slice that is used or in flight: itself, with one reference more, or a part
 * of it.
 * Return: WW_OK; WW_ERR_NOT_FOUND (it was let go of); WW_ERR_UNSUPPORTED (a slow route);
 * WW_ERR_NO_MEMORY.
 */
ww_status ww_slice_take(struct ww_pool *pool, const struct ww_token_info *info,
	const struct ww_import_options *options, struct ww_memory **out_memory);

/*
 * Not under pool->lock.
 * @memory:  one for which ww_slice_of() finds a slice; a reference, consumed on success
 * Return: WW_OK; as ww_pool_release().
 */
ww_status ww_slice_stream_release(struct ww_memory *memory, struct ww_stream *stream);

/*
 * Gives a slice that is used another number, so that no token made so far opens it. Not under
 * pool->lock.
 * @broker:  NULL: the pool's
 * Return: as ww_memory_revoke().
 */
ww_status ww_slice_revoke(struct ww_slice *slice, const struct ww_broker *broker);

/* Frees a slice that nothing refers to. */
void ww_slice_free(struct ww_slice *slice);

/* Records that the slice of a token is not there any more. Return: WW_ERR_NOT_FOUND. */
ww_status ww_fail_slice_gone(void);

/* --- importers.c: under pool->lock --- */

/* Whether everybody is known who may mark a slice. */
bool ww_pool_knows_all(const struct ww_pool *pool);

/*
 * For ww_request_limit_all(): it has passed, so that each answer is awaited for 100 ms, as by any
 * limit, and no longer.
 */
#define WW_POOL_BRIEFLY UINT64_C(1)

/*
 * Gets to know the processes that have come, and forgets those that are gone. The lock is held
 * meanwhile, so a broker that does not answer is not asked again within a second, and then only for
 * a moment, until it answers.
 * Return: WW_OK; WW_NOT_READY (it is not asked now; nothing recorded), as ww_broker_stat(): then
 * not everybody is known.
 */
ww_status ww_pool_meet_holders(struct ww_pool *pool);
void ww_pool_forget_holders(struct ww_pool *pool); /* all of them */

/* Whether a process that may still use it marks the slice. */
bool ww_pool_is_marked(const struct ww_pool *pool, uint64_t number);

/* How often other processes have imported it. */
uint64_t ww_pool_taken(const struct ww_pool *pool, uint64_t number);

/* Fills @info for a holder. */
void ww_pool_describe_holder(const struct ww_pool *pool, const struct ww_pool_holder *holder,
	struct ww_pool_holder_info *info);

/* Return: whether any holder has a slice; @out_info: the one that has most bytes. */
bool ww_pool_find_largest_holder(const struct ww_pool *pool, struct ww_pool_holder_info *out_info);

/* --- put_pool.c --- */

#define WW_POOL_NAME_BYTES 64

/* A name inside the pool's object: "@ID/chunk-5", "@ID/holder-0123456789abcdef". */
void ww_pool_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	const char *what, const char *which);
void ww_pool_chunk_name(char out[WW_POOL_NAME_BYTES], const uint8_t id[WW_WIRE_ID_BYTES],
	uint32_t index);

/*
 * Brokers that do not say who came are of no use here.
 * Return: WW_OK; WW_ERR_VERSION; as ww_broker_open().
 */
ww_status ww_pool_require_broker(struct ww_broker *broker);

/*
 * What a token of a slice says but the pool's own part: @info is filled.
 * @memory:  the view that is exported
 * @number:  of the slice
 */
void ww_pool_token_info(struct ww_token_info *info, const struct ww_memory *memory, uint64_t number,
	const struct ww_export_params *ours);

/*
 * The token of an own slice, or of a span of it.
 * @ours:  read and checked against @memory, which is the slice or a part of it
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_slice_export(struct ww_slice *slice, struct ww_memory *memory,
	struct ww_broker *broker, const struct ww_export_params *ours, struct ww_token *out_token);

#endif
