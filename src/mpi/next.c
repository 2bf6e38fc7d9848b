/* SPDX-License-Identifier: Apache-2.0 */
/*
 * next.c - see next.h
 */
#include "mpi/next.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loader.h"

__thread int ww_mpi_depth;

static const char *const names[WW_MPI_NUMBERS] = {WW_MPI_NAMES};
static _Atomic(void *) functions[WW_MPI_NUMBERS][2]; /* MPI_X, PMPI_X; NULL: not looked for yet */

void *ww_mpi_next_of_name(const char *name)
{
	void *function = ww_loader_symbol(RTLD_NEXT, name);

	if (!function) {
		fprintf(stderr,
			"warpway: the MPI of this program has no %s; the library is for %s: see "
			"`warpway run --help`\n",
			name, WW_MPI_ABI);
		abort();
	}
	return function;
}

static void *find(int number, int is_profiling)
{
	char name[64];
	void *function;

	snprintf(name, sizeof(name), "%s%s", is_profiling ? "P" : "", names[number]);
	function = ww_mpi_next_of_name(name);
	atomic_store_explicit(&functions[number][is_profiling], function, memory_order_release);
	return function;
}

void *ww_mpi_next(int number, int is_profiling)
{
	void *function = atomic_load_explicit(&functions[number][is_profiling],
		memory_order_acquire);

	return function ? function : find(number, is_profiling);
}
