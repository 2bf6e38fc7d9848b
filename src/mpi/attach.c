/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach.c - buffers that the program attaches for MPI_Bsend()
 *
 * The MPI writes messages into an attached buffer by the CPU. For device memory it gets host memory
 * of the same size; the call that detaches returns the program's address. A buffer may be attached
 * to the process, a communicator or a session. Which one it was need not be known: the MPI returns
 * the host memory's address, and no two of these are the same.
 */
#include <pthread.h>
#include <stdlib.h>

#include "mpi/call.h"

struct attached {
	void *program; /* device memory */
	void *host;    /* what the MPI has in its place */
	struct attached *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct attached *all;

static void destroy(struct attached *attached)
{
	if (attached)
		free(attached->host);
	free(attached);
}

/*
 * A call attaches a buffer. *out_attached: NULL: the MPI gets the program's buffer.
 * Return: MPI_SUCCESS, or a code that no error handler has got
 */
static int begin(const char *name, void *buffer, MPI_Count bytes, struct attached **out_attached)
{
	struct attached *attached;

	*out_attached = NULL;
	/* The MPI refuses a size that is negative. */
	if (bytes < 0 || !ww_mpi_may_stage() || !ww_mpi_cuda_owns(buffer))
		return MPI_SUCCESS;
	attached = calloc(1, sizeof(*attached));
	if (attached) {
		attached->program = buffer;
		attached->host = malloc(bytes ? (size_t)bytes : 1);
	}
	if (attached && attached->host) {
		/* Before the MPI has it: another thread may detach it at once. */
		pthread_mutex_lock(&lock);
		attached->next = all;
		all = attached;
		pthread_mutex_unlock(&lock);
		*out_attached = attached;
		return MPI_SUCCESS;
	}
	destroy(attached);
	return ww_mpi_error(WW_MPI_REASON_FULL,
		"warpway: %s: cannot attach %lld bytes of device memory: the system has not so much "
		"host memory left; attach a smaller buffer",
		name, (long long)bytes);
}

static void *given(const struct attached *attached, void *buffer)
{
	return attached ? attached->host : buffer;
}

/* Takes the entry of a host memory out. Return: NULL: there is none */
static struct attached *take(const void *host)
{
	struct attached **link = &all;
	struct attached *found;

	pthread_mutex_lock(&lock);
	while (*link && (*link)->host != host)
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	pthread_mutex_unlock(&lock);
	return found;
}

/*
 * The MPI has the buffer, or has refused it: MPICH 5 returns MPI_SUCCESS then too, after an error
 * handler of the program, and the entry stays. Return: @code
 */
static int end(struct attached *attached, int code)
{
	if (attached && code != MPI_SUCCESS)
		destroy(take(attached->host));
	return code;
}

/* The MPI has given a buffer back. Return: @code */
static int detach(void **buffer, int code)
{
	struct attached *found = code == MPI_SUCCESS ? take(*buffer) : NULL;

	if (found)
		*buffer = found->program;
	destroy(found);
	return code;
}

/* --- to the process --- */

int ww_mpi_call_Buffer_attach(ww_mpi_fn_Buffer_attach *next, void *buffer, int size)
{
	struct attached *attached;
	int code = begin("MPI_Buffer_attach", buffer, size, &attached);

	if (code != MPI_SUCCESS)
		return ww_mpi_raise(MPI_COMM_NULL, code);
	return end(attached, next(given(attached, buffer), size));
}

int ww_mpi_call_Buffer_detach(ww_mpi_fn_Buffer_detach *next, void *address, int *size)
{
	return detach(address, next(address, size));
}

#ifdef WW_MPI_HAS_Buffer_attach_c
int ww_mpi_call_Buffer_attach_c(ww_mpi_fn_Buffer_attach_c *next, void *buffer, MPI_Count size)
{
	struct attached *attached;
	int code = begin("MPI_Buffer_attach_c", buffer, size, &attached);

	if (code != MPI_SUCCESS)
		return ww_mpi_raise(MPI_COMM_NULL, code);
	return end(attached, next(given(attached, buffer), size));
}

int ww_mpi_call_Buffer_detach_c(ww_mpi_fn_Buffer_detach_c *next, void *address, MPI_Count *size)
{
	return detach(address, next(address, size));
}
#endif

/* --- to a communicator or a session: MPI 4.1 --- */

#ifdef WW_MPI_HAS_Comm_attach_buffer
int ww_mpi_call_Comm_attach_buffer(ww_mpi_fn_Comm_attach_buffer *next, MPI_Comm comm, void *buffer,
	int size)
{
	struct attached *attached;
	int code = begin("MPI_Comm_attach_buffer", buffer, size, &attached);

	if (code == MPI_SUCCESS)
		return end(attached, next(comm, given(attached, buffer), size));
	PMPI_Comm_call_errhandler(comm, code);
	return code;
}

int ww_mpi_call_Comm_detach_buffer(ww_mpi_fn_Comm_detach_buffer *next, MPI_Comm comm, void *address,
	int *size)
{
	return detach(address, next(comm, address, size));
}

int ww_mpi_call_Comm_attach_buffer_c(ww_mpi_fn_Comm_attach_buffer_c *next, MPI_Comm comm,
	void *buffer, MPI_Count size)
{
	struct attached *attached;
	int code = begin("MPI_Comm_attach_buffer_c", buffer, size, &attached);

	if (code == MPI_SUCCESS)
		return end(attached, next(comm, given(attached, buffer), size));
	PMPI_Comm_call_errhandler(comm, code);
	return code;
}

int ww_mpi_call_Comm_detach_buffer_c(ww_mpi_fn_Comm_detach_buffer_c *next, MPI_Comm comm,
	void *address, MPI_Count *size)
{
	return detach(address, next(comm, address, size));
}
#endif

#ifdef WW_MPI_HAS_Session_attach_buffer
int ww_mpi_call_Session_attach_buffer(ww_mpi_fn_Session_attach_buffer *next, MPI_Session session,
	void *buffer, int size)
{
	struct attached *attached;
	int code = begin("MPI_Session_attach_buffer", buffer, size, &attached);

	if (code == MPI_SUCCESS)
		return end(attached, next(session, given(attached, buffer), size));
	PMPI_Session_call_errhandler(session, code);
	return code;
}

int ww_mpi_call_Session_detach_buffer(ww_mpi_fn_Session_detach_buffer *next, MPI_Session session,
	void *address, int *size)
{
	return detach(address, next(session, address, size));
}

int ww_mpi_call_Session_attach_buffer_c(ww_mpi_fn_Session_attach_buffer_c *next,
	MPI_Session session, void *buffer, MPI_Count size)
{
	struct attached *attached;
	int code = begin("MPI_Session_attach_buffer_c", buffer, size, &attached);

	if (code == MPI_SUCCESS)
		return end(attached, next(session, given(attached, buffer), size));
	PMPI_Session_call_errhandler(session, code);
	return code;
}

int ww_mpi_call_Session_detach_buffer_c(ww_mpi_fn_Session_detach_buffer_c *next,
	MPI_Session session, void *address, MPI_Count *size)
{
	return detach(address, next(session, address, size));
}
#endif
