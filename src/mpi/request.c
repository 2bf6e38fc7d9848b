/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - see request.h
 */
#include "mpi/request.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/direct.h"
#include "mpi/next.h"
#include "mpi/probe.h"

#define PLACES 1024 /* a power of two */

/* A receive that was freed and has not matched is looked at so long before it is cancelled. */
#define LAST_LOOKS_S 1

#define ORPHANS_A_LOOK 64

#define TAGS 32768 /* that each MPI has; more than there are threads */

/* Of a part that is received. */
enum part {
	PART_AWAITED,
	PART_COPYING, /* one thread writes it, others wait for that */
	PART_WRITTEN,
};

struct ww_mpi_entry {
	struct ww_mpi_entry *next;
	MPI_Request request;
	enum ww_mpi_kind kind;
	bool is_received;  /* the status says how much of the last buffer */
	bool is_uncounted; /* it does not, but a control message may have come */
	bool is_active;    /* false: persistent and not started, or complete */
	bool is_written;   /* complete and written, though not waited for */
	bool is_served;    /* complete; this is how: */
	MPI_Status served;
	int served_code;
	_Atomic char *parts; /* of partitioned requests: enum part; NULL: none is received */
	bool is_persistent_receive;
	struct ww_mpi_receive receive; /* for those: what it asks for */
	const char *name;
	MPI_Errhandler handler; /* MPI_ERRHANDLER_NULL: that of MPI_COMM_WORLD */
	int buffer_count;
	struct ww_mpi_buffer buffers[WW_MPI_BUFFERS_MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct ww_mpi_entry *table[PLACES];
static struct ww_mpi_entry *orphans;
static struct ww_mpi_entry **orphans_end = &orphans;
static _Atomic size_t entry_count; /* in the table, and orphans */
static _Atomic size_t orphan_count;

/* Held while freed requests are looked at: other threads wait until these are written. */
static pthread_mutex_t looking_lock = PTHREAD_MUTEX_INITIALIZER;

bool ww_mpi_request_any(void)
{
	return atomic_load_explicit(&entry_count, memory_order_relaxed) != 0;
}

static struct ww_mpi_entry **place_of(MPI_Request request)
{
	uint64_t bits = (uint64_t)(uintptr_t)request;

	return &table[(bits ^ bits >> 5 ^ bits >> 13) & (PLACES - 1)];
}

/* --- the table --- */

static void insert(struct ww_mpi_entry *entry)
{
	struct ww_mpi_entry **place = place_of(entry->request);

	pthread_mutex_lock(&lock);
	entry->next = *place;
	*place = entry;
	atomic_fetch_add(&entry_count, 1);
	pthread_mutex_unlock(&lock);
}

/* Lock held. */
static struct ww_mpi_entry **find_link(MPI_Request request)
{
	struct ww_mpi_entry **link = place_of(request);

	while (*link && (*link)->request != request)
		link = &(*link)->next;
	return link;
}

/* Lock held. */
static struct ww_mpi_entry *unlink_entry(struct ww_mpi_entry **link)
{
	struct ww_mpi_entry *entry = *link;

	*link = entry->next;
	atomic_fetch_sub(&entry_count, 1);
	return entry;
}

struct ww_mpi_entry *ww_mpi_request_take(MPI_Request request)
{
	struct ww_mpi_entry **link;
	struct ww_mpi_entry *entry;

	pthread_mutex_lock(&lock);
	link = find_link(request);
	entry = *link;
	if (entry && entry->kind == WW_MPI_KIND_ONCE)
		unlink_entry(link);
	pthread_mutex_unlock(&lock);
	return entry;
}

struct ww_mpi_entry *ww_mpi_request_find(MPI_Request request)
{
	struct ww_mpi_entry *entry;

	pthread_mutex_lock(&lock);
	entry = *find_link(request);
	pthread_mutex_unlock(&lock);
	return entry;
}

void ww_mpi_request_put_back(struct ww_mpi_entry *entry)
{
	if (entry->kind == WW_MPI_KIND_ONCE)
		insert(entry);
}

void ww_mpi_request_remove(struct ww_mpi_entry *entry)
{
	struct ww_mpi_entry **link;

	pthread_mutex_lock(&lock);
	link = find_link(entry->request);
	if (*link == entry)
		unlink_entry(link);
	pthread_mutex_unlock(&lock);
}

void ww_mpi_request_forget(struct ww_mpi_entry *entry)
{
	for (int i = 0; i < entry->buffer_count; i++)
		ww_mpi_buffer_fini(&entry->buffers[i]);
	if (entry->handler != MPI_ERRHANDLER_NULL)
		PMPI_Errhandler_free(&entry->handler);
	free(entry->parts);
	free(entry);
}

/* --- error handlers --- */

/*
 * All carriers are made from one communicator of this process alone. MPI_COMM_SELF has attributes
 * of the program, whose functions Open MPI 4 calls then, and other threads call collectives of it.
 */
static MPI_Comm alone = MPI_COMM_NULL;

static void create_alone(void)
{
	PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &alone);
}

/* Several threads may do this at once, as no tag is the same. */
static MPI_Comm create_carrier(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static _Atomic unsigned int count;
	MPI_Comm carrier = MPI_COMM_NULL;
	MPI_Group group;

	pthread_once(&once, create_alone);
	if (alone == MPI_COMM_NULL || PMPI_Comm_group(alone, &group) != MPI_SUCCESS)
		return MPI_COMM_NULL;
	PMPI_Comm_create_group(alone, group, (int)(atomic_fetch_add(&count, 1) % TAGS), &carrier);
	PMPI_Group_free(&group);
	return carrier;
}

/*
 * The communicator of the operation may have been freed. A handler that only returns needs none. A
 * program of sessions alone has no other one: there an error ends the job.
 */
MPI_Comm ww_mpi_entry_carrier(const struct ww_mpi_entry *entry)
{
	MPI_Comm carrier;

	if (entry->handler == MPI_ERRORS_RETURN)
		return MPI_COMM_NULL;
	if (entry->handler == MPI_ERRHANDLER_NULL || !ww_mpi_has_world())
		return MPI_COMM_WORLD;
	carrier = create_carrier();
	if (carrier == MPI_COMM_NULL)
		return MPI_COMM_WORLD;
	PMPI_Comm_set_errhandler(carrier, entry->handler);
	return carrier;
}

int ww_mpi_entry_raise(MPI_Comm carrier, int code)
{
	if (carrier != MPI_COMM_NULL)
		ww_mpi_raise(carrier, code);
	ww_mpi_carrier_free(carrier);
	return code;
}

void ww_mpi_carrier_free(MPI_Comm carrier)
{
	if (carrier != MPI_COMM_WORLD && carrier != MPI_COMM_NULL)
		PMPI_Comm_free(&carrier);
}

/* --- from the call to the end --- */

static struct ww_mpi_entry *create(struct ww_mpi_call *call, MPI_Request request,
	enum ww_mpi_kind kind, bool is_received)
{
	struct ww_mpi_entry *entry = calloc(1, sizeof(*entry));
	const struct ww_mpi_buffer *last = &call->buffers[call->buffer_count - 1];

