/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - pools and slices for the cases about them; what fails ends the case
 */
#ifndef WW_TESTS_CONFORMANCE_POOL_H
#define WW_TESTS_CONFORMANCE_POOL_H

#include "conformance/conformance.h"

/* @kind: 0: WW_MEMORY_VMM */
ww_pool *pool_make(ww_device *device, uint32_t kind, uint64_t bytes_max, uint32_t slices_max);
struct ww_pool_info pool_info(ww_pool *pool);
ww_memory *slice_make(ww_pool *pool, uint64_t bytes);
struct ww_token slice_token(ww_memory *slice, const struct ww_export_params *params);

#endif
