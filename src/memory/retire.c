/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retire.c - references that are released when a device has done its work
 *
 * The library does not know the streams of others, so it takes a fence behind all that the device
 * has been given, and keeps the reference until that is passed. No thread waits for it: a later
 * call looks. Fences of one device are passed in the order in which they were made, so of each
 * device a look asks the first ones only, up to one that is not passed. While no fence can be made,
 * which is so during captures, references are kept without one.
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
	bool is_fenced;                /* false: no fence could be made yet */
	struct ww_device_fence *fence; /* NULL: it needs none, or has that of one before it */
};

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list entries WW_PER_PROCESS = WW_LIST_INIT(entries); /* under lock */
static _Atomic uint32_t entry_count WW_PER_PROCESS;

/* Captures that the program has told of; under lock. */
static uint32_t capture_count WW_PER_PROCESS;

static const struct ww_device *device_of(const struct retired *entry)
{
	return entry->memory->mapping->device;
}

static bool is_same_device(const struct retired *entry, const struct retired *other)
{
	return other && device_of(entry) == device_of(other);
}

/* Under lock. Moves what can be released to @over. */
static void sort_out(struct ww_list *over)
{
	const struct retired *stuck = NULL; /* of the device that was found to be busy last */
	const struct retired *first = NULL; /* the last one that was to have a fence now */
	struct ww_list *next;

	for (struct ww_list *link = entries.next; link != &entries; link = next) {
		struct retired *entry = ww_container(link, struct retired, link);

		next = link->next;
		if (!entry->is_fenced && capture_count == 0) {
			struct ww_device *device = entry->memory->mapping->device;
			struct ww_error record;

			/*
			 * Entries that have no fence yet share that of the first one, which is
			 * behind the work of all of them.
			 */
			if (is_same_device(entry, first)) {
				entry->is_fenced = first->is_fenced;
			} else {
				ww_error_save(&record);
				entry->is_fenced = device->backend->fence_create(device,
							   &entry->fence) == WW_OK;
				ww_error_restore(&record);
				first = entry;
			}
		}
		if (entry->is_fenced && !is_same_device(entry, stuck) &&
			(!entry->fence ||
				device_of(entry)->backend->fence_is_passed(entry->fence))) {
			ww_list_remove(link);
			ww_list_append(over, link);
		} else {
			stuck = entry;
		}
	}
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
		struct retired *entry = ww_container(link, struct retired, link);
		const struct ww_device *device = device_of(entry);

		if (entry->fence)
			device->backend->fence_free(entry->fence);
		ww_memory_unref(entry->memory);
		free(entry);
		atomic_fetch_sub(&entry_count, 1);
	}
}

ww_memory *ww_memory_retire(ww_memory *memory)
{
	if (memory && ww_ref_is_inherited(&memory->ref))
		return NULL;
	if (memory && memory->mapping->device->backend->fence_create) {
		struct retired *entry = calloc(1, sizeof(*entry));

		/*
		 * Take over the reference. What cannot be listed stays for ever: it may be in use.
		 */
		if (entry) {
			entry->memory = memory;
			pthread_mutex_lock(&lock);
			ww_list_append(&entries, &entry->link);
			atomic_fetch_add(&entry_count, 1);
			pthread_mutex_unlock(&lock);
		}
	} else {
		ww_memory_unref(memory);
	}
	ww_memory_reclaim();
	return NULL;
}

uint32_t ww_memory_retired(void)
{
	return atomic_load(&entry_count);
}

/* Fences are made under the lock, so none is being made when this call returns. */
ww_status ww_capture_begin(void)
{
	ww_try(ww_process_enter());
	pthread_mutex_lock(&lock);
	capture_count++;
	pthread_mutex_unlock(&lock);
	return WW_OK;
}

ww_status ww_capture_end(void)
{
	bool is_begun;

	ww_try(ww_process_enter());
	pthread_mutex_lock(&lock);
	is_begun = capture_count > 0;
	if (is_begun)
		capture_count--;
	pthread_mutex_unlock(&lock);
	if (!is_begun)
		return ww_fail(WW_ERR_STATE,
			"cannot end a capture: none was begun, or all have ended");
	return WW_OK;
}
