/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_table.c - records of one size in shared memory, see record_table.h
 *
 * The mapping is as long as the table may ever be, the file only as long as it must be. Only
 * records below `capacity` are touched, and their memory is allocated before capacity says so. So
 * if the machine has no memory left, fallocate(2) fails, and a store never kills the broker.
 *
 * The file is read by the next broker, after this one was killed. The kernel stops a process
 * between two instructions, and all stores before that point are in the file. So only the order of
 * stores in the program matters: no other processor reads meanwhile.
 *
 * The states say which records are free. The links between free records are used only by the
 * process that made them.
 */
#include "daemon/registry/record_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "wire/protocol.h"

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* How much a file grows at a time: a quarter of what it is, within these. */
#define STEP_BYTES      (UINT64_C(64) << 10)
#define STEP_BYTES_MOST (UINT64_C(1) << 20)

#define HEADER_BYTES WW_LAYOUT_TABLE_HEADER_BYTES

_Static_assert(HEADER_BYTES == 64, "table_record() adds it");

static const uint8_t magic[8] = {'W', 'W', 'T', 'A', 'B', 'L', 'E', '1'};

static struct ww_layout_table_header *table_header(const struct table *table)
{
	return (struct ww_layout_table_header *)table->base;
}

static uint64_t table_file_bytes(uint32_t record_bytes, uint64_t records)
{
	return HEADER_BYTES + records * record_bytes;
}

static uint32_t *record_state(const struct table *table, uint32_t index)
{
	return table_record(table, index);
}

static ww_status header_write(int fd, const struct table_layout *layout)
{
	struct ww_layout_table_header header = {.version = layout->version,
		.record_bytes = layout->record_bytes};
	ssize_t written;

	memcpy(header.magic, magic, sizeof(magic));
	do {
		written = pwrite(fd, &header, sizeof(header), 0);
	} while (written < 0 && errno == EINTR);
	if (written == (ssize_t)sizeof(header))
		return WW_OK;
	return ww_fail_errno(written < 0 ? errno : ENOSPC, NULL,
		"cannot write the header of a table");
}

