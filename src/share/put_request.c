/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put_request.c - an object as it is handed to a broker, see put_request.h
 *
 * When the quota has no room and there is time, room is reserved, in turn with all other processes
 * of the user, and then used by the next put of this process. So one thread of a process waits at a
 * time. The room may be lost again: another thread may put something first, or the broker be
 * restarted. Then all begins anew.
 */
#include "share/put_request.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "share/object_info.h"
#include "share/hold_ref.h"
#include "device/handle_page.h"

/* The page is written by a layer that knows no protocol. */
#define SAME_PLACE(field)                                                 \
	_Static_assert(offsetof(struct ww_foreign_record, field) ==       \
			offsetof(struct ww_layout_foreign_memory, field), \
		#field)
SAME_PLACE(version);
SAME_PLACE(backing);
SAME_PLACE(pid);
SAME_PLACE(withdrawn);
SAME_PLACE(is_locked);
SAME_PLACE(bytes);
SAME_PLACE(base);
SAME_PLACE(buffer_id);
SAME_PLACE(process_id);
SAME_PLACE(pool_id);
SAME_PLACE(handle);
_Static_assert(sizeof(struct ww_foreign_record) == sizeof(struct ww_layout_foreign_memory), "size");

#define ATTEMPTS 16

ww_status ww_put_request_add(struct ww_put_request *request, struct ww_mapping *mapping,
	uint32_t access, uint8_t whom)
{
	ww_try(ww_mapping_export(mapping, access, &request->fds[request->fd_count]));
	request->put.fd_access[request->fd_count++] = whom;
	return WW_OK;
}

ww_status ww_put_request_add_file(struct ww_put_request *request, struct ww_mapping *mapping,
	uint32_t access, uint8_t whom)
{
	ww_try(ww_put_request_add(request, mapping, access, whom));
	request->host_bytes += mapping->bytes;
	return WW_OK;
}

static ww_status add_foreign(struct ww_put_request *request, struct ww_mapping *mapping)
{
	const uint8_t all = WW_PUT_TO_READERS | WW_PUT_TO_WRITERS;

	ww_try(ww_put_request_add(request, mapping, WW_ACCESS_READ, all));
	if (mapping->backing != WW_BACKING_CUDA_POOL)
		return WW_OK;
	ww_try(ww_mapping_export_pool(mapping, &request->fds[request->fd_count]));
	request->put.fd_access[request->fd_count++] = all;
	return WW_OK;
}

static ww_status add_fds(struct ww_put_request *request, struct ww_mapping *mapping,
	bool has_writers)
{
	if (ww_backing_is_foreign(mapping->backing))
		return add_foreign(request, mapping);
	if (!has_writers)
		return ww_put_request_add(request, mapping, WW_ACCESS_READ, WW_PUT_TO_READERS);
	if (mapping->backing != WW_BACKING_MEMFD)
		return ww_put_request_add(request, mapping, WW_ACCESS_WRITE,
			WW_PUT_TO_READERS | WW_PUT_TO_WRITERS);
	ww_try(ww_put_request_add(request, mapping, WW_ACCESS_WRITE, WW_PUT_TO_WRITERS));
	return ww_put_request_add(request, mapping, WW_ACCESS_READ, WW_PUT_TO_READERS);
}

static void describe(struct ww_put_request *request, struct ww_description *description,
	uint32_t state, const struct ww_array *array)
{
	struct ww_wire_put *put = &request->put;

	put->kind = WW_WIRE_KIND_MEMORY;
	put->state = (uint8_t)state;
	put->bytes = description->bytes;
	memcpy(put->id, description->object_id, sizeof(put->id));
	memcpy(put->home_uuid, description->home_uuid, sizeof(put->home_uuid));
	description->access = state != WW_STATE_SEALED ? WW_ACCESS_WRITE : WW_ACCESS_READ;
	put->description_bytes = ww_object_description_encode(description, array, put->description);
}

ww_status ww_put_request_init_further(struct ww_put_request *request,
	const struct ww_memory *memory, uint32_t state, const struct ww_array *array)
{
	struct ww_description description;

	memset(request, 0, sizeof(*request));
	ww_try(ww_memory_describe(memory, &description));
	describe(request, &description, state, array);
	request->put.flags = WW_WIRE_PUT_FLAG_FURTHER;
	return WW_OK;
}

ww_status ww_put_request_init(struct ww_put_request *request, struct ww_memory *memory,
	uint32_t state, const struct ww_array *array)
{
	bool has_writers = state != WW_STATE_SEALED;
	struct ww_description description;

	memset(request, 0, sizeof(*request));
	ww_try(ww_memory_describe(memory, &description));
	/* What was made read-only here when it was sealed can be put as sealed again. */
	if ((has_writers ? ww_memory_access(memory) : memory->access) < WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_ACCESS,
			"cannot put a memory into a broker that is mapped read-only here; let its maker put it, "
			"as sealed if that has made it read-only");
	describe(request, &description, state, array);
	if (description.backing == WW_BACKING_MEMFD)
		request->host_bytes = description.bytes;
	else if (ww_backing_is_foreign(description.backing))
		request->host_bytes = WW_HANDLE_PAGE_BYTES;
	return add_fds(request, memory->mapping, has_writers);
}

void ww_put_request_fini(struct ww_put_request *request)
{
	while (request->fd_count > 0)
		ww_fd_close(request->fds[--request->fd_count]);
}

/* One attempt. */
static ww_status put_once(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint64_t limit_ns)
{
	WW_AUTO_HOLD_REF struct ww_hold_ref *hold_ref = NULL;
	WW_AUTO_REQUEST struct ww_request ask;

	ww_request_init(&ask, WW_WIRE_PUT, WW_WIRE_DONE, &request->put);
	ask.fds = request->fds;
	ask.fd_count = request->fd_count;
	ask.id = request->put.id;
	ask.limit_ns = limit_ns;
	ww_try(ww_hold_ref_new(broker, &hold_ref));
	ww_try(ww_request_expect_hold(&ask));
	ww_try(ww_broker_client_ask(broker, &ask));
	ww_hold_ref_attach(ww_steal(hold_ref), thing, request->put.id);
	ww_hold_ref_note_state(thing, broker, request->put.state);
	return WW_OK;
}

static ww_status reserve(const struct ww_put_request *request, struct ww_broker *broker,
	uint64_t deadline_ns)
{
	const struct ww_wire_reserve message = {
		.bytes = request->put.bytes,
		.host_bytes = request->host_bytes,
		.fd_count = (uint32_t)request->fd_count,
	};
	WW_AUTO_REQUEST struct ww_request ask;

	ww_request_init(&ask, WW_WIRE_RESERVE, WW_WIRE_DONE, &message);
	ask.waits = true;
	ask.limit_ns = deadline_ns;
	return ww_broker_client_ask(broker, &ask);
}

static ww_status put_in_turn(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint64_t deadline_ns)
{
	ww_status status = WW_ERR_QUOTA;

	for (int i = 0; i < ATTEMPTS && status == WW_ERR_QUOTA; i++) {
		status = reserve(request, broker, deadline_ns);
		/*
		 * State: one is left from a put that failed for another reason; the next one uses
		 * it.
		 */
		if (status != WW_OK && status != WW_ERR_STATE)
			return status;
		status = put_once(request, thing, broker, deadline_ns);
		if (status == WW_ERR_QUOTA && ww_clock_now_ns() >= deadline_ns)
			return WW_TIMED_OUT;
	}
	return status;
}

ww_status ww_put_request_put(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker, uint64_t timeout_ns)
{
	uint64_t deadline_ns = timeout_ns ? ww_clock_deadline_ns(timeout_ns) : WW_NEVER;
	ww_status status = put_once(request, thing, broker, deadline_ns);

	if (status != WW_ERR_QUOTA || timeout_ns == 0)
		return status;
	status = ww_broker_client_begin_turn(broker, deadline_ns);
	if (status != WW_OK)
		return status;
	status = put_in_turn(request, thing, broker, deadline_ns);
	ww_broker_client_end_turn(broker);
	return status;
}

/* --- an object without a name --- */

/* What another thread put is held all the same, by one count more. */
static ww_status hold_again(const struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker)
{
	WW_AUTO_HOLD_REF struct ww_hold_ref *hold_ref = NULL;

	ww_try(ww_hold_ref_new(broker, &hold_ref));
	if (!ww_broker_client_hold_again(broker, request->put.id))
		return WW_ERR_EXISTS; /* as it was recorded */
	ww_hold_ref_attach(ww_steal(hold_ref), thing, request->put.id);
	return WW_OK;
}

ww_status ww_put_request_put_unnamed(struct ww_put_request *request, struct ww_attachments *thing,
	struct ww_broker *broker)
{
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	status = ww_put_request_put(request, thing, broker, 0);
	if (status == WW_ERR_EXISTS) {
		status = hold_again(request, thing, broker);
		if (status == WW_OK)
			ww_error_restore(&record);
	}
	return status;
}
