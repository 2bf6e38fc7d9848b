/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_cache.c - the memories this process has mapped, see import_cache.h
 *
 * Nothing blocks under the lock: comparing two descriptors asks the kernel, never the driver.
 */
#include "memory/import_cache.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_map memories WW_PER_PROCESS; /* under lock */

/* Ids are random: any eight bytes of one are a hash. */
static uint64_t hash_of(const uint8_t id[WW_OBJECT_ID_BYTES])
{
	uint64_t hash;

	memcpy(&hash, id, sizeof(hash));
	return hash;
}

static bool is_same_object(const struct ww_description *a, const struct ww_description *b)
{
	return memcmp(a->object_id, b->object_id, sizeof(a->object_id)) == 0 &&
		a->generation == b->generation && a->bytes == b->bytes &&
		a->backing == b->backing && a->kind == b->kind;
}

static bool serves(const struct ww_memory *memory, const struct ww_device *device, uint32_t access)
{
	const struct ww_mapping *mapping = memory->mapping;

	return mapping->device == device && !memory->is_own_mapping &&
		(mapping->access == access || ww_backing_is_foreign(mapping->backing));
}

/* Under the lock. @out_memory: with a reference; NULL: there is none */
static ww_status find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd, struct ww_memory **out_memory)
{
	struct ww_map_node *node = ww_map_first(&memories, hash_of(description->object_id));

	*out_memory = NULL;
	for (; node; node = ww_map_next(node)) {
		struct ww_memory *memory = ww_container(node, struct ww_memory, node);
		bool is_named = false;

		if (!serves(memory, device, access) ||
			!is_same_object(&memory->description, description))
			continue;
		ww_try(ww_mapping_compare(memory->mapping, fd, &is_named));
		if (is_named && ww_ref_try_get(&memory->ref)) {
			*out_memory = memory;
			return WW_OK;
		}
	}
	return WW_OK;
}

ww_status ww_cache_find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd, struct ww_memory **out_memory)
{
	ww_status status;

	pthread_mutex_lock(&lock);
	status = find(device, description, access, fd, out_memory);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Under the lock. */
static ww_status insert(struct ww_memory *memory)
{
	ww_try(ww_map_insert(&memories, &memory->node, hash_of(memory->description.object_id)));
	memory->mapping->owner = memory;
	return WW_OK;
}

ww_status ww_cache_insert(struct ww_memory *memory, int fd, struct ww_memory **out_memory)
{
	struct ww_memory *other = NULL;
	ww_status status = WW_OK;

	pthread_mutex_lock(&lock);
	if (fd >= 0)
		status = find(memory->mapping->device, &memory->description,
			memory->mapping->access, fd, &other);
	if (status == WW_OK && !other)
		status = insert(memory);
	pthread_mutex_unlock(&lock);
	*out_memory = other ? other : memory;
	return status;
}

void ww_cache_remove(struct ww_memory *memory)
{
	pthread_mutex_lock(&lock);
	ww_map_remove(&memories, &memory->node);
	memory->mapping->owner = NULL;
	if (memories.count == 0)
		ww_map_fini(&memories);
	pthread_mutex_unlock(&lock);
}

struct ww_memory *ww_cache_find_owner(struct ww_mapping *mapping)
{
	struct ww_memory *memory;

	pthread_mutex_lock(&lock);
	memory = mapping->owner;
	if (memory && !ww_ref_try_get(&memory->ref))
		memory = NULL;
	pthread_mutex_unlock(&lock);
	return memory;
}

struct ww_memory *ww_cache_find_id(struct ww_device *device, const uint8_t id[WW_OBJECT_ID_BYTES],
	uint32_t access, size_t skip)
{
	struct ww_memory *found = NULL;
	struct ww_map_node *node;

	pthread_mutex_lock(&lock);
	for (node = ww_map_first(&memories, hash_of(id)); node && !found;
		node = ww_map_next(node)) {
		struct ww_memory *memory = ww_container(node, struct ww_memory, node);

		if (memcmp(memory->description.object_id, id, WW_OBJECT_ID_BYTES) == 0 &&
			serves(memory, device, access) && skip-- == 0 &&
			ww_ref_try_get(&memory->ref))
			found = memory;
	}
	pthread_mutex_unlock(&lock);
	return found;
}
