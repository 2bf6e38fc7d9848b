/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table_test.c - records, and what the next process finds of them
 */
#include "base/unit_test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/registry/record_table.h"
#include "wire/protocol.h"

#define RECORD_BYTES 768
#define VERSION      7
#define LIMIT        1000

struct record {
	uint32_t state;
	uint32_t number;
	uint8_t rest[RECORD_BYTES - 8];
};

static const struct table_layout layout = {"test", RECORD_BYTES, VERSION, LIMIT, sizeof(uint64_t)};

static int table_file_create(void)
{
	int fd;

	assert_ok(table_create(&layout, &fd));
	return fd;
}

static void open_table(struct table *table, int fd)
{
	assert_ok(table_open(table, fd, &layout));
}

/* Takes a record and fills it, without its state. */
static uint32_t record_add_uncommitted(struct table *table, uint32_t number)
{
	struct record *record;
	uint32_t index = UINT32_MAX;

	assert_ok(table_take(table, &index));
	record = table_record(table, index);
	record->number = number;
	memset(record->rest, 0xa5, sizeof(record->rest));
	return index;
}

static uint32_t record_add(struct table *table, uint32_t number)
{
	uint32_t index = record_add_uncommitted(table, number);

	table_commit(table, index, 1);
	return index;
}

static bool is_blank(const struct table *table, uint32_t index)
{
	static const struct record blank;

	return memcmp(table_record(table, index), &blank, sizeof(blank)) == 0;
}

static int64_t pages_of(int fd)
{
	struct stat file;

	assert_int_equal(fstat(fd, &file), 0);
	return file.st_blocks / 8;
}

/* A table and its file, which each TABLE_TEST() has anew. */
static struct table ours;
static int ours_fd;

static int set_up(void **state)
{
	(void)state;
	ours_fd = table_file_create();
	open_table(&ours, ours_fd);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	table_close(&ours);
	return close(ours_fd);
}

#define TABLE_TEST(name) UNIT_TEST_WITH(name, set_up, tear_down)

