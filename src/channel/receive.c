/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c - a consumer receives frames, and releases them
 *
 * To receive, it marks the frame's slot and looks whether the frame is still there (ring.h). What
 * the slot says of the frame comes from another process, and is checked.
 *
 * Unless its marks run ahead (ring.h), a frame counts as held until its release is complete, so
 * that the producer finds a slot: `releasing` has the values of the own timeline to wait for.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/prefetch.h"
#include "channel/reattach.h"
#include "sync/stream_wait.h"
#include "sync/wait_result.h"

#define BRIEF_ROUNDS 6 /* some 200 ns each, before the clock is read */
#define ROUNDS       8 /* looks at frames that go meanwhile, before the caller waits */

/* --- receive --- */

struct receiving {
	struct ww_consumer *consumer;
	ww_stream *stream;
	uint64_t timeout_ns;
	uint64_t deadline_ns;       /* 0: not known yet: a frame that is there needs no clock */
	struct ww_held_frame found; /* marked, and not yet the caller's */
	uint64_t looked_up_to;      /* frames up to this one were looked for */
	bool is_over;               /* of this producer no frame comes any more */
	bool is_woken;              /* the last wait ended because of a frame */
};

static uint64_t deadline_of(struct receiving *receiving)
{
	if (receiving->deadline_ns == 0)
		receiving->deadline_ns = ww_clock_deadline_ns(receiving->timeout_ns);
	return receiving->deadline_ns;
}

static bool is_latest(const struct ww_consumer *consumer)
{
	return consumer->channel.form.policy == WW_CHANNEL_LATEST;
}

/* What became of a frame's work on the GPU: WW_OK; WW_NOT_READY; WW_ERR_PEER_LOST. */
static ww_status look_at_work(const struct ww_consumer *consumer, uint64_t ready)
{
	return ww_frame_look(consumer->cell, ready, ww_peer_process_has_ended(consumer->process));
}

static void unmark(struct receiving *receiving)
{
	struct ww_consumer *consumer = receiving->consumer;

	ww_channel_marks_release(&consumer->marks, receiving->found.mark, receiving->found.slot, 0);
	ww_channel_marks_wake(&consumer->marks, &consumer->channel.ring);
}

static bool is_producer_lost(const struct ww_consumer *consumer)
{
	return ww_signal_page_is_lost(consumer->page->header) ||
		ww_peer_process_has_ended(consumer->process);
}

/* Marks a frame. Return: false: it has gone, or the consumer was evicted. */
static bool mark_slot(struct receiving *receiving, uint32_t slot, uint64_t frame)
{
	struct ww_consumer *consumer = receiving->consumer;
	const struct ww_ring *ring = &consumer->channel.ring;
	struct ww_held_frame *found = &receiving->found;

	found->slot = slot;
	found->mark = 0;
	while (consumer->held[found->mark].frame || consumer->releasing[found->mark])
		found->mark++; /* there is a free one: wait_for_room() has seen to it */
	if (!ww_channel_marks_take(&consumer->marks, ring, found->mark, slot, frame)) {
		ww_channel_marks_wake(&consumer->marks, ring); /* it may have seen the mark */
		return false;
	}
	if (ww_consumer_is_evicted(consumer)) {
		unmark(receiving);
		return false;
	}
	found->frame = frame;
	found->ready = ww_ring_slot(ring, slot)->ready;
	return true;
}

static bool mark_frame(struct receiving *receiving, uint64_t frame)
{
	const struct ww_consumer *consumer = receiving->consumer;
	const struct ww_channel *channel = &consumer->channel;
	const char *bytes = channel->host_pointer;
	uint32_t slot;

	if (!ww_ring_find(&channel->ring, frame, &slot))
		return false;
	/* What is read next is in another processor's cache: it comes while the mark is stored. */
	ww_prefetch_to_read(ww_ring_slot(&channel->ring, slot));
	ww_prefetch_to_write(&consumer->marks.header->next); /* the producer has read it */
	if (bytes)
		ww_prefetch_to_read(bytes + slot * channel->form.slot_bytes);
	return mark_slot(receiving, slot, frame);
}

