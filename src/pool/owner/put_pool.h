/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_pool.h - a pool goes into a broker
 */
#ifndef WW_POOL_OWNER_PUT_POOL_H
#define WW_POOL_OWNER_PUT_POOL_H

#include "pool/owner/pool.h"

/*
 * Puts the pool and one chunk, if they are not there yet. Under pool->lock.
 * Return: WW_OK; as ww_memory_export().
 */
ww_status ww_pool_share(struct ww_pool *pool, const struct ww_chunk *chunk,
	struct ww_broker *broker);

/* The same with all chunks that there are. */
ww_status ww_pool_share_all(struct ww_pool *pool, struct ww_broker *broker);

#endif