	if (!entry)
		return NULL;
	if (kind == WW_MPI_KIND_PARTITIONED && last->flags & WW_MPI_OUT) {
		entry->parts = calloc(last->piece_count, sizeof(*entry->parts));
		if (!entry->parts) {
			free(entry);
			return NULL;
		}
	}
	entry->request = request;
	entry->kind = kind;
	entry->is_received = is_received;
	entry->is_uncounted = call->is_uncounted;
	entry->is_active = kind == WW_MPI_KIND_ONCE;
	entry->is_served = call->is_delivered;
	entry->served = call->served;
	entry->served_code = call->served_code;
	entry->is_persistent_receive = call->is_persistent_receive;
	entry->receive.source = call->source;
	entry->receive.tag = call->tag;
	entry->receive.comm = call->comm;
	entry->name = call->name;
	entry->handler = MPI_ERRHANDLER_NULL;
	if (call->comm != MPI_COMM_NULL && call->comm != MPI_COMM_WORLD)
		PMPI_Comm_get_errhandler(call->comm, &entry->handler);
	entry->buffer_count = call->buffer_count;
	memcpy(entry->buffers, call->buffers, sizeof(entry->buffers));
	call->buffer_count = 0;
	return entry;
}

int ww_mpi_request_add(struct ww_mpi_call *call, MPI_Request request, enum ww_mpi_kind kind,
	bool is_received)
{
	struct ww_mpi_entry *entry = create(call, request, kind, is_received);
	MPI_Comm carrier = MPI_COMM_WORLD;
	MPI_Status status;
	int is_complete = 0;
	int code;
	struct ww_mpi_entry *older;

	if (!entry)
		/* The MPI works with memory that no call would release: the process must end. */
		return PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	/* Receives have requests of their own, and an error of one is for the call that waits. */
	if (kind == WW_MPI_KIND_ONCE && !is_received && !entry->is_served) {
		code = WW_MPI_REAL(Request_get_status)(request, &is_complete, &status);
		if (code == MPI_SUCCESS && is_complete) {
			code = ww_mpi_request_write(entry, &status, MPI_SUCCESS, &carrier);
			if (!entry->is_served) {
				ww_mpi_request_forget(entry);
				ww_mpi_carrier_free(carrier); /* the call raises it */
				return code;
			}
		}
	}
	/* The MPI has ended a request of this handle where it was not seen: in front of us. */
	older = ww_mpi_request_take(request);
	if (older) {
		ww_mpi_request_remove(older);
		ww_mpi_request_forget(older);
	}
	insert(entry);
	return MPI_SUCCESS;
}

/* Writes a part, once: a thread that is told that it is there finds it there. */
static int write_part(struct ww_mpi_entry *entry, size_t part)
{
	char state = PART_AWAITED;
	int error;

	if (!atomic_compare_exchange_strong(&entry->parts[part], &state, PART_COPYING)) {
		while (atomic_load(&entry->parts[part]) == PART_COPYING)
			sched_yield();
		return 0;
	}
	error = ww_mpi_buffer_write_piece(&entry->buffers[0], part);
	atomic_store(&entry->parts[part], PART_WRITTEN);
	return error;
}

static int write_parts(struct ww_mpi_entry *entry)
{
	int error = 0;

	for (size_t i = 0; i < entry->buffers[0].piece_count && !error; i++)
		error = write_part(entry, i);
	return error;
}

/* Whether what was received is a control message: then the entry has the status of the data. */
static bool is_received_directly(struct ww_mpi_entry *entry, const MPI_Status *status, int code)
{
	MPI_Count most = entry->is_uncounted ? WW_MPI_CONTROL_BYTES : 0;

	if (code != MPI_SUCCESS || entry->kind == WW_MPI_KIND_PARTITIONED)
		return false;
	entry->served = *status;
	if (entry->is_received)
		most = ww_mpi_received(status);
	entry->is_served = most &&
		ww_mpi_direct_receive(&entry->buffers[entry->buffer_count - 1], entry->name,
			&entry->served, most, &entry->served_code);
	return entry->is_served;
}

/* The error field of a status is the caller's. */
static int serve(const struct ww_mpi_entry *entry, MPI_Status *status)
{
	int error = status->MPI_ERROR;

	*status = entry->served;
	status->MPI_ERROR = error;
	return entry->served_code;
}

static int write_buffers(struct ww_mpi_entry *entry, const MPI_Status *status, int code)
{
	int error = 0;
	int is_cancelled = 0;

	/* A send that was cancelled will have no receiver. */
	if (entry->buffers[0].control) {
		PMPI_Test_cancelled(status, &is_cancelled);
		if (is_cancelled)
			ww_mpi_direct_undo(&entry->buffers[0]);
	}
	entry->is_written = true;
	for (int i = 0; i < entry->buffer_count && !error; i++) {
		bool is_limited = entry->is_received && i == entry->buffer_count - 1;

		if (entry->parts)
			error = write_parts(entry);
		else
			error = ww_mpi_buffer_write(&entry->buffers[i],
				is_limited ? ww_mpi_received(status) : WW_MPI_ALL);
		if (error)
			code = ww_mpi_buffer_error(&entry->buffers[i], entry->name, error);
	}
	return code;
}

int ww_mpi_request_write(struct ww_mpi_entry *entry, MPI_Status *status, int code,
	MPI_Comm *out_carrier)
{
	int result = code;

	if (!entry->is_active)
		return code;
	if (entry->is_served)
		result = serve(entry, status);
	else if (entry->is_written || (code != MPI_SUCCESS && !ww_mpi_is_truncation(code)))
		return code;
	else if (is_received_directly(entry, status, code))
		result = serve(entry, status);
	else
		result = write_buffers(entry, status, code);
	if (result != code)
		*out_carrier = ww_mpi_entry_carrier(entry);
	return result;
}

int ww_mpi_request_done(struct ww_mpi_entry *entry, MPI_Request request, MPI_Status *status,
	int code, MPI_Comm *out_carrier)
{
	code = ww_mpi_request_write(entry, status, code, out_carrier);
	if (entry->kind != WW_MPI_KIND_ONCE)
		entry->is_active = false;
	else if (request == MPI_REQUEST_NULL)
		ww_mpi_request_forget(entry);
	else
		insert(entry); /* after an error it can be waited for again */
	return code;
}

bool ww_mpi_request_is_active(const struct ww_mpi_entry *entry)
{
	return entry->is_active;
}

bool ww_mpi_request_is_served(const struct ww_mpi_entry *entry)
{
	return entry->is_active && entry->is_served && entry->kind == WW_MPI_KIND_PERSISTENT;
}

/* --- persistent and partitioned ones --- */

int ww_mpi_request_start(struct ww_mpi_entry *entry, bool *out_is_served)
{
	int code = MPI_SUCCESS;

	*out_is_served = false;
	for (int i = 0; i < entry->buffer_count && code == MPI_SUCCESS; i++) {
		if (entry->kind == WW_MPI_KIND_PERSISTENT && entry->buffers[i].flags & WW_MPI_IN) {
			int error = ww_mpi_buffer_read(&entry->buffers[i]);

			code = error ? ww_mpi_buffer_error(&entry->buffers[i], entry->name, error)
				     : MPI_SUCCESS;
		}
	}
	if (entry->parts)
		memset((void *)entry->parts, PART_AWAITED, entry->buffers[0].piece_count);
	entry->is_written = false;
	entry->is_served = code == MPI_SUCCESS && entry->is_persistent_receive &&
		ww_mpi_probe_start(&entry->buffers[0], entry->name, &entry->receive, &entry->served,
			&entry->served_code);
	*out_is_served = entry->is_served;
	entry->is_active = entry->is_served;
	return code;
}

void ww_mpi_request_started(struct ww_mpi_entry *entry)
{
	entry->is_active = true;
}

int ww_mpi_request_read_part(struct ww_mpi_entry *entry, MPI_Count part)
{
	int error = ww_mpi_buffer_read_piece(&entry->buffers[0], (size_t)part);

	return error ? ww_mpi_buffer_error(&entry->buffers[0], entry->name, error) : MPI_SUCCESS;
}

int ww_mpi_request_write_part(struct ww_mpi_entry *entry, MPI_Count part)
{
	struct ww_mpi_buffer *buffer = &entry->buffers[0];
	int error;

	if (!entry->parts || part < 0 || (size_t)part >= buffer->piece_count)
		return MPI_SUCCESS;
	error = write_part(entry, (size_t)part);
	return error ? ww_mpi_buffer_error(buffer, entry->name, error) : MPI_SUCCESS;
}

/* --- requests that the program freed --- */

void ww_mpi_request_orphan(struct ww_mpi_entry *entry)
{
	pthread_mutex_lock(&lock);
	entry->next = NULL;
	*orphans_end = entry;
	orphans_end = &entry->next;
	atomic_fetch_add(&entry_count, 1);
	atomic_fetch_add(&orphan_count, 1);
	pthread_mutex_unlock(&lock);
}

static struct ww_mpi_entry *take_orphan(void)
{
	struct ww_mpi_entry *entry;

