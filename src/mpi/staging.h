/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staging.h - the host memory that stands in for device memory while the MPI works
 *
 * Pinned blocks are copied fastest, and are kept for the next call. All of them together are
 * bounded (WARPWAY_MPI_STAGING), because no other process can use that memory. A call that needs
 * more gets an ordinary block, which goes back to the system when the call or its request is
 * complete: so a message of any length is staged if the system has the memory. No call waits for a
 * pinned block, because its own requests may use them. At MPI_Finalize() pinned blocks stay: the
 * program may have ended its CUDA context by then, and the process ends soon.
 */
#ifndef WW_MPI_STAGING_H
#define WW_MPI_STAGING_H

#include "mpi/cuda.h"

struct ww_mpi_block {
	char *at;
	size_t bytes;  /* of addresses */
	size_t used;   /* of memory, as long as a call has it */
	bool is_kept;  /* it counts against the bound, and is kept for the next call */
	void *context; /* of the driver, that it is pinned in; NULL: it is not pinned */
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
 * touched. A block with far more addresses than data costs the data only, and is an ordinary one.
 * @memory: what it stands in for.
 * Return: NULL if the system has no more memory, or addresses.
 */
struct ww_mpi_block *ww_mpi_block_take(size_t bytes, size_t data,
	const struct ww_mpi_memory *memory);
void ww_mpi_block_give(struct ww_mpi_block *block);

/* How many bytes are in use now, were at most, and how many may be pinned. */
void ww_mpi_staging_state(size_t *out_used, size_t *out_most, size_t *out_bound);

/* Counts what a call staged. */
void ww_mpi_volume_add(unsigned long long buffers, unsigned long long in, unsigned long long out);
void ww_mpi_volume_get(struct ww_mpi_volume *out_volume);

#endif
