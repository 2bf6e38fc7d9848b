/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large.c - an element of more than 2 GiB, whose halves are sent in the other order
 *
 * It is staged. That fails here before its memory, of which there may be too little, is used.
 * mpi_test.py sees that the direct route was not tried.
 */
#include <dlfcn.h>

#include "device/cuda/cuda_abi.h"
#include "device_memory.h"
#include "direct.h"
#include "fakecuda/fakecuda.h"
#include "mpi_test.h"

void halves_of_2_gib(void)
{
	const size_t half = ((size_t)1 << 30) + 4096;
	int lengths[2] = {1, 1};
	MPI_Aint displs[2] = {(MPI_Aint)half, 0};
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");
	MPI_Datatype one_half, type;
	void *memory;

	OK(MPI_Type_contiguous((int)half, MPI_BYTE, &one_half));
	OK(MPI_Type_create_hindexed(2, lengths, displs, one_half, &type));
	OK(MPI_Type_commit(&type));
	MUST(fail);
	if (rank == 0) {
		memory = device_memory_new(2 * half, 0);
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
		MUST(MPI_Send(memory, 1, type, peer, 98, MPI_COMM_WORLD) != MPI_SUCCESS);
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
		device_memory_free(memory, 2 * half, 0);
	}
	OK(MPI_Type_free(&type));
	OK(MPI_Type_free(&one_half));
}
