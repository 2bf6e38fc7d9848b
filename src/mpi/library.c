/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - what is not about one message: the attached buffer, and the end
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "mpi/agree.h"
#include "mpi/collective.h"
#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/node.h"
#include "mpi/request.h"
#include "mpi/settings.h"
#include "mpi/support.h"

/* --- the buffer of MPI_Bsend() --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static bool is_attached;
static void *attached;      /* the program's */
static void *attached_host; /* what the MPI has in its place; NULL: the program's */

/* Return: NULL: the MPI gets the program's buffer; else what it gets in its place. */
static void *host_for(void *buffer, size_t bytes)
{
	void *host;

	if (!ww_mpi_may_stage() || !ww_mpi_cuda_owns(buffer))
		return NULL;
	host = malloc(bytes ? bytes : 1);
	if (!host)
		PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	return host;
}

/*
 * The MPI refuses a second buffer; after an error handler of the program MPICH 5 returns
 * MPI_SUCCESS. Return: @code.
 */
static int attach(void *buffer, void *host, int code)
{
	pthread_mutex_lock(&lock);
	if (code == MPI_SUCCESS && !is_attached) {
		is_attached = true;
		attached = buffer;
		attached_host = host;
	} else {
		free(host);
	}
	pthread_mutex_unlock(&lock);
	return code;
}

static void detach(void **buffer)
{
	pthread_mutex_lock(&lock);
	if (attached_host && *buffer == attached_host) {
		*buffer = attached;
		free(attached_host);
		attached_host = NULL;
	}
	is_attached = false;
	pthread_mutex_unlock(&lock);
}

int ww_mpi_call_Buffer_attach(ww_mpi_fn_Buffer_attach *next, void *buffer, int size)
{
	void *host = host_for(buffer, (size_t)size);

	return attach(buffer, host, next(host ? host : buffer, size));
}

int ww_mpi_call_Buffer_detach(ww_mpi_fn_Buffer_detach *next, void *address, int *size)
{
	int code = next(address, size);

	if (code == MPI_SUCCESS)
		detach(address);
	return code;
}

#if MPI_VERSION >= 4
int ww_mpi_call_Buffer_attach_c(ww_mpi_fn_Buffer_attach_c *next, void *buffer, MPI_Count size)
{
	void *host = host_for(buffer, (size_t)size);

	return attach(buffer, host, next(host ? host : buffer, size));
}

int ww_mpi_call_Buffer_detach_c(ww_mpi_fn_Buffer_detach_c *next, void *address, MPI_Count *size)
{
	int code = next(address, size);

	if (code == MPI_SUCCESS)
		detach(address);
	return code;
}
#endif

/* --- the end --- */

static void report(void)
{
	struct ww_mpi_direct_volume direct;
	struct ww_mpi_volume volume;
	size_t used, most, bound;
	int rank = 0;

	if (ww_mpi_has_world())
		PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	ww_mpi_volume_get(&volume);
	ww_mpi_staging_state(&used, &most, &bound);
	fprintf(stderr,
		"warpway: rank %d: %llu buffers staged, %llu bytes from devices, %llu bytes to devices, "
		"at most %zu bytes of staging memory\n",
		rank, volume.buffers, volume.bytes_in, volume.bytes_out, most);
	if (ww_mpi_settings()->route == WW_MPI_ROUTE_STAGED)
		return;
	ww_mpi_direct_volume_get(&direct);
	fprintf(stderr,
		"warpway: rank %d: %llu messages sent directly with %llu bytes, %llu received with %llu "
		"bytes, no room for %llu, %llu collectives went directly, %llu were hierarchical%s%s\n",
		rank, direct.sent, direct.sent_bytes, direct.received, direct.received_bytes,
		direct.refused, ww_mpi_collective_count(), ww_mpi_node_count(),
		ww_mpi_direct_problem() ? "; no direct route: " : "",
		ww_mpi_direct_problem() ? ww_mpi_direct_problem() : "");
}

int ww_mpi_call_Finalize(ww_mpi_fn_Finalize *next)
{
	int code;

	ww_mpi_depth++;
	ww_mpi_request_finish();
	ww_mpi_agree_finish();
	if (ww_mpi_settings()->is_reporting)
		report();
	ww_mpi_depth--;
	code = next();
	ww_mpi_peer_finish();
	return code;
}
