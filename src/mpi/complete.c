/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - the calls that start, complete and free requests
 *
 * While no request is staged each of them is the MPI's own after one load. Else the entries of the
 * given requests are taken out of the table for the time of the call, see request.h.
 */
#include <stdlib.h>

#include "mpi/next.h"
#include "mpi/request.h"

#define INLINE_MOST 32

static bool has_nothing_to_do(void)
{
	return ww_mpi_depth != 0 || !ww_mpi_request_any();
}

/* Ours to write to devices: MPI calls within are not. */
static int done(struct ww_mpi_entry *entry, const MPI_Status *status, int code)
{
	ww_mpi_depth++;
	code = ww_mpi_request_done(entry, status, code);
	ww_mpi_request_progress();
	ww_mpi_depth--;
	return code;
}

/* --- one request --- */

int ww_mpi_call_Wait(ww_mpi_fn_Wait *next, MPI_Request *request, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_take(*request);
	MPI_Status own;
	int code;

	if (!entry)
		return ww_mpi_passed(next(request, status));
	status = WW_MPI_STATUS(status, &own);
	code = next(request, status);
	return done(entry, status, code);
}

int ww_mpi_call_Test(ww_mpi_fn_Test *next, MPI_Request *request, int *flag, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_take(*request);
	MPI_Status own;
	int code;

	if (!entry)
		return ww_mpi_passed(next(request, flag, status));
	status = WW_MPI_STATUS(status, &own);
	*flag = 0;
	code = next(request, flag, status);
	if (*flag || code != MPI_SUCCESS)
		return done(entry, status, code);
	ww_mpi_request_put_back(entry);
	return code;
}

int ww_mpi_call_Request_get_status(ww_mpi_fn_Request_get_status *next, MPI_Request request,
	int *flag, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(request);
	MPI_Status own;
	int code;

	if (!entry)
		return next(request, flag, status);
	status = WW_MPI_STATUS(status, &own);
	*flag = 0;
	code = next(request, flag, status);
	if (*flag) {
		ww_mpi_depth++;
		code = ww_mpi_request_write(entry, status, code);
		ww_mpi_depth--;
	}
	return code;
}

int ww_mpi_call_Request_free(ww_mpi_fn_Request_free *next, MPI_Request *request)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_take(*request);
	MPI_Status status;
	int is_complete = 1;

	if (!entry)
		return next(request);
	ww_mpi_depth++;
	if (ww_mpi_request_is_active(entry)) {
		WW_MPI_REAL(Request_get_status)(*request, &is_complete, &status);
		if (is_complete)
			ww_mpi_request_write(entry, &status, MPI_SUCCESS);
	}
	ww_mpi_depth--;
	if (is_complete) {
		ww_mpi_request_forget(entry);
		return next(request);
	}
	ww_mpi_request_orphan(entry);
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

int ww_mpi_call_Start(ww_mpi_fn_Start *next, MPI_Request *request)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(*request);
	int code = MPI_SUCCESS;

	if (entry) {
		ww_mpi_depth++;
		code = ww_mpi_request_start(entry);
		ww_mpi_depth--;
	}
	return code == MPI_SUCCESS ? next(request) : code;
}

int ww_mpi_call_Startall(ww_mpi_fn_Startall *next, int count, MPI_Request requests[])
{
	int code = MPI_SUCCESS;

	if (has_nothing_to_do())
		return next(count, requests);
	ww_mpi_depth++;
	for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
		struct ww_mpi_entry *entry = ww_mpi_request_find(requests[i]);

		if (entry)
			code = ww_mpi_request_start(entry);
	}
	ww_mpi_depth--;
	return code == MPI_SUCCESS ? next(count, requests) : code;
}

/* --- several requests --- */

/* Entries taken out of the table for one call. */
struct taken {
	int count;
	int found;
	struct ww_mpi_entry **entries; /* NULL at a request without one */
	MPI_Status *statuses;          /* what the MPI is to fill */
	struct ww_mpi_entry *few[INLINE_MOST];
	MPI_Status few_statuses[INLINE_MOST];
};

