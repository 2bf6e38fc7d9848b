/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - errors of ours, as MPI errors: a class, and codes with texts
 *
 * A communicator's error handler is called with a code of our class; the text of the code says
 * what failed and what to do. There is one code for each reason, and its text is that of the last
 * failure: an MPI keeps few codes.
 */
#ifndef WW_MPI_ERROR_H
#define WW_MPI_ERROR_H

#include <stdbool.h>

#include "mpi/abi.h"

enum ww_mpi_reason {
	WW_MPI_REASON_FULL,    /* no host memory is left */
	WW_MPI_REASON_COPY,    /* the driver refused or failed */
	WW_MPI_REASON_TYPE,    /* a datatype that cannot be staged */
	WW_MPI_REASON_REFUSED, /* no call for device memory */
	WW_MPI_REASON_SHARE,   /* a call of warpway/mpi.h */
	WW_MPI_REASON_PULL     /* a message in another rank's device memory cannot be read */
};

#define WW_MPI_REASONS 6

/* Makes the text and the code of an error. Return: the code; no error handler is called. */
int ww_mpi_error(enum ww_mpi_reason reason, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether there is an MPI_COMM_WORLD: a program that uses sessions alone has none. */
bool ww_mpi_has_world(void);
/* Whether there is such a communicator: MPI_COMM_NULL is none, nor are the world's without it. */
bool ww_mpi_is_usable(MPI_Comm comm);

/*
 * Calls the error handler of a communicator; without one, the handler of MPI_COMM_WORLD. Without
 * either the job ends, which is what the MPI's initial error handler does. The last step of a call:
 * a handler may leave by an exception or longjmp(), and may call the MPI. Return: @code, which the
 * call returns if the handler does.
 */
int ww_mpi_raise(MPI_Comm comm, int code);

/* The same for calls whose errors go to a window's handler, or a file's. */
int ww_mpi_refuse_win(MPI_Win win, const char *call);
int ww_mpi_refuse_file(MPI_File file, const char *call);
int ww_mpi_refuse_comm(MPI_Comm comm, const char *call);

#endif
