/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_stream.c - see native_stream.h; and the watches of stream.h
 *
 * What a stream has waited for can turn out never to have come: its signaller died and the wait was
 * ended by poison. Then what the stream computed since is worth nothing. So the code that makes a
 * stream wait leaves a watch on the stream, and every call asks all watches first. The record of
 * the first that objects is kept: the stream is lost, and each call says so in the same words until
 * ww_stream_recover().
 */
#include "device/native_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "device/deferred_release.h"
#include "device/stream.h"

static pthread_mutex_t natives_lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
/* Those kept in the order of their closing. */
static struct ww_list natives WW_PER_PROCESS = WW_LIST_INIT(natives);
static uint32_t kept_count WW_PER_PROCESS;

/* Return: whether there were any. */
static bool free_watches(struct ww_list *watches)
{
	bool is_any = !ww_list_is_empty(watches);
	struct ww_list *link;

	while ((link = ww_list_take_first(watches))) {
		struct ww_stream_watch *watch = ww_container(link, struct ww_stream_watch, link);

		watch->free(watch);
	}
	return is_any;
}

static struct ww_native_stream *native_new(const struct ww_native_stream_key *key)
{
	struct ww_native_stream *native = calloc(1, sizeof(*native));

	if (!native) {
		ww_fail(WW_ERR_NO_MEMORY, "cannot make a stream: out of memory");
		return NULL;
	}
	ww_list_init(&native->link);
	if (key)
		native->key = *key;
	native->users = 1;
	pthread_mutex_init(&native->lock, NULL);
	ww_list_init(&native->watches);
	return native;
}

/* Return: whether it had watches. */
static bool native_free(struct ww_native_stream *native)
{
	bool had_watches = free_watches(&native->watches);

	pthread_mutex_destroy(&native->lock);
	free(native);
	return had_watches;
}

/*
 * Under native->lock. Asks all watches; what awaits nothing any more is moved to @out_done. Changes
 * the error record.
 */
static void settle_watches(struct ww_native_stream *native, struct ww_list *out_done)
{
	struct ww_list *next;

	for (struct ww_list *link = native->watches.next; link != &native->watches; link = next) {
		struct ww_stream_watch *watch = ww_container(link, struct ww_stream_watch, link);
		ww_status status = watch->check(watch);

		next = link->next;
		if (status < 0 && !native->is_lost) {
			ww_error_save(&native->loss);
			native->is_lost = true;
		}
		if (status == WW_NOT_READY || watch->users > 0)
			continue;
		ww_list_remove(link);
		ww_list_append(out_done, link);
		atomic_fetch_sub_explicit(&native->watch_count, 1, memory_order_release);
	}
}

/* Return: whether something would be forgotten with it. */
static bool settle(struct ww_native_stream *native, struct ww_list *out_done)
{
	struct ww_error record;
	bool is_needed;

	ww_error_save(&record);
	pthread_mutex_lock(&native->lock);
	settle_watches(native, out_done);
	is_needed = native->is_lost || native->watch_count > 0;
	pthread_mutex_unlock(&native->lock);
	ww_error_restore(&record);
	return is_needed;
}

/* Under natives_lock, as is all up to open. */
static void table_remove(struct ww_native_stream *native)
{
	if (!native->is_findable)
		return;
	ww_list_remove(&native->link);
	native->is_findable = false;
	if (native->users == 0)
		kept_count--;
}

static void table_add(struct ww_native_stream *native)
{
	ww_list_append(&natives, &native->link);
	native->is_findable = true;
}

/* Takes out a stream that is not used, to be freed. */
static void table_drop(struct ww_native_stream *native, struct ww_list *out_over)
{
	table_remove(native);
	ww_list_append(out_over, &native->link);
}

/* Takes out what is kept and over. What is kept and awaits nothing is lost, so it stays. */
static void table_settle(struct ww_list *out_over, struct ww_list *out_done)
{
	struct ww_list *next;

	for (struct ww_list *link = natives.next; link != &natives; link = next) {
		struct ww_native_stream *native = ww_container(link, struct ww_native_stream, link);

		next = link->next;
		if (native->users == 0 && native->watch_count > 0 && !settle(native, out_done))
			table_drop(native, out_over);
	}
}

/*
 * Streams that were destroyed, since their handle has become another one's, are taken out. Return:
 * NULL: there is none.
 */
static struct ww_native_stream *table_find(const struct ww_native_stream_key *key,
	struct ww_list *out_over)
{
	struct ww_list *next;

	for (struct ww_list *link = natives.next; link != &natives; link = next) {
		struct ww_native_stream *native = ww_container(link, struct ww_native_stream, link);

		next = link->next;
		if (native->key.handle != key->handle ||
			memcmp(native->key.uuid, key->uuid, sizeof(key->uuid)) != 0)
			continue;
		if (native->key.id == key->id)
			return native;
		if (native->users == 0)
			table_drop(native, out_over);
		else
			table_remove(native);
	}
	return NULL;
}

static void table_forget_first(struct ww_list *out_over)
{
	ww_list_for_each (link, &natives) {
		struct ww_native_stream *native = ww_container(link, struct ww_native_stream, link);

		if (native->users == 0) {
			table_drop(native, out_over);
			return;
		}
	}
}

