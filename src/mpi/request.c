/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - see request.h
 */
#include "mpi/request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/next.h"

#define PLACES 1024 /* a power of two */

/* A receive that was freed and has not matched is looked at so often before it is cancelled. */
#define LOOKS_MOST 1000

struct ww_mpi_entry {
	struct ww_mpi_entry *next;
	MPI_Request request;
	enum ww_mpi_kind kind;
	bool is_received; /* the status says how much of the last buffer */
	bool is_active;   /* false: persistent and not started, or complete */
	bool is_written;  /* complete and written, though not waited for */
	bool *written;    /* of partitioned requests: which parts; NULL: none is received */
	const char *name;
	MPI_Comm comm;
	int buffer_count;
	struct ww_mpi_buffer buffers[WW_MPI_BUFFERS_MOST];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct ww_mpi_entry *table[PLACES];
static struct ww_mpi_entry *orphans;
static _Atomic size_t entry_count; /* in the table, and orphans */
static _Atomic size_t orphan_count;

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

struct ww_mpi_entry *ww_mpi_request_take(MPI_Request request)
{
	struct ww_mpi_entry **link = place_of(request);
	struct ww_mpi_entry *entry;

	pthread_mutex_lock(&lock);
	while (*link && (*link)->request != request)
		link = &(*link)->next;
	entry = *link;
	if (entry) {
		*link = entry->next;
		atomic_fetch_sub(&entry_count, 1);
	}
	pthread_mutex_unlock(&lock);
	return entry;
}

struct ww_mpi_entry *ww_mpi_request_find(MPI_Request request)
{
	struct ww_mpi_entry *entry;

	pthread_mutex_lock(&lock);
	entry = *place_of(request);
	while (entry && entry->request != request)
		entry = entry->next;
	pthread_mutex_unlock(&lock);
	return entry;
}

void ww_mpi_request_put_back(struct ww_mpi_entry *entry)
{
	insert(entry);
}

void ww_mpi_request_forget(struct ww_mpi_entry *entry)
{
	for (int i = 0; i < entry->buffer_count; i++)
		ww_mpi_buffer_fini(&entry->buffers[i]);
	free(entry->written);
	free(entry);
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
		entry->written = calloc(last->piece_count, sizeof(*entry->written));
		if (!entry->written) {
			free(entry);
			return NULL;
		}
	}
	entry->request = request;
	entry->kind = kind;
	entry->is_received = is_received;
	entry->is_active = kind == WW_MPI_KIND_ONCE;
	entry->name = call->name;
	entry->comm = call->comm;
	entry->buffer_count = call->buffer_count;
	memcpy(entry->buffers, call->buffers, sizeof(entry->buffers));
	call->buffer_count = 0;
	return entry;
}

int ww_mpi_request_add(struct ww_mpi_call *call, MPI_Request request, enum ww_mpi_kind kind,
	bool is_received)
{
	struct ww_mpi_entry *entry = create(call, request, kind, is_received);
	MPI_Status status;
	int is_complete = 0;

	if (!entry)
		/* The MPI works with memory that nobody would release: the process cannot go on. */
		return PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
	if (kind == WW_MPI_KIND_ONCE)
		WW_MPI_REAL(Request_get_status)(request, &is_complete, &status);
	if (is_complete)
		return ww_mpi_request_done(entry, &status, MPI_SUCCESS);
	insert(entry);
	return MPI_SUCCESS;
}

static int write_parts(struct ww_mpi_entry *entry)
{
	struct ww_mpi_buffer *buffer = &entry->buffers[0];
	int error = 0;

	for (size_t i = 0; i < buffer->piece_count && !error; i++) {
		if (!entry->written[i])
			error = ww_mpi_buffer_write_piece(buffer, i);
		entry->written[i] = true;
	}
	return error;
}

static int write_buffer(struct ww_mpi_entry *entry, int i, const MPI_Status *status)
{
	bool is_limited = entry->is_received && i == entry->buffer_count - 1;

	if (entry->written)
		return write_parts(entry);
	return ww_mpi_buffer_write(&entry->buffers[i],
		is_limited ? ww_mpi_received(status) : WW_MPI_ALL);
}

int ww_mpi_request_write(struct ww_mpi_entry *entry, const MPI_Status *status, int code)
{
	int error = 0;

	if (!entry->is_active || entry->is_written)
		return code;
	entry->is_written = true;
	for (int i = 0; i < entry->buffer_count && !error; i++) {
		error = write_buffer(entry, i, status);
		if (error)
			code = ww_mpi_buffer_fail(&entry->buffers[i], entry->name, MPI_COMM_WORLD,
				error);
	}
	return code;
}

