/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliveries.h - slices of a pool that are in flight by deliveries (WW_EXPORT_DELIVERY)
 *
 * All tokens of a slice are one entry: which of them were imported is not known, only how many. Its
 * age is that of the last one.
 *
 * The functions are called under pool->lock.
 */
#ifndef WW_POOL_OWNER_DELIVERIES_H
#define WW_POOL_OWNER_DELIVERIES_H

#include "pool/owner/slice.h"

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
