/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signal_page.c - objects with a signal page: which are taken in, who is given what, what they cost
 */
#include "broker/suite.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/page.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

CASE(signal_page_is_for_readers, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put put = page_object("page");
	struct ww_wire_granted granted;
	struct ww_wire_entry entry;
	uint8_t secret[16];
	struct page page;

	page_make(&page);
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, other->fd_count);
	MUST_EQUAL(O_RDONLY, fcntl(other->fds[0], F_GETFL) & O_ACCMODE);
	MUST_EQUAL(page.bytes, granted.bytes);
	MUST_REFUSE(WW_ERR_ACCESS, "is sealed",
		raw_get(other, "page", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "is sealed",
		raw_get(raw, "page", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_REFUSE(WW_ERR_ACCESS, "sealed",
		raw_export(raw, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, secret));
	MUST_OK(raw_export(raw, put.id, WW_WIRE_ACCESS_READ, 0, 0, secret));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, other->fd_count);
	/* A program of the protocol's first version can wait for it too. */
	other = old_peer(1);
	MUST_OK(raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	MUST_EQUAL(1, other->fd_count);
	MUST_OK(raw_stat(raw, "page", &entry));
	MUST_EQUAL(2, entry.fd_count);
	/* Put again, and named anew, it stays what it is. */
	MUST_OK(page_put(raw, &put, &page));
	put.state = WW_WIRE_STATE_SHARED;
	MUST_REFUSE(WW_ERR_EXISTS, "already",
		raw_put(peer(), &put, (int[]){page.reader, page.writer}, 2));
	MUST_OK(raw_release(raw, put.id));
	page_close(&page);
}

static void refuse(ww_status status, const char *word, const struct ww_wire_put *put,
	const int *fds, size_t count)
{
	MUST_REFUSE(status, word, raw_put(peer(), put, fds, count));
}

static int seal(int fd, int seals)
{
	MUST_CALL(fcntl(fd, F_ADD_SEALS, seals));
	return fd;
}

static int memory(uint64_t bytes, unsigned int flags)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, (off_t)bytes));
	MUST_CALL(fchmod(fd, 0600));
	return fd;
}

static void refuse_writer(ww_status status, const char *word, int fd)
{
	struct ww_wire_put put = page_object("page");

	put.fd_access[0] = 4;
	put.fd_access[1] = 0;
	refuse(status, word, &put, &fd, 1);
	close(fd);
}

