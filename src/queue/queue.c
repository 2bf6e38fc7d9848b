/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - what all members of a work queue do alike, see queue.h
 */
#include "queue/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "share/sync_object.h"
#include "sync/wait_result.h"
#include "wire/name.h"

/* --- making --- */

static bool alloc_parts(struct ww_work_queue *queue)
{
	if (queue->role == WW_WORK_QUEUE_PRODUCER)
		queue->slots = calloc(queue->form.slot_count, sizeof(*queue->slots));
	if (ww_queue_is_consumer(queue))
		queue->frames = calloc(queue->form.held_max, sizeof(*queue->frames));
	return queue->slots || queue->frames || queue->role == WW_WORK_QUEUE_KEEPER;
}

ww_status ww_queue_new(const struct ww_wire_work_queue_ref *form, uint32_t role, ww_device *device,
	struct ww_broker *broker, struct ww_work_queue **out_queue)
{
	struct ww_work_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a work queue: out of memory");
	queue->form = *form;
	queue->role = role;
	if (!alloc_parts(queue)) {
		free(queue);
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a work queue: out of memory");
	}
	ww_ref_init(&queue->ref);
	ww_list_init(&queue->rings);
	queue->device = ww_device_ref(device);
	queue->broker = ww_broker_ref(broker);
	*out_queue = queue;
	return WW_OK;
}

/* --- names --- */

void ww_queue_name(const struct ww_work_queue *queue, const char *what,
	char out[WW_QUEUE_NAME_BYTES])
{
	ww_name_begin_inside(queue->form.queue_id, out);
	snprintf(out + WW_NAME_INSIDE_CHARS, WW_QUEUE_NAME_BYTES - WW_NAME_INSIDE_CHARS, "%s",
		what);
}

void ww_queue_member_name(const struct ww_work_queue *queue, const char *what, uint64_t member,
	char out[WW_QUEUE_NAME_BYTES])
{
	char name[WW_QUEUE_NAME_BYTES - WW_NAME_INSIDE_CHARS];

	snprintf(name, sizeof(name), "%s-%016" PRIx64, what, member);
	ww_queue_name(queue, name, out);
}

void ww_queue_remove_member(const struct ww_work_queue *queue, const char *what, uint64_t member)
{
	char name[WW_QUEUE_NAME_BYTES];

	ww_queue_member_name(queue, what, member, name);
	(void)ww_group_take_out(queue->broker, name, NULL);
}

/* --- steps --- */

ww_status ww_queue_signal(struct ww_work_queue *queue, ww_stream *stream, uint64_t *out_value)
{
	*out_value = 0;
	if (!stream)
		return WW_OK;
	ww_try(ww_timeline_stream_signal(queue->timeline, stream, queue->value + 1));
	*out_value = ++queue->value;
	return WW_OK;
}

ww_status ww_queue_look_at_work(const struct ww_queue_ring *ring, uint64_t ready)
{
	struct ww_signal_look look;

	if (ready == 0)
		return WW_OK;
	ww_signal_cell_look(ring->member.cell, &look);
	return ww_wait_result_of(&look, ready);
}

bool ww_queue_give_back(struct ww_work_queue *queue, struct ww_queue_ring *ring, uint32_t slot,
	const struct ww_queue_claim *seen)
{
	uint32_t attempts_max = queue->form.attempts_max;

	if (!ww_queue_claim_give_back(&ring->claims, slot, seen, attempts_max))
		return false;
	if (seen->attempts == WW_QUEUE_ATTEMPTS_END)
		ww_queue_bell_count(&queue->bell.header->dropped);
	else if (seen->attempts == attempts_max) /* with more it had failed before */
		ww_queue_bell_count(&queue->bell.header->failed);
	return true;
}

ww_status ww_queue_require_known(const struct ww_work_queue *queue, const char *action)
{
	if (__atomic_load_n(&queue->timeline->page->header->lost, __ATOMIC_ACQUIRE))
		return ww_fail(WW_ERR_PEER_LOST,
			"cannot %s a frame: the connection to the broker broke, which has told the "
			"others that this process ended; open the work queue anew",
			action);
	return WW_OK;
}

uint64_t ww_queue_next_look_ns(uint64_t deadline_ns)
{
	uint64_t look_ns = ww_clock_deadline_ns(WW_QUEUE_LOOK_NS);

	return look_ns < deadline_ns ? look_ns : deadline_ns;
}

ww_status ww_queue_check_frame(const struct ww_frame *frame)
{
	return ww_params_check(frame, sizeof(*frame), "ww_frame");
}

void ww_queue_fill_frame(const struct ww_work_queue *queue, const struct ww_queue_ring *ring,
	uint32_t slot, struct ww_frame *out_frame)
{
	uint64_t offset = slot * queue->form.slot_bytes;
	char *pointer = ww_memory_pointer(ring->memory);
	char *host_pointer = ww_memory_host_pointer(ring->memory);
	uint32_t struct_size = out_frame->struct_size;

	memset(out_frame, 0, sizeof(*out_frame));
	out_frame->struct_size = struct_size;
	out_frame->slot = slot;
	out_frame->pointer = pointer + offset;
	out_frame->host_pointer = host_pointer ? host_pointer + offset : NULL;
	out_frame->metadata = queue->form.metadata_bytes ? ww_ring_metadata(&ring->ring, slot)
							 : NULL;
	out_frame->capacity = queue->form.slot_bytes;
}
