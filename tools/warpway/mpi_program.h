/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_program.h - which MPI a program uses, and where our library for it is
 */
#ifndef TOOLS_WARPWAY_MPI_PROGRAM_H
#define TOOLS_WARPWAY_MPI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum mpi_abi {
	MPI_ABI_UNKNOWN,
	MPI_ABI_OPENMPI,
	MPI_ABI_MPICH
};

/* The name in file names; NULL for MPI_ABI_UNKNOWN. */
const char *mpi_abi_name(enum mpi_abi abi);
/* MPI_ABI_UNKNOWN: it is none of the names. */
enum mpi_abi mpi_abi_find(const char *name);

/* Whether there is a file of that name. @program: as execvp() takes it */
bool mpi_program_is_there(const char *program);
/* What the program itself is linked with; MPI_ABI_UNKNOWN: it does not say. */
enum mpi_abi mpi_abi_linked(const char *program);
/* The same, else what the launcher's variables say. */
enum mpi_abi mpi_abi_of(const char *program);

/* The file to be preloaded. Return: whether there is one. */
bool mpi_library_find(enum mpi_abi abi, char *out_path, size_t room);

#endif
