/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a consumer of a work queue: it claims frames, and acknowledges or rejects them
 *
 * It looks at the rings in turn, beginning behind the one that the last frame was from, and claims
 * the oldest frame of a ring (shared.h). What a ring says of a frame comes from another process,
 * and is checked. A frame that is not complete is claimed only if a stream waits for it on the GPU;
 * until then the ring has no frame for this consumer.
 */
#include <inttypes.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "device/stream.h"
#include "queue/claimants.h"
#include "queue/rings.h"
#include "sync/stream_wait.h"

#define ROUNDS 8 /* attempts at frames that others claim first, before the caller waits */

struct receiving {
	struct ww_work_queue *queue;
	ww_stream *stream;
	struct ww_queue_held found;
	struct ww_frame *frame; /* the caller's */
};

/* The oldest frame of a ring; published is loaded first. */
static bool find_frame(const struct ww_work_queue *queue, struct ww_queue_ring *ring,
	struct ww_queue_held *out_found)
{
	uint64_t published = ww_ring_published(&ring->ring);
	uint32_t state = queue->role == WW_WORK_QUEUE_FAILED ? WW_WIRE_WORK_STATE_FAILED
							     : WW_WIRE_WORK_STATE_AVAILABLE;

	if (!ww_queue_claims_find(&ring->claims, state, published, &out_found->slot,
		    &out_found->claim))
		return false;
	out_found->ring = ring;
	out_found->ready = ww_ring_slot(&ring->ring, out_found->slot)->ready;
	return true;
}

/* Whether a frame may be claimed now: WW_OK; WW_NOT_READY; WW_ERR_PEER_LOST (never). */
static ww_status look_at_frame(const struct ww_queue_held *found, const ww_stream *stream)
{
	ww_status status = ww_frame_look(found->ring->member.cell, found->ready, false);

	return status == WW_NOT_READY && stream && found->ring->is_trusted ? WW_OK : status;
}

/* Tells the caller of the frame. */
static ww_status describe_frame(const struct receiving *receiving)
{
	const struct ww_queue_held *found = &receiving->found;
	const struct ww_ring *ring = &found->ring->ring;
	struct ww_frame *frame = receiving->frame;

	if (!ww_ring_has(ring, found->slot,
		    found->claim.frame)) /* any member may have written it */
		return ww_fail(WW_ERR_PROTOCOL,
			"a claim of the work queue names frame %" PRIu64
			", which is not in that slot, and was ended; a process that may read the queue is "
			"faulty or hostile",
			found->claim.frame);
	if (found->ready > WW_SIGNAL_VALUE_MAX ||
		!ww_frame_read(frame, &receiving->queue->frame_form,
			ww_ring_slot(ring, found->slot)))
		return ww_fail(WW_ERR_PROTOCOL,
			"the producer of frame %" PRIu64
			" describes it with impossible bytes, shape, metadata or completion; the frame was "
			"dropped",
			found->claim.frame);
	ww_queue_place_frame(receiving->queue, found->ring, found->slot, frame);
	frame->number = found->claim.frame;
	frame->producer = found->ring->number;
	frame->attempts = found->claim.attempts;
	return WW_OK;
}

static void wake_producer(struct ww_queue_ring *ring)
{
	if (__atomic_load_n(&ring->ring.header->is_asleep, __ATOMIC_SEQ_CST))
		ww_queue_claims_wake(&ring->claims);
}

/* A frame that no consumer gets. Return: whether it was this consumer that ended it. */
static bool end_frame(struct ww_work_queue *queue, struct ww_queue_held *held)
{
	if (!ww_queue_claim_end(&held->ring->claims, held->slot, &held->claim))
		return false;
	wake_producer(held->ring);
	/* It may have been the last frame. */
	if (ww_queue_roster_is_closed(&queue->roster) || ww_queue_ring_is_left(held->ring))
		ww_queue_bell_ring(&queue->bell);
	return true;
}

/* A frame that is not acknowledged. @total: of the bell, what it counts as */
static bool end_and_count(struct ww_work_queue *queue, struct ww_queue_held *held, uint64_t *total)
{
	bool has_ended = end_frame(queue, held);

	if (has_ended)
		ww_queue_bell_count(total);
	return has_ended;
}

/* A frame that never became complete. */
static bool end_lost_frame(struct ww_work_queue *queue, struct ww_queue_held *held)
{
	return end_and_count(queue, held, &queue->bell.header->lost);
}

static bool give_back(struct ww_work_queue *queue, struct ww_queue_held *held)
{
	if (!ww_queue_give_back(queue, held->ring, held->slot, &held->claim))
		return false;
	ww_queue_bell_ring(&queue->bell);
	return true;
}

