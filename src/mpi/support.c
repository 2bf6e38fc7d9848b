/* SPDX-License-Identifier: Apache-2.0 */
/*
 * support.c - see support.h
 */
#include "mpi/support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/loader.h"
#include "mpi/next.h"
#include "mpi/settings.h"

typedef int query_fn(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_passing;

/* MPICH's function calls its other one, which is ours: in a call of ours that passes through. */
static void ask(void)
{
	query_fn *query = (query_fn *)ww_loader_symbol(RTLD_NEXT, "MPIX_Query_cuda_support");

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

/* Of MPI 4.1: the kinds of memory that calls take. Each MPI takes the first two. */
#define KINDS_KEY   "mpi_memory_alloc_kinds"
#define KINDS_LEAST "system,mpi"
#define KINDS_OURS  "cuda,cuda:device,cuda:managed,cuda:host"
#define KINDS_BYTES 1024

static int add_kinds(MPI_Info info)
{
	char before[KINDS_BYTES] = KINDS_LEAST;
	char kinds[KINDS_BYTES + sizeof("," KINDS_OURS)];
	int is_there = 0;
	int code = PMPI_Info_get(info, KINDS_KEY, KINDS_BYTES - 1, before, &is_there);

	if (code != MPI_SUCCESS || (is_there && strstr(before, "cuda")))
		return code;
	snprintf(kinds, sizeof(kinds), "%s,%s", before, KINDS_OURS);
	return PMPI_Info_set(info, KINDS_KEY, kinds);
}

int ww_mpi_call_Comm_get_info(ww_mpi_fn_Comm_get_info *next, MPI_Comm comm, MPI_Info *out_info)
{
	int code = next(comm, out_info);

	return code == MPI_SUCCESS && !ww_mpi_depth ? add_kinds(*out_info) : code;
}

#ifdef WW_MPI_HAS_Session_get_info
int ww_mpi_call_Session_get_info(ww_mpi_fn_Session_get_info *next, MPI_Session session,
	MPI_Info *out_info)
{
	int code = next(session, out_info);

	return code == MPI_SUCCESS && !ww_mpi_depth ? add_kinds(*out_info) : code;
}
#endif
