/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - see error.h
 */
#include "mpi/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the codes, and of their texts */
static int codes[WW_MPI_REASONS];                        /* 0: not made yet */

/* Lock held. Return: the code; MPI_ERR_OTHER if the MPI gives none. */
static int get_code(enum ww_mpi_reason reason)
{
	static int error_class;

	if (codes[reason])
		return codes[reason];
	if (!error_class) {
		if (PMPI_Add_error_class(&error_class) != MPI_SUCCESS)
			return MPI_ERR_OTHER;
		PMPI_Add_error_string(error_class, "Warpway cannot handle device memory");
	}
	if (PMPI_Add_error_code(error_class, &codes[reason]) != MPI_SUCCESS)
		return MPI_ERR_OTHER;
	return codes[reason];
}

static int make_code(enum ww_mpi_reason reason, const char *text)
{
	int code;

	pthread_mutex_lock(&lock);
	code = get_code(reason);
	if (code != MPI_ERR_OTHER)
		PMPI_Add_error_string(code, text);
	pthread_mutex_unlock(&lock);
	return code;
}

int ww_mpi_error(enum ww_mpi_reason reason, const char *format, ...)
{
	char text[MPI_MAX_ERROR_STRING];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return make_code(reason, text);
}

bool ww_mpi_has_world(void)
{
	int is_initialized = 0;

	PMPI_Initialized(&is_initialized);
	return is_initialized;
}

bool ww_mpi_is_usable(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return false;
	return (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) || ww_mpi_has_world();
}

/*
 * MPICH's launcher drops what is left in the pipe from a rank when the rank aborts. So an abort
 * waits until it has read that, for a second at most.
 */
static void wait_until_read(int descriptor)
{
	struct stat status;
	int bytes = 0;

	if (fstat(descriptor, &status) || !S_ISFIFO(status.st_mode))
		return;
	for (int i = 0; i < 1000 && !ioctl(descriptor, FIONREAD, &bytes) && bytes > 0; i++)
		usleep(1000);
}

int ww_mpi_raise(MPI_Comm comm, int code)
{
	if (comm == MPI_COMM_NULL)
		comm = MPI_COMM_WORLD;
	if (ww_mpi_is_usable(comm)) {
		PMPI_Comm_call_errhandler(comm, code);
	} else {
		char text[MPI_MAX_ERROR_STRING] = "";
		int length;

		PMPI_Error_string(code, text, &length);
		fprintf(stderr, "%s\n", text);
		wait_until_read(STDERR_FILENO);
		PMPI_Abort(MPI_COMM_WORLD, code);
	}
	return code;
}

static int refusal(const char *call)
{
	char text[MPI_MAX_ERROR_STRING];

	snprintf(text, sizeof(text),
		"warpway: %s: device memory cannot be used here, only in messages and collectives; copy "
		"it to host memory first",
		call);
	return make_code(WW_MPI_REASON_REFUSED, text);
}

int ww_mpi_refuse_win(MPI_Win win, const char *call)
{
	int code = refusal(call);

	PMPI_Win_call_errhandler(win, code);
	return code;
}

int ww_mpi_refuse_file(MPI_File file, const char *call)
{
	int code = refusal(call);

	PMPI_File_call_errhandler(file, code);
	return code;
}

int ww_mpi_refuse_comm(MPI_Comm comm, const char *call)
{
	int code = refusal(call);

	PMPI_Comm_call_errhandler(comm, code);
	return code;
}
