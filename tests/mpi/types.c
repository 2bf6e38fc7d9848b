/* SPDX-License-Identifier: Apache-2.0 */
/*
 * types.c - derived datatypes: gaps, order, overlapping extents, absolute addresses, parts of
 * elements
 */
#include "cases.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EDGE 24 /* of a square of ints */

static MPI_Datatype made;

static int next(void)
{
	return (rank + 1) % ranks;
}

static int previous(void)
{
	return (rank + ranks - 1) % ranks;
}

static MPI_Datatype commit(void)
{
	OK(MPI_Type_commit(&made));
	return made;
}

MPI_Datatype gaps_type(void)
{
	static MPI_Datatype gaps = MPI_DATATYPE_NULL;

	if (gaps == MPI_DATATYPE_NULL) {
		MPI_Datatype vector;

		OK(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
		OK(MPI_Type_create_resized(vector, 0, 3 * sizeof(int), &gaps));
		OK(MPI_Type_commit(&gaps));
		OK(MPI_Type_free(&vector));
	}
	return gaps;
}

/* From one layout to another, and into an array in which all else must stay. */
static void exchange(const char *what, int count, MPI_Datatype from, int receive_count,
	MPI_Datatype to)
{
	size_t bytes = sizeof(int) * EDGE * EDGE;
	OWN_MEMORY void *send = memory_new(bytes, 1);
	OWN_MEMORY void *receive = memory_new(bytes, 2);
	MPI_Status status;

	OK(MPI_Sendrecv(send, count, from, next(), 0, receive, receive_count, to, previous(), 0,
		MPI_COMM_WORLD, &status));
	say_status(what, &status);
	say_memory(what, receive, bytes);
}

static void kinds(void)
{
	int lengths[3] = {3, 1, 2};
	int displs[3] = {10, 0, 5};
	MPI_Aint bytes[3] = {100, 8, 40};
	MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_SHORT};
	int sizes[2] = {EDGE, EDGE};
	int parts[2] = {5, 7};
	int starts[2] = {3, 4};
	MPI_Datatype type;

	OK(MPI_Type_vector(EDGE, 1, EDGE, MPI_INT, &made));
	type = commit();
	exchange("column", 1, type, EDGE, MPI_INT);
	exchange("column", EDGE, MPI_INT, 1, type);
	OK(MPI_Type_free(&type));
	OK(MPI_Type_indexed(3, lengths, displs, MPI_INT, &made));
	type = commit();
	exchange("indexed, out of order", 2, type, 12, MPI_INT);
	exchange("indexed, out of order", 12, MPI_INT, 2, type);
	OK(MPI_Type_free(&type));
	OK(MPI_Type_create_struct(3, lengths, bytes, types, &made));
	type = commit();
	exchange("struct", 2, type, 2, type);
	OK(MPI_Type_free(&type));
	OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made));
	type = commit();
	exchange("part of an array", 1, type, 35, MPI_INT);
	exchange("part of an array", 35, MPI_INT, 1, type);
	OK(MPI_Type_free(&type));
	OK(MPI_Type_contiguous(20, MPI_DOUBLE_INT, &made));
	type = commit();
	exchange("pairs", 1, type, 20, MPI_DOUBLE_INT);
	OK(MPI_Type_free(&type));
	OK(MPI_Type_contiguous(9, MPI_DOUBLE, &made));
	type = commit();
	exchange("contiguous", 2, type, 18, MPI_DOUBLE);
	exchange("contiguous, in part", 7, MPI_DOUBLE, 3, type);
	OK(MPI_Type_free(&type));
}

/* Transposes: the elements overlap, and together they have no gaps. */
static void transpose(void)
{
	MPI_Datatype column, narrow;

	OK(MPI_Type_vector(EDGE, 1, EDGE, MPI_INT, &column));
	OK(MPI_Type_create_resized(column, 0, sizeof(int), &narrow));
	OK(MPI_Type_commit(&narrow));
	exchange("transpose", EDGE, narrow, EDGE * EDGE, MPI_INT);
	exchange("transpose", EDGE * EDGE, MPI_INT, EDGE, narrow);
	exchange("transpose in part", EDGE * 5, MPI_INT, EDGE, narrow);
	OK(MPI_Type_free(&column));
	OK(MPI_Type_free(&narrow));
}

/* Less than was posted: in the middle of an element only the bytes that came are written. */
static void part_of_element(void)
{
	int lengths[3] = {3, 1, 2};
	int displs[3] = {10, 0, 5};

	OK(MPI_Type_indexed(3, lengths, displs, MPI_INT, &made));
	commit();
	for (int count = 0; count < 14; count++)
		exchange("part of an element", count, MPI_INT, 3, made);
	OK(MPI_Type_free(&made));
}

