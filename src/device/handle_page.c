/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handle_page.c - the page that stands for memory without a descriptor of its own, see
 * handle_page.h
 *
 * Any process may have written the bytes that an importer reads: they are copied, and the copy is
 * checked and used. If a page has a wrong lock state, or is withdrawn at the wrong time, this harms
 * only processes that import the memory of its creator.
 *
 * The lock is of the open file description, so it ends with the owner's last descriptor of it;
 * others have their own, made by opening the page anew for reading. A child that the owner forked
 * keeps it too: then the driver finds out.
 */
#include "device/handle_page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/random.h"
#include "device/memfd.h"

#define MAGIC   "WWFOREIG"
#define VERSION 1

_Static_assert(sizeof(struct ww_foreign_record) == 192, "as in protocol/broker.xml");

static pthread_mutex_t lock WW_PER_PROCESS = PTHREAD_MUTEX_INITIALIZER;
static bool has_process_id WW_PER_PROCESS; /* under lock, as is the next; constant once set */
static uint8_t own_process_id[WW_FOREIGN_ID_BYTES];

bool ww_foreign_is_this_process(const uint8_t process_id[WW_FOREIGN_ID_BYTES])
{
	bool is_same;

	pthread_mutex_lock(&lock);
	is_same = has_process_id && memcmp(own_process_id, process_id, sizeof(own_process_id)) == 0;
	pthread_mutex_unlock(&lock);
	return is_same;
}

/* False also where the kernel does not say. */
static bool is_abandoned(int fd)
{
	struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_UNLCK;
}

ww_status ww_handle_page_create(struct ww_handle_page *page, struct ww_foreign_fields *fields)
{
	WW_AUTO_FD int fd = -1;
	void *pointer;
	ww_status status = WW_OK;
	struct ww_foreign_record *record;
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fields->pid = (uint32_t)getpid();
	pthread_mutex_lock(&lock);
	if (!has_process_id)
		status = ww_random_bytes(own_process_id, sizeof(own_process_id));
	has_process_id = status == WW_OK;
	memcpy(fields->process_id, own_process_id, sizeof(own_process_id));
	pthread_mutex_unlock(&lock);
	ww_try(status);
	ww_try(ww_memfd_create(WW_HANDLE_PAGE_BYTES, &fd));
	ww_try(ww_memfd_map(fd, WW_HANDLE_PAGE_BYTES, WW_ACCESS_WRITE, &pointer));
	page->is_locked = fcntl(fd, F_OFD_SETLK, &whole) == 0;
	page->record = pointer;
	page->is_own = true;
	record = page->record;
	memcpy(record->magic, MAGIC, sizeof(record->magic));
	record->version = VERSION;
	record->backing = fields->backing;
	record->pid = fields->pid;
	record->is_locked = page->is_locked;
	record->bytes = fields->bytes;
	record->base = fields->base;
	record->buffer_id = fields->buffer_id;
	memcpy(record->process_id, fields->process_id, sizeof(record->process_id));
	memcpy(record->pool_id, fields->pool_id, sizeof(record->pool_id));
	memcpy(record->handle, fields->handle, sizeof(record->handle));
	page->fd = ww_fd_steal(&fd);
	return WW_OK;
}

static ww_status check(const struct ww_foreign_record *record)
{
	if (memcmp(record->magic, MAGIC, sizeof(record->magic)) != 0)
		return ww_fail(WW_ERR_PROTOCOL,
			"refused a descriptor that is described as wrapped memory: it is not the page of such "
			"a memory");
	if (record->version != VERSION)
		return ww_fail(WW_ERR_VERSION,
			"the page of a wrapped memory has version %" PRIu32
			", this library (%s) reads version %d; use one version of Warpway in both processes",
			record->version, WW_VERSION, VERSION);
	if (record->backing != WW_BACKING_CUDA_LEGACY && record->backing != WW_BACKING_CUDA_POOL)
		return ww_fail(WW_ERR_PROTOCOL,
			"the page of a wrapped memory names no known backing: %" PRIu32,
			record->backing);
	if (record->bytes == 0 || record->bytes > INT64_MAX)
		return ww_fail(WW_ERR_PROTOCOL,
			"the page of a wrapped memory names an impossible size: %" PRIu64 " bytes",
			record->bytes);
	return WW_OK;
}

