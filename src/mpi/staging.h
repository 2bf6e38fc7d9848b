/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h - the host memory that stands in for device memory while the MPI works
 *
 * Blocks are pinned, and kept for the next call. All of them together are bounded
 * (WARPWAY_MPI_STAGING); a call that asks for more than allowed gets an error and does not wait,
 * because its own requests may use the blocks. At MPI_Finalize() blocks stay: the program may have
 * ended its CUDA context by then, and the process ends soon.
 */
#ifndef WW_MPI_STAGING_H
#define WW_MPI_STAGING_H

#include "mpi/cuda.h"

struct ww_mpi_block {
	char *at;
	size_t bytes;   /* of addresses */
	size_t charged; /* against the bound */
	void *context;  /* of the driver, that it is pinned in; NULL: it is not pinned */
	struct ww_mpi_block *next;
};

/* What was staged in this process. */
struct ww_mpi_volume {
	unsigned long long buffers;
	unsigned long long bytes_in;  /* from devices to staging memory */
	unsigned long long bytes_out; /* from staging memory to devices */
};

/*
 * Takes a block. @bytes: addresses that are needed, from a page on; @data: how many of them will be
 * touched. A block with far more addresses than data costs the data only.
 * @memory: what it stands in for.
 * Return: NULL if there may be no more, or the system has no more.
 */
struct ww_mpi_block *ww_mpi_block_take(size_t bytes, size_t data,
	const struct ww_mpi_memory *memory);
void ww_mpi_block_give(struct ww_mpi_block *block);

/* How many bytes there are now, were at most, and may be. */
void ww_mpi_staging_state(size_t *out_used, size_t *out_most, size_t *out_bound);

/* Counts what a call staged. */
void ww_mpi_volume_add(unsigned long long buffers, unsigned long long in, unsigned long long out);
void ww_mpi_volume_get(struct ww_mpi_volume *out_volume);

#endif
