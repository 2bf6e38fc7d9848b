/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.h - collectives of device memory between ranks of a node, without host memory
 *
 * A member that has data for others packs them into a slice of its pool (direct.h), exports the
 * slice, and says yes (agree.h). If all say yes, each member imports the slices whose data it
 * needs, and copies these into its buffer. If one says no, the slices are taken back and the call
 * goes to the MPI, staged where needed.
 *
 * The functions count each call, whatever its buffers are. They are called first in the wrapper of
 * the blocking call. Return: whether the collective went directly; *code is then what the wrapper
 * is to return, and error handlers were called.
 */
#ifndef WW_MPI_COLLECTIVE_H
#define WW_MPI_COLLECTIVE_H

#include <stdbool.h>

#include "mpi/buffer.h"

bool ww_mpi_collective_Bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root,
	MPI_Comm comm, int *code);
bool ww_mpi_collective_Gather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code);
bool ww_mpi_collective_Scatter(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
	int *code);
bool ww_mpi_collective_Allgather(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm,
	int *code);
bool ww_mpi_collective_Alltoall(const void *send, MPI_Count send_count, MPI_Datatype send_type,
	void *receive, MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm,
	int *code);

/* Where the blocks of each rank lie in what it gives goes by the MPI. */
bool ww_mpi_collective_alltoallv(const void *send, struct ww_mpi_numbers send_counts,
	struct ww_mpi_numbers send_displs, MPI_Datatype send_type, void *receive,
	struct ww_mpi_numbers receive_counts, struct ww_mpi_numbers receive_displs,
	MPI_Datatype receive_type, MPI_Comm comm, int *code);
#define ww_mpi_collective_Alltoallv(send, send_counts, send_displs, send_type, receive, \
	receive_counts, receive_displs, receive_type, comm, code)                       \
	ww_mpi_collective_alltoallv(send, WW_MPI_NUMBERS_OF(send_counts),               \
		WW_MPI_NUMBERS_OF(send_displs), send_type, receive,                     \
		WW_MPI_NUMBERS_OF(receive_counts), WW_MPI_NUMBERS_OF(receive_displs),   \
		receive_type, comm, code)

bool ww_mpi_collective_Reduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, int root, MPI_Comm comm, int *code);
bool ww_mpi_collective_Allreduce(const void *send, void *receive, MPI_Count count,
	MPI_Datatype type, MPI_Op op, MPI_Comm comm, int *code);

/* The MPI has done it, because one said no. Return: @code */
int ww_mpi_collective_done(int code);

/* How many went directly. */
unsigned long long ww_mpi_collective_count(void);

#endif
