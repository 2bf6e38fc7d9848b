/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - several threads at once, each with requests, types and a communicator of its own
 */
#include "mpi_test.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS  30
#define BYTES   8000

static struct work {
	MPI_Comm comm;
	int number;
	char *send;
	char *receive;
} works[THREADS];

/* One thread looks for what another one receives: some of these on one communicator. */
static void exchange(struct work *work, int round, int to, int from)
{
	int tag = 1000 + work->number;
	MPI_Request request;
	MPI_Message message;
	MPI_Status status;
	int flag;

	OK(MPI_Isend(work->send, BYTES / 4, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request));
	OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
	if (round % 3 == 0) {
		OK(MPI_Recv(work->receive, BYTES / 2, MPI_BYTE, from, tag, MPI_COMM_WORLD,
			&status));
	} else if (round % 3 == 1) {
		OK(MPI_Probe(from, tag, MPI_COMM_WORLD, &status));
		OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, work->receive, BYTES / 2,
			MPI_BYTE, from, tag, MPI_COMM_WORLD, &status));
	} else {
		OK(MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, &status));
		OK(MPI_Mrecv(work->receive, BYTES / 2, MPI_BYTE, &message, &status));
	}
	OK(MPI_Get_count(&status, MPI_BYTE, &flag));
	MUST(flag == BYTES / 4 && status.MPI_TAG == tag);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

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
	exchange(work, round, to, from);
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

/* --- partitioned requests: one thread waits while another one makes the parts ready --- */

#if MPI_VERSION >= 4

#define PARTS 8

static MPI_Request parts[2]; /* received, sent */
static char *sent_parts;
static char *received_parts;

static void *make_ready(void *argument)
{
	(void)argument;
	for (int i = 0; i < PARTS; i++)
		OK(MPI_Pready(i, parts[1]));
	return NULL;
}

static void partitioned(void)
{
	pthread_t thread;

	sent_parts = memory_new(PARTS * 1000, 80);
	received_parts = memory_new(PARTS * 1000, 81);
	OK(MPI_Precv_init(received_parts, PARTS, 1000, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
		MPI_COMM_WORLD, MPI_INFO_NULL, &parts[0]));
	OK(MPI_Psend_init(sent_parts, PARTS, 1000, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD,
		MPI_INFO_NULL, &parts[1]));
	for (int i = 0; i < 5; i++) {
		MPI_Request waited[2] = {parts[0], parts[1]};

		OK(MPI_Startall(2, waited));
		memory_fill(sent_parts, PARTS * 1000, 90 + (unsigned int)i);
		MUST(!pthread_create(&thread, NULL, make_ready, NULL));
		OK(MPI_Wait(&waited[1], MPI_STATUS_IGNORE));
		MUST(!pthread_join(thread, NULL));
		OK(MPI_Wait(&waited[0], MPI_STATUS_IGNORE));
		say_memory("parts", received_parts, PARTS * 1000);
	}
	OK(MPI_Request_free(&parts[0]));
	OK(MPI_Request_free(&parts[1]));
	memory_free(received_parts);
	memory_free(sent_parts);
}

#else

static void partitioned(void)
{
}

#endif

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
	/* So that both sides know each other before the threads begin. */
	for (int i = 0; i < 50; i++)
		OK(MPI_Sendrecv(works[0].send, BYTES / 4, MPI_BYTE, (rank + 1) % ranks, 0,
			works[0].receive, BYTES / 4, MPI_BYTE, (rank + ranks - 1) % ranks, 0,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE));
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
	partitioned();
	return test_finish();
}
