/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.h - the MPI's own functions, behind those that we export
 *
 * We export MPI_X and PMPI_X, and stand in front of the MPI. A call goes on to the next MPI_X
 * where it came as MPI_X, so that a tool that is loaded behind us sees it, and to the next PMPI_X
 * where it came as PMPI_X. Functions without a row in the table are called as usual.
 */
#ifndef WW_MPI_NEXT_H
#define WW_MPI_NEXT_H

#include "mpi/abi.h"
#include WW_MPI_CALLS_H /* generated: for each function of the table a number and a type */

/* The address of a function by its number. Ends the process if no library has it. */
void *ww_mpi_next(int number, int is_profiling);
/* Of a function without a row, which is looked for each time. */
void *ww_mpi_next_of_name(const char *name);

/* The MPI's own function of a name, for calls of our own: WW_MPI_REAL(Wait)(&request, &status) */
#define WW_MPI_REAL(name) ((ww_mpi_fn_##name *)ww_mpi_next(WW_MPI_NUMBER_##name, 1))

/* The calls of this thread that have not returned. */
extern __thread int ww_mpi_depth __attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
