/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - see comm.h
 */
#include "mpi/comm.h"

#include <stdbool.h>

static bool is_inter(MPI_Comm comm)
{
	int flag = 0;

	if (comm != MPI_COMM_NULL)
		PMPI_Comm_test_inter(comm, &flag);
	return flag;
}

MPI_Count ww_mpi_self(MPI_Comm comm)
{
	int rank = 0;

	if (comm != MPI_COMM_NULL)
		PMPI_Comm_rank(comm, &rank);
	return rank;
}

MPI_Count ww_mpi_members(MPI_Comm comm)
{
	int size = 0;

	if (comm != MPI_COMM_NULL)
		PMPI_Comm_size(comm, &size);
	return size;
}

MPI_Count ww_mpi_ranks(MPI_Comm comm)
{
	int size = 0;

	if (!is_inter(comm))
		return ww_mpi_members(comm);
	PMPI_Comm_remote_size(comm, &size);
	return size;
}

enum ww_mpi_role ww_mpi_role(MPI_Comm comm, int root)
{
	if (is_inter(comm))
		return root == MPI_ROOT         ? WW_MPI_ROLE_REMOTE
			: root == MPI_PROC_NULL ? WW_MPI_ROLE_NONE
						: WW_MPI_ROLE_OTHER;
	if (comm == MPI_COMM_NULL)
		return WW_MPI_ROLE_NONE;
	return ww_mpi_self(comm) == root ? WW_MPI_ROLE_ROOT : WW_MPI_ROLE_OTHER;
}

static void count_neighbours(MPI_Comm comm, int *out_sources, int *out_destinations)
{
	int topology = MPI_UNDEFINED;
	int count = 0;
	int is_weighted;

	if (comm != MPI_COMM_NULL)
		PMPI_Topo_test(comm, &topology);
	if (topology == MPI_DIST_GRAPH) {
		PMPI_Dist_graph_neighbors_count(comm, out_sources, out_destinations, &is_weighted);
		return;
	}
	if (topology == MPI_CART) {
		PMPI_Cartdim_get(comm, &count);
		count *= 2;
	} else if (topology == MPI_GRAPH) {
		PMPI_Graph_neighbors_count(comm, (int)ww_mpi_self(comm), &count);
	}
	*out_sources = count;
	*out_destinations = count;
}

MPI_Count ww_mpi_sources(MPI_Comm comm)
{
	int sources = 0;
	int destinations = 0;

	count_neighbours(comm, &sources, &destinations);
	return sources;
}

MPI_Count ww_mpi_destinations(MPI_Comm comm)
{
	int sources = 0;
	int destinations = 0;

	count_neighbours(comm, &sources, &destinations);
	return destinations;
}
