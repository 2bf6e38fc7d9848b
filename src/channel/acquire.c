/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acquire.c - the producer takes slots back, and acquires them
 *
 * A slot is free, held by the caller, or has a frame that was published. A slot with a frame is
 * taken back by the steps of ring.h when no consumer uses it. Work of our own streams may still use
 * a free slot, or one that is taken back, until `ready` of our timeline: the stream that gets the
 * slot waits for that, or the CPU does.
 *
 * With a policy that drops, the newest complete frame is never taken back, nor one that is not
 * complete. A slot that only evicted consumers use is taken back and withheld (eviction.c).
 */
#include "channel/producer.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/prefetch.h"
#include "group/group.h"
#include "sync/stream_wait.h"
#include "sync/wait_result.h"

#define FRAMES_PER_LOOK 8 /* at consumers that have left, while slots are free */

static struct ww_producer_slot *slot_of(struct ww_list *link)
{
	return ww_container(link, struct ww_producer_slot, link);
}

static uint32_t slot_index(const struct ww_producer *producer, const struct ww_producer_slot *slot)
{
	return (uint32_t)(slot - producer->slots);
}

/* --- taking slots back --- */

/* What an acquire wants, and what it found. */
struct acquiring {
	struct ww_producer *producer;
	ww_stream *stream;
	bool may_wait; /* on the GPU, for consumers of the own user */
	/* What a slot waits for: a consumer that uses it, or the own timeline. */
	struct ww_consumer_view *view; /* NULL: none */
	uint32_t slot;
	uint64_t frame;     /* NO_FRAME: only its releases */
	uint64_t own_value; /* 0: none */
	bool is_releasing;  /* of the slot that was looked at last, see struct ww_producer_slot */
};

#define NO_FRAME WW_CHANNEL_NEVER

static bool is_dropping(const struct ww_producer *producer)
{
	return producer->channel.form.policy != WW_CHANNEL_BLOCK;
}

static bool may_wait_for(const struct acquiring *acquiring, const struct ww_consumer_view *view)
{
	return acquiring->may_wait && view->is_trusted;
}

/* The first consumer found is the one that is waited for. */
static void note_wait(struct acquiring *acquiring, struct ww_consumer_view *view, uint32_t slot,
	uint64_t frame)
{
	if (acquiring->view)
		return;
	acquiring->view = view;
	acquiring->slot = slot;
	acquiring->frame = frame;
}

/*
 * Whether the consumers let a slot be used again, by the CPU or by a stream that waits for them:
 * unused, withheld or needed.
 */
static enum ww_slot_use look_at_use(struct acquiring *acquiring, uint32_t slot, uint64_t frame)
{
	const struct ww_producer *producer = acquiring->producer;
	struct ww_consumer_view *view;
	enum ww_slot_use use = ww_consumers_use(&producer->channel.consumers, slot, frame,
		!is_dropping(producer), &view);

	acquiring->is_releasing = use == WW_SLOT_RELEASING;
	if (use == WW_SLOT_UNUSED || (use == WW_SLOT_RELEASING && may_wait_for(acquiring, view)))
		return WW_SLOT_UNUSED;
	if (view->is_evicted)
		return WW_SLOT_WITHHELD;
	note_wait(acquiring, view, slot, frame);
	return WW_SLOT_NEEDED;
}

/*
 * What becomes of a slot that is closed. If consumers could not be met, or one uses it, or may, it
 * is opened again. Return: as take_back().
 */
