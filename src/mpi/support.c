/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.c - see support.h
 */
#include "mpi/support.h"

#include <dlfcn.h>
#include <pthread.h>

#include "mpi/next.h"
#include "mpi/settings.h"

typedef int query_fn(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_passing;

/* MPICH's function calls its other one, which is ours: in a call of ours that passes through. */
static void ask(void)
{
	query_fn *query = (query_fn *)dlsym(RTLD_NEXT, "MPIX_Query_cuda_support");

	ww_mpi_depth++;
	is_passing = ww_mpi_settings()->route == WW_MPI_ROUTE_MPI ||
		(ww_mpi_settings()->route == WW_MPI_ROUTE_AUTO && query && query() == 1);
	ww_mpi_depth--;
}

bool ww_mpi_passes_through(void)
{
	pthread_once(&once, ask);
	return is_passing;
}

int ww_mpi_call_X_Query_cuda_support(ww_mpi_fn_X_Query_cuda_support *next)
{
	return ww_mpi_depth ? next() : 1;
}

#ifdef MPIX_GPU_SUPPORT_CUDA
int ww_mpi_call_X_GPU_query_support(ww_mpi_fn_X_GPU_query_support *next, int gpu_type,
	int *is_supported)
{
	if (ww_mpi_depth || gpu_type != MPIX_GPU_SUPPORT_CUDA)
		return next(gpu_type, is_supported);
	*is_supported = 1;
	return MPI_SUCCESS;
}
#endif
