/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn.c - device memory in messages and collectives between a program and the ranks it spawns
 *
 *   mpi_spawn host|device     two ranks, linked with the library for the MPI
 *
 * They spawn two more. Each rank of one group has a partner of the same number in the other one.
 * If the MPI cannot spawn, that is what the ranks say.
 */
#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RANKS = 2,   /* in each group */
	SUMS = 5000, /* ints that are added: more than WARPWAY_MPI_DIRECT */
};

static MPI_Comm inter;
static bool is_child;

/* What a rank of a group has at a place. */
static char byte_of(bool child, int number, size_t i)
{
	return (char)(i * 7 + (size_t)number * 31 + (child ? 101 : 1));
}

static char *new_filled(size_t bytes)
{
	char *host = malloc(bytes);
	char *memory = memory_new(bytes, 0);

	MUST(host);
	for (size_t i = 0; i < bytes; i++)
		host[i] = byte_of(is_child, rank, i);
	memory_put(memory, host, bytes);
	free(host);
	return memory;
}

static void must_hold(const char *memory, size_t bytes, bool child, int number)
{
	char *host = malloc(bytes);

	MUST(host);
	memory_get(host, memory, bytes);
	for (size_t i = 0; i < bytes; i++)
		MUST(host[i] == byte_of(child, number, i));
	free(host);
}

/* --- messages --- */

static void exchange(size_t bytes)
{
	char *send = new_filled(bytes);
	OWN_MEMORY char *receive = memory_new(bytes, 1);
	MPI_Request requests[2];
	MPI_Status status;
	int count = 0;

	OK(MPI_Sendrecv(send, (int)bytes, MPI_BYTE, rank, 1, receive, (int)bytes, MPI_BYTE, rank, 1,
		inter, &status));
	OK(MPI_Get_count(&status, MPI_BYTE, &count));
	MUST(count == (int)bytes && status.MPI_SOURCE == rank);
	must_hold(receive, bytes, !is_child, rank);
	memory_fill(receive, bytes, 2);
	OK(MPI_Isend(send, (int)bytes, MPI_BYTE, rank, 2, inter, &requests[0]));
	OK(MPI_Probe(MPI_ANY_SOURCE, 2, inter, &status));
	OK(MPI_Get_count(&status, MPI_BYTE, &count));
	MUST(count == (int)bytes && status.MPI_SOURCE == rank);
	OK(MPI_Irecv(receive, (int)bytes, MPI_BYTE, rank, 2, inter, &requests[1]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	must_hold(receive, bytes, !is_child, rank);
	memory_free(send);
}

/* --- collectives between the groups --- */

/* The second rank of the program gives its data to all that were spawned. */
static void broadcast(size_t bytes)
{
	char *memory = is_child ? memory_new(bytes, 3) : new_filled(bytes);

	OK(MPI_Bcast(memory, (int)bytes, MPI_BYTE,
		is_child            ? 1
			: rank == 1 ? MPI_ROOT
				    : MPI_PROC_NULL,
		inter));
	must_hold(memory, bytes, false, is_child ? 1 : rank);
	memory_free(memory);
}

static void gather_all(size_t bytes)
{
	char *send = new_filled(bytes);
	OWN_MEMORY char *receive = memory_new(RANKS * bytes, 4);

	OK(MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, inter));
	for (int i = 0; i < RANKS; i++)
		must_hold(receive + (size_t)i * bytes, bytes, !is_child, i);
	memory_free(send);
}

/* Element i of a rank is i + 10 * its rank in the communicator. */
static void put_numbers(int *memory, int number)
{
	int host[SUMS];

	for (int i = 0; i < SUMS; i++)
		host[i] = i + 10 * number;
	memory_put(memory, host, sizeof(host));
}

static void must_be_sums(const int *memory, int members)
{
	int host[SUMS];

	memory_get(host, memory, sizeof(host));
	for (int i = 0; i < SUMS; i++)
		MUST(host[i] == members * i + 10 * members * (members - 1) / 2);
}

/* Between groups each gets the sum of the other one, which here has the same numbers. */
static void add(MPI_Comm comm, int number, int members)
{
	OWN_MEMORY int *send = memory_new(SUMS * sizeof(*send), 5);
	OWN_MEMORY int *receive = memory_new(SUMS * sizeof(*receive), 6);

	put_numbers(send, number);
	OK(MPI_Allreduce(send, receive, SUMS, MPI_INT, MPI_SUM, comm));
	must_be_sums(receive, members);
}

/* --- both groups as one --- */

static void merged(void)
{
	MPI_Comm all;
	int number, members;

	OK(MPI_Intercomm_merge(inter, is_child, &all));
	OK(MPI_Comm_rank(all, &number));
	OK(MPI_Comm_size(all, &members));
	MUST(members == 2 * RANKS);
	for (int i = 0; i < 3; i++)
		add(all, number, members);
	OK(MPI_Comm_free(&all));
}

/* --- */

static void start_child(int *argc, char ***argv)
{
	OK(MPI_Init(argc, argv));
	OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
	if (*argc > 2 && !strcmp((*argv)[2], "device"))
		test_device();
	OK(MPI_Comm_get_parent(&inter));
	MUST(ranks == RANKS && inter != MPI_COMM_NULL);
}

/* Return: whether the MPI can. */
static bool spawn(char *kind)
{
	char path[4096], child[] = "child";
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *words[] = {child, kind, NULL};
	char text[MPI_MAX_ERROR_STRING];
	int code;

	MUST(length > 0 && ranks == RANKS);
	path[length] = '\0';
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	code = MPI_Comm_spawn(path, words, RANKS, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
		MPI_ERRCODES_IGNORE);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	if (code == MPI_SUCCESS)
		return true;
	OK(MPI_Error_string(code, text, &(int){0}));
	text[strcspn(text, "\n")] = '\0';
	say("cannot spawn: %s", text);
	return false;
}

static void work(void)
{
	static const size_t sizes[] = {100, 5000, 300000};

	/* The ranks of a group find each other, and take messages directly. */
	for (int i = 0; i < 3; i++)
		add(MPI_COMM_WORLD, rank, RANKS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exchange(sizes[i]);
		broadcast(sizes[i]);
		gather_all(sizes[i]);
	}
	add(inter, rank, RANKS);
	merged();
	add(MPI_COMM_WORLD, rank, RANKS);
	OK(MPI_Barrier(inter));
	OK(MPI_Comm_disconnect(&inter));
}

int main(int argc, char *argv[])
{
	is_child = argc > 1 && !strcmp(argv[1], "child");
	if (is_child) {
		start_child(&argc, &argv);
		work();
		return MPI_Finalize() != MPI_SUCCESS;
	}
	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	if (spawn(argv[1])) {
		work();
		say("ok");
	}
	return test_finish();
}
