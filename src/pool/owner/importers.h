/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importers.h - the processes that have imported slices, as the pool's owner sees them
 *
 * The functions are called under pool->lock.
 */
#ifndef WW_POOL_OWNER_IMPORTERS_H
#define WW_POOL_OWNER_IMPORTERS_H

#include "pool/owner/pool.h"

/* A process that has imported slices. */
struct ww_pool_holder {
	struct ww_group_member member;
	struct ww_marks *marks; /* owned; NULL: it is gone, and all that it imported is counted */
};

static inline struct ww_pool_holder *ww_pool_holder_of(struct ww_list *link)
{
	return ww_container(link, struct ww_pool_holder, member.link);
}

/* Whether every process is known that may mark a slice. */
bool ww_pool_knows_all(const struct ww_pool *pool);

/*
 * For ww_request_limit_all(): a time that has passed. So each answer is awaited for 100 ms, as with
 * every limit, and no longer.
 */
#define WW_POOL_BRIEFLY UINT64_C(1)

/*
 * Notes processes that have joined, and removes those that have ended. The lock is held meanwhile.
 * So if a broker does not answer, it is not asked again within a second, and from then on each
 * answer is awaited for a moment only, until it answers.
 * Return: WW_OK; WW_NOT_READY (it does not answer, or is not asked now; nothing recorded), as
 * ww_broker_stat(): then not every process is known.
 */
ww_status ww_pool_meet_holders(struct ww_pool *pool);
void ww_pool_forget_holders(struct ww_pool *pool); /* all of them */

/*
 * The broker shows a process that ended before the owner looked at it for a minute. Takes those
 * that have been looked at out of the broker.
 * Return: as ww_pool_meet_holders().
 */
ww_status ww_pool_remove_gone(struct ww_pool *pool);

/* Whether a process that may still use it marks the slice. */
bool ww_pool_is_marked(const struct ww_pool *pool, uint64_t number);

/* How often other processes have imported it. */
uint64_t ww_pool_taken(const struct ww_pool *pool, uint64_t number);

/* Fills @info for a holder. */
void ww_pool_describe_holder(const struct ww_pool *pool, const struct ww_pool_holder *holder,
	struct ww_pool_holder_info *info);

/* Return: the one that has most bytes of slices; NULL: none has any. */
const struct ww_pool_holder *ww_pool_find_largest_holder(const struct ww_pool *pool,
	uint64_t *out_bytes);

#endif