static ww_status decide(struct acquiring *acquiring, struct ww_producer_slot *slot, ww_status met)
{
	struct ww_producer *producer = acquiring->producer;
	uint32_t index = slot_index(producer, slot);
	enum ww_slot_use use = WW_SLOT_NEEDED;

	if (met == WW_OK)
		use = look_at_use(acquiring, index, slot->frame);
	if (use == WW_SLOT_NEEDED) {
		ww_ring_reopen_slot(&producer->channel.ring, index, slot->frame);
		return met == WW_OK ? WW_NOT_READY : met;
	}
	/* Consumers cannot mark it any more: what is complete now needs no further look. */
	slot->releasing = use == WW_SLOT_UNUSED && acquiring->is_releasing ? slot->frame : 0;
	if (use == WW_SLOT_UNUSED)
		return WW_OK;
	ww_list_remove(&slot->link);
	ww_list_append(&producer->withheld_slots, &slot->link);
	return WW_ERR_EVICTED;
}

/*
 * The steps of ring.h. Return: WW_OK; WW_NOT_READY (a consumer uses it, or may: another slot may be
 * had); WW_ERR_EVICTED (it is withheld now; not recorded); as ww_consumers_meet().
 */
static ww_status take_back(struct acquiring *acquiring, struct ww_producer_slot *slot)
{
	struct ww_producer *producer = acquiring->producer;
	uint32_t index = slot_index(producer, slot);

	if (look_at_use(acquiring, index, slot->frame) == WW_SLOT_NEEDED)
		return WW_NOT_READY;
	ww_ring_close_slot(&producer->channel.ring, index);
	ww_ring_finish_closing();
	return decide(acquiring, slot, ww_consumers_meet(&producer->channel));
}

/* Where frames end that may be taken back: all, or those older than the newest complete one. */
static struct ww_list *last_candidate(struct ww_producer *producer)
{
	struct ww_list *last = &producer->published_slots;
	uint64_t reached;

	if (!is_dropping(producer))
		return last;
	reached = ww_timeline_reached(producer->channel.timeline);
	for (last = last->previous; last != &producer->published_slots; last = last->previous) {
		if (slot_of(last)->ready <= reached)
			return last;
	}
	return producer->published_slots.next;
}

/* Takes a slot back that had a frame; the oldest that can be had. */
static ww_status take_published(struct acquiring *acquiring, struct ww_producer_slot **out_slot)
{
	struct ww_producer *producer = acquiring->producer;
	struct ww_list *last = last_candidate(producer);
	struct ww_list *next;

	for (struct ww_list *link = producer->published_slots.next; link != last; link = next) {
		ww_status status;

		next = link->next;
		status = take_back(acquiring, slot_of(link));
		if (status == WW_OK)
			*out_slot = slot_of(link);
		if (status == WW_ERR_EVICTED)
			continue;
		/* With policy block in order, so that newcomers find all frames from one on. */
		if (status != WW_NOT_READY || !is_dropping(producer))
			return status;
	}
	return WW_NOT_READY;
}

/* --- acquire --- */

/* What a stream waits for before it writes a slot. */
struct slot_waits {
	struct ww_stream_wait_for cells[WW_CHANNEL_CONSUMERS_MAX + 1];
	uint32_t count;
};

static ww_status enqueue_waits(const struct acquiring *acquiring, struct slot_waits *waits)
{
	uint32_t count = waits->count;

	waits->count = 0;
	return count ? ww_stream_waits_enqueue(acquiring->stream, waits->cells, count) : WW_OK;
}

static ww_status add_wait(const struct acquiring *acquiring, struct slot_waits *waits,
	struct ww_signal_map *page, uint64_t offset, uint64_t value)
{
	if (waits->count == WW_CHANNEL_CONSUMERS_MAX + 1)
		ww_try(enqueue_waits(acquiring, waits));
	waits->cells[waits->count++] = (struct ww_stream_wait_for){page, offset, value};
	return WW_OK;
}

/*
 * Releases of the slot that are not complete: the stream waits for them, or the caller must.
 * Return: WW_OK; WW_NOT_READY (until acquiring->view has done so); as ww_stream_wait_enqueue().
 */
