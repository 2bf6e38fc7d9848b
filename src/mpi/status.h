/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - what a status and a code of the MPI say of a message
 */
#ifndef WW_MPI_STATUS_H
#define WW_MPI_STATUS_H

#include <stdbool.h>

#include "mpi/abi.h"

/* How many bytes a receive wrote. */
MPI_Count ww_mpi_received(const MPI_Status *status);

/* Whether an MPI's code says that a message was longer than its receive: then that much came. */
bool ww_mpi_is_truncation(int code);

/* Whether it says that an argument of the call is bad: then the call has done nothing. */
bool ww_mpi_is_refusal(int code);

#endif