TABLE_TEST(a_new_table_is_empty)
{
	struct stat file;

	assert_int_equal(ours.used, 0);
	assert_int_equal(ours.capacity, 0);
	assert_int_equal(fstat(ours_fd, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	assert_int_equal(*table_value(&ours, 4), 0);
	table_close(&ours);
	assert_null(ours.base);
}

TABLE_TEST(a_record_comes_and_goes)
{
	uint32_t index;

	assert_ok(table_take(&ours, &index));
	assert_int_equal(index, 0);
	assert_true(is_blank(&ours, index));
	assert_int_equal(record_add(&ours, 5), 1);
	assert_int_equal(ours.used, 2);
	table_give(&ours, 1);
	assert_true(is_blank(&ours, 1));
	assert_int_equal(ours.used, 1);
	assert_int_equal(record_add(&ours, 6), 1);
}

TABLE_TEST(the_next_process_finds_what_was_committed)
{
	uint32_t index;

	for (uint32_t i = 0; i < 8; i++)
		record_add(&ours, 100 + i);
	record_add_uncommitted(&ours, 108);
	table_give(&ours, 5);
	table_give(&ours, 2);
	*table_value(&ours, 3) = 77;
	table_close(&ours);

	open_table(&ours, ours_fd);
	assert_int_equal(ours.used, 6);
	assert_int_equal(*table_value(&ours, 3), 77);
	for (uint32_t i = 0; i < 8; i++) {
		const struct record *record = table_record(&ours, i);

		if (i == 2 || i == 5)
			assert_int_equal(record->state, 0);
		else
			assert_int_equal(record->number, 100 + i);
	}
	/* The lowest first; what was never committed is blank again. */
	assert_ok(table_take(&ours, &index));
	assert_int_equal(index, 2);
	assert_ok(table_take(&ours, &index));
	assert_int_equal(index, 5);
	assert_ok(table_take(&ours, &index));
	assert_int_equal(index, 8);
	assert_true(is_blank(&ours, 8));
}

TABLE_TEST(records_stay_where_they_are)
{
	struct record *first;
	uint32_t index;

	first = table_record(&ours, record_add(&ours, 1));
	for (uint32_t i = 1; i < LIMIT; i++)
		assert_int_equal(record_add(&ours, i + 1), i);
	assert_int_equal(ours.capacity, LIMIT);
	assert_fails(table_take(&ours, &index), WW_ERR_LIMIT);
	assert_int_equal(ours.used, LIMIT);
	assert_ptr_equal(first, table_record(&ours, 0));
	assert_int_equal(first->number, 1);
	table_close(&ours);

	open_table(&ours, ours_fd);
	assert_int_equal(ours.used, LIMIT);
	assert_fails(table_take(&ours, &index), WW_ERR_LIMIT);
}

TABLE_TEST(pages_come_before_records)
{
	for (uint32_t i = 0; i < LIMIT; i++) {
		record_add_uncommitted(&ours, i);
		assert_true(pages_of(ours_fd) * 4096 >= 64 + (int64_t)ours.capacity * RECORD_BYTES);
	}
}

TABLE_TEST(an_empty_table_gives_its_pages_back)
{
	for (uint32_t i = 0; i < LIMIT; i++)
		record_add(&ours, i);
	assert_true(pages_of(ours_fd) > 180);
	for (uint32_t i = 0; i < LIMIT; i++)
		table_give(&ours, i);
	assert_int_equal(ours.used, 0);
	assert_in_range(pages_of(ours_fd), 1, 18);
	for (uint32_t i = 0; i < LIMIT; i++)
		assert_int_equal(record_add(&ours, i), i);
}

UNIT_TEST(growth_that_is_refused_changes_nothing)
{
	struct ww_layout_table_header header = {.version = VERSION, .record_bytes = RECORD_BYTES};
	struct table table;
	uint32_t index;
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memcpy(header.magic, "WWTABLE1", 8);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	open_table(&table, fd);
	assert_fails(table_take(&table, &index), WW_ERR_ACCESS);
	assert_int_equal(table.capacity, 0);
	assert_int_equal(table.used, 0);
	assert_fails(table_take(&table, &index), WW_ERR_ACCESS);
	table_close(&table);
	close(fd);
}

static void table_must_be_refused(int fd, ww_status expected)
{
	struct table table;

	assert_fails(table_open(&table, fd, &layout), expected);
	assert_null(table.base);
	table_close(&table);
}

/* Opens a table whose header was changed at one place. */
static void refuse_with(size_t at, const void *bytes, size_t count, ww_status expected)
{
	int fd = table_file_create();

	assert_int_equal(pwrite(fd, bytes, count, (off_t)at), count);
	table_must_be_refused(fd, expected);
	close(fd);
}

UNIT_TEST(what_is_not_a_table)
{
	const uint32_t version = VERSION + 1;
	const uint32_t record_bytes = RECORD_BYTES + 8;
	const uint64_t too_many = LIMIT + 1;
	const uint64_t not_there = 3;
	const uint64_t endless = UINT64_MAX / RECORD_BYTES + 1;
	int fd = table_file_create();
	int ends[2];

	refuse_with(0, "WWTABLE2", 8, WW_ERR_PROTOCOL);
	refuse_with(8, &version, sizeof(version), WW_ERR_VERSION);
	refuse_with(12, &record_bytes, sizeof(record_bytes), WW_ERR_VERSION);
	refuse_with(16, &too_many, sizeof(too_many), WW_ERR_LIMIT);
	refuse_with(16, &not_there, sizeof(not_there), WW_ERR_PROTOCOL);
	refuse_with(16, &endless, sizeof(endless), WW_ERR_LIMIT);
	assert_int_equal(ftruncate(fd, 63), 0);
	table_must_be_refused(fd, WW_ERR_PROTOCOL);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	table_must_be_refused(ends[0], WW_ERR_PROTOCOL);
	close(ends[0]);
	close(ends[1]);
	table_must_be_refused(-1, WW_ERR_DESCRIPTOR);
}

UNIT_MAIN("table")
