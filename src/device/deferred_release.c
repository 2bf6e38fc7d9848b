/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deferred_release.c - objects that are released later, see deferred_release.h
 *
 * What is not done goes back to the end of the list, so one reclaim asks each object once, in the
 * order in which they were added. A release may add further objects: a timeline's page has
 * mappings. So there is another round until one releases nothing, and no other thread has begun to
 * reclaim meanwhile, which may have missed what this one had in its hand.
 */
#include "device/deferred_release.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"
#include "base/process.h"

static bool (*_Atomic ask_streams)(void); /* NULL: no stream has anything to wait for */

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static struct ww_list entries WW_PER_PROCESS = WW_LIST_INIT(entries); /* under lock */
static _Atomic uint64_t reclaim_count; /* how many were begun, by all threads */

void ww_deferred_ask_streams(bool (*are_streams_busy)(void))
{
	atomic_store(&ask_streams, are_streams_busy);
}

bool ww_deferred_streams_busy(void)
{
	bool (*ask)(void) = atomic_load(&ask_streams);

	return ask && ask();
}

void ww_deferred_add(struct ww_deferred *entry, const struct ww_deferred_class *class)
{
	entry->class = class;
	pthread_mutex_lock(&lock);
	ww_list_append(&entries, &entry->link);
	pthread_mutex_unlock(&lock);
}

/* An object whose release may block stays in the list while that is not allowed. */
static bool may_take(const struct ww_deferred *entry, bool may_wait)
{
	return may_wait || !entry->class->may_block;
}

static struct ww_deferred *deferred_take(bool may_wait)
{
	struct ww_deferred *taken = NULL;

	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &entries) {
		taken = ww_container(link, struct ww_deferred, link);
		if (may_take(taken, may_wait)) {
			ww_list_remove(&taken->link);
			break;
		}
		taken = NULL;
	}
	pthread_mutex_unlock(&lock);
	return taken;
}

static size_t deferred_count(bool may_wait)
{
	size_t count = 0;

	pthread_mutex_lock(&lock);
	ww_list_for_each (link, &entries)
		count += may_take(ww_container(link, struct ww_deferred, link), may_wait);
	pthread_mutex_unlock(&lock);
	return count;
}

/* @is_idle: whether no stream was busy so far; asked anew before each release that depends on it */
static bool is_done(struct ww_deferred *entry, bool *is_idle)
{
	if (entry->class->is_done)
		return entry->class->is_done(entry);
	*is_idle = *is_idle && !ww_deferred_streams_busy();
	return *is_idle;
}

static void reclaim(bool may_wait)
{
	struct ww_error record;
	uint64_t begun;
	bool is_any;

	atomic_fetch_add(&reclaim_count, 1);
	ww_error_save(&record);
	do {
		bool is_idle;
		struct ww_deferred *entry;

		begun = atomic_load(&reclaim_count);
		/*
		 * Asked in any case: the question frees waits that are over, and they keep pages.
		 */
		is_idle = may_wait && !ww_deferred_streams_busy();
		is_any = false;
		for (size_t left = deferred_count(may_wait);
			left > 0 && (entry = deferred_take(may_wait)); left--) {
			if (is_done(entry, &is_idle)) {
				entry->class->release(entry);
				is_any = true;
			} else {
				ww_deferred_add(entry, entry->class);
			}
		}
	} while (is_any || atomic_load(&reclaim_count) != begun);
	ww_error_restore(&record);
}

void ww_deferred_reclaim(void)
{
	reclaim(true);
}

void ww_deferred_reclaim_no_wait(void)
{
	reclaim(false);
}
