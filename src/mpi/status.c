/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - see status.h
 */
#include "mpi/status.h"

MPI_Count ww_mpi_received(const MPI_Status *status)
{
	MPI_Count bytes = 0;
	int is_cancelled = 0;

	PMPI_Test_cancelled(status, &is_cancelled);
	if (!is_cancelled)
		PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
	return bytes > 0 ? bytes : 0;
}

bool ww_mpi_is_truncation(int code)
{
	int error_class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		PMPI_Error_class(code, &error_class);
	return error_class == MPI_ERR_TRUNCATE;
}
