/* SPDX-License-Identifier: Apache-2.0 */
/*
 * direct.c - see direct.h
 *
 * Pools and devices are opened at the first message of a device, and stay open until the process
 * ends: at MPI_Finalize() the program may have ended its CUDA context. If there is no room for a
 * message, it is staged. If a step fails for another reason, it and all later ones are.
 */
#include "mpi/direct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/in_flight.h>
#include <warpway/pool.h>

#include "mpi/settings.h"

#define DEVICES_MOST 64

#define SHARE_OF_DEVICE 4 /* of a GPU's memory, for its pool */

/* A broker that does not answer would make every message slow. */
#define SLOW_NS UINT64_C(1000000000)

_Static_assert(sizeof(struct ww_mpi_control) == WW_MPI_CONTROL_BYTES,
	"a control message has its one length");
_Static_assert(WW_MPI_CONTROL_BYTES % 32 == 0 && WW_MPI_CONTROL_BYTES < WW_MPI_DIRECT_LEAST,
	"it is a multiple of the size of each predefined type, and shorter than what it stands for");

/*
 * How long messages of a rank that was killed can still be received: launchers end its job soon,
 * and the next one needs the device's memory.
 */
#define ESCROW_NS UINT64_C(5000000000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of devices; held while one is opened */
static struct device {
	ww_device *device;
	ww_pool *pool; /* NULL: nothing was sent from it */
	uint8_t uuid[WW_DEVICE_UUID_BYTES];
	bool is_slow_with_itself; /* two processes take turns on it */
} devices[DEVICES_MOST];

static _Atomic unsigned long long sent, sent_bytes, received, received_bytes, refused;

/* --- devices and pools --- */

static struct device *find_device(int ordinal)
{
	struct device *device;
	ww_status status = WW_OK;

	if (ordinal < 0 || ordinal >= DEVICES_MOST)
		return NULL;
	device = &devices[ordinal];
	pthread_mutex_lock(&lock);
	if (!device->device) {
		struct ww_device_info info = WW_INIT(struct ww_device_info);
		char name[32];

		snprintf(name, sizeof(name), "cuda:%d", ordinal);
		status = ww_device_open(name, &device->device);
		if (status == WW_OK) {
			status = ww_device_info_get(device->device, &info);
			memcpy(device->uuid, info.uuid, sizeof(device->uuid));
			device->is_slow_with_itself = info.mps != WW_MPS_ON;
		}
	}
	pthread_mutex_unlock(&lock);
	if (status == WW_OK)
		return device;
	ww_mpi_direct_stop(ww_error_last()->message);
	return NULL;
}

static ww_pool *find_pool(struct device *device)
{
	struct ww_device_info info = WW_INIT(struct ww_device_info);
	struct ww_pool_params how = WW_INIT(struct ww_pool_params);
	ww_status status = WW_OK;

	pthread_mutex_lock(&lock);
	if (!device->pool) {
		status = ww_device_info_get(device->device, &info);
		how.bytes_max = ww_mpi_settings()->pool_bytes;
		if (!how.bytes_max)
			how.bytes_max = info.bytes_total / SHARE_OF_DEVICE;
		if (status == WW_OK)
			status = ww_pool_create(device->device, &how, &device->pool);
	}
	pthread_mutex_unlock(&lock);
	if (status != WW_OK)
		ww_mpi_direct_stop(ww_error_last()->message);
	return device->pool;
}

/* --- sending --- */

size_t ww_mpi_direct_least(void)
{
	const struct ww_mpi_settings *settings = ww_mpi_settings();

	return settings->direct_bytes < settings->direct_same_bytes ? settings->direct_bytes
								    : settings->direct_same_bytes;
}

bool ww_mpi_direct_is_same(int ordinal, const struct ww_mpi_peer *peer)
{
	const struct device *device = find_device(ordinal);

	return device && !memcmp(device->uuid, peer->uuid, sizeof(device->uuid));
}

bool ww_mpi_direct_is_worth_it(int ordinal, const struct ww_mpi_peer *peer, MPI_Count bytes)
{
	const struct device *device = find_device(ordinal);
	bool is_same = device && device->is_slow_with_itself &&
		ww_mpi_direct_is_same(ordinal, peer);

	return device &&
		bytes >= (MPI_Count)(is_same ? ww_mpi_settings()->direct_same_bytes
					     : ww_mpi_settings()->direct_bytes);
}

/* Return: whether it was exported. */
static bool export_slice(ww_memory *slice, uint32_t uses, struct ww_token *out_token)
{
	const struct ww_export_params how = {
		.struct_size = sizeof(how),
		.access = WW_ACCESS_READ,
		.escrow_ns = ESCROW_NS,
		.uses = uses,
		.flags = WW_EXPORT_DELIVERY,
	};

	if (ww_memory_export(slice, NULL, &how, NULL, out_token) == WW_OK)
		return true;
	if (ww_error_last()->status != WW_ERR_LIMIT)
		ww_mpi_direct_stop(ww_error_last()->message);
	return false;
}

