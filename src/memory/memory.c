/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - what every memory has: its place in the cache, its references, its addresses
 *
 * A ww_memory is found through the cache from the moment it is whole.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "memory/import_cache.h"

#define INFO_V1_BYTES offsetof(struct ww_memory_info, offset)

static void memory_delete(struct ww_memory *memory)
{
	pthread_mutex_destroy(&memory->views_lock);
	free(memory);
}

/* Takes over @mapping on success. */
static struct ww_memory *memory_new(struct ww_mapping *mapping)
{
	struct ww_memory *memory = calloc(1, sizeof(*memory));

	if (!memory) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot keep a memory: out of memory");
		return NULL;
	}
	ww_ref_init(&memory->ref);
	pthread_mutex_init(&memory->views_lock, NULL);
	ww_list_init(&memory->views);
	memory->mapping = mapping;
	memory->bytes = mapping->bytes;
	memory->access = mapping->access;
	return memory;
}

/*
 * No other code has the memory any more, so no lock is needed. The mapping ends first: when an
 * attachment tells that the memory has ended, no process can import it any more.
 */
static void memory_free(struct ww_memory *memory)
{
	memory->mapping = ww_mapping_unref(memory->mapping);
	ww_attachments_fini(&memory->attachments);
	memory_delete(memory);
}

ww_status ww_memory_enter(struct ww_mapping *mapping, const struct ww_description *description,
	int fd, bool is_own_mapping, struct ww_memory **out_memory)
{
	struct ww_memory *memory = memory_new(mapping);
	ww_status status;

	if (!memory)
		return WW_ERR_NO_MEMORY;
	memory->description = *description;
	memory->is_own_mapping = is_own_mapping;
	status = ww_cache_insert(memory, fd, out_memory);
	if (status < 0) {
		*out_memory = NULL;
		memory_delete(memory);
	} else if (*out_memory != memory) {
		memory_free(memory);
	}
	return status;
}

ww_status ww_memory_name(struct ww_mapping *mapping, struct ww_memory **out_memory)
{
	struct ww_description description = {
		.backing = mapping->backing,
		.kind = mapping->kind,
		.access = mapping->access,
		.bytes = mapping->bytes,
		.generation = 1,
	};

	memcpy(description.home_uuid, mapping->home_uuid, sizeof(description.home_uuid));
	ww_try(ww_random_bytes(description.object_id, sizeof(description.object_id)));
	return ww_memory_enter(mapping, &description, -1, false, out_memory);
}

ww_memory *ww_memory_ref(ww_memory *memory)
{
	if (memory)
		ww_ref_get(&memory->ref);
	return memory;
}

/* Return: whether what is retired is to be reclaimed. */
static bool memory_drop(struct ww_memory *memory)
{
	const struct ww_view_class *class;
	bool does_reclaim;

	if (!memory)
		return false;
	class = memory->class; /* before: a slice may be used anew as soon as its count is 0 */
	if (!class && memory->is_kept && ww_cache_keep(memory))
		return false;
	if (!ww_ref_put(&memory->ref))
		return false;
	if (class) {
		class->release(memory);
		return false;
	}
	does_reclaim = !memory->is_chunk;
	ww_cache_remove(memory);
	memory_free(memory);
	return does_reclaim;
}

ww_memory *ww_memory_drop(ww_memory *memory)
{
	(void)memory_drop(memory);
	return NULL;
}

ww_memory *ww_memory_unref(ww_memory *memory)
{
	bool waits = memory && memory->mapping->end_waits;

	if (!memory_drop(memory))
		return NULL;
	if (waits)
		ww_deferred_reclaim();
	else
		ww_deferred_reclaim_no_wait();
	return NULL;
}

bool ww_memory_is_usable(const struct ww_memory *memory)
{
	if (!ww_ref_is_inherited(&memory->ref))
		return true;
	if (memory->mapping->device->backend->id != WW_BACKEND_HOST)
		return false;
	return !memory->is_chunk && !(memory->class && memory->class->flags & WW_MEMORY_IS_SLICE);
}

ww_status ww_memory_check(const struct ww_memory *memory)
{
	if (ww_memory_is_usable(memory))
		return WW_OK;
	return ww_fail(WW_ERR_FORKED,
		"a child made by fork() cannot use its parent's slice of a pool, which the parent may free at "
		"any time: have its token passed to this process (in Python, by a Queue or as array.token())");
}

void *ww_memory_pointer(ww_memory *memory)
{
	if (!memory || !ww_memory_is_usable(memory))
		return NULL;
	return (char *)memory->mapping->pointer + memory->offset;
}

void *ww_memory_host_pointer(ww_memory *memory)
{
	if (!memory || !ww_memory_is_usable(memory) || !memory->mapping->host_pointer)
		return NULL;
	return (char *)memory->mapping->host_pointer + memory->offset;
}

ww_status ww_memory_info_get(ww_memory *memory, struct ww_memory_info *info)
{
	struct ww_memory_info ours = {0};
	const struct ww_mapping *mapping;
	const struct ww_memory *whole;

	ww_try(ww_process_enter());
	ww_require(memory && info, "ww_memory_info_get: memory or info is NULL");
	ww_try(ww_memory_check(memory));
	whole = ww_memory_whole(memory);
	mapping = memory->mapping;
	ours.kind = mapping->kind;
	ours.access = ww_memory_access(memory);
	ours.route = mapping->route;
	ours.bytes = memory->bytes;
	ours.pointer = ww_memory_pointer(memory);
	ours.host_pointer = ww_memory_host_pointer(memory);
	ours.device = mapping->device;
	memcpy(ours.home_uuid, whole->description.home_uuid, sizeof(ours.home_uuid));
	memcpy(ours.object_id, whole->description.object_id, sizeof(ours.object_id));
	ours.offset = memory->offset;
	ours.total_bytes = mapping->bytes;
	ours.flags = memory->class ? memory->class->flags : 0;
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_memory_info");
}
