/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partition.c - partitioned requests: parts of a buffer that are ready one by one
 *
 * A part is read when the program says that it is ready, and written when the program is told that
 * it has arrived, or at the end.
 */
#include "mpi/next.h"
#include "mpi/request.h"

#if MPI_VERSION >= 4

static struct ww_mpi_entry *find(MPI_Request request)
{
	return ww_mpi_request_any() ? ww_mpi_request_find(request) : NULL;
}

static int read_part(struct ww_mpi_entry *entry, int part)
{
	int code;

	ww_mpi_depth++;
	code = ww_mpi_request_read_part(entry, part);
	ww_mpi_depth--;
	return code == MPI_SUCCESS ? code : ww_mpi_entry_raise(ww_mpi_entry_carrier(entry), code);
}

int ww_mpi_call_Pready(ww_mpi_fn_Pready *next, int part, MPI_Request request)
{
	struct ww_mpi_entry *entry = find(request);
	int code = entry ? read_part(entry, part) : MPI_SUCCESS;

	return code == MPI_SUCCESS ? next(part, request) : code;
}

int ww_mpi_call_Pready_range(ww_mpi_fn_Pready_range *next, int low, int high, MPI_Request request)
{
	struct ww_mpi_entry *entry = find(request);
	int code = MPI_SUCCESS;

	for (int part = low; entry && part <= high && code == MPI_SUCCESS; part++)
		code = read_part(entry, part);
	return code == MPI_SUCCESS ? next(low, high, request) : code;
}

int ww_mpi_call_Pready_list(ww_mpi_fn_Pready_list *next, int length, WW_MPI_PARTS parts,
	MPI_Request request)
{
	struct ww_mpi_entry *entry = find(request);
	int code = MPI_SUCCESS;

	for (int i = 0; entry && i < length && code == MPI_SUCCESS; i++)
		code = read_part(entry, parts[i]);
	return code == MPI_SUCCESS ? next(length, parts, request) : code;
}

int ww_mpi_call_Parrived(ww_mpi_fn_Parrived *next, MPI_Request request, int part, int *flag)
{
	struct ww_mpi_entry *entry = find(request);
	int code = next(request, part, flag);

	if (code == MPI_SUCCESS && *flag && entry) {
		ww_mpi_depth++;
		code = ww_mpi_request_write_part(entry, part);
		ww_mpi_depth--;
		if (code != MPI_SUCCESS)
			ww_mpi_entry_raise(ww_mpi_entry_carrier(entry), code);
	}
	return code;
}

#endif
