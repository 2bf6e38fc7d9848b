/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - see status.h
 */
#include "mpi/status.h"

#include <stddef.h>

MPI_Count ww_mpi_received(const MPI_Status *status)
{
	MPI_Count bytes = 0;
	int is_cancelled = 0;

	PMPI_Test_cancelled(status, &is_cancelled);
	if (!is_cancelled)
		PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
	return bytes > 0 ? bytes : 0;
}

static int class_of(int code)
{
	int error_class = MPI_SUCCESS;

	if (code != MPI_SUCCESS)
		PMPI_Error_class(code, &error_class);
	return error_class;
}

bool ww_mpi_is_truncation(int code)
{
	return class_of(code) == MPI_ERR_TRUNCATE;
}

bool ww_mpi_is_refusal(int code)
{
	const int classes[] = {MPI_ERR_BUFFER, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TAG,
		MPI_ERR_COMM, MPI_ERR_RANK, MPI_ERR_ARG};
	int error_class = class_of(code);

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (error_class == classes[i])
			return true;
	}
	return false;
}
