/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi.h - the MPI that this library is built for
 */
#ifndef WW_MPI_ABI_H
#define WW_MPI_ABI_H

#include <mpi.h>

/* Open MPI has extensions in a header of their own, MPICH in mpi.h. */
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#endif
