/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrap.c - memory that was allocated by other means
 *
 * What the caller has is a span of some allocation. The allocation becomes a whole, once, however
 * often and in whatever place it is wrapped, and what the caller gets is a view of it. It is found
 * again by its address and the driver's number for it: an allocation that was freed and another one
 * made at its address are two. A pointer into memory of this library needs no such thing: it is a
 * view of that memory.
 *
 * When a part ends, its names in brokers are removed, and its maker is told
 * (ww_wrap_params.release). If others of this process hold the whole by an import, they can still
 * reach its bytes. Then the part waits in the wrapping, at the latest until the whole has ended and
 * its page is withdrawn.
 *
 * The lock is held while a whole is made, so that two threads make one. A whole takes itself out
 * when it ends.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "memory/import_cache.h"
#include "memory/view.h"

#define PARAMS_V1_BYTES sizeof(struct ww_wrap_params)
#define WRAP_FLAGS      (WW_WRAP_READ | WW_WRAP_PRIVATE)

/* By which a wrapped allocation is found again; it ends with the whole. */
struct wrapping {
	struct ww_attachment attachment;
	struct ww_map_node node; /* by address, in wrappings */
	struct ww_list link;     /* in all_wrappings */
	struct ww_memory *whole;
	const struct ww_device *device;
	struct ww_foreign found;

	/* Under lock. */
	bool is_stale;       /* another allocation was seen in its place */
	uint64_t part_count; /* wrapped, and not ended */
	struct part *ended;  /* whose makers are still to be told */
	struct part *lent;   /* the same, but not before the end of the whole (ww_memory.is_lent) */
};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_map wrappings WW_PER_PROCESS;                                    /* under lock */
static struct ww_list all_wrappings WW_PER_PROCESS = WW_LIST_INIT(all_wrappings); /* under lock */

struct part {
	struct ww_memory view;
	void (*release)(void *context); /* NULL: the maker is not told */
	void *context;
	struct part *next; /* of those that have ended */
};

static void tell(struct part *ended)
{
	while (ended) {
		struct part *part = ended;

		ended = part->next;
		if (part->release)
			part->release(part->context);
		free(part);
	}
}

/* Return: NULL: it is memory of this library. */
static struct wrapping *find_wrapping(struct ww_memory *whole)
{
	struct ww_attachment *attachment = ww_attachments_find(&whole->attachments, &wrappings);

	return attachment ? ww_container(attachment, struct wrapping, attachment) : NULL;
}

static void release_wrapped(struct ww_memory *view)
{
	struct part *part = ww_container(view, struct part, view);
	struct ww_memory *whole = view->whole;
	struct wrapping *wrapping = find_wrapping(whole);

	ww_memory_view_leave(view);
	if (wrapping) {
		struct part **list = part->view.is_lent ? &wrapping->lent : &wrapping->ended;
		struct part *ended;

		/* The last part is told at the end of the whole, which may come at once. */
		pthread_mutex_lock(&lock);
		part->next = *list;
		*list = part;
		ended = wrapping->ended;
		if (wrapping->part_count == 1 || wrapping->whole->is_lent ||
			atomic_load(&wrapping->whole->ref.count) > wrapping->part_count)
			ended = NULL;
		else
			wrapping->ended = NULL;
		wrapping->part_count--;
		pthread_mutex_unlock(&lock);
		part = ended;
	}
	ww_memory_unref(whole);
	tell(part);
}

static const struct ww_view_class wrapped_class = {
	.flags = WW_MEMORY_IS_WRAPPED,
	.release = release_wrapped,
};

static ww_status refuse_export(struct ww_memory *view, struct ww_broker *broker,
	const struct ww_export_params *params, struct ww_token *out_token)
{
	(void)view;
	(void)broker;
	(void)params;
	(void)out_token;
	return ww_fail(WW_ERR_UNSUPPORTED,
		"cannot export this memory: it was wrapped for this process alone");
}