/* Two receives into the same rows of a matrix at once, each into columns of its own. */
static void interleaved(void)
{
	size_t bytes = sizeof(int) * EDGE * EDGE;
	OWN_MEMORY char *send = memory_new(bytes, 3);
	OWN_MEMORY char *receive = memory_new(bytes, 4);
	MPI_Request requests[EDGE];
	MPI_Datatype column;

	OK(MPI_Type_vector(EDGE, 1, EDGE, MPI_INT, &column));
	OK(MPI_Type_commit(&column));
	for (int i = 0; i < EDGE; i++)
		OK(MPI_Irecv(receive + i * sizeof(int), 1, column, previous(), i, MPI_COMM_WORLD,
			&requests[i]));
	OK(MPI_Type_free(&column)); /* the receives keep it */
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = EDGE - 1; i >= 0; i -= 2)
		OK(MPI_Send(send + sizeof(int) * EDGE * i, EDGE, MPI_INT, next(), i,
			MPI_COMM_WORLD));
	for (int i = 1; i < EDGE; i += 2)
		OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
	say_memory("interleaved", receive, bytes);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int i = 0; i < EDGE; i += 2)
		OK(MPI_Send(send + sizeof(int) * EDGE * i, EDGE, MPI_INT, next(), i,
			MPI_COMM_WORLD));
	OK(MPI_Waitall(EDGE, requests, MPI_STATUSES_IGNORE));
	say_memory("interleaved", receive, bytes);
}

