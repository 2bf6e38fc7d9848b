/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delivery_counts.c - deliveries that the processes count themselves, see delivery_counts.h
 *
 * The files are read in blocks of items. Each value is read once, and checked before it is used.
 * Two inner objects may show one file: a process that lost its connection shows its own anew, and a
 * hostile one shows another's. So a file counts once, by its inode.
 */
#include "daemon/registry/delivery_counts.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/registry/last_will.h"
#include "daemon/registry/object.h"
#include "wire/name.h"

#define TURN_BYTES   (UINT64_C(2) << 20) /* read in one turn of the loop; less than 1 ms */
#define STORE_BYTES  512                 /* a store takes as long as reading so much */
#define BLOCK        128                 /* items */
#define ITEM_LEAST   8                   /* bytes */
#define ITEM_MOST    64
#define HEADER_LEAST 48
#define HEADER_MOST  4096
#define ITEMS_MOST   (1u << 20)
#define FILE_MOST    (HEADER_MOST + (off_t)ITEMS_MOST * ITEM_MOST)
#define FILES_MOST   256 /* of inner objects; what others say does not count */
#define COUNT_BITS   20
#define COUNT_MASK   ((UINT64_C(1) << COUNT_BITS) - 1)

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MS     UINT64_C(1000000)

/* What the header of a file says, as far as it was checked. */
struct counts_file {
	int fd;
	ino_t inode;
	uint32_t header_bytes;
	uint32_t item_bytes;
	uint32_t item_count;
};

/* Files of inner objects, each once. */
struct counts_files {
	uint32_t count;
	struct counts_file at[FILES_MOST];
};

/* A block of items of the outer object's file; what is left of each. */
struct block {
	uint32_t first;
	uint32_t count;
	struct ww_layout_delivery_count items[BLOCK];
	uint64_t left[BLOCK];
};

_Static_assert(sizeof(struct ww_layout_delivery_count) == WW_LAYOUT_DELIVERY_COUNT_BYTES,
	"no padding");
_Static_assert(offsetof(struct ww_layout_delivery_count, expected) ==
		WW_LAYOUT_DELIVERY_COUNT_BYTES - sizeof(uint64_t),
	"the count comes last, as in the files of inner objects");

/* --- files --- */

int delivery_counts_find(const uint8_t *fd_access, size_t fd_count)
{
	for (size_t i = 0; i < fd_count; i++) {
		if (fd_access[i] & DELIVERY_COUNTS)
			return (int)i;
	}
	return -1;
}

static int file_fd(const struct registry *registry, const struct object *object)
{
	const struct ww_layout_object_record *record = object_record(registry, object);
	int at = delivery_counts_find(record->fd_access, record->fd_count);

	return at < 0 ? -1 : (int)record->fds[at];
}