/* The newest frame that is complete, or the oldest that will be. */
static bool mark_latest(struct receiving *receiving, uint64_t published)
{
	struct ww_consumer *consumer = receiving->consumer;
	uint64_t depth = consumer->channel.ring.place_count;
	uint64_t first = published > depth ? published - depth + 1 : 1;

	if (first < consumer->next)
		first = consumer->next;
	for (uint64_t frame = published; frame >= first; frame--) {
		if (!mark_frame(receiving, frame))
			continue;
		if (look_at_work(consumer, receiving->found.ready) == WW_OK || frame == first)
			return true;
		unmark(receiving);
	}
	return false;
}

/* The next frame that is there; those before it are gone. */
static bool mark_next(struct receiving *receiving, uint64_t published)
{
	struct ww_consumer *consumer = receiving->consumer;
	uint64_t depth = consumer->channel.ring.place_count;
	uint64_t frame = consumer->next;

	if (published >= depth && frame <= published - depth)
		frame = published - depth + 1;
	for (; frame <= published; frame++) {
		if (mark_frame(receiving, frame))
			return true;
		/*
		 * With policy block no frame is gone while the producer lives: if it is missing,
		 * the producer has closed its slot, and opens it again when it sees that this
		 * consumer needs the frame.
		 */
		if (consumer->channel.form.policy == WW_CHANNEL_BLOCK &&
			!is_producer_lost(consumer) && frame == consumer->next)
			return false;
		if (mark_frame(receiving, frame)) /* it came before the producer ended */
			return true;
	}
	return false;
}

/* Return: WW_OK (found: marked); WW_NOT_READY (there is none). */
static ww_status find_frame(struct receiving *receiving)
{
	struct ww_consumer *consumer = receiving->consumer;
	uint64_t published = ww_ring_published(&consumer->channel.ring);

	receiving->found.frame = 0;
	for (int i = 0; i < ROUNDS && published >= consumer->next; i++) {
		bool is_found;

		receiving->looked_up_to = published;
		is_found = is_latest(consumer) ? mark_latest(receiving, published)
					       : mark_next(receiving, published);
		if (is_found)
			return WW_OK;
		/* All were taken back meanwhile: then newer ones are there. */
		if (ww_ring_published(&consumer->channel.ring) == published)
			break;
		published = ww_ring_published(&consumer->channel.ring);
	}
	return WW_NOT_READY;
}

/* Frames before @frame that the consumer should have received, and has not. */
static uint64_t count_missed(const struct ww_consumer *consumer, uint64_t frame)
{
	return is_latest(consumer) ? 0 : frame - consumer->next;
}

static void skip_to(struct ww_consumer *consumer, uint64_t frame, uint64_t dropped)
{
	consumer->next = frame;
	consumer->dropped += dropped;
	__atomic_store_n(&consumer->marks.header->dropped, consumer->dropped, __ATOMIC_RELAXED);
	ww_channel_marks_set_next(&consumer->marks, frame);
}

/*
 * The marked frame, complete or ordered before the stream's further work. Return: WW_OK;
 * WW_NOT_READY (unmarked again, or skipped, since it never will be complete).
 */
static ww_status order_frame(struct receiving *receiving)
{
	struct ww_consumer *consumer = receiving->consumer;
	const struct ww_held_frame *found = &receiving->found;
	ww_status status = look_at_work(consumer, found->ready);

	if (found->ready > WW_SIGNAL_VALUE_MAX) {
		unmark(receiving);
		return ww_fail(WW_ERR_PROTOCOL,
			"the channel's producer announces a frame for a value that no timeline reaches");
	}
	if (status == WW_NOT_READY && receiving->stream && consumer->is_trusted)
		status = ww_stream_wait_enqueue(receiving->stream, consumer->page,
			sizeof(struct ww_layout_signal_page), found->ready, false);
	if (status == WW_ERR_PEER_LOST)
		skip_to(consumer, found->frame + 1, count_missed(consumer, found->frame) + 1);
	if (status != WW_OK)
		unmark(receiving);
	return status == WW_ERR_PEER_LOST ? WW_NOT_READY : status;
}

/* Tells the caller of the frame. */
static ww_status describe_frame(const struct receiving *receiving, struct ww_frame *out_frame)
{
	const struct ww_consumer *consumer = receiving->consumer;
	const struct ww_held_frame *found = &receiving->found;

	if (!ww_frame_read(out_frame, &consumer->channel.frame_form,
		    ww_ring_slot(&consumer->channel.ring, found->slot)))
		return ww_fail(WW_ERR_PROTOCOL,
			"the channel's producer describes a frame with impossible bytes, shape or metadata");
	ww_channel_place_frame(&consumer->channel, found->slot, out_frame);
	out_frame->number = found->frame;
	return WW_OK;
}