/* The claimed frame is described, and ordered before the stream's further work. */
static ww_status open_frame(struct receiving *receiving)
{
	struct ww_queue_held *found = &receiving->found;
	ww_status status = describe_frame(receiving);

	if (status != WW_OK) {
		(void)end_and_count(receiving->queue, found,
			&receiving->queue->bell.header->dropped);
		return status;
	}
	if (ww_frame_look(found->ring->member.cell, found->ready, false) != WW_NOT_READY)
		return WW_OK;
	status = ww_stream_wait_enqueue(receiving->stream, found->ring->member.page,
		sizeof(struct ww_layout_signal_page), found->ready, false);
	if (status != WW_OK)
		(void)give_back(receiving->queue, found);
	return status;
}

static void keep_frame(struct ww_work_queue *queue, const struct ww_queue_held *found)
{
	uint32_t i = 0;

	while (queue->frames[i].ring)
		i++;
	queue->frames[i] = *found;
	queue->held++;
	queue->received++;
	if (found->claim.attempts > 1 && queue->role == WW_WORK_QUEUE_CONSUMER) {
		uint64_t *total = &queue->bell.totals[queue->number].repeated;

		ww_queue_total_set(total, ww_queue_total(total) + 1);
	}
	found->ring->held++;
	ww_list_remove(&found->ring->member.link); /* the others are first next time */
	ww_list_append(&queue->rings, &found->ring->member.link);
}

/* Return: WW_OK; WW_NOT_READY (it has no frame for us); as open_frame(). */
static ww_status try_ring(struct receiving *receiving, struct ww_queue_ring *ring)
{
	struct ww_work_queue *queue = receiving->queue;
	struct ww_queue_held *found = &receiving->found;

	for (int i = 0; i < ROUNDS && find_frame(queue, ring, found); i++) {
		ww_status status = look_at_frame(found, receiving->stream);

		if (status == WW_ERR_PEER_LOST) {
			queue->lost += end_lost_frame(queue, found);
			continue;
		}
		if (status != WW_OK)
			return status;
		/* Nobody could claim it. No honest member leaves one like that. */
		if (found->claim.attempts == WW_QUEUE_ATTEMPTS_END) {
			(void)end_and_count(queue, found, &queue->bell.header->dropped);
			continue;
		}
		if (!ww_queue_claim_take(&ring->claims, found->slot, &found->claim, queue->number))
			continue;
		status = open_frame(receiving);
		if (status == WW_OK)
			keep_frame(queue, found);
		return status;
	}
	return WW_NOT_READY;
}

static ww_status try_receive(struct receiving *receiving)
{
	ww_list_for_each (link, &receiving->queue->rings) {
		ww_status status = try_ring(receiving, ww_queue_ring_of(link));

		if (status != WW_NOT_READY)
			return status;
	}
	return WW_NOT_READY;
}

/* --- waiting --- */

/* Whether as many producers have come as this consumer waits for. */
static bool have_come(const struct ww_work_queue *queue, uint32_t joined)
{
	return queue->end_after_producers && joined >= queue->end_after_producers;
}

/* Whether a frame was acknowledged that may yet be lost, which is told before the end. */
static bool is_unsure(const struct ww_queue_ring *ring)
{
	return ring->unsure_frame &&
		ww_frame_look(ring->member.cell, ring->unsure_ready, false) == WW_NOT_READY;
}

/*
 * Whether no frame comes any more. The claims are looked at last, see shared.h.
 * @is_closed:  as it was before the frames were looked at
 */
static bool has_ended(const struct ww_work_queue *queue, bool is_closed)
{
	uint32_t joined = ww_queue_roster_joined(&queue->roster);

	if (joined != queue->newcomers.seen || !(is_closed || have_come(queue, joined)))
		return false;
	for (struct ww_list *link = queue->rings.next; link != &queue->rings; link = link->next) {
		const struct ww_queue_ring *ring = ww_queue_ring_of(link);
		struct ww_queue_counts counts = {0};

		if (!ww_queue_ring_is_through(ring, is_closed) || is_unsure(ring))
			return false;
		ww_queue_ring_count(ring, &counts);
		if (counts.available + counts.claimed > 0)
			return false;
		/* Another consumer has just rejected it, for the last time. */
		if (counts.failed > 0 && queue->role == WW_WORK_QUEUE_FAILED)
			return false;
	}
	return true;
}

static enum ww_await_look look_for_frame(void *context)
{
	const struct receiving *receiving = context;
	struct ww_work_queue *queue = receiving->queue;
	enum ww_await_look result = WW_AWAIT_SLEEP;
	struct ww_queue_held found;

	if (ww_queue_rings_are_new(queue) ||
		has_ended(queue, ww_queue_roster_is_closed(&queue->roster)))
		return WW_AWAIT_DONE;
	ww_list_for_each (link, &queue->rings) {
		if (!find_frame(queue, ww_queue_ring_of(link), &found))
			continue;
		if (look_at_frame(&found, receiving->stream) != WW_NOT_READY)
			return WW_AWAIT_DONE;
		result = WW_AWAIT_POLL;
	}
	return result;
}

