/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - what all members of a work queue do alike, see queue.h
 */
#include "queue/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "share/sync_object.h"
#include "wire/name.h"

/* --- making --- */

ww_status ww_queue_new(const struct ww_wire_work_queue_ref *form, uint32_t role, ww_device *device,
	struct ww_broker *broker, struct ww_work_queue **out_queue)
{
	struct ww_work_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a work queue: out of memory");
	queue->form = *form;
	queue->role = role;
	if (role == WW_WORK_QUEUE_PRODUCER)
		queue->slots = calloc(form->slot_count, sizeof(*queue->slots));
	if (ww_queue_is_consumer(queue))
		queue->frames = calloc(form->held_max, sizeof(*queue->frames));
	if (!queue->slots && !queue->frames && role != WW_WORK_QUEUE_KEEPER) {
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

ww_status ww_queue_enter(const struct ww_work_queue *queue, const struct ww_frame *frame,
	const char *action)
{
	ww_try(ww_process_enter());
	ww_require(queue && frame, "ww_work_queue_%s: queue or frame is NULL", action);
	ww_try(ww_ref_check(&queue->ref, "a work queue"));
	return ww_params_check(frame, sizeof(*frame), "ww_frame");
}

void ww_queue_place_frame(const struct ww_work_queue *queue, const struct ww_queue_ring *ring,
	uint32_t slot, struct ww_frame *frame)
{
	ww_frame_place(frame, &queue->frame_form, slot, ww_memory_pointer(ring->memory),
		ww_memory_host_pointer(ring->memory), ww_ring_metadata(&ring->ring, slot));
}

/* --- event loops --- */

void ww_queue_eventfd_set(struct ww_work_queue *queue)
{
	bool is_full;

	if (!queue->eventfd)
		return;
	ww_eventfd_pause(queue->eventfd);
	queue->armed_ns = ww_clock_now_ns();
	if (ww_queue_is_consumer(queue))
		is_full = queue->held >= queue->form.held_max;
	else
		is_full = queue->held >= queue->form.slot_count &&
			!ww_queue_roster_is_closed(&queue->roster);
	if (is_full) /* a call would fail with WW_ERR_STATE until the caller gives one back */
		ww_eventfd_say(queue->eventfd, false);
	else
		ww_eventfd_arm(queue->eventfd);
}
