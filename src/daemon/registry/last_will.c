/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_will.c - what the broker does to a process's signal page when the process ends, see
 * last_will.h
 *
 * Only ordinary memory files are accepted: mapping or touching any other file may wait for another
 * process. A hole in the file is filled before it is touched (MADV_POPULATE_WRITE), which returns
 * an error where a store would kill the broker.
 */
#include "daemon/registry/last_will.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/registry/exit_wait.h"
#include "daemon/registry/holder.h"
#include "daemon/registry/object.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define BYTES_LEAST 4096
/* about 4 ms, and 128 of the pages that the library makes */
#define TURN_BYTES (UINT64_C(2) << 20)
/* A process can have 65530 mappings, and mapped pages count as memory of the broker. */
#define MAPPED_MAX (UINT64_C(64) << 20)

/* The owner must seal the file: adding a seal waits for writes to the file, which may hang. */
#define SEALS_NEEDED  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define SEALS_REFUSED (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)

/* In fd_access. */
#define READERS  1
#define EVERYONE 3

int last_will_find(const uint8_t *fd_access, size_t fd_count)
{
	for (size_t i = 0; i < fd_count; i++) {
		if ((fd_access[i] & ~(LAST_WILL_HAS_READERS | LAST_WILL_STAYS)) == LAST_WILL_ACCESS)
			return (int)i;
	}
	return -1;
}

/* --- the file --- */

/*
 * Whether a file is memory without huge pages, and not part of a file system that a user mounted.
 */
static bool file_is_ordinary_memory(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs system;

	return seals >= 0 && (seals & SEALS_NEEDED) == SEALS_NEEDED && !(seals & SEALS_REFUSED) &&
		fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static ww_status signal_page_check_file(int fd, struct stat *out_status)
{
	if (!file_is_ordinary_memory(fd) || fstat(fd, out_status) < 0)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"the writable descriptor of a signal page is no ordinary memory file that is "
			"sealed against changes of its size; use memfd_create() with F_SEAL_SHRINK, "
			"F_SEAL_GROW and F_SEAL_SEAL");
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"the writable descriptor of a signal page is not open for reading and writing; send "
			"the one that memfd_create() gave");
	if (out_status->st_size < BYTES_LEAST || out_status->st_size > WW_SIGNAL_PAGE_MOST)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"a signal page has %d to %d bytes, not %lld; use several", BYTES_LEAST,
			WW_SIGNAL_PAGE_MOST, (long long)out_status->st_size);
	return WW_OK;
}

