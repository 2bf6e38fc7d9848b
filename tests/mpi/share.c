/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.c - warpway/mpi.h: memories and timelines that all ranks of a node have
 *
 * Linked with the library for the MPI and with libwarpway; run with WW_TEST_DEVICE and a broker of
 * its own. The transcript has the words of errors only.
 */
#include <warpway/mpi.h>
#include <warpway/pool.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_test.h"

#define FLOATS 1000

static ww_device *device;
static int handled;

static void note(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	handled = *code;
}

static void must_be_ok(ww_status status, const char *what)
{
	if (status != WW_OK)
		fprintf(stderr, "rank %d: %s: %s\n", rank, what, ww_error_last()->message);
	MUST(status == WW_OK);
}

static void barrier(void)
{
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

static ww_memory *new_memory(void)
{
	ww_memory *memory;

	must_be_ok(ww_memory_create(device,
			   WW_PARAMS(struct ww_memory_params, .bytes = FLOATS * sizeof(float)),
			   &memory),
		"ww_memory_create");
	return memory;
}

static float number(int from, int to)
{
	return (float)(100 * from + to);
}

static void release(ww_memory **memories)
{
	for (int peer = 0; peer < ranks; peer++)
		ww_memory_unref(memories[peer]);
}

/* Every rank writes one number into the memory of every rank, and finds the others' in its own. */
static void write_to_all(ww_memory *memory, const struct ww_array *array)
{
	ww_memory *memories[16];
	struct ww_array arrays[16];
	float found;

	OK(ww_mpi_share(MPI_COMM_WORLD, device, memory,
		WW_PARAMS(struct ww_mpi_share_params, .access = WW_ACCESS_WRITE, .array = array),
		memories, arrays));
	MUST(memories[rank] == memory);
	for (int peer = 0; peer < ranks; peer++) {
		found = number(rank, peer);
		MUST(memories[peer]);
		MUST(array ? arrays[peer].ndim == 2 && arrays[peer].shape[0] == 10 + peer
			   : arrays[peer].struct_size == 0);
		must_be_ok(ww_memory_write(memories[peer], (size_t)rank * sizeof(found), &found,
				   sizeof(found), WW_FOREVER, NULL),
			"ww_memory_write");
	}
	barrier();
	for (int peer = 0; peer < ranks; peer++) {
		must_be_ok(ww_memory_read(memory, (size_t)peer * sizeof(found), &found,
				   sizeof(found), WW_FOREVER, NULL),
			"ww_memory_read");
		MUST(found == number(peer, rank));
	}
	release(memories);
	barrier();
}

static void arrays_of_all_ranks(void)
{
	const int64_t shape[] = {10 + rank, 20};
	struct ww_array array = WW_INIT(struct ww_array);
	ww_memory *memory = new_memory();

	must_be_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 2, shape, NULL, 0),
		"ww_array_set");
	write_to_all(memory, &array);
	write_to_all(memory, NULL); /* the same memory again */
	ww_memory_unref(memory);
}

static void slices_of_pools(void)
{
	ww_pool *pool;
	ww_memory *slice;

	must_be_ok(ww_pool_create(device, NULL, &pool), "ww_pool_create");
	must_be_ok(ww_pool_alloc(pool, FLOATS * sizeof(float), 0, 0, NULL, &slice),
		"ww_pool_alloc");
	write_to_all(slice, NULL);
	ww_memory_unref(slice);
	ww_pool_unref(pool);
}

/* Rank 0 has no memory; the others give theirs for reading. */
static void some_have_none(void)
{
	ww_memory *memory = rank == 0 ? NULL : new_memory();
	ww_memory *memories[16];
	char byte = 0;

	OK(ww_mpi_share(MPI_COMM_WORLD, device, memory, NULL, memories, NULL));
	MUST(!memories[0]);
	for (int peer = 1; peer < ranks; peer++) {
		MUST(memories[peer]);
		MUST(peer == rank ||
			ww_memory_write(memories[peer], 0, &byte, 1, WW_FOREVER, NULL) ==
				WW_ERR_ACCESS);
	}
	release(memories);
	ww_memory_unref(memory);
}

/* What one rank cannot do fails in all of them, in its words. */
static void one_rank_fails(void)
{
	const int64_t shape[] = {rank == 1 ? 100000 * FLOATS : FLOATS};
	struct ww_array array = WW_INIT(struct ww_array);
	struct ww_mpi_share_params params = {.struct_size = sizeof(params), .array = &array};
	ww_memory *memory = new_memory();
	ww_memory *memories[16];
	char text[MPI_MAX_ERROR_STRING];
	int length, code;

	must_be_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 1, shape, NULL, 0),
		"ww_array_set");
	for (int turn = 0; turn < 2; turn++) {
		params.struct_size = turn && rank == 1 ? 0 : sizeof(params);
		code = ww_mpi_share(MPI_COMM_WORLD, device, memory, &params, memories, NULL);
		MUST(code != MPI_SUCCESS && handled == code);
		OK(MPI_Error_string(code, text, &length));
		say("%s", text);
		MUST(strstr(text, "ww_mpi_share: rank 1: "));
		MUST(strstr(text, turn ? "struct_size" : "array"));
		for (int peer = 0; peer < ranks; peer++)
			MUST(!memories[peer]);
		handled = 0;
	}
	/* A token that this rank could not open: it is for reading. */
	params.struct_size = sizeof(params);
	params.array = NULL;
	params.access = rank == ranks - 1 ? WW_ACCESS_WRITE : WW_ACCESS_READ;
	code = ww_mpi_share(MPI_COMM_WORLD, device, memory, &params, memories, NULL);
	MUST(code != MPI_SUCCESS && handled == code);
	OK(MPI_Error_string(code, text, &length));
	say("%s", text);
	MUST(strstr(text, "ww_mpi_share: rank "));
	handled = 0;
	params.access = WW_ACCESS_WRITE;
	OK(ww_mpi_share(MPI_COMM_WORLD, device, memory, &params, memories, NULL));
	release(memories);
	ww_memory_unref(memory);
}

