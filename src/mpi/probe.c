/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - see probe.h
 *
 * Before this rank is announced all of this is the MPI's alone: a probe waits until that is known.
 */
#include "mpi/probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/request.h"

/* A message that is not in the MPI's queue any more. */
struct message {
	struct message *next;
	MPI_Comm comm;
	MPI_Status status; /* with the length of the data */
	MPI_Message real;  /* not received yet; if it is: */
	bool is_read;      /* its bytes are in here, or could not be received */
	int code;          /* of that */
	bool is_control;   /* and they are a control message */
	int number;        /* of one that the program has; from 1 on */
	struct ww_mpi_control bytes;
};

struct list {
	struct message *first;
	struct message **end; /* the next one goes here */
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; /* of what follows; held while
	the MPI is called, whose error handlers may call it */
static struct list kept = {NULL, &kept.first};                        /* in their order */
static struct list given = {NULL, &given.first};
static int last_number;
static _Atomic size_t message_count; /* in both lists */

/* Whether this thread has the lock by the first of these: the state may change in between. */
static __thread int locks;

void ww_mpi_probe_lock(void)
{
	if (!ww_mpi_is_watching() || !ww_mpi_is_threaded())
		return;
	pthread_mutex_lock(&lock);
	locks++;
}

void ww_mpi_probe_unlock(void)
{
	if (locks == 0)
		return;
	locks--;
	pthread_mutex_unlock(&lock);
}

static bool is_empty(void)
{
	return atomic_load_explicit(&message_count, memory_order_relaxed) == 0;
}

/*
 * Whether the MPI alone must not look for messages: else nothing here can be in the way. If this
 * rank cannot announce itself, later calls do not look here, so no message may be here before.
 */
static bool is_needed(void)
{
	return ww_mpi_depth == 0 && ww_mpi_peer_has_announced();
}

/* --- lists --- */

static void append(struct list *list, struct message *message)
{
	message->next = NULL;
	*list->end = message;
	list->end = &message->next;
	atomic_fetch_add(&message_count, 1);
}

static struct message *unlink_message(struct list *list, struct message **link)
{
	struct message *message = *link;

	if (!message)
		return NULL;
	*link = message->next;
	if (list->end == &message->next)
		list->end = link;
	atomic_fetch_sub(&message_count, 1);
	return message;
}

static struct message **find(int source, int tag, MPI_Comm comm)
{
	struct message **link = &kept.first;

	while (*link &&
		((*link)->comm != comm ||
			(source != MPI_ANY_SOURCE && source != (*link)->status.MPI_SOURCE) ||
			(tag != MPI_ANY_TAG && tag != (*link)->status.MPI_TAG)))
		link = &(*link)->next;
	return link;
}

/* What the program has in the place of the MPI's handle, which is an address or a large number. */
static MPI_Message handle_of(const struct message *message)
{
#ifdef OPEN_MPI
	return (MPI_Message)message;
#else
	return (MPI_Message)message->number;
#endif
}

static struct message **find_given(MPI_Message handle)
{
	struct message **link = &given.first;

	while (*link && handle_of(*link) != handle)
		link = &(*link)->next;
	return link;
}

/* --- taking messages out of the MPI --- */

static struct message *create(MPI_Message real, MPI_Comm comm, const MPI_Status *status)
{
	struct message *message = calloc(1, sizeof(*message));

