/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - what a side of a channel has learnt of the other one, see events.h
 */
#include <string.h>

#include "base/clock.h"
#include "channel/channel.h"

/* --- the queue --- */

static void name_process(struct ww_channel_event *event, const struct ww_signal_map *page)
{
	event->pid = page->creator.pid;
	event->uid = page->creator.uid;
	memcpy(event->program, page->creator.program, sizeof(event->program));
}

struct ww_channel_event *ww_channel_tell(struct ww_channel *channel, uint32_t kind)
{
	struct ww_channel_events *events = &channel->events;
	struct ww_channel_event *event;

	if (events->count == WW_CHANNEL_EVENTS_MAX) {
		events->first = (events->first + 1) % WW_CHANNEL_EVENTS_MAX;
		events->count--;
		events->dropped++;
	}
	event = &events->at[(events->first + events->count++) % WW_CHANNEL_EVENTS_MAX];
	*event = (struct ww_channel_event){
		.kind = kind,
		.consumer = WW_CHANNEL_NOBODY,
		.generation = channel->generation,
		.frame = ww_ring_published(&channel->ring),
		.time_ns = ww_clock_now_ns(),
	};
	name_process(event, ww_channel_producer_page(channel));
	return event;
}

struct ww_channel_event *ww_channel_tell_of(struct ww_channel *channel, uint32_t kind,
	const struct ww_consumer_view *view)
{
	struct ww_channel_event *event = ww_channel_tell(channel, kind);

	event->consumer = view->number;
	name_process(event, view->member.page);
	return event;
}

ww_status ww_channel_events_take(struct ww_channel_events *events,
	struct ww_channel_event *out_event)
{
	if (events->count == 0)
		return WW_NOT_READY;
	*out_event = events->at[events->first];
	out_event->dropped = events->dropped;
	events->dropped = 0;
	events->first = (events->first + 1) % WW_CHANNEL_EVENTS_MAX;
	events->count--;
	return WW_OK;
}

/* --- frames that are late --- */

void ww_channel_begin_deadline(struct ww_channel *channel, uint64_t period_ns)
{
	channel->deadline = (struct ww_frame_deadline){
		.period_ns = period_ns,
		.since_ns = ww_clock_now_ns(),
	};
}

void ww_channel_check_deadline(struct ww_channel *channel)
{
	struct ww_frame_deadline *deadline = &channel->deadline;
	uint64_t published_ns;
	uint64_t now_ns;
	uint64_t periods;

	if (deadline->period_ns == 0 || ww_channel_has_ended(channel))
		return;
	published_ns = ww_ring_published_ns(&channel->ring);
	now_ns = ww_clock_now_ns();
	if (published_ns > deadline->since_ns && published_ns <= now_ns) {
		deadline->since_ns = published_ns;
		deadline->counted = 0;
	}
	periods = (now_ns - deadline->since_ns) / deadline->period_ns;
	if (periods <= deadline->counted)
		return;
	deadline->missed += periods - deadline->counted;
	deadline->counted = periods;
	ww_channel_tell(channel, WW_CHANNEL_DEADLINE_MISSED)->waited_ns = now_ns -
		deadline->since_ns;
}

uint64_t ww_channel_next_late_ns(const struct ww_channel *channel, uint64_t deadline_ns)
{
	const struct ww_frame_deadline *deadline = &channel->deadline;
	uint64_t late_ns;

	if (deadline->period_ns == 0 || ww_channel_has_ended(channel) ||
		__builtin_mul_overflow(deadline->counted + 1, deadline->period_ns, &late_ns) ||
		__builtin_add_overflow(late_ns, deadline->since_ns, &late_ns))
		return deadline_ns;
	return late_ns < deadline_ns ? late_ns : deadline_ns;
}

void ww_channel_check_end(struct ww_channel *channel)
{
	if (channel->events.is_end_told || !ww_channel_has_ended(channel))
		return;
	channel->events.is_end_told = true;
	ww_channel_tell(channel,
		ww_channel_is_closed(channel) ? WW_CHANNEL_PRODUCER_CLOSED
					      : WW_CHANNEL_PRODUCER_ENDED);
}
