/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.c - a producer of a work queue: it takes slots whose frames are done, and publishes
 * frames
 *
 * A slot is free, held by the caller, or has a frame that was published, and then a claim. Work of
 * our own streams may still use a slot that is free, until `ready` of our timeline: the stream that
 * gets the slot waits for that, or the CPU does. For consumers the CPU waits.
 *
 * The ring says whether slots are held: a queue that was closed ends when no producer holds any.
 */
#include <inttypes.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/stream.h"
#include "queue/claimants.h"
#include "queue/rings.h"
#include "sync/stream_wait.h"
#include "sync/wait_result.h"

/* --- slots whose frames are done --- */

/* A claim that is not of our frame is a hostile one: no process needs the slot then. */
static bool is_needed(const struct ww_queue_slot *slot, const struct ww_queue_claim *claim)
{
	return claim->frame == slot->frame && claim->state >= WW_WIRE_WORK_STATE_AVAILABLE &&
		claim->state <= WW_WIRE_WORK_STATE_FAILED;
}

/* Drops the oldest of the failed frames that are more than are kept. */
static void drop_failed(struct ww_work_queue *queue, struct ww_queue_ring *own)
{
	struct ww_queue_counts counts = {0};
	struct ww_queue_claim claim;
	uint32_t slot;

	ww_queue_ring_count(own, &counts);
	while (counts.failed > queue->form.failed_max &&
		ww_queue_claims_find(&own->claims, WW_WIRE_WORK_STATE_FAILED, queue->published,
			&slot, &claim)) {
		if (ww_queue_claim_end(&own->claims, slot, &claim)) {
			queue->dropped++;
			ww_queue_bell_count(&queue->bell.header->dropped);
		}
		counts.failed--;
	}
}

static void collect(struct ww_work_queue *queue, struct ww_queue_ring *own)
{
	ww_queue_recover(queue, own);
	drop_failed(queue, own);
	for (uint32_t i = 0; i < queue->form.slot_count; i++) {
		struct ww_queue_claim claim = ww_queue_claim_look(&own->claims, i);

		if (queue->slots[i].frame && !is_needed(&queue->slots[i], &claim))
			queue->slots[i].frame = 0;
	}
}

/* Free slots are used in turn, so that one that was just discarded comes last. */
static bool find_free(const struct ww_work_queue *queue, uint32_t *out_slot)
{
	uint32_t count = queue->form.slot_count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t slot = (uint32_t)((queue->published + i) % count);

		if (!queue->slots[slot].is_held && queue->slots[slot].frame == 0) {
			*out_slot = slot;
			return true;
		}
	}
	return false;
}

/* --- acquire --- */

/* What an acquire wants, and what it waits for. */
struct acquiring {
	struct ww_work_queue *queue;
	ww_stream *stream;
	uint64_t own_value; /* of the own timeline; 0: for consumers */
};

/* Our own streams' work on the slot is waited for. Return: WW_OK; WW_NOT_READY. */
static ww_status order_slot(struct acquiring *acquiring, uint32_t slot)
{
	struct ww_work_queue *queue = acquiring->queue;
	uint64_t ready = queue->slots[slot].ready;

	if (ready <= ww_timeline_reached(queue->timeline))
		return WW_OK;
	if (acquiring->stream)
		return ww_stream_wait_enqueue(acquiring->stream, queue->timeline->page,
			queue->timeline->offset, ready, false);
	acquiring->own_value = ready;
	return WW_NOT_READY;
}

/* After a frame was published, or a slot is discarded. */
static void release_slot(struct ww_work_queue *queue)
{
	queue->held--;
	if (queue->held > 0)
		return;
	ww_queue_ring_say_slots(ww_queue_own_ring(queue), WW_WIRE_WORK_SLOTS_NONE);
	if (ww_queue_roster_is_closed(&queue->roster))
		ww_queue_bell_ring(&queue->bell);
}

/* Return: WW_OK; WW_END. */
static ww_status hold_slot(struct ww_work_queue *queue, uint32_t slot)
{
	queue->held++;
	if (queue->held == 1) {
		ww_queue_ring_say_slots(ww_queue_own_ring(queue), WW_WIRE_WORK_SLOTS_HELD);
		if (ww_queue_roster_is_closed(&queue->roster)) {
			release_slot(queue);
			return WW_END;
		}
	}
	queue->slots[slot].is_held = true;
	return WW_OK;
}

