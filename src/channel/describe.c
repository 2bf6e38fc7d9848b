/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - a channel and its consumers, as a side sees them
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/consumer.h"
#include "channel/eventfd.h"
#include "channel/producer.h"
#include "channel/reattach.h"

#define INFO_V1_BYTES     sizeof(struct ww_channel_info)
#define CONSUMER_V1_BYTES sizeof(struct ww_channel_consumer_info)

/* Until when the producer has waited, from when it says; it may say anything. */
static uint64_t waited_ns(const struct ww_layout_channel_ring *ring)
{
	uint64_t since_ns = __atomic_load_n(&ring->waits_since_ns, __ATOMIC_RELAXED);
	uint64_t now_ns = ww_clock_now_ns();

	return since_ns && since_ns < now_ns ? now_ns - since_ns : 0;
}

/* Number of the consumer for which the producer finds no slot; WW_CHANNEL_NOBODY. */
static uint32_t waits_for(const struct ww_layout_channel_ring *ring)
{
	uint32_t waits = __atomic_load_n(&ring->waits_for, __ATOMIC_RELAXED);

	return waits && waits <= WW_CHANNEL_CONSUMERS_MAX ? waits - 1 : WW_CHANNEL_NOBODY;
}

/* --- the channel --- */

static void describe_form(const struct ww_channel *channel, struct ww_channel_info *info)
{
	info->is_producer = channel->is_producer;
	info->is_observer = channel->is_observer;
	info->policy = channel->form.policy;
	info->slots = channel->form.slot_count;
	info->consumers_max = channel->form.consumers_max;
	info->held_max = channel->form.held_max;
	info->slot_bytes = channel->form.slot_bytes;
	info->metadata_bytes = channel->form.metadata_bytes;
	memcpy(info->metadata_type, channel->form.metadata_type, sizeof(info->metadata_type));
	info->has_array = channel->frame_form.has_array;
	info->array = channel->frame_form.array;
}

static void describe_ring(const struct ww_channel *channel, struct ww_channel_info *info)
{
	const struct ww_layout_channel_ring *ring = channel->ring.header;

	info->published = ww_ring_published(&channel->ring);
	info->published_ns = ww_ring_published_ns(&channel->ring);
	info->deadline_ns = ring->deadline_ns;
	info->evict_after_ns = ring->evict_after_ns;
	info->consumers_per_uid_max = ring->consumers_per_uid_max;
	info->waits_for = waits_for(ring);
	info->waited_ns = info->waits_for == WW_CHANNEL_NOBODY ? 0 : waited_ns(ring);
}

static void describe_producer(const struct ww_channel *channel, struct ww_channel_info *info)
{
	const struct ww_page_creator *creator = &ww_channel_producer_page(channel)->creator;

	info->pid = creator->pid;
	memcpy(info->program, creator->program, sizeof(info->program));
	if (ww_channel_has_ended(channel))
		info->has_ended = ww_channel_is_closed(channel) ? 1 : 2;
}

static void describe_consumer(const struct ww_channel *channel, struct ww_channel_info *info)
{
	const struct ww_consumer *consumer = ww_container(channel, struct ww_consumer, channel);

	info->received = consumer->former_received + consumer->received;
	info->dropped = consumer->former_dropped + consumer->dropped;
	info->number = consumer->number;
}

/* The consumers that have joined or ended since the last call; what the broker does not tell stays.
 */
static uint32_t count_consumers(struct ww_channel *channel)
{
	struct ww_error record;

	ww_error_save(&record);
	(void)ww_consumers_meet(channel);
	ww_error_restore(&record);
	ww_consumers_forget_ended(channel);
	ww_channel_eventfd_set(channel);
	return channel->consumers.count;
}

ww_status ww_channel_info_get(ww_channel *channel, struct ww_channel_info *info)
{
	struct ww_channel_info ours = {.number = WW_CHANNEL_NOBODY};

	ww_try(ww_process_enter());
	ww_require(channel && info, "ww_channel_info_get: channel or info is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	describe_form(channel, &ours);
	describe_ring(channel, &ours);
	describe_producer(channel, &ours);
	ours.held = channel->is_producer ? channel->held
					 : ww_consumer_held(ww_consumer_of(channel));
	ours.generation = channel->generation;
	ours.deadlines_missed = channel->deadline.missed;
	if (channel->is_producer || channel->is_observer)
		ours.consumers = count_consumers(channel);
	else
		describe_consumer(channel, &ours);
	return ww_params_write(info, &ours, sizeof(ours), INFO_V1_BYTES, "ww_channel_info");
}

/* --- a consumer --- */

static uint32_t count_held(const struct ww_consumer_view *view)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < view->marks.mark_count; i++) {
		uint64_t value;
		uint64_t frame = ww_channel_marks_frame(&view->marks, i, &value);

		count += frame && (!value || !ww_consumer_view_has_reached(view, value));
	}
	return count;
}

static bool is_evicted(const struct ww_channel *channel, const struct ww_consumer_view *view)
{
	return view->is_evicted ||
		ww_ring_has_evicted(&channel->ring, view->number,
			ww_ring_consumer_id(view->member.id));
}

static void describe_view(const struct ww_channel *channel, const struct ww_consumer_view *view,
	struct ww_channel_consumer_info *info)
{
	const struct ww_layout_channel_marks *marks = view->marks.header;
	const struct ww_page_creator *creator = &view->member.page->creator;

	info->number = view->number;
	info->pid = creator->pid;
	info->uid = creator->uid;
	info->is_asleep = ww_channel_marks_are_asleep(&view->marks);
	info->is_evicted = is_evicted(channel, view);
	info->is_waited_for = !info->is_evicted && waits_for(channel->ring.header) == view->number;
	info->held = count_held(view);
	info->next = __atomic_load_n(&marks->next, __ATOMIC_RELAXED);
	info->dropped = __atomic_load_n(&marks->dropped, __ATOMIC_RELAXED);
	info->waited_ns = info->is_waited_for ? waited_ns(channel->ring.header) : 0;
	memcpy(info->program, creator->program, sizeof(info->program));
}

ww_status ww_channel_consumer_info_get(ww_channel *channel, uint32_t index,
	struct ww_channel_consumer_info *out_info)
{
	struct ww_channel_consumer_info ours = {.number = 0};

	ww_try(ww_process_enter());
	ww_require(channel && out_info,
		"ww_channel_consumer_info_get: channel or out_info is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_params_check(out_info, CONSUMER_V1_BYTES, "ww_channel_consumer_info"));
	if (index == 0) {
		ww_try(ww_reattach_follow(channel));
		ww_try(ww_consumers_meet(channel));
		ww_consumers_forget_ended(channel);
		ww_channel_eventfd_set(channel);
	}
	ww_list_for_each (link, &channel->consumers.group.members) {
		if (index-- > 0)
			continue;
		describe_view(channel, ww_consumer_view_of(link), &ours);
		return ww_params_write(out_info, &ours, sizeof(ours), CONSUMER_V1_BYTES,
			"ww_channel_consumer_info");
	}
	return WW_END;
}