/* The marked frame. Return: as order_frame(); WW_ERR_PROTOCOL. */
static ww_status receive_found(struct receiving *receiving, struct ww_frame *out_frame)
{
	struct ww_consumer *consumer = receiving->consumer;
	const struct ww_held_frame *found = &receiving->found;
	ww_status status = order_frame(receiving);

	if (status != WW_OK)
		return status;
	status = describe_frame(receiving, out_frame);
	if (status < 0) {
		unmark(receiving);
		return status;
	}
	consumer->held[found->mark] = *found;
	consumer->next_slots[consumer->last_slot] = found->slot;
	consumer->last_slot = found->slot;
	consumer->channel.held++;
	consumer->received++;
	skip_to(consumer, found->frame + 1, count_missed(consumer, found->frame));
	return WW_OK;
}

/* --- waiting --- */

static const char *reason_of_eviction(uint32_t reason)
{
	switch (reason) {
	case WW_WIRE_CHANNEL_EVICTION_REASON_HAND:
		return "its program asked for that; to go on, get the channel again";
	case WW_WIRE_CHANNEL_EVICTION_REASON_REQUEST:
		return "the channel's owner, or root, asked for that; to go on, get the channel again";
	case WW_WIRE_CHANNEL_EVICTION_REASON_TIME:
		return "that is longer than the producer allows (evict_after); to go on, get the channel again";
	case WW_WIRE_CHANNEL_EVICTION_REASON_LIMIT:
		return "this user has more consumers than the channel allows (consumers_per_uid_max)";
	case WW_WIRE_CHANNEL_EVICTION_REASON_RUNS_AHEAD:
		return "it takes this process for one of another user, which this process does not";
	default:
		return "for a reason that this release does not know";
	}
}

static ww_status fail_evicted(const struct ww_consumer *consumer)
{
	const struct ww_ring *ring = &consumer->channel.ring;
	struct ww_layout_channel_eviction eviction;
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	memcpy(&eviction, &ring->evictions[consumer->number], sizeof(eviction));
	return ww_fail(WW_ERR_EVICTED,
		"the channel's producer, %s, evicted this consumer after frame %" PRIu64
		", having waited %" PRIu64 " ms for it: %s",
		ww_wait_result_process(consumer->page, process), eviction.frame,
		eviction.waited_ns / 1000000, reason_of_eviction(eviction.reason));
}

static bool is_there(const struct ww_ring *ring, uint64_t frame)
{
	uint32_t slot;

	return ww_ring_find(ring, frame, &slot) && ww_ring_has(ring, slot, frame);
}

/*
 * Whether no frame comes any more. A producer that was replaced, and lives, may have closed the
 * slot of a frame for a moment: that one comes yet.
 */
static bool has_ended(const struct ww_consumer *consumer)
{
	const struct ww_channel *channel = &consumer->channel;

	if (!ww_channel_has_ended(channel))
		return false;
	return ww_ring_is_closed(&channel->ring) || is_producer_lost(consumer) ||
		ww_ring_published(&channel->ring) < consumer->next;
}

static bool is_over(const struct ww_consumer *consumer)
{
	return has_ended(consumer) || ww_consumer_is_evicted(consumer);
}

static enum ww_await_look look_for_frame(void *context)
{
	const struct receiving *receiving = context;
	const struct ww_consumer *consumer = receiving->consumer;
	const struct ww_ring *ring = &consumer->channel.ring;
	uint64_t published = ww_ring_published(ring);

	if (published < consumer->next)
		return is_over(consumer) ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
	if (receiving->found.frame) /* it was there, and not complete */
		return look_at_work(consumer, receiving->found.ready) == WW_NOT_READY
			? WW_AWAIT_POLL
			: WW_AWAIT_DONE;
	if (published > receiving->looked_up_to)
		return WW_AWAIT_DONE;
	return is_there(ring, consumer->next) || is_there(ring, published) || is_over(consumer)
		? WW_AWAIT_DONE
		: WW_AWAIT_POLL;
}