static bool taken_reserve(struct taken *taken, int count, MPI_Status *statuses)
{
	taken->entries = taken->few;
	taken->statuses = statuses;
	if (count > INLINE_MOST)
		taken->entries = calloc((size_t)count, sizeof(struct ww_mpi_entry *));
	if (statuses == MPI_STATUSES_IGNORE)
		taken->statuses = count > INLINE_MOST ? calloc((size_t)count, sizeof(MPI_Status))
						      : taken->few_statuses;
	return taken->entries && taken->statuses;
}

static void taken_release(struct taken *taken, MPI_Status *statuses)
{
	if (taken->entries != taken->few)
		free(taken->entries);
	if (statuses == MPI_STATUSES_IGNORE && taken->statuses != taken->few_statuses)
		free(taken->statuses);
}

/* Return: whether there are any; else nothing has to be ended. */
static bool taken_begin(struct taken *taken, int count, const MPI_Request requests[],
	MPI_Status *statuses)
{
	taken->count = count;
	taken->found = 0;
	if (has_nothing_to_do() || count <= 0)
		return false;
	if (!taken_reserve(taken, count, statuses))
		PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	for (int i = 0; i < count; i++) {
		taken->entries[i] = requests[i] == MPI_REQUEST_NULL
			? NULL
			: ww_mpi_request_take(requests[i]);
		taken->found += taken->entries[i] != NULL;
	}
	if (!taken->found)
		taken_release(taken, statuses);
	return taken->found;
}

/* The request at i is complete. */
static int taken_done(struct taken *taken, int i, const MPI_Status *status, int code)
{
	struct ww_mpi_entry *entry = taken->entries[i];

	taken->entries[i] = NULL;
	return entry ? done(entry, status, code) : code;
}

/* Those that are left are not complete. */
static void taken_end(struct taken *taken, MPI_Status *statuses)
{
	for (int i = 0; i < taken->count; i++) {
		if (taken->entries[i])
			ww_mpi_request_put_back(taken->entries[i]);
	}
	taken_release(taken, statuses);
}

/* All are complete, but those that the statuses say are not. */
static int taken_all(struct taken *taken, int code)
{
	int result = code;

	if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
		return code;
	for (int i = 0; i < taken->count; i++) {
		if (code == MPI_SUCCESS || taken->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
			result = taken_done(taken, i, &taken->statuses[i], result);
	}
	return result;
}

int ww_mpi_call_Waitall(ww_mpi_fn_Waitall *next, int count, MPI_Request requests[],
	MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, statuses));
	code = taken_all(&taken, next(count, requests, taken.statuses));
	taken_end(&taken, statuses);
	return code;
}

int ww_mpi_call_Testall(ww_mpi_fn_Testall *next, int count, MPI_Request requests[], int *flag,
	MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, flag, statuses));
	*flag = 0;
	code = next(count, requests, flag, taken.statuses);
	if (*flag || code == MPI_ERR_IN_STATUS)
		code = taken_all(&taken, code);
	taken_end(&taken, statuses);
	return code;
}

int ww_mpi_call_Waitany(ww_mpi_fn_Waitany *next, int count, MPI_Request requests[], int *index,
	MPI_Status *status)
{
	struct taken taken;
	MPI_Status own;
	int code;

	if (!taken_begin(&taken, count, requests, &own))
		return ww_mpi_passed(next(count, requests, index, status));
	status = WW_MPI_STATUS(status, &own);
	*index = MPI_UNDEFINED;
	code = next(count, requests, index, status);
	if (*index >= 0 && *index < count)
		code = taken_done(&taken, *index, status, code);
	taken_end(&taken, &own);
	return code;
}

