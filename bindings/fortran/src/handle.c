/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle.c - objects by number, for variables that Fortran may copy bit by bit
 *
 *   number:  generation of the entry (31 bits), index of the entry + 1 (32 bits)
 *   entry ──> owner ──> object       each entry and each view counts as one use of the owner
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran.h"

struct owner {
	void *object;
	int32_t kind;
	int64_t uses;
};

struct entry {
	struct owner *owner; /* NULL: free */
	uint32_t generation; /* of its next or present number */
};

struct view {
	struct view *next;
	struct owner *owner;
	void *base;
};

/* All of these are protected by the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static uint32_t entry_count;
static uint32_t first_free; /* no entry before it is free */
static int64_t open_count;
static struct view *views;
static int64_t view_count;

static _Thread_local char message[WW_ERROR_MESSAGE_BYTES];

static const struct {
	const char *name;
	void *(*unref)(void *object);
} kinds[] = {
	[0] = {"object", NULL},
	[KIND_DEVICE] = {"device", (void *(*)(void *))ww_device_unref},
	[KIND_STREAM] = {"stream", (void *(*)(void *))ww_stream_unref},
	[KIND_MEMORY] = {"memory", (void *(*)(void *))ww_memory_unref},
	[KIND_POOL] = {"pool", (void *(*)(void *))ww_pool_unref},
	[KIND_BROKER] = {"broker", (void *(*)(void *))ww_broker_unref},
	[KIND_TIMELINE] = {"timeline", (void *(*)(void *))ww_timeline_unref},
	[KIND_EVENT] = {"event", (void *(*)(void *))ww_event_unref},
	[KIND_BARRIER] = {"barrier", (void *(*)(void *))ww_barrier_unref},
	[KIND_CHANNEL] = {"channel", (void *(*)(void *))ww_channel_unref},
	[KIND_SERVICE] = {"service", (void *(*)(void *))ww_service_unref},
	[KIND_CLIENT] = {"client", (void *(*)(void *))ww_client_unref},
	[KIND_TICKET] = {"ticket", (void *(*)(void *))ww_ticket_unref},
};

ww_status ww_fortran_fail(ww_status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return status;
}

ww_status ww_fortran_fail_text(ww_status status, const char *text, int64_t length)
{
	return ww_fortran_fail(status, "%.*s", (int)(length < 200 ? length : 200), text);
}

int64_t ww_fortran_message(ww_status status, char *text, int64_t capacity)
{
	const struct ww_error *error = ww_error_last();
	const char *found = ww_status_text(status);
	int64_t length;

	if (message[0])
		found = message;
	else if (status < 0 && error->status == status && error->message[0])
		found = error->message;
	length = (int64_t)strlen(found);
	length = length < capacity ? length : capacity;
	memcpy(text, found, (size_t)length);
	message[0] = 0;
	return length;
}

/* Frees the owner if this was its last use, without the lock: to release may block. */
static void owner_put(struct owner *owner)
{
	int64_t uses;

	if (!owner)
		return;
	pthread_mutex_lock(&lock);
	uses = --owner->uses;
	pthread_mutex_unlock(&lock);
	if (uses == 0) {
		kinds[owner->kind].unref(owner->object);
		free(owner);
	}
}

/* The entry of a number, with the lock held; NULL: there is none (any more). */
static struct entry *entry_find(int64_t number)
{
	uint32_t index = (uint32_t)number - 1;
	struct entry *entry;

	if (number <= 0 || index >= entry_count)
		return NULL;
	entry = &entries[index];
	return entry->owner && entry->generation == (uint32_t)(number >> 32) ? entry : NULL;
}

static int32_t entries_grow(void)
{
	uint32_t count = entry_count ? entry_count * 2 : 64;
	struct entry *grown = realloc(entries, count * sizeof(*grown));

	if (!grown)
		return 0;
	memset(grown + entry_count, 0, (count - entry_count) * sizeof(*grown));
	entries = grown;
	entry_count = count;
	return 1;
}

