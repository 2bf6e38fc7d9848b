/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - fuzzes what reads the pages that the processes of a pool share: tables of slices, and
 * marks
 *
 * Input: one byte of flags (below), four of a number of slots, then the page. It stands in a file
 * as an untrusted process would show it. What is accepted says of itself exactly what was expected
 * of it; and whatever stands in its slots, looking at any of them says what can be.
 */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "pool/slice_table.h"
#include "support/raw_client.h"

#define INPUT_START (1 + sizeof(uint32_t))
#define SLOTS       64
#define BYTES       4096

static const uint8_t pool_id[WW_WIRE_ID_BYTES] = "0123456789abcde";

/* The bits of the first byte. */
enum {
	IS_MARKS = 1,
	HAS_HEADER = 2, /* a right one, whatever the input says */
	IS_SHORT = 4,   /* the file is half as long */
	IS_LONG = 8,
	HAS_COUNT = 16, /* the number of slots is that of the input */
};

/* A right header, by the library's own hand. */
static void put_header(uint8_t page[BYTES], bool is_marks)
{
	struct ww_slice_table table;
	struct ww_marks *marks;

	if (is_marks) {
		FUZZ_MUST(ww_marks_create(pool_id, SLOTS, &marks) == WW_OK);
		memcpy(page, marks->header, sizeof(*marks->header));
		ww_marks_free(marks);
	} else {
		FUZZ_MUST(ww_slice_table_create(&table, pool_id, SLOTS) == WW_OK);
		memcpy(page, table.header, sizeof(*table.header));
		ww_slice_table_fini(&table);
	}
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	const uint32_t slots = SLOTS;
	uint8_t page[BYTES] = {0};

	if (number >= 32)
		return 0;
	put_header(page, number & IS_MARKS);
	for (size_t at = 128; at < BYTES; at++)
		page[at] = (uint8_t)(at * number);
	out[0] = (uint8_t)(number & ~HAS_HEADER);
	memcpy(out + 1, &slots, sizeof(slots));
	memcpy(out + INPUT_START, page, FUZZ_INPUT_BYTES - INPUT_START);
	return FUZZ_INPUT_BYTES;
}

static void must_be_refused(ww_status status, const struct ww_layout_pool_marks *header,
	uint32_t version)
{
	const struct ww_error *record = ww_error_last();

	FUZZ_MUST(
		status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH);
	FUZZ_MUST(record->status == status && record->message[0]);
	FUZZ_MUST(status != WW_ERR_VERSION || header->version != version);
}

static void must_be_right(const void *header, uint32_t slots)
{
	uint8_t right[BYTES] = {0};
	bool is_marks = !memcmp(header, "WWPOOLMK", 8);

	put_header(right, is_marks);
	FUZZ_MUST(slots == SLOTS);
	FUZZ_MUST(!memcmp(header, right, 48)); /* up to what may be anything */
}

/* Numbers of slices that such a token may have. */
static void look_at_marks(const struct ww_marks *marks)
{
	for (uint64_t slot = 0; slot < SLOTS; slot++) {
		for (uint64_t generation = 0; generation < 4; generation++) {
			uint64_t number = generation << WW_SLOT_BITS | slot;

			FUZZ_MUST(ww_marks_has(marks, number) == (marks->at[slot].slice == number));
			FUZZ_MUST(ww_marks_taken(marks, number) < WW_POOL_SLICES_MAX);
		}
	}
}

static void try_marks(int fd, uint64_t bytes, uint32_t slots,
	const struct ww_layout_pool_marks *header)
{
	struct ww_marks *marks = NULL;
	ww_status status = ww_marks_import(fd, bytes, pool_id, slots, &marks);

	FUZZ_MUST((status == WW_OK) == (marks != NULL));
	if (status != WW_OK) {
		must_be_refused(status, header, WW_LAYOUT_POOL_MARKS_VERSION);
		return;
	}
	must_be_right(marks->header, slots);
	look_at_marks(marks);
	ww_marks_free(marks);
}

static void try_table(int fd, uint64_t bytes, uint32_t slots,
	const struct ww_layout_pool_marks *header)
{
	struct ww_slice_table table = {.mapping = NULL};
	ww_status status = ww_slice_table_import(&table, fd, bytes, pool_id, slots);

	if (status != WW_OK) {
		FUZZ_MUST(!table.mapping);
		must_be_refused(status, header, WW_LAYOUT_POOL_TABLE_VERSION);
		return;
	}
	must_be_right(table.header, slots);
	FUZZ_MUST(table.slot_count == SLOTS);
	FUZZ_MUST((const uint8_t *)&table.slots[SLOTS] <= (const uint8_t *)table.header + bytes);
	ww_slice_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	union {
		uint8_t bytes[BYTES];
		struct ww_layout_pool_marks header;
	} page = {{0}};
	uint32_t slots = SLOTS;
	uint64_t file_bytes = BYTES;
	int fd;

	if (bytes < INPUT_START || bytes > FUZZ_INPUT_BYTES)
		return 0;
	memcpy(page.bytes, input + INPUT_START, bytes - INPUT_START);
	if (input[0] & HAS_HEADER)
		put_header(page.bytes, input[0] & IS_MARKS);
	if (input[0] & HAS_COUNT)
		memcpy(&slots, input + 1, sizeof(slots));
	if (input[0] & IS_SHORT)
		file_bytes /= 2;
	if (input[0] & IS_LONG)
		file_bytes *= 4;
	fd = raw_memory_writable(file_bytes);
	FUZZ_MUST(pwrite(fd, page.bytes, file_bytes < BYTES ? file_bytes : BYTES, 0) > 0);
	/* An untrusted process says how long it is, too. */
	if (input[0] & IS_MARKS)
		try_marks(fd, ww_marks_bytes(SLOTS), slots, &page.header);
	else
		try_table(fd, ww_slice_table_bytes(SLOTS), slots, &page.header);
	close(fd);
	return 0;
}
