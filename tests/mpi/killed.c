/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed.c - the broker or the other rank is killed while the direct route is in use
 *
 * When rank 1 is killed, rank 0 waits until it has ended. Launchers end a job when a rank is
 * killed, so mpi_test.py has them start a shell that starts the rank. Ranks leave without
 * MPI_Finalize(), which would wait for the other one.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <warpway/broker.h>

#include "direct.h"
#include "mpi_test.h"

#define LIMIT_MS 60000

/* Messages under way when the broker is killed come, and later ones come in some way. */
void broker_killed(void)
{
	struct ww_broker_info broker = WW_INIT(struct ww_broker_info);
	struct place place = place_new(DATA, true);
	MPI_Request request;

	if (rank == 0) {
		fill(place.at, DATA, 1);
		OK(MPI_Isend(place.at, DATA, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request));
		MUST(ww_broker_info_get(NULL, &broker) == WW_OK);
		MUST(kill((pid_t)broker.supervisor_pid, SIGKILL) == 0);
		MUST(kill((pid_t)broker.pid, SIGKILL) == 0);
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	barrier();
	if (rank == 1)
		receive(DATA, true, DATA, 1);
	for (int tag = 2; tag < 10; tag++) {
		if (rank == 0)
			send_device(DATA, tag);
		else
			receive(DATA, tag % 2, DATA, tag);
	}
	place_free(&place);
}

static void kill_self(void)
{
	kill(getpid(), SIGKILL);
}

/* In rank 0: a descriptor that is readable once rank 1 has ended. In rank 1: -1. */
static int exchange_pids(void)
{
	int own = (int)getpid();
	int other;
	int fd = -1;

	OK(MPI_Sendrecv(&own, 1, MPI_INT, peer, 1000, &other, 1, MPI_INT, peer, 1000,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (rank == 0) {
		fd = (int)syscall(SYS_pidfd_open, other, 0);
		MUST(fd >= 0);
	}
	/* Rank 1 goes on when rank 0 has the descriptor. */
	OK(MPI_Barrier(MPI_COMM_WORLD));
	return fd;
}

static void wait_for_end(int fd)
{
	struct pollfd waiting = {.fd = fd, .events = POLLIN};

	MUST(poll(&waiting, 1, LIMIT_MS) == 1);
	close(fd);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
}

static void leave(void)
{
	say("ok");
	_exit(0);
}

/* Sends one message directly; rank 1 is killed before it is received. */
static struct place send_and_be_killed(void)
{
	struct place place = place_new(DATA, true);
	unsigned long long sent = info().direct_sent;
	int fd = exchange_pids();
	MPI_Request request;

	fill(place.at, DATA, 90);
	if (rank == 1) {
		OK(MPI_Isend(place.at, DATA, MPI_BYTE, 0, 90, MPI_COMM_WORLD, &request));
		MUST(info().direct_sent == sent + 1);
		kill_self();
	}
	wait_for_end(fd);
	return place;
}

/* Return: whether the message comes; else the error names its sender. */
static bool receive_it(const struct place *place)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int code, length;

	code = MPI_Recv(place->at, DATA, MPI_BYTE, 1, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (code == MPI_SUCCESS) {
		check(place->at, DATA, DATA, 90);
		return true;
	}
	OK(MPI_Error_string(code, text, &length));
	MUST(strstr(text, "cannot read the message of rank 1"));
	return false;
}

/* The broker keeps the message for some seconds; on a busy machine they may have passed. */
void sender_killed(void)
{
	struct place place = send_and_be_killed();

	receive_it(&place);
	leave();
}

static bool has_escrows(void)
{
	ww_snapshot *snapshot;
	struct ww_hold_info hold = WW_INIT(struct ww_hold_info);
	bool has = false;

	MUST(ww_snapshot_create(NULL, NULL, WW_SNAPSHOT_UNNAMED | WW_SNAPSHOT_HOLDS, &snapshot) ==
		WW_OK);
	for (size_t i = 0; ww_snapshot_hold(snapshot, i, &hold) == WW_OK; i++)
		has = has || hold.is_escrow;
	ww_snapshot_free(snapshot);
	return has;
}

void sender_killed_long_ago(void)
{
	struct place place = send_and_be_killed();

	for (int ms = 0; has_escrows(); ms += 100) {
		MUST(ms < LIMIT_MS);
		poll(NULL, 0, 100);
	}
	MUST(!receive_it(&place));
	leave();
}

/* Messages are under way in both directions when one rank ends the job. */
void aborted(void)
{
	enum {
		COUNT = 4
	};
	unsigned long long sent = info().direct_sent;

	for (int i = 0; i < COUNT; i++) {
		struct place place = place_new(DATA, true);
		MPI_Request request;

		OK(MPI_Isend(place.at, DATA, MPI_BYTE, peer, 90 + i, MPI_COMM_WORLD, &request));
	}
	MUST(info().direct_sent == sent + COUNT);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	say("ok");
	if (rank == 0)
		MPI_Abort(MPI_COMM_WORLD, 4);
	poll(NULL, 0, LIMIT_MS);
}

/*
 * Rank 2 ends while it combines its part of a reduction, by the driver for tests: the others get an
 * error that names it.
 */
void divided_killed(void)
{
	struct place place = place_new(2 << 20, true);
	char text[MPI_MAX_ERROR_STRING] = "";
	int code = MPI_SUCCESS, length;

	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	while (code == MPI_SUCCESS)
		code = MPI_Allreduce(MPI_IN_PLACE, place.at, 2 << 18, MPI_INT, MPI_MAX,
			MPI_COMM_WORLD);
	OK(MPI_Error_string(code, text, &length));
	MUST(rank != 2 && strstr(text, "rank 2") && strstr(text, "has ended"));
	leave();
}

/* Before the driver is loaded. */
void divided_killed_prepare(void)
{
	const char *number = getenv("OMPI_COMM_WORLD_RANK");

	if (!number)
		number = getenv("PMI_RANK");
	if (number && atoi(number) == 2)
		setenv("FAKECUDA_FAIL", "cuLaunchKernel:1:crash", 1);
}

static unsigned long long staged_before;

/* Ends the process well once the call of the other thread has been left to the MPI. */
static void *leave_when_staged(void *unused)
{
	(void)unused;
	for (int ms = 0; ms < LIMIT_MS; ms++) {
		if (info().staged_buffers > staged_before)
			leave();
		poll(NULL, 0, 1);
	}
	MUST(!"the call waits for a rank that has ended");
	return NULL;
}

/*
 * Rank 0 says yes, and rank 1 has ended without an answer: the collective goes to the MPI, which
 * may wait for ever.
 */
void member_killed(void)
{
	struct place place = place_new(DATA, true);
	int fd = exchange_pids();
	pthread_t watcher;

	if (rank == 1)
		kill_self();
	wait_for_end(fd);
	staged_before = info().staged_buffers;
	MUST(pthread_create(&watcher, NULL, leave_when_staged, NULL) == 0);
	MPI_Bcast(place.at, DATA, MPI_BYTE, 1, MPI_COMM_WORLD);
	pthread_join(watcher, NULL);
}