/* What is no page, by the kernel's word. */
static void refuse_writers(const struct page *page)
{
	const int both = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int huge = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	refuse_writer(WW_ERR_DESCRIPTOR, "", eventfd(0, EFD_CLOEXEC));
	refuse_writer(WW_ERR_DESCRIPTOR, "", open("/dev/zero", O_RDWR | O_CLOEXEC));
	refuse_writer(WW_ERR_DESCRIPTOR, "", open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
	refuse_writer(WW_ERR_DESCRIPTOR, "seal it", memory(16384, 0));
	refuse_writer(WW_ERR_DESCRIPTOR, "ordinary memory", seal(memory(16384, 0), F_SEAL_GROW));
	refuse_writer(WW_ERR_DESCRIPTOR, "ordinary memory",
		seal(memory(16384, 0), both | F_SEAL_WRITE));
	refuse_writer(WW_ERR_DESCRIPTOR, "ordinary memory",
		seal(memory(16384, 0), both | F_SEAL_FUTURE_WRITE));
	refuse_writer(WW_ERR_DESCRIPTOR, "F_SEAL_SEAL",
		seal(memory(16384, 0), F_SEAL_SHRINK | F_SEAL_GROW));
	refuse_writer(WW_ERR_DESCRIPTOR, "bytes", seal(memory(4095, 0), both));
	refuse_writer(WW_ERR_DESCRIPTOR, "bytes", seal(memory((1 << 16) + 4096, 0), both));
	refuse_writer(WW_ERR_DESCRIPTOR, "bytes", seal(memory(UINT64_C(1) << 50, 0), both));
	refuse_writer(WW_ERR_DESCRIPTOR, "reading and writing",
		fcntl(page->reader, F_DUPFD_CLOEXEC, 0));
	refuse_writer(WW_ERR_DESCRIPTOR, "multiple of 4096", seal(memory(4097, 0), both));
	refuse_writer(WW_ERR_DESCRIPTOR, "no signal page", seal(memory(16384, 0), both));
	if (huge < 0 || ftruncate(huge, 2 << 20) < 0)
		check_note("no huge pages here: %m");
	else
		refuse_writer(WW_ERR_DESCRIPTOR, "ordinary memory", seal(huge, both));
}

/* What comes beside the page. */
static void refuse_readers(const struct page *page, const struct page *other)
{
	const struct ww_wire_put good = page_object("page");
	struct ww_wire_put put = good;

	for (uint8_t access = 2; access <= 3; access++) {
		put.fd_access[0] = access;
		refuse(WW_ERR_INVALID, "is for readers", &put, (int[]){page->reader, page->writer},
			2);
	}
	put.state = WW_WIRE_STATE_SHARED;
	put.fd_access[0] = 2;
	refuse(WW_ERR_INVALID, "is for readers", &put, (int[]){page->reader, page->writer}, 2);
	put.fd_access[0] = 3;
	refuse(WW_ERR_INVALID, "is writable", &put, (int[]){page->writer, page->writer}, 2);
	refuse(WW_ERR_INVALID, "is writable", &good, (int[]){page->writer, page->writer}, 2);
	/* One of the page there must be, and each of the page must be for readers. */
	refuse(WW_ERR_INVALID, "no descriptor for its readers", &good,
		(int[]){other->reader, page->writer}, 2);
	put = good;
	put.fd_access[2] = 1;
	refuse(WW_ERR_INVALID, "is writable", &put,
		(int[]){page->reader, page->writer, page->writer}, 3);
	put.fd_access[2] = 2;
	refuse(WW_ERR_INVALID, "is for readers", &put,
		(int[]){page->reader, page->writer, page->reader}, 3);
	put.fd_access[2] = 4;
	refuse(WW_ERR_INVALID, "at most one", &put,
		(int[]){page->reader, page->writer, other->writer}, 3);
	put.fd_access[2] = 5;
	refuse(WW_ERR_INVALID, "fd_access", &put, (int[]){page->reader, page->writer, page->reader},
		3);
}

CASE(signal_page_refused, 0)
{
	struct ww_wire_put put = page_object("page");
	struct page page;
	struct page other;
	struct raw *old = old_peer(1);

	page_make(&page);
	page_make(&other);
	refuse_writers(&page);
	refuse_readers(&page, &other);
	/* Others could open theirs for writing under /proc. */
	MUST_CALL(fchmod(page.writer, 0620));
	refuse(WW_ERR_INVALID, "mode 0620", &put, (int[]){page.reader, page.writer}, 2);
	MUST_CALL(fchmod(page.writer, 0602));
	refuse(WW_ERR_INVALID, "mode 0602", &put, (int[]){page.reader, page.writer}, 2);
	MUST_CALL(fchmod(page.writer, 0600));
	put.state = WW_WIRE_STATE_WRITING;
	refuse(WW_ERR_INVALID, "ready when it comes", &put, (int[]){page.reader, page.writer}, 2);
	put.state = WW_WIRE_STATE_SEALED;
	MUST_REFUSE(WW_ERR_INVALID, "1 to 3", page_put(old, &put, &page));
	/* None of all that has changed it, nor stayed anywhere. */
	wait_for(old, &(struct want){0, UINT64_MAX, 0, 0, 0});
	MUST_EQUAL(WW_WIRE_CELL_STATE_LIVE, page_cell(&page, 0)->state);
	page_close(&page);
	page_close(&other);
}

static void must_get(struct raw *raw, const char *name, uint8_t access, size_t fd_count)
{
	struct ww_wire_granted granted;

	MUST_OK(raw_get(raw, name, access, &granted));
	MUST_EQUAL(access, granted.access);
	MUST_EQUAL(fd_count, raw->fd_count);
	MUST_EQUAL(O_RDONLY, fcntl(raw->fds[0], F_GETFL) & O_ACCMODE);
}

/*
 * Beside a page may be what else the object consists of; who writes that gets no more of the page
 * than others.
 */
CASE(signal_page_beside_others, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct ww_wire_put put = page_object("sealed");
	int other_memory = raw_memory(4096);
	struct ww_wire_granted granted;
	struct page page;
	struct page table;

	page_make(&page);
	page_make(&table);
	memcpy(put.fd_access, (uint8_t[8]){1, 4, 1, 2, 3}, 8);
	MUST_OK(raw_put(raw, &put,
		(int[]){page.reader, page.writer, table.reader, table.writer, other_memory}, 5));
	must_get(other, "sealed", WW_WIRE_ACCESS_READ, 3);
	MUST_REFUSE(WW_ERR_ACCESS, "is sealed",
		raw_get(other, "sealed", WW_WIRE_ACCESS_WRITE, &granted));
	MUST_OK(raw_release(raw, put.id));
	put = page_object("shared");
	put.state = WW_WIRE_STATE_SHARED;
	memcpy(put.fd_access, (uint8_t[8]){3, 4, 1, 2}, 8);
	MUST_OK(raw_put(raw, &put, (int[]){page.reader, page.writer, table.reader, table.writer},
		4));
	must_get(other, "shared", WW_WIRE_ACCESS_READ, 2);
	must_get(other, "shared", WW_WIRE_ACCESS_WRITE, 2);
	MUST_EQUAL(O_RDWR, fcntl(other->fds[1], F_GETFL) & O_ACCMODE);
	MUST_OK(raw_release(raw, put.id));
	close(other_memory);
	page_close(&page);
	page_close(&table);
}

CASE(signal_page_of_another_version, 0)
{
	struct raw *raw = peer();
	const struct ww_wire_put put = page_object("page");
	struct page page;

	page_make(&page);
	page.page->version++;
	MUST_REFUSE(WW_ERR_VERSION, "layout version 2", page_put(raw, &put, &page));
	page.page->version--;
	page.page->magic[0] ^= 1;
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "no signal page", page_put(raw, &put, &page));
	page.page->magic[0] ^= 1;
	page.page->bytes += 4096;
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "says it has", page_put(raw, &put, &page));
	page.page->bytes -= 4096;
	page.page->cell_count++;
	MUST_REFUSE(WW_ERR_DESCRIPTOR, "cannot be", page_put(raw, &put, &page));
	page.page->cell_count--;
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_release(raw, put.id));
	page_close(&page);
}

