/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.c - see staging.h
 *
 * A block has a size of which there are few, so that the next call of its size finds it. Free
 * blocks lie in one list, the one given last first: it is in the CPU's cache.
 */
#include "mpi/staging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/settings.h"

#define PAGE        ((size_t)4096)
#define STEP        ((size_t)16 << 20) /* beyond it, sizes are multiples of it */
#define SPARSE_FROM ((size_t)64 << 20) /* addresses from which on a block may be sparse */
#define SPARSE_RATE 8                  /* and how many times its data these are */
#define WASTE_MOST  2                  /* a free block may be that many times too large */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct ww_mpi_block *free_blocks;
static size_t total; /* charged for all blocks, free ones included */
static size_t in_use;
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

/* Lock held. Unmaps free blocks until so many bytes may be added. */
static bool make_room(size_t bytes)
{
	size_t bound = ww_mpi_settings()->staging_bytes;

	if (bytes > bound)
		return false;
	while (free_blocks && total > bound - bytes) {
		struct ww_mpi_block *block = free_blocks;

		free_blocks = block->next;
		total -= block->charged;
		destroy(block);
	}
	return total <= bound - bytes;
}

static struct ww_mpi_block *create(size_t bytes, size_t charged, bool is_sparse,
	const struct ww_mpi_memory *memory)
{
	struct ww_mpi_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (is_sparse ? MAP_NORESERVE : 0), -1, 0);
	if (block->at == MAP_FAILED) {
		free(block);
		return NULL;
	}
	block->bytes = bytes;
	block->charged = charged;
	block->context = is_sparse ? NULL : ww_mpi_cuda_pin(block->at, bytes, memory);
	return block;
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

struct ww_mpi_block *ww_mpi_block_take(size_t bytes, size_t data,
	const struct ww_mpi_memory *memory)
{
	bool is_sparse = bytes >= SPARSE_FROM && bytes / SPARSE_RATE > data;
	size_t size = is_sparse ? round_up(bytes, PAGE) : size_of(bytes);
	size_t charged = is_sparse ? round_up(data, PAGE) : size;
	struct ww_mpi_block *block;

	pthread_mutex_lock(&lock);
	block = is_sparse ? NULL : find_free(size);
	/* Near the bound a block is no larger than it must be. */
	if (!block && !is_sparse && !make_room(charged)) {
		size = round_up(bytes, PAGE);
		charged = size;
	}
	if (!block && make_room(charged)) {
		block = create(size, charged, is_sparse, memory);
		total += block ? charged : 0;
	}
	if (block) {
		in_use += block->charged;
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
	in_use -= block->charged;
	if (block->charged == block->bytes) {
		block->next = free_blocks;
		free_blocks = block;
	} else {
		total -= block->charged;
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
