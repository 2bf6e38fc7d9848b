/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - the memories this process has mapped, see cache.h
 *
 * Nothing blocks under the lock: comparing two descriptors asks the kernel, never the driver.
 */
#include "memory/cache.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ww_map memories; /* under lock */

/* Ids are random: any eight bytes of one are a hash. */
static uint64_t hash_of(const struct ww_description *description)
{
	uint64_t hash;

	memcpy(&hash, description->object_id, sizeof(hash));
	return hash;
}

static bool is_same_object(const struct ww_description *a, const struct ww_description *b)
{
	return memcmp(a->object_id, b->object_id, sizeof(a->object_id)) == 0 &&
		a->generation == b->generation && a->bytes == b->bytes &&
		a->backing == b->backing && a->kind == b->kind;
}

/* Under the lock. */
static struct ww_memory *find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd)
{
	struct ww_map_node *node = ww_map_first(&memories, hash_of(description));

	for (; node; node = ww_map_next(node)) {
		struct ww_memory *memory = ww_container(node, struct ww_memory, node);

		if (memory->mapping->device == device && memory->mapping->access == access &&
			is_same_object(&memory->description, description) &&
			ww_mapping_is_named_by(memory->mapping, fd) && ww_ref_try_get(&memory->ref))
			return memory;
	}
	return NULL;
}

struct ww_memory *ww_cache_find(struct ww_device *device, const struct ww_description *description,
	uint32_t access, int fd)
{
	struct ww_memory *memory;

	pthread_mutex_lock(&lock);
	memory = find(device, description, access, fd);
	pthread_mutex_unlock(&lock);
	return memory;
}

ww_status ww_cache_insert(struct ww_memory *memory, int fd, struct ww_memory **out_memory)
{
	struct ww_memory *other = NULL;
	ww_status status = WW_OK;

	pthread_mutex_lock(&lock);
	if (fd >= 0)
		other = find(memory->mapping->device, &memory->description, memory->mapping->access,
			fd);
	if (!other)
		status = ww_map_insert(&memories, &memory->node, hash_of(&memory->description));
	pthread_mutex_unlock(&lock);
	*out_memory = other ? other : memory;
	return status;
}

void ww_cache_remove(struct ww_memory *memory)
{
	pthread_mutex_lock(&lock);
	ww_map_remove(&memories, &memory->node);
	if (memories.count == 0)
		ww_map_fini(&memories);
	pthread_mutex_unlock(&lock);
}