ww_status table_create(const struct table_layout *layout, int *out_fd)
{
	const char *name = layout->name;
	WW_AUTO_FD int fd = -1;

	*out_fd = -1;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return ww_fail_errno(errno, NULL, "cannot make a memory file for the table %s",
			name);
	ww_try(ww_fd_adopt(&fd));
	/* The table contains secrets. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return ww_fail_errno(errno, NULL, "cannot set the mode of the table %s", name);
	ww_try(header_write(fd, layout));
	*out_fd = ww_fd_steal(&fd);
	return WW_OK;
}

static ww_status header_check(struct table *table, const struct table_layout *layout)
{
	const struct ww_layout_table_header header = *table_header(table);
	struct stat file;

	if (memcmp(header.magic, magic, sizeof(magic)))
		return ww_fail(WW_ERR_PROTOCOL, "descriptor %d is not a table", table->fd);
	if (header.version != layout->version || header.record_bytes != table->record_bytes)
		return ww_fail(WW_ERR_VERSION,
			"the broker before this one left records of version %" PRIu32 ", %" PRIu32
			" bytes each; this one knows version %" PRIu32 ", %" PRIu32 " bytes",
			header.version, header.record_bytes, layout->version, table->record_bytes);
	if (header.capacity > table->limit)
		return ww_fail(WW_ERR_LIMIT,
			"a table was left with %" PRIu64 " records where %" PRIu32
			" are allowed now; raise the limit",
			header.capacity, table->limit);
	if (fstat(table->fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at a table");
	if (table_file_bytes(table->record_bytes, header.capacity) > (uint64_t)file.st_size)
		return ww_fail(WW_ERR_PROTOCOL,
			"a table of %" PRIu64 " records is cut off after %lld bytes",
			header.capacity, (long long)file.st_size);
	table->capacity = (uint32_t)header.capacity;
	return WW_OK;
}

/* A free record's second word links it to the next: 1 + that one's index. */
static void table_push_free(struct table *table, uint32_t index)
{
	record_state(table, index)[1] = table->free;
	table->free = index + 1;
}

static uint32_t table_pop_free(struct table *table)
{
	uint32_t index = table->free - 1;

	table->free = record_state(table, index)[1];
	return index;
}

/* Makes sure that an item exists. The items of lower indexes do already. */
static ww_status table_make_item(struct table *table, uint32_t index)
{
	uint8_t **chunk = &table->items[index / TABLE_CHUNK];

	if (!*chunk)
		*chunk = calloc(TABLE_CHUNK, table->item_bytes);
	return *chunk ? WW_OK : ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
}

/* The list of chunks is as long as it may ever be, but no more of it is touched than is in use. */
static ww_status table_make_items(struct table *table)
{
	table->items = calloc(table->limit / TABLE_CHUNK + 2, sizeof(*table->items));
	if (!table->items)
		return ww_fail(WW_ERR_NO_MEMORY, "the broker is out of memory");
	for (uint32_t index = 0; index < table->fresh; index++)
		ww_try(table_make_item(table, index));
	return WW_OK;
}

bool table_free_items(struct table *table)
{
	bool has_any = table->items && table->items[0];

	for (uint8_t **chunk = table->items; chunk && *chunk; chunk++) {
		free(*chunk);
		*chunk = NULL;
	}
	return has_any;
}

ww_status table_open(struct table *table, int fd, const struct table_layout *layout)
{
	struct table opened = {.fd = fd,
		.item_bytes = layout->item_bytes,
		.record_bytes = layout->record_bytes,
		.limit = layout->limit};
	ww_status status;
	uint64_t bytes;
	struct stat file;
	void *base;

	ww_assert(layout->record_bytes > 0 && layout->record_bytes % sizeof(uint64_t) == 0);
	*table = (struct table){.fd = -1};
	bytes = table_file_bytes(opened.record_bytes, opened.limit);
	if (fstat(opened.fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at a table");
	if (!S_ISREG(file.st_mode) || file.st_size < HEADER_BYTES)
		return ww_fail(WW_ERR_PROTOCOL, "descriptor %d is not a table", opened.fd);
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, opened.fd, 0);
	if (base == MAP_FAILED)
		return ww_fail_errno(errno, NULL, "cannot map a table of up to %" PRIu64 " bytes",
			bytes);
	opened.base = base;
	status = header_check(&opened, layout);
	if (status == WW_OK) {
		/*
		 * Ignore the links of a former broker: the states say which records are free. The
		 * lowest is taken first.
		 */
		opened.fresh = opened.capacity;
		while (opened.fresh > 0 && *record_state(&opened, opened.fresh - 1) == 0)
			opened.fresh--;
		opened.used = opened.fresh;
		for (uint32_t index = opened.fresh; index-- > 0;) {
			if (*record_state(&opened, index) == 0) {
				table_push_free(&opened, index);
				opened.used--;
			}
		}
		status = table_make_items(&opened);
	}
	if (status != WW_OK) {
		table_close(&opened);
		return status;
	}
	*table = opened;
	return WW_OK;
}

void table_close(struct table *table)
{
	table_free_items(table);
	free(table->items);
	if (table->base)
		munmap(table->base, table_file_bytes(table->record_bytes, table->limit));
	*table = (struct table){.fd = -1};
}

void *table_next_before(const struct table *table, uint32_t *at, uint32_t end)
{
	while (*at < end && *at < table->capacity) {
		uint32_t index = (*at)++;

		if (*record_state(table, index) != 0)
			return table_item(table, index);
	}
	return NULL;
}

uint64_t *table_value(const struct table *table, uint32_t which)
{
	struct ww_layout_table_header *header = table_header(table);

	ww_assert(which < sizeof(header->values) / sizeof(header->values[0]));
	return &header->values[which];
}

/* Stores the capacity for the next broker: never more than there is memory for. */
static void table_set_capacity(struct table *table, uint32_t capacity)
{
	__atomic_store_n(&table_header(table)->capacity, capacity, __ATOMIC_RELEASE);
	table->capacity = capacity;
}

/* How many records there are to be after the next step. */
static uint32_t table_next_capacity(const struct table *table)
{
	uint64_t step = (uint64_t)table->capacity * table->record_bytes / 4;
	uint64_t capacity;

	if (step < STEP_BYTES)
		step = STEP_BYTES;
	if (step > STEP_BYTES_MOST)
		step = STEP_BYTES_MOST;
	capacity = table->capacity + (step + table->record_bytes - 1) / table->record_bytes;
	return capacity < table->limit ? (uint32_t)capacity : table->limit;
}

ww_status table_take(struct table *table, uint32_t *out_index)
{
	uint32_t index;

	if (!table->free && table->fresh == table->capacity) {
		uint32_t capacity = table_next_capacity(table);
		uint64_t from = table_file_bytes(table->record_bytes, table->capacity);
		uint64_t bytes = table_file_bytes(table->record_bytes, capacity);
		int error;

		if (table->capacity == table->limit)
			return ww_fail(WW_ERR_LIMIT, "all %" PRIu32 " records of a table are taken",
				table->limit);
		do {
			error = fallocate(table->fd, 0, (off_t)from, (off_t)(bytes - from)) ? errno
											    : 0;
		} while (error == EINTR);
		if (error == EFBIG)
			return ww_fail_errno_as(WW_ERR_LIMIT, error,
				"raise the broker's limit of file sizes (LimitFSIZE, ulimit -f)",
				"cannot let a table of the broker grow to %" PRIu64 " bytes",
				bytes);
		if (error)
			return ww_fail_errno(error, NULL,
				"cannot let a table grow to %" PRIu64 " bytes", bytes);
		table_set_capacity(table, capacity);
	}
	if (!table->free)
		ww_try(table_make_item(table, table->fresh));
	index = table->free ? table_pop_free(table) : table->fresh++;
	/* A broker that was killed may have left it half filled or half cleared. */
	memset(table_record(table, index), 0, table->record_bytes);
	memset(table_item(table, index), 0, table->item_bytes);
	table->used++;
	*out_index = index;
	return WW_OK;
}

void table_commit(const struct table *table, uint32_t index, uint32_t state)
{
	ww_assert(index < table->capacity && state != 0);
	__atomic_store_n(record_state(table, index), state, __ATOMIC_RELEASE);
}

void table_give(struct table *table, uint32_t index)
{
	ww_assert(index < table->capacity && table->used > 0);
	__atomic_store_n(record_state(table, index), 0, __ATOMIC_RELEASE);
	/* No store of the next line comes before the one above. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memset(table_record(table, index), 0, table->record_bytes);
	table_push_free(table, index);
	if (--table->used == 0) {
		uint32_t kept = (uint32_t)(STEP_BYTES / table->record_bytes) + 1;

		/*
		 * Free the memory of an empty table, but keep the first step: a broker that
		 * repeatedly has one object and none would otherwise call the kernel each time.
		 */
		table->free = 0;
		table->fresh = 0;
		if (table->capacity <= kept)
			return;
		table_set_capacity(table, kept);
		if (ftruncate(table->fd, (off_t)table_file_bytes(table->record_bytes, kept)) < 0)
			ww_log_debug("an empty table keeps its pages: %m");
	}
}