static const struct ww_view_class private_class = {
	.flags = WW_MEMORY_IS_WRAPPED,
	.is_private = true,
	.release = release_wrapped,
	.export = refuse_export,
};

/* --- wholes --- */

static uint64_t hash_of(const struct ww_foreign *found)
{
	return (uintptr_t)found->base * UINT64_C(0x9e3779b97f4a7c15);
}

static void detach(struct ww_attachment *attachment)
{
	struct wrapping *wrapping = ww_container(attachment, struct wrapping, attachment);

	pthread_mutex_lock(&lock);
	ww_map_remove(&wrappings, &wrapping->node);
	ww_list_remove(&wrapping->link);
	if (wrappings.count == 0)
		ww_map_fini(&wrappings);
	pthread_mutex_unlock(&lock);
	tell(wrapping->ended);
	tell(wrapping->lent);
	free(wrapping);
}

/* Under the lock. */
static struct ww_memory *find_whole(const struct ww_device *device, const struct ww_foreign *found)
{
	struct ww_map_node *node = ww_map_first(&wrappings, hash_of(found));

	for (; node; node = ww_map_next(node)) {
		struct wrapping *wrapping = ww_container(node, struct wrapping, node);

		if (wrapping->device == device && wrapping->found.base == found->base &&
			wrapping->found.bytes == found->bytes &&
			wrapping->found.backing == found->backing &&
			wrapping->found.buffer_id == found->buffer_id &&
			ww_ref_try_get(&wrapping->whole->ref))
			return wrapping->whole;
	}
	return NULL;
}

/*
 * Under the lock. Return: a reference to one that was freed too early, as its place shows; NULL:
 * there is none (more).
 */
static struct ww_memory *take_stale(const struct ww_device *device, const struct ww_foreign *found)
{
	struct ww_map_node *node = ww_map_first(&wrappings, hash_of(found));

	for (; node; node = ww_map_next(node)) {
		struct wrapping *wrapping = ww_container(node, struct wrapping, node);

		if (wrapping->device != device || wrapping->found.base != found->base ||
			wrapping->found.buffer_id == found->buffer_id || wrapping->is_stale)
			continue;
		wrapping->is_stale = true;
		if (ww_ref_try_get(&wrapping->whole->ref))
			return wrapping->whole;
	}
	return NULL;
}

/*
 * Under the lock.
 * @out_part:  a reference; NULL: there is none, or the allocation is not there any more, and
 *             another one may have its place
 */
static ww_status wrapping_find_part(const struct wrapping *wrapping, uint64_t offset,
	struct ww_memory **out_part)
{
	struct ww_memory *whole = wrapping->whole;
	ww_status status;

	/* A view keeps the whole, at least until it gets the lock that is held here. */
	if (!ww_memory_has_views(whole))
		return WW_OK;
	status = ww_mapping_check(whole->mapping);
	if (status == WW_OK)
		*out_part = ww_memory_find_part(whole, offset, UINT64_MAX);
	return status == WW_ERR_STATE ? WW_OK : status;
}

ww_status ww_memory_find_wrapped(const void *pointer, struct ww_memory **out_memory,
	uint64_t *out_offset)
{
	ww_status status = WW_OK;
	struct ww_error record;

	*out_memory = NULL;
	ww_error_save(&record);
	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &all_wrappings) {
		const struct wrapping *wrapping = ww_container(link, struct wrapping, link);

		*out_offset = (uintptr_t)pointer - (uintptr_t)wrapping->found.base;
		if (*out_offset < wrapping->found.bytes)
			status = wrapping_find_part(wrapping, *out_offset, out_memory);
		if (status < 0 || *out_memory)
			break;
	}
	pthread_mutex_unlock(&lock);
	if (status == WW_OK)
		ww_error_restore(&record);
	return status;
}