/*
 * Packs and exports: the token is made while the device copies. Return: whether the slice can be
 * sent; else nothing of it is used any more
 */
static bool fill_slice(struct ww_mpi_buffer *buffer, ww_memory *slice, uint32_t uses,
	struct ww_token *out_token)
{
	struct ww_mpi_copies copies;
	bool is_exported;

	ww_mpi_buffer_pack_begin(buffer, ww_memory_pointer(slice), &buffer->memory, &copies);
	is_exported = export_slice(slice, uses, out_token);
	/* What the driver refuses here it refuses in staging too, which says why. */
	if (ww_mpi_copies_end(&copies) == 0)
		return is_exported;
	if (is_exported)
		ww_mpi_direct_take_back(out_token);
	return false;
}

ww_memory *ww_mpi_direct_give(struct ww_mpi_buffer *buffer, uint32_t uses,
	struct ww_token *out_token)
{
	struct device *device = find_device(buffer->memory.ordinal);
	ww_pool *pool = device && !buffer->is_incomplete ? find_pool(device) : NULL;
	uint64_t start_ns = ww_mpi_now_ns();
	ww_memory *slice = NULL;

	if (!pool || ww_pool_alloc(pool, (uint64_t)buffer->bytes, 0, 0, NULL, &slice) != WW_OK) {
		atomic_fetch_add(&refused, pool != NULL);
		return NULL;
	}
	if (!fill_slice(buffer, slice, uses, out_token))
		slice = ww_memory_unref(slice);
	if (ww_mpi_now_ns() - start_ns > SLOW_NS)
		ww_mpi_direct_stop("the broker, or the copy of a message, took over a second");
	return slice;
}

void ww_mpi_direct_send(struct ww_mpi_call *call, int dest)
{
	struct ww_mpi_buffer *buffer = &call->buffers[0];
	struct ww_mpi_peer peer;
	struct ww_mpi_control *control;
	ww_memory *slice;

	if (call->is_host || buffer->bytes < (MPI_Count)ww_mpi_direct_least() ||
		!ww_mpi_buffer_find(buffer) || !buffer->is_one)
		return;
	ww_mpi_peer_prepare(buffer->memory.ordinal);
	if (!ww_mpi_peer_find(call->comm, dest, &peer) ||
		!ww_mpi_direct_is_worth_it(buffer->memory.ordinal, &peer, buffer->bytes))
		return;
	control = calloc(1, sizeof(*control));
	slice = control ? ww_mpi_direct_give(buffer, 1, &control->token) : NULL;
	if (!slice) {
		free(control);
		return;
	}
	ww_memory_unref(slice); /* the delivery keeps it */
	control->bytes = buffer->bytes;
	memcpy(control->nonce, peer.nonce, sizeof(control->nonce));
	buffer->control = control;
	buffer->staged = (char *)control;
	atomic_fetch_add(&sent, 1);
	atomic_fetch_add(&sent_bytes, (unsigned long long)buffer->bytes);
}

void ww_mpi_direct_take_back(const struct ww_token *token)
{
	const struct ww_in_flight_which which = {.struct_size = sizeof(which), .token = token};

	ww_in_flight_revoke(NULL, &which, NULL, NULL, NULL);
}

void ww_mpi_direct_undo(const struct ww_mpi_buffer *buffer)
{
	const struct ww_mpi_control *control = buffer->control;

	if (control)
		ww_mpi_direct_take_back(&control->token);
}

/* --- receiving --- */

void ww_mpi_direct_expect(struct ww_mpi_call *call)
{
	struct ww_mpi_buffer *buffer = &call->buffers[call->buffer_count - 1];

	if (!call->is_host && buffer->bytes >= (MPI_Count)ww_mpi_direct_least() &&
		ww_mpi_buffer_find(buffer))
		ww_mpi_peer_prepare(buffer->memory.ordinal);
	/* Only the MPI knows where it puts a control message, and where the data belongs. */
	if (ww_mpi_is_watching() && buffer->is_incomplete)
		buffer->status = WW_MPI_UNWATCHED;
	call->is_watched = ww_mpi_is_watching() && buffer->bytes >= WW_MPI_CONTROL_BYTES;
}