int ww_mpi_call_Testany(ww_mpi_fn_Testany *next, int count, MPI_Request requests[], int *index,
	int *flag, MPI_Status *status)
{
	struct taken taken;
	MPI_Status own;
	int code;

	if (!taken_begin(&taken, count, requests, &own))
		return ww_mpi_passed(next(count, requests, index, flag, status));
	status = WW_MPI_STATUS(status, &own);
	*index = MPI_UNDEFINED;
	code = next(count, requests, index, flag, status);
	if (*index >= 0 && *index < count && (*flag || code != MPI_SUCCESS))
		code = taken_done(&taken, *index, status, code);
	taken_end(&taken, &own);
	return code;
}

/* Waitsome and Testsome: the statuses are those of the indices, in their order. */
static int taken_some(struct taken *taken, int outcount, const int indices[], int code)
{
	int result = code;

	for (int i = 0; i < outcount && outcount != MPI_UNDEFINED; i++)
		result = taken_done(taken, indices[i], &taken->statuses[i], result);
	return result;
}

int ww_mpi_call_Waitsome(ww_mpi_fn_Waitsome *next, int count, MPI_Request requests[], int *outcount,
	int indices[], MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, outcount, indices, statuses));
	*outcount = 0;
	code = next(count, requests, outcount, indices, taken.statuses);
	code = taken_some(&taken, *outcount, indices, code);
	taken_end(&taken, statuses);
	return code;
}

int ww_mpi_call_Testsome(ww_mpi_fn_Testsome *next, int count, MPI_Request requests[], int *outcount,
	int indices[], MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, outcount, indices, statuses));
	*outcount = 0;
	code = next(count, requests, outcount, indices, taken.statuses);
	code = taken_some(&taken, *outcount, indices, code);
	taken_end(&taken, statuses);
	return code;
}

/* --- several requests, which stay: of MPI 4.1 --- */

#ifdef WW_MPI_HAS_Request_get_status_any

static int write_found(MPI_Request request, const MPI_Status *status, int code)
{
	struct ww_mpi_entry *entry = request == MPI_REQUEST_NULL ? NULL
								 : ww_mpi_request_find(request);

	if (!entry)
		return code;
	ww_mpi_depth++;
	code = ww_mpi_request_write(entry, status, code);
	ww_mpi_depth--;
	return code;
}

int ww_mpi_call_Request_get_status_any(ww_mpi_fn_Request_get_status_any *next, int count,
	const MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	MPI_Status own;
	int code;

	if (has_nothing_to_do())
		return next(count, requests, index, flag, status);
	status = WW_MPI_STATUS(status, &own);
	*index = MPI_UNDEFINED;
	code = next(count, requests, index, flag, status);
	if (*flag && *index >= 0 && *index < count)
		code = write_found(requests[*index], status, code);
	return code;
}

/* Each request is asked for its own status: the statuses of the call may be ignored. */
static int write_all(int count, const MPI_Request requests[], const int indices[], int code)
{
	for (int i = 0; i < count; i++) {
		MPI_Request request = requests[indices ? indices[i] : i];
		MPI_Status status;
		int flag = 0;

		if (request == MPI_REQUEST_NULL || !ww_mpi_request_find(request))
			continue;
		WW_MPI_REAL(Request_get_status)(request, &flag, &status);
		if (flag)
			code = write_found(request, &status, code);
	}
	return code;
}

int ww_mpi_call_Request_get_status_all(ww_mpi_fn_Request_get_status_all *next, int count,
	const MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	int code = next(count, requests, flag, statuses);

	return *flag && !has_nothing_to_do() ? write_all(count, requests, NULL, code) : code;
}

int ww_mpi_call_Request_get_status_some(ww_mpi_fn_Request_get_status_some *next, int count,
	const MPI_Request requests[], int *outcount, int indices[], MPI_Status statuses[])
{
	int code = next(count, requests, outcount, indices, statuses);

	return *outcount > 0 && !has_nothing_to_do() ? write_all(*outcount, requests, indices, code)
						     : code;
}

#endif

int ww_mpi_call_Barrier(ww_mpi_fn_Barrier *next, MPI_Comm comm)
{
	return ww_mpi_passed(next(comm));
}
