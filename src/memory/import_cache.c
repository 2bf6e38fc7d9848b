/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_cache.c - the memories this process has mapped, see import_cache.h
 *
 * Nothing blocks under the lock: comparing two descriptors asks the kernel, never the driver.
 *
 * What is kept for a moment has one reference, which is the cache's. A thread releases it. The
 * thread begins with the first memory that is kept, looks four times a second, and ends when there
 * is none. A child made by fork() has neither the thread nor what was kept.
 */
#include "memory/import_cache.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/thread.h"

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_map memories WW_PER_PROCESS; /* under lock */

#define KEPT_MAX       16
#define KEPT_BYTES_MAX (UINT64_C(64) << 20)
#define KEEP_NS        UINT64_C(250000000)

/* What no code uses, the oldest first. Under lock. */
static struct {
	struct ww_memory *memory; /* its only reference */
	uint64_t since_ns;
} kept[KEPT_MAX] WW_PER_PROCESS;
static uint32_t kept_count WW_PER_PROCESS;
static uint64_t kept_bytes WW_PER_PROCESS;
static bool has_thread WW_PER_PROCESS; /* that ends what is kept; there is one while any is */

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

/* Under the lock. Return: its reference. */
static struct ww_memory *take_kept(uint32_t at)
{
	struct ww_memory *memory = kept[at].memory;

	kept_bytes -= memory->bytes;
	memmove(&kept[at], &kept[at + 1], (--kept_count - at) * sizeof(kept[0]));
	return memory;
}

/* Under the lock. Return: whether there is a reference for the caller. */
static bool get(struct ww_memory *memory)
{
	for (uint32_t i = 0; i < kept_count; i++) {
		if (kept[i].memory == memory)
			return take_kept(i);
	}
	return ww_ref_try_get(&memory->ref);
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
		if (is_named && get(memory)) {
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
	if (memory && !get(memory))
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
			serves(memory, device, access) && skip-- == 0 && get(memory))
			found = memory;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* --- what is kept --- */

_Atomic uint64_t ww_cache_keep_ns = KEEP_NS;

/* Releases what was kept at least so long. Return: whether there was any. */
static bool drop_kept(uint64_t age_ns)
{
	uint64_t now_ns = ww_clock_now_ns();
	struct ww_memory *memory;
	bool is_any = false;

	do {
		pthread_mutex_lock(&lock);
		memory = kept_count > 0 && kept[0].since_ns + age_ns <= now_ns ? take_kept(0)
									       : NULL;
		pthread_mutex_unlock(&lock);
		if (!memory)
			return is_any;
		memory->is_kept = false;
		ww_memory_drop(memory);
		is_any = true;
	} while (true);
}

bool ww_cache_drop_kept(void)
{
	return drop_kept(0);
}

/* Whether the thread goes on: something is kept. */
static bool is_needed(void)
{
	bool is_any;

	pthread_mutex_lock(&lock);
	is_any = kept_count > 0;
	has_thread = is_any;
	pthread_mutex_unlock(&lock);
	return is_any;
}

static void *keeper_run(void *unused)
{
	const struct timespec pause = {.tv_nsec = KEEP_NS};

	do {
		(void)ppoll(NULL, 0, &pause, NULL);
		(void)drop_kept(ww_cache_keep_ns);
	} while (is_needed());
	return unused;
}

/* Return: whether there is one. */
static bool keeper_start(void)
{
	pthread_t thread;

	if (ww_thread_start(&thread, "ww-memories", keeper_run, NULL))
		return false;
	pthread_detach(thread);
	return true;
}

bool ww_cache_keep(struct ww_memory *memory)
{
	bool needs_thread;
	bool is_kept;

	if (ww_ref_is_inherited(&memory->ref))
		return false;
	pthread_mutex_lock(&lock);
	if (atomic_load(&memory->ref.count) > 1 || kept_count == KEPT_MAX ||
		memory->bytes > KEPT_BYTES_MAX - kept_bytes) {
		is_kept = false;
	} else {
		kept[kept_count].memory = memory;
		kept[kept_count++].since_ns = ww_clock_now_ns();
		kept_bytes += memory->bytes;
		is_kept = true;
	}
	needs_thread = is_kept && !has_thread;
	has_thread |= needs_thread;
	pthread_mutex_unlock(&lock);
	if (needs_thread && !keeper_start()) {
		pthread_mutex_lock(&lock);
		has_thread = false;
		pthread_mutex_unlock(&lock);
		(void)drop_kept(0);
	}
	return is_kept;
}