	pthread_mutex_lock(&lock);
	entry = orphans;
	if (entry) {
		orphans = entry->next;
		if (!orphans)
			orphans_end = &orphans;
		atomic_fetch_sub(&entry_count, 1);
		atomic_fetch_sub(&orphan_count, 1);
	}
	pthread_mutex_unlock(&lock);
	return entry;
}

static void end_orphan(struct ww_mpi_entry *entry, MPI_Status *status)
{
	MPI_Comm carrier = MPI_COMM_WORLD;

	/* No call is there to return an error. */
	ww_mpi_request_write(entry, status, MPI_SUCCESS, &carrier);
	ww_mpi_carrier_free(carrier);
	if (entry->kind != WW_MPI_KIND_ONCE)
		WW_MPI_REAL(Request_free)(&entry->request);
	ww_mpi_request_forget(entry);
}

/* The oldest ones, so many that a call with many of them does not take long. */
void ww_mpi_request_progress(void)
{
	static __thread bool is_looking; /* an error handler may call the MPI meanwhile */
	size_t count = atomic_load_explicit(&orphan_count, memory_order_relaxed);

	if (count == 0 || is_looking)
		return;
	pthread_mutex_lock(&looking_lock);
	is_looking = true;
	for (size_t i = 0; i < count && i < ORPHANS_A_LOOK; i++) {
		struct ww_mpi_entry *entry = take_orphan();
		MPI_Status status;
		int is_complete = 0;

		if (!entry)
			break;
		WW_MPI_REAL(Test)(&entry->request, &is_complete, &status);
		if (is_complete)
			end_orphan(entry, &status);
		else
			ww_mpi_request_orphan(entry);
	}
	is_looking = false;
	pthread_mutex_unlock(&looking_lock);
}

/* A message that was sent is found by looking; a receive without one is cancelled. */
void ww_mpi_request_finish(void)
{
	struct ww_mpi_entry *entry;
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		ww_mpi_request_progress();
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (atomic_load(&orphan_count) && now.tv_sec - start.tv_sec <= LAST_LOOKS_S);
	while ((entry = take_orphan())) {
		MPI_Status status;

		if (entry->is_received)
			PMPI_Cancel(&entry->request);
		WW_MPI_REAL(Wait)(&entry->request, &status);
		end_orphan(entry, &status);
	}
	if (alone != MPI_COMM_NULL)
		PMPI_Comm_free(&alone);
}
