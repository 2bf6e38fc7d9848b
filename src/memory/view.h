/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - a memory that is a part of another one, its whole
 *
 * A whole lists its views. So an address leads to the smallest view that has it, and two imports of
 * one span get one view. The list holds no references: a view is taken out when its last reference
 * is gone, and an import that comes meanwhile makes another view.
 *
 * In a child made by fork(), a memory of the parent lists nothing more: its lock may be held for
 * ever.
 *
 * ww_memory.views_lock guards the list. It may be taken inside any other lock, and none is taken
 * inside it.
 */
#ifndef WW_MEMORY_VIEW_H
#define WW_MEMORY_VIEW_H

#include "memory/memory.h"

/*
 * A view of @bytes bytes from @offset on, with one reference. It is not listed yet.
 * @whole:  a reference, taken over; not a view
 */
void ww_memory_view_init(struct ww_memory *view, struct ww_memory *whole, uint64_t offset,
	uint64_t bytes, uint32_t access, const struct ww_view_class *class);

/* From now on it can be found. */
void ww_memory_view_enter(struct ww_memory *view);

/*
 * From now on it cannot be found; what lasts as long as it has ended. Before its whole is given
 * back; not twice.
 */
void ww_memory_view_leave(struct ww_memory *view);

/* The same, if it has one reference. Return: whether it has. */
bool ww_memory_view_leave_last(struct ww_memory *view);

/* Whether a whole has views that can be found. */
bool ww_memory_has_views(struct ww_memory *whole);

/*
 * The smallest view that has a byte of the whole, and is smaller than @limit bytes.
 * Return: a reference; NULL: there is none.
 */
struct ww_memory *ww_memory_find_part(struct ww_memory *whole, uint64_t offset, uint64_t limit);

/*
 * The memory that is exactly a span of a whole, with this access: the whole itself, a view that was
 * imported or wrapped before, or a new view. For each span and access there is one at a time that
 * imports get.
 * @memory:  a reference to a whole, replaced; on failure it is given back, and NULL
 * @bytes:   0: all of it; else the span lies in the whole
 * @access:  not more than that of the whole
 * Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_memory_span(struct ww_memory **memory, uint64_t offset, uint64_t bytes,
	uint32_t access);

#endif
