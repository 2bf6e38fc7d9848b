/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - a pool as its owner's process has it
 *
 * Only the owner's process knows what is free (arena.h). What others may know is in the table
 * (slice_table.h).
 *
 * Locks: pool->lock guards everything in a pool. It is held across calls of the driver (new chunks)
 * and of the broker (new holders). pools_lock guards the list of pools; it is taken inside no other
 * lock, and no lock is taken inside it.
 */
#ifndef WW_POOL_OWNER_POOL_H
#define WW_POOL_OWNER_POOL_H

#include <warpway/timeline.h>

#include "group/group.h"
#include "memory/memory.h"
#include "pool/owner/arena.h"
#include "pool/slice_table.h"
#include "pool/slice_token.h"

struct ww_slice;

/* What the broker reads of deliveries when this process has ended, see deliveries.h. */
struct ww_delivery_file {
	struct ww_mapping *mapping; /* a reference; NULL: none */
	struct ww_layout_delivery_counts *header;
	struct ww_layout_delivery_count *items; /* by slot */
};

struct ww_chunk {
	struct ww_list link; /* in pool->chunks */
	struct ww_memory *memory;
	uint32_t index;             /* the N of "@ID/chunk-N"; none is used twice */
	uint32_t slice_count;       /* used and waiting */
	struct ww_arena_block *all; /* when slice_count is 0: its one free block */
};

struct ww_member;

struct ww_pool {
	struct ww_ref ref;
	/* Of these, the program's own; others are those of slices and of calls at work. */
	_Atomic uint32_t user_refs;
	/* Of an imported one: counted in its users. Such a pool has nothing of what follows. */
	struct ww_member *member;
	struct ww_list link;         /* among all pools of this process, under pools_lock */
	struct ww_deferred deferred; /* of one without references */
	ww_device *device;           /* a reference; constant, as are the following up to table */
	uint32_t kind;               /* WW_MEMORY_... */
	uint64_t bytes_max;          /* UINT64_MAX: none */
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
	/* Of the counter of names of slices that were lost, as of the last look. */
	uint32_t names_lost;
	bool has_names;      /* a slice may have one */
	bool must_ask_names; /* whatever the counter says */
	/* the broker has lost it, so who came, and was not seen, is not known any more */
	bool is_cut_off;
	/* Sent, and not known to be received; deliveries.c counts anew at a limit. */
	uint64_t delivery_count;
	uint64_t delivery_bytes;
	struct ww_delivery_file sent;
	struct ww_group holders; /* struct ww_pool_holder */
	uint32_t holder_count;   /* that are not gone */
};

/*
 * Rounded up to a multiple of @unit.
 * Return: WW_OK; WW_ERR_OVERFLOW.
 */
ww_status ww_pool_round_up(uint64_t bytes, uint64_t unit, uint64_t *out_bytes);

/* Releases a reference that is not the program's own. Takes NULL. */
void ww_pool_drop(struct ww_pool *pool);

WW_DEFINE_CLEANUP(struct ww_pool, ww_pool_drop)
#define WW_AUTO_POOL WW_CLEANUP(ww_pool_drop_p)

/*
 * Return: the pool of this process with that id, a reference; NULL: it is another process's, or no
 * more.
 */
struct ww_pool *ww_pool_find(const uint8_t id[WW_WIRE_ID_BYTES]);

/*
 * Walks the pools of this process. @before: a reference, which is released; NULL: begin with the
 * first one. A pool that is made meanwhile may be left out. Return: a reference; NULL: there are no
 * more.
 */
struct ww_pool *ww_pool_next(struct ww_pool *before);

/* What only the owner of a pool can do. Return: WW_OK; WW_ERR_ACCESS (imported); WW_ERR_FORKED. */
ww_status ww_pool_check_own(const struct ww_pool *pool, const char *what);

/* Whether slices can be had for this device. Return: WW_OK; WW_ERR_UNSUPPORTED. */
ww_status ww_pool_check_device(const struct ww_pool *pool, const struct ww_device *device);

/* A used block of a chunk is free again; the chunk does not count its slice any more. */
void ww_pool_give_block(struct ww_pool *pool, struct ww_arena_block *block);

/* Gives back a chunk without slices that count. */
void ww_pool_drop_chunk(struct ww_pool *pool, struct ww_chunk *chunk);

/* Other processes are to unmap the chunks of which they use no slice. */
void ww_pool_tell_trim(struct ww_pool *pool);

/*
 * cut.c: a slice, of what is free by now or of a new chunk. Under pool->lock.
 * Return: WW_OK; WW_NOT_READY (no room, or no slot; nothing recorded); WW_ERR_LIMIT (there will
 *         never be room); as ww_pool_alloc().
 */
ww_status ww_pool_cut(struct ww_pool *pool, uint64_t bytes, uint64_t alignment,
	ww_memory **out_memory);

/*
 * cut.c: records why there is no room, and which process has most. Under pool->lock. Return:
 * WW_ERR_LIMIT.
 */
ww_status ww_pool_fail_full(struct ww_pool *pool, uint64_t bytes);

#endif