/* Under the lock. Takes over @wrapping on success. */
static ww_status enter_whole(struct ww_device *device, struct wrapping *wrapping)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	ww_status status;

	ww_try(ww_mapping_wrap(device, &wrapping->found, &mapping));
	ww_try(ww_map_insert(&wrappings, &wrapping->node, hash_of(&wrapping->found)));
	status = ww_memory_name(mapping, &wrapping->whole);
	if (status < 0) {
		ww_map_remove(&wrappings, &wrapping->node);
		if (wrappings.count == 0)
			ww_map_fini(&wrappings);
		return status;
	}
	(void)ww_steal(mapping);
	wrapping->attachment.owner = &wrappings;
	wrapping->attachment.detach = detach;
	ww_attachments_add(&wrapping->whole->attachments, &wrapping->attachment);
	ww_list_append(&all_wrappings, &wrapping->link);
	return WW_OK;
}

static ww_status wrap_foreign(struct ww_device *device, void *pointer, uint64_t bytes,
	struct ww_memory **out_whole)
{
	struct ww_foreign found;
	ww_status status = WW_OK;
	struct ww_memory *stale;

	if (!(device->capabilities & WW_CAP_FOREIGN))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot wrap %p: %s shares only memory of this library, not that of malloc() or "
			"others; make it with ww_memory_create(), or copy it: ww_memory_copy_in()",
			pointer, device->selector);
	ww_try(device->backend->foreign_find(device, pointer, bytes, &found));
	/*
	 * If memory was freed, and an allocation that begins at the same place has a handle too, a
	 * driver opens the new allocation by the former handle. A handle that was given away must
	 * not lead to wrong bytes.
	 */
	do {
		pthread_mutex_lock(&lock);
		stale = take_stale(device, &found);
		pthread_mutex_unlock(&lock);
		if (stale)
			ww_mapping_withdraw(stale->mapping);
		ww_memory_unref(stale);
	} while (stale);
	pthread_mutex_lock(&lock);
	*out_whole = find_whole(device, &found);
	if (!*out_whole) {
		struct wrapping *wrapping = calloc(1, sizeof(*wrapping));

		if (!wrapping) {
			status = ww_fail(WW_ERR_NO_MEMORY, "cannot wrap memory: out of memory");
		} else {
			wrapping->device = device;
			wrapping->found = found;
			status = enter_whole(device, wrapping);
			if (status < 0)
				free(wrapping);
			else
				*out_whole = wrapping->whole;
		}
	}
	pthread_mutex_unlock(&lock);
	return status;
}

/* @out_whole: NULL: @pointer is not in memory of this library */
static ww_status find_own(struct ww_device *device, void *pointer, uint64_t bytes,
	struct ww_memory **out_whole)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;

	*out_whole = NULL;
	ww_try(ww_mapping_find(pointer, bytes ? bytes : 1, WW_ACCESS_READ, &mapping));
	if (!mapping)
		return WW_OK;
	if (mapping->device != device)
		return ww_fail(WW_ERR_INVALID,
			"cannot wrap %p for %s: it is memory of %s; open that device for it",
			pointer, device->selector, mapping->device->selector);
	*out_whole = ww_cache_find_owner(mapping);
	if (!*out_whole)
		return ww_fail(WW_ERR_INVALID,
			"cannot wrap %p: it is a page that this library keeps for itself", pointer);
	if ((*out_whole)->is_chunk) {
		*out_whole = ww_memory_unref(*out_whole);
		return ww_fail(WW_ERR_UNSUPPORTED,
			"cannot wrap %p: it lies in a slice of a pool, which others could not keep; export "
			"the slice itself",
			pointer);
	}
	return WW_OK;
}

