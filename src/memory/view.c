/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - memories that are parts of others, see view.h
 */
#include "memory/view.h"

#include <stdlib.h>

#include "base/error.h"

void ww_memory_view_init(struct ww_memory *view, struct ww_memory *whole, uint64_t offset,
	uint64_t bytes, uint32_t access, const struct ww_view_class *class)
{
	ww_ref_init(&view->ref);
	view->mapping = whole->mapping;
	view->offset = offset;
	view->bytes = bytes;
	view->access = access;
	view->whole = whole;
	view->class = class;
	view->attachments = (struct ww_attachments){NULL};
	view->is_lent = false;
	ww_list_init(&view->link);
}

void ww_memory_view_enter(struct ww_memory *view)
{
	if (ww_ref_is_inherited(&view->whole->ref))
		return;
	pthread_mutex_lock(&view->whole->views_lock);
	ww_list_append(&view->whole->views, &view->link);
	pthread_mutex_unlock(&view->whole->views_lock);
}

void ww_memory_view_leave(struct ww_memory *view)
{
	ww_attachments_fini(&view->attachments);
	if (ww_ref_is_inherited(&view->whole->ref))
		return;
	pthread_mutex_lock(&view->whole->views_lock);
	ww_list_remove(&view->link);
	pthread_mutex_unlock(&view->whole->views_lock);
}

bool ww_memory_view_leave_last(struct ww_memory *view)
{
	bool is_last;

	pthread_mutex_lock(&view->whole->views_lock);
	is_last = atomic_load_explicit(&view->ref.count, memory_order_acquire) == 1;
	if (is_last)
		ww_list_remove(&view->link);
	pthread_mutex_unlock(&view->whole->views_lock);
	return is_last;
}

bool ww_memory_has_views(struct ww_memory *whole)
{
	bool has_views;

	pthread_mutex_lock(&whole->views_lock);
	has_views = !ww_list_is_empty(&whole->views);
	pthread_mutex_unlock(&whole->views_lock);
	return has_views;
}

/* Under views_lock. Return: one that has references; NULL: there is none. */
static struct ww_memory *view_smallest(const struct ww_memory *whole, uint64_t offset,
	uint64_t limit)
{
	struct ww_memory *smallest = NULL;

	ww_list_for_each (link, &whole->views) {
		struct ww_memory *view = ww_container(link, struct ww_memory, link);

		if (offset - view->offset < view->bytes && view->bytes < limit &&
			atomic_load_explicit(&view->ref.count, memory_order_relaxed) > 0) {
			smallest = view;
			limit = view->bytes;
		}
	}
	return smallest;
}

struct ww_memory *ww_memory_find_part(struct ww_memory *whole, uint64_t offset, uint64_t limit)
{
	struct ww_memory *view;

	if (ww_ref_is_inherited(&whole->ref))
		return NULL;
	pthread_mutex_lock(&whole->views_lock);
	/* A view that has lost its last reference meanwhile does not get another one. */
	do
		view = view_smallest(whole, offset, limit);
	while (view && !ww_ref_try_get(&view->ref));
	pthread_mutex_unlock(&whole->views_lock);
	return view;
}

/* --- spans --- */

static void release_span(struct ww_memory *view)
{
	ww_memory_view_leave(view);
	ww_memory_unref(view->whole);
	free(view);
}

static const struct ww_view_class span_class = {
	.release = release_span,
};

/*
 * Under views_lock. A slice of a pool is left out: it is imported as a slice only.
 * Return: the view of exactly these bytes, a reference; NULL: there is none.
 */
static struct ww_memory *find_span(const struct ww_memory *whole, uint64_t offset, uint64_t bytes,
	uint32_t access)
{
	ww_list_for_each (link, &whole->views) {
		struct ww_memory *view = ww_container(link, struct ww_memory, link);

		if (view->offset == offset && view->bytes == bytes &&
			ww_memory_access(view) == access &&
			!(view->class->flags & WW_MEMORY_IS_SLICE) && !view->class->is_private &&
			ww_ref_try_get(&view->ref))
			return view;
	}
	return NULL;
}

/* Not listed. Return: NULL: out of memory. */
static struct ww_memory *span_new(struct ww_memory *whole, uint64_t offset, uint64_t bytes,
	uint32_t access)
{
	struct ww_memory *view = calloc(1, sizeof(*view));

	if (view)
		ww_memory_view_init(view, ww_memory_ref(whole), offset, bytes, access, &span_class);
	return view;
}

ww_status ww_memory_span(struct ww_memory **memory, uint64_t offset, uint64_t bytes,
	uint32_t access)
{
	struct ww_memory *whole = *memory;
	struct ww_memory *view;

	if (bytes == 0)
		bytes = whole->bytes;
	if (bytes == whole->bytes && access == ww_memory_access(whole) &&
		!whole->mapping->is_wrapped)
		return WW_OK;
	if (ww_ref_is_inherited(&whole->ref)) {
		view = span_new(whole, offset, bytes, access);
	} else {
		pthread_mutex_lock(&whole->views_lock);
		view = find_span(whole, offset, bytes, access);
		if (!view && (view = span_new(whole, offset, bytes, access)))
			ww_list_append(&whole->views, &view->link);
		pthread_mutex_unlock(&whole->views_lock);
	}
	ww_memory_unref(whole); /* a view has its own */
	*memory = view;
	if (!view)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a part of a memory: out of memory");
	return WW_OK;
}
