/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - several threads at once, each with requests, types and a communicator of its own
 */
#include "mpi_test.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS  30
#define BYTES   4000

static struct work {
	MPI_Comm comm;
	int number;
	char *send;
	char *receive;
} works[THREADS];

static void run_round(struct work *work, int round, MPI_Datatype type)
{
	int to = (rank + 1) % ranks;
	int from = (rank + ranks - 1) % ranks;
	MPI_Request requests[4];
	int index;

	for (int i = 0; i < 2; i++) {
		OK(MPI_Irecv(work->receive + (ptrdiff_t)i * BYTES / 2, 1, type, from, round,
			work->comm, &requests[i]));
		OK(MPI_Isend(work->send + round + i, BYTES / 4, MPI_BYTE, to, round, work->comm,
			&requests[2 + i]));
	}
	OK(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE));
	OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
	OK(MPI_Allreduce(MPI_IN_PLACE, work->receive, BYTES / 8, MPI_UNSIGNED, MPI_BXOR,
		work->comm));
}

static void *run(void *argument)
{
	struct work *work = argument;

	for (int round = 0; round < ROUNDS; round++) {
		MPI_Datatype type;

		OK(MPI_Type_vector(BYTES / 8, 2, 4, MPI_BYTE, &type));
		OK(MPI_Type_commit(&type));
		run_round(work, round, type);
		OK(MPI_Type_free(&type));
	}
	return NULL;
}

int main(int argc, char *argv[])
{
	pthread_t threads[THREADS];

	test_init(&argc, &argv, MPI_THREAD_MULTIPLE);
	for (int i = 0; i < THREADS; i++) {
		works[i].number = i;
		works[i].send = memory_new(BYTES + ROUNDS, (unsigned int)i);
		works[i].receive = memory_new(BYTES, 10 + (unsigned int)i);
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm));
	}
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_create(&threads[i], NULL, run, &works[i]));
	for (int i = 0; i < THREADS; i++)
		MUST(!pthread_join(threads[i], NULL));
	for (int i = 0; i < THREADS; i++) {
		say_memory("threads", works[i].receive, BYTES);
		OK(MPI_Comm_free(&works[i].comm));
		memory_free(works[i].send);
		memory_free(works[i].receive);
	}
	return test_finish();
}
