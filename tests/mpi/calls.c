/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - the program mpi_calls: every function of the table, see mpi_test.h
 *
 *   mpi_calls host|device|mixed [--only CASE | --skip CASE]...
 */
#include "cases.h"

#include <string.h>

static const struct test_case *const all_cases[] = {p2p_cases, request_cases, type_cases,
	move_cases, reduce_cases};

void wait_for(MPI_Request request)
{
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* In MPICH 4.0 the second time often fails, with host memory, too: "Invalid communicator". */
#ifdef MPICH
#define STARTS 1
#else
#define STARTS 2
#endif

void start(MPI_Request request)
{
	for (int i = 0; i < STARTS; i++) {
		OK(MPI_Start(&request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	OK(MPI_Request_free(&request));
}

static bool is_wanted(int argc, char *argv[], const char *name)
{
	bool is_chosen = true;

	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--skip") && !strcmp(argv[i + 1], name))
			return false;
		if (!strcmp(argv[i], "--only")) {
			is_chosen = false;
			if (!strcmp(argv[i + 1], name))
				return true;
		}
	}
	return is_chosen;
}

int main(int argc, char *argv[])
{
	test_init(&argc, &argv, MPI_THREAD_SINGLE);
	for (size_t i = 0; i < sizeof(all_cases) / sizeof(all_cases[0]); i++) {
		for (const struct test_case *one = all_cases[i]; one->name; one++) {
			if (!is_wanted(argc, argv, one->name))
				continue;
			say("# %s", one->name);
			one->run();
			OK(MPI_Barrier(MPI_COMM_WORLD));
		}
	}
	return test_finish();
}