/* Values go around: each rank signals after the one before it. */
static void timelines_of_all_ranks(void)
{
	ww_timeline *timelines[16];
	struct ww_timeline_info info = WW_INIT(struct ww_timeline_info);

	OK(ww_mpi_timelines(MPI_COMM_WORLD, NULL, timelines));
	for (uint64_t value = 1; value <= 10; value++) {
		if (rank > 0 || value > 1)
			must_be_ok(ww_timeline_wait(timelines[(rank + ranks - 1) % ranks],
					   rank > 0 ? value : value - 1, WW_FOREVER, NULL),
				"ww_timeline_wait");
		must_be_ok(ww_timeline_signal(timelines[rank], value), "ww_timeline_signal");
	}
	for (int peer = 0; peer < ranks; peer++) {
		must_be_ok(ww_timeline_wait(timelines[peer], 10, WW_FOREVER, NULL),
			"the last value");
		must_be_ok(ww_timeline_info_get(timelines[peer], &info), "ww_timeline_info_get");
		MUST(info.is_own == (peer == rank));
	}
	barrier();
	for (int peer = 0; peer < ranks; peer++)
		ww_timeline_unref(timelines[peer]);
}

/* In halves of the job: the ranks are those of the communicator. */
static void part_of_the_job(void)
{
	ww_memory *memory = new_memory();
	ww_memory *memories[16];
	int size, place;
	MPI_Comm half;

	OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
	OK(MPI_Comm_size(half, &size));
	OK(MPI_Comm_rank(half, &place));
	OK(ww_mpi_share(half, device, memory, NULL, memories, NULL));
	for (int peer = 0; peer < size; peer++) {
		MUST((memories[peer] == memory) == (peer == place));
		ww_memory_unref(memories[peer]);
	}
	OK(MPI_Comm_free(&half));
	ww_memory_unref(memory);
}

static void what_was_staged(void)
{
	struct ww_mpi_info info = WW_INIT(struct ww_mpi_info);
	struct {
		struct ww_mpi_info known;
		uint64_t later;
	} longer = {.known.struct_size = sizeof(longer), .later = 7};
	uint64_t before;
	ww_memory *memory = new_memory();
	char *at = ww_memory_pointer(memory);
	bool is_gpu = strcmp(getenv("WW_TEST_DEVICE"), "host") != 0;

	OK(ww_mpi_info_get(&info));
	before = info.staged_buffers;
	OK(MPI_Sendrecv(at, 100, MPI_BYTE, (rank + 1) % ranks, 0, at + 100, 100, MPI_BYTE,
		(rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(ww_mpi_info_get(&info));
	MUST(info.staged_buffers == before + (is_gpu ? 2 : 0));
	MUST(!is_gpu || (info.bytes_from_device >= 100 && info.bytes_to_device >= 100));
	MUST(info.staging_bytes_limit > 0 && info.staging_bytes == 0 && !info.passes_through);
	OK(ww_mpi_info_get(&longer.known));
	MUST(longer.known.staged_buffers == info.staged_buffers && longer.later == 0);
	info.struct_size = 0;
	MUST(ww_mpi_info_get(&info) == MPI_ERR_ARG);
	ww_memory_unref(memory);
}

/* WARPWAY_MPI_NODE is the rank's half. */
static void others_on_nodes(void)
{
	ww_memory *memory = new_memory();
	ww_memory *memories[16];
	ww_timeline *timelines[16];

	OK(ww_mpi_share(MPI_COMM_WORLD, device, memory, NULL, memories, NULL));
	OK(ww_mpi_timelines(MPI_COMM_WORLD, NULL, timelines));
	for (int other = 0; other < ranks; other++) {
		MUST(!memories[other] == (other / 2 != rank / 2));
		MUST(!timelines[other] == (other / 2 != rank / 2));
		ww_timeline_unref(timelines[other]);
	}
	release(memories);
	ww_memory_unref(memory);
	ww_device_unref(device);
}

int main(int argc, char *argv[])
{
	MPI_Errhandler handler;

	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	must_be_ok(ww_device_open(getenv("WW_TEST_DEVICE"), &device), "ww_device_open");
	if (getenv("WARPWAY_MPI_NODE")) {
		others_on_nodes();
		say("ok");
		return test_finish();
	}
	arrays_of_all_ranks();
	slices_of_pools();
	some_have_none();
	timelines_of_all_ranks();
	part_of_the_job();
	what_was_staged();
	OK(MPI_Comm_create_errhandler(note, &handler));
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
	one_rank_fails();
	OK(MPI_Errhandler_free(&handler));
	ww_device_unref(device);
	say("ok");
	return test_finish();
}
