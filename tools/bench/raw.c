/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.c - chooses the raw calls of a device; pages of words, which the CPU has in the same way
 * everywhere
 */
#include "bench/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/cleanup.h"
#include "bench/mailbox.h"
#include "common/say.h"

/* Looks before the CPU is left to others. */
#define LOOKS 2000

int raw_open(const struct ww_device_info *info, struct raw **out_raw)
{
	if (info->backend == WW_BACKEND_CUDA)
		return raw_open_cuda(info, out_raw);
	if (info->backend == WW_BACKEND_HOST)
		return raw_open_host(out_raw);
	return complain("no raw calls are known for device %s", info->selector);
}

void raw_close(struct raw *raw)
{
	if (raw)
		raw->ops->close(raw);
}

static int map_page(struct raw *raw, int protection, struct raw_page *page)
{
	void *start = mmap(NULL, RAW_PAGE_BYTES, protection, MAP_SHARED, page->fd, 0);

	if (start == MAP_FAILED)
		return complain("cannot map a page: %s", strerror(errno));
	page->start = start;
	page->is_own = protection & PROT_WRITE;
	if (raw->ops->page_register(raw, page) == 0)
		return 0;
	munmap(start, RAW_PAGE_BYTES);
	page->start = NULL;
	return -1;
}

int raw_memfd(uint64_t bytes)
{
	int fd = memfd_create("warpway-bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return complain("memfd_create: %s", strerror(errno));
	if (!ftruncate(fd, (off_t)bytes) && !fallocate(fd, 0, 0, (off_t)bytes) &&
		!fchmod(fd, S_IRUSR | S_IWUSR) &&
		!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	complain("cannot set up a memfd: %s", strerror(errno));
	close(fd);
	return -1;
}

int raw_page_create(struct raw *raw, struct raw_page *page)
{
	page->fd = raw_memfd(RAW_PAGE_BYTES);
	return page->fd < 0 ? -1 : map_page(raw, PROT_READ | PROT_WRITE, page);
}

int raw_page_open(struct raw *raw, int fd, struct raw_page *page)
{
	page->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (page->fd < 0)
		return complain("fcntl: %s", strerror(errno));
	return map_page(raw, PROT_READ, page);
}

static uint64_t *word_at(const struct raw_page *page, enum raw_word word)
{
	return (uint64_t *)(void *)(page->start + (size_t)word * RAW_WORD_BYTES);
}

void raw_page_release(struct raw_page *page)
{
	struct raw_page writable = {.fd = -1};
	void *start;

	if (!page->start)
		return;
	start = mmap(NULL, RAW_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, page->fd, 0);
	if (start == MAP_FAILED)
		return;
	writable.start = start;
	for (int word = 0; word < RAW_WORDS; word++) {
		raw_word_store(&writable, word, INT64_MAX);
		raw_word_wake(&writable, word);
	}
	munmap(start, RAW_PAGE_BYTES);
}

void raw_page_close(struct raw *raw, struct raw_page *page)
{
	if (page->start) {
		raw->ops->page_unregister(raw, page);
		munmap(page->start, RAW_PAGE_BYTES);
	}
	if (page->fd >= 0)
		close(page->fd);
	*page = (struct raw_page)RAW_PAGE_NONE;
}

void raw_word_store(const struct raw_page *page, enum raw_word word, uint64_t value)
{
	__atomic_store_n(word_at(page, word), value, __ATOMIC_RELEASE);
}

/* A futex is 32 bits, here the lower half. */
void raw_word_wake(const struct raw_page *page, enum raw_word word)
{
	syscall(SYS_futex, word_at(page, word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Whoever is waited for may need this CPU. */
void raw_word_spin(const struct raw_page *page, enum raw_word word, uint64_t value)
{
	const uint64_t *at = word_at(page, word);

	for (unsigned int looks = 1; __atomic_load_n(at, __ATOMIC_ACQUIRE) < value; looks++) {
		if (looks % LOOKS)
			mailbox_relax();
		else
			sched_yield();
	}
}

void raw_word_await(const struct raw_page *page, enum raw_word word, uint64_t value,
	unsigned int looks)
{
	const uint64_t *at = word_at(page, word);
	uint64_t seen;

	while (looks-- > 0) {
		if (__atomic_load_n(at, __ATOMIC_ACQUIRE) >= value)
			return;
		mailbox_relax();
	}
	while ((seen = __atomic_load_n(at, __ATOMIC_ACQUIRE)) < value)
		syscall(SYS_futex, at, FUTEX_WAIT, (uint32_t)seen, NULL, NULL, 0);
}