/* Not under a lock. Return: whether a watch was freed. */
static bool free_all(struct ww_list *over, struct ww_list *done)
{
	bool is_any = free_watches(done);
	struct ww_list *link;

	while ((link = ww_list_take_first(over)))
		is_any |= native_free(ww_container(link, struct ww_native_stream, link));
	return is_any;
}

ww_status ww_native_stream_open(const struct ww_native_stream_key *key,
	struct ww_native_stream **out_native)
{
	struct ww_native_stream *made = native_new(key);
	struct ww_native_stream *found = NULL;
	struct ww_list over = WW_LIST_INIT(over);
	struct ww_list done = WW_LIST_INIT(done);

	*out_native = made;
	if (!made)
		return WW_ERR_NO_MEMORY;
	if (!key)
		return WW_OK;
	pthread_mutex_lock(&natives_lock);
	table_settle(&over, &done);
	found = table_find(key, &over);
	if (!found)
		table_add(made);
	else if (found->users++ == 0)
		kept_count--;
	pthread_mutex_unlock(&natives_lock);
	(void)free_all(&over, &done);
	if (found) {
		(void)native_free(made);
		*out_native = found;
	}
	return WW_OK;
}

void ww_native_stream_close(struct ww_native_stream *native)
{
	struct ww_list over = WW_LIST_INIT(over);
	struct ww_list done = WW_LIST_INIT(done);

	if (!native)
		return;
	pthread_mutex_lock(&natives_lock);
	if (--native->users == 0) {
		bool is_kept = native->is_findable && settle(native, &done);

		if (native->is_findable)
			ww_list_remove(&native->link);
		native->is_findable = false;
		if (is_kept) {
			table_add(native);
			kept_count++;
		} else {
			ww_list_append(&over, &native->link);
		}
		if (kept_count > WW_NATIVE_STREAMS_KEPT)
			table_forget_first(&over);
	}
	pthread_mutex_unlock(&natives_lock);
	/* What the stream waited for may have kept pages. */
	if (free_all(&over, &done))
		ww_deferred_reclaim();
}

bool ww_native_streams_any(const uint8_t uuid[WW_DEVICE_UUID_BYTES],
	bool (*is)(const void *handle, void *context), void *context)
{
	bool is_any = false;

	pthread_mutex_lock(&natives_lock);
	ww_list_for_each (link, &natives) {
		const struct ww_native_stream *native = ww_container(link, struct ww_native_stream,
			link);

		is_any = native->users > 0 &&
			memcmp(native->key.uuid, uuid, WW_DEVICE_UUID_BYTES) == 0 &&
			is(native->key.handle, context);
		if (is_any)
			break;
	}
	pthread_mutex_unlock(&natives_lock);
	return is_any;
}

void ww_native_stream_retire(struct ww_native_stream *native)
{
	pthread_mutex_lock(&natives_lock);
	table_remove(native);
	pthread_mutex_unlock(&natives_lock);
}

void ww_native_streams_settle(void)
{
	struct ww_list over = WW_LIST_INIT(over);
	struct ww_list done = WW_LIST_INIT(done);

	pthread_mutex_lock(&natives_lock);
	table_settle(&over, &done);
	pthread_mutex_unlock(&natives_lock);
	(void)free_all(&over, &done);
}

void ww_stream_watch_lock(struct ww_stream *stream)
{
	pthread_mutex_lock(&stream->native->lock);
}

void ww_stream_watch_unlock(struct ww_stream *stream)
{
	pthread_mutex_unlock(&stream->native->lock);
}

struct ww_stream_watch *ww_stream_watch_find(struct ww_stream *stream, const void *owner)
{
	ww_list_for_each (link, &stream->native->watches) {
		struct ww_stream_watch *watch = ww_container(link, struct ww_stream_watch, link);

		if (watch->owner == owner)
			return watch;
	}
	return NULL;
}

void ww_stream_watch_add(struct ww_stream *stream, struct ww_stream_watch *watch)
{
	ww_list_append(&stream->native->watches, &watch->link);
	atomic_fetch_add_explicit(&stream->native->watch_count, 1, memory_order_release);
}

ww_status ww_stream_check(struct ww_stream *stream)
{
	struct ww_native_stream *native = stream->native;
	struct ww_list done = WW_LIST_INIT(done);
	ww_status status = WW_OK;

	ww_try(ww_ref_check(&stream->ref, "a stream"));
	/* In this order: is_lost is set before the watch that objected is counted off. */
	if (atomic_load_explicit(&native->watch_count, memory_order_acquire) == 0 &&
		!atomic_load_explicit(&native->is_lost, memory_order_acquire))
		return WW_OK;
	pthread_mutex_lock(&native->lock);
	if (!native->is_lost)
		settle_watches(native, &done);
	if (native->is_lost) {
		ww_error_restore(&native->loss);
		status = native->loss.status;
	}
	pthread_mutex_unlock(&native->lock);
	(void)free_watches(&done);
	return status;
}

/* What a thread is about to wait for right now stays on watch, so its loss is reported again. */
void ww_native_stream_recover(struct ww_native_stream *native)
{
	struct ww_list done = WW_LIST_INIT(done);
	struct ww_error record;

	ww_error_save(&record);
	pthread_mutex_lock(&native->lock);
	settle_watches(native, &done);
	native->is_lost = false;
	pthread_mutex_unlock(&native->lock);
	ww_error_restore(&record);
	(void)free_watches(&done);
}