int ww_mpi_request_done(struct ww_mpi_entry *entry, const MPI_Status *status, int code)
{
	code = ww_mpi_request_write(entry, status, code);
	entry->is_active = false;
	if (entry->kind == WW_MPI_KIND_ONCE)
		ww_mpi_request_forget(entry);
	else
		insert(entry);
	return code;
}

bool ww_mpi_request_is_active(const struct ww_mpi_entry *entry)
{
	return entry->is_active;
}

/* --- persistent and partitioned ones --- */

static int read_buffer(struct ww_mpi_entry *entry, struct ww_mpi_buffer *buffer)
{
	int error = ww_mpi_buffer_read(buffer);

	return error ? ww_mpi_buffer_fail(buffer, entry->name, entry->comm, error) : MPI_SUCCESS;
}

int ww_mpi_request_start(struct ww_mpi_entry *entry)
{
	int code = MPI_SUCCESS;

	for (int i = 0; i < entry->buffer_count && code == MPI_SUCCESS; i++) {
		if (entry->kind == WW_MPI_KIND_PERSISTENT && entry->buffers[i].flags & WW_MPI_IN)
			code = read_buffer(entry, &entry->buffers[i]);
	}
	if (entry->written)
		memset(entry->written, 0, entry->buffers[0].piece_count * sizeof(*entry->written));
	entry->is_active = code == MPI_SUCCESS;
	entry->is_written = false;
	return code;
}

int ww_mpi_request_read_part(struct ww_mpi_entry *entry, MPI_Count part)
{
	int error = ww_mpi_buffer_read_piece(&entry->buffers[0], (size_t)part);

	return error ? ww_mpi_buffer_fail(&entry->buffers[0], entry->name, entry->comm, error)
		     : MPI_SUCCESS;
}

int ww_mpi_request_write_part(struct ww_mpi_entry *entry, MPI_Count part)
{
	struct ww_mpi_buffer *buffer = &entry->buffers[0];
	int error = 0;

	if (!entry->written || part < 0 || (size_t)part >= buffer->piece_count ||
		entry->written[part])
		return MPI_SUCCESS;
	entry->written[part] = true;
	error = ww_mpi_buffer_write_piece(buffer, (size_t)part);
	return error ? ww_mpi_buffer_fail(buffer, entry->name, entry->comm, error) : MPI_SUCCESS;
}

/* --- requests that the program freed --- */

void ww_mpi_request_orphan(struct ww_mpi_entry *entry)
{
	pthread_mutex_lock(&lock);
	entry->next = orphans;
	orphans = entry;
	atomic_fetch_add(&entry_count, 1);
	atomic_fetch_add(&orphan_count, 1);
	pthread_mutex_unlock(&lock);
}

static struct ww_mpi_entry *take_orphans(void)
{
	struct ww_mpi_entry *list;

	pthread_mutex_lock(&lock);
	list = orphans;
	orphans = NULL;
	for (struct ww_mpi_entry *entry = list; entry; entry = entry->next) {
		atomic_fetch_sub(&entry_count, 1);
		atomic_fetch_sub(&orphan_count, 1);
	}
	pthread_mutex_unlock(&lock);
	return list;
}

static void end_orphan(struct ww_mpi_entry *entry, const MPI_Status *status)
{
	ww_mpi_request_write(entry, status, MPI_SUCCESS);
	if (entry->kind != WW_MPI_KIND_ONCE)
		WW_MPI_REAL(Request_free)(&entry->request);
	ww_mpi_request_forget(entry);
}

void ww_mpi_request_progress(void)
{
	struct ww_mpi_entry *list;

	if (!atomic_load_explicit(&orphan_count, memory_order_relaxed))
		return;
	list = take_orphans();
	while (list) {
		struct ww_mpi_entry *entry = list;
		MPI_Status status;
		int is_complete = 0;

		list = entry->next;
		WW_MPI_REAL(Test)(&entry->request, &is_complete, &status);
		if (is_complete)
			end_orphan(entry, &status);
		else
			ww_mpi_request_orphan(entry);
	}
}

/* A message that was sent is found by looking; a receive without one is cancelled. */
void ww_mpi_request_finish(void)
{
	struct ww_mpi_entry *list;

	for (int i = 0; i < LOOKS_MOST && atomic_load(&orphan_count); i++)
		ww_mpi_request_progress();
	list = take_orphans();
	while (list) {
		struct ww_mpi_entry *entry = list;
		MPI_Status status;

		list = entry->next;
		if (entry->is_received)
			PMPI_Cancel(&entry->request);
		WW_MPI_REAL(Wait)(&entry->request, &status);
		end_orphan(entry, &status);
	}
}
