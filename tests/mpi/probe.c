/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - messages that a probe took out of the MPI, where something fails; for mpi_direct
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "direct.h"
#include "mpi_test.h"

/* --- what is kept --- */

/* A message that was kept because it was sent before the one that a probe asked for. */
void kept_unread(void)
{
	struct place place = place_new(DATA, true);
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Status status;

	if (rank == 0) {
		send_host(3000, 56);
		send_device(DATA, 57);
	} else {
		probe(DATA, 57);
#if MPI_VERSION >= 4
		OK(MPI_Isendrecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, place.at, DATA, MPI_BYTE,
			peer, 56, MPI_COMM_WORLD, &request));
#else
		OK(MPI_Irecv(place.at, DATA, MPI_BYTE, peer, 56, MPI_COMM_WORLD, &request));
#endif
		OK(MPI_Wait(&request, &status));
		check(place.at, DATA, 3000, 56);
		receive(DATA, true, DATA, 57);
	}
	place_free(&place);
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
	struct place place = place_new(2 * DATA, true);
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
	place_free(&place);
}
