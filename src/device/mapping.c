/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.c - bytes, and where this process sees them, see mapping.h
 *
 * The table is an array of spans in order of address: it is searched at every copy and changed only
 * when memory comes or goes. Spans do not overlap, since the kernel and the driver hand out each
 * address once, and a span leaves the table before its address is given back. But several may begin
 * at one place: the driver maps an allocation of another process once, however often it is opened.
 * The shorter one stands first then.
 */
#include "device/mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "device/memfd.h"

struct span {
	uintptr_t start;
	uintptr_t end; /* exclusive */
	struct ww_mapping *mapping;
};

#define RETIRED_MAX 64

static _Atomic uint32_t retired_count WW_PER_PROCESS; /* without pages */

static pthread_rwlock_t table_lock WW_PER_PROCESS = PTHREAD_RWLOCK_INITIALIZER;
static struct span *table; /* under table_lock, as are the two below */
static size_t table_count;
static size_t table_capacity;

/*
 * A child made by fork() keeps the table, since it keeps what is mapped. So no thread changes the
 * table during a fork().
 */
static void table_stop(void)
{
	pthread_rwlock_wrlock(&table_lock);
}

static void table_go_on(void)
{
	pthread_rwlock_unlock(&table_lock);
}

__attribute__((constructor)) static void table_watch_fork(void)
{
	ww_assert(pthread_atfork(table_stop, table_go_on, NULL) == 0);
}

