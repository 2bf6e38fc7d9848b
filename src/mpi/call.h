/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - one MPI call with device memory, as the generated wrappers make it
 *
 *   if (!ww_mpi_may_stage() || !ww_mpi_look(buf, datatype))
 *           return next(buf, count, datatype, ...);            most calls
 *   ww_mpi_call_begin(&call, "MPI_Send", comm);
 *   buffer = ww_mpi_call_buffer(&call, buf, flags);
 *   ww_mpi_shape_plain(buffer, count, datatype);
 *   code = ww_mpi_call_stage(&call);                           else the call has ended
 *   if (code == MPI_SUCCESS)
 *           code = ww_mpi_call_end(&call, next(call.buffers[0].staged, ...));
 *
 * While such a call is under way, MPI calls of the same thread pass through: they are the MPI's or
 * a tool's own, with the staged buffers.
 */
#ifndef WW_MPI_CALL_H
#define WW_MPI_CALL_H

#include "mpi/buffer.h"
#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/next.h"
#include "mpi/status.h"

#define WW_MPI_BUFFERS_MOST 2

struct ww_mpi_call {
	const char *name;
	MPI_Comm comm;  /* for errors */
	MPI_Count most; /* bytes that the last buffer received; WW_MPI_ALL: all of it */
	int buffer_count;
	struct ww_mpi_buffer buffers[WW_MPI_BUFFERS_MOST];

	/* Receives, for direct.h: into the last buffer. */
	bool is_host;       /* no buffer is device memory */
	bool is_watched;    /* the last one may get a control message */
	bool is_uncounted;  /* the status does not say how many bytes came */
	MPI_Status *status; /* of a blocking one; NULL: it is none */
	bool is_delivered;  /* the data is there, the MPI had no part in it: probe.h */
	MPI_Status served;  /* then, of the call that waits for the request */
	int served_code;
	bool is_persistent_receive; /* of: */
	int source;
	int tag;
};

/* --- whether there is anything to do --- */

/* Whether device memory is ours to handle: not in a call of ours, nor if the MPI does it itself. */
bool ww_mpi_may_stage(void);

/*
 * Whether a buffer may be device memory. The second takes a type that may not be valid: it matters
 * only in some ranks, and only they look at it (@is_used).
 */
bool ww_mpi_look(const void *buffer, MPI_Datatype type);
bool ww_mpi_look_if(bool is_used, const void *buffer, MPI_Datatype type);
/* A buffer of many types, or of none. */
bool ww_mpi_look_at(const void *buffer);

/* Whether a call that receives is to be watched: any buffer may get a control message. */
bool ww_mpi_may_watch(void);

/* The end of a call that has nothing to stage. Return: @code. */
int ww_mpi_passed(int code);

/* --- the call --- */

void ww_mpi_call_begin(struct ww_mpi_call *call, const char *name, MPI_Comm comm);
struct ww_mpi_buffer *ww_mpi_call_buffer(struct ww_mpi_call *call, const void *user, int flags);

/* Return: MPI_SUCCESS; else the call has ended, and its error handler was called. */
int ww_mpi_call_stage(struct ww_mpi_call *call);

/* The status that the MPI is to fill, if the caller wants none. */
#define WW_MPI_STATUS(status, own) ((status) == MPI_STATUS_IGNORE ? (own) : (status))

/* Writes what the MPI wrote, unless it failed. Return: the MPI's code, or that of an error here. */
int ww_mpi_call_end(struct ww_mpi_call *call, int code);

/*
 * The end of a call that made a request: the buffers stay until it is complete.
 * @kind: what request.h does with it
 */
enum ww_mpi_kind {
	WW_MPI_KIND_ONCE,
	WW_MPI_KIND_PERSISTENT,
	WW_MPI_KIND_PARTITIONED,
};

int ww_mpi_call_pend(struct ww_mpi_call *call, int code, MPI_Request *request,
	enum ww_mpi_kind kind, bool is_received);

#endif