/* With the lock held. */
static int64_t entry_take(struct owner *owner)
{
	uint32_t index = first_free;

	while (index < entry_count && entries[index].owner)
		index++;
	if (index == entry_count && !entries_grow())
		return 0;
	first_free = index + 1;
	entries[index].owner = owner;
	entries[index].generation = (entries[index].generation + 1) & 0x7fffffff;
	owner->uses++;
	open_count++;
	return (int64_t)entries[index].generation << 32 | (index + 1);
}

int64_t ww_fortran_keep(void *object, int32_t kind)
{
	struct owner *owner = calloc(1, sizeof(*owner));
	int64_t number = 0;

	if (owner) {
		owner->object = object;
		owner->kind = kind;
		pthread_mutex_lock(&lock);
		number = entry_take(owner);
		pthread_mutex_unlock(&lock);
	}
	if (!number) {
		free(owner);
		kinds[kind].unref(object);
		ww_fortran_fail(WW_ERR_NO_MEMORY, "cannot keep the %s: out of memory",
			kinds[kind].name);
	}
	return number;
}

int64_t ww_fortran_copy(int64_t number)
{
	struct entry *entry;
	int64_t copy = 0;

	pthread_mutex_lock(&lock);
	entry = entry_find(number);
	if (entry)
		copy = entry_take(entry->owner);
	pthread_mutex_unlock(&lock);
	return copy;
}

void ww_fortran_close(int64_t number)
{
	struct owner *owner = NULL;
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = entry_find(number);
	if (entry) {
		owner = entry->owner;
		entry->owner = NULL;
		if (entry - entries < first_free)
			first_free = (uint32_t)(entry - entries);
		open_count--;
	}
	pthread_mutex_unlock(&lock);
	owner_put(owner);
}

void *ww_fortran_find(int64_t number, int32_t kind)
{
	void *object = NULL;
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = entry_find(number);
	if (entry && (kind == 0 || entry->owner->kind == kind))
		object = entry->owner->object;
	pthread_mutex_unlock(&lock);
	if (!object)
		ww_fortran_fail(WW_ERR_INVALID, "the %s is closed, or was never opened",
			kinds[kind].name);
	return object;
}

int32_t ww_fortran_is_open(int64_t number)
{
	int32_t is_open;

	pthread_mutex_lock(&lock);
	is_open = entry_find(number) != NULL;
	pthread_mutex_unlock(&lock);
	return is_open;
}

int64_t ww_fortran_count(void)
{
	int64_t count;

	pthread_mutex_lock(&lock);
	count = open_count;
	pthread_mutex_unlock(&lock);
	return count;
}

int64_t ww_fortran_views(void)
{
	int64_t count;

	pthread_mutex_lock(&lock);
	count = view_count;
	pthread_mutex_unlock(&lock);
	return count;
}

ww_status ww_fortran_view_begin(int64_t number, void *base)
{
	struct view *view = calloc(1, sizeof(*view));
	struct entry *entry;

	if (!view)
		return ww_fortran_fail(WW_ERR_NO_MEMORY, "cannot begin a view: out of memory");
	pthread_mutex_lock(&lock);
	entry = entry_find(number);
	if (entry) {
		*view = (struct view){views, entry->owner, base};
		entry->owner->uses++;
		views = view;
		view_count++;
	}
	pthread_mutex_unlock(&lock);
	if (entry)
		return WW_OK;
	free(view);
	return ww_fortran_fail(WW_ERR_INVALID, "another thread has closed the memory");
}

ww_status ww_fortran_view_end(CFI_cdesc_t *pointer)
{
	void *base = pointer->base_addr;
	struct view *found;
	struct view **link;

	pthread_mutex_lock(&lock);
	for (link = &views; *link && (*link)->base != base; link = &(*link)->next)
		;
	found = *link;
	if (found) {
		*link = found->next;
		view_count--;
	}
	pthread_mutex_unlock(&lock);
	if (!found)
		return ww_fortran_fail(WW_ERR_INVALID,
			base ? "no view begins where this pointer does: it has ended, or is a section"
			     : "the pointer shows no view: it has ended, or a later ww_view() failed");
	CFI_setpointer(pointer, NULL, NULL);
	owner_put(found->owner);
	free(found);
	return WW_OK;
}
