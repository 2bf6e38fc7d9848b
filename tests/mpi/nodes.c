/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.c - hierarchical collectives: who leads, what is staged, and what happens if a leader fails
 *
 * Four ranks, two on each node (WARPWAY_MPI_NODE), linked with the library for the MPI;
 * WARPWAY_MPI_COLLECTIVES=hierarchical, WARPWAY_MPI_DIRECT=1K.
 */
#include <warpway/mpi.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/cuda_abi.h"
#include "fakecuda/fakecuda.h"
#include "mpi_test.h"

#define COUNT 1000

/* Which call of PMPI_Comm_split() from now on fails in this rank; 0: none. */
static int failing_split;

/* In front of the MPI's. A call that fails takes part all the same. */
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out_comm)
{
	static int (*next)(MPI_Comm, int, int, MPI_Comm *);
	int code;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "PMPI_Comm_split");
	code = next(comm, color, key, out_comm);
	if (failing_split == 0 || --failing_split > 0)
		return code;
	*out_comm = MPI_COMM_NULL;
	return MPI_ERR_OTHER;
}

static int *at; /* COUNT ints of device memory */

static void fill(int value)
{
	int values[COUNT];

	for (int i = 0; i < COUNT; i++)
		values[i] = value + i;
	memory_put(at, values, sizeof(values));
}

static bool is_filled(int value)
{
	int values[COUNT];

	memory_get(values, at, sizeof(values));
	for (int i = 0; i < COUNT; i++) {
		if (values[i] != value + i)
			return false;
	}
	return true;
}

static unsigned long long staged(void)
{
	struct ww_mpi_info info = WW_INIT(struct ww_mpi_info);

	OK(ww_mpi_info_get(&info));
	return info.staged_buffers;
}

static void all_roots(MPI_Comm comm)
{
	for (int root = 0; root < ranks; root++) {
		fill(rank == root ? root * 100 : -1);
		OK(MPI_Bcast(at, COUNT, MPI_INT, root, comm));
		MUST(is_filled(root * 100));
	}
}

/* Once the ranks of each node know each other, only leaders stage. */
static void leaders_stage(void)
{
	unsigned long long before;

	for (int i = 0; i < 1000; i++) {
		int all, mine;

		before = staged();
		all_roots(MPI_COMM_WORLD);
		mine = rank % 2 == 0 ? staged() > before : staged() == before;
		OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
		if (all)
			return;
	}
	MUST(!"only leaders stage");
}

/* Host memory in one rank: all ranks go another way. */
static void one_has_host_memory(void)
{
	int *host = calloc(COUNT, sizeof(*host));

	MUST(host);
	fill(7);
	OK(MPI_Bcast(rank == 3 ? host : at, COUNT, MPI_INT, 0, MPI_COMM_WORLD));
	MUST(rank != 3 || host[1] == 8);
	free(host);
}

/* Rank 2, which leads the second node, fails: rank 3 must not believe that it got the data. */
static void leader_fails(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	fakecuda_fail_fn *fail = (fakecuda_fail_fn *)dlsym(driver, "fakecuda_fail");
	char text[MPI_MAX_ERROR_STRING] = "";
	int code, length;

	MUST(fail);
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	fill(rank == 0 ? 50 : -1);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (rank == 2)
		fail("cuMemcpyAsync", 1, WW_CUDA_ERROR_LAUNCH_FAILED);
	code = MPI_Bcast(at, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
	MUST((code == MPI_SUCCESS) == (rank < 2));
	if (rank == 3) {
		OK(MPI_Error_string(code, text, &length));
		MUST(strstr(text, "rank 2") && strstr(text, "no data"));
	}
	OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	all_roots(MPI_COMM_WORLD);
}

/* The levels of a communicator cannot be made in one rank: no rank uses them, now or later. */
static void levels_fail(int in_rank, int split)
{
	MPI_Comm same;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &same));
	failing_split = rank == in_rank ? split : 0;
	all_roots(same);
	MUST(failing_split == 0);
	all_roots(same);
	OK(MPI_Comm_free(&same));
}

static void sums(void)
{
	int values[COUNT];
	OWN_MEMORY int *sum = memory_new(sizeof(values), 0);

	fill(rank);
	OK(MPI_Allreduce(at, sum, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	OK(MPI_Allreduce(MPI_IN_PLACE, at, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	memory_get(values, sum, sizeof(values));
	for (int i = 0; i < COUNT; i++)
		MUST(values[i] == 4 * i + 6);
	memory_get(values, at, sizeof(values));
	for (int i = 0; i < COUNT; i++)
		MUST(values[i] == 4 * i + 6);
}

int main(int argc, char *argv[])
{
	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	MUST(ranks == 4);
	at = memory_new(COUNT * sizeof(*at), 0);
	leaders_stage();
	sums();
	one_has_host_memory();
	levels_fail(1, 1); /* of the node */
	levels_fail(2, 2); /* of the leaders */
	levels_fail(3, 2);
	if (dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakecuda_fail"))
		leader_fails();
	memory_free(at);
	say("ok");
	return test_finish();
}
