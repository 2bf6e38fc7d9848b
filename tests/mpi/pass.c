/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.c - device memory goes to the MPI as it is, also in calls that the library refuses
 *
 *   mpi_pass device
 *
 * Two ranks. The memory is managed: the MPI, which knows nothing of devices, reaches it as the
 * fake driver has it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device_memory.h"
#include "mpi_test.h"

#define INTS 100000

static int *new_ints(int first)
{
	int *memory = device_memory_new(INTS * sizeof(int), DEVICE_MEMORY_MANAGED);

	for (int i = 0; i < INTS; i++)
		memory[i] = first + i;
	return memory;
}

static void must_hold(const int *memory, int first)
{
	for (int i = 0; i < INTS; i++)
		MUST(memory[i] == first + i);
}

static void free_ints(int *memory)
{
	device_memory_free(memory, INTS * sizeof(int), DEVICE_MEMORY_MANAGED);
}

static void messages(void)
{
	int *from = new_ints(rank);
	int *to = new_ints(7);

	OK(MPI_Sendrecv(from, INTS, MPI_INT, rank ^ 1, 0, to, INTS, MPI_INT, rank ^ 1, 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	must_hold(to, rank ^ 1);
	OK(MPI_Bcast(to, INTS, MPI_INT, 0, MPI_COMM_WORLD));
	must_hold(to, 1);
	free_ints(from);
	free_ints(to);
}

static void files(void)
{
	int *from = new_ints(rank);
	int *to = new_ints(7);
	MPI_File file;
	char path[300];

	snprintf(path, sizeof(path), "%s/pass.%d", getenv("XDG_RUNTIME_DIR"), rank);
	OK(MPI_File_open(MPI_COMM_SELF, path,
		MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
	OK(MPI_File_write_at(file, 0, from, INTS, MPI_INT, MPI_STATUS_IGNORE));
	OK(MPI_File_read_at(file, 0, to, INTS, MPI_INT, MPI_STATUS_IGNORE));
	must_hold(to, rank);
	OK(MPI_File_close(&file));
	free_ints(from);
	free_ints(to);
}

int main(int argc, char *argv[])
{
	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	MUST(ranks == 2 && is_staging());
	messages();
	files();
	return test_finish();
}
