/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - the calls that start, complete and free requests
 *
 * While no request is staged each of them is the MPI's own after one load. Else the entries of the
 * given requests are taken out of the table for the time of the call, see request.h.
 */
#include <stdlib.h>

#include "mpi/next.h"
#include "mpi/peer.h"
#include "mpi/probe.h"
#include "mpi/request.h"

#define INLINE_MOST 32

/*
 * Calls inside a call of ours count too: an error handler may wait for a request. The MPI's own
 * requests are not in the table.
 */
static bool has_nothing_to_do(void)
{
	return !ww_mpi_request_any();
}

/* Ours to write to devices: MPI calls within are not. Return: the code; no handler was called. */
static int end(struct ww_mpi_entry *entry, MPI_Request request, MPI_Status *status, int code,
	MPI_Comm *out_carrier)
{
	ww_mpi_depth++;
	code = ww_mpi_request_done(entry, request, status, code, out_carrier);
	ww_mpi_request_progress();
	ww_mpi_depth--;
	return code;
}

/* Return: as the program gets it. */
static int done(struct ww_mpi_entry *entry, MPI_Request request, MPI_Status *status, int code)
{
	MPI_Comm carrier = MPI_COMM_WORLD;
	int result = end(entry, request, status, code, &carrier);

	return result == code ? code : ww_mpi_entry_raise(carrier, result);
}

/* --- one request --- */

int ww_mpi_call_Wait(ww_mpi_fn_Wait *next, MPI_Request *request, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_take(*request);
	MPI_Status own = {0};
	int code;

	if (!entry)
		return ww_mpi_passed(next(request, status));
	status = WW_MPI_STATUS(status, &own);
	code = next(request, status);
	return done(entry, *request, status, code);
}

int ww_mpi_call_Test(ww_mpi_fn_Test *next, MPI_Request *request, int *flag, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_take(*request);
	MPI_Status own = {0};
	int code;

	if (!entry)
		return ww_mpi_passed(next(request, flag, status));
	status = WW_MPI_STATUS(status, &own);
	*flag = 0;
	code = next(request, flag, status);
	if (*flag || code != MPI_SUCCESS)
		return done(entry, *request, status, code);
	ww_mpi_request_put_back(entry);
	return code;
}

int ww_mpi_call_Request_get_status(ww_mpi_fn_Request_get_status *next, MPI_Request request,
	int *flag, MPI_Status *status)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(request);
	MPI_Comm carrier = MPI_COMM_WORLD;
	MPI_Status own = {0};
	int result = MPI_SUCCESS;
	int code;

	if (!entry)
		return next(request, flag, status);
	status = WW_MPI_STATUS(status, &own);
	*flag = 0;
	code = next(request, flag, status);
	if (*flag) {
		ww_mpi_depth++;
		result = ww_mpi_request_write(entry, status, code, &carrier);
		ww_mpi_depth--;
	}
	return *flag && result != code ? ww_mpi_entry_raise(carrier, result) : code;
}

int ww_mpi_call_Request_free(ww_mpi_fn_Request_free *next, MPI_Request *request)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(*request);
	MPI_Comm carrier = MPI_COMM_WORLD;
	MPI_Status status;
	int is_complete = 1;

	if (!entry) {
		ww_mpi_open_keep(*request);
		return next(request);
	}
	ww_mpi_request_remove(entry);
	ww_mpi_depth++;
	if (ww_mpi_request_is_active(entry)) {
		WW_MPI_REAL(Request_get_status)(*request, &is_complete, &status);
		if (is_complete)
			ww_mpi_request_write(entry, &status, MPI_SUCCESS, &carrier);
	}
	ww_mpi_depth--;
	ww_mpi_carrier_free(carrier);
	if (is_complete) {
		ww_mpi_request_forget(entry);
		return next(request);
	}
	ww_mpi_request_orphan(entry);
	*request = MPI_REQUEST_NULL;
	return MPI_SUCCESS;
}

/* What has come cannot be cancelled; the MPI's own request is not active. */
int ww_mpi_call_Cancel(ww_mpi_fn_Cancel *next, MPI_Request *request)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(*request);

	return entry && ww_mpi_request_is_served(entry) ? MPI_SUCCESS : next(request);
}

static int fail_start(struct ww_mpi_entry *entry, int code)
{
	return ww_mpi_entry_raise(ww_mpi_entry_carrier(entry), code);
}

