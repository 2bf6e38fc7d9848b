/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - what all members of a work queue do alike, see queue.h
 */
#include "queue/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "client/request.h"
#include "queue/notice.h"
#include "queue/peers.h"
#include "queue/rings.h"
#include "share/token_export.h"
#include "share/sync_object.h"
#include "sync/wait_result.h"
#include "wire/name.h"

#define INFO_V1_BYTES  sizeof(struct ww_work_queue_info)
#define FRAME_V1_BYTES sizeof(struct ww_work_frame)

#define REMOVE_NS UINT64_C(1000000000) /* for the broker's answer, when this member leaves */

/* --- making and leaving --- */

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

/* What the caller holds is given back. */
static void give_back_all(struct ww_work_queue *queue)
{
	for (uint32_t i = 0; queue->frames && i < queue->form.held_max; i++) {
		struct ww_queue_held *held = &queue->frames[i];

		if (held->ring)
			(void)ww_queue_claim_give_back(&held->ring->claims, held->slot,
				&held->claim, queue->form.attempts_max);
		held->ring = NULL;
	}
}

/* If its streams have yet to reach a value, others must still see its page. */
static bool has_work(const struct ww_work_queue *queue)
{
	struct ww_signal_look look;

	ww_signal_cell_look(queue->timeline->cell, &look);
	return look.reached < queue->value;
}

static void leave_consumers(struct ww_work_queue *queue)
{
	give_back_all(queue);
	if (!has_work(queue)) {
		ww_queue_remove_member(queue, "consumer", queue->member);
		if (queue->number != WW_QUEUE_NOBODY)
			(void)ww_queue_entry_replace(&queue->bell.consumers[queue->number],
				queue->member, 0);
	}
	ww_queue_bell_ring(&queue->bell);
}

static void leave_producers(struct ww_work_queue *queue)
{
	struct ww_queue_ring *own = ww_queue_own_ring(queue);
	struct ww_queue_counts counts = {0};

	ww_ring_close(&own->ring);
	ww_queue_ring_count(own, &counts);
	if (counts.available + counts.claimed + counts.failed == 0) {
		ww_queue_remove_member(queue, "producer", queue->member);
		for (uint32_t i = 0; i < queue->roster.count; i++)
			(void)ww_queue_entry_replace(&queue->roster.producers[i], queue->member, 0);
	}
	ww_queue_bell_ring(&queue->bell);
}

static void leave(struct ww_work_queue *queue)
{
	struct ww_error record;

	if (!queue->is_member)
		return;
	ww_error_save(&record);
	if (ww_queue_is_consumer(queue))
		leave_consumers(queue);
	else
		leave_producers(queue);
	ww_error_restore(&record);
}

void ww_queue_free(struct ww_work_queue *queue)
{
	struct ww_list *link;

	if (!queue)
		return;
	ww_queue_notice_end(queue);
	leave(queue);
	ww_timeline_drop(queue->timeline);
	while ((link = ww_list_take_first(&queue->rings)))
		ww_queue_ring_free(ww_queue_ring_of(link));
	ww_queue_peers_fini(queue);
	ww_queue_bell_fini(&queue->bell);
	ww_queue_roster_fini(&queue->roster);
	ww_attachments_fini(&queue->shared);
	ww_attachments_fini(&queue->object);
	ww_broker_unref(queue->broker);
	ww_device_unref(queue->device);
	free(queue->frames);
	free(queue->slots);
	free(queue);
}

ww_work_queue *ww_work_queue_ref(ww_work_queue *queue)
{
	if (queue)
		ww_ref_get(&queue->ref);
	return queue;
}

ww_work_queue *ww_work_queue_unref(ww_work_queue *queue)
{
	if (queue && ww_ref_put(&queue->ref)) {
		ww_queue_free(queue);
		ww_deferred_reclaim();
	}
	return NULL;
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
	struct ww_wire_remove message = {.flags = 0};
	WW_AUTO_REQUEST struct ww_request request;
	struct ww_error record;

	ww_error_save(&record);
	ww_request_init(&request, WW_WIRE_REMOVE, WW_WIRE_DONE, &message);
	request.limit_ns = ww_clock_deadline_ns(REMOVE_NS);
	ww_queue_member_name(queue, what, member, (char *)message.name);
	(void)ww_broker_client_ask(queue->broker, &request);
	ww_error_restore(&record);
}

bool ww_queue_is_gone(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_PEER_LOST;
}