static ww_status wait_for_frame(struct receiving *receiving, uint64_t deadline_ns)
{
	struct ww_work_queue *queue = receiving->queue;
	uint64_t until_ns = ww_clock_sooner_ns(WW_QUEUE_LOOK_NS, deadline_ns);
	ww_status status = ww_queue_bell_await(&queue->bell, queue->number, look_for_frame,
		receiving, until_ns);

	if (status == WW_OK && ww_clock_now_ns() >= deadline_ns)
		return WW_TIMED_OUT; /* whatever others do meanwhile */
	if (status == WW_OK && ww_cancel_is_pending())
		return WW_CANCELLED;
	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

/*
 * Frames may be acknowledged while the consumer's stream still waits for them. If they were never
 * complete, the next receive says so, once.
 */
static ww_status check_unsure(struct ww_work_queue *queue)
{
	ww_list_for_each (link, &queue->rings) {
		struct ww_queue_ring *ring = ww_queue_ring_of(link);
		uint64_t frame = ring->unsure_frame;
		ww_status status;

		if (!frame)
			continue;
		status = ww_frame_look(ring->member.cell, ring->unsure_ready, false);
		if (status != WW_NOT_READY)
			ring->unsure_frame = 0;
		if (status == WW_ERR_PEER_LOST)
			return ww_frame_fail_lost(frame, ring->member.page);
	}
	return WW_OK;
}

static ww_status receive(struct receiving *receiving, uint64_t deadline_ns)
{
	struct ww_work_queue *queue = receiving->queue;
	ww_status status = WW_OK;

	ww_try(ww_frame_require_known(queue->timeline, &queue->frame_form, "receive"));
	ww_try(check_unsure(queue));
	if (queue->held >= queue->form.held_max)
		return ww_fail(WW_ERR_STATE,
			"cannot receive a frame: this consumer holds %" PRIu32
			" of at most %" PRIu32 " (held_max) already; acknowledge or reject one",
			queue->held, queue->form.held_max);
	while (status == WW_OK) {
		bool is_closed = ww_queue_roster_is_closed(&queue->roster); /* before it looks */

		status = ww_queue_rings_meet(queue);
		if (status < 0)
			return status;
		ww_queue_recover_in_time(queue);
		status = try_receive(receiving);
		if (status != WW_NOT_READY)
			return status;
		if (has_ended(queue, is_closed)) {
			status = check_unsure(queue);
			return status == WW_OK ? WW_END : status;
		}
		ww_queue_rings_forget(queue);
		status = wait_for_frame(receiving, deadline_ns);
	}
	return status;
}

static ww_status enter(const struct ww_work_queue *queue, const struct ww_frame *frame,
	const char *action)
{
	ww_try(ww_queue_enter(queue, frame, action));
	if (ww_queue_is_consumer(queue))
		return WW_OK;
	return ww_fail(WW_ERR_ACCESS,
		"cannot %s a frame: the work queue was not opened with WW_WORK_QUEUE_CONSUMER or "
		"WW_WORK_QUEUE_FAILED",
		action);
}

ww_status ww_work_queue_receive(ww_work_queue *queue, ww_stream *stream, uint64_t timeout_ns,
	ww_cancel *cancel, struct ww_frame *out_frame)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct receiving receiving = {.queue = queue, .stream = stream, .frame = out_frame};
	ww_status status;

	ww_try(enter(queue, out_frame, "receive"));
	if (stream)
		ww_try(ww_stream_check_order(stream));
	ww_eventfd_pause(queue->eventfd);
	status = receive(&receiving, ww_clock_deadline_ns(timeout_ns));
	ww_queue_eventfd_set(queue);
	return status;
}

/* --- as the thread of eventfds looks --- */

enum ww_await_look ww_queue_consumer_look(struct ww_work_queue *queue, uint64_t now_ns)
{
	struct receiving receiving = {.queue = queue};

	if (ww_signal_page_is_lost(queue->timeline->page->header))
		return WW_AWAIT_DONE;
	ww_list_for_each (link, &queue->rings) {
		const struct ww_queue_ring *ring = ww_queue_ring_of(link);

		/* As check_unsure(), which says it once. */
		if (ring->unsure_frame &&
			ww_frame_look(ring->member.cell, ring->unsure_ready, false) ==
				WW_ERR_PEER_LOST)
			return WW_AWAIT_DONE;
		if (now_ns >= queue->look_ns && ww_queue_may_recover(queue, ring))
			return WW_AWAIT_DONE;
	}
	return look_for_frame(&receiving);
}

/* --- what becomes of it --- */

