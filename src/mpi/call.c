/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - see call.h
 */
#include "mpi/call.h"

#include <stdatomic.h>
#include <string.h>

#include "mpi/direct.h"
#include "mpi/host.h"
#include "mpi/layout.h"
#include "mpi/next.h"
#include "mpi/request.h"
#include "mpi/settings.h"
#include "mpi/support.h"

/* --- whether there is anything to do --- */

bool ww_mpi_may_stage(void)
{
	return ww_mpi_depth == 0 && ww_mpi_cuda_is_there() && !ww_mpi_passes_through();
}

bool ww_mpi_may_watch(void)
{
	return ww_mpi_depth == 0 && ww_mpi_is_watching();
}

/* For the driver there may be other memory at the address, too. */
static bool may_be_device(const void *pointer)
{
	return pointer != MPI_IN_PLACE && !ww_mpi_host_owns(pointer) && ww_mpi_may_stage();
}

bool ww_mpi_look_at(const void *buffer)
{
	return may_be_device(buffer) && (buffer == MPI_BOTTOM || ww_mpi_cuda_owns(buffer));
}

bool ww_mpi_look(const void *buffer, MPI_Datatype type)
{
	MPI_Aint first;

	if (ww_mpi_look_at(buffer))
		return true;
	if (buffer == MPI_IN_PLACE || ww_mpi_type_is_named(type) || !ww_mpi_may_stage())
		return false;
	first = ww_mpi_first_byte(type);
	return first && ww_mpi_cuda_owns((const char *)buffer + first);
}

bool ww_mpi_look_if(bool is_used, const void *buffer, MPI_Datatype type)
{
	return is_used && ww_mpi_look(buffer, type);
}

int ww_mpi_passed(int code)
{
	if (ww_mpi_depth == 0) {
		ww_mpi_depth++;
		ww_mpi_request_progress();
		ww_mpi_depth--;
	}
	return code;
}

/* --- the call --- */

void ww_mpi_call_begin(struct ww_mpi_call *call, const char *name, MPI_Comm comm)
{
	ww_mpi_depth++;
	call->name = name;
	call->comm = comm;
	call->most = WW_MPI_ALL;
	call->buffer_count = 0;
	call->is_host = false;
	call->is_watched = false;
	call->is_uncounted = false;
	call->status = NULL;
	call->is_delivered = false;
	call->served_code = MPI_SUCCESS;
	call->is_persistent_receive = false;
	ww_mpi_layout_set_comm(comm);
}

struct ww_mpi_buffer *ww_mpi_call_buffer(struct ww_mpi_call *call, const void *user, int flags)
{
	struct ww_mpi_buffer *buffer = &call->buffers[call->buffer_count++];

	ww_mpi_buffer_init(buffer, user, user == MPI_IN_PLACE ? 0 : flags);
	return buffer;
}

static void release(struct ww_mpi_call *call)
{
	for (int i = 0; i < call->buffer_count; i++)
		ww_mpi_buffer_fini(&call->buffers[i]);
	ww_mpi_request_progress();
	ww_mpi_layout_set_comm(MPI_COMM_NULL);
	ww_mpi_depth--;
}

int ww_mpi_call_stage(struct ww_mpi_call *call)
{
	for (int i = 0; i < call->buffer_count; i++) {
		struct ww_mpi_buffer *buffer = &call->buffers[i];
		int error = call->is_host ? buffer->status : ww_mpi_buffer_stage(buffer);
		int code;

		if (!error)
			continue;
		code = ww_mpi_buffer_error(buffer, call->name, error);
		ww_mpi_direct_undo(&call->buffers[0]);
		release(call);
		return ww_mpi_raise(call->comm, code);
	}
	return MPI_SUCCESS;
}

/* Ends the receive of a call that has none of its data in staging memory. */
static bool is_received_directly(struct ww_mpi_call *call, int *code)
{
	if (call->is_delivered)
		return true;
	return call->status && *code == MPI_SUCCESS &&
		ww_mpi_direct_receive(&call->buffers[call->buffer_count - 1], call->name,
			call->status, call->most, code);
}

int ww_mpi_call_end(struct ww_mpi_call *call, int code)
{
	int of_mpi = call->is_delivered ? MPI_SUCCESS : code;
	int count = call->buffer_count;
	int error = 0;

	/* What was received of a message that was too long is written, too. */
	if (is_received_directly(call, &code))
		count--;
	else if (code != MPI_SUCCESS && !ww_mpi_is_truncation(code))
		count = 0;
	for (int i = 0; i < count && !error; i++) {
		error = ww_mpi_buffer_write(&call->buffers[i],
			i == call->buffer_count - 1 ? call->most : WW_MPI_ALL);
		if (error)
			code = ww_mpi_buffer_error(&call->buffers[i], call->name, error);
	}
	/* Of an exchange the send may be done when the receive fails. */
	if (of_mpi != MPI_SUCCESS && (!call->status || ww_mpi_is_refusal(of_mpi)))
		ww_mpi_direct_undo(&call->buffers[0]);
	release(call);
	return code == of_mpi ? code : ww_mpi_raise(call->comm, code);
}

/* Whether something is to be done, or kept until then, when the request is complete. */
static bool has_end(const struct ww_mpi_call *call)
{
	for (int i = 0; i < call->buffer_count; i++) {
		if (call->buffers[i].block || call->buffers[i].control || call->buffers[i].packed)
			return true;
	}
	/* Each start of a persistent receive looks for what a probe took, however short. */
	return call->is_watched || call->is_delivered || call->is_persistent_receive;
}

int ww_mpi_call_pend(struct ww_mpi_call *call, int code, MPI_Request *request,
	enum ww_mpi_kind kind, bool is_received)
{
	MPI_Comm comm = call->comm;
	bool is_ours = false;

	if (code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) {
		ww_mpi_direct_undo(&call->buffers[0]);
	} else if (has_end(call)) {
		code = ww_mpi_request_add(call, *request, kind, is_received);
		is_ours = code != MPI_SUCCESS;
	}
	release(call);
	return is_ours ? ww_mpi_raise(comm, code) : code;
}
