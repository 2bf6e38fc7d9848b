/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.c - collectives by the direct route: that they go by it, that nobody can tell, and
 * what happens where they cannot
 */
#include <warpway/mpi.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_abi.h"
#include "device_memory.h"
#include "direct.h"
#include "fakecuda/fakecuda.h"
#include "mpi_test.h"

static bool is_from(const void *memory, size_t bytes, int sender, int tag, size_t at)
{
	unsigned char *data = malloc(bytes);
	bool is_so = true;

	MUST(data);
	memory_get(data, memory, bytes);
	for (size_t i = 0; i < bytes; i++)
		is_so = is_so && data[i] == byte_of(sender, tag, at + i);
	free(data);
	return is_so;
}

static int collective_count;

/* How many collectives have gone directly since the last time. */
static int collectives(void)
{
	int now = (int)info().direct_collectives;
	int more = now - collective_count;

	collective_count = now;
	return more;
}

/* Each rank has DATA bytes for the other one, behind 100 for itself, in the opposite order. */
static void exchange_parts(struct place *send, struct place *receive, int tag, MPI_Comm comm)
{
	int counts[2] = {DATA, DATA};
	int displs[2] = {0, 0};
	int self;

	OK(MPI_Comm_rank(comm, &self));
	counts[self] = 100;
	displs[self] = DATA;
	fill(send->at, send->bytes, tag);
	OK(MPI_Alltoallv(send->at, counts, displs, MPI_BYTE, receive->at, counts, displs, MPI_BYTE,
		comm));
	MUST(is_from(receive->at, DATA, peer, tag, 0));
	MUST(is_from(receive->at + DATA, 100, rank, tag, DATA));
}

/* Nobody gives what one rank alone gets; and one rank gives all, the other one takes it. */
static void collective_parts(void)
{
	OWN_PLACE struct place send = place_new((size_t)2 * DATA, true);
	OWN_PLACE struct place receive = place_new((size_t)2 * DATA, true);
	const int none[2] = {0, 0};
	const int own[2] = {rank == 0 ? DATA : 0, rank == 1 ? DATA : 0};
	const int other[2] = {rank == 1 ? DATA : 0, rank == 0 ? DATA : 0};
	const int displs[2] = {0, DATA};

	fill(send.at, send.bytes, 64);
	collectives();
	OK(MPI_Alltoallv(send.at, own, displs, MPI_BYTE, receive.at, own, displs, MPI_BYTE,
		MPI_COMM_WORLD));
	MUST(is_from(receive.at + displs[rank], DATA, rank, 64, (size_t)displs[rank]));
	for (int sender = 0; sender < 2; sender++) {
		OK(MPI_Alltoallv(send.at, rank == sender ? other : none, displs, MPI_BYTE,
			receive.at, rank == sender ? none : other, displs, MPI_BYTE,
			MPI_COMM_WORLD));
		MUST(rank == sender ||
			is_from(receive.at + displs[peer], DATA, peer, 64, (size_t)displs[rank]));
	}
	MUST(collectives() == 3);
	/* In place the MPI does it, and one rank has nothing at all. */
	OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, receive.at, other, displs,
		MPI_BYTE, MPI_COMM_WORLD));
	OK(MPI_Alltoallv(send.at, none, displs, MPI_BYTE, receive.at, none, displs, MPI_BYTE,
		MPI_COMM_WORLD));
	MUST(collectives() == 0);
}

