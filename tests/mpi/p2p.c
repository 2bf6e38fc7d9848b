/* SPDX-License-Identifier: Apache-2.0 */
/*
 * p2p.c - messages: every way to send, to receive and to look for them; packing; attached buffers
 */
#include "cases.h"

#include <stdlib.h>

#define BYTES 300

static int next(void)
{
	return (rank + 1) % ranks;
}

static int previous(void)
{
	return (rank + ranks - 1) % ranks;
}

static void send_by(int way, const void *bytes)
{
	static int (*const ways[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send,
		MPI_Bsend, MPI_Ssend, MPI_Rsend};
#if MPI_VERSION >= 4
	static int (*const large[])(const void *, MPI_Count, MPI_Datatype, int, int,
		MPI_Comm) = {MPI_Send_c, MPI_Bsend_c, MPI_Ssend_c, MPI_Rsend_c};

	if (way >= 4)
		OK(large[way - 4](bytes, BYTES, MPI_BYTE, next(), way, MPI_COMM_WORLD));
	else
#endif
		OK(ways[way](bytes, BYTES, MPI_BYTE, next(), way, MPI_COMM_WORLD));
}

/* A ring: each rank sends once and receives once, without depending on buffers of the MPI. */
static void around(int way)
{
	void *send = memory_new(BYTES, (unsigned int)way);
	void *receive = memory_new(BYTES, 20);
	MPI_Request request;
	MPI_Status status;

	OK(MPI_Irecv(receive, BYTES, MPI_BYTE, previous(), way, MPI_COMM_WORLD, &request));
	if (way % 4 == 3)
		OK(MPI_Barrier(MPI_COMM_WORLD)); /* a ready send needs the receive */
	send_by(way, send);
	OK(MPI_Wait(&request, &status));
	say_status("around", &status);
	say_memory("around", receive, BYTES);
	memory_free(send);
	memory_free(receive);
}

static void send_ways(void)
{
	OWN_MEMORY void *attached = memory_new(8192, 1);
	void *detached = NULL;
	int size;

	OK(MPI_Buffer_attach(attached, 8192));
	for (int way = 0; way < (MPI_VERSION >= 4 ? 8 : 4); way++)
		around(way);
	OK(MPI_Buffer_detach(&detached, &size));
	MUST(detached == attached && size == 8192);
#if MPI_VERSION >= 4
	MPI_Count large;

	OK(MPI_Buffer_attach_c(attached, 8192));
	OK(MPI_Buffer_detach_c(&detached, &large));
	MUST(detached == attached && large == 8192);
#endif
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Buffered messages of a communicator, which has a buffer of its own or one of its session. */
static void around_by(MPI_Comm comm)
{
	OWN_MEMORY char *send = memory_new(BYTES, 3);
	OWN_MEMORY char *receive = memory_new(BYTES, 4);

	OK(MPI_Bsend(send, BYTES, MPI_BYTE, next(), 0, comm));
	OK(MPI_Recv(receive, BYTES, MPI_BYTE, previous(), 0, comm, MPI_STATUS_IGNORE));
	say_memory("by a buffer of its own", receive, BYTES);
}

static void attach_to_comm(void)
{
	OWN_MEMORY void *attached = memory_new(8192, 1);
	OWN_MEMORY void *others = memory_new(4096, 2);
	void *detached = NULL;
	MPI_Count large;
	MPI_Comm comm;
	int size;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Buffer_attach(others, 4096));
	OK(MPI_Comm_attach_buffer(comm, attached, 8192));
	around_by(comm);
	OK(MPI_Comm_detach_buffer(comm, &detached, &size));
	MUST(detached == attached && size == 8192);
	OK(MPI_Comm_attach_buffer_c(comm, attached, 8192));
	around_by(comm);
	OK(MPI_Comm_detach_buffer_c(comm, &detached, &large));
	MUST(detached == attached && large == 8192);
	OK(MPI_Buffer_detach(&detached, &size));
	MUST(detached == others && size == 4096);
	OK(MPI_Comm_free(&comm));
}

static void attach_to_session(void)
{
	OWN_MEMORY void *attached = memory_new(8192, 1);
	void *detached = NULL;
	MPI_Session session;
	MPI_Group group;
	MPI_Count large;
	MPI_Comm comm;
	int size;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(group, "warpway-attach", MPI_INFO_NULL, MPI_ERRORS_RETURN,
		&comm));
	OK(MPI_Group_free(&group));
	OK(MPI_Session_attach_buffer(session, attached, 8192));
	around_by(comm);
	OK(MPI_Session_detach_buffer(session, &detached, &size));
	MUST(detached == attached && size == 8192);
	OK(MPI_Session_attach_buffer_c(session, attached, 8192));
	around_by(comm);
	OK(MPI_Session_detach_buffer_c(session, &detached, &large));
	MUST(detached == attached && large == 8192);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Session_finalize(&session));
}
#endif