/* The caller looks for a frame before the time: a frame that has come is received. */
static ww_status wait_for_frame(struct receiving *receiving)
{
	struct ww_consumer *consumer = receiving->consumer;
	uint64_t deadline_ns = deadline_of(receiving);
	ww_status status = WW_OK;
	uint64_t until_ns;

	if (receiving->is_woken) /* for nothing: whatever the producer does, this ends in time */
		status = ww_cancel_check(deadline_ns);
	if (status != WW_OK)
		return status;
	until_ns = ww_channel_next_late_ns(&consumer->channel,
		ww_clock_sooner_ns(WW_PEER_LOOK_NS, deadline_ns));
	status = ww_ring_await_frame(&consumer->channel.ring, &consumer->marks, look_for_frame,
		receiving, until_ns);
	receiving->is_woken = status == WW_OK;
	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

/* How many frames count as held; of those being released, the value that is reached first. */
static uint32_t count_held(struct ww_consumer *consumer, uint64_t *out_value)
{
	uint32_t count = consumer->channel.held;

	*out_value = 0;
	for (uint32_t i = 0; i < consumer->channel.form.held_max; i++) {
		uint64_t value = consumer->releasing[i];

		if (value == 0)
			continue;
		if (value <= ww_timeline_reached(consumer->channel.timeline)) {
			consumer->releasing[i] = 0;
			continue;
		}
		count++;
		if (*out_value == 0 || value < *out_value)
			*out_value = value;
	}
	return count;
}

/* Waits until another frame may be held. */
static ww_status wait_for_room(struct receiving *receiving)
{
	struct ww_consumer *consumer = receiving->consumer;
	uint32_t most = consumer->channel.form.held_max;
	uint64_t value;

	if (ww_consumer_held(consumer) >= most)
		return ww_fail(WW_ERR_STATE,
			"cannot receive a frame: this consumer holds %" PRIu32
			" of at most %" PRIu32 " (held_max) already; release one",
			ww_consumer_held(consumer), most);
	while (count_held(consumer, &value) >= most) {
		ww_status status = ww_timeline_wait(consumer->channel.timeline, value,
			ww_clock_left_ns(deadline_of(receiving)), NULL);

		if (status != WW_OK)
			return status;
	}
	return WW_OK;
}

/*
 * Frames may be released while the consumer's stream still waits for them. If they were never
 * complete, the next receive says so, once.
 */
static ww_status check_unsure_of(struct ww_consumer *consumer)
{
	uint64_t frame = consumer->unsure.frame;
	ww_status status = WW_OK;

	if (frame)
		status = look_at_work(consumer, consumer->unsure.ready);
	if (status != WW_NOT_READY)
		consumer->unsure.frame = 0;
	return status == WW_ERR_PEER_LOST ? ww_frame_fail_lost(frame, consumer->page) : WW_OK;
}

static ww_status check_unsure(struct ww_consumer *consumer)
{
	ww_list_for_each (link, &consumer->former)
		ww_try(check_unsure_of(ww_container(link, struct ww_consumer, of_current)));
	ww_reattach_forget_former(consumer);
	return check_unsure_of(consumer);
}

/* --- whether it could --- */

/* Whether the caller knows that this producer sends it no more, and waits for the next one. */
static bool goes_on(const struct ww_consumer *consumer)
{
	const struct ww_reattach *reattach = consumer->reattach;
	bool is_told_first = ww_ring_is_closed(&consumer->channel.ring) ||
		ww_consumer_is_evicted(consumer);

	return reattach && reattach->is_over && (!is_told_first || reattach->has_told_end);
}

/* One that was evicted waits for the producer's end only. */
static bool note_eviction(struct ww_consumer *consumer)
{
	bool is_over = ww_channel_has_ended(&consumer->channel) || ww_reattach_look(consumer);

	if (is_over)
		ww_reattach_note_end(consumer);
	return is_over;
}

static void fill_readiness(struct ww_consumer *consumer, struct ww_readiness *readiness)
{
	uint64_t room;

	readiness->is_asleep = &consumer->marks.header->is_asleep;
	readiness->own_page = consumer->channel.timeline->page;
	readiness->own_cell = consumer->channel.timeline->cell;
	readiness->ring = consumer->channel.ring;
	readiness->marks.mapping = consumer->marks.mapping;
	if (count_held(consumer, &room) >= consumer->channel.form.held_max)
		readiness->own_value = room;
	readiness->peer_page = consumer->page;
	readiness->peer_cell = consumer->cell;
	readiness->number = consumer->number;
	readiness->id = consumer->id;
	readiness->peer_process = consumer->process;
	readiness->next = consumer->next;
	readiness->unsure = consumer->unsure.frame ? consumer->unsure.ready : 0;
	readiness->is_latest = is_latest(consumer);
	readiness->again_ns = ww_reattach_look_ns(consumer);
	ww_readiness_set_consumer(readiness);
}

ww_status ww_consumer_readiness(struct ww_consumer *consumer, struct ww_readiness *readiness)
{
	bool is_evicted = ww_consumer_is_evicted(consumer);
	ww_status status = WW_OK;

	if (!is_evicted && ww_consumer_held(consumer) >= consumer->channel.form.held_max)
		return WW_NOT_READY;
	if (is_evicted)
		(void)note_eviction(consumer);
	else if (ww_reattach_look(consumer))
		ww_reattach_note_end(consumer);
	if (goes_on(consumer))
		status = ww_reattach_wait(consumer, 0);
	fill_readiness(consumer, readiness);
	if (goes_on(consumer)) /* it could not ask, or nothing is there yet */
		ww_readiness_set_later(readiness);
	else if (consumer->reattach && consumer->reattach->has_told_end)
		ww_readiness_set_end(readiness);
	return status < 0 ? status : WW_OK;
}

/* --- where it is expected --- */

/*
 * A producer uses its slots in the same order again and again. So a frame is expected in the slot
 * that came after the last frame's slot before, and is looked for there first: the slot says that
 * it is there, and all else of it. The line of the ring with `published`, which the producer writes
 * next, is neither waited for nor taken away from it.
 */
static uint32_t expected_slot(const struct ww_consumer *consumer)
{
	return consumer->next_slots[consumer->last_slot];
}

static ww_status try_expected(struct receiving *receiving, struct ww_frame *out_frame)
{
	const struct ww_consumer *consumer = receiving->consumer;
	uint32_t slot = expected_slot(consumer);

	/* A producer that was killed may have stored a frame in its slot and not published it. */
	if (is_latest(consumer) || consumer->channel.events.is_end_told ||
		!ww_ring_has(&consumer->channel.ring, slot, consumer->next) ||
		!mark_slot(receiving, slot, consumer->next))
		return WW_NOT_READY;
	return receive_found(receiving, out_frame);
}

/* For a short time. Return: whether the next frame, or a later one, is there. */
static bool await_expected(const struct receiving *receiving)
{
	const struct ww_consumer *consumer = receiving->consumer;
	const struct ww_channel *channel = &consumer->channel;
	uint32_t slot = expected_slot(consumer);
	const uint64_t *frame = &ww_ring_slot(&channel->ring, slot)->frame;
	const void *bytes = channel->host_pointer
		? channel->host_pointer + slot * channel->form.slot_bytes
		: (const char *)frame;

	if (is_latest(consumer))
		frame = &channel->ring.header->published;
	for (int i = 0; receiving->timeout_ns > 0 && i < BRIEF_ROUNDS; i++) {
		if (ww_await_briefly(frame, consumer->next, bytes) ||
			ww_ring_published(&channel->ring) >= consumer->next)
			return true;
	}
	return false;
}

/* Return: as receive_from_one(); WW_NOT_READY: then it is looked for everywhere. */
static ww_status receive_expected(struct receiving *receiving, struct ww_frame *out_frame)
{
	struct ww_channel *channel = &receiving->consumer->channel;
	ww_status status;

	ww_try(ww_frame_require_known(channel->timeline, &channel->frame_form, "receive"));
	ww_channel_check_deadline(channel);
	status = try_expected(receiving, out_frame);
	if (status == WW_NOT_READY && await_expected(receiving))
		status = try_expected(receiving, out_frame);
	return status;
}

/* --- receive, as a whole --- */

static ww_status receive_from_one(struct receiving *receiving, struct ww_frame *out_frame)
{
	struct ww_consumer *consumer = receiving->consumer;
	struct ww_channel *channel = &consumer->channel;
	ww_status status;

	receiving->is_over = false;
	if (ww_consumer_is_evicted(consumer)) {
		receiving->is_over = note_eviction(consumer);
		return fail_evicted(consumer);
	}
	status = check_unsure(consumer);
	if (status == WW_OK)
		status = wait_for_room(receiving);
	if (status != WW_OK)
		return status;
	status = receive_expected(receiving, out_frame);
	if (status != WW_NOT_READY)
		return status;

	for (;;) {
		bool is_over = has_ended(consumer); /* before it looks */
		uint64_t seen = ww_ring_published(&channel->ring);

		ww_try(ww_frame_require_known(channel->timeline, &channel->frame_form, "receive"));
		ww_channel_check_deadline(channel);
		status = find_frame(receiving);
		if (status == WW_OK)
			status = receive_found(receiving, out_frame);
		if (status == WW_NOT_READY && ww_consumer_is_evicted(consumer))
			return fail_evicted(consumer);
		if (status != WW_NOT_READY)
			return status;
		(void)deadline_of(receiving); /* before the broker may be asked */
		receiving->is_over = (is_over && !receiving->found.frame) ||
			ww_reattach_look(consumer);
		if (receiving->is_over) { /* frames up to `seen` that are missing are lost */
			if (seen >= consumer->next)
				skip_to(consumer, seen + 1, seen + 1 - consumer->next);
			ww_channel_check_end(channel);
			ww_reattach_note_end(consumer);
			return ww_channel_has_ended(channel)
				? ww_channel_fail_ended(channel)
				: WW_END; /* another channel has the name */
		}
		ww_channel_look_at_processes(channel);
		status = wait_for_frame(receiving);
		if (status != WW_OK)
			return status;
	}
}

ww_status ww_consumer_receive(struct ww_consumer *consumer, ww_stream *stream, uint64_t timeout_ns,
	struct ww_frame *out_frame)
{
	struct receiving receiving = {
		.consumer = consumer,
		.stream = stream,
		.timeout_ns = timeout_ns,
	};
	ww_status status = receive_from_one(&receiving, out_frame);

	/* Goes on with the next producer, if that was asked for. */
	while (consumer->reattach && (receiving.is_over || status == WW_ERR_EVICTED)) {
		bool is_told = goes_on(consumer);

		consumer->reattach->has_told_end = true;
		if (!is_told)
			return status;
		status = ww_reattach_wait(consumer, deadline_of(&receiving));
		if (status != WW_OK)
			return status;
		status = receive_from_one(&receiving, out_frame);
	}
	return status;
}

/* --- release --- */

/*
 * What is held of a frame, by the consumer or by what it was with a former producer. Return: NULL:
 * nothing
 */
static struct ww_held_frame *find_held(struct ww_consumer *consumer, const struct ww_frame *frame,
	struct ww_consumer **out_of)
{
	struct ww_consumer *of = NULL;

	if (frame->generation == consumer->channel.generation)
		of = consumer;
	ww_list_for_each (link, &consumer->former) {
		struct ww_consumer *former = ww_container(link, struct ww_consumer, of_current);

		if (!of && frame->generation == former->channel.generation)
			of = former;
	}
	*out_of = of;
	for (uint32_t i = 0; of && frame->number && i < of->channel.form.held_max; i++) {
		if (of->held[i].frame == frame->number)
			return &of->held[i];
	}
	return NULL;
}

/* @consumer:  of the frame's producer */
static ww_status release(struct ww_consumer *consumer, struct ww_held_frame *held,
	ww_stream *stream)
{
	struct ww_channel *channel = &consumer->channel;
	uint64_t frame = held->frame;
	uint64_t value;
	ww_status work;

	ww_try(ww_frame_signal(channel->timeline, stream, &channel->value, &value));
	work = look_at_work(consumer, held->ready);
	if (work == WW_NOT_READY)
		consumer->unsure = *held;
	ww_channel_marks_release(&consumer->marks, held->mark, held->slot, value);
	ww_channel_marks_wake(&consumer->marks, &channel->ring);
	if (!consumer->marks.runs_ahead)
		consumer->releasing[held->mark] = value;
	held->frame = 0;
	channel->held--;
	return work == WW_ERR_PEER_LOST ? ww_frame_fail_lost(frame, consumer->page) : WW_OK;
}

ww_status ww_consumer_release(struct ww_consumer *consumer, const struct ww_frame *frame,
	ww_stream *stream)
{
	struct ww_consumer *of;
	struct ww_held_frame *held = find_held(consumer, frame, &of);
	ww_status status;

	if (!held)
		return ww_fail(WW_ERR_INVALID,
			"frame %" PRIu64 " is not held: it was released already, or never received",
			frame->number);
	status = release(of, held, stream);
	ww_reattach_forget_former(consumer);
	return status;
}
