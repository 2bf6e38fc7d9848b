/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retire.c - references that are released when a device has done its work
 *
 * The library does not know the streams of others, so it takes a fence behind all that the device
 * has been given, and keeps the reference until that is passed. No thread waits for it: a later
 * call looks. Fences of one device are passed in the order in which they were made, so of each
 * device a look asks the first ones only, up to one that is not passed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/process.h"
#include "device/backend.h"
#include "memory/memory.h"

struct retired {
	struct ww_list link;
	ww_memory *memory;             /* the reference */
	struct ww_device_fence *fence; /* NULL: it could not be made yet */
};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list entries WW_PER_PROCESS = WW_LIST_INIT(entries); /* under lock */
static _Atomic uint32_t entry_count WW_PER_PROCESS;

static const struct ww_device *device_of(const struct retired *entry)
{
	return entry->memory->mapping->device;
}

/* Leaves the error record alone. Return: whether the reference can be released. */
static bool is_over(struct retired *entry)
{
	struct ww_device *device = entry->memory->mapping->device;
	struct ww_error record;
	ww_status status = WW_OK;

	if (entry->fence)
		return device->backend->fence_is_passed(entry->fence);
	ww_error_save(&record);
	status = device->backend->fence_create(device, &entry->fence);
	ww_error_restore(&record);
	return status == WW_OK && (!entry->fence || device->backend->fence_is_passed(entry->fence));
}

static void retired_free(struct retired *entry)
{
	const struct ww_device *device = device_of(entry);

	if (entry->fence)
		device->backend->fence_free(entry->fence);
	ww_memory_unref(entry->memory);
	free(entry);
}

/* Whether an earlier reference of the same device stays. Under lock. */
static bool is_behind(const struct retired *entry, const struct retired *first_stuck)
{
	return first_stuck && device_of(entry) == device_of(first_stuck);
}

/* Under lock. Moves what can be released to @over. */
static void sort_out(struct ww_list *over)
{
	const struct retired *stuck = NULL; /* of the device that was found to be busy last */
	struct ww_list *link, kept = WW_LIST_INIT(kept);

	while ((link = ww_list_take_first(&entries))) {
		struct retired *entry = ww_container(link, struct retired, link);

		if (!is_behind(entry, stuck) && is_over(entry)) {
			ww_list_append(over, link);
			continue;
		}
		stuck = entry;
		ww_list_append(&kept, link);
	}
	while ((link = ww_list_take_first(&kept)))
		ww_list_append(&entries, link);
}

void ww_memory_reclaim(void)
{
	struct ww_list *link, over = WW_LIST_INIT(over);

	if (atomic_load(&entry_count) == 0)
		return;
	pthread_mutex_lock(&lock);
	sort_out(&over);
	pthread_mutex_unlock(&lock);
	while ((link = ww_list_take_first(&over))) {
		retired_free(ww_container(link, struct retired, link));
		atomic_fetch_sub(&entry_count, 1);
	}
}

/* Takes over the reference. What cannot be listed stays for ever: it may be in use. */
static void retire(ww_memory *memory)
{
	struct retired *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return;
	entry->memory = memory;
	if (is_over(entry)) {
		retired_free(entry);
		return;
	}
	pthread_mutex_lock(&lock);
	ww_list_append(&entries, &entry->link);
	atomic_fetch_add(&entry_count, 1);
	pthread_mutex_unlock(&lock);
}

ww_memory *ww_memory_retire(ww_memory *memory)
{
	if (memory && ww_ref_is_inherited(&memory->ref))
		return NULL;
	ww_memory_reclaim();
	if (!memory)
		return NULL;
	if (!memory->mapping->device->backend->fence_create)
		return ww_memory_unref(memory);
	retire(memory);
	return NULL;
}

uint32_t ww_memory_retired(void)
{
	return atomic_load(&entry_count);
}
