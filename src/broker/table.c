/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - records of one size in shared memory, see table.h
 *
 * The mapping is as long as the table may ever be, the file only as long as it must be. Only records below
 * `capacity` are touched, and their pages are allocated before capacity says so: a machine that has no memory left
 * refuses fallocate(2), and never kills us for a store.
 *
 * The other process that reads the file is the next broker, after this one's death. The kernel stops a process
 * between two instructions and everything before that point is in the file, so the order of stores in the program
 * is what has to be right; no other processor looks on meanwhile.
 *
 * Which records are free follows from their states; the links between them are for the process that made them.
 */
#include "broker/table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static struct ww_layout_table_header *header_of(const struct table *table)
{
	return (struct ww_layout_table_header *)table->base;
}

static uint64_t file_bytes(uint32_t record_bytes, uint64_t records)
{
	return HEADER_BYTES + records * record_bytes;
}

static uint32_t *state_of(const struct table *table, uint32_t index)
{
	return table_record(table, index);
}

static ww_status write_header(int fd, uint32_t record_bytes, uint32_t version)
{
	struct ww_layout_table_header header = {.version = version, .record_bytes = record_bytes};
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

ww_status table_create(uint32_t record_bytes, uint32_t version, const char *name, int *out_fd)
{
	WW_AUTO_FD int fd = -1;

	*out_fd = -1;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return ww_fail_errno(errno, errno == EMFILE ? "raise the limit (ulimit -n)" : NULL,
			"cannot make a memory file for the table %s", name);
	ww_try(ww_fd_adopt(&fd));
	/* It holds secrets. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return ww_fail_errno(errno, NULL, "cannot set the mode of the table %s", name);
	ww_try(write_header(fd, record_bytes, version));
	*out_fd = ww_fd_steal(&fd);
	return WW_OK;
}

static ww_status map_file(struct table *table)
{
	uint64_t bytes = file_bytes(table->record_bytes, table->limit);
	struct stat file;
	void *base;

	if (fstat(table->fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at a table");
	if (!S_ISREG(file.st_mode) || file.st_size < HEADER_BYTES)
		return ww_fail(WW_ERR_PROTOCOL, "descriptor %d is not a table", table->fd);
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, table->fd, 0);
	if (base == MAP_FAILED)
		return ww_fail_errno(errno, NULL, "cannot map a table of up to %" PRIu64 " bytes",
			bytes);
	table->base = base;
	return WW_OK;
}

static ww_status check_header(struct table *table, uint32_t version)
{
	const struct ww_layout_table_header header = *header_of(table);
	struct stat file;

	if (memcmp(header.magic, magic, sizeof(magic)))
		return ww_fail(WW_ERR_PROTOCOL, "descriptor %d is not a table", table->fd);
	if (header.version != version || header.record_bytes != table->record_bytes)
		return ww_fail(WW_ERR_VERSION,
			"the broker before this one left records of version %" PRIu32 ", %" PRIu32
			" bytes each; this one knows version %" PRIu32 ", %" PRIu32 " bytes",
			header.version, header.record_bytes, version, table->record_bytes);
	if (header.capacity > table->limit)
		return ww_fail(WW_ERR_LIMIT,
			"a table was left with %" PRIu64 " records where %" PRIu32
			" are allowed now; raise the limit",
			header.capacity, table->limit);
	if (fstat(table->fd, &file) < 0)
		return ww_fail_errno(errno, NULL, "cannot look at a table");
	if (file_bytes(table->record_bytes, header.capacity) > (uint64_t)file.st_size)
		return ww_fail(WW_ERR_PROTOCOL,
			"a table of %" PRIu64 " records is cut off after %lld bytes",
			header.capacity, (long long)file.st_size);
	table->capacity = (uint32_t)header.capacity;
	return WW_OK;
}

/* A free record's second word links it to the next: 1 + that one's index. */
static void push_free(struct table *table, uint32_t index)
{
	state_of(table, index)[1] = table->free;
	table->free = index + 1;
}

static uint32_t pop_free(struct table *table)
{
	uint32_t index = table->free - 1;

	table->free = state_of(table, index)[1];
	return index;
}

/* The links of a former broker mean nothing: which records are free follows from their states. The lowest comes first. */
static void find_free(struct table *table)
{
	table->fresh = table->capacity;
	while (table->fresh > 0 && *state_of(table, table->fresh - 1) == 0)
		table->fresh--;
	table->used = table->fresh;
	for (uint32_t index = table->fresh; index-- > 0;) {
		if (*state_of(table, index) == 0) {
			push_free(table, index);
			table->used--;
		}
	}
}

ww_status table_open(struct table *table, int fd, uint32_t record_bytes, uint32_t version,
	uint32_t limit)
{
	struct table opened = {.fd = fd, .record_bytes = record_bytes, .limit = limit};
	ww_status status;

	ww_assert(record_bytes > 0 && record_bytes % sizeof(uint64_t) == 0);
	*table = (struct table){.fd = -1};
	ww_try(map_file(&opened));
	status = check_header(&opened, version);
	if (status != WW_OK) {
		table_close(&opened);
		return status;
	}
	find_free(&opened);
	*table = opened;
	return WW_OK;
}

void table_close(struct table *table)
{
	if (table->base)
		munmap(table->base, file_bytes(table->record_bytes, table->limit));
	*table = (struct table){.fd = -1};
}

uint64_t *table_value(const struct table *table, uint32_t which)
{
	struct ww_layout_table_header *header = header_of(table);

	ww_assert(which < sizeof(header->values) / sizeof(header->values[0]));
	return &header->values[which];
}

/* Capacity as the next broker is to find it: never more than there are pages for. */
static void set_capacity(struct table *table, uint32_t capacity)
{
	__atomic_store_n(&header_of(table)->capacity, capacity, __ATOMIC_RELEASE);
	table->capacity = capacity;
}

/* How many records there are to be after the next step. */
static uint32_t next_capacity(const struct table *table)
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

static ww_status grow(struct table *table)
{
	uint32_t capacity = next_capacity(table);
	uint64_t from = file_bytes(table->record_bytes, table->capacity);
	uint64_t bytes = file_bytes(table->record_bytes, capacity);
	int error;

	if (table->capacity == table->limit)
		return ww_fail(WW_ERR_LIMIT, "all %" PRIu32 " records of a table are taken",
			table->limit);
	do {
		error = fallocate(table->fd, 0, (off_t)from, (off_t)(bytes - from)) ? errno : 0;
	} while (error == EINTR);
	if (error)
		return ww_fail_errno(error, NULL, "cannot let a table grow to %" PRIu64 " bytes",
			bytes);
	set_capacity(table, capacity);
	return WW_OK;
}

ww_status table_take(struct table *table, uint32_t *out_index)
{
	uint32_t index;

	if (!table->free && table->fresh == table->capacity)
		ww_try(grow(table));
	index = table->free ? pop_free(table) : table->fresh++;
	/* A broker that was killed may have left it half filled or half cleared. */
	memset(table_record(table, index), 0, table->record_bytes);
	table->used++;
	*out_index = index;
	return WW_OK;
}

void table_commit(const struct table *table, uint32_t index, uint32_t state)
{
	ww_assert(index < table->capacity && state != 0);
	__atomic_store_n(state_of(table, index), state, __ATOMIC_RELEASE);
}

/*
 * The first step of pages stays: a broker that has one object now and none then should not ask the kernel each
 * time.
 */
static void shrink(struct table *table)
{
	uint32_t kept = (uint32_t)(STEP_BYTES / table->record_bytes) + 1;

	table->free = 0;
	table->fresh = 0;
	if (table->capacity <= kept)
		return;
	set_capacity(table, kept);
	if (ftruncate(table->fd, (off_t)file_bytes(table->record_bytes, kept)) < 0)
		ww_log_debug("an empty table keeps its pages: %m");
}

void table_give(struct table *table, uint32_t index)
{
	ww_assert(index < table->capacity && table->used > 0);
	__atomic_store_n(state_of(table, index), 0, __ATOMIC_RELEASE);
	/* No store of the next line comes before the one above. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	memset(table_record(table, index), 0, table->record_bytes);
	push_free(table, index);
	if (--table->used == 0)
		shrink(table);
}