static bool read_all(int fd, void *out, size_t bytes, uint64_t offset)
{
	return pread(fd, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* @header: NULL, or where to leave it */
static bool file_open(int fd, struct counts_file *out, struct ww_layout_delivery_counts *header)
{
	struct ww_layout_delivery_counts theirs = {.version = 0};
	struct stat status;

	if (fd < 0 || !read_all(fd, &theirs, sizeof(theirs), 0) || fstat(fd, &status) < 0)
		return false;
	*out = (struct counts_file){
		.fd = fd,
		.inode = status.st_ino,
		.header_bytes = theirs.header_bytes,
		.item_bytes = theirs.item_bytes,
		.item_count = theirs.item_count,
	};
	if (header)
		*header = theirs;
	return out->header_bytes >= HEADER_LEAST && out->header_bytes <= HEADER_MOST &&
		out->item_bytes >= ITEM_LEAST && out->item_bytes <= ITEM_MOST &&
		out->item_count <= ITEMS_MOST;
}

/* The file of an object that others are inside of. @out_used: how many items there are */
static bool file_open_outer(int fd, struct counts_file *out,
	struct ww_layout_delivery_counts *header)
{
	if (!file_open(fd, out, header) ||
		out->item_bytes != sizeof(struct ww_layout_delivery_count))
		return false;
	if (header->used < out->item_count)
		out->item_count = header->used;
	return true;
}

static bool is_enough(const struct registry *registry)
{
	return registry->counted_bytes >= TURN_BYTES;
}

/*
 * Reads items from @first on. @out: room for BLOCK items of this file
 * Return: how many; 0: there are no more.
 */
static uint32_t file_read(struct registry *registry, const struct counts_file *file, uint32_t first,
	void *out)
{
	uint32_t count = first < file->item_count ? file->item_count - first : 0;
	size_t bytes;

	if (count > BLOCK)
		count = BLOCK;
	bytes = (size_t)count * file->item_bytes;
	registry->counted_bytes += bytes;
	if (count == 0 ||
		!read_all(file->fd, out, bytes,
			file->header_bytes + (uint64_t)first * file->item_bytes))
		return 0;
	return count;
}

/* The imports of each item of a block, as an inner object's file has them. */
static void file_read_taken(struct registry *registry, const struct counts_file *file,
	uint32_t first, uint64_t out_taken[BLOCK])
{
	uint8_t items[BLOCK * ITEM_MOST];
	uint32_t count = file_read(registry, file, first, items);

	memset(out_taken, 0, BLOCK * sizeof(*out_taken));
	for (uint32_t i = 0; i < count; i++)
		memcpy(&out_taken[i],
			items + (size_t)(i + 1) * file->item_bytes - sizeof(*out_taken),
			sizeof(*out_taken));
}

/* --- a put --- */

ww_status delivery_counts_check(const struct ww_wire_put *put, const int *fds, size_t fd_count)
{
	int at = delivery_counts_find(put->fd_access, fd_count);
	struct counts_file file;
	struct stat status;
	bool is_one;

	if (at < 0)
		return WW_OK;
	if (delivery_counts_find(put->fd_access + at + 1, fd_count - (size_t)at - 1) >= 0 ||
		put->life != WW_WIRE_LIFE_HELD || last_will_find(put->fd_access, fd_count) < 0)
		return ww_fail(WW_ERR_INVALID,
			"an object that counts deliveries (fd_access %d) has one such descriptor, a signal "
			"page (fd_access 4), and life held",
			DELIVERY_COUNTS);
	is_one = fcntl(fds[at], F_GET_SEALS) >= 0 && fstat(fds[at], &status) == 0 &&
		status.st_size <= FILE_MOST &&
		(ww_name_is_inside(put->name)
				? file_open(fds[at], &file, NULL)
				: file_open_outer(fds[at], &file,
					  &(struct ww_layout_delivery_counts){.version = 0}));
	if (!is_one)
		return ww_fail(WW_ERR_DESCRIPTOR,
			"descriptor %d, with fd_access %u, is no file that counts deliveries: its header is "
			"not as layout delivery_counts says",
			at, put->fd_access[at]);
	return WW_OK;
}

/* --- inner objects --- */

static struct object *inner_of(struct ww_list *link)
{
	return ww_container(link, struct nesting, of_counting)->object;
}

/* One for which there is no memory is not counted: what it imports stays in flight. */
void delivery_counts_enter(struct registry *registry, struct object *object)
{
	struct object *outer = file_fd(registry, object) < 0 ? NULL
							     : object_find_outer(registry, object);

	if (!outer || file_fd(registry, outer) < 0 || !object_nesting(outer) ||
		!object_nesting(object))
		return;
	object->extra->nesting->counted_in = outer;
	ww_list_append(&outer->extra->nesting->counting, &object->extra->nesting->of_counting);
}

static bool has_inode(const struct counts_files *files, ino_t inode)
{
	for (uint32_t i = 0; i < files->count; i++) {
		if (files->at[i].inode == inode)
			return true;
	}
	return false;
}

static void collect_files(struct registry *registry, const struct object *outer,
	struct counts_files *out)
{
	out->count = 0;
	if (!outer->extra->nesting)
		return;
	ww_list_for_each (link, &outer->extra->nesting->counting) {
		struct counts_file file;

		if (is_enough(registry)) /* what is not read counts as in flight */
			return;
		registry->counted_bytes += STORE_BYTES;
		if (out->count < FILES_MOST &&
			file_open(file_fd(registry, inner_of(link)), &file, NULL) &&
			!has_inode(out, file.inode))
			out->at[out->count++] = file;
	}
}

/* Whether another inner object shows the same file. */
static bool is_shown_elsewhere(struct registry *registry, const struct object *outer, ino_t inode)
{
	struct stat status;

	ww_list_for_each (link, &outer->extra->nesting->counting) {
		int fd = file_fd(registry, inner_of(link));

		if (is_enough(registry)) /* not known: then it is not added */
			return true;
		registry->counted_bytes += STORE_BYTES / 4;
		if (fd >= 0 && fstat(fd, &status) == 0 && status.st_ino == inode)
			return true;
	}
	return false;
}

/*
 * What is gone of an item, with the imports of one more. Of two generations the one that is
 * expected counts, else the later.
 */
static uint64_t add_gone(uint64_t gone, uint64_t taken, uint64_t expected)
{
	uint64_t count = (gone & COUNT_MASK) + (taken & COUNT_MASK);
	bool is_other = gone >> COUNT_BITS != taken >> COUNT_BITS;

	if (is_other && taken >> COUNT_BITS == expected >> COUNT_BITS)
		return taken;
	if (is_other && gone >> COUNT_BITS == expected >> COUNT_BITS)
		return gone;
	if (is_other)
		return gone >> COUNT_BITS > taken >> COUNT_BITS ? gone : taken;
	return (gone & ~COUNT_MASK) | (count < COUNT_MASK ? count : COUNT_MASK);
}

/* What this thread has used: for getrusage() that may be known by the tick only. */
static uint64_t cpu_ns(void)
{
	struct timespec used = {0};

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_SECOND + (uint64_t)used.tv_nsec;
}

/*
 * Whether a file's maker has kept it busy since @start_ns: this thread has waited for it, asleep or
 * in a loop of the kernel. To be preempted on a busy machine is neither.
 */
static bool was_kept_busy(uint64_t start_ns, uint64_t start_cpu_ns, const struct rusage *before)
{
	struct rusage after;

	if (ww_clock_now_ns() - start_ns <= NS_PER_MS || getrusage(RUSAGE_THREAD, &after) < 0)
		return false;
	return after.ru_nvcsw != before->ru_nvcsw || cpu_ns() - start_cpu_ns > NS_PER_MS;
}

/* A file that cannot be written keeps its object longer. */
static void store_gone(struct registry *registry, const struct counts_file *file, uint32_t index,
	uint64_t gone)
{
	uint64_t offset = file->header_bytes + (uint64_t)index * file->item_bytes +
		offsetof(struct ww_layout_delivery_count, gone);
	struct rusage before = {.ru_nvcsw = 0};
	uint64_t start_ns, start_cpu_ns;

	registry->counted_bytes += STORE_BYTES;
	(void)getrusage(RUSAGE_THREAD, &before);
	start_cpu_ns = cpu_ns();
	start_ns = ww_clock_now_ns();
	(void)!pwrite(file->fd, &gone, sizeof(gone), (off_t)offset);
	if (was_kept_busy(start_ns, start_cpu_ns, &before))
		registry->counted_bytes = TURN_BYTES;
}

static void fold(struct registry *registry, const struct object *outer, int inner_fd)
{
	struct ww_layout_delivery_counts header;
	struct counts_file outer_file;
	struct counts_file inner;
	struct block block = {.first = 0};

	if (!file_open_outer(file_fd(registry, outer), &outer_file, &header) ||
		!file_open(inner_fd, &inner, NULL) ||
		is_shown_elsewhere(registry, outer, inner.inode))
		return;
	while (!is_enough(registry) &&
		(block.count = file_read(registry, &outer_file, block.first, block.items)) > 0) {
		uint64_t taken[BLOCK];

		file_read_taken(registry, &inner, block.first, taken);
		for (uint32_t i = 0; i < block.count && !is_enough(registry); i++) {
			uint64_t gone = block.items[i].gone;
			uint64_t sum = taken[i] & COUNT_MASK
				? add_gone(gone, taken[i], block.items[i].expected)
				: gone;

			if (sum != gone)
				store_gone(registry, &outer_file, block.first + i, sum);
		}
		block.first += block.count;
	}
}

void delivery_counts_leave(struct registry *registry, struct object *object)
{
	struct nesting *nesting = object->extra->nesting;
	struct object *outer;

	if (!nesting)
		return;
	while (!ww_list_is_empty(&nesting->counting)) {
		struct nesting *inner = inner_of(nesting->counting.next)->extra->nesting;

		ww_list_remove(&inner->of_counting);
		inner->counted_in = NULL;
	}
	outer = ww_steal(nesting->counted_in);
	if (!outer)
		return;
	ww_list_remove(&nesting->of_counting);
	fold(registry, outer, file_fd(registry, object));
}

/* --- what is in flight --- */

bool unreceived_needs(const struct unreceived *unreceived, const uint8_t id[WW_WIRE_ID_BYTES])
{
	uint32_t begin;

	memcpy(&begin, id, sizeof(begin));
	for (uint32_t i = 0; i < unreceived->needs_count; i++) {
		if (unreceived->needs[i] == begin)
			return true;
	}
	return unreceived->needs_all;
}

static void add_need(struct unreceived *unreceived, uint32_t need)
{
	uint8_t id[WW_WIRE_ID_BYTES] = {0};

	memcpy(id, &need, sizeof(need));
	if (unreceived_needs(unreceived, id))
		return;
	if (unreceived->needs_count == DELIVERY_NEEDS_MAX)
		unreceived->needs_all = true;
	else
		unreceived->needs[unreceived->needs_count++] = need;
}

/* Imports of the generation that is expected. */
static void subtract(struct block *block, uint32_t index, uint64_t taken)
{
	uint64_t count = taken & COUNT_MASK;

	if (taken >> COUNT_BITS != block->items[index].expected >> COUNT_BITS)
		return;
	block->left[index] -= count < block->left[index] ? count : block->left[index];
}

/* Return: whether any is left before a look at the inner objects. */
static bool begin_block(struct block *block)
{
	bool is_any = false;

	for (uint32_t i = 0; i < block->count; i++) {
		block->left[i] = block->items[i].expected & COUNT_MASK;
		subtract(block, i, block->items[i].gone);
		is_any |= block->left[i] > 0;
	}
	return is_any;
}

static void sum_block(struct registry *registry, const struct counts_files *files,
	struct block *block, struct unreceived *unreceived)
{
	uint64_t taken[BLOCK];

	for (uint32_t at = 0; at < files->count && !is_enough(registry); at++) {
		file_read_taken(registry, &files->at[at], block->first, taken);
		for (uint32_t i = 0; i < block->count; i++)
			subtract(block, i, taken[i]);
	}
	for (uint32_t i = 0; i < block->count; i++) {
		uint64_t keep_ns = block->items[i].keep_ms * NS_PER_MS;

		if (block->left[i] == 0)
			continue;
		unreceived->count += block->left[i];
		if (unreceived->keep_ns < keep_ns)
			unreceived->keep_ns = keep_ns;
		add_need(unreceived, block->items[i].needs);
	}
}

void delivery_counts_sum(struct registry *registry, const struct object *object,
	struct unreceived *out_unreceived)
{
	struct ww_layout_delivery_counts header;
	struct block block = {.first = 0};
	struct counts_files files;
	struct counts_file file;

	*out_unreceived = (struct unreceived){.count = 0};
	if (!file_open_outer(file_fd(registry, object), &file, &header))
		return;
	collect_files(registry, object, &files);
	while (!is_enough(registry) &&
		(block.count = file_read(registry, &file, block.first, block.items)) > 0) {
		if (begin_block(&block))
			sum_block(registry, &files, &block, out_unreceived);
		block.first += block.count;
	}
	if (block.first < file.item_count) {
		/* What is in flight is not known, but for how long it may be. */
		out_unreceived->count++;
		out_unreceived->needs_all = true;
		if (out_unreceived->keep_ns < header.keep_ms * NS_PER_MS)
			out_unreceived->keep_ns = header.keep_ms * NS_PER_MS;
	}
}
