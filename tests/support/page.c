/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - a signal page by hand, see page.h
 */
#include "support/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/await.h"
#include "base/clock.h"
#include "support/check.h"
#include "support/child.h"

static int reopen(int fd)
{
	char path[32];
	int reader;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	MUST_CALL(reader);
	return reader;
}

void page_make(struct page *page)
{
	uint8_t id[WW_WIRE_ID_BYTES];

	MUST_EQUAL(sizeof(id), getrandom(id, sizeof(id), 0));
	page->bytes = WW_SIGNAL_PAGE_BYTES;
	page->writer = raw_memory_writable(page->bytes);
	MUST_CALL(fchmod(page->writer, 0600));
	page->reader = reopen(page->writer);
	page->page = mmap(NULL, page->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, page->writer, 0);
	MUST(page->page != MAP_FAILED);
	ww_signal_page_init(page->page, page->bytes, id, (uint32_t)getpid(), getuid(), "page");
	ww_signal_cell_open(page_cell(page, 0), 0);
}

void page_take(struct page *page, int reader)
{
	struct stat status;

	page->writer = -1;
	page->reader = fcntl(reader, F_DUPFD_CLOEXEC, 0);
	MUST_CALL(page->reader);
	MUST_CALL(fstat(reader, &status));
	page->bytes = (uint64_t)status.st_size;
	page->page = mmap(NULL, page->bytes, PROT_READ, MAP_SHARED, reader, 0);
	MUST(page->page != MAP_FAILED);
	MUST_OK(ww_signal_page_check(page->page, page->bytes));
}

void page_close(struct page *page)
{
	munmap(page->page, page->bytes);
	close(page->reader);
	if (page->writer >= 0)
		close(page->writer);
}

struct ww_layout_signal_cell *page_cell(const struct page *page, uint32_t number)
{
	struct ww_layout_signal_cell *cell = ww_signal_page_cell(page->page, page->bytes,
		sizeof(*page->page) + number * sizeof(*cell));

	MUST(cell != NULL);
	return cell;
}

struct ww_wire_put page_object(const char *name)
{
	struct ww_wire_put put = raw_object(name);

	put.kind = WW_WIRE_KIND_TIMELINE;
	put.fd_access[0] = 1;
	put.fd_access[1] = 4;
	return put;
}

ww_status page_put(struct raw *raw, const struct ww_wire_put *put, const struct page *page)
{
	const int fds[2] = {page->reader, page->writer};

	return raw_put(raw, put, fds, 2);
}

static uint64_t deadline_ns(void)
{
	return ww_clock_deadline_ns((uint64_t)child_limit_ms() * 1000000);
}

static enum ww_await_look look_lost(void *context)
{
	struct ww_signal_look look;

	ww_signal_cell_look(context, &look);
	return look.state == WW_WIRE_CELL_STATE_LOST ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
}

void page_wait_lost(const struct page *page, uint32_t number)
{
	struct ww_layout_signal_cell *cell = page_cell(page, number);

	MUST_OK(ww_await(&cell->wakes, look_lost, cell, deadline_ns()));
	page_wait_poison(page, number);
}

static enum ww_await_look look_poison(void *context)
{
	const struct ww_layout_signal_cell *cell = context;
	uint64_t completed = __atomic_load_n(&cell->completed, __ATOMIC_ACQUIRE);

	return completed == WW_SIGNAL_POISON ? WW_AWAIT_DONE : WW_AWAIT_POLL;
}

void page_wait_poison(const struct page *page, uint32_t number)
{
	struct ww_layout_signal_cell *cell = page_cell(page, number);

	MUST_OK(ww_await(&cell->wakes, look_poison, cell, deadline_ns()));
}
