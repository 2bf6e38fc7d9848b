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
 * complete. Persistent and partitioned requests stay what they are when they are complete: they
 * stay in the table, where another thread finds them that says that a part is ready.
 *
 * Of some receives the request does not tell the status, which the entry then has ("served"): the
 * data came by the direct route (direct.h), or before the request was made (probe.h).
 *
 * Codes that are returned here were given to no error handler. That is the last step of a call, by
 * a communicator that carries the handler.
 */
#ifndef WW_MPI_REQUEST_H
#define WW_MPI_REQUEST_H

#include "mpi/call.h"

struct ww_mpi_entry;

/* Whether the table has any entry, or requests were freed that are not complete: one load. */
bool ww_mpi_request_any(void);

/* Moves the call's buffers into the table. Return: MPI_SUCCESS or a code. */
int ww_mpi_request_add(struct ww_mpi_call *call, MPI_Request request, enum ww_mpi_kind kind,
	bool is_received);

/* The entry of a request, out of the table if it may be complete for good. NULL: it has none. */
struct ww_mpi_entry *ww_mpi_request_take(MPI_Request request);
void ww_mpi_request_put_back(struct ww_mpi_entry *entry);
/* The entry stays in the table; only the thread that owns the request looks at it. */
struct ww_mpi_entry *ww_mpi_request_find(MPI_Request request);
/* Out of the table for good. */
void ww_mpi_request_remove(struct ww_mpi_entry *entry);

/*
 * The operation is complete: writes the buffers, once. @status: of the operation; afterwards as the
 * program is to see it. @code: of the operation: after an error, but a truncation, nothing is
 * written.
 * @out_carrier: filled if the result is another code: has the error handler of the operation's
 *               communicator, which may have been freed since; to be given to ww_mpi_entry_raise()
 * Return: @code, or that of an error here.
 */
int ww_mpi_request_write(struct ww_mpi_entry *entry, MPI_Status *status, int code,
	MPI_Comm *out_carrier);
/*
 * The same after a call that takes completed requests away. @request: as the call left it. The
 * entry ends with its request, else it is put back.
 */
int ww_mpi_request_done(struct ww_mpi_entry *entry, MPI_Request request, MPI_Status *status,
	int code, MPI_Comm *out_carrier);

/* Whether it is complete, though the MPI's own request is not active. */
bool ww_mpi_request_is_served(const struct ww_mpi_entry *entry);

/* Calls the error handler of a carrier, and ends the carrier. Return: @code. */
int ww_mpi_entry_raise(MPI_Comm carrier, int code);
void ww_mpi_carrier_free(MPI_Comm carrier); /* ends it without that */
/* Of an entry whose start, or part, has failed. */
MPI_Comm ww_mpi_entry_carrier(const struct ww_mpi_entry *entry);

/*
 * A persistent request is about to be started: reads the buffers. Then it was started, or it was
 * not. Return: MPI_SUCCESS or a code; *out_is_served: the MPI must not start it.
 */
int ww_mpi_request_start(struct ww_mpi_entry *entry, bool *out_is_served);
void ww_mpi_request_started(struct ww_mpi_entry *entry);

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
