/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed.c - the broker or another rank is killed while the direct route is in use
 *
 * Launchers end a job when a rank is killed, so mpi_test.py has them start a shell that starts the
 * rank. Ranks leave without MPI_Finalize(), which would wait for the rank that was killed.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <warpway/broker.h>

#include "direct.h"
#include "fakecuda/fakecuda.h"
#include "mpi_test.h"

#define LIMIT_MS 60000

/* Messages under way when the broker is killed come, and later ones come in some way. */
void broker_killed(void)
{
	struct ww_broker_info broker = WW_INIT(struct ww_broker_info);
	OWN_PLACE struct place place = place_new(DATA, true);
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

/* --- an MPI_Bcast() that is divided among three ranks --- */

/*
 * Copies of a member that is not the root: its part of the buffer, as that is, to its slice; then
 * it answers. Its part of what the root gave, to its slice; then all meet. The three parts to its
 * buffer. The root makes the first one alone.
 */
enum copy {
	COPY_BEFORE_ANSWER = 1,
	COPY_BEFORE_MEETING,
	COPY_OF_OWN_PART,
	COPY_OF_SECOND_PART,
	COPY_OF_THIRD_PART
};

#define BCAST_BYTES 60000 /* more than WARPWAY_MPI_DIVIDED_BCAST in these runs */

/* What the others get. */
enum outcome {
	FAILS, /* all get an error that says that the rank has ended */
	COMES, /* all get the data, or fail to read the part of the killed rank in time */
	ANY    /* all the data, or all an error; or COMES, if the root survives */
};

/*
 * When the third member of a communicator is killed: it kills itself at one of its copies, or the
 * second member kills it at one of its own copies and goes on when it has ended.
 */
static const struct kill_point {
	bool is_root; /* of the MPI_Bcast(): the rank that is killed; else rank 0 */
	bool is_by_other;
	enum copy copy;
	enum outcome outcome;
} kill_points[] = {
	{false, false, COPY_BEFORE_MEETING, FAILS},
	{false, false, COPY_OF_OWN_PART, COMES},
	{false, false, COPY_OF_THIRD_PART, COMES},
	{false, true, COPY_BEFORE_MEETING, ANY},
	{true, true, COPY_BEFORE_MEETING, ANY},
	{true, true, COPY_OF_OWN_PART, COMES},
	{true, true, COPY_OF_THIRD_PART, COMES},
};

#define KILL_POINTS ((int)(sizeof(kill_points) / sizeof(kill_points[0])))

static fakecuda_at_fn *call_at;
static fakecuda_call_count_fn *call_count;
static int victim;    /* the rank that is to be killed next */
static int victim_fd; /* readable once it has ended */
static int victim_pid;

static void open_fakecuda(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);

	MUST(driver);
	call_at = (fakecuda_at_fn *)dlsym(driver, "fakecuda_at");
	call_count = (fakecuda_call_count_fn *)dlsym(driver, "fakecuda_call_count");
	MUST(call_at && call_count);
}

static void kill_victim(void)
{
	struct pollfd waiting = {.fd = victim_fd, .events = POLLIN};

	MUST(kill(victim_pid, SIGKILL) == 0);
	MUST(poll(&waiting, 1, LIMIT_MS) == 1);
}

/* The third member is killed in the next MPI_Bcast(). */
static void kill_later(const struct kill_point *point)
{
	if (rank == (point->is_by_other ? 1 : victim))
		call_at("cuMemcpyAsync", (uint64_t)point->copy,
			point->is_by_other ? kill_victim : kill_self);
}

/* Return: the code; the data are right if that is MPI_SUCCESS. @tag: of the data */
static int bcast_of(int root, MPI_Comm comm, int tag)
{
	OWN_PLACE struct place place = place_new(BCAST_BYTES, true);
	int code;

	peer = root ? victim : 0;
	if (rank == peer)
		fill(place.at, BCAST_BYTES, tag);
	alarm(LIMIT_MS / 1000); /* the end of a rank that waits for ever */
	code = MPI_Bcast(place.at, BCAST_BYTES, MPI_BYTE, root, comm);
	alarm(0);
	if (code == MPI_SUCCESS)
		check(place.at, BCAST_BYTES, BCAST_BYTES, tag);
	return code;
}

