/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction.c - the producer waits for a consumer, and may end its subscription
 *
 * The steps are in ring.h. What an evicted consumer had marked stays out of use: if it is the turn
 * of such a slot, the slot is withheld until the consumer has released it, or has ended.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "channel/producer.h"
#include "sync/wait_result.h"

/* --- the consumer that the producer waits for --- */

void ww_producer_note_blocker(struct ww_channel *channel, struct ww_consumer_view *view)
{
	struct ww_layout_channel_ring *ring = channel->ring.header;
	struct ww_consumers *consumers = &channel->consumers;

	if (consumers->blocker == view)
		return;
	consumers->blocker = view;
	consumers->blocked_since_ns = view ? ww_clock_now_ns() : 0;
	consumers->is_block_told = false;
	if (!channel->is_producer)
		return;
	__atomic_store_n(&ring->waits_since_ns, consumers->blocked_since_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->waits_for, view ? view->number + 1 : 0, __ATOMIC_RELAXED);
}

static uint64_t blocked_ns(const struct ww_consumers *consumers)
{
	return consumers->blocker ? ww_clock_now_ns() - consumers->blocked_since_ns : 0;
}

bool ww_producer_look_at_blocker(struct ww_producer *producer)
{
	struct ww_consumers *consumers = &producer->channel.consumers;
	uint64_t waited_ns = blocked_ns(consumers);

	if (!consumers->blocker)
		return false;
	if (waited_ns >= WW_CHANNEL_WAIT_TOLD_NS && !consumers->is_block_told) {
		ww_channel_tell_of(&producer->channel, WW_CHANNEL_PRODUCER_WAITED,
			consumers->blocker)
			->waited_ns = waited_ns;
		consumers->is_block_told = true;
	}
	if (!producer->evict_after_ns || waited_ns < producer->evict_after_ns ||
		consumers->blocker->is_evicted)
		return false;
	ww_producer_evict(producer, consumers->blocker, WW_WIRE_CHANNEL_EVICTION_REASON_TIME);
	return true;
}

static uint64_t sooner(uint64_t deadline_ns, uint64_t start_ns, uint64_t after_ns)
{
	uint64_t end_ns;

	if (__builtin_add_overflow(start_ns, after_ns, &end_ns))
		return deadline_ns;
	return end_ns < deadline_ns ? end_ns : deadline_ns;
}

uint64_t ww_producer_next_eviction_ns(const struct ww_producer *producer, uint64_t deadline_ns)
{
	const struct ww_consumers *consumers = &producer->channel.consumers;

	if (!consumers->blocker || !producer->evict_after_ns || consumers->blocker->is_evicted)
		return deadline_ns;
	return sooner(deadline_ns, consumers->blocked_since_ns, producer->evict_after_ns);
}

uint64_t ww_producer_next_blocker_look_ns(const struct ww_producer *producer, uint64_t deadline_ns)
{
	const struct ww_consumers *consumers = &producer->channel.consumers;

	if (consumers->blocker && !consumers->is_block_told)
		deadline_ns = sooner(deadline_ns, consumers->blocked_since_ns,
			WW_CHANNEL_WAIT_TOLD_NS);
	return ww_producer_next_eviction_ns(producer, deadline_ns);
}

/* --- evicting --- */

void ww_producer_evict(struct ww_producer *producer, struct ww_consumer_view *view, uint32_t reason)
{
	struct ww_channel *channel = &producer->channel;
	const struct ww_layout_channel_eviction eviction = {
		.consumer = ww_ring_consumer_id(view->member.id),
		.waited_ns = channel->consumers.blocker == view ? blocked_ns(&channel->consumers)
								: 0,
		.frame = producer->published,
		.reason = reason,
	};

	ww_ring_evict(&channel->ring, view->number, &eviction);
	view->evicted_at = producer->published;
	view->is_evicted = true;
	channel->consumers.count--;
	ww_channel_tell_of(channel, WW_CHANNEL_CONSUMER_EVICTED, view)
		->waited_ns = eviction.waited_ns;
	if (channel->consumers.blocker == view)
		ww_producer_note_blocker(channel, NULL);
	ww_ring_wake(&channel->ring);
}

/* --- slots that evicted consumers use --- */

void ww_producer_reclaim_withheld(struct ww_producer *producer)
{
	struct ww_list *list = &producer->withheld_slots;
	struct ww_consumer_view *view;
	struct ww_list *next;

	for (struct ww_list *link = list->next; link != list; link = next) {
		const struct ww_producer_slot *slot = ww_container(link,
			const struct ww_producer_slot, link);

		next = link->next;
		if (ww_consumers_use(&producer->channel.consumers,
			    (uint32_t)(slot - producer->slots), slot->frame, false,
			    &view) != WW_SLOT_UNUSED)
			continue;
		ww_list_remove(link);
		ww_list_append(&producer->free_slots, link);
	}
}

ww_status ww_producer_fail_withheld(const struct ww_producer *producer)
{
	const struct ww_producer_slot *slot = ww_container(producer->withheld_slots.next,
		const struct ww_producer_slot, link);
	char process[WW_WAIT_RESULT_PROCESS_BYTES] = "a process";
	struct ww_consumer_view *view;
	uint32_t index = (uint32_t)(slot - producer->slots);

	ww_consumers_use(&producer->channel.consumers, index, slot->frame, false, &view);
	if (view)
		ww_wait_result_process(view->member.page, process);
	return ww_fail(WW_ERR_EVICTED,
		"no slot is left: %s, a consumer that was evicted, has not released slot %" PRIu32
		"; end that process, or make a channel with more slots",
		process, index);
}