static ww_status try_acquire(struct acquiring *acquiring, uint32_t *out_slot)
{
	struct ww_work_queue *queue = acquiring->queue;
	ww_status status;

	if (!find_free(queue, out_slot)) {
		collect(queue, ww_queue_own_ring(queue));
		if (!find_free(queue, out_slot))
			return WW_NOT_READY;
	}
	status = order_slot(acquiring, *out_slot);
	return status == WW_OK ? hold_slot(queue, *out_slot) : status;
}

/* A claim that is finishing becomes done when a member reads it: this producer, if it waits. */
static enum ww_await_look look_for_slot(void *context)
{
	const struct acquiring *acquiring = context;
	struct ww_work_queue *queue = acquiring->queue;
	const struct ww_queue_ring *own = ww_queue_own_ring(queue);
	enum ww_await_look result = WW_AWAIT_SLEEP;

	for (uint32_t i = 0; i < queue->form.slot_count; i++) {
		struct ww_queue_claim claim = ww_queue_claim_look(&own->claims, i);

		if (queue->slots[i].is_held)
			continue;
		if (!is_needed(&queue->slots[i], &claim))
			return WW_AWAIT_DONE;
		if (claim.state != WW_WIRE_WORK_STATE_FINISHING)
			continue;
		if (ww_queue_claimant_look(queue, own, i, &claim, false) != WW_CLAIMANT_WORKS)
			return WW_AWAIT_DONE;
		result = WW_AWAIT_POLL;
	}
	return ww_queue_roster_is_closed(&queue->roster) ? WW_AWAIT_DONE : result;
}

/* Waits for what the attempt waits for, or until it is time to look at everything again. */
static ww_status wait_for_slot(struct acquiring *acquiring, uint64_t deadline_ns)
{
	struct ww_work_queue *queue = acquiring->queue;
	struct ww_queue_ring *own = ww_queue_own_ring(queue);
	uint32_t *is_asleep = &own->ring.header->is_asleep;
	uint64_t until_ns = ww_clock_sooner_ns(WW_QUEUE_LOOK_NS, deadline_ns);
	ww_status status = WW_OK;

	if (acquiring->own_value) {
		status = ww_timeline_wait(queue->timeline, acquiring->own_value,
			ww_clock_left_ns(until_ns), NULL);
	} else if (!ww_await_spin(look_for_slot, acquiring, until_ns)) {
		__atomic_store_n(is_asleep, 1, __ATOMIC_SEQ_CST);
		status = ww_await(&own->claims.header->wakes, look_for_slot, acquiring, until_ns);
		__atomic_store_n(is_asleep, 0, __ATOMIC_RELAXED);
	}
	if (status == WW_OK && ww_clock_now_ns() >= deadline_ns)
		return WW_TIMED_OUT; /* whatever consumers do meanwhile */
	if (status == WW_OK && ww_cancel_is_pending())
		return WW_CANCELLED;
	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

static ww_status fail_timed_out(const struct ww_work_queue *queue)
{
	struct ww_queue_counts counts = {0};

	ww_queue_ring_count(ww_queue_own_ring(queue), &counts);
	ww_fail(WW_TIMED_OUT,
		"no slot is free: of %" PRIu32 ", %" PRIu32
		" have frames that wait for a consumer, %" PRIu32
		" have frames that consumers work on, %" PRIu32 " have failed frames",
		queue->form.slot_count, counts.available, counts.claimed, counts.failed);
	return WW_TIMED_OUT;
}

static ww_status acquire(struct acquiring *acquiring, uint64_t timeout_ns, uint32_t *out_slot)
{
	const struct ww_work_queue *queue = acquiring->queue;
	uint64_t deadline_ns = ww_clock_deadline_ns(timeout_ns);

	for (;;) {
		ww_status status;

		ww_try(ww_frame_require_known(queue->timeline, &queue->frame_form, "acquire"));
		if (ww_queue_roster_is_closed(&queue->roster))
			return WW_END;
		if (queue->held >= queue->form.slot_count)
			return ww_fail(WW_ERR_STATE,
				"cannot acquire a slot: this producer holds all %" PRIu32
				" of them already; publish or discard one",
				queue->form.slot_count);
		acquiring->own_value = 0;
		status = try_acquire(acquiring, out_slot);
		if (status != WW_NOT_READY)
			return status;
		status = wait_for_slot(acquiring, deadline_ns);
		if (status == WW_TIMED_OUT)
			return fail_timed_out(queue);
		if (status != WW_OK)
			return status;
	}
}

static ww_status enter(const struct ww_work_queue *queue, const struct ww_frame *frame,
	const char *action)
{
	ww_try(ww_queue_enter(queue, frame, action));
	if (queue->role == WW_WORK_QUEUE_PRODUCER)
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot %s a frame: the work queue was not opened with WW_WORK_QUEUE_PRODUCER",
		action);
}