/* Sizes around the MPI's own limits; a longer buffer than the message; no message at all. */
static void sizes(void)
{
	static const int all[] = {0, 1, 7, 4000, 5000, 70000, 300000, 3000000};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t bytes = (size_t)all[i];
		OWN_MEMORY void *send = memory_new(bytes, 31);
		OWN_MEMORY void *receive = memory_new(bytes + 100, 32);
		MPI_Status status;

		OK(MPI_Sendrecv(send, all[i], MPI_BYTE, next(), 1, receive, all[i] + 100, MPI_BYTE,
			MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
		say_status("sizes", &status);
		say_memory("sizes", receive, bytes + 100);
	}
}

static void nobody(void)
{
	OWN_MEMORY void *buffer = memory_new(BYTES, 1);
	MPI_Request request;
	MPI_Status status;

	OK(MPI_Send(buffer, BYTES, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
	OK(MPI_Recv(buffer, BYTES, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status));
	say_status("nobody", &status);
	OK(MPI_Irecv(buffer, BYTES, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, &status));
	say_status("nobody", &status);
	OK(MPI_Sendrecv_replace(buffer, BYTES, MPI_BYTE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0,
		MPI_COMM_WORLD, &status));
	OK(MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
	say_memory("nobody", buffer, BYTES);
}

static void replace(void)
{
	OWN_MEMORY void *buffer = memory_new(BYTES, 33);
	MPI_Status status;

	OK(MPI_Sendrecv_replace(buffer, BYTES, MPI_BYTE, next(), 4, previous(), 4, MPI_COMM_WORLD,
		&status));
	say_status("replace", &status);
	say_memory("replace", buffer, BYTES);
#if MPI_VERSION >= 4
	MPI_Request request;
	void *other = memory_new(BYTES, 34);

	OK(MPI_Sendrecv_replace_c(buffer, BYTES, MPI_BYTE, next(), 4, previous(), 4, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	say_memory("replace", buffer, BYTES);
	OK(MPI_Isendrecv_replace(buffer, BYTES, MPI_BYTE, next(), 4, previous(), 4, MPI_COMM_WORLD,
		&request));
	OK(MPI_Wait(&request, &status));
	OK(MPI_Isendrecv_replace_c(buffer, BYTES, MPI_BYTE, next(), 4, previous(), 4,
		MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, &status));
	say_memory("replace", buffer, BYTES);
	OK(MPI_Isendrecv(buffer, 50, MPI_BYTE, next(), 4, other, 60, MPI_BYTE, previous(), 4,
		MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, &status));
	OK(MPI_Isendrecv_c(buffer, 70, MPI_BYTE, next(), 4, other, 90, MPI_BYTE, previous(), 4,
		MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	say_memory("replace", other, BYTES);
	OK(MPI_Sendrecv_c(buffer, 90, MPI_BYTE, next(), 4, other, 95, MPI_BYTE, previous(), 4,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("replace", other, BYTES);
	memory_free(other);
#endif
}

/* Every receive, with and without a status, of messages that were looked for. */
static void probes(void)
{
	OWN_MEMORY void *send = memory_new(BYTES, 35);
	OWN_MEMORY void *receive = memory_new(2 * BYTES, 36);
	MPI_Request sent[5];
	MPI_Request request;
	MPI_Message message;
	MPI_Status status;
	int is_there = 0;

	for (int i = 0; i < 5; i++)
		OK(MPI_Isend(send, BYTES - i, MPI_BYTE, next(), i, MPI_COMM_WORLD, &sent[i]));
	OK(MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status));
	say_status("probe", &status);
	OK(MPI_Recv(receive, 2 * BYTES, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	say_memory("probe", receive, 2 * BYTES);
	while (!is_there)
		OK(MPI_Iprobe(previous(), 1, MPI_COMM_WORLD, &is_there, &status));
	OK(MPI_Recv(receive, 2 * BYTES, MPI_BYTE, previous(), 1, MPI_COMM_WORLD, &status));
	say_status("iprobe", &status);
	OK(MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status));
	OK(MPI_Mrecv(receive, 2 * BYTES, MPI_BYTE, &message, &status));
	MUST(message == MPI_MESSAGE_NULL);
	say_status("mrecv", &status);
	say_memory("mrecv", receive, 2 * BYTES);
	for (is_there = 0; !is_there;)
		OK(MPI_Improbe(previous(), 3, MPI_COMM_WORLD, &is_there, &message, &status));
	OK(MPI_Imrecv(receive, BYTES, MPI_BYTE, &message, &request));
	OK(MPI_Wait(&request, &status));
	say_status("imrecv", &status);
	say_memory("imrecv", receive, 2 * BYTES);
#if MPI_VERSION >= 4
	OK(MPI_Mprobe(previous(), 4, MPI_COMM_WORLD, &message, &status));
	OK(MPI_Mrecv_c(receive, 2 * BYTES, MPI_BYTE, &message, MPI_STATUS_IGNORE));
	OK(MPI_Isend_c(send, 5, MPI_BYTE, next(), 6, MPI_COMM_WORLD, &request));
	OK(MPI_Mprobe(previous(), 6, MPI_COMM_WORLD, &message, &status));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_Imrecv_c(receive, BYTES, MPI_BYTE, &message, &request));
	OK(MPI_Wait(&request, &status));
	OK(MPI_Isend(send, 9, MPI_BYTE, next(), 7, MPI_COMM_WORLD, &request));
	OK(MPI_Recv_c(receive, BYTES, MPI_BYTE, previous(), 7, MPI_COMM_WORLD, &status));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
#else
	OK(MPI_Recv(receive, BYTES, MPI_BYTE, previous(), 4, MPI_COMM_WORLD, &status));
#endif
	say_memory("large", receive, 2 * BYTES);
	OK(MPI_Waitall(5, sent, MPI_STATUSES_IGNORE));
}

/* What does not fit is an error, and what fits is there. */
static void truncation(void)
{
	OWN_MEMORY void *send = memory_new(BYTES, 37);
	OWN_MEMORY void *receive = memory_new(BYTES, 38);
	MPI_Request request;
	int error_class = MPI_SUCCESS;
	int code;

	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	OK(MPI_Isend(send, BYTES, MPI_BYTE, next(), 0, MPI_COMM_WORLD, &request));
	code = MPI_Recv(receive, BYTES / 2, MPI_BYTE, previous(), 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == MPI_ERR_TRUNCATE);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	say_memory("truncation: behind it", (char *)receive + BYTES / 2, BYTES / 2);
}

static void packing(void)
{
	OWN_MEMORY void *ints = memory_new(30 * sizeof(int), 39);
	OWN_MEMORY void *packed = memory_new(500, 40);
	OWN_MEMORY void *unpacked = memory_new(30 * sizeof(int), 41);
	char datarep[] = "external32";
	int position = 10;
	MPI_Aint far = 6;

	OK(MPI_Pack(ints, 10, gaps_type(), packed, 500, &position, MPI_COMM_WORLD));
	say("packed to %d", position);
	say_memory("packed", packed, 500);
	position = 10;
	OK(MPI_Unpack(packed, 500, &position, unpacked, 9, gaps_type(), MPI_COMM_WORLD));
	say("unpacked to %d", position);
	say_memory("unpacked", unpacked, 30 * sizeof(int));
	OK(MPI_Pack_external(datarep, ints, 10, MPI_INT, packed, 500, &far));
	say_memory("packed", packed, 500);
	far = 6;
	OK(MPI_Unpack_external(datarep, packed, 500, &far, unpacked, 10, MPI_INT));
	say_memory("unpacked", unpacked, 30 * sizeof(int));
#if MPI_VERSION >= 4
	MPI_Count large = 20;

	OK(MPI_Pack_c(ints, 10, MPI_INT, packed, 500, &large, MPI_COMM_WORLD));
	say_memory("packed", packed, 500);
	large = 20;
	OK(MPI_Unpack_c(packed, 500, &large, unpacked, 5, gaps_type(), MPI_COMM_WORLD));
	large = 40;
	OK(MPI_Pack_external_c(datarep, ints, 10, MPI_INT, packed, 500, &large));
	large = 40;
	OK(MPI_Unpack_external_c(datarep, packed, 500, &large, unpacked, 5, MPI_INT));
	say_memory("unpacked", unpacked, 30 * sizeof(int));
#endif
}

const struct test_case p2p_cases[] = {{"send-ways", send_ways},
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
	{"attach-to-communicator", attach_to_comm}, {"attach-to-session", attach_to_session},
#endif
	{"sizes", sizes}, {"nobody", nobody}, {"replace", replace}, {"probes", probes},
	{"truncation", truncation}, {"packing", packing}, {NULL, NULL}};
