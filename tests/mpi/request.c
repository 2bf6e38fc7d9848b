/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - requests: shared and reused handles, every way to complete them, freed, cancelled,
 * persistent and partitioned ones
 */
#include "cases.h"

#include <stdlib.h>

#define BYTES 2000
#define MANY  6

static int next(void)
{
	return (rank + 1) % ranks;
}

static int previous(void)
{
	return (rank + ranks - 1) % ranks;
}

static void tell(int tag)
{
	OK(MPI_Send(NULL, 0, MPI_BYTE, previous(), tag, MPI_COMM_WORLD));
}

static void hear(int tag)
{
	OK(MPI_Recv(NULL, 0, MPI_BYTE, next(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Sends that are complete at once have one handle in both MPIs; receives are posted between. */
static void shared_handles(void)
{
	OWN_MEMORY void *send = memory_new(MANY * 10, 1);
	OWN_MEMORY void *receive = memory_new(MANY * 10, 2);
	MPI_Request requests[2 * MANY];

	for (int i = 0; i < MANY; i++) {
		OK(MPI_Isend((char *)send + 10L * i, 10, MPI_BYTE, next(), i, MPI_COMM_WORLD,
			&requests[i]));
		OK(MPI_Irecv((char *)receive + 10L * i, 10, MPI_BYTE, previous(), i, MPI_COMM_WORLD,
			&requests[MANY + i]));
	}
	/* The first ones are waited for when others have the same handle. */
	for (int i = 0; i < MANY; i++) {
		OK(MPI_Wait(&requests[MANY + i], MPI_STATUS_IGNORE));
		OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
		MUST(requests[i] == MPI_REQUEST_NULL && requests[MANY + i] == MPI_REQUEST_NULL);
	}
	say_memory("shared handles", receive, MANY * 10);
}

/* A handle that was waited for comes back with the next receive, whose buffer is another one. */
static void reused_handles(void)
{
	OWN_MEMORY char *send = memory_new(BYTES, 3);
	OWN_MEMORY char *receive = memory_new(MANY * BYTES, 4);

	for (int i = 0; i < MANY; i++) {
		MPI_Request request;
		MPI_Status status;

		OK(MPI_Irecv(receive + (ptrdiff_t)i * BYTES, BYTES, MPI_BYTE, previous(), i,
			MPI_COMM_WORLD, &request));
		OK(MPI_Send(send, BYTES - i, MPI_BYTE, next(), i, MPI_COMM_WORLD));
		OK(MPI_Wait(&request, &status));
		say_status("reused handles", &status);
	}
	say_memory("reused handles", receive, MANY * BYTES);
}

/* Posts receives; the messages are sent when the receives are there. */
static void post(char *send, char *receive, MPI_Request receives[], MPI_Request sends[])
{
	for (int i = 0; i < MANY; i++)
		OK(MPI_Irecv(receive + (ptrdiff_t)i * BYTES, BYTES, MPI_BYTE, previous(), i,
			MPI_COMM_WORLD, &receives[i]));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < MANY; i++)
		OK(MPI_Isend(send + i, BYTES - 10 * i, MPI_BYTE, next(), i, MPI_COMM_WORLD,
			&sends[i]));
}

static void wait_any(MPI_Request requests[], int which)
{
	bool is_seen[MANY] = {false};

	for (int left = MANY; left > 0; left--) {
		MPI_Status status;
		int index = MPI_UNDEFINED;
		int flag = 0;

		if (which == 0)
			OK(MPI_Waitany(MANY, requests, &index, &status));
		while (which == 1 && !flag)
			OK(MPI_Testany(MANY, requests, &index, &flag, &status));
		MUST(index >= 0 && index < MANY && !is_seen[index] && status.MPI_TAG == index);
		is_seen[index] = true;
	}
}

static void wait_some(MPI_Request requests[], int which, bool wants_status)
{
	int done = 0;

	while (done < MANY) {
		MPI_Status statuses[MANY];
		MPI_Status *wanted = wants_status ? statuses : MPI_STATUSES_IGNORE;
		int indices[MANY];
		int count = 0;

		if (which == 0)
			OK(MPI_Waitsome(MANY, requests, &count, indices, wanted));
		else
			OK(MPI_Testsome(MANY, requests, &count, indices, wanted));
		for (int i = 0; i < count; i++)
			MUST(!wants_status || statuses[i].MPI_TAG == indices[i]);
		done += count;
	}
}

static void wait_each(MPI_Request requests[], int which)
{
	for (int i = 0; i < MANY; i++) {
		int flag = 0;

		while (which == 0 && !flag)
			OK(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
		while (which == 1 && !flag)
			OK(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
		OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
	}
}

static void complete(MPI_Request requests[], int way)
{
	MPI_Status statuses[MANY];
	int flag = 0;

	switch (way) {
	case 0:
		OK(MPI_Waitall(MANY, requests, statuses));
		break;
	case 1:
		OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
		break;
	case 2:
		while (!flag)
			OK(MPI_Testall(MANY, requests, &flag, statuses));
		break;
	case 3:
		while (!flag)
			OK(MPI_Testall(MANY, requests, &flag, MPI_STATUSES_IGNORE));
		break;
	case 4:
	case 5:
		wait_any(requests, way - 4);
		break;
	case 6:
	case 7:
		wait_some(requests, way - 6, true);
		break;
	case 8:
	case 9:
		wait_some(requests, way - 8, false);
		break;
	default:
		wait_each(requests, way - 10);
	}
	for (int i = 0; i < MANY; i++)
		MUST(requests[i] == MPI_REQUEST_NULL);
}

static void ways_to_complete(void)
{
	for (int way = 0; way < 12; way++) {
		OWN_MEMORY char *send = memory_new(BYTES + MANY, 5);
		OWN_MEMORY char *receive = memory_new(MANY * BYTES, 6);
		MPI_Request receives[MANY];
		MPI_Request sends[MANY];

		post(send, receive, receives, sends);
		complete(receives, way);
		say_memory("ways to complete", receive, MANY * BYTES);
		complete(sends, 1);
	}
}

/* Of a request that is complete but not waited for, the data is there already. */
static void status_before_wait(void)
{
	OWN_MEMORY void *send = memory_new(BYTES, 7);
	OWN_MEMORY void *receive = memory_new(BYTES, 8);
	MPI_Request request;
	MPI_Status status;
	int flag = 0;

	OK(MPI_Irecv(receive, BYTES, MPI_BYTE, previous(), 0, MPI_COMM_WORLD, &request));
	OK(MPI_Send(send, BYTES / 2, MPI_BYTE, next(), 0, MPI_COMM_WORLD));
	while (!flag)
		OK(MPI_Request_get_status(request, &flag, &status));
	say_memory("status before wait", receive, BYTES);
	memory_fill(receive, BYTES, 9);
	OK(MPI_Wait(&request, &status));
	say_memory("status before wait: not written again", receive, BYTES);
	say_status("status before wait", &status);
}

/* A receive that is freed goes on; that it is complete is known by another message. */
static void freed(void)
{
	OWN_MEMORY void *send = memory_new(BYTES, 10);
	OWN_MEMORY void *receive = memory_new(BYTES, 11);
	OWN_MEMORY void *last = memory_new(BYTES, 12);
	MPI_Request request;

	OK(MPI_Irecv(receive, BYTES, MPI_BYTE, previous(), 0, MPI_COMM_WORLD, &request));
	OK(MPI_Request_free(&request));
	MUST(request == MPI_REQUEST_NULL);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Isend(send, BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD, &request));
	OK(MPI_Request_free(&request));
	OK(MPI_Sendrecv(send, 10, MPI_BYTE, next(), 1, last, 10, MPI_BYTE, previous(), 1,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	/* Messages do not overtake: the first one has come. Any call with device memory sees it. */
	OK(MPI_Sendrecv(send, 10, MPI_BYTE, next(), 2, last, 10, MPI_BYTE, previous(), 2,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Sendrecv(send, 10, MPI_BYTE, next(), 3, last, 10, MPI_BYTE, previous(), 3,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("freed", receive, BYTES);
}

static void cancelled(void)
{
	OWN_MEMORY void *receive = memory_new(BYTES, 13);
	MPI_Request request;
	MPI_Status status;
	int is_cancelled = 0;

	OK(MPI_Irecv(receive, BYTES, MPI_BYTE, previous(), 77, MPI_COMM_WORLD, &request));
	OK(MPI_Cancel(&request));
	OK(MPI_Wait(&request, &status));
	OK(MPI_Test_cancelled(&status, &is_cancelled));
	MUST(is_cancelled);
	say_memory("cancelled", receive, BYTES);
}

/* Large enough that the MPI sends nothing before the receive is there. */
static void late_receive(void)
{
	size_t bytes = 1000000;
	OWN_MEMORY void *send = memory_new(bytes, 14);
	OWN_MEMORY void *receive = memory_new(bytes, 15);
	MPI_Request request;

	OK(MPI_Isend(send, (int)bytes, MPI_BYTE, next(), 0, MPI_COMM_WORLD, &request));
	tell(1);
	hear(1);
	OK(MPI_Recv(receive, (int)bytes, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	say_memory("late receive", receive, bytes);
}

/* --- persistent --- */

static void make_send(int way, void *buffer, MPI_Request *out_request)
{
	static int (*const ways[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
		MPI_Request *) = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init};
#if MPI_VERSION >= 4
	static int (*const large[])(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm,
		MPI_Request *) = {MPI_Send_init_c, MPI_Bsend_init_c, MPI_Ssend_init_c,
		MPI_Rsend_init_c};

	if (way >= 4)
		OK(large[way - 4](buffer, BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD, out_request));
	else
#endif
		OK(ways[way](buffer, BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD, out_request));
}

static void run_persistent(int way)
{
	OWN_MEMORY void *send = memory_new(BYTES, 16);
	OWN_MEMORY void *receive = memory_new(BYTES, 17);
	MPI_Request requests[2];
	MPI_Status statuses[2];

#if MPI_VERSION >= 4
	if (way >= 4)
		OK(MPI_Recv_init_c(receive, BYTES, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
			&requests[0]));
	else
#endif
		OK(MPI_Recv_init(receive, BYTES, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
			&requests[0]));
	make_send(way, send, &requests[1]);
	for (unsigned int i = 0; i < 4; i++) {
		memory_fill(send, BYTES, 18 + i);
		OK(MPI_Start(&requests[0]));
		OK(MPI_Barrier(MPI_COMM_WORLD));
		OK(MPI_Start(&requests[1]));
		OK(MPI_Waitall(2, requests, statuses));
		say_status("persistent", &statuses[0]);
		say_memory("persistent", receive, BYTES);
	}
	if (way % 4 != 3) { /* a ready send may not be started before the receive */
		memory_fill(send, BYTES, 30);
		OK(MPI_Startall(2, requests));
		OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
		OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
		OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE)); /* not active: returns at once */
		say_memory("persistent", receive, BYTES);
	}
	OK(MPI_Request_free(&requests[0]));
	OK(MPI_Request_free(&requests[1]));
}

static void persistent(void)
{
	void *attached = malloc(100000);
	void *detached;
	int size;

	OK(MPI_Buffer_attach(attached, 100000));
	for (int way = 0; way < (MPI_VERSION >= 4 ? 8 : 4); way++)
		run_persistent(way);
	OK(MPI_Buffer_detach(&detached, &size));
	free(attached);
}

static void other_sends(void)
{
	void *send = memory_new(BYTES, 40);
	void *receive = memory_new(MANY * BYTES, 41);
	void *attached = malloc(100000);
	void *detached;
	MPI_Request receives[MANY];
	MPI_Request sends[MANY];
	int size;
	int count = MPI_VERSION >= 4 ? 6 : 3;

	OK(MPI_Buffer_attach(attached, 100000));
	for (int i = 0; i < count; i++)
		OK(MPI_Irecv((char *)receive + (ptrdiff_t)i * BYTES, BYTES, MPI_BYTE, previous(), i,
			MPI_COMM_WORLD, &receives[i]));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Ibsend(send, BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD, &sends[0]));
	OK(MPI_Issend(send, BYTES - 1, MPI_BYTE, next(), 1, MPI_COMM_WORLD, &sends[1]));
	OK(MPI_Irsend(send, BYTES - 2, MPI_BYTE, next(), 2, MPI_COMM_WORLD, &sends[2]));
#if MPI_VERSION >= 4
	OK(MPI_Ibsend_c(send, BYTES - 3, MPI_BYTE, next(), 3, MPI_COMM_WORLD, &sends[3]));
	OK(MPI_Issend_c(send, BYTES - 4, MPI_BYTE, next(), 4, MPI_COMM_WORLD, &sends[4]));
	OK(MPI_Irsend_c(send, BYTES - 5, MPI_BYTE, next(), 5, MPI_COMM_WORLD, &sends[5]));
	void *more = memory_new(BYTES, 42);
	MPI_Request request;

	OK(MPI_Irecv_c(more, BYTES, MPI_BYTE, previous(), 9, MPI_COMM_WORLD, &request));
	OK(MPI_Send(send, BYTES, MPI_BYTE, next(), 9, MPI_COMM_WORLD));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	say_memory("other sends", more, BYTES);
	memory_free(more);
#endif
	OK(MPI_Waitall(count, sends, MPI_STATUSES_IGNORE));
	OK(MPI_Waitall(count, receives, MPI_STATUSES_IGNORE));
	OK(MPI_Buffer_detach(&detached, &size));
	say_memory("other sends", receive, MANY * BYTES);
	memory_free(send);
	memory_free(receive);
	free(attached);
}

/* --- partitioned --- */

static void partitioned(void)
{
#if MPI_VERSION >= 4
	char *send = memory_new(6 * 100, 50);
	char *receive = memory_new(6 * 100, 51);
	int list[2] = {5, 1};
	MPI_Request requests[2];

	OK(MPI_Precv_init(receive, 6, 100, MPI_BYTE, previous(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
		&requests[0]));
	OK(MPI_Psend_init(send, 6, 100, MPI_BYTE, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
		&requests[1]));
	for (unsigned int i = 0; i < 3; i++) {
		int flag = 0;

		OK(MPI_Startall(2, requests));
		memory_fill(send, 6 * 100, 52 + i);
		OK(MPI_Pready(0, requests[1]));
		OK(MPI_Pready_range(2, 4, requests[1]));
		OK(MPI_Pready_list(2, list, requests[1]));
		while (!flag)
			OK(MPI_Parrived(requests[0], 3, &flag));
		say_memory("partitioned: one part", receive + 300, 100);
		OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
		say_memory("partitioned", receive, 6 * 100);
	}
	OK(MPI_Request_free(&requests[0]));
	OK(MPI_Request_free(&requests[1]));
	memory_free(send);
	memory_free(receive);
#endif
}

const struct test_case request_cases[] = {{"shared-handles", shared_handles},
	{"reused-handles", reused_handles}, {"ways-to-complete", ways_to_complete},
	{"status-before-wait", status_before_wait}, {"freed", freed}, {"cancelled", cancelled},
	{"late-receive", late_receive}, {"persistent", persistent}, {"other-sends", other_sends},
	{"partitioned", partitioned}, {NULL, NULL}};