/* What its owner does to it later harms nobody: header, holes, seals. */
CASE(signal_page_changes_afterwards, ONCE)
{
	const struct ww_wire_put put = page_object("page");
	struct ww_wire_granted granted;
	struct raw *raw;
	struct raw *other;
	struct page page;
	struct page theirs;

	suite_start(NULL, 0);
	raw = peer();
	other = peer();
	page_make(&page);
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	page_take(&theirs, other->fds[0]);
	MUST_EQUAL(-1, fcntl(page.writer, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
	MUST_CALL(fallocate(page.writer, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8192));
	memset(page.page, 0xff, 128);
	page_cell(&page, 1)->state = 0;
	page_cell(&page, 2)->state = 77;
	raw_close(raw);
	for (uint32_t i = 0; i < ww_signal_page_cells(page.bytes); i++)
		page_wait_poison(&theirs, i);
	page_close(&page);
	page_close(&theirs);
}

/* The maker has closed it: nobody speaks for it. */
CASE(signal_page_released_in_order, 0)
{
	struct raw *raw = peer();
	struct raw *other = peer();
	struct raw *eye = watcher();
	struct ww_wire_put put = page_object("page");
	struct ww_wire_granted granted;
	struct page page;

	page_make(&page);
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_watch(eye, "", 0));
	MUST_OK(raw_release(raw, put.id));
	raw_hear_event(eye, WW_WIRE_WHAT_GONE, "page");
	wait_for(raw, &(struct want){1, 2, 1, 0, 1});
	MUST_REFUSE(WW_ERR_NOT_FOUND, "no object",
		raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	/* The same after it was removed, and when it is put anew. */
	memset(put.id, 1, sizeof(put.id));
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_get(other, "page", WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_end(raw, "page"));
	wait_for(raw, &(struct want){2, 2, 3, 2, 1});
	MUST_OK(page_put(raw, &put, &page));
	wait_for(raw, &(struct want){3, 2, 3, 3, 1});
	MUST_OK(raw_release(raw, put.id));
	wait_for(raw, &(struct want){2, 2, 2, 0, 1});
	raw_close(raw);
	wait_for(other, &(struct want){2, 1, 2, 0, 1});
	MUST_EQUAL(0, page.page->lost);
	MUST_EQUAL(0, page_cell(&page, 0)->completed);
	page_close(&page);
}

/* What was removed is spoken for until it is in the broker anew. */
CASE(signal_page_put_anew_refused, ONCE)
{
	struct ww_wire_put put = page_object("page");
	struct ww_wire_put other = raw_object("other");
	struct ww_wire_granted granted;
	struct raw *raw;
	struct raw *waiter;
	struct page page;
	struct page theirs;

	suite_start("[limits]\nfds = 3\n", 0);
	raw = peer();
	waiter = peer();
	page_make(&page);
	MUST_OK(page_put(raw, &put, &page));
	MUST_OK(raw_get(waiter, "page", WW_WIRE_ACCESS_READ, &granted));
	page_take(&theirs, waiter->fds[0]);
	MUST_OK(raw_end(raw, "page"));
	MUST_OK(raw_put(raw, &other, (int[]){page.reader}, 1));
	MUST_REFUSE(WW_ERR_QUOTA, "descriptors", page_put(raw, &put, &page));
	raw_close(raw);
	page_wait_lost(&theirs, 0);
	page_close(&page);
	page_close(&theirs);
}

/* Letting go by not confirming is as good. */
CASE(signal_page_released_with_restart, ONCE)
{
	const struct ww_wire_confirm nothing = {.last = 1};
	const struct ww_wire_put put = page_object("page");
	struct ww_wire_confirmed confirmed;
	struct raw *raw;
	struct page page;

	suite_start(NULL, 0);
	raw = peer();
	page_make(&page);
	MUST_OK(page_put(raw, &put, &page));
	suite_kill_broker(raw);
	suite_come_back(raw, true);
	wait_for(raw, &(struct want){1, 1, 1, 3, 0});
	MUST_OK(raw_call(raw, confirm, &nothing, confirmed, &confirmed));
	MUST_EQUAL(1, confirmed.released);
	wait_for(raw, &(struct want){0, 1, 0, 0, 0});
	MUST_EQUAL(0, page.page->lost);
	page_close(&page);
}

/* Two descriptors, and a share of its maker's pidfd. */
CASE(signal_page_charges, 0)
{
	struct ww_wire_put put = page_object("a");
	struct raw *raw;
	struct page page;

	suite_start("[limits]\nfds = 5\nhost_bytes = 40K\n", 0);
	raw = peer();
	page_make(&page);
	MUST_OK(page_put(raw, &put, &page));
	wait_for(raw, &(struct want){1, 1, 1, 3, 0});
	put = page_object("b");
	MUST_REFUSE(WW_ERR_QUOTA, "descriptors", page_put(raw, &put, &page));
	wait_for(raw, &(struct want){1, 1, 1, 3, 0});
	/* What is removed while its maker lives and holds it still costs the page. */
	MUST_OK(raw_end(raw, "a"));
	wait_for(raw, &(struct want){1, 1, 1, 2, 0});
	MUST_OK(page_put(raw, &put, &page));
	wait_for(raw, &(struct want){2, 1, 2, 5, 0});
	put = raw_object("c");
	MUST_REFUSE(WW_ERR_QUOTA, "bytes of host memory",
		raw_put(raw, &put, (int[]){page.reader}, 1));
	page_close(&page);
}

/* To come, put a page and go, again and again, is no way around the limit of connections. */
CASE(signal_pages_awaiting_exit_cost_connections, ONCE)
{
	struct raw *waiter;
	struct raw *late;
	struct page page;

	suite_start("[limits]\nconnections = 4\n", 0);
	waiter = peer();
	page_make(&page);
	for (int i = 0; i < 3; i++) {
		struct raw *maker = peer();
		struct ww_wire_put put = page_object("page");
		struct ww_wire_granted granted;

		MUST_OK(page_put(maker, &put, &page));
		MUST_OK(raw_get(waiter, "page", WW_WIRE_ACCESS_READ, &granted));
		raw_close(maker);
		wait_for(waiter,
			&(struct want){UINT64_MAX, UINT64_MAX, (uint64_t)i + 1, UINT64_MAX, 0});
	}
	late = attacker();
	MUST_OK(raw_receive(late));
	MUST_REFUSE(WW_ERR_QUOTA, "4 connections", raw_refusal(late));
	page_close(&page);
}
