/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref.h - a count of references
 *
 * A table that points at counted objects without owning them takes its references with
 * ww_ref_try_get(): an object whose last reference is gone is on its way out and must not be
 * revived.
 */
#ifndef WW_BASE_REF_H
#define WW_BASE_REF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct ww_ref {
	_Atomic uint32_t count;
};

static inline void ww_ref_init(struct ww_ref *ref)
{
	atomic_init(&ref->count, 1);
}

static inline void ww_ref_get(struct ww_ref *ref)
{
	/* Relaxed: whoever calls holds a reference already. */
	uint32_t before = atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);

	ww_assert(before > 0 && before < UINT32_MAX);
}

static inline bool ww_ref_try_get(struct ww_ref *ref)
{
	uint32_t count = atomic_load_explicit(&ref->count, memory_order_relaxed);

	while (count > 0) {
		if (atomic_compare_exchange_weak_explicit(&ref->count, &count, count + 1,
			    memory_order_acquire, memory_order_relaxed))
			return true;
	}
	return false;
}

/* Return: whether that was the last one, so that the caller must now destroy the object. */
static inline bool ww_ref_put(struct ww_ref *ref)
{
	/*
	 * Release: our writes come before the destruction; acquire: the destroyer sees everybody's.
	 */
	uint32_t before = atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel);

	ww_assert(before > 0);
	return before == 1;
}

#endif