static ww_status add_releases(struct acquiring *acquiring, uint32_t slot, uint64_t frame,
	struct slot_waits *waits)
{
	ww_list_for_each (link, &acquiring->producer->channel.consumers.group.members) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);
		uint64_t value;

		/* Its mark, unless it runs ahead. */
		ww_channel_marks_use(&view->marks, slot, frame, false, &value);
		if (value == 0 || view->is_ignored || ww_consumer_view_has_reached(view, value))
			continue;
		if (!may_wait_for(acquiring, view)) {
			note_wait(acquiring, view, slot, frame);
			return WW_NOT_READY;
		}
		ww_try(add_wait(acquiring, waits, view->member.page,
			sizeof(struct ww_layout_signal_page), value));
	}
	return WW_OK;
}

/* The slot's bytes are the caller's, once the stream has waited. */
static ww_status order_slot(struct acquiring *acquiring, const struct ww_producer_slot *slot)
{
	struct ww_producer *producer = acquiring->producer;
	const struct ww_timeline *timeline = producer->channel.timeline;
	const ww_stream *stream = acquiring->stream;
	/* All that this stream does comes after its own earlier work on the slot anyway. */
	bool is_behind = stream && stream->serial != 0 && stream->serial == slot->ready_by;
	struct slot_waits waits;
	ww_status status = WW_OK;

	waits.count = 0;
	if (slot->ready && !is_behind && slot->ready > ww_timeline_reached(timeline)) {
		if (!stream) { /* of several values the one that is reached first is waited for */
			if (acquiring->own_value == 0 || slot->ready < acquiring->own_value)
				acquiring->own_value = slot->ready;
			return WW_NOT_READY;
		}
		ww_try(add_wait(acquiring, &waits, timeline->page, timeline->offset, slot->ready));
	}
	if (slot->releasing)
		status = add_releases(acquiring, slot_index(producer, slot), slot->releasing,
			&waits);
	return status == WW_OK ? enqueue_waits(acquiring, &waits) : status;
}

/* The first free slot that is the caller's at once, or when its stream has waited. */
static ww_status take_free(struct acquiring *acquiring, struct ww_producer_slot **out_slot)
{
	ww_list_for_each (link, &acquiring->producer->free_slots) {
		ww_status status = order_slot(acquiring, slot_of(link));

		if (status == WW_OK)
			*out_slot = slot_of(link);
		if (status != WW_NOT_READY)
			return status;
	}
	return WW_NOT_READY;
}

void ww_producer_give_back(struct ww_producer *producer, struct ww_producer_slot *slot)
{
	slot->is_held = false;
	ww_list_append(&producer->free_slots, &slot->link);
}

/* A slot that was taken back has no frame any more, whether the caller can have it yet or not. */
static void make_free(struct ww_producer *producer, struct ww_producer_slot *slot)
{
	ww_list_remove(&slot->link);
	slot->frame = 0;
	ww_producer_give_back(producer, slot);
}

/*
 * With policy block, frames that every consumer has released are only for consumers that join later
 * and want earlier frames. So up to an eighth of the slots are taken back at once: what other
 * processes have written, their marks above all, is loaded once for all of them.
 */
static uint32_t take_back_most(const struct ww_producer *producer)
{
	uint32_t part = producer->channel.form.slot_count / 8;

	return is_dropping(producer) || part == 0 ? 1 : part;
}

/* Of the published frames; or @link is none. */
static bool is_newest(const struct ww_producer *producer, const struct ww_list *link)
{
	return link == &producer->published_slots || link->next == &producer->published_slots;
}

/* All but the newest, in the order of their frames. Return: the first one that is not closed. */
static struct ww_list *close_oldest(struct ww_producer *producer, uint32_t count)
{
	uint64_t owed = ww_consumers_first_owed(&producer->channel.consumers);
	struct ww_list *link = producer->published_slots.next;

	for (; count > 0 && !is_newest(producer, link) && slot_of(link)->frame < owed;
		count--, link = link->next)
		ww_ring_close_slot(&producer->channel.ring, slot_index(producer, slot_of(link)));
	ww_ring_finish_closing();
	return link;
}

