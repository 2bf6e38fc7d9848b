/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ref.h - a count of references
 *
 * A table that points at counted objects without owning them takes its references with
 * ww_ref_try_get(): an object whose last reference was released is being destroyed and must get no
 * new reference.
 *
 * An object that was made before a fork() is INHERITED in the child (process.h). There it is never
 * destroyed, so its references are not counted.
 */
#ifndef WW_BASE_REF_H
#define WW_BASE_REF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/process.h"

struct ww_ref {
	_Atomic uint32_t count;
	uint32_t epoch; /* of the process that made the object */
};

static inline bool ww_ref_is_inherited(const struct ww_ref *ref)
{
	return ref->epoch != atomic_load_explicit(&ww_process_epoch, memory_order_relaxed);
}

/*
 * For calls that cannot use an inherited object.
 * @what:  for the message, "a timeline"
 * Return: WW_OK; WW_ERR_FORKED.
 */
static inline ww_status ww_ref_check(const struct ww_ref *ref, const char *what)
{
	if (!ww_ref_is_inherited(ref))
		return WW_OK;
	return ww_fail(WW_ERR_FORKED,
		"%s of the parent process cannot be used in a child made by fork(): open or make another one "
		"here, or have its token passed to this process (in Python, by a Queue or Pipe)",
		what);
}

static inline void ww_ref_init(struct ww_ref *ref)
{
	atomic_init(&ref->count, 1);
	ref->epoch = atomic_load_explicit(&ww_process_epoch, memory_order_relaxed);
}

static inline void ww_ref_get(struct ww_ref *ref)
{
	uint32_t before;

	if (ww_ref_is_inherited(ref))
		return;
	/* Relaxed: the caller holds a reference already. */
	before = atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
	ww_assert(before > 0 && before < UINT32_MAX);
}

static inline bool ww_ref_try_get(struct ww_ref *ref)
{
	uint32_t count = atomic_load_explicit(&ref->count, memory_order_relaxed);

	if (ww_ref_is_inherited(ref))
		return true;
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
	uint32_t before;

	if (ww_ref_is_inherited(ref))
		return false;
	/*
	 * Release: our writes come before the destruction; acquire: the thread that destroys the
	 * object sees the stores of all others.
	 */
	before = atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel);
	ww_assert(before > 0);
	return before == 1;
}

#endif