/* The index of the first span that ends behind @address. */
static size_t lower_bound(uintptr_t address)
{
	size_t low = 0;
	size_t high = table_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void table_add(void *pointer, struct ww_mapping *mapping)
{
	uintptr_t start = (uintptr_t)pointer;
	size_t at = lower_bound(start);

	while (at < table_count && table[at].start == start &&
		table[at].end < start + mapping->bytes)
		at++;
	memmove(&table[at + 1], &table[at], (table_count - at) * sizeof(*table));
	table[at] = (struct span){start, start + mapping->bytes, mapping};
	table_count++;
}

static void table_remove(void *pointer, const struct ww_mapping *mapping)
{
	size_t at = lower_bound((uintptr_t)pointer);

	while (at < table_count && table[at].mapping != mapping)
		at++;
	ww_assert(at < table_count && table[at].start == (uintptr_t)pointer);
	table_count--;
	memmove(&table[at], &table[at + 1], (table_count - at) * sizeof(*table));
	if (table_count == 0) {
		free(table);
		table = NULL;
		table_capacity = 0;
	}
}

static bool has_two_spans(const struct ww_mapping *mapping)
{
	return mapping->host_pointer && mapping->host_pointer != mapping->pointer;
}

static ww_status enter_table(struct ww_mapping *mapping)
{
	ww_status status;
	size_t capacity;
	struct span *larger;

	if (mapping->is_wrapped)
		return WW_OK;
	pthread_rwlock_wrlock(&table_lock);
	capacity = table_capacity ? table_capacity * 2 : 16;
	if (table_count + 2 <= table_capacity) {
		status = WW_OK;
	} else {
		larger = realloc(table, capacity * sizeof(*larger));
		if (!larger) {
			status = ww_fail(WW_ERR_NO_MEMORY, "cannot note a mapping: out of memory");
		} else {
			table = larger;
			table_capacity = capacity;
			status = WW_OK;
		}
	}
	if (status == WW_OK) {
		table_add(mapping->pointer, mapping);
		if (has_two_spans(mapping))
			table_add(mapping->host_pointer, mapping);
	}
	pthread_rwlock_unlock(&table_lock);
	return status;
}

static void leave_table(struct ww_mapping *mapping)
{
	if (mapping->is_wrapped)
		return;
	pthread_rwlock_wrlock(&table_lock);
	table_remove(mapping->pointer, mapping);
	if (has_two_spans(mapping))
		table_remove(mapping->host_pointer, mapping);
	pthread_rwlock_unlock(&table_lock);
}

size_t ww_mapping_count(void)
{
	size_t count;

	pthread_rwlock_rdlock(&table_lock);
	count = table_count;
	pthread_rwlock_unlock(&table_lock);
	return count;
}

static bool allows(const struct span *span, uintptr_t start, uintptr_t end, uint32_t access)
{
	return start >= span->start && end <= span->end && access <= span->mapping->access;
}

static ww_status fail_span(const struct span *span, uintptr_t start, uintptr_t end)
{
	const struct ww_mapping *mapping = span->mapping;

	if (start < span->start || end > span->end)
		return ww_fail(WW_ERR_INVALID,
			"%" PRIuPTR " bytes at 0x%" PRIxPTR " leave the memory of %" PRIu64
			" bytes at 0x%" PRIxPTR,
			end - start, start, mapping->bytes, span->start);
	return ww_fail(WW_ERR_ACCESS,
		"cannot write to 0x%" PRIxPTR ": this memory is mapped read-only; get or import "
		"it with WW_ACCESS_WRITE if its owner allows that and it is not sealed",
		start);
}

/* The first of those at one place that allows it, else the first. Under the lock. */
static const struct span *choose_span(size_t at, uintptr_t start, uintptr_t end, uint32_t access)
{
	for (size_t i = at; i < table_count && table[i].start == table[at].start; i++) {
		if (allows(&table[i], start, end, access))
			return &table[i];
	}
	return &table[at];
}

ww_status ww_mapping_find(const void *address, uint64_t bytes, uint32_t access,
	struct ww_mapping **out_mapping)
{
	uintptr_t start = (uintptr_t)address;
	const struct span *span;
	ww_status status = WW_OK;
	uintptr_t end;
	size_t at;

	*out_mapping = NULL;
	if (__builtin_add_overflow(start, bytes, &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"%" PRIu64 " bytes at 0x%" PRIxPTR " leave the address space", bytes,
			start);
	pthread_rwlock_rdlock(&table_lock);
	at = lower_bound(start);
	if (at < table_count && table[at].start < end) {
		span = choose_span(at, start, end, access);
		if (!allows(span, start, end, access))
			status = fail_span(span, start, end);
		/* One on its way out is the caller's bug, which the device will report. */
		else if (ww_ref_try_get(&span->mapping->ref))
			*out_mapping = span->mapping;
	}
	pthread_rwlock_unlock(&table_lock);
	return status;
}

uint64_t ww_mapping_offset(const struct ww_mapping *mapping, const void *address)
{
	uint64_t offset = (uintptr_t)address - (uintptr_t)mapping->pointer;

	if (offset < mapping->bytes)
		return offset;
	return (uintptr_t)address - (uintptr_t)mapping->host_pointer;
}

static ww_status mapping_new(struct ww_device *device, struct ww_mapping **out_mapping)
{
	struct ww_mapping *mapping = calloc(1, sizeof(*mapping));

	*out_mapping = mapping;
	if (!mapping)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot map memory: out of memory");
	ww_ref_init(&mapping->ref);
	mapping->device = ww_device_ref(device);
	mapping->fd = -1;
	memcpy(mapping->home_uuid, device->uuid, sizeof(mapping->home_uuid));
	pthread_mutex_init(&mapping->lock, NULL);
	return WW_OK;
}

static void mapping_free(struct ww_mapping *mapping)
{
	pthread_mutex_destroy(&mapping->lock);
	ww_device_unref(mapping->device);
	free(mapping);
}

static void end(struct ww_mapping *mapping)
{
	if (!mapping->is_page)
		ww_log_debug("unmapping %" PRIu64 " bytes on %s at %p", mapping->bytes,
			mapping->device->selector, mapping->pointer);
	mapping->device->backend->memory_release(mapping);
	mapping_free(mapping);
}

static void mapping_release_retired(struct ww_deferred *deferred)
{
	struct ww_mapping *mapping = ww_container(deferred, struct ww_mapping, deferred);

	if (!mapping->is_page)
		atomic_fetch_sub(&retired_count, 1);
	end(mapping);
}

static const struct ww_deferred_class retired_class = {
	.release = mapping_release_retired,
	.may_block = true,
};

/* Whether there is room for one more. If so, it is counted. */
static bool count_retired(const struct ww_mapping *mapping)
{
	if (mapping->is_page)
		return true;
	if (atomic_fetch_add(&retired_count, 1) < RETIRED_MAX)
		return true;
	atomic_fetch_sub(&retired_count, 1);
	return false;
}

static void mapping_retire(struct ww_mapping *mapping)
{
	if (mapping->device->backend->memory_retire)
		mapping->device->backend->memory_retire(mapping);
	ww_deferred_add(&mapping->deferred, &retired_class);
}

/* Of a mapping without references that is not in the table. */
static void retire_or_end(struct ww_mapping *mapping)
{
	if (mapping->end_waits && ww_deferred_streams_busy() && count_retired(mapping))
		mapping_retire(mapping);
	else
		end(mapping);
}

/* The last step of making one. @made: what the backend said. What is not whole ends. */
static ww_status mapping_made(struct ww_mapping **out_mapping, ww_status made)
{
	struct ww_mapping *mapping = *out_mapping;
	ww_status status = made == WW_OK ? enter_table(mapping) : made;

	if (status == WW_OK) {
		if (!mapping->is_page) /* its page's lock is held, and the log may call anything */
			ww_log_debug("mapped %" PRIu64 " bytes on %s at %p, access %u, route %u",
				mapping->bytes, mapping->device->selector, mapping->pointer,
				mapping->access, mapping->route);
		return WW_OK;
	}
	*out_mapping = NULL;
	if (mapping->foreign)
		retire_or_end(mapping);
	else if (made == WW_OK) /* a page's lock may be held */
		end(mapping);
	else
		mapping_free(mapping);
	return status;
}

ww_status ww_mapping_create(struct ww_device *device, uint32_t kind, uint64_t bytes,
	struct ww_mapping **out_mapping)
{
	ww_try(mapping_new(device, out_mapping));
	return mapping_made(out_mapping, device->backend->memory_create(*out_mapping, kind, bytes));
}

ww_status ww_mapping_import(struct ww_device *device, const struct ww_memory_source *source,
	uint32_t access, struct ww_mapping **out_mapping)
{
	ww_try(mapping_new(device, out_mapping));
	return mapping_made(out_mapping,
		device->backend->memory_import(*out_mapping, source, access));
}

ww_status ww_mapping_import_page(struct ww_device *device, const struct ww_memory_source *source,
	uint32_t access, struct ww_mapping **out_mapping)
{
	ww_try(mapping_new(device, out_mapping));
	(*out_mapping)->is_page = true;
	return mapping_made(out_mapping,
		device->backend->memory_import(*out_mapping, source, access));
}

ww_status ww_mapping_wrap(struct ww_device *device, const struct ww_foreign *found,
	struct ww_mapping **out_mapping)
{
	ww_try(mapping_new(device, out_mapping));
	(*out_mapping)->is_wrapped = true;
	return mapping_made(out_mapping, device->backend->foreign_wrap(*out_mapping, found));
}

ww_status ww_mapping_open(struct ww_device *device, const uint8_t handle[WW_FOREIGN_HANDLE_BYTES],
	uint32_t access, struct ww_mapping **out_mapping)
{
	ww_try(mapping_new(device, out_mapping));
	return mapping_made(out_mapping,
		device->backend->foreign_open(*out_mapping, handle, access));
}

ww_status ww_mapping_check(struct ww_mapping *mapping)
{
	return mapping->foreign ? mapping->device->backend->foreign_check(mapping) : WW_OK;
}

void ww_mapping_withdraw(struct ww_mapping *mapping)
{
	pthread_mutex_lock(&mapping->lock);
	mapping->device->backend->foreign_withdraw(mapping);
	pthread_mutex_unlock(&mapping->lock);
}

ww_status ww_mapping_protect(struct ww_mapping *mapping, uint32_t access, bool *out_changed)
{
	ww_status status = WW_OK;

	*out_changed = false;
	if (mapping->is_wrapped)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"memory that was wrapped cannot be made read-only: its owner mapped it");
	pthread_mutex_lock(&mapping->lock);
	if (mapping->access != access) {
		status = mapping->device->backend->memory_protect(mapping, access);
		*out_changed = status == WW_OK;
	}
	if (*out_changed)
		mapping->access = access;
	pthread_mutex_unlock(&mapping->lock);
	return status;
}

struct ww_mapping *ww_mapping_ref(struct ww_mapping *mapping)
{
	ww_ref_get(&mapping->ref);
	return mapping;
}

struct ww_mapping *ww_mapping_unref(struct ww_mapping *mapping)
{
	if (!mapping || !ww_ref_put(&mapping->ref))
		return NULL;
	leave_table(mapping);
	retire_or_end(mapping);
	return NULL;
}

void ww_mapping_unref_page(struct ww_mapping *mapping)
{
	if (!mapping || !ww_ref_put(&mapping->ref))
		return;
	leave_table(mapping);
	mapping_retire(mapping);
}

ww_status ww_mapping_export(struct ww_mapping *mapping, uint32_t access, int *out_fd)
{
	*out_fd = -1;
	if (mapping->is_wrapped)
		ww_try(ww_mapping_check(mapping));
	if (mapping->fd < 0) {
		ww_status status = WW_OK;

		pthread_mutex_lock(&mapping->lock);
		if (mapping->fd < 0) {
			int fd = -1;

			status = mapping->device->backend->memory_export(mapping, &fd);
			mapping->fd = fd;
		}
		pthread_mutex_unlock(&mapping->lock);
		ww_try(status);
	}
	if (ww_backing_is_foreign(mapping->backing) ||
		(mapping->backing == WW_BACKING_MEMFD && access == WW_ACCESS_READ))
		return ww_memfd_reopen_read_only(mapping->fd, out_fd);
	return ww_fd_duplicate(mapping->fd, out_fd);
}

void ww_mapping_close_fd(struct ww_mapping *mapping)
{
	mapping->fd = ww_fd_close(mapping->fd);
}

ww_status ww_mapping_export_pool(struct ww_mapping *mapping, int *out_fd)
{
	return mapping->device->backend->foreign_pool(mapping, out_fd);
}

/* Memfds are a file each, however opened. @out_is_same: set only if the kernel says */
static bool compare_files(int own, int fd, bool *out_is_same)
{
	struct stat ours;
	struct stat theirs;

	if (fstat(own, &ours) < 0 || fstat(fd, &theirs) < 0)
		return false;
	*out_is_same = ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
	return true;
}

bool ww_mapping_is_named_by(struct ww_mapping *mapping, int fd)
{
	bool is_same = false;
	int own = mapping->fd;

	if (own < 0)
		return false;
	/* All descriptors of a driver are one device node. */
	if (mapping->backing == WW_BACKING_CUDA_VMM)
		return ww_fd_is_duplicate(own, fd);
	return compare_files(own, fd, &is_same) && is_same;
}

ww_status ww_mapping_compare(struct ww_mapping *mapping, int fd, bool *out_is_same)
{
	int own = mapping->fd;

	*out_is_same = false;
	if (!ww_backing_is_foreign(mapping->backing))
		*out_is_same = ww_mapping_is_named_by(mapping, fd);
	else if (own >= 0 && !compare_files(own, fd, out_is_same))
		return ww_fail_errno(errno, NULL, "cannot identify descriptor %d", fd);
	return WW_OK;
}