static ww_status find_held(struct ww_work_queue *queue, const struct ww_frame *frame,
	struct ww_queue_held **out_held)
{
	for (uint32_t i = 0; i < queue->form.held_max; i++) {
		struct ww_queue_held *held = &queue->frames[i];

		if (held->ring && held->ring->number == frame->producer &&
			held->claim.frame == frame->number) {
			*out_held = held;
			return WW_OK;
		}
	}
	return ww_fail(WW_ERR_INVALID,
		"frame %" PRIu64 " of producer %" PRIu32
		" is not held: it was acknowledged or rejected already, or never received",
		frame->number, frame->producer);
}

static void release_frame(struct ww_work_queue *queue, struct ww_queue_held *held)
{
	held->ring->held--;
	held->ring = NULL;
	queue->held--;
}

static ww_status fail_changed(const struct ww_frame *frame)
{
	return ww_fail(WW_ERR_STATE,
		"frame %" PRIu64 " of producer %" PRIu32
		" is not this consumer's any more: another process has changed its claim, and another "
		"consumer may have worked on it",
		frame->number, frame->producer);
}

/*
 * A process that sees that the frame is done also sees that it was counted.
 * @value:  of the own timeline; 0: the frame is done
 * Return: whether the claim was ours still.
 */
static bool count_and_finish(struct ww_work_queue *queue, struct ww_queue_held *held,
	uint64_t value)
{
	uint64_t *total = &queue->bell.totals[queue->number].acknowledged;
	uint64_t before = ww_queue_total(total);
	bool is_ours;

	ww_queue_total_set(total, before + 1);
	if (value == 0) {
		is_ours = end_frame(queue, held);
	} else {
		is_ours = ww_queue_claim_finish(&held->ring->claims, held->slot, &held->claim,
			value);
		wake_producer(held->ring); /* it looks for the value from now on */
	}
	if (!is_ours)
		ww_queue_total_set(total, before);
	return is_ours;
}

/* Return: as ww_work_queue_acknowledge(). */
static ww_status finish_held(struct ww_work_queue *queue, struct ww_queue_held *held,
	const struct ww_frame *frame, ww_stream *stream)
{
	struct ww_queue_ring *ring = held->ring;
	uint64_t value;
	ww_status work;
	bool is_ours;

	if (held->is_finished)
		return WW_OK;
	ww_try(ww_frame_signal(queue->timeline, stream, &queue->value, &value));
	held->is_finished = true;
	work = ww_frame_look(ring->member.cell, held->ready, false);
	if (work == WW_NOT_READY) {
		ring->unsure_frame = held->claim.frame;
		ring->unsure_ready = held->ready;
	}
	is_ours = work == WW_ERR_PEER_LOST ? end_lost_frame(queue, held)
					   : count_and_finish(queue, held, value);
	if (work == WW_ERR_PEER_LOST)
		return ww_frame_fail_lost(frame->number, ring->member.page);
	return is_ours ? WW_OK : fail_changed(frame);
}

static ww_status acknowledge(struct ww_work_queue *queue, struct ww_queue_held *held,
	const struct ww_frame *frame, ww_stream *stream)
{
	ww_status status = finish_held(queue, held, frame, stream);

	if (held->is_finished)
		release_frame(queue, held);
	return status;
}

ww_status ww_work_queue_acknowledge(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream)
{
	struct ww_queue_held *held;
	ww_status status;

	ww_try(enter(queue, frame, "acknowledge"));
	ww_try(find_held(queue, frame, &held));
	ww_eventfd_pause(queue->eventfd);
	status = acknowledge(queue, held, frame, stream);
	ww_queue_eventfd_set(queue);
	return status;
}

ww_status ww_work_queue_finish(ww_work_queue *queue, const struct ww_frame *frame,
	ww_stream *stream)
{
	struct ww_queue_held *held;
	ww_status status;

	ww_try(enter(queue, frame, "finish"));
	ww_try(find_held(queue, frame, &held));
	if (!ww_queue_ring_is_through(held->ring, ww_queue_roster_is_closed(&queue->roster)))
		return WW_NOT_READY;
	ww_eventfd_pause(queue->eventfd);
	status = finish_held(queue, held, frame, stream);
	ww_queue_eventfd_set(queue);
	return status;
}

ww_status ww_work_queue_reject(ww_work_queue *queue, const struct ww_frame *frame)
{
	struct ww_queue_held *held;
	bool is_ours;

	ww_try(enter(queue, frame, "reject"));
	ww_try(find_held(queue, frame, &held));
	ww_eventfd_pause(queue->eventfd);
	is_ours = held->is_finished || give_back(queue, held);
	release_frame(queue, held);
	ww_queue_eventfd_set(queue);
	return is_ours ? WW_OK : fail_changed(frame);
}
