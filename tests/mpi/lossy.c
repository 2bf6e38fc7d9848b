/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lossy.c - an MPI whose MPI_Mrecv() fails when it is told to; loaded behind the library
 */
#include <dlfcn.h>
#include <stdbool.h>

#include "mpi/abi.h"

typedef int mrecv_fn(void *, int, MPI_Datatype, MPI_Message *, MPI_Status *);

/* The next one fails. */
extern bool mpi_mrecv_fails;
bool mpi_mrecv_fails;

int PMPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
	mrecv_fn *next = (mrecv_fn *)dlsym(RTLD_NEXT, "PMPI_Mrecv");
	int code = next(buffer, count, type, message, status);

	if (!mpi_mrecv_fails)
		return code;
	mpi_mrecv_fails = false;
	return MPI_ERR_INTERN;
}
