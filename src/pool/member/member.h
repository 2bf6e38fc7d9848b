/* SPDX-License-Identifier: Apache-2.0 */
/*
 * member.h - a pool of another process: what this process has of it once it is a member
 *
 * Locks: join_lock is held while the broker is asked, for all members; members_lock for the list
 * and the users of each; member->lock for counts, marks and chunks, never across a call of broker
 * or driver but for the enqueuing of a release. Taken in this order, none twice.
 */
#ifndef WW_POOL_MEMBER_MEMBER_H
#define WW_POOL_MEMBER_MEMBER_H

#include "memory/memory.h"
#include "pool/slice_table.h"
#include "pool/slice_token.h"
#include "sync/timeline.h"

/* A chunk that is mapped here, for one device with one access. */
struct ww_member_chunk {
	struct ww_list link;
	struct ww_memory *memory; /* a reference */
	uint32_t index;
	uint32_t users; /* slices, and those about to be */
	uint64_t trims; /* of the table, when it was last wanted */
};

struct holding; /* in imported_slice.c */

/* What this process has of one slot, under member->lock. */
struct ww_member_slot {
	struct holding
		*holdings; /* that imports find; those of earlier slices may be on their way out */
	uint32_t count;    /* uses of the slice that are not over yet */
	uint32_t kept;     /* of these, without a mapping: as long, its tokens open it here */
};

struct ww_member {
	struct ww_list link; /* under members_lock, as is the next */
	uint32_t users;      /* slices, and calls that are at work */

	/* Constant. */
	uint8_t pool_id[WW_WIRE_ID_BYTES];
	uint8_t broker_id
		/* that granted it: what another broker says of the same id is another pool */
		[WW_WIRE_ID_BYTES];
	uint8_t home_uuid[WW_DEVICE_UUID_BYTES]; /* of its device, as the owner says */
	uint32_t owner_uid;
	uint32_t kind;
	struct ww_signal_map *page; /* the owner's; a reference */
	struct ww_slice_table table;
	bool has_owners_clock;
	struct ww_marks *marks; /* owned */
	struct ww_member_slot *slots;

	pthread_mutex_t lock;
	struct ww_pool_keys
		/* its broker is constant */
		keys;
	ww_timeline *
		/*
		 * own, on a page of its own: by it the broker tells the owner of this process's end
		 */
		life;
	struct ww_attachments pool;   /* the hold of the pool's object */
	struct ww_attachments holder; /* the hold of this process's own object inside it */
	struct ww_list chunks;
	struct ww_list lagging; /* holdings that were let go, and that a stream still uses */
	struct ww_marks *own;   /* never shown: cells for streams; NULL: none yet */
};

/*
 * Becomes a member of the pool that a token names, if it is not yet; the broker is asked unless the
 * token is as good as one that it has accepted before.
 * @broker:      as for ww_memory_import()
 * @out_member:  counted in its users
 * Return: WW_OK; WW_ERR_NOT_FOUND (the pool is gone); as ww_memory_import().
 */
ww_status ww_member_join(struct ww_broker *broker, const struct ww_token_content *token,
	struct ww_member **out_member);

/*
 * The same by a token of the pool itself. The broker is asked always, since such a token may be
 * counted.
 */
ww_status ww_member_join_pool(struct ww_broker *broker, const struct ww_token_content *token,
	struct ww_member **out_member);

/*
 * What the member has to make tokens with, to use without the lock; and what was learnt meanwhile,
 * instead of what is there.
 */
struct ww_pool_keys ww_member_keys(struct ww_member *member);
void ww_member_learn(struct ww_member *member, const struct ww_pool_keys *keys);

void ww_member_ref(struct ww_member *member);   /* one user more */
void ww_member_leave(struct ww_member *member); /* one less; NULL: none */

WW_DEFINE_CLEANUP(struct ww_member, ww_member_leave)
#define WW_AUTO_MEMBER WW_CLEANUP(ww_member_leave_p)

/*
 * Members that are not used, and whose owners have ended, are released; and chunks that owners may
 * have freed, if no slice of them is used.
 */
void ww_members_drop_unused(void);

/* Calls @visit for each, under members_lock. */
void ww_members_each(void (*visit)(struct ww_member *member, void *context), void *context);

/* Which chunk, and how it is to be mapped. */
struct ww_chunk_request {
	uint32_t index;
	uint32_t access;
	struct ww_device *device;
	/*
	 * What ww_member_hold_chunk() filled: the chunk is had by that hold, also when the pool has
	 * ended. NULL: by its name
	 */
	struct ww_attachments *held;
	uint64_t bytes; /* that it has, with a hold */
};

/*
 * @out_chunk:  mapped as @wanted says, counted in its users
 * Return: WW_OK; as ww_memory_get().
 */
ww_status ww_member_use_chunk(struct ww_member *member, const struct ww_chunk_request *wanted,
	struct ww_member_chunk **out_chunk);
/*
 * Maps the chunks of all slices that the pool has now, as long as the broker grants them: so
 * imports of their slices need not ask.
 */
void ww_member_map_chunks(struct ww_member *member, struct ww_device *device, uint32_t access);

/*
 * Holds a chunk, which need not be mapped. If it is, the broker is not asked.
 * @info:   of the token, that says how many bytes it has
 * @holds:  gets the hold
 * Return: WW_OK; WW_ERR_MISMATCH; as ww_memory_get().
 */
ww_status ww_member_hold_chunk(struct ww_member *member, uint32_t index, uint32_t access,
	const struct ww_token_info *info, struct ww_attachments *holds);

void ww_member_stop_using(struct ww_member *member, struct ww_member_chunk *chunk);

#endif
