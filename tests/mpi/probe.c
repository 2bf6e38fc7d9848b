/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - messages that a probe took out of the MPI, where something fails; for mpi_direct
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "direct.h"
#include "mpi_test.h"

/* --- what is kept --- */

/* Receives one that is kept, by a request. Return: the code of the wait. */
static int receive_by_request(void *to, int room, int tag, MPI_Status *status)
{
	MPI_Request request = MPI_REQUEST_NULL;

#if MPI_VERSION >= 4
	OK(MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, to, room, MPI_BYTE, peer, tag,
		MPI_COMM_WORLD, &request));
#else
	OK(MPI_Irecv(to, room, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request));
#endif
	return MPI_Wait(&request, status);
}

/* Not every MPI writes what fits of a message that is too long. */
static void must_be_untouched_from(const void *memory, size_t from)
{
	unsigned char data[DATA];

	memory_get(data, memory, DATA);
	for (size_t i = from; i < DATA; i++)
		MUST(data[i] == 0xee);
}

/* Messages that were kept because they were sent before the one that a probe asked for. */
void kept_unread(void)
{
	struct place places[2] = {place_new(DATA, true), place_new(DATA, true)};
	MPI_Status status;

	if (rank == 0) {
		send_host(3000, 55);
		send_host(3000, 56);
		send_device(DATA, 57);
	} else {
		probe(DATA, 57);
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		must_be_cut(receive_by_request(places[0].at, 1000, 55, &status));
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
		must_be_untouched_from(places[0].at, 1000);
		OK(receive_by_request(places[1].at, DATA, 56, &status));
		must_be(&status, 3000, 56);
		check(places[1].at, DATA, 3000, 56);
		receive(DATA, true, DATA, 57);
	}
	place_free(&places[0]);
	place_free(&places[1]);
}

/* Many messages are kept in their order, also after the last one was received. */
void kept_many(void)
{
	enum {
		MANY = 2000
	};
	MPI_Status status;
	int number;

	for (int i = 0; i < MANY && rank == 0; i++)
		OK(MPI_Send(&i, 1, MPI_INT, peer, 35, MPI_COMM_WORLD));
	if (rank == 0)
		send_host(CONTROL, 36);
	else
		probe(CONTROL, 36);
	if (rank == 1)
		receive(CONTROL, false, CONTROL, 36);
	barrier();
	if (rank == 0) {
		send_host(CONTROL, 37);
		return;
	}
	probe(CONTROL, 37);
	for (int i = 0; i < MANY; i++) {
		OK(MPI_Recv(&number, 1, MPI_INT, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
		must_be(&status, sizeof(int), 35);
		MUST(number == i);
	}
	OK(MPI_Probe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
	must_be(&status, CONTROL, 37);
	receive(CONTROL, false, CONTROL, 37);
}

/* What a probe could not receive: the receive says so (lossy.c). */
void probe_fails(void)
{
	bool *fails = dlsym(RTLD_DEFAULT, "mpi_mrecv_fails");
	char bytes[CONTROL];
	int code, error_class;

	MUST(fails);
	if (rank == 0) {
		send_host(CONTROL, 45);
		send_host(CONTROL, 45);
		return;
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	*fails = true;
	probe(CONTROL, 45);
	MUST(!*fails);
	code = MPI_Recv(bytes, CONTROL, MPI_BYTE, peer, 45, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MUST(code != MPI_SUCCESS);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == MPI_ERR_INTERN);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	receive(CONTROL, false, CONTROL, 45);
}

/* --- exchanges that the MPI refuses --- */

static void must_be_rank(int code)
{
	int error_class;

	MUST(code != MPI_SUCCESS);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == MPI_ERR_RANK);
}

static void must_come(int tag)
{
	int flag = 0;

	OK(MPI_Iprobe(peer, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
	MUST(flag);
}

/* The message that is kept stays. */
static void refuse_kept(void *to)
{
	char sent = 0;

	probe(DATA, 38);
	must_be_rank(MPI_Sendrecv(&sent, 1, MPI_BYTE, ranks, 38, to, DATA, MPI_BYTE, peer, 38,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	must_come(38);
	must_be_rank(MPI_Sendrecv_replace(to, DATA, MPI_BYTE, ranks, 38, peer, 38, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	must_come(38);
#if MPI_VERSION >= 4
	MPI_Request request;

	must_be_rank(MPI_Isendrecv(&sent, 1, MPI_BYTE, ranks, 38, to, DATA, MPI_BYTE, peer, 38,
		MPI_COMM_WORLD, &request));
	must_come(38);
#endif
	receive(DATA, true, DATA, 38);
}

/* If one side is refused, the other one has no effect. */
void refused_exchanges(void)
{
	struct place place = place_new(DATA, true);

	if (rank == 0) {
		send_device(DATA, 38);
		send_host(100, 39);
		barrier();
		send_host(200, 39);
		receive(DATA, false, 100, 39);
		place_free(&place);
		return;
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	refuse_kept(place.at);
	must_be_rank(MPI_Sendrecv(place.at, 1, MPI_BYTE, ranks, 39, place.at + 1, DATA - 1,
		MPI_BYTE, peer, 39, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	barrier();
	receive(DATA, false, 100, 39);
	receive(DATA, false, 200, 39);
	must_be_rank(MPI_Sendrecv(place.at, 1, MPI_BYTE, peer, 39, place.at + 1, DATA - 1, MPI_BYTE,
		ranks, 39, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	send_host(100, 39);
	place_free(&place);
}

/* --- the rank cannot announce itself --- */

#define NUMBERED 3 /* messages, of which the first byte says which one it is */

static const char *path_of(const char *name, char path[300])
{
	MUST(snprintf(path, 300, "%s/%s", getenv("XDG_RUNTIME_DIR"), name) < 300);
	return path;
}

/* While the other thread waits for a broker that failing_broker.sh ends. */
static void *probe_meanwhile(void *unused)
{
	char path[300];
	FILE *file;
	int flag = 0;

	while (access(path_of("starting", path), F_OK) != 0)
		usleep(1000);
	file = fopen(path_of("probing", path), "w");
	MUST(file && fclose(file) == 0);
	while (!flag)
		OK(MPI_Iprobe(peer, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
	return unused;
}

void announcing_fails(void)
{
	unsigned char message[CONTROL] = {0};
	OWN_PLACE struct place place = place_new(2 * DATA, true);
	pthread_t thread;

	for (int i = 0; i < NUMBERED && rank == 0; i++) {
		message[0] = (unsigned char)i;
		OK(MPI_Send(message, CONTROL, MPI_BYTE, peer, 1, MPI_COMM_WORLD));
	}
	if (rank == 1) {
		MUST(!pthread_create(&thread, NULL, probe_meanwhile, NULL));
		OK(MPI_Sendrecv(place.at, DATA, MPI_BYTE, rank, 2, place.at + DATA, DATA, MPI_BYTE,
			rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		MUST(!pthread_join(thread, NULL));
		MUST(!info().takes_direct);
		for (int i = 0; i < NUMBERED; i++) {
			OK(MPI_Recv(message, CONTROL, MPI_BYTE, peer, 1, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE));
			MUST(message[0] == i);
		}
	}
}