int ww_mpi_call_Start(ww_mpi_fn_Start *next, MPI_Request *request)
{
	struct ww_mpi_entry *entry = has_nothing_to_do() ? NULL : ww_mpi_request_find(*request);
	bool is_served;
	int code;

	if (!entry)
		return next(request);
	ww_mpi_probe_lock();
	ww_mpi_depth++;
	code = ww_mpi_request_start(entry, &is_served);
	ww_mpi_depth--;
	if (code != MPI_SUCCESS) {
		ww_mpi_probe_unlock();
		return fail_start(entry, code);
	}
	if (!is_served)
		code = next(request);
	if (code == MPI_SUCCESS)
		ww_mpi_request_started(entry);
	ww_mpi_probe_unlock();
	return code;
}

/* Starts what was not served, one by one if something was. */
static int start_all(ww_mpi_fn_Startall *next, int count, MPI_Request requests[],
	bool is_any_served)
{
	int code = MPI_SUCCESS;

	if (!is_any_served)
		return next(count, requests);
	for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
		struct ww_mpi_entry *entry = ww_mpi_request_find(requests[i]);

		if (!entry || !ww_mpi_request_is_served(entry))
			code = next(1, &requests[i]);
	}
	return code;
}

int ww_mpi_call_Startall(ww_mpi_fn_Startall *next, int count, MPI_Request requests[])
{
	struct ww_mpi_entry *entry = NULL;
	bool is_any_served = false;
	bool is_served;
	int code = MPI_SUCCESS;

	if (has_nothing_to_do())
		return next(count, requests);
	ww_mpi_probe_lock();
	ww_mpi_depth++;
	for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
		entry = ww_mpi_request_find(requests[i]);
		if (entry) {
			code = ww_mpi_request_start(entry, &is_served);
			is_any_served = is_any_served || is_served;
		}
	}
	ww_mpi_depth--;
	if (code != MPI_SUCCESS) {
		ww_mpi_probe_unlock();
		return fail_start(entry, code);
	}
	code = start_all(next, count, requests, is_any_served);
	for (int i = 0; i < count && code == MPI_SUCCESS; i++) {
		entry = ww_mpi_request_find(requests[i]);
		if (entry)
			ww_mpi_request_started(entry);
	}
	ww_mpi_probe_unlock();
	return code;
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
	bool is_in_status; /* a status has an error of ours */
	bool is_failed;    /* which the handler of this is to get: */
	MPI_Comm carrier;
	int failure;
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
	taken->is_in_status = false;
	taken->is_failed = false;
	taken->carrier = MPI_COMM_WORLD;
	taken->failure = MPI_SUCCESS;
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

/*
 * The request at i is complete, with the code @of. Return: @code, which is that of the whole call,
 * or that of an error here. Of several errors the last one is raised.
 */
static int taken_done(struct taken *taken, int i, MPI_Request request, MPI_Status *status, int of,
	int code)
{
	struct ww_mpi_entry *entry = taken->entries[i];
	MPI_Comm carrier = MPI_COMM_WORLD;
	int result;

	taken->entries[i] = NULL;
	if (!entry)
		return code;
	result = end(entry, request, status, of, &carrier);
	if (result == of)
		return code;
	ww_mpi_carrier_free(taken->carrier);
	taken->is_failed = true;
	taken->carrier = carrier;
	taken->failure = result;
	return code == MPI_SUCCESS ? result : code;
}

/* In a call with statuses its code says that they have those of the requests. */
static int taken_done_in_status(struct taken *taken, int i, MPI_Request request, MPI_Status *status,
	int code)
{
	int of = code == MPI_ERR_IN_STATUS ? status->MPI_ERROR : code;
	bool was_failed = taken->is_failed;
	int result;

	taken->is_failed = false;
	result = taken_done(taken, i, request, status, of, MPI_SUCCESS);
	if (!taken->is_failed) {
		taken->is_failed = was_failed;
		return code;
	}
	for (int j = 0; j < taken->count && code == MPI_SUCCESS && !taken->is_in_status; j++)
		taken->statuses[j].MPI_ERROR = MPI_SUCCESS;
	taken->is_in_status = true;
	status->MPI_ERROR = result;
	return code;
}

/* Those that are left are not complete. Return: the code that the call returns. */
static int taken_end(struct taken *taken, MPI_Status *statuses, int code)
{
	bool is_failed = taken->is_failed;
	MPI_Comm carrier = taken->carrier;
	int failure = taken->failure;

	for (int i = 0; i < taken->count; i++) {
		if (taken->entries[i])
			ww_mpi_request_put_back(taken->entries[i]);
	}
	if (taken->is_in_status && code == MPI_SUCCESS)
		code = MPI_ERR_IN_STATUS;
	taken_release(taken, statuses);
	if (is_failed)
		ww_mpi_entry_raise(carrier, failure);
	return code;
}

