/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.h - which ranks of a communicator take part in a call, and how
 */
#ifndef WW_MPI_COMM_H
#define WW_MPI_COMM_H

#include "mpi/abi.h"

enum ww_mpi_role {
	WW_MPI_ROLE_NONE,   /* of the root's group, but not the root */
	WW_MPI_ROLE_OTHER,  /* sends to the root, or receives from it */
	WW_MPI_ROLE_ROOT,   /* the root, which also takes part itself */
	WW_MPI_ROLE_REMOTE, /* the root between two groups, which does not */
};

enum ww_mpi_role ww_mpi_role(MPI_Comm comm, int root);

#define WW_MPI_AT_ROOT(role)   ((role) >= WW_MPI_ROLE_ROOT)
#define WW_MPI_AT_OTHERS(role) ((role) == WW_MPI_ROLE_OTHER)
#define WW_MPI_AT_EACH(role)   ((role) == WW_MPI_ROLE_OTHER || (role) == WW_MPI_ROLE_ROOT)

MPI_Count ww_mpi_ranks(MPI_Comm comm);   /* of the group one talks to */
MPI_Count ww_mpi_members(MPI_Comm comm); /* of the own group */
MPI_Count ww_mpi_self(MPI_Comm comm);    /* the own rank in it */
MPI_Count ww_mpi_sources(MPI_Comm comm); /* neighbours */
MPI_Count ww_mpi_destinations(MPI_Comm comm);

#endif