/* Absolute addresses of memory of both kinds, far apart. */
static void absolute(void)
{
	char *a, *b;
	char *host = mmap(NULL, 500, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int lengths[3] = {40, 30, 20};
	MPI_Aint addresses[3];
	MPI_Datatype type;
	MPI_Request request;

	memory_kinds(true);
	a = memory_new(1000, 5);
	b = memory_new(3000, 6);
	memory_kinds(false);
	MUST(host != MAP_FAILED);
	memset(host, rank, 500);
	OK(MPI_Get_address(b + 17, &addresses[0]));
	OK(MPI_Get_address(host + 5, &addresses[1]));
	OK(MPI_Get_address(a + 50, &addresses[2]));
	OK(MPI_Type_create_hindexed(3, lengths, addresses, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Isend(MPI_BOTTOM, 1, type, next(), 0, MPI_COMM_WORLD, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_Recv(MPI_BOTTOM, 1, type, previous(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("absolute a", a, 1000);
	say_memory("absolute b", b, 3000);
	say_memory("absolute host", host, 500);
	OK(MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD));
	say_memory("absolute a", a, 1000);
	say_memory("absolute b", b, 3000);
	say_memory("absolute host", host, 500);
	OK(MPI_Type_free(&type));
	memory_free(a);
	memory_free(b);
	munmap(host, 500);
}

/* A long message from one memory to several, which may be on several GPUs. */
static void scattered(void)
{
	enum {
		PLACES = 4,
		BYTES = 30000
	};
	OWN_MEMORY char *send = memory_new(PLACES * BYTES, 9);
	char *places[PLACES];
	int lengths[PLACES];
	MPI_Aint addresses[PLACES];
	MPI_Datatype type;
	MPI_Request request;

	memory_kinds(true);
	for (int i = 0; i < PLACES; i++) {
		places[i] = memory_new(BYTES + 100, (unsigned int)i);
		lengths[i] = BYTES;
		OK(MPI_Get_address(places[i] + 50, &addresses[i]));
	}
	memory_kinds(false);
	OK(MPI_Type_create_hindexed(PLACES, lengths, addresses, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	for (int i = 0; i < 2; i++) {
		OK(MPI_Irecv(MPI_BOTTOM, 1, type, previous(), i, MPI_COMM_WORLD, &request));
		OK(MPI_Send(send, PLACES * BYTES, MPI_BYTE, next(), i, MPI_COMM_WORLD));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	OK(MPI_Type_free(&type));
	for (int i = 0; i < PLACES; i++) {
		say_memory("scattered", places[i], BYTES + 100);
		memory_free(places[i]);
	}
}

/* An element that begins before the address that is given, and far behind it. */
static void displaced(void)
{
	OWN_MEMORY char *send = memory_new(4000, 7);
	OWN_MEMORY char *receive = memory_new(4000, 8);
	int lengths[2] = {5, 6};
	int displs[2] = {-30, 20};
	MPI_Datatype type;

	OK(MPI_Type_indexed(2, lengths, displs, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Sendrecv(send + 1000, 3, type, next(), 0, receive + 2000, 3, type, previous(), 0,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	say_memory("displaced", receive, 4000);
	OK(MPI_Type_free(&type));
}

/* --- types that have the same bytes several times, which only sends may use --- */

#define REPEATED 300 /* ints of a message: a long one */

/* Bytes from the first one of some elements to the last one; nothing behind it may be read. */
static size_t span_of(int count, MPI_Datatype type)
{
	MPI_Aint lb, extent, true_extent;

	OK(MPI_Type_get_extent(type, &lb, &extent));
	OK(MPI_Type_get_true_extent(type, &lb, &true_extent));
	return (size_t)(extent * (count - 1) + true_extent);
}

static void repeated_collectives(const char *what, MPI_Datatype type)
{
	size_t bytes = sizeof(int) * REPEATED * (size_t)ranks;
	OWN_MEMORY void *send = memory_new(span_of(ranks, type), 12);
	OWN_MEMORY void *receive = memory_new(bytes, 13);
	bool is_root = rank == 1;

	for (int form = 0; form < FORMS; form++) {
		memory_fill(receive, bytes, 14);
		CALL(form, Bcast, Ibcast,
			(is_root ? send : receive, is_root ? 1 : REPEATED, is_root ? type : MPI_INT,
				1, MPI_COMM_WORLD),
			(is_root ? send : receive, is_root ? 1 : REPEATED, is_root ? type : MPI_INT,
				1, MPI_COMM_WORLD));
		say_memory(what, receive, bytes);
		CALL(form, Gather, Igather,
			(send, 1, type, receive, REPEATED, MPI_INT, 0, MPI_COMM_WORLD),
			(send, 1, type, receive, REPEATED, MPI_INT, 0, MPI_COMM_WORLD));
		say_memory(what, receive, bytes);
		memory_fill(receive, bytes, 15);
		CALL(form, Scatter, Iscatter,
			(send, 1, type, receive, REPEATED, MPI_INT, 0, MPI_COMM_WORLD),
			(send, 1, type, receive, REPEATED, MPI_INT, 0, MPI_COMM_WORLD));
		say_memory(what, receive, bytes);
		CALL(form, Allgather, Iallgather,
			(send, 1, type, receive, REPEATED, MPI_INT, MPI_COMM_WORLD),
			(send, 1, type, receive, REPEATED, MPI_INT, MPI_COMM_WORLD));
		say_memory(what, receive, bytes);
		memory_fill(receive, bytes, 16);
		CALL(form, Alltoall, Ialltoall,
			(send, 1, type, receive, REPEATED, MPI_INT, MPI_COMM_WORLD),
			(send, 1, type, receive, REPEATED, MPI_INT, MPI_COMM_WORLD));
		say_memory(what, receive, bytes);
	}
}

static void repeated_requests(const char *what, MPI_Datatype type)
{
	size_t bytes = 2 * sizeof(int) * REPEATED;
	OWN_MEMORY void *send = memory_new(span_of(2, type), 17);
	OWN_MEMORY void *receive = memory_new(bytes, 18);
	MPI_Request requests[2];

	OK(MPI_Send_init(send, 2, type, next(), 0, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Recv_init(receive, 2 * REPEATED, MPI_INT, previous(), 0, MPI_COMM_WORLD,
		&requests[1]));
	for (unsigned int i = 0; i < 2; i++) {
		memory_fill(send, span_of(2, type), 19 + i);
		OK(MPI_Startall(2, requests));
		OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
		say_memory(what, receive, bytes);
	}
	OK(MPI_Request_free(&requests[0]));
	OK(MPI_Request_free(&requests[1]));
#if MPI_VERSION >= 4
	OK(MPI_Precv_init(receive, 2, REPEATED, MPI_INT, previous(), 0, MPI_COMM_WORLD,
		MPI_INFO_NULL, &requests[1]));
	OK(MPI_Psend_init(send, 2, 1, type, next(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
		&requests[0]));
	OK(MPI_Startall(2, requests));
	memory_fill(send, span_of(2, type), 21);
	OK(MPI_Pready_range(0, 1, requests[0]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	say_memory(what, receive, bytes);
	OK(MPI_Request_free(&requests[0]));
	OK(MPI_Request_free(&requests[1]));
#endif
}

static void send_repeated(const char *what)
{
	MPI_Datatype type = commit();

	exchange(what, 1, type, REPEATED, MPI_INT);
	repeated_requests(what, type);
	repeated_collectives(what, type);
	OK(MPI_Type_free(&type));
}

static void repeated(void)
{
	int lengths[2] = {REPEATED / 2, REPEATED / 2};
	int overlapping[2] = {0, REPEATED / 4};
	int displs[3] = {200, 0, 200};
	MPI_Datatype one;

	OK(MPI_Type_vector(REPEATED, 1, 0, MPI_INT, &made));
	send_repeated("one int many times");
	OK(MPI_Type_vector(REPEATED, 1, 0, MPI_INT, &one));
	OK(MPI_Type_create_resized(one, 0, REPEATED * sizeof(int), &made));
	OK(MPI_Type_free(&one));
	send_repeated("one int many times, with the extent of so many");
	OK(MPI_Type_indexed(2, lengths, overlapping, MPI_INT, &made));
	send_repeated("blocks that overlap");
	OK(MPI_Type_create_indexed_block(3, REPEATED / 3, displs, MPI_INT, &made));
	send_repeated("a block twice");
}

const struct test_case type_cases[] = {{"kinds", kinds}, {"transpose", transpose},
	{"part-of-element", part_of_element}, {"interleaved", interleaved}, {"absolute", absolute},
	{"scattered", scattered}, {"displaced", displaced}, {"repeated", repeated}, {NULL, NULL}};