/* The owner of the page may have punched holes, which are filled here. */
static ww_status signal_page_populate(struct ww_layout_signal_page *page, uint64_t bytes)
{
	if (madvise(page, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
		return WW_OK;
	return ww_fail_errno_as(WW_ERR_NO_MEMORY, errno, NULL,
		"the broker cannot have the %" PRIu64 " bytes of a signal page", bytes);
}

static ww_status signal_page_map(int fd, uint64_t bytes, struct ww_layout_signal_page **out_page)
{
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ww_status status;

	*out_page = NULL;
	if (page == MAP_FAILED)
		return ww_fail_errno_as(WW_ERR_NO_MEMORY, errno, NULL,
			"the broker cannot map a signal page of %" PRIu64 " bytes", bytes);
	status = signal_page_populate(page, bytes);
	if (status < 0) {
		munmap(page, bytes);
		return status;
	}
	*out_page = page;
	return WW_OK;
}

/* --- a put --- */

static ww_status signal_page_check(int fd, uint64_t bytes)
{
	char message[WW_ERROR_MESSAGE_BYTES];
	struct ww_layout_signal_page *page;
	ww_status status;

	ww_try(signal_page_map(fd, bytes, &page));
	status = ww_signal_page_check(page, bytes);
	munmap(page, bytes);
	if (status == WW_OK || status == WW_ERR_VERSION)
		return status;
	/* The descriptor is wrong, not the packet. */
	memcpy(message, ww_error_last()->message, sizeof(message));
	return ww_fail(WW_ERR_DESCRIPTOR, "a descriptor with fd_access 4: %s", message);
}

static bool file_is_page(int fd, const struct stat *page)
{
	struct stat status;

	return fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &status) == 0 &&
		status.st_dev == page->st_dev && status.st_ino == page->st_ino;
}

static ww_status signal_page_check_alone(const struct ww_wire_put *put, int at, size_t fd_count)
{
	if (last_will_find(put->fd_access + at + 1, fd_count - (size_t)at - 1) >= 0)
		return ww_fail(WW_ERR_INVALID,
			"an object has at most one signal page (fd_access 4); put another object");
	if (put->state == WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_INVALID,
			"an object with a signal page is ready when it comes; put it as sealed (2) or "
			"shared (3), not as writing");
	return WW_OK;
}

ww_status last_will_check(const struct ww_wire_put *put, const int *fds, size_t fd_count)
{
	int at = last_will_find(put->fd_access, fd_count);
	bool has_reader = false;
	struct stat page;

	if (at < 0)
		return WW_OK;
	ww_try(signal_page_check_alone(put, at, fd_count));
	ww_try(signal_page_check_file(fds[at], &page));
	/*
	 * A process that has a memory file for reading can open it anew under /proc, as the mode
	 * allows.
	 */
	if (page.st_mode & (S_IWGRP | S_IWOTH))
		return ww_fail(WW_ERR_INVALID,
			"a signal page has mode 0%03o, so its readers could open it for writing; call "
			"fchmod(fd, 0600) first",
			page.st_mode & 0777);
	for (size_t i = 0; i < fd_count; i++) {
		uint8_t access;

		if (i == (size_t)at || !file_is_page(fds[i], &page))
			continue;
		/*
		 * Descriptors of the same page for other processes must be for readers, or for all
		 * if the object is shared.
		 */
		access = put->fd_access[i];
		if (access != READERS && (access != EVERYONE || put->state != WW_WIRE_STATE_SHARED))
			return ww_fail(WW_ERR_INVALID,
				"fd_access of descriptor %zu, of a signal page, is %u; it is for readers (1), or "
				"in a shared object for all (3)",
				i, access);
		if ((fcntl(fds[i], F_GETFL) & O_ACCMODE) != O_RDONLY)
			return ww_fail(WW_ERR_INVALID,
				"descriptor %zu, for the readers of a signal page, is writable; open "
				"/proc/self/fd/N with O_RDONLY and send that",
				i);
		has_reader = true;
	}
	ww_try(signal_page_check(fds[at], (uint64_t)page.st_size));
	if (!has_reader)
		return ww_fail(WW_ERR_INVALID,
			"a signal page comes with no descriptor for its readers; open /proc/self/fd/N "
			"with O_RDONLY and send that too");
	return WW_OK;
}

/* --- of an object --- */

/* Which of the descriptors of an object with a last will that is. */
static int last_will_at(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	int at = last_will_find(record->fd_access, record->fd_count);

	ww_assert(at >= 0);
	return at;
}

static int signal_page_fd(const struct registry *registry, const struct object *object)
{
	return (int)object_record(registry, object)->fds[last_will_at(registry, object)];
}

ww_status last_will_open(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct last_will *last_will;
	struct stat file;

	if (last_will_find(record->fd_access, record->fd_count) < 0)
		return WW_OK;
	ww_try(signal_page_check_file(signal_page_fd(registry, object), &file));
	ww_try(object_need_extra(object));
	last_will = calloc(1, sizeof(*last_will));
	if (!last_will)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	ww_list_init(&last_will->of_exit_waits);
	last_will->object = object;
	last_will->bytes = (uint64_t)file.st_size;
	if (registry->mapped_bytes + last_will->bytes <= MAPPED_MAX &&
		signal_page_map(signal_page_fd(registry, object), last_will->bytes,
			&last_will->page) == WW_OK)
		registry->mapped_bytes += last_will->bytes;
	object->extra->last_will = last_will;
	return WW_OK;
}

bool last_will_is_enough(const struct registry *registry)
{
	return registry->executed_bytes >= TURN_BYTES;
}

static uint8_t *last_will_access(const struct registry *registry, const struct object *object)
{
	return &object_record(registry, object)->fd_access[last_will_at(registry, object)];
}

void last_will_note_reader(struct registry *registry, const struct object *object)
{
	if (object->extra->last_will)
		*last_will_access(registry, object) |= LAST_WILL_HAS_READERS;
}

bool last_will_has_readers(const struct registry *registry, const struct object *object)
{
	return *last_will_access(registry, object) & LAST_WILL_HAS_READERS;
}

ww_status last_will_borrow(const struct registry *registry, const struct object *object,
	struct ww_layout_signal_page **out_page)
{
	const struct last_will *last_will = object->extra->last_will;
	struct ww_layout_signal_page *page = last_will ? last_will->page : NULL;

	*out_page = NULL;
	if (page)
		ww_try(signal_page_populate(page, last_will->bytes));
	else if (last_will)
		ww_try(signal_page_map(signal_page_fd(registry, object), last_will->bytes, &page));
	*out_page = page;
	return WW_OK;
}

void last_will_give_back(const struct object *object, struct ww_layout_signal_page *page)
{
	if (page && !object->extra->last_will->page)
		munmap(page, object->extra->last_will->bytes);
}

static bool last_will_execute_page(struct registry *registry, const struct object *object,
	bool is_thorough, bool has_ended)
{
	struct ww_layout_signal_page *page;
	const struct ww_layout_object_record *record;
	const char *program;

	registry->executed_bytes += object->extra->last_will->bytes;
	if (last_will_borrow(registry, object, &page) < 0) {
		ww_log_debug("last will: %s", ww_error_last()->message);
		return false;
	}
	record = object_record(registry, object);
	program = object->creator ? (const char *)holder_record(registry, object->creator)->program
				  : "";
	ww_signal_page_poison(page, object->extra->last_will->bytes, record->maker_pid, program,
		is_thorough);
	if (has_ended)
		ww_signal_page_end(page);
	last_will_give_back(object, page);
	return true;
}

bool last_will_execute(struct registry *registry, const struct object *object, bool is_thorough)
{
	return last_will_execute_page(registry, object, is_thorough, false);
}

bool last_will_execute_last(struct registry *registry, const struct object *object, bool has_ended)
{
	return last_will_execute_page(registry, object, !object->extra->last_will->has_woken,
		has_ended);
}

void last_will_close(struct registry *registry, struct object *object)
{
	struct last_will *last_will = ww_steal(object->extra->last_will);

	if (!last_will)
		return;
	if (last_will->page) {
		munmap(last_will->page, last_will->bytes);
		registry->mapped_bytes -= last_will->bytes;
	}
	exit_wait_remove(registry, last_will);
	free(last_will);
}

void last_will_close_record(struct ww_layout_object_record *record)
{
	int at = last_will_find(record->fd_access, record->fd_count);

	ww_assert(at >= 0);
	record->fd_access[at] &= LAST_WILL_STAYS;
}

bool last_will_is_closed(const struct ww_layout_object_record *record)
{
	for (uint8_t i = 0; i < record->fd_count; i++) {
		if ((record->fd_access[i] & ~LAST_WILL_STAYS) == 0)
			return true;
	}
	return false;
}

void last_will_stay(struct ww_layout_object_record *record)
{
	int at = last_will_find(record->fd_access, WW_WIRE_FDS);

	ww_assert(at >= 0);
	record->fd_access[at] |= LAST_WILL_STAYS;
}

bool last_will_stays(const struct ww_layout_object_record *record)
{
	for (uint8_t i = 0; i < record->fd_count; i++) {
		if (record->fd_access[i] & LAST_WILL_STAYS)
			return true;
	}
	return false;
}

/* If the broker is killed between two steps, calling this again gives the same record. */
void last_will_keep_only(struct ww_layout_object_record *record)
{
	int at = last_will_find(record->fd_access, record->fd_count);

	if (at < 0) {
		record->fd_count = 0;
		return;
	}
	record->fds[0] = record->fds[at];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	record->fd_access[0] = record->fd_access[at];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memset(record->fd_access + 1, 0, sizeof(record->fd_access) - 1);
	record->fd_count = 1;
}