/* As take_back(), for several. After one that cannot be had, all later ones stay. */
static void take_more(struct acquiring *acquiring)
{
	struct ww_producer *producer = acquiring->producer;
	uint32_t most = take_back_most(producer);
	struct ww_list *link = producer->published_slots.next;
	struct ww_list *end;
	ww_status status;

	if (most == 1)
		return;
	end = close_oldest(producer, most - 1);
	status = ww_consumers_meet(&producer->channel);
	while (link != end) {
		struct ww_producer_slot *slot = slot_of(link);

		link = link->next;
		status = decide(acquiring, slot, status);
		if (status == WW_OK)
			make_free(producer, slot);
	}
}

static ww_status take_any(struct acquiring *acquiring, struct ww_producer_slot **out_slot)
{
	ww_status status = take_free(acquiring, out_slot);

	if (status != WW_NOT_READY)
		return status;
	status = take_published(acquiring, out_slot);
	if (status != WW_OK)
		return status;
	make_free(acquiring->producer, *out_slot);
	take_more(acquiring);
	acquiring->view = NULL; /* whoever uses another slot is not waited for */
	return order_slot(acquiring, *out_slot);
}

static ww_status try_acquire(struct acquiring *acquiring, struct ww_producer_slot **out_slot)
{
	struct ww_producer *producer = acquiring->producer;
	struct ww_producer_slot *slot = NULL;
	ww_status status;

	if (!ww_list_is_empty(&producer->withheld_slots))
		ww_producer_reclaim_withheld(producer);
	status = take_any(acquiring, &slot);
	if (status == WW_OK) {
		ww_list_remove(&slot->link);
		slot->frame = 0;
		slot->is_held = true;
		producer->channel.held++;
		*out_slot = slot;
	}
	if (status == WW_NOT_READY && ww_list_is_empty(&producer->free_slots) &&
		ww_list_is_empty(&producer->published_slots))
		return ww_producer_fail_withheld(producer);
	return status;
}

/* Frames that the producer holds, or that its streams have not written yet. */
static uint32_t count_ahead(const struct ww_producer *producer, uint64_t *out_oldest)
{
	uint64_t reached = ww_timeline_reached(producer->channel.timeline);
	uint32_t count = producer->channel.held;

	*out_oldest = 0;
	for (const struct ww_list *link = producer->published_slots.previous;
		link != &producer->published_slots; link = link->previous) {
		const struct ww_producer_slot *slot = ww_container(link, struct ww_producer_slot,
			link);

		if (slot->ready > reached) {
			*out_oldest = slot->ready;
			count++;
		} else {
			break;
		}
	}
	return count;
}

static uint32_t most_held(const struct ww_producer *producer)
{
	return is_dropping(producer) ? producer->ahead_max : producer->channel.form.slot_count;
}

/* Return: WW_OK; WW_NOT_READY (until acquiring->own_value); WW_ERR_STATE. */
static ww_status check_ahead(struct acquiring *acquiring)
{
	const struct ww_producer *producer = acquiring->producer;
	uint32_t most = most_held(producer);
	uint64_t oldest;

	if (producer->channel.held >= most)
		return ww_fail(WW_ERR_STATE,
			"cannot acquire a slot: this producer holds %" PRIu32 " of at most %" PRIu32
			" already; publish or discard one",
			producer->channel.held, most);
	if (!is_dropping(producer) || count_ahead(producer, &oldest) < most)
		return WW_OK;
	acquiring->own_value = oldest;
	return WW_NOT_READY;
}