/* The first ones do not go directly: ranks find each other. */
static void bcast_until_divided(int root, MPI_Comm comm)
{
	uint64_t wanted = rank == (root ? victim : 0) ? COPY_BEFORE_ANSWER : COPY_OF_THIRD_PART;
	int is_divided = 0;

	for (int i = 0; i < 100000 && !is_divided; i++) {
		unsigned long long direct = info().direct_collectives;
		uint64_t copies = call_count("cuMemcpyAsync");
		int mine;

		OK(bcast_of(root, comm, 1));
		mine = call_count("cuMemcpyAsync") - copies == wanted &&
			info().direct_collectives == direct + 1;
		OK(MPI_Allreduce(&mine, &is_divided, 1, MPI_INT, MPI_MIN, comm));
	}
	MUST(is_divided);
}

/* The third member does not return. */
static void bcast_and_be_killed(const struct kill_point *point, MPI_Comm comm)
{
	int root = point->is_root ? 2 : 0;
	char text[MPI_MAX_ERROR_STRING] = "";
	int code, length, others_code;

	bcast_until_divided(root, comm);
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	kill_later(point);
	code = bcast_of(root, comm, 2);
	if (rank == victim && point->is_by_other)
		poll(NULL, 0, LIMIT_MS); /* a root is through with it before the others are */
	MUST(rank != victim);
	OK(MPI_Error_string(code, text, &length));
	OK(MPI_Sendrecv(&code, 1, MPI_INT, 1 - rank, 7, &others_code, 1, MPI_INT, 1 - rank, 7,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	if (point->outcome == FAILS)
		MUST(strstr(text, "rank 2") && strstr(text, "has ended"));
	if (code != MPI_SUCCESS)
		MUST(strstr(text, "MPI_Bcast: cannot read the data of rank "));
	MUST(point->outcome != ANY || !point->is_root || !code == !others_code);
	MUST(point->outcome != COMES || code == MPI_SUCCESS || strstr(text, "of rank 2"));
}

/*
 * Ranks 0 and 1 survive all other ranks, each of which is killed in its turn, in a communicator
 * with these two. It sleeps until then.
 */
void divided_bcast_killed(void)
{
	MPI_Comm comms[KILL_POINTS];
	int pids[KILL_POINTS + 2], fds[KILL_POINTS];
	int pid = (int)getpid();

	open_fakecuda();
	MUST(ranks == KILL_POINTS + 2);
	OK(MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD));
	for (int i = 0; i < KILL_POINTS; i++) {
		OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 || rank == i + 2 ? 0 : MPI_UNDEFINED,
			rank, &comms[i]));
		fds[i] = (int)syscall(SYS_pidfd_open, pids[i + 2], 0);
		MUST(fds[i] >= 0);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD)); /* all have the descriptors */
	for (int i = 0; i < KILL_POINTS; i++) {
		struct pollfd waiting = {.fd = fds[i], .events = POLLIN};

		victim = i + 2;
		victim_pid = pids[victim];
		victim_fd = fds[i];
		if (rank < 2 || rank == victim)
			bcast_and_be_killed(&kill_points[i], comms[i]);
		MUST(poll(&waiting, 1, LIMIT_MS) == 1);
	}
	leave();
}

/* It goes to the MPI, as when a member has ended before. */
static void be_killed_before_answer(bool is_root)
{
	const struct kill_point point = {is_root, false, COPY_BEFORE_ANSWER, ANY};
	pthread_t watcher = 0;

	open_fakecuda();
	victim = 2;
	bcast_until_divided(is_root ? 2 : 0, MPI_COMM_WORLD);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	kill_later(&point);
	staged_before = info().staged_buffers;
	if (rank != victim)
		MUST(pthread_create(&watcher, NULL, leave_when_staged, NULL) == 0);
	bcast_of(is_root ? 2 : 0, MPI_COMM_WORLD, 2);
	MUST(rank != victim);
	pthread_join(watcher, NULL);
}

void divided_bcast_unanswered(void)
{
	be_killed_before_answer(false);
}

void divided_bcast_root_unanswered(void)
{
	be_killed_before_answer(true);
}
