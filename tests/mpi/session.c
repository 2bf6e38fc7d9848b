/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - device memory in a program that starts the MPI by sessions alone
 *
 *   mpi_session host|device [fatal]     two ranks
 *
 * There is no MPI_COMM_WORLD and no MPI_COMM_SELF in such a program. fatal: the copy of a request
 * fails whose communicator has a handler that does not just return: the job ends.
 */
#include "mpi_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"

#define BYTES 300000
#define ROWS  1000
#define LARGE ((size_t)64 << 20)

static int handled;

static void note(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	handled = *code;
}

static MPI_Comm make_communicator(MPI_Session session)
{
	MPI_Comm comm = MPI_COMM_NULL;
	MPI_Group group;

	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(group, "warpway-test", MPI_INFO_NULL, MPI_ERRORS_RETURN,
		&comm));
	OK(MPI_Group_free(&group));
	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &ranks));
	return comm;
}

/* What a rank sends: byte i is its rank + i. */
static void must_hold(const char *memory, size_t bytes, int sender)
{
	char *host = malloc(bytes);

	MUST(host);
	memory_get(host, memory, bytes);
	for (size_t i = 0; i < bytes; i++)
		MUST(host[i] == (char)((size_t)sender + i));
	free(host);
}

static void fill(char *memory, size_t bytes)
{
	char *host = malloc(bytes);

	MUST(host);
	for (size_t i = 0; i < bytes; i++)
		host[i] = (char)((size_t)rank + i);
	memory_put(memory, host, bytes);
	free(host);
}

static void messages(MPI_Comm comm)
{
	OWN_MEMORY char *from = memory_new(BYTES, 1);
	OWN_MEMORY char *to = memory_new(BYTES, 2);
	MPI_Request requests[2];
	int peer = rank ^ 1;

	fill(from, BYTES);
	OK(MPI_Sendrecv(from, BYTES, MPI_BYTE, peer, 0, to, BYTES, MPI_BYTE, peer, 0, comm,
		MPI_STATUS_IGNORE));
	must_hold(to, BYTES, peer);
	memory_fill(to, BYTES, 3);
	OK(MPI_Irecv(to, BYTES, MPI_BYTE, peer, 1, comm, &requests[0]));
	OK(MPI_Isend(from, BYTES, MPI_BYTE, peer, 1, comm, &requests[1]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	must_hold(to, BYTES, peer);
}

/* Every second int of a row of two: the library has to find out where its bytes lie. */
static void derived_type(MPI_Comm comm)
{
	int *host = calloc(2 * ROWS, sizeof(*host));
	int *memory = memory_new(2 * ROWS * sizeof(*host), 4);
	MPI_Datatype column;

	MUST(host);
	for (int i = 0; i < 2 * ROWS; i++)
		host[i] = 10 * i + rank;
	memory_put(memory, host, 2 * ROWS * sizeof(*host));
	OK(MPI_Type_vector(ROWS, 1, 2, MPI_INT, &column));
	OK(MPI_Type_commit(&column));
	OK(MPI_Sendrecv_replace(memory, 1, column, rank ^ 1, 2, rank ^ 1, 2, comm,
		MPI_STATUS_IGNORE));
	memory_get(host, memory, 2 * ROWS * sizeof(*host));
	for (int i = 0; i < 2 * ROWS; i++)
		MUST(host[i] == 10 * i + (i % 2 ? rank : rank ^ 1));
	OK(MPI_Type_free(&column));
	memory_free(memory);
	free(host);
}

static void sums(MPI_Comm comm)
{
	int host[1000];
	OWN_MEMORY int *memory = memory_new(sizeof(host), 5);

	for (int i = 0; i < 1000; i++)
		host[i] = i + rank;
	memory_put(memory, host, sizeof(host));
	OK(MPI_Allreduce(MPI_IN_PLACE, memory, 1000, MPI_INT, MPI_SUM, comm));
	memory_get(host, memory, sizeof(host));
	for (int i = 0; i < 1000; i++)
		MUST(host[i] == 2 * i + 1);
}

/* A predefined type with a gap; a call without a communicator. */
static void pairs(MPI_Comm comm)
{
	struct {
		double value;
		int index;
	} host = {.value = rank, .index = rank}, *memory = memory_new(sizeof(host), 7);
	int sum[2] = {1, 2};
	OWN_MEMORY int *sums_at = memory_new(sizeof(sum), 8);

	memory_put(memory, &host, sizeof(host));
	OK(MPI_Allreduce(MPI_IN_PLACE, memory, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
	memory_get(&host, memory, sizeof(host));
	MUST(host.value == 1 && host.index == 1);
	memory_put(sums_at, sum, sizeof(sum));
	OK(MPI_Reduce_local(sum, sums_at, 2, MPI_INT, MPI_SUM));
	memory_get(sum, sums_at, sizeof(sum));
	MUST(sum[0] == 2 && sum[1] == 4);
	memory_free(memory);
}

/* A request of which the copy fails. Return: the code of the call that completes it */
static int copy_fails(char *memory, MPI_Comm comm)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(library, "fakecuda_fail");
	MPI_Request request;

	if (!fail) /* a GPU answers as it likes */
		return MPI_ERR_OTHER;
	OK(MPI_Irecv(memory, 1000, MPI_BYTE, rank, 4, comm, &request));
	OK(MPI_Send(memory + 1000, 1000, MPI_BYTE, rank, 4, comm));
	fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* No communicator is left that could carry the handler. */
static void copy_ends_the_job(MPI_Comm comm)
{
	char *memory = memory_new(2000, 9);
	MPI_Errhandler handler;

	OK(MPI_Comm_create_errhandler(note, &handler));
	OK(MPI_Comm_set_errhandler(comm, handler));
	copy_fails(memory, comm);
	printf("rank %d: the job goes on\n", rank);
}

/* The communicator's own handler gets the library's error, of a call and of a request. */
static void errors(MPI_Comm comm)
{
	OWN_MEMORY char *large = memory_new(LARGE, 6);
	MPI_Errhandler handler;
	int code;

	OK(MPI_Comm_create_errhandler(note, &handler));
	OK(MPI_Comm_set_errhandler(comm, handler));
	bound_addresses(LARGE / 4);
	code = MPI_Send(large, LARGE, MPI_BYTE, rank ^ 1, 3, comm);
	unbound_addresses();
	MUST(code != MPI_SUCCESS && handled);
	handled = 0;
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	OK(MPI_Errhandler_free(&handler));
	MUST(copy_fails(large, comm) != MPI_SUCCESS); /* as its handler returns */
}

static void kinds_of_memory(MPI_Session session)
{
	MPI_Info info;

	OK(MPI_Session_get_info(session, &info));
	must_have_kinds(info);
}

int main(int argc, char *argv[])
{
	MPI_Session session;
	MPI_Comm comm;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	comm = make_communicator(session);
	MUST(ranks == 2);
	if (argc > 1 && !strcmp(argv[1], "device"))
		test_device_of(rank);
	if (argc > 2 && !strcmp(argv[2], "fatal"))
		copy_ends_the_job(comm);
	if (is_staging())
		kinds_of_memory(session);
	messages(comm);
	derived_type(comm);
	sums(comm);
	pairs(comm);
	if (is_staging())
		errors(comm);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Session_finalize(&session));
	printf("rank %d: ok\n", rank);
	return 0;
}