static enum ww_await_look look_for_release(void *context)
{
	const struct acquiring *acquiring = context;
	const struct ww_consumer_view *view = acquiring->view;
	bool is_owed = !is_dropping(acquiring->producer) && acquiring->frame != NO_FRAME &&
		ww_consumer_view_is_owed(view);
	uint64_t value;
	enum ww_slot_use use = ww_channel_marks_use(&view->marks, acquiring->slot, acquiring->frame,
		is_owed, &value);

	if (ww_group_member_has_ended(&view->member) || use == WW_SLOT_UNUSED)
		return WW_AWAIT_DONE;
	if (use == WW_SLOT_NEEDED)
		return WW_AWAIT_SLEEP;
	return may_wait_for(acquiring, view) || ww_consumer_view_has_reached(view, value)
		? WW_AWAIT_DONE
		: WW_AWAIT_POLL;
}

static enum ww_await_look look_for_nothing(void *context)
{
	(void)context;
	return WW_AWAIT_SLEEP;
}

/* Waits for what the attempt waits for, or until it is time to look at everything again. */
static ww_status wait_for_slot(struct acquiring *acquiring, uint64_t deadline_ns)
{
	struct ww_channel *channel = &acquiring->producer->channel;
	uint64_t until_ns = ww_producer_next_blocker_look_ns(acquiring->producer,
		ww_channel_next_late_ns(channel, ww_clock_sooner_ns(WW_PEER_LOOK_NS, deadline_ns)));
	ww_status status;

	if (acquiring->view)
		status = ww_ring_await_release(&channel->ring, &acquiring->view->marks,
			look_for_release, acquiring, until_ns);
	else if (acquiring->own_value)
		status = ww_timeline_wait(channel->timeline, acquiring->own_value,
			ww_clock_left_ns(until_ns), NULL);
	else /* the broker does not answer who the consumers are */
		status = ww_await(&channel->ring.header->wakes, look_for_nothing, NULL, until_ns);
	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

static ww_status fail_timed_out(const struct acquiring *acquiring)
{
	char process[WW_WAIT_RESULT_PROCESS_BYTES];

	if (!acquiring->view)
		return WW_TIMED_OUT;
	ww_fail(WW_TIMED_OUT,
		"no slot is free: consumer %" PRIu32 ", %s, has not released slot %" PRIu32,
		acquiring->view->number,
		ww_wait_result_process(acquiring->view->member.page, process), acquiring->slot);
	return WW_TIMED_OUT;
}

static void forget_ended(struct ww_producer *producer)
{
	ww_consumers_forget_ended(&producer->channel);
	producer->looked_at = producer->published;
}

/* Only here are the consumers' marks read: otherwise these stay in the consumers' own caches. */
static void prepare_take_back(struct ww_producer *producer)
{
	const struct ww_channel *channel = &producer->channel;
	struct ww_list *link = producer->published_slots.next;

	ww_consumers_prefetch(&channel->consumers);
	for (uint32_t i = 0; i < take_back_most(producer); i++, link = link->next) {
		uint32_t slot;

		if (link == &producer->published_slots)
			break;
		/* It is in a consumer's cache: it comes while something else is done. */
		slot = slot_index(producer, slot_of(link));
		ww_prefetch_to_write(ww_ring_slot(&channel->ring, slot));
		if (channel->host_pointer)
			ww_prefetch_to_write(
				channel->host_pointer + slot * channel->form.slot_bytes);
	}
	forget_ended(producer);
}

/*
 * What the next acquire would begin with: better after a publish, while consumers receive that
 * frame, than before one that they wait for.
 */
void ww_producer_take_back_early(struct ww_producer *producer)
{
	struct acquiring acquiring = {.producer = producer};
	struct ww_list *oldest = producer->published_slots.next;
	struct ww_error record;

	if (take_back_most(producer) == 1 || !ww_list_is_empty(&producer->free_slots) ||
		is_newest(producer, oldest) || producer->channel.consumers.count == 0 ||
		!ww_consumers_are_met(&producer->channel))
		return;
	ww_error_save(&record);
	prepare_take_back(producer);
	if (take_back(&acquiring, slot_of(oldest)) == WW_OK) {
		make_free(producer, slot_of(oldest));
		take_more(&acquiring);
	}
	ww_error_restore(&record);
}

static ww_status try_once(struct acquiring *acquiring, struct ww_producer_slot **out_slot)
{
	struct ww_producer *producer = acquiring->producer;
	struct ww_channel *channel = &producer->channel;
	ww_status status;

	acquiring->view = NULL;
	acquiring->own_value = 0;
	ww_try(ww_producer_check_name(producer));
	ww_channel_check_deadline(channel);
	if (ww_list_is_empty(&producer->free_slots))
		prepare_take_back(producer);
	else if (ww_consumers_has_any_ended(&channel->consumers) ||
		producer->published - producer->looked_at >= FRAMES_PER_LOOK)
		forget_ended(producer); /* marks say which have left; they are read now and then */
	status = check_ahead(acquiring);
	if (status == WW_OK)
		status = try_acquire(acquiring, out_slot);
	if (status == WW_OK || status == WW_NOT_READY)
		ww_producer_note_blocker(channel, status == WW_OK ? NULL : acquiring->view);
	return status;
}

static ww_status acquire(struct acquiring *acquiring, uint64_t timeout_ns,
	struct ww_producer_slot **out_slot)
{
	struct ww_channel *channel = &acquiring->producer->channel;
	/* If a slot is free and nothing is asked of the broker, the clock is not read. */
	bool is_quick = !ww_consumers_have_come(channel);
	uint64_t deadline_ns = is_quick ? 0 : ww_clock_deadline_ns(timeout_ns);
	bool have_met = false;

	for (;;) {
		ww_status status = try_once(acquiring, out_slot);

		if (status != WW_NOT_READY)
			return status;
		if (deadline_ns == 0)
			deadline_ns = ww_clock_deadline_ns(timeout_ns);
		if (ww_producer_look_at_blocker(acquiring->producer))
			continue;
		/* A process has joined, or asks for an eviction (eviction_request.h). */
		if (ww_consumers_have_come(channel))
			status = ww_consumers_meet(channel);
		if (status < 0)
			return status;
		/* Others may put objects inside the channel without end: then the time counts. */
		if (status == WW_OK && (!have_met || ww_clock_now_ns() < deadline_ns)) {
			have_met = true;
			continue;
		}
		ww_consumers_look_at_processes(&channel->consumers);
		status = wait_for_slot(acquiring, deadline_ns);
		if (status == WW_TIMED_OUT)
			return fail_timed_out(acquiring);
		if (status != WW_OK)
			return status;
	}
}

ww_status ww_producer_acquire(struct ww_producer *producer, ww_stream *stream, uint64_t timeout_ns,
	struct ww_frame *out_frame)
{
	struct acquiring acquiring = {
		.producer = producer,
		.stream = stream,
		.may_wait = stream && !is_dropping(producer),
	};
	struct ww_producer_slot *slot = NULL;
	ww_status status = acquire(&acquiring, timeout_ns, &slot);

	if (status != WW_OK)
		return status;
	ww_channel_place_frame(&producer->channel, slot_index(producer, slot), out_frame);
	ww_frame_begin(out_frame, &producer->channel.frame_form);
	return WW_OK;
}

/* --- whether it could --- */

/*
 * As take_published(), and takes nothing. Return: WW_OK; WW_NOT_READY; WW_ERR_EVICTED (there is no
 * slot but those that evicted consumers use; not recorded).
 */
static ww_status look_at_published(struct acquiring *acquiring)
{
	struct ww_producer *producer = acquiring->producer;
	struct ww_list *last = last_candidate(producer);
	bool is_any_left = last != &producer->published_slots;

	for (struct ww_list *link = producer->published_slots.next; link != last;
		link = link->next) {
		struct ww_producer_slot *slot = slot_of(link);
		enum ww_slot_use use = look_at_use(acquiring, slot_index(producer, slot),
			slot->frame);
		ww_status status = WW_NOT_READY;

		if (use == WW_SLOT_WITHHELD)
			continue;
		is_any_left = true;
		if (use == WW_SLOT_UNUSED)
			status = order_slot(acquiring, slot);
		if (status != WW_NOT_READY || !is_dropping(producer))
			return status;
	}
	return is_any_left ? WW_NOT_READY : WW_ERR_EVICTED;
}

/* As try_acquire() for the CPU, and takes nothing. */
static ww_status look_for_slot(struct acquiring *acquiring)
{
	struct ww_producer *producer = acquiring->producer;
	struct ww_producer_slot *slot;
	ww_status status;

	if (!ww_list_is_empty(&producer->withheld_slots))
		ww_producer_reclaim_withheld(producer);
	status = take_free(acquiring, &slot); /* it only finds one */
	if (status != WW_NOT_READY)
		return status;
	status = look_at_published(acquiring);
	return status == WW_ERR_EVICTED && !ww_list_is_empty(&producer->free_slots) ? WW_NOT_READY
										    : status;
}

/* As try_once(). */
static ww_status look_once(struct acquiring *acquiring)
{
	struct ww_channel *channel = &acquiring->producer->channel;
	ww_status status;

	acquiring->view = NULL;
	acquiring->own_value = 0;
	ww_channel_check_deadline(channel);
	ww_consumers_forget_ended(channel);
	status = ww_consumers_meet(channel);
	if (status == WW_OK)
		status = check_ahead(acquiring);
	if (status == WW_OK)
		status = look_for_slot(acquiring);
	if (status == WW_OK || status == WW_NOT_READY)
		ww_producer_note_blocker(channel, status == WW_OK ? NULL : acquiring->view);
	return status;
}

/*
 * What it waits for. If that is not known for certain, or the consumer that it waits for is to be
 * evicted, it looks again.
 */
static void fill_readiness(const struct acquiring *acquiring, struct ww_readiness *readiness)
{
	const struct ww_consumer_view *view = acquiring->view;
	uint64_t again_ns = WW_NEVER;

	if (is_dropping(acquiring->producer) || (!view && !acquiring->own_value))
		again_ns = ww_clock_deadline_ns(WW_PEER_LOOK_NS);
	readiness->again_ns = ww_producer_next_eviction_ns(acquiring->producer, again_ns);
	readiness->own_value = acquiring->own_value;
	if (view) {
		readiness->peer_page = view->member.page;
		readiness->peer_process = view->member.process;
		readiness->peer_cell = view->member.cell;
		readiness->marks = view->marks;
		readiness->slot = acquiring->slot;
		readiness->frame = acquiring->frame;
		readiness->is_owed = !is_dropping(acquiring->producer) &&
			acquiring->frame != NO_FRAME;
	}
	ww_readiness_set_producer(readiness);
}

ww_status ww_producer_readiness(struct ww_producer *producer, struct ww_readiness *readiness)
{
	struct acquiring acquiring = {.producer = producer};
	ww_status status;

	readiness->is_asleep = &producer->channel.ring.header->is_asleep;
	readiness->own_page = producer->channel.timeline->page;
	readiness->own_cell = producer->channel.timeline->cell;
	readiness->ring = producer->channel.ring;
	readiness->members = ww_group_count(readiness->own_page); /* before it meets them */
	ww_try(ww_producer_check_name(producer));
	if (producer->channel.held >= most_held(producer))
		return WW_NOT_READY;
	do
		status = look_once(&acquiring);
	while (status == WW_NOT_READY && ww_producer_look_at_blocker(producer));
	if (status == WW_NOT_READY)
		fill_readiness(&acquiring, readiness);
	else
		ww_readiness_set_now(readiness);
	return status < 0 ? status : WW_OK;
}