ww_status ww_memory_wrap(ww_device *device, void *pointer, uint64_t bytes,
	const struct ww_wrap_params *params, ww_memory **out_memory)
{
	struct ww_memory *whole = NULL;
	struct ww_wrap_params ours;
	struct wrapping *wrapping;
	struct part *part;
	uint64_t offset;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && pointer && out_memory,
		"ww_memory_wrap: device, pointer or out_memory is NULL");
	memset(&ours, 0, sizeof(ours));
	if (params) {
		ww_try(ww_params_read(&ours, sizeof(ours), params, PARAMS_V1_BYTES,
			"ww_wrap_params"));
		if (ours.flags & ~WRAP_FLAGS || ours.reserved)
			return ww_fail(WW_ERR_INVALID, "unknown flags 0x%" PRIx64 " for a wrap",
				ours.reserved ? ours.reserved : ours.flags);
	}
	ww_try(find_own(device, pointer, bytes, &whole));
	if (!whole)
		ww_try(wrap_foreign(device, pointer, bytes, &whole));
	part = calloc(1, sizeof(*part));
	if (!part) {
		ww_memory_unref(whole);
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a part of a memory: out of memory");
	}
	offset = ww_mapping_offset(whole->mapping, pointer);
	ww_memory_view_init(&part->view, whole, offset, bytes ? bytes : whole->bytes - offset,
		ours.flags & WW_WRAP_READ ? WW_ACCESS_READ : ww_memory_access(whole),
		ours.flags & WW_WRAP_PRIVATE ? &private_class : &wrapped_class);
	part->release = ours.release;
	part->context = ours.context;
	wrapping = find_wrapping(whole);
	if (wrapping) {
		pthread_mutex_lock(&lock);
		wrapping->part_count++;
		pthread_mutex_unlock(&lock);
	}
	ww_memory_view_enter(&part->view);
	*out_memory = &part->view;
	return WW_OK;
}

ww_status ww_memory_copy_in(ww_stream *stream, const void *source,
	const struct ww_memory_params *params, ww_memory **out_memory)
{
	struct ww_memory *memory = NULL;
	ww_status status;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(stream && source && params && out_memory,
		"ww_memory_copy_in: stream, source, params or out_memory is NULL");
	ww_try(ww_memory_create(stream->device, params, &memory));
	status = ww_stream_copy(stream, ww_memory_pointer(memory), source, params->bytes);
	if (status < 0)
		ww_memory_unref(memory);
	else
		*out_memory = memory;
	return status;
}

/* --- legacy handles --- */

ww_status ww_memory_handle_get(ww_memory *memory, struct ww_memory_handle *out_handle,
	uint64_t *out_offset)
{
	struct ww_mapping *mapping;

	_Static_assert(WW_MEMORY_HANDLE_BYTES == WW_FOREIGN_HANDLE_BYTES, "a handle is a handle");
	ww_try(ww_process_enter());
	ww_require(memory && out_handle && out_offset,
		"ww_memory_handle_get: memory, out_handle or out_offset is NULL");
	ww_try(ww_memory_check(memory));
	mapping = memory->mapping;
	if (!mapping->foreign)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"%s has no legacy handle: only that of cuMemAlloc() has, wrapped "
			"with ww_memory_wrap()",
			ww_memory_kind_name(mapping->kind));
	ww_try(mapping->device->backend->foreign_handle(mapping, out_handle->bytes));
	*out_offset = memory->offset;
	return WW_OK;
}

ww_status ww_memory_handle_open(ww_device *device, const struct ww_memory_handle *handle,
	const struct ww_import_params *params, ww_memory **out_memory)
{
	WW_AUTO_MAPPING struct ww_mapping *mapping = NULL;
	struct ww_import_options options;

	ww_clear(out_memory, NULL);
	ww_try(ww_process_enter());
	ww_require(device && handle && out_memory,
		"ww_memory_handle_open: device, handle or out_memory is NULL");
	ww_try(ww_import_options_read(params, &options));
	ww_try(ww_import_options_refuse_own_mapping(&options, "memory of a legacy handle"));
	if (!(device->capabilities & WW_CAP_FOREIGN))
		return ww_fail(WW_ERR_UNSUPPORTED, "%s opens no legacy handles of CUDA; use a GPU",
			device->selector);
	ww_deferred_reclaim();
	ww_try(ww_mapping_open(device, handle->bytes, options.access, &mapping));
	ww_try(ww_memory_check_route(mapping, &options));
	ww_try(ww_memory_name(mapping, out_memory));
	(void)ww_steal(mapping);
	return WW_OK;
}