/* Each collective once, from each root; blocks of DATA bytes. Return: how many went directly. */
static int move_all_ways(MPI_Comm comm, int tag, bool is_device)
{
	struct place send = place_new((size_t)2 * DATA, is_device);
	struct place receive = place_new((size_t)2 * DATA, true);
	int self;

	OK(MPI_Comm_rank(comm, &self));
	collectives();
	fill(send.at, send.bytes, tag);
	for (int root = 0; root < 2; root++) {
		int sender = self == root ? rank : peer; /* in MPI_COMM_WORLD */

		OK(MPI_Bcast(self == root ? send.at : receive.at, DATA, MPI_BYTE, root, comm));
		MUST(self == root || is_from(receive.at, DATA, sender, tag, 0));
		OK(MPI_Gather(send.at, DATA, MPI_BYTE, receive.at, DATA, MPI_BYTE, root, comm));
		MUST(self != root ||
			(is_from(receive.at + self * DATA, DATA, rank, tag, 0) &&
				is_from(receive.at + (1 - self) * DATA, DATA, peer, tag, 0)));
		OK(MPI_Scatter(send.at, DATA, MPI_BYTE, receive.at, DATA, MPI_BYTE, root, comm));
		MUST(is_from(receive.at, DATA, sender, tag, (size_t)self * DATA));
	}
	OK(MPI_Allgather(send.at, DATA, MPI_BYTE, receive.at, DATA, MPI_BYTE, comm));
	MUST(is_from(receive.at + self * DATA, DATA, rank, tag, 0));
	MUST(is_from(receive.at + (1 - self) * DATA, DATA, peer, tag, 0));
	OK(MPI_Alltoall(send.at, DATA, MPI_BYTE, receive.at, DATA, MPI_BYTE, comm));
	MUST(is_from(receive.at + self * DATA, DATA, rank, tag, (size_t)self * DATA));
	MUST(is_from(receive.at + (1 - self) * DATA, DATA, peer, tag, (size_t)self * DATA));
	fill(receive.at, receive.bytes, tag + 1);
	OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive.at, DATA, MPI_BYTE, comm));
	MUST(is_from(receive.at + (1 - self) * DATA, DATA, peer, tag + 1, (size_t)self * DATA));
	fill(receive.at, receive.bytes, tag + 2);
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, receive.at, DATA, MPI_BYTE, comm));
	MUST(is_from(receive.at + (1 - self) * DATA, DATA, peer, tag + 2,
		(size_t)(1 - self) * DATA));
	exchange_parts(&send, &receive, tag + 3, comm);
	place_free(&send);
	place_free(&receive);
	return collectives();
}

/*
 * Until all ranks know each other, some are staged; then all go directly. Host memory in one rank:
 * none goes.
 */
static void collectives_agree(void)
{
	MPI_Comm turned, same;
	int bare = 0;
	int tries = 0;

	OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned));
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &same));
	while (move_all_ways(MPI_COMM_WORLD, 40, true) < 11)
		MUST(++tries < 1000);
	MUST(move_all_ways(turned, 43, true) == 11);
	MUST(move_all_ways(same, 46, true) == 11);
	for (int i = 0; i < 20; i++) {
		/*
		 * Of these only those in which the host rank gives nothing, and the calls in place.
		 */
		MUST(move_all_ways(i % 2 ? same : turned, 49, rank == 0) <= 6);
		OK(MPI_Bcast(&bare, 1, MPI_INT, i % 2, MPI_COMM_WORLD));
	}
	MUST(move_all_ways(turned, 52, true) == 11);
	OK(MPI_Comm_free(&turned));
	OK(MPI_Comm_free(&same));
}