/*
 * Of requests that end with their completion those that are gone are complete; persistent ones all,
 * but those that the statuses say are not.
 */
static int taken_all(struct taken *taken, const MPI_Request requests[], int code)
{
	for (int i = 0; i < taken->count; i++) {
		bool is_known = code == MPI_SUCCESS ||
			(code == MPI_ERR_IN_STATUS &&
				taken->statuses[i].MPI_ERROR != MPI_ERR_PENDING);

		if (requests[i] == MPI_REQUEST_NULL || is_known)
			code = taken_done_in_status(taken, i, requests[i], &taken->statuses[i],
				code);
	}
	return code;
}

/* A persistent receive that is complete, though the MPI's own request is not active. -1: none. */
static int find_served(struct taken *taken)
{
	for (int i = 0; i < taken->count; i++) {
		if (taken->entries[i] && ww_mpi_request_is_served(taken->entries[i]))
			return i;
	}
	return -1;
}

int ww_mpi_call_Waitall(ww_mpi_fn_Waitall *next, int count, MPI_Request requests[],
	MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, statuses));
	code = taken_all(&taken, requests, next(count, requests, taken.statuses));
	return taken_end(&taken, statuses, code);
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
		code = taken_all(&taken, requests, code);
	return taken_end(&taken, statuses, code);
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
	*index = find_served(&taken);
	code = MPI_SUCCESS;
	if (*index < 0) {
		*index = MPI_UNDEFINED;
		code = next(count, requests, index, status);
	}
	if (*index >= 0 && *index < count)
		code = taken_done(&taken, *index, requests[*index], status, code, code);
	return taken_end(&taken, &own, code);
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
	*index = find_served(&taken);
	*flag = *index >= 0;
	code = MPI_SUCCESS;
	if (!*flag) {
		*index = MPI_UNDEFINED;
		code = next(count, requests, index, flag, status);
	}
	if (*index >= 0 && *index < count && (*flag || code != MPI_SUCCESS))
		code = taken_done(&taken, *index, requests[*index], status, code, code);
	return taken_end(&taken, &own, code);
}

/* Waitsome and Testsome: the statuses are those of the indices, in their order. */
static int taken_some(struct taken *taken, const MPI_Request requests[], int outcount,
	const int indices[], int code)
{
	for (int i = 0; i < outcount && outcount != MPI_UNDEFINED; i++)
		code = taken_done_in_status(taken, indices[i], requests[indices[i]],
			&taken->statuses[i], code);
	return code;
}

/* Return: whether one is complete that the MPI does not know of: it is told alone. */
static bool taken_served(struct taken *taken, int *outcount, int indices[])
{
	indices[0] = find_served(taken);
	*outcount = indices[0] >= 0;
	return indices[0] >= 0;
}

int ww_mpi_call_Waitsome(ww_mpi_fn_Waitsome *next, int count, MPI_Request requests[], int *outcount,
	int indices[], MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, outcount, indices, statuses));
	code = taken_served(&taken, outcount, indices)
		? MPI_SUCCESS
		: next(count, requests, outcount, indices, taken.statuses);
	code = taken_some(&taken, requests, *outcount, indices, code);
	return taken_end(&taken, statuses, code);
}

int ww_mpi_call_Testsome(ww_mpi_fn_Testsome *next, int count, MPI_Request requests[], int *outcount,
	int indices[], MPI_Status statuses[])
{
	struct taken taken;
	int code;

	if (!taken_begin(&taken, count, requests, statuses))
		return ww_mpi_passed(next(count, requests, outcount, indices, statuses));
	code = taken_served(&taken, outcount, indices)
		? MPI_SUCCESS
		: next(count, requests, outcount, indices, taken.statuses);
	code = taken_some(&taken, requests, *outcount, indices, code);
	return taken_end(&taken, statuses, code);
}

/* --- several requests, which stay: of MPI 4.1 --- */

#ifdef WW_MPI_HAS_Request_get_status_any

static int write_found(MPI_Request request, MPI_Status *status, int code)
{
	struct ww_mpi_entry *entry = request == MPI_REQUEST_NULL ? NULL
								 : ww_mpi_request_find(request);
	MPI_Comm carrier = MPI_COMM_WORLD;
	int result;

	if (!entry)
		return code;
	ww_mpi_depth++;
	result = ww_mpi_request_write(entry, status, code, &carrier);
	ww_mpi_depth--;
	return result == code ? code : ww_mpi_entry_raise(carrier, result);
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
