/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliveries.h - slices of a pool that are in flight by deliveries (WW_EXPORT_DELIVERY)
 *
 * All deliveries of a slice are one entry: which of them were imported is not known, only how many.
 * Its age is that of the last one. They have a number that no other token has.
 *
 * The functions are called under pool->lock.
 */
#ifndef WW_POOL_OWNER_DELIVERIES_H
#define WW_POOL_OWNER_DELIVERIES_H

#include "client/broker_client.h"
#include "pool/owner/slice.h"

/*
 * Makes the file, unless there is one. If the broker speaks an older version of the protocol, there
 * is none, and what is in flight ends with the pool.
 * Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM.
 */
ww_status ww_pool_count_deliveries(struct ww_pool *pool, struct ww_broker *broker);
void ww_delivery_file_fini(struct ww_delivery_file *file); /* of a zeroed one too */

/* Writes down what is in flight of a slice by these tokens of it. */
void ww_slice_write_deliveries(const struct ww_slice *slice, struct ww_slice_tokens *tokens);

/* The slice loses its numbers, is free, or its deliveries are revoked: none is in flight. */
void ww_slice_end_deliveries(struct ww_slice *slice);

/*
 * Whether @uses more of a slice may be in flight. What is in flight is counted only when the
 * numbers of all that were sent reach a limit.
 * Return: WW_OK; WW_ERR_LIMIT (the message names the oldest one).
 */
ww_status ww_pool_check_deliveries(struct ww_pool *pool, const struct ww_slice *slice,
	uint32_t uses);

struct ww_slice_delivery {
	uint64_t number; /* of the slice */
	uint64_t bytes;
	uint64_t uses; /* imports that are expected yet */
	uint64_t age_ns;
};

/*
 * @at:  0, then as the call before left it
 * Return: false: there are no more.
 */
bool ww_pool_next_delivery(struct ww_pool *pool, uint32_t *at, struct ww_slice_delivery *out);

#endif