ww_status ww_work_queue_acquire(ww_work_queue *queue, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct acquiring acquiring = {.queue = queue, .stream = stream};
	uint32_t slot;
	ww_status status;

	ww_try(enter(queue, out_frame, "acquire"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_eventfd_pause(queue->eventfd);
	status = acquire(&acquiring, timeout_ns, &slot);
	ww_queue_eventfd_set(queue);
	if (status != WW_OK)
		return status;
	ww_queue_place_frame(queue, ww_queue_own_ring(queue), slot, out_frame);
	ww_frame_begin(out_frame, &queue->frame_form);
	return WW_OK;
}

/* --- as the thread of eventfds looks --- */

enum ww_await_look ww_queue_producer_look(struct ww_work_queue *queue)
{
	const struct ww_queue_ring *own = ww_queue_own_ring(queue);
	struct acquiring acquiring = {.queue = queue};
	struct ww_queue_counts counts = {0};
	uint32_t slot;

	if (ww_signal_page_is_lost(queue->timeline->page->header) ||
		ww_queue_roster_is_closed(&queue->roster))
		return WW_AWAIT_DONE;
	if (find_free(queue, &slot))
		return ww_frame_await(queue->timeline->cell, queue->slots[slot].ready);
	ww_queue_ring_count(own, &counts);
	if (counts.failed > queue->form.failed_max || ww_queue_may_recover(queue, own))
		return WW_AWAIT_DONE;
	return look_for_slot(&acquiring);
}

/* --- publish --- */

static bool holds(const struct ww_work_queue *queue, const struct ww_frame *frame)
{
	return frame->slot < queue->form.slot_count && queue->slots[frame->slot].is_held;
}

ww_status ww_work_queue_publish(ww_work_queue *queue, struct ww_frame *frame, ww_stream *stream)
{
	struct ww_queue_slot *slot;
	struct ww_queue_ring *own;
	uint64_t value;
	uint64_t *total;

	ww_try(enter(queue, frame, "publish"));
	if (!holds(queue, frame))
		return ww_frame_fail_slot(frame);
	ww_try(ww_frame_check(frame, &queue->frame_form));
	ww_try(ww_frame_require_known(queue->timeline, &queue->frame_form, "publish"));
	ww_try(ww_frame_signal(queue->timeline, stream, &queue->value, &value));
	ww_eventfd_pause(queue->eventfd);
	own = ww_queue_own_ring(queue);
	slot = &queue->slots[frame->slot];
	total = &queue->roster.totals[queue->number].published;
	frame->number = ++queue->published;
	ww_queue_total_set(total, ww_queue_total(total) + 1);
	frame->submitted_ns = ww_clock_now_ns();
	*slot = (struct ww_queue_slot){.frame = frame->number, .ready = value};
	ww_frame_write(frame, value, ww_ring_slot(&own->ring, frame->slot));
	ww_queue_claim_offer(&own->claims, frame->slot, frame->number);
	ww_ring_publish(&own->ring, frame->slot, frame->number, frame->submitted_ns);
	release_slot(queue);
	ww_queue_bell_ring(&queue->bell);
	ww_queue_eventfd_set(queue);
	return WW_OK;
}

ww_status ww_work_queue_discard(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream)
{
	uint64_t value;

	ww_try(enter(queue, frame, "discard"));
	if (!holds(queue, frame))
		return ww_frame_fail_slot(frame);
	ww_try(ww_frame_signal(queue->timeline, stream, &queue->value, &value));
	ww_eventfd_pause(queue->eventfd);
	if (value) /* else earlier work of ours may still use it */
		queue->slots[frame->slot].ready = value;
	queue->slots[frame->slot].is_held = false;
	release_slot(queue);
	ww_queue_eventfd_set(queue);
	return WW_OK;
}
