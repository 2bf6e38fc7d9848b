/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - the ranks of a node, and hierarchical collectives between nodes
 *
 * A hierarchical collective runs inside each node, where it can go directly, and between the first
 * ranks (leaders) of all nodes, where it is staged. So each node gets the data once, and only its
 * leader stages them.
 *
 * The ranks of a node cannot look at those of another node, so a small reduction of the MPI tells
 * whether all have device memory. All ranks of the communicator have to take part in it: only with
 * WARPWAY_MPI_COLLECTIVES=hierarchical, which is to be set in all ranks of the job. It takes place
 * if the data have at least as many bytes as the direct route needs, which are as many in all
 * ranks.
 */
#ifndef WW_MPI_NODE_H
#define WW_MPI_NODE_H

#include <stdbool.h>

#include "mpi/abi.h"

/*
 * The ranks of a communicator that are on the node of this one, in their order; collective. Ranks
 * with different WARPWAY_MPI_NODE are on different nodes. Return: as MPI_Comm_split().
 */
int ww_mpi_node_split(MPI_Comm comm, MPI_Comm *out_node);

/*
 * Called first in the wrapper of the blocking call. Return: whether the collective was a
 * hierarchical one; *code is then what the wrapper is to return, and error handlers were called.
 */
bool ww_mpi_node_Bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
	int *code);
bool ww_mpi_node_Allreduce(const void *send, void *receive, MPI_Count count, MPI_Datatype type,
	MPI_Op op, MPI_Comm comm, int *code);

/* How many collectives were hierarchical. */
unsigned long long ww_mpi_node_count(void);

#endif
