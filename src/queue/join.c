/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c - becoming a member of a work queue, see join.h
 *
 * A member puts an object inside the queue's, under a name that no other one ever has, then takes
 * an entry, of the roster or of the bell, and then has the object stay when the member ends: a
 * consumer's for as long as claims may be its own, a producer's for as long as its frames are
 * there. A member that is killed before that leaves no object, since nobody would find it: only an
 * entry, which the next one takes over. For the same reason an object is removed before its entry
 * is given to another member. A process can remove only members of its own user, unless it made the
 * queue: the object of another user's dead member can stay until the queue ends.
 */
#include "queue/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/request.h"
#include "memory/description.h"
#include "queue/claimants.h"
#include "queue/rings.h"
#include "share/put_request.h"
#include "share/sync_object.h"

#define STAYS_LATER 8 /* version of the protocol from which on an object can be made to stay */

/* --- the own object --- */

/* A page for others to read; the object is unnamed yet. */
static ww_status begin_request(struct ww_put_request *request, const struct ww_work_queue *queue,
	const char *what)
{
	struct ww_signal_map *page = queue->timeline->page;

	ww_sync_object_request_init(request, WW_OBJECT_WORK_QUEUE, page->id, NULL);
	request->put.state = WW_STATE_SHARED;
	request->put.mode = WW_QUEUE_MEMBER_MODE;
	if (ww_broker_client_version(queue->broker) < STAYS_LATER)
		request->put.flags = WW_WIRE_PUT_FLAG_STAYS;
	ww_queue_member_name(queue, what, queue->member, (char *)request->put.name);
	ww_try(ww_sync_object_add_page(request, page));
	ww_sync_object_write_timeline(page, 0, request->put.description);
	request->put.description_bytes = WW_TIMELINE_REF_BYTES;
	return WW_OK;
}

static ww_status add_memory(struct ww_put_request *request, struct ww_memory *memory)
{
	struct ww_memory_description bytes;
	struct ww_description description;

	ww_try(ww_memory_describe(memory, &description));
	description.access = WW_ACCESS_READ;
	ww_description_encode(&description, &bytes);
	memcpy(request->put.description + WW_TIMELINE_REF_BYTES, &bytes, sizeof(bytes));
	request->put.description_bytes = WW_QUEUE_PRODUCER_BYTES;
	memcpy(request->put.home_uuid, description.home_uuid, sizeof(request->put.home_uuid));
	request->put.bytes += memory->mapping->bytes;
	if (memory->mapping->backing == WW_BACKING_MEMFD)
		return ww_put_request_add_file(request, memory->mapping, WW_ACCESS_READ,
			WW_PUT_TO_READERS);
	return ww_put_request_add(request, memory->mapping, WW_ACCESS_READ, WW_PUT_TO_READERS);
}

static ww_status make_timeline(struct ww_work_queue *queue)
{
	ww_try(ww_timeline_create_alone(&queue->timeline));
	queue->member = ww_queue_entry_of(queue->timeline->page->id);
	return WW_OK;
}

/*
 * This member has its entry, so others find its object: from now on it stays. With an older broker
 * it does from the beginning.
 */
static ww_status say_stays(const struct ww_work_queue *queue, const struct ww_put_request *put)
{
	struct ww_wire_seal message = {
		.state = WW_WIRE_STATE_SHARED,
		.flags = WW_WIRE_SEAL_FLAG_STAYS,
	};
	WW_AUTO_REQUEST struct ww_request request;

	ww_request_init(&request, WW_WIRE_SEAL, WW_WIRE_DONE, &message);
	if (put->put.flags & WW_WIRE_PUT_FLAG_STAYS)
		return WW_OK;
	memcpy(message.id, queue->timeline->page->id, sizeof(message.id));
	ww_try(ww_broker_client_ask(queue->broker, &request));
	if (request.version >= STAYS_LATER)
		return WW_OK;
	return ww_fail(WW_ERR_VERSION,
		"cannot join the work queue: the broker at %s was replaced by an older one "
		"meanwhile; join again",
		queue->broker->address.path);
}

/* --- producer --- */

static ww_status make_ring(struct ww_work_queue *queue, struct ww_queue_ring *ring)
{
	const struct ww_ring_size size = ww_queue_ring_size(queue);
	const struct ww_memory_params bytes = {
		.struct_size = sizeof(bytes),
		.kind = queue->form.kind,
		.bytes = queue->form.slot_bytes * queue->form.slot_count,
	};

	memcpy(ring->member.id, queue->timeline->page->id, sizeof(ring->member.id));
	ring->member.cell = queue->timeline->cell;
	ww_try(ww_ring_create(&ring->ring, ring->member.id, &size));
	ww_queue_ring_say_slots(ring, WW_WIRE_WORK_SLOTS_NONE);
	ww_try(ww_queue_claims_create(&ring->claims, ring->member.id, queue->form.slot_count));
	return ww_memory_create(queue->device, &bytes, &ring->memory);
}

/*
 * A consumer that finds the queue closed looks at the count then; so either it sees this producer
 * come, or this one sees that the queue is closed, and leaves.
 */
static ww_status check_open(const struct ww_work_queue *queue)
{
	if (ww_queue_roster_is_closed(&queue->roster))
		return ww_fail(WW_ERR_STATE,
			"cannot produce: the work queue was shut down, and takes no work any more");
	return WW_OK;
}

static ww_status join_producers(struct ww_work_queue *queue)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	struct ww_queue_ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a work queue: out of memory");
	ww_list_append(&queue->rings, &ring->member.link);
	ww_try(check_open(queue));
	ww_try(make_timeline(queue));
	ww_try(make_ring(queue, ring));
	ww_try(begin_request(&request, queue, "producer"));
	ww_try(ww_put_request_add_file(&request, ring->ring.mapping, WW_ACCESS_READ,
		WW_PUT_TO_READERS));
	ww_try(ww_put_request_add_file(&request, ring->claims.mapping, WW_ACCESS_WRITE,
		WW_PUT_TO_READERS));
	request.put.bytes += ring->ring.mapping->bytes + ring->claims.mapping->bytes;
	ww_try(add_memory(&request, ring->memory));
	ww_try(ww_put_request_put(&request, &queue->timeline->attachments, queue->broker, 0));
	queue->is_member = true;
	ww_try(ww_queue_enter_roster(queue));
	ww_try(say_stays(queue, &request));
	ww_queue_roster_count(&queue->roster); /* it has joined */
	ww_queue_bell_ring(&queue->bell);
	return check_open(queue);
}

/* --- consumer --- */

static ww_status join_consumers(struct ww_work_queue *queue)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	queue->number = WW_QUEUE_NOBODY;
	ww_try(make_timeline(queue));
	ww_try(begin_request(&request, queue, "consumer"));
	ww_try(ww_put_request_put(&request, &queue->timeline->attachments, queue->broker, 0));
	queue->is_member = true;
	ww_try(ww_queue_enter_bell(queue));
	return say_stays(queue, &request);
}

ww_status ww_queue_join(struct ww_work_queue *queue)
{
	switch (queue->role) {
	case WW_WORK_QUEUE_PRODUCER:
		return join_producers(queue);
	case WW_WORK_QUEUE_CONSUMER:
	case WW_WORK_QUEUE_FAILED:
		return join_consumers(queue);
	default:
		return WW_OK;
	}
}