ww_status ww_handle_page_open(struct ww_handle_page *page, int fd,
	struct ww_foreign_fields *out_fields)
{
	struct ww_foreign_record copy;
	WW_AUTO_FD int own = -1;
	void *pointer;
	ww_status status;

	ww_try(ww_fd_duplicate(fd, &own));
	ww_try(ww_memfd_check(own, WW_HANDLE_PAGE_BYTES));
	ww_try(ww_memfd_map(own, WW_HANDLE_PAGE_BYTES, WW_ACCESS_READ, &pointer));
	memcpy(&copy, pointer, sizeof(copy));
	status = check(&copy);
	if (status < 0) {
		ww_memfd_unmap(pointer, WW_HANDLE_PAGE_BYTES);
		return status;
	}
	out_fields->backing = (enum ww_backing)copy.backing;
	out_fields->pid = copy.pid;
	out_fields->bytes = copy.bytes;
	out_fields->base = copy.base;
	out_fields->buffer_id = copy.buffer_id;
	memcpy(out_fields->process_id, copy.process_id, sizeof(copy.process_id));
	memcpy(out_fields->pool_id, copy.pool_id, sizeof(copy.pool_id));
	memcpy(out_fields->handle, copy.handle, sizeof(copy.handle));
	page->record = pointer;
	page->is_own = false;
	page->is_locked = copy.is_locked == 1;
	page->fd = ww_fd_steal(&own);
	return WW_OK;
}

ww_status ww_handle_page_check(const struct ww_handle_page *page)
{
	if (__atomic_load_n(&page->record->withdrawn, __ATOMIC_ACQUIRE))
		return ww_fail(WW_ERR_NOT_FOUND,
			"this memory was wrapped, and its owner has released it; ask for a new token");
	if (page->is_locked && !page->is_own && is_abandoned(page->fd))
		return ww_fail(WW_ERR_PEER_LOST,
			"this memory was wrapped, and the process that owned it has ended: it cannot be "
			"imported any more");
	return WW_OK;
}

ww_status ww_foreign_identify(int fd, const struct ww_foreign_fields *fields,
	struct ww_foreign_identity *out_identity)
{
	struct stat file;

	if (fstat(fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot identify a wrapped memory");
	out_identity->device = file.st_dev;
	out_identity->inode = file.st_ino;
	out_identity->buffer_id = fields->buffer_id;
	out_identity->bytes = fields->bytes;
	memcpy(out_identity->process_id, fields->process_id, sizeof(out_identity->process_id));
	memcpy(out_identity->handle, fields->handle, sizeof(out_identity->handle));
	return WW_OK;
}

bool ww_foreign_has_same_handle(const struct ww_foreign_identity *a,
	const struct ww_foreign_identity *b)
{
	return memcmp(a->handle, b->handle, sizeof(a->handle)) == 0;
}

bool ww_foreign_is_same(const struct ww_foreign_identity *a, const struct ww_foreign_identity *b)
{
	if (a->device == b->device && a->inode == b->inode)
		return true;
	return a->buffer_id != 0 && a->buffer_id == b->buffer_id && a->bytes == b->bytes &&
		memcmp(a->process_id, b->process_id, sizeof(a->process_id)) == 0 &&
		ww_foreign_has_same_handle(a, b);
}

void ww_handle_page_withdraw(struct ww_handle_page *page)
{
	if (page->record && page->is_own)
		__atomic_store_n(&page->record->withdrawn, 1, __ATOMIC_RELEASE);
}

void ww_handle_page_close(struct ww_handle_page *page)
{
	if (!page->record)
		return;
	ww_handle_page_withdraw(page);
	ww_memfd_unmap(page->record, WW_HANDLE_PAGE_BYTES);
	page->record = NULL;
	page->fd = ww_fd_close(page->fd);
}
