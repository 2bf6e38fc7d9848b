/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large.c - an element of more than 2 GiB, whose halves are sent in the other order
 *
 * A send stages it. That fails here before its memory, of which there may be too little, is used.
 * mpi_test.py sees that the direct route was not tried. A receive refuses it, since the message may
 * be one of the direct route, and the message stays.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include "device/cuda/cuda_abi.h"
#include "device_memory.h"
#include "direct.h"
#include "fakecuda/fakecuda.h"
#include "mpi_test.h"

static void send_halves(void *memory, MPI_Datatype type)
{
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");

	MUST(fail);
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	MUST(MPI_Send(memory, 1, type, peer, 98, MPI_COMM_WORLD) != MPI_SUCCESS);
}

static void must_be_refused(int code)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	MUST(code != MPI_SUCCESS);
	OK(MPI_Error_string(code, text, &length));
	MUST(strstr(text, "beside the direct route"));
	MUST(strstr(text, "use WARPWAY_MPI_ROUTE=staged"));
}

static void receive_halves(void *memory, MPI_Datatype type)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;

	must_be_refused(MPI_Recv(memory, 1, type, peer, 97, MPI_COMM_WORLD, &status));
	must_be_refused(MPI_Irecv(memory, 1, type, peer, 97, MPI_COMM_WORLD, &request));
	must_be_refused(MPI_Recv_init(memory, 1, type, peer, 97, MPI_COMM_WORLD, &request));
	must_be_refused(MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, memory, 1, type, peer, 97,
		MPI_COMM_WORLD, &status));
	OK(MPI_Mprobe(peer, 97, MPI_COMM_WORLD, &message, &status));
	must_be(&status, DATA, 97);
	must_be_refused(MPI_Mrecv(memory, 1, type, &message, &status));
	OK(MPI_Mrecv(place.at, DATA, MPI_BYTE, &message, &status));
	must_be(&status, DATA, 97);
	check(place.at, DATA, DATA, 97);
}

void halves_of_2_gib(void)
{
	void *device = device_memory_new(2 * HALF_BYTES, 0);
	void *host = mmap(NULL, 2 * HALF_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MPI_Datatype type = halves_type();

	MUST(host != MAP_FAILED);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	if (rank == 0) {
		send_halves(device, type);
		send_device(DATA, 97);
		send_device(DATA, 97);
	} else {
		receive_halves(host, type);
		receive_halves(device, type);
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	OK(MPI_Type_free(&type));
	munmap(host, 2 * HALF_BYTES);
	device_memory_free(device, 2 * HALF_BYTES, 0);
}
