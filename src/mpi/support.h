/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.h - what the MPI itself can do with device memory
 */
#ifndef WW_MPI_SUPPORT_H
#define WW_MPI_SUPPORT_H

#include <stdbool.h>

/* Whether calls with device memory go to the MPI as they are (WARPWAY_MPI_ROUTE). */
bool ww_mpi_passes_through(void);

#endif
