/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testament.c - what a process leaves with the broker for its end, see testament.h
 *
 * Only ordinary memory files are accepted: mapping or touching anything else may wait for somebody. A hole in one is
 * filled before it is touched (MADV_POPULATE_WRITE), which can fail where a store would kill us.
 */
#include "broker/testament.h"

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
#include "broker/mourning.h"

#ifndef MADV_POPULATE_WRITE /* Linux 5.14 */
#define MADV_POPULATE_WRITE 23
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define BYTES_LEAST 4096
#define TURN_BYTES  (UINT64_C(2) << 20) /* about 4 ms, and 128 of the pages that the library makes */
/* A process has 65530 mappings, and what is mapped counts as our memory. */
#define MAPPED_MAX (UINT64_C(64) << 20)

/* Its owner seals it: to add a seal waits for a write to the file, which may wait for somebody. */
#define SEALS_NEEDED  (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define SEALS_REFUSED (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)

/* In fd_access. */
#define READERS  1
#define EVERYONE 3

int testament_find(const uint8_t fd_access[WW_WIRE_FDS], size_t fd_count)
{
	for (size_t i = 0; i < fd_count; i++) {
		if ((fd_access[i] & ~TESTAMENT_SHARED) == TESTAMENT_ACCESS)
			return (int)i;
	}
	return -1;
}

/* --- the file --- */