/* What the MPI refuses in one rank alone is not counted there. */
static void collectives_refused(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);

	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	if (rank == 0) {
		MUST(MPI_Bcast(place.at, -1, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
		MUST(MPI_Bcast(place.at, 1, MPI_BYTE, 2, MPI_COMM_WORLD) != MPI_SUCCESS);
		MUST(MPI_Bcast(place.at, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	MUST(move_all_ways(MPI_COMM_WORLD, 55, true) == 11);
}

/* A rank that waits for answers lets its earlier messages go on. */
static void collective_progress(void)
{
	enum {
		LARGE_BYTES = 4000000
	};
	char *large = calloc(1, LARGE_BYTES);
	struct place place = place_new(DATA, true);
	MPI_Request request;

	MUST(large);
	if (rank == 0) {
		OK(MPI_Isend(large, LARGE_BYTES, MPI_BYTE, 1, 77, MPI_COMM_WORLD, &request));
		OK(MPI_Bcast(place.at, DATA, MPI_BYTE, 0, MPI_COMM_WORLD));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	} else {
		OK(MPI_Recv(large, LARGE_BYTES, MPI_BYTE, 0, 77, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Bcast(place.at, DATA, MPI_BYTE, 0, MPI_COMM_WORLD));
	}
	place_free(&place);
	free(large);
}

/*
 * More is given than is received: as with the MPI, what there is room for is there, and the code
 * says so.
 */
static void collective_too_long(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	int error_class = MPI_SUCCESS;
	int code;

	fill(place.at, DATA, 62);
	collectives();
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	code = MPI_Bcast(place.at, rank == 0 ? DATA : 2000, MPI_BYTE, 0, MPI_COMM_WORLD);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	MUST(collectives() == 1);
	if (rank == 1) {
		OK(MPI_Error_class(code, &error_class));
		MUST(error_class == MPI_ERR_TRUNCATE);
		MUST(is_from(place.at, 2000, 0, 62, 0) &&
			is_from(place.at + 2000, DATA - 2000, 1, 62, 2000));
	}
}

/*
 * A call that the MPI refuses in one rank, which repeats it: the ranks count differently, and none
 * goes directly any more.
 */
static void collective_repeated(void)
{
	OWN_PLACE struct place place = place_new(DATA, true);
	MPI_Datatype open_type;
	int code;

	OK(MPI_Type_contiguous(DATA, MPI_BYTE, &open_type));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	if (rank == 0) {
		void *host = calloc(1, DATA);

		code = MPI_Bcast(host, 1, open_type, 0, MPI_COMM_WORLD);
		MUST(code != MPI_SUCCESS);
		free(host);
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	OK(MPI_Type_free(&open_type));
	for (int i = 0; i < 5; i++)
		MUST(move_all_ways(MPI_COMM_WORLD, 70, true) == 0);
}

struct one_type {
	MPI_Datatype type;
	bool is_unsigned, is_integer, has_bits, is_real;
};

/*
 * Small numbers: Open MPI 4.1 adds bytes with saturation, and MPICH 4.0 takes unsigned ones for
 * signed in MPI_MAX.
 */
static void fill_elements(void *memory, size_t bytes, const struct one_type *type, int size,
	int seed)
{
	unsigned char *data = malloc(bytes);

	MUST(data);
	for (size_t i = 0; i < bytes / (size_t)size; i++) {
		int number = (int)((i * 7 + (size_t)seed * 5) % 19) - (type->is_unsigned ? 0 : 9);
		long long whole = number;
		float single = (float)number / 8;
		double twice = (double)number / 8;

		memcpy(data + i * (size_t)size,
			!type->is_real      ? (void *)&whole
				: size == 4 ? (void *)&single
					    : (void *)&twice,
			(size_t)size);
	}
	memory_put(memory, data, bytes);
	free(data);
}

/* By the kernels as by the MPI itself, in all ranks and at a root. */
static void reduce_one(const struct one_type *type, MPI_Op op)
{
	enum {
		BYTES = 8000
	};
	OWN_MEMORY char *send = memory_new(BYTES, 1);
	OWN_MEMORY char *receive = memory_new(BYTES, 2);
	char *expected = malloc(BYTES);
	char *second = malloc(BYTES);
	char *got = malloc(BYTES);
	int size;

	MUST(expected && second && got);
	OK(MPI_Type_size(type->type, &size));
	fill_elements(send, BYTES, type, size, rank);
	fill_elements(expected, BYTES, type, size, 1);
	fill_elements(second, BYTES, type, size, 0);
	OK(MPI_Reduce_local(second, expected, BYTES / size, type->type, op));
	OK(MPI_Allreduce(send, receive, BYTES / size, type->type, op, MPI_COMM_WORLD));
	memory_get(got, receive, BYTES);
	MUST(!memcmp(got, expected, BYTES));
	for (int root = 0; root < 2; root++) {
		fill_elements(receive, BYTES, type, size, rank);
		OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : send, receive, BYTES / size, type->type,
			op, root, MPI_COMM_WORLD));
		memory_get(got, receive, BYTES);
		MUST(rank != root || !memcmp(got, expected, BYTES));
	}
	free(got);
	free(second);
	free(expected);
}

/* It loads a kernel and exports memory, which ends no capture of a stream. */
static void reduce_beside_a_capture(void)
{
	enum {
		COUNT = 2000
	};
	OWN_MEMORY char *memory = memory_new(COUNT * sizeof(int), 1);
	int values[COUNT];
	void *capture;

	for (int i = 0; i < COUNT; i++)
		values[i] = i + rank;
	memory_put(memory, values, sizeof(values));
	capture = device_capture_begin();
	OK(MPI_Allreduce(MPI_IN_PLACE, memory, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	device_capture_end(capture);
	memory_get(values, memory, sizeof(values));
	for (int i = 0; i < COUNT; i++)
		MUST(values[i] == 2 * i + 1);
}

static void reductions(void)
{
	const struct one_type types[] = {
		{MPI_SIGNED_CHAR, false, true, true, false},
		{MPI_UNSIGNED_CHAR, true, true, true, false},
		{MPI_SHORT, false, true, true, false},
		{MPI_UNSIGNED_SHORT, true, true, true, false},
		{MPI_INT, false, true, true, false},
		{MPI_UNSIGNED, true, true, true, false},
		{MPI_LONG, false, true, true, false},
		{MPI_UNSIGNED_LONG, true, true, true, false},
		{MPI_INT64_T, false, true, true, false},
		{MPI_UINT16_T, true, true, true, false},
		{MPI_BYTE, true, false, true, false},
		{MPI_FLOAT, false, false, false, true},
		{MPI_DOUBLE, false, false, false, true},
	};
	const MPI_Op arithmetic[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
	const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR};
	const MPI_Op logical[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
	int wanted = 0;

	reduce_beside_a_capture();
	collectives();
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (int op = 0; op < 4;
			op++, wanted += 3 * (types[i].is_integer || types[i].is_real)) {
			if (types[i].is_integer || types[i].is_real)
				reduce_one(&types[i], arithmetic[op]);
		}
		for (int op = 0; op < 3;
			op++, wanted += 3 * types[i].has_bits + 3 * types[i].is_integer) {
			if (types[i].has_bits)
				reduce_one(&types[i], bits[op]);
			if (types[i].is_integer)
				reduce_one(&types[i], logical[op]);
		}
	}
	MUST(collectives() == wanted);
}

/*
 * A member cannot copy what another one gave: it gets an error that names that rank, and later ones
 * go directly.
 */
static void collective_fails(void)
{
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");
	struct place place = place_new(DATA, true);
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (fail) {
		collectives();
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		if (rank == 0)
			OK(MPI_Bcast(place.at, DATA, MPI_BYTE, 0, MPI_COMM_WORLD));
		if (rank == 1) {
			fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
			OK(MPI_Error_string(MPI_Bcast(place.at, DATA, MPI_BYTE, 0, MPI_COMM_WORLD),
				text, &length));
			MUST(strstr(text, "cannot read the data of rank 0"));
		}
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
		MUST(collectives() == 1);
	}
	place_free(&place);
	MUST(move_all_ways(MPI_COMM_WORLD, 58, true) == 11);
}

/* Each rank has its number and the element's; a part of all ranks is larger than the others. */
static void divided_sum(bool is_in_place)
{
	enum {
		COUNT = 300007
	};
	OWN_PLACE struct place send = place_new(COUNT * sizeof(double), true);
	OWN_PLACE struct place receive = place_new(COUNT * sizeof(double), true);
	double *values = malloc(COUNT * sizeof(*values));

	MUST(values);
	for (int i = 0; i < COUNT; i++)
		values[i] = i % 1000 + 1000 * rank;
	memory_put(is_in_place ? receive.at : send.at, values, COUNT * sizeof(*values));
	OK(MPI_Allreduce(is_in_place ? MPI_IN_PLACE : send.at, receive.at, COUNT, MPI_DOUBLE,
		MPI_SUM, MPI_COMM_WORLD));
	memory_get(values, receive.at, COUNT * sizeof(*values));
	for (int i = 0; i < COUNT; i++)
		MUST(values[i] == ranks * (i % 1000) + 1000 * ranks * (ranks - 1) / 2);
	free(values);
}

/* One rank cannot combine its part: all get an error that names it, but itself. */
static void divided_fails(void)
{
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");
	OWN_PLACE struct place send = place_new(2 << 20, true);
	OWN_PLACE struct place receive = place_new(2 << 20, true);
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (fail) {
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		if (rank == 1)
			fail("cuLaunchKernel", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
		OK(MPI_Error_string(MPI_Allreduce(send.at, receive.at, 2 << 18, MPI_INT, MPI_MAX,
					    MPI_COMM_WORLD),
			text, &length));
		MUST(strstr(text,
			rank == 1 ? "cannot read the data of rank 2"
				  : "rank 1 in its device memory: it has failed to combine"));
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	}
}

/* --- broadcasts that are divided --- */

#define SPREAD ((size_t)64 << 10) /* more than WARPWAY_MPI_DIVIDED_BCAST in these runs */

/* More than a multiple of all parts. @pairs: this rank counts pairs of ints, the others ints */
static void spread_from(int root, size_t more, bool pairs)
{
	size_t bytes = SPREAD + more;
	OWN_PLACE struct place place = place_new(bytes, true);
	int width = (int)(pairs ? 2 * sizeof(int) : sizeof(int));

	if (rank == root)
		fill(place.at, bytes, root);
	OK(MPI_Bcast(place.at, (int)bytes / width, pairs ? MPI_2INT : MPI_INT, root,
		MPI_COMM_WORLD));
	MUST(is_from(place.at, bytes, root, root, 0));
}

/* A type with gaps: it goes directly, and is not divided. */
static void gaps_are_not_spread(void)
{
	struct pair {
		double value;
		int index;
	};
	size_t count = SPREAD / sizeof(double);
	OWN_PLACE struct place place = place_new(count * sizeof(struct pair), true);
	struct pair *host = calloc(count, sizeof(*host));

	MUST(host);
	for (size_t i = 0; i < count; i++) {
		host[i].value = rank ? -1 : (double)i;
		host[i].index = rank ? -1 : (int)i + 1;
	}
	memory_put(place.at, host, place.bytes);
	OK(MPI_Bcast(place.at, (int)count, MPI_DOUBLE_INT, 0, MPI_COMM_WORLD));
	memory_get(host, place.at, place.bytes);
	for (size_t i = 0; i < count; i++)
		MUST(host[i].value == (double)i && host[i].index == (int)i + 1);
	free(host);
}

/*
 * One rank cannot copy its part of what the root gave: all get an error, and later ones work. Each
 * rank is on another GPU: else nothing is divided.
 */
static void spread_fails(void)
{
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW),
		"fakecuda_fail");
	OWN_PLACE struct place place = place_new(SPREAD, true);
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (fail && getenv("MPI_TEST_SPREAD")) {
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
		if (rank == 1) /* the first copy is of its part of the buffer, as that is */
			fail("cuMemcpyAsync", 2, WW_CUDA_ERROR_LAUNCH_FAILED);
		OK(MPI_Error_string(MPI_Bcast(place.at, SPREAD / sizeof(int), MPI_INT, 0,
					    MPI_COMM_WORLD),
			text, &length));
		MUST(strstr(text,
			rank == 1 ? "cannot read the data of rank 0"
				  : "rank 1 in its device memory: it has failed to copy"));
		OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	}
}

/* Rank 1 has room for less than the root sends: the call fails there, and what is behind stays. */
static void spread_to_shorter(void)
{
	OWN_PLACE struct place place = place_new(SPREAD + 4096, true);
	unsigned char *host = calloc(1, SPREAD + 4096);
	size_t bytes = rank == 1 ? SPREAD : SPREAD + 96;
	int code, error_class;

	MUST(host);
	if (rank == 0)
		memset(host, 7, bytes);
	memory_put(place.at, host, SPREAD + 4096);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	code = MPI_Bcast(place.at, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
	OK(MPI_Error_class(code, &error_class));
	MUST(error_class == (rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	MUST(collectives() == 1);
	memory_get(host, place.at, SPREAD + 4096);
	for (size_t i = 0; i < SPREAD + 4096; i++)
		MUST(host[i] == (i < bytes ? 7 : 0));
	free(host);
}

static void broadcasts_are_divided(void)
{
	/* The first call with a type does not go directly. */
	gaps_are_not_spread();
	spread_from(0, 0, true);
	collectives();
	for (int root = 0; root < ranks; root++)
		spread_from(root, 8 * (size_t)root, false);
	spread_from(1, 1000, rank % 2);
	spread_from(1, (size_t)8 * 12345, rank == 1);
	gaps_are_not_spread();
	MUST(collectives() == ranks + 3);
	spread_to_shorter();
	spread_fails();
}

/* For three or more ranks. */
void collectives_are_divided(void)
{
	double warm_up = rank;

	/* The first ones do not go directly: ranks find each other. */
	for (int i = 0; i < 100 && collectives() < 1; i++) {
		divided_sum(false);
		OK(MPI_Allreduce(MPI_IN_PLACE, &warm_up, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
	}
	divided_sum(false);
	divided_sum(true);
	MUST(collectives() == 2);
	broadcasts_are_divided();
	divided_fails();
}

void collectives_go_directly(void)
{
	collectives_agree();
	collectives_refused();
	reductions();
	collective_fails();
	collective_progress();
	collective_parts();
	collective_too_long();
	collective_repeated(); /* none goes directly after it */
}
