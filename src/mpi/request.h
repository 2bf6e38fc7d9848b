/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - requests whose buffers are staged
 *
 * Programs have the MPI's own requests. A table beside them has, for each that is active or
 * persistent and staged, the buffers to be written when it is complete.
 *
 * An MPI uses one request for all operations that are complete at once, and uses a request anew as
 * soon as it was waited for. So an operation that is complete right after its call is finished at
 * once and is not in the table; and a call that may complete a request takes it out of the table
 * first, so that another thread can get the same request meanwhile, and puts it back if it is not
 * complete.
 */
#ifndef WW_MPI_REQUEST_H
#define WW_MPI_REQUEST_H

#include "mpi/call.h"

struct ww_mpi_entry;

/* Whether the table has any entry, or requests were freed that are not complete: one load. */
bool ww_mpi_request_any(void);

/* Moves the call's buffers into the table. Return: as ww_mpi_call_end(). */
int ww_mpi_request_add(struct ww_mpi_call *call, MPI_Request request, enum ww_mpi_kind kind,
	bool is_received);

/* Takes the entry of a request out of the table. Return: NULL if it has none. */
struct ww_mpi_entry *ww_mpi_request_take(MPI_Request request);
/* The entry stays in the table; only the thread that owns the request looks at it. */
struct ww_mpi_entry *ww_mpi_request_find(MPI_Request request);
void ww_mpi_request_put_back(struct ww_mpi_entry *entry);

/*
 * The operation is complete: writes the buffers, once. @status: of the operation.
 * Return: @code, or that of an error here.
 */
int ww_mpi_request_write(struct ww_mpi_entry *entry, const MPI_Status *status, int code);
/* Likewise, and forgets the entry, or puts it back if it is persistent. */
int ww_mpi_request_done(struct ww_mpi_entry *entry, const MPI_Status *status, int code);

/* A persistent request is about to be started: reads the buffers. Return: MPI_SUCCESS or a code. */
int ww_mpi_request_start(struct ww_mpi_entry *entry);

/* Parts of a partitioned request. */
int ww_mpi_request_read_part(struct ww_mpi_entry *entry, MPI_Count part);
int ww_mpi_request_write_part(struct ww_mpi_entry *entry, MPI_Count part);

bool ww_mpi_request_is_active(const struct ww_mpi_entry *entry);

/* Ends an entry that is not in the table. */
void ww_mpi_request_forget(struct ww_mpi_entry *entry);

/* The request was freed by the program: its buffers stay until it is complete. Takes the entry. */
void ww_mpi_request_orphan(struct ww_mpi_entry *entry);
/*
 * Looks whether freed requests are complete; one load if there are none. Every call that may tell
 * the program that a message has come does this at its end.
 */
void ww_mpi_request_progress(void);
/* Completes all of them; for MPI_Finalize(). */
void ww_mpi_request_finish(void);

#endif