/* Memory that is neither made of huge pages nor part of a file system that somebody mounted. */
static bool is_ordinary_memory(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs system;

	return seals >= 0 && (seals & SEALS_NEEDED) == SEALS_NEEDED && !(seals & SEALS_REFUSED) &&
		fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static ww_status check_file(int fd, struct stat *out_status)
{
	if (!is_ordinary_memory(fd) || fstat(fd, out_status) < 0)
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

/* Its owner may have punched holes. */
static ww_status fill(struct ww_layout_signal_page *page, uint64_t bytes)
{
	if (madvise(page, bytes, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
		return WW_OK;
	return ww_fail_errno_as(WW_ERR_NO_MEMORY, errno, NULL,
		"the broker cannot have the %" PRIu64 " bytes of a signal page", bytes);
}

static ww_status map(int fd, uint64_t bytes, struct ww_layout_signal_page **out_page)
{
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ww_status status;

	*out_page = NULL;
	if (page == MAP_FAILED)
		return ww_fail_errno_as(WW_ERR_NO_MEMORY, errno, NULL,
			"the broker cannot map a signal page of %" PRIu64 " bytes", bytes);
	status = fill(page, bytes);
	if (status < 0) {
		munmap(page, bytes);
		return status;
	}
	*out_page = page;
	return WW_OK;
}

/* --- a put --- */

static ww_status check_page(int fd, uint64_t bytes)
{
	char message[WW_ERROR_MESSAGE_BYTES];
	struct ww_layout_signal_page *page;
	ww_status status;

	ww_try(map(fd, bytes, &page));
	status = ww_signal_page_check(page, bytes);
	munmap(page, bytes);
	if (status == WW_OK || status == WW_ERR_VERSION)
		return status;
	/* It is not the packet that is wrong. */
	memcpy(message, ww_error_last()->message, sizeof(message));
	return ww_fail(WW_ERR_DESCRIPTOR, "a descriptor with fd_access 4: %s", message);
}

/* Who has a memory file for reading can open it anew under /proc, as its mode allows. */
static ww_status check_mode(const struct stat *page)
{
	if (page->st_mode & (S_IWGRP | S_IWOTH))
		return ww_fail(WW_ERR_INVALID,
			"a signal page has mode 0%03o, so its readers could open it for writing; call "
			"fchmod(fd, 0600) first",
			page->st_mode & 0777);
	return WW_OK;
}

static bool is_of(int fd, const struct stat *page)
{
	struct stat status;

	return fcntl(fd, F_GET_SEALS) >= 0 && fstat(fd, &status) == 0 &&
		status.st_dev == page->st_dev && status.st_ino == page->st_ino;
}

/* What others are given of that very page is for readers, who those may be that write other things of the object. */
static ww_status check_reader(const struct ww_wire_put *put, int fd, size_t at)
{
	uint8_t access = put->fd_access[at];

	if (access != READERS && (access != EVERYONE || put->state != WW_WIRE_STATE_SHARED))
		return ww_fail(WW_ERR_INVALID,
			"fd_access of descriptor %zu, of a signal page, is %u; it is for readers (1), or "
			"in a shared object for all (3)",
			at, access);
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		return ww_fail(WW_ERR_INVALID,
			"descriptor %zu, for the readers of a signal page, is writable; open "
			"/proc/self/fd/N with O_RDONLY and send that",
			at);
	return WW_OK;
}

static ww_status check_alone(const struct ww_wire_put *put, int at, size_t fd_count)
{
	if (testament_find(put->fd_access + at + 1, fd_count - (size_t)at - 1) >= 0)
		return ww_fail(WW_ERR_INVALID,
			"an object has at most one signal page (fd_access 4); put another object");
	if (put->state == WW_WIRE_STATE_WRITING)
		return ww_fail(WW_ERR_INVALID,
			"an object with a signal page is ready when it comes; put it as sealed (2) or "
			"shared (3), not as writing");
	return WW_OK;
}

ww_status testament_check(const struct ww_wire_put *put, const int *fds, size_t fd_count)
{
	int at = testament_find(put->fd_access, fd_count);
	bool has_reader = false;
	struct stat page;

	if (at < 0)
		return WW_OK;
	ww_try(check_alone(put, at, fd_count));
	ww_try(check_file(fds[at], &page));
	ww_try(check_mode(&page));
	for (size_t i = 0; i < fd_count; i++) {
		if (i == (size_t)at || !is_of(fds[i], &page))
			continue;
		ww_try(check_reader(put, fds[i], i));
		has_reader = true;
	}
	ww_try(check_page(fds[at], (uint64_t)page.st_size));
	if (!has_reader)
		return ww_fail(WW_ERR_INVALID,
			"a signal page comes with no descriptor for its readers; open /proc/self/fd/N "
			"with O_RDONLY and send that too");
	return WW_OK;
}

/* --- of an object --- */

static int page_fd(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	int at = testament_find(record->fd_access, record->fd_count);

	ww_assert(at >= 0);
	return (int)record->fds[at];
}

ww_status testament_open(struct registry *registry, struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	struct testament *testament;
	struct stat file;

	if (testament_find(record->fd_access, record->fd_count) < 0)
		return WW_OK;
	ww_try(check_file(page_fd(registry, object), &file));
	testament = calloc(1, sizeof(*testament));
	if (!testament)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	ww_list_init(&testament->of_mourned);
	testament->object = object;
	testament->bytes = (uint64_t)file.st_size;
	if (registry->mapped_bytes + testament->bytes <= MAPPED_MAX &&
		map(page_fd(registry, object), testament->bytes, &testament->page) == WW_OK)
		registry->mapped_bytes += testament->bytes;
	object->testament = testament;
	return WW_OK;
}

static void poison(const struct registry *registry, const struct object *object,
	struct ww_layout_signal_page *page, bool is_thorough)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	const char *program = object->maker
		? (const char *)holder_record(registry, object->maker)->program
		: "";

	ww_signal_page_poison(page, object->testament->bytes, record->maker_pid, program,
		is_thorough);
}

bool testament_is_enough(const struct registry *registry)
{
	return registry->executed_bytes >= TURN_BYTES;
}

static uint8_t *access_of(const struct registry *registry, const struct object *object)
{
	struct ww_layout_object_record *record = object_record(registry, object);
	int at = testament_find(record->fd_access, record->fd_count);

	ww_assert(at >= 0);
	return &record->fd_access[at];
}

void testament_share(struct registry *registry, const struct object *object)
{
	if (object->testament)
		*access_of(registry, object) |= TESTAMENT_SHARED;
}

bool testament_is_shared(const struct registry *registry, const struct object *object)
{
	return *access_of(registry, object) & TESTAMENT_SHARED;
}

ww_status testament_borrow(const struct registry *registry, const struct object *object,
	struct ww_layout_signal_page **out_page)
{
	const struct testament *testament = object->testament;
	struct ww_layout_signal_page *page = testament ? testament->page : NULL;

	*out_page = NULL;
	if (page)
		ww_try(fill(page, testament->bytes));
	else if (testament)
		ww_try(map(page_fd(registry, object), testament->bytes, &page));
	*out_page = page;
	return WW_OK;
}

void testament_give_back(const struct object *object, struct ww_layout_signal_page *page)
{
	if (page && !object->testament->page)
		munmap(page, object->testament->bytes);
}

static bool execute(struct registry *registry, const struct object *object, bool is_thorough,
	bool has_ended)
{
	struct ww_layout_signal_page *page;

	registry->executed_bytes += object->testament->bytes;
	if (testament_borrow(registry, object, &page) < 0) {
		ww_log_debug("testament: %s", ww_error_last()->message);
		return false;
	}
	poison(registry, object, page, is_thorough);
	if (has_ended)
		ww_signal_page_end(page);
	testament_give_back(object, page);
	return true;
}

bool testament_execute(struct registry *registry, const struct object *object, bool is_thorough)
{
	return execute(registry, object, is_thorough, false);
}

bool testament_execute_last(struct registry *registry, const struct object *object, bool has_ended)
{
	return execute(registry, object, !object->testament->has_woken, has_ended);
}

void testament_close(struct registry *registry, struct object *object)
{
	struct testament *testament = ww_steal(object->testament);

	if (!testament)
		return;
	if (testament->page) {
		munmap(testament->page, testament->bytes);
		registry->mapped_bytes -= testament->bytes;
	}
	mourning_leave(registry, testament);
	free(testament);
}

void testament_close_record(struct ww_layout_object_record *record)
{
	int at = testament_find(record->fd_access, record->fd_count);

	ww_assert(at >= 0);
	record->fd_access[at] = 0;
}

bool testament_is_closed(const struct ww_layout_object_record *record)
{
	return memchr(record->fd_access, 0, record->fd_count) != NULL;
}

/* Each step leaves a record that this function makes the same of. */
void testament_keep_only(struct ww_layout_object_record *record)
{
	int at = testament_find(record->fd_access, record->fd_count);

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
