/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_counts.c - objects with a file that counts deliveries: which are taken in, and how long
 * they stay when their maker has ended
 */
#include "broker/suite.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/page.h"
#include "wire/name.h"

#define COUNTS 32 /* in fd_access */
#define ITEMS  4

static int make_file(uint32_t item_bytes)
{
	const struct ww_layout_delivery_counts header = {
		.version = 1,
		.header_bytes = sizeof(header),
		.item_bytes = item_bytes,
		.item_count = ITEMS,
		.used = ITEMS,
	};
	int fd = memfd_create("counts", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	MUST_CALL(fd);
	MUST_CALL(ftruncate(fd, 4096));
	MUST_EQUAL(sizeof(header), pwrite(fd, &header, sizeof(header), 0));
	MUST_CALL(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL));
	return fd;
}

static void expect(int file, uint64_t count, uint32_t keep_ms)
{
	const struct ww_layout_delivery_count item = {.keep_ms = keep_ms, .expected = count};

	MUST_EQUAL(sizeof(item),
		pwrite(file, &item, sizeof(item), sizeof(struct ww_layout_delivery_counts)));
}

static struct ww_wire_put counting_object(void)
{
	struct ww_wire_put put = page_object("");

	put.state = WW_WIRE_STATE_SHARED;
	put.life = WW_WIRE_LIFE_HELD;
	memcpy(put.fd_access, (uint8_t[8]){3, 4, COUNTS}, 8);
	return put;
}

static void refuse(struct raw *raw, ww_status status, const char *word, struct ww_wire_put put,
	const struct page *page, int file)
{
	const int fds[] = {page->reader, page->writer, file};

	MUST_REFUSE(status, word, raw_put(raw, &put, fds, 3));
}

CASE(delivery_counts_refused, 0)
{
	struct ww_wire_put put = counting_object();
	OWN(fd) int file = make_file(sizeof(struct ww_layout_delivery_count));
	OWN(fd) int other = make_file(0);
	struct raw *raw = peer();
	struct page page;

	page_make(&page);
	refuse(raw, WW_ERR_DESCRIPTOR, "counts deliveries", put, &page, other);
	refuse(raw, WW_ERR_INVALID, "of a signal page", put, &page, page.reader);
	put.life = WW_WIRE_LIFE_OWNER;
	refuse(raw, WW_ERR_INVALID, "life held", put, &page, file);
	put = counting_object();
	put.fd_access[2] = COUNTS | 4;
	refuse(raw, WW_ERR_INVALID, "fd_access", put, &page, file);
	put = counting_object();
	refuse(old_peer(1), WW_ERR_INVALID, "fd_access", put, &page, file);
	MUST_OK(raw_put(raw, &put, (int[]){page.reader, page.writer, file}, 3));
	/* A name does not make it live longer. */
	memcpy(put.name, "named", 6);
	put.life = WW_WIRE_LIFE_KEPT;
	MUST_REFUSE(WW_ERR_STATE, "as held",
		raw_put(raw, &put, (int[]){page.reader, page.writer, file}, 3));
	MUST_OK(raw_release(raw, put.id));
	page_close(&page);
}

/* An object inside of @outer, which says that it has imported once. Return: what it was put as. */
static struct ww_wire_put put_import(struct raw *raw, const struct ww_wire_put *outer,
	const struct page *page)
{
	struct ww_wire_put put = page_object("");
	OWN(fd) int file = make_file(sizeof(uint64_t));
	const uint64_t taken = 1;

	ww_name_begin_inside(outer->id, put.name);
	put.name[WW_NAME_INSIDE_CHARS] = 'x';
	put.fd_access[2] = 1 | COUNTS;
	put.state = WW_WIRE_STATE_SHARED;
	MUST_EQUAL(sizeof(taken),
		pwrite(file, &taken, sizeof(taken), sizeof(struct ww_layout_delivery_counts)));
	MUST_OK(raw_put(raw, &put, (int[]){page->reader, page->writer, file}, 3));
	return put;
}

/* The file is the broker's alone. The import that is expected ends what is kept. */
CASE(delivery_counts_keep, 0)
{
	struct ww_wire_put put = counting_object();
	OWN(fd) int file = make_file(sizeof(struct ww_layout_delivery_count));
	struct raw *maker = peer();
	struct raw *other = peer();
	struct ww_wire_granted granted;
	struct ww_wire_put inner;
	struct page pages[2];
	uint8_t secret[16];

	for (int i = 0; i < 2; i++)
		page_make(&pages[i]);
	expect(file, 1, 60000);
	MUST_OK(raw_put(maker, &put, (int[]){pages[0].reader, pages[0].writer, file}, 3));
	MUST_OK(raw_export(maker, put.id, WW_WIRE_ACCESS_WRITE, 0, 0, secret));
	MUST_OK(raw_release(maker, put.id));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_WRITE, &granted));
	MUST_EQUAL(1, other->fd_count);
	inner = put_import(other, &put, &pages[1]);
	MUST_OK(raw_release(other, put.id));
	MUST_OK(raw_import(other, put.id, secret, WW_WIRE_ACCESS_READ, &granted));
	MUST_OK(raw_release(other, inner.id));
	MUST_OK(raw_release(other, put.id));
	wait_for(other, &(struct want){0, 2, 0, 0, 0});
	for (int i = 0; i < 2; i++)
		page_close(&pages[i]);
}

/* What is forged keeps the object for no longer than it says, and nothing keeps it not at all. */
CASE(delivery_counts_forged, 0)
{
	static const struct {
		uint64_t count;
		uint32_t keep_ms;
	} forged[] = {{0, UINT32_MAX}, {UINT64_MAX << 20, 60000}, {1, 0}, {UINT64_MAX, 1}};
	struct raw *maker = peer();

	for (size_t i = 0; i < CHECK_COUNT(forged); i++) {
		struct ww_wire_put put = counting_object();
		OWN(fd) int file = make_file(sizeof(struct ww_layout_delivery_count));
		struct page page;

		page_make(&page);
		expect(file, forged[i].count, forged[i].keep_ms);
		MUST_OK(raw_put(maker, &put, (int[]){page.reader, page.writer, file}, 3));
		MUST_OK(raw_release(maker, put.id));
		wait_for(maker, &(struct want){0, 1, 0, 0, 0});
		page_close(&page);
	}
}