bool ww_mpi_direct_pack(struct ww_mpi_call *call, MPI_Count count_most)
{
	struct ww_mpi_buffer *buffer = &call->buffers[call->buffer_count - 1];

	if (ww_mpi_is_watching() && buffer->is_opaque)
		buffer->status = WW_MPI_UNWATCHED;
	if (!call->is_watched || buffer->status || !ww_mpi_buffer_has_gaps(buffer))
		return false;
	buffer->status = buffer->bytes > count_most ? WW_MPI_UNWATCHED
						    : ww_mpi_buffer_stage_packed(buffer);
	return buffer->status == 0;
}

bool ww_mpi_direct_is_control(const struct ww_mpi_control *control)
{
	return ww_mpi_is_announced() &&
		!memcmp(control->nonce, ww_mpi_peer_nonce(), sizeof(control->nonce)) &&
		control->bytes >= 0;
}

ww_memory *ww_mpi_direct_map(int ordinal, const struct ww_token *token, MPI_Count bytes,
	const char **out_why)
{
	struct device *device = find_device(ordinal);
	struct ww_memory_info info = WW_INIT(struct ww_memory_info);
	ww_memory *slice = NULL;

	if (!device ||
		ww_memory_import(device->device, NULL, token, NULL, NULL, &slice, NULL) < 0) {
		*out_why = ww_error_last()->message;
		return NULL;
	}
	ww_memory_info_get(slice, &info);
	if (info.bytes >= (uint64_t)bytes)
		return slice;
	*out_why = "it has fewer bytes than its sender says";
	return ww_memory_unref(slice);
}

const char *ww_mpi_direct_take(struct ww_mpi_buffer *buffer, int ordinal,
	const struct ww_token *token, MPI_Count from, MPI_Count bytes, char *text,
	size_t text_bytes)
{
	struct ww_mpi_memory memory;
	const char *why = NULL;
	ww_memory *slice = ww_mpi_direct_map(ordinal, token, from + bytes, &why);
	const char *at;
	int error;

	if (!slice)
		return why;
	ww_mpi_cuda_of(ordinal, &memory);
	at = (const char *)ww_memory_pointer(slice) + from;
	if (buffer->memory.is_device && !buffer->is_one) {
		struct ww_mpi_block *block = ww_mpi_block_take((size_t)bytes, (size_t)bytes,
			&memory);
		struct ww_mpi_copies copies = {0};

		/* The slice is mapped for one device, and parts of the buffer may be on others. */
		if (!block) {
			error = WW_MPI_CUDA_NO_MEMORY;
		} else {
			ww_mpi_copies_add(&copies, block->at, at, (size_t)bytes, &memory);
			error = ww_mpi_copies_end(&copies);
			if (!error)
				error = ww_mpi_buffer_put(buffer, block->at, bytes, NULL);
			ww_mpi_block_give(block);
		}
	} else {
		error = ww_mpi_buffer_put(buffer, at, bytes, &memory);
	}
	ww_memory_unref(slice);
	if (!error)
		return NULL;
	ww_mpi_cuda_describe(error, text, text_bytes);
	return text;
}

int ww_mpi_direct_deliver(struct ww_mpi_buffer *buffer, const char *name,
	const struct ww_mpi_control *control, MPI_Status *status)
{
	bool is_cut = control->bytes > buffer->bytes;
	MPI_Count bytes = is_cut ? buffer->bytes : control->bytes;
	int ordinal = buffer->block ? buffer->memory.ordinal : ww_mpi_peer_ordinal();
	char text[200];
	const char *why = ww_mpi_direct_take(buffer, ordinal, &control->token, 0, bytes, text,
		sizeof(text));

	PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
	if (why)
		return ww_mpi_error(WW_MPI_REASON_PULL,
			"warpway: %s: cannot read the message of rank %d in its device memory: %s",
			name, status->MPI_SOURCE, why);
	atomic_fetch_add(&received, 1);
	atomic_fetch_add(&received_bytes, (unsigned long long)bytes);
	return is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

bool ww_mpi_direct_receive(struct ww_mpi_buffer *buffer, const char *name, MPI_Status *status,
	MPI_Count most, int *code)
{
	struct ww_mpi_control control;

	if (most != WW_MPI_CONTROL_BYTES || buffer->bytes < most || !ww_mpi_is_announced())
		return false;
	memset(&control, 0, sizeof(control));
	ww_mpi_buffer_peek(buffer, &control, most);
	if (!ww_mpi_direct_is_control(&control))
		return false;
	*code = ww_mpi_direct_deliver(buffer, name, &control, status);
	return true;
}

void ww_mpi_direct_volume_get(struct ww_mpi_direct_volume *out_volume)
{
	out_volume->sent = atomic_load(&sent);
	out_volume->sent_bytes = atomic_load(&sent_bytes);
	out_volume->received = atomic_load(&received);
	out_volume->received_bytes = atomic_load(&received_bytes);
	out_volume->refused = atomic_load(&refused);
}
