/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce.h - kernels that combine the data of two ranks, for the predefined types and operations
 *
 * The kernels are PTX text, one module for each type and operation. A module is loaded for a device
 * when a reduction first needs it: loading waits for the work of the whole process, also for
 * streams that wait for a value.
 */
#ifndef WW_MPI_REDUCE_H
#define WW_MPI_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi/abi.h"
#include "mpi/cuda.h"

struct ww_mpi_reduction {
	int type, op; /* numbers of reduce.c */
};

/* Return: false: there is no kernel for these, or the MPI refuses them. */
bool ww_mpi_reduce_find(MPI_Datatype type, MPI_Op op, struct ww_mpi_reduction *out_reduction);

/*
 * Loads the kernel into the context that ww_mpi_cuda_of() names for a device, if it is not there.
 * Return: 0 or the driver's error
 */
int ww_mpi_reduce_load(const struct ww_mpi_reduction *reduction, int ordinal);

/*
 * out[i] = one[i] op other[i], in memory that the device can use; out may be one or other. Return:
 * as above, when it is done.
 */
int ww_mpi_reduce_run(const struct ww_mpi_reduction *reduction, int ordinal, void *out,
	const void *one, const void *other, size_t count);

#endif
