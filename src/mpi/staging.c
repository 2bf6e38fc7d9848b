/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.c - see staging.h
 *
 * A pinned block has a size of which there are few, so that the next call of its size finds it.
 * Free blocks lie in one list, the one given last first: it is in the CPU's cache.
 */
#include "mpi/staging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/settings.h"

#define PAGE        ((size_t)4096)
#define STEP        ((size_t)16 << 20) /* beyond it, sizes are multiples of it */
#define SPARSE_FROM ((size_t)64 << 20) /* addresses from which on a block may be sparse */
#define SPARSE_RATE 8                  /* and how many times its data these are */
#define WASTE_MOST  2                  /* a free block may be that many times too large */
#define ASKED_FROM  ((size_t)16 << 20) /* ordinary blocks for which there must be memory first */
#define KIB         1024

/* Lines of /proc/meminfo, in KiB. */
#define AVAILABLE "MemAvailable:"
#define SWAP      "SwapFree:"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct ww_mpi_block *free_blocks;
static size_t total;  /* bytes of all pinned blocks, free ones included */
static size_t in_use; /* of both kinds */
static size_t most;

static _Atomic unsigned long long buffers_staged;
static _Atomic unsigned long long bytes_staged_in;
static _Atomic unsigned long long bytes_staged_out;

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static size_t size_of(size_t bytes)
{
	size_t size = PAGE;

	if (bytes > STEP)
		return round_up(bytes, STEP);
	while (size < bytes)
		size *= 2;
	return size;
}

static void destroy(struct ww_mpi_block *block)
{
	if (block->context)
		ww_mpi_cuda_unpin(block->at, block->context);
	munmap(block->at, block->bytes);
	free(block);
}

/* Lock held. */
static void drop_free_block(void)
{
	struct ww_mpi_block *block = free_blocks;

	free_blocks = block->next;
	total -= block->bytes;
	destroy(block);
}

/* Lock held. Unmaps free blocks until so many bytes may be added. */
static bool make_room(size_t bytes)
{
	size_t bound = ww_mpi_settings()->staging_bytes;

	if (bytes > bound)
		return false;
	while (free_blocks && total > bound - bytes)
		drop_free_block();
	return total <= bound - bytes;
}

static struct ww_mpi_block *create(size_t bytes, int flags)
{
	struct ww_mpi_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
		-1, 0);
	if (block->at == MAP_FAILED) {
		free(block);
		return NULL;
	}
	block->bytes = bytes;
	return block;
}

/*
 * Whether the system has so much memory left: it gives out more addresses than that, and ends a
 * process that uses them. If it does not say, it has.
 */
static bool has_memory(size_t bytes)
{
	FILE *stream = bytes >= ASKED_FROM ? fopen("/proc/meminfo", "re") : NULL;
	unsigned long long left_kib = 0;
	bool is_known = false;
	char line[128];

	while (stream && fgets(line, sizeof(line), stream)) {
		bool is_available = !strncmp(line, AVAILABLE, strlen(AVAILABLE));

		is_known = is_known || is_available;
		if (is_available || !strncmp(line, SWAP, strlen(SWAP)))
			left_kib += strtoull(strchr(line, ':') + 1, NULL, 10);
	}
	if (stream)
		fclose(stream);
	return !is_known || bytes / KIB < left_kib;
}

/* Lock held. */
static struct ww_mpi_block *find_free(size_t bytes)
{
	for (struct ww_mpi_block **link = &free_blocks; *link; link = &(*link)->next) {
		struct ww_mpi_block *block = *link;

		if (block->bytes >= bytes && block->bytes / WASTE_MOST <= bytes) {
			*link = block->next;
			return block;
		}
	}
	return NULL;
}

/* Lock held. Return: NULL: the bound is reached, or the system has no more. */
static struct ww_mpi_block *take_pinned(size_t bytes, const struct ww_mpi_memory *memory)
{
	size_t size = size_of(bytes);
	struct ww_mpi_block *block = find_free(size);

	if (block)
		return block;
	/* Near the bound a block is no larger than it must be. */
	if (!make_room(size))
		size = round_up(bytes, PAGE);
	if (!make_room(size))
		return NULL;
	block = create(size, 0);
	if (!block)
		return NULL;
	block->is_kept = true;
	block->context = ww_mpi_cuda_pin(block->at, size, memory);
	total += size;
	return block;
}

struct ww_mpi_block *ww_mpi_block_take(size_t bytes, size_t data,
	const struct ww_mpi_memory *memory)
{
	bool is_sparse = bytes >= SPARSE_FROM && bytes / SPARSE_RATE > data;
	struct ww_mpi_block *block;

	pthread_mutex_lock(&lock);
	block = is_sparse ? NULL : take_pinned(bytes, memory);
	if (!block) {
		int flags = is_sparse ? MAP_NORESERVE : 0;

		block = has_memory(data) ? create(round_up(bytes, PAGE), flags) : NULL;
		if (!block && free_blocks) {
			/* Pinned blocks that no call uses may be all that is missing. */
			while (free_blocks)
				drop_free_block();
			block = has_memory(data) ? create(round_up(bytes, PAGE), flags) : NULL;
		}
	}
	if (block) {
		block->used = is_sparse ? round_up(data, PAGE) : block->bytes;
		in_use += block->used;
		most = in_use > most ? in_use : most;
	}
	pthread_mutex_unlock(&lock);
	return block;
}

void ww_mpi_block_give(struct ww_mpi_block *block)
{
	if (!block)
		return;
	pthread_mutex_lock(&lock);
	in_use -= block->used;
	if (block->is_kept) {
		block->next = free_blocks;
		free_blocks = block;
	} else {
		destroy(block);
	}
	pthread_mutex_unlock(&lock);
}

void ww_mpi_staging_state(size_t *out_used, size_t *out_most, size_t *out_bound)
{
	pthread_mutex_lock(&lock);
	*out_used = in_use;
	*out_most = most;
	pthread_mutex_unlock(&lock);
	*out_bound = ww_mpi_settings()->staging_bytes;
}

void ww_mpi_volume_add(unsigned long long buffers, unsigned long long in, unsigned long long out)
{
	atomic_fetch_add_explicit(&buffers_staged, buffers, memory_order_relaxed);
	atomic_fetch_add_explicit(&bytes_staged_in, in, memory_order_relaxed);
	atomic_fetch_add_explicit(&bytes_staged_out, out, memory_order_relaxed);
}

void ww_mpi_volume_get(struct ww_mpi_volume *out_volume)
{
	out_volume->buffers = atomic_load(&buffers_staged);
	out_volume->bytes_in = atomic_load(&bytes_staged_in);
	out_volume->bytes_out = atomic_load(&bytes_staged_out);
}