	if (!message) {
		/* It is out of the MPI, and no call could receive it. */
		PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
		return NULL;
	}
	message->real = real;
	message->comm = comm;
	message->status = *status;
	if (ww_mpi_received(status) != WW_MPI_CONTROL_BYTES)
		return message;
	message->code = WW_MPI_REAL(Mrecv)(&message->bytes, WW_MPI_CONTROL_BYTES, MPI_BYTE,
		&message->real, MPI_STATUS_IGNORE);
	message->is_read = true;
	message->is_control = message->code == MPI_SUCCESS &&
		ww_mpi_direct_is_control(&message->bytes);
	if (message->is_control)
		PMPI_Status_set_elements_x(&message->status, MPI_BYTE, message->bytes.bytes);
	return message;
}

/* Takes out what a rank sent, up to a message of this tag and the length of a control message. */
static void take(int source, int tag, MPI_Comm comm)
{
	struct message *message;
	MPI_Message real;
	MPI_Status status = {0};
	int flag = 0;

	do {
		if (WW_MPI_REAL(Improbe)(source, MPI_ANY_TAG, comm, &flag, &real, &status) !=
				MPI_SUCCESS ||
			!flag)
			return;
		message = create(real, comm, &status);
		append(&kept, message);
	} while (!message->is_read || status.MPI_TAG != tag);
}

/* --- probes --- */

/* Probes of MPICH leave some of a status as it was: they get one of ours. */
static void assign(MPI_Status *status, const MPI_Status *found)
{
	int error = status->MPI_ERROR;

	*status = *found;
	status->MPI_ERROR = error;
}

static int look(ww_mpi_fn_Iprobe *next, int source, int tag, MPI_Comm comm, int *flag,
	MPI_Status *status)
{
	for (;;) {
		struct message *message = *find(source, tag, comm);
		MPI_Status found = {0};
		int code;

		if (message) {
			*flag = 1;
			assign(status, &message->status);
			return MPI_SUCCESS;
		}
		*flag = 0;
		code = next(source, tag, comm, flag, &found);
		if (code != MPI_SUCCESS || !*flag)
			return code;
		if (ww_mpi_received(&found) != WW_MPI_CONTROL_BYTES) {
			assign(status, &found);
			return code;
		}
		take(found.MPI_SOURCE, found.MPI_TAG, comm);
	}
}

static int look_once(ww_mpi_fn_Iprobe *next, int source, int tag, MPI_Comm comm, int *flag,
	MPI_Status *status)
{
	int code;

	ww_mpi_depth++;
	pthread_mutex_lock(&lock);
	code = look(next, source, tag, comm, flag, status);
	pthread_mutex_unlock(&lock);
	ww_mpi_depth--;
	return code;
}

int ww_mpi_call_Iprobe(ww_mpi_fn_Iprobe *next, int source, int tag, MPI_Comm comm, int *flag,
	MPI_Status *status)
{
	MPI_Status own = {0};

	if (!is_needed())
		return next(source, tag, comm, flag, status);
	return look_once(next, source, tag, comm, flag, WW_MPI_STATUS(status, &own));
}

int ww_mpi_call_Probe(ww_mpi_fn_Probe *next, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own = {0};
	int flag = 0;
	int code = MPI_SUCCESS;

	if (!is_needed())
		return next(source, tag, comm, status);
	status = WW_MPI_STATUS(status, &own);
	while (code == MPI_SUCCESS && !flag) {
		code = look_once(WW_MPI_REAL(Iprobe), source, tag, comm, &flag, status);
		if (!flag)
			sched_yield();
	}
	return code;
}

static int match_once(ww_mpi_fn_Improbe *next, int source, int tag, MPI_Comm comm, int *flag,
	MPI_Message *message, MPI_Status *status)
{
	struct message *found;
	MPI_Status of_mpi = {0};
	int code = MPI_SUCCESS;

	ww_mpi_depth++;
	pthread_mutex_lock(&lock);
	found = unlink_message(&kept, find(source, tag, comm));
	*flag = found != NULL;
	if (!found) {
		code = next(source, tag, comm, flag, message, &of_mpi);
		if (code == MPI_SUCCESS && *flag &&
			ww_mpi_received(&of_mpi) == WW_MPI_CONTROL_BYTES)
			found = create(*message, comm, &of_mpi);
	}
	if (found) {
		assign(status, &found->status);
		/* The program gets a handle for a message that is not kept. */
		if (!found->is_read) {
			MPI_Message real = found->real;

			free(found);
			*message = real;
		} else {
			found->number = ++last_number;
			append(&given, found);
			*message = handle_of(found);
		}
	} else if (*flag) {
		assign(status, &of_mpi);
	}
	pthread_mutex_unlock(&lock);
	ww_mpi_depth--;
	return code;
}

int ww_mpi_call_Improbe(ww_mpi_fn_Improbe *next, int source, int tag, MPI_Comm comm, int *flag,
	MPI_Message *message, MPI_Status *status)
{
	MPI_Status own = {0};

	if (!is_needed())
		return next(source, tag, comm, flag, message, status);
	return match_once(next, source, tag, comm, flag, message, WW_MPI_STATUS(status, &own));
}

int ww_mpi_call_Mprobe(ww_mpi_fn_Mprobe *next, int source, int tag, MPI_Comm comm,
	MPI_Message *message, MPI_Status *status)
{
	MPI_Status own = {0};
	int flag = 0;
	int code = MPI_SUCCESS;

	if (!is_needed())
		return next(source, tag, comm, message, status);
	status = WW_MPI_STATUS(status, &own);
	while (code == MPI_SUCCESS && !flag) {
		code = match_once(WW_MPI_REAL(Improbe), source, tag, comm, &flag, message, status);
		if (!flag)
			sched_yield();
	}
	return code;
}

#ifdef OPEN_MPI

/* Open MPI looks into a message to give it a number: ours have numbers below all of its. */
#define NUMBERS_END (-1000)

typedef MPI_Fint c2f_fn(MPI_Message);
typedef MPI_Message f2c_fn(MPI_Fint);

static MPI_Fint to_number(MPI_Message handle, const char *name)
{
	struct message *message;

	pthread_mutex_lock(&lock);
	message = *find_given(handle);
	pthread_mutex_unlock(&lock);
	return message ? NUMBERS_END - message->number
		       : ((c2f_fn *)ww_mpi_next_of_name(name))(handle);
}

static MPI_Message from_number(MPI_Fint number, const char *name)
{
	MPI_Message handle = MPI_MESSAGE_NULL;

	if (number >= NUMBERS_END)
		return ((f2c_fn *)ww_mpi_next_of_name(name))(number);
	pthread_mutex_lock(&lock);
	for (struct message *message = given.first; message; message = message->next) {
		if (message->number == NUMBERS_END - number)
			handle = handle_of(message);
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT MPI_Fint MPI_Message_c2f(MPI_Message message)
{
	return to_number(message, "MPI_Message_c2f");
}

EXPORT MPI_Fint PMPI_Message_c2f(MPI_Message message)
{
	return to_number(message, "PMPI_Message_c2f");
}

EXPORT MPI_Message MPI_Message_f2c(MPI_Fint message)
{
	return from_number(message, "MPI_Message_f2c");
}

EXPORT MPI_Message PMPI_Message_f2c(MPI_Fint message)
{
	return from_number(message, "PMPI_Message_f2c");
}

#endif

/* --- receives --- */

/* Whether a receive must look here: a message is kept, or other threads may probe meanwhile. */
static bool must_look(void)
{
	return ww_mpi_is_announced() && (!is_empty() || ww_mpi_is_threaded());
}

/* Writes a message whose bytes are here, without gaps, to a buffer. Return: a code. */
static int put_bytes(struct ww_mpi_buffer *buffer, const char *name, const struct message *message,
	const void *bytes, MPI_Count length, MPI_Status *status)
{
	MPI_Count most = length < buffer->bytes ? length : buffer->bytes;
	int error = most ? ww_mpi_buffer_put(buffer, bytes, most, NULL) : 0;

	*status = message->status;
	if (error)
		return ww_mpi_buffer_error(buffer, name, error);
	if (most == length)
		return MPI_SUCCESS;
	PMPI_Status_set_elements_x(status, MPI_BYTE, most);
	return MPI_ERR_TRUNCATE;
}

/* Ends a message whose bytes are here. */
static int deliver(struct message *message, struct ww_mpi_buffer *buffer, const char *name,
	MPI_Status *status)
{
	int code;

	*status = message->status;
	if (message->code != MPI_SUCCESS)
		code = message->code;
	else if (message->is_control)
		code = ww_mpi_direct_deliver(buffer, name, &message->bytes, status);
	else
		code = put_bytes(buffer, name, message, &message->bytes, WW_MPI_CONTROL_BYTES,
			status);
	free(message);
	return code;
}

static int deliver_to_call(struct ww_mpi_call *call, struct message *message, MPI_Status *status)
{
	struct ww_mpi_buffer *buffer = &call->buffers[call->buffer_count - 1];

	call->is_delivered = true;
	return deliver(message, buffer, call->name, status);
}

static int query(void *state, MPI_Status *status)
{
	(void)state;
	PMPI_Status_set_elements_x(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int ignore(void *state)
{
	(void)state;
	return MPI_SUCCESS;
}

static int ignore_cancel(void *state, int is_complete)
{
	(void)state;
	(void)is_complete;
	return MPI_SUCCESS;
}

static int deliver_for_request(struct ww_mpi_call *call, struct message *message,
	MPI_Request *request)
{
	int code;

	call->served_code = deliver_to_call(call, message, &call->served);
	/*
	 * A request that is complete; the call that waits for it gets the status that was served.
	 */
	code = PMPI_Grequest_start(query, ignore, ignore_cancel, NULL, request);
	return code == MPI_SUCCESS ? PMPI_Grequest_complete(*request) : code;
}

static int post(const struct ww_mpi_receive *receive, MPI_Request *request)
{
#if MPI_VERSION >= 4
	if (receive->count > INT32_MAX)
		return WW_MPI_REAL(Irecv_c)(receive->buffer, receive->count, receive->type,
			receive->source, receive->tag, receive->comm, request);
#endif
	return WW_MPI_REAL(Irecv)(receive->buffer, (int)receive->count, receive->type,
		receive->source, receive->tag, receive->comm, request);
}

/* Receives one that is out of the MPI's queue, and not read. Ends the message. */
static int post_matched(struct message *message, const struct ww_mpi_receive *receive,
	MPI_Request *request)
{
	MPI_Message real = message->real;

	free(message);
#if MPI_VERSION >= 4
	if (receive->count > INT32_MAX)
		return WW_MPI_REAL(
			Imrecv_c)(receive->buffer, receive->count, receive->type, &real, request);
#endif
	return WW_MPI_REAL(
		Imrecv)(receive->buffer, (int)receive->count, receive->type, &real, request);
}

/*
 * Finds what a receive gets, or posts it where other threads may probe. Return: false: neither;
 * true: *out_message is read, or there is a request.
 */
static bool begin(const struct ww_mpi_receive *receive, struct message **out_message,
	MPI_Request *request, int *out_code)
{
	struct message *message;
	bool is_begun = true;

	*out_code = MPI_SUCCESS;
	*out_message = NULL;
	*request = MPI_REQUEST_NULL;
	pthread_mutex_lock(&lock);
	message = unlink_message(&kept, find(receive->source, receive->tag, receive->comm));
	if (message && message->is_read)
		*out_message = message;
	else if (message)
		*out_code = post_matched(message, receive, request);
	else if (ww_mpi_is_threaded())
		*out_code = post(receive, request);
	else
		is_begun = false;
	pthread_mutex_unlock(&lock);
	return is_begun;
}

bool ww_mpi_probe_receive(struct ww_mpi_call *call, const struct ww_mpi_receive *receive,
	MPI_Status *status, int *out_code)
{
	struct message *message;
	MPI_Request request;

	if (!must_look() || !begin(receive, &message, &request, out_code))
		return false;
	if (message)
		*out_code = deliver_to_call(call, message, status);
	else if (*out_code == MPI_SUCCESS)
		*out_code = WW_MPI_REAL(Wait)(&request, status);
	return true;
}

/* The lock is held if other threads may probe, so the MPI can post what is not here. */
bool ww_mpi_probe_post(struct ww_mpi_call *call, const struct ww_mpi_receive *receive,
	MPI_Request *request, int *out_code)
{
	struct message *message;

	if (!ww_mpi_is_announced() || is_empty())
		return false;
	message = unlink_message(&kept, find(receive->source, receive->tag, receive->comm));
	if (!message)
		return false;
	*out_code = message->is_read ? deliver_for_request(call, message, request)
				     : post_matched(message, receive, request);
	return true;
}

/* --- exchanges --- */

/* What is sent from the buffer that is received into. Return: false: there is no memory. */
static bool copy_sent(struct ww_mpi_call *call, struct ww_mpi_send *send)
{
	struct ww_mpi_buffer *buffer = &call->buffers[0];

	if (!send->is_same)
		return true;
	if (buffer->bytes > INT32_MAX)
		return false;
	buffer->copy = malloc(buffer->bytes ? (size_t)buffer->bytes : 1);
	if (!buffer->copy)
		return false;
	ww_mpi_buffer_peek(buffer, buffer->copy, buffer->bytes);
	send->buffer = buffer->copy;
	send->count = buffer->bytes;
	send->type = MPI_BYTE;
	return true;
}

/* After an error handler of the program MPICH 5 returns MPI_SUCCESS, and there is no request. */
static bool is_refused(int code, MPI_Request request)
{
	return code != MPI_SUCCESS || request == MPI_REQUEST_NULL;
}

static int start_send(const struct ww_mpi_send *send, MPI_Comm comm, MPI_Request *request)
{
#if MPI_VERSION >= 4
	if (send->count > INT32_MAX)
		return WW_MPI_REAL(Isend_c)(send->buffer, send->count, send->type, send->dest,
			send->tag, comm, request);
#endif
	return WW_MPI_REAL(Isend)(send->buffer, (int)send->count, send->type, send->dest, send->tag,
		comm, request);
}

/* The MPI looks at the arguments of the send, and sends nothing yet. */
static int prepare_send(const struct ww_mpi_send *send, MPI_Comm comm, MPI_Request *request)
{
#if MPI_VERSION >= 4
	if (send->count > INT32_MAX)
		return WW_MPI_REAL(Send_init_c)(send->buffer, send->count, send->type, send->dest,
			send->tag, comm, request);
#endif
	return WW_MPI_REAL(Send_init)(send->buffer, (int)send->count, send->type, send->dest,
		send->tag, comm, request);
}

/* If the MPI refuses one side, the other one has no effect: nothing is received, and not sent. */
bool ww_mpi_probe_exchange(struct ww_mpi_call *call, const struct ww_mpi_send *send,
	const struct ww_mpi_receive *receive, MPI_Status *status, int *out_code)
{
	struct ww_mpi_send sent = *send;
	MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	struct message *message = NULL;

	/* Other threads may change what is kept; without any it stays. */
	if (!must_look() ||
		(!ww_mpi_is_threaded() &&
			*find(receive->source, receive->tag, receive->comm) == NULL) ||
		!copy_sent(call, &sent))
		return false;
	PMPI_Status_set_elements_x(status, MPI_BYTE, 0);
	*out_code = prepare_send(&sent, receive->comm, &requests[1]);
	if (is_refused(*out_code, requests[1])) {
		ww_mpi_direct_undo(&call->buffers[0]);
		return true;
	}
	begin(receive, &message, &requests[0], out_code);
	if (message || !is_refused(*out_code, requests[0])) {
		int send_code = WW_MPI_REAL(Start)(&requests[1]);
		int code;

		/* What is not sent will have no answer. */
		if (send_code != MPI_SUCCESS && !message)
			WW_MPI_REAL(Cancel)(&requests[0]);
		code = message ? deliver_to_call(call, message, status)
			       : WW_MPI_REAL(Wait)(&requests[0], status);
		if (send_code == MPI_SUCCESS)
			send_code = WW_MPI_REAL(Wait)(&requests[1], MPI_STATUS_IGNORE);
		*out_code = code == MPI_SUCCESS ? send_code : code;
	} else {
		ww_mpi_direct_undo(&call->buffers[0]);
	}
	WW_MPI_REAL(Request_free)(&requests[1]);
	return true;
}

/* Receives a message that is not read, now. Ends it. Return: a code. */
static int receive_matched(struct ww_mpi_call *call, struct message *message,
	const struct ww_mpi_receive *receive)
{
	struct ww_mpi_buffer *buffer = &call->buffers[call->buffer_count - 1];
	MPI_Request request;
	int code = post_matched(message, receive, &request);
	int error = 0;

	call->is_delivered = true;
	memset(&call->served, 0, sizeof(call->served)); /* some errors leave it as it was */
	if (code == MPI_SUCCESS)
		code = WW_MPI_REAL(Wait)(&request, &call->served);
	if (code == MPI_SUCCESS || ww_mpi_is_truncation(code))
		error = ww_mpi_buffer_write(buffer, ww_mpi_received(&call->served));
	return error ? ww_mpi_buffer_error(buffer, call->name, error) : code;
}

/*
 * The request is that of the other message, which is on its way before this one is waited for. As
 * ww_mpi_probe_post() otherwise.
 */
bool ww_mpi_probe_post_exchange(struct ww_mpi_call *call, const struct ww_mpi_send *send,
	const struct ww_mpi_receive *receive, MPI_Request *request, int *out_code)
{
	struct ww_mpi_send sent = *send;
	struct message **link;
	struct message *message;

	if (!ww_mpi_is_announced() || is_empty())
		return false;
	link = find(receive->source, receive->tag, receive->comm);
	if (!*link || !copy_sent(call, &sent))
		return false;
	*out_code = start_send(&sent, receive->comm, request);
	if (is_refused(*out_code, *request))
		return true;
	message = unlink_message(&kept, link);
	call->served_code = message->is_read ? deliver_to_call(call, message, &call->served)
					     : receive_matched(call, message, receive);
	return true;
}

/* --- messages with a handle --- */

/* Errors of the call are those of the message's communicator. */
static struct message *take_given(struct ww_mpi_call *call, MPI_Message *handle)
{
	struct message *message;

	if (is_empty())
		return NULL;
	pthread_mutex_lock(&lock);
	message = unlink_message(&given, find_given(*handle));
	pthread_mutex_unlock(&lock);
	if (message) {
		*handle = MPI_MESSAGE_NULL;
		call->comm = message->comm;
	}
	return message;
}

bool ww_mpi_probe_mreceive(struct ww_mpi_call *call, MPI_Message *handle, MPI_Status *status,
	int *out_code)
{
	struct message *message = take_given(call, handle);

	if (message)
		*out_code = deliver_to_call(call, message, status);
	return message != NULL;
}

bool ww_mpi_probe_mpost(struct ww_mpi_call *call, MPI_Message *handle, MPI_Request *request,
	int *out_code)
{
	struct message *message = take_given(call, handle);

	if (message)
		*out_code = deliver_for_request(call, message, request);
	return message != NULL;
}

/* --- persistent receives --- */

/* Receives a message of another length as bytes: the type may have been freed. */
static int read_and_put(struct message *message, struct ww_mpi_buffer *buffer, const char *name,
	MPI_Status *status)
{
	MPI_Count length = ww_mpi_received(&message->status);
	void *bytes = length <= INT32_MAX ? malloc(length ? (size_t)length : 1) : NULL;
	int code;

	if (!bytes)
		return PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	*status = message->status;
	code = WW_MPI_REAL(Mrecv)(bytes, (int)length, MPI_BYTE, &message->real, MPI_STATUS_IGNORE);
	if (code == MPI_SUCCESS)
		code = put_bytes(buffer, name, message, bytes, length, status);
	free(bytes);
	free(message);
	return code;
}

bool ww_mpi_probe_start(struct ww_mpi_buffer *buffer, const char *name,
	const struct ww_mpi_receive *receive, MPI_Status *out_status, int *out_code)
{
	struct message *message;

	if (!ww_mpi_is_announced() || is_empty())
		return false;
	message = unlink_message(&kept, find(receive->source, receive->tag, receive->comm));
	if (!message)
		return false;
	*out_code = message->is_read ? deliver(message, buffer, name, out_status)
				     : read_and_put(message, buffer, name, out_status);
	return true;
}