bool ww_queue_is_forged(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH ||
		status == WW_ERR_DESCRIPTOR || status == WW_ERR_UNSUPPORTED ||
		status == WW_ERR_ACCESS || status == WW_ERR_STATE;
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
	ww_signal_cell_look(ring->cell, &look);
	return ww_wait_result_of(&look, ready);
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

ww_status ww_queue_check_frame(const struct ww_work_frame *frame, const char *call)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: ww_work_frame", call);
	return ww_params_check(frame, FRAME_V1_BYTES, name);
}

void ww_queue_fill_frame(const struct ww_work_queue *queue, const struct ww_queue_ring *ring,
	uint32_t slot, struct ww_work_frame *out_frame)
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

/* --- calls --- */

ww_status ww_work_queue_close(ww_work_queue *queue)
{
	ww_try(ww_process_enter());
	ww_require(queue, "ww_work_queue_close: queue is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	if (!queue->may_produce)
		return ww_fail(WW_ERR_ACCESS,
			"cannot close the work queue: this process opened it to consume; close it in the "
			"process that made it, or in a producer");
	ww_queue_roster_close(&queue->roster);
	ww_queue_bell_ring(&queue->bell);
	ww_queue_notice_set(queue);
	return WW_OK;
}

ww_status ww_work_queue_export(ww_work_queue *queue, uint32_t access,
	const struct ww_token_params *params, ww_cancel *cancel, struct ww_token *out_token)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_token_info info = {
		.struct_size = sizeof(info),
		.kind = WW_OBJECT_WORK_QUEUE,
		.access = access,
	};
	struct ww_escrow escrow;

	ww_try(ww_process_enter());
	ww_require(queue && out_token, "ww_work_queue_export: queue or out_token is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	if (access != WW_ACCESS_READ && access != WW_ACCESS_WRITE)
		return ww_fail(WW_ERR_INVALID,
			"a token of a work queue is for WW_ACCESS_READ or WW_ACCESS_WRITE, not %" PRIu32,
			access);
	ww_try(ww_sync_object_read_token(params, &escrow));
	if (!ww_hold_ref_find(&queue->object, queue->broker, info.object_id))
		return ww_fail(WW_ERR_NOT_FOUND, "the broker at %s has lost the work queue",
			queue->broker->address.path);
	info.total_bytes = queue->form.slot_bytes * queue->form.slot_count;
	info.bytes = info.total_bytes;
	return ww_export_object(queue->broker, &info, &escrow, out_token);
}

static uint32_t count_consumers(const struct ww_queue_bell *bell)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bell->count; i++)
		count += ww_queue_entry_look(&bell->consumers[i]) != 0;
	return count;
}

static void describe_frames(struct ww_work_queue *queue, struct ww_work_queue_info *info)
{
	struct ww_queue_counts counts = {0};

	ww_list_for_each (link, &queue->rings) {
		ww_queue_ring_count(ww_queue_ring_of(link), &counts);
		info->producers += ww_queue_is_consumer(queue);
	}
	info->available = counts.available;
	info->claimed = counts.claimed;
	info->failed = counts.failed;
	info->published = queue->published;
	info->dropped = queue->dropped;
	info->received = queue->received;
	info->lost = queue->lost;
	info->held = queue->held;
}

ww_status ww_work_queue_info_get(ww_work_queue *queue, struct ww_work_queue_info *info)
{
	struct ww_work_queue_info ours = {0};

	ww_try(ww_process_enter());
	ww_require(queue && info, "ww_work_queue_info_get: queue or info is NULL");
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	ours.role = queue->role;
	ours.is_closed = ww_queue_roster_is_closed(&queue->roster);
	ours.slots = queue->form.slot_count;
	ours.consumers = count_consumers(&queue->bell);
	ours.producers_max = queue->form.producers_max;
	ours.consumers_max = queue->form.consumers_max;
	ours.attempts_max = queue->form.attempts_max;
	ours.failed_max = queue->form.failed_max;
	ours.held_max = queue->form.held_max;
	ours.slot_bytes = queue->form.slot_bytes;
	ours.metadata_bytes = queue->form.metadata_bytes;
	memcpy(ours.metadata_type, queue->form.metadata_type, sizeof(ours.metadata_type));
	ours.has_array = queue->has_array;
	ours.array = queue->array;
	describe_frames(queue, &ours);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_work_queue_info");
}
