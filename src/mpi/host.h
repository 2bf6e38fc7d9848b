/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - addresses that are host memory for sure, so that the driver need not be asked about them
 *
 * These are the heap that the kernel grows for the process, the stack of the calling thread, and
 * the static data of the program. Memory of any other kind is not known here: other libraries'
 * static data, what malloc() maps, other stacks. Host memory that CUDA has registered counts as
 * host memory: the MPI can read and write it.
 */
#ifndef WW_MPI_HOST_H
#define WW_MPI_HOST_H

#include <stdbool.h>

/* Return: false: it may be any memory. */
bool ww_mpi_host_owns(const void *pointer);

#endif
