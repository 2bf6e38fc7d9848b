/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_wait.c - waiting for an event of a channel, and for its consumers
 *
 * A thread that waits for an event, or for consumers, looks at what can be seen in shared memory.
 * The producer and observers sleep on the count of members in the producer's signal page, which the
 * broker wakes when a consumer comes; a consumer sleeps on the ring, which the producer wakes when
 * it closes the channel. Nothing wakes for the end of a process, so each sleep is short.
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "channel/channel.h"
#include "channel/eventfd.h"
#include "channel/producer.h"
#include "channel/reattach.h"

#define EVENT_V1_BYTES  sizeof(struct ww_channel_event)
#define JOINING_LOOK_NS 1000000 /* a consumer that has come has begun some microseconds later */

static bool sees_consumers(const struct ww_channel *channel)
{
	return channel->is_producer || channel->is_observer;
}

/* Looks at all that there is to see. Return: WW_OK; as ww_consumers_meet(). */
static ww_status look(struct ww_channel *channel)
{
	ww_channel_look_at_processes(channel);
	ww_channel_check_end(channel);
	ww_channel_check_deadline(channel);
	ww_try(ww_reattach_follow(channel));
	if (!sees_consumers(channel))
		return WW_OK;
	ww_try(ww_consumers_meet(channel));
	ww_consumers_forget_ended(channel);
	return WW_OK;
}

static enum ww_await_look look_for_change(void *context)
{
	const struct ww_channel *channel = context;

	if (!channel->events.is_end_told && ww_channel_has_ended(channel))
		return WW_AWAIT_DONE;
	return sees_consumers(channel) && ww_consumers_have_come(channel) ? WW_AWAIT_DONE
									  : WW_AWAIT_SLEEP;
}

/* Return: WW_OK (it is time to look again); WW_TIMED_OUT; WW_CANCELLED. */
static ww_status wait_until(struct ww_channel *channel, uint64_t until_ns, uint64_t deadline_ns)
{
	const uint32_t *wakes = sees_consumers(channel)
		? &ww_channel_producer_page(channel)->header->members
		: &channel->ring.header->wakes;
	ww_status status = ww_await(wakes, look_for_change, channel, until_ns);

	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

/* Likewise. */
static ww_status wait_for_change(struct ww_channel *channel, uint64_t deadline_ns)
{
	return wait_until(channel,
		ww_channel_next_late_ns(channel, ww_clock_sooner_ns(WW_PEER_LOOK_NS, deadline_ns)),
		deadline_ns);
}

static ww_status next_event(struct ww_channel *channel, uint64_t deadline_ns,
	struct ww_channel_event *out_event)
{
	for (;;) {
		ww_status status;

		ww_try(look(channel));
		if (ww_channel_events_take(&channel->events, out_event) == WW_OK)
			return WW_OK;
		status = wait_for_change(channel, deadline_ns);
		if (status != WW_OK)
			return status;
	}
}

ww_status ww_channel_next_event(ww_channel *channel, uint64_t timeout_ns, ww_cancel *cancel,
	struct ww_channel_event *out_event)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	struct ww_channel_event event;
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(channel && out_event, "ww_channel_next_event: channel or out_event is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(ww_params_check(out_event, EVENT_V1_BYTES, "ww_channel_event"));
	status = next_event(channel, ww_clock_deadline_ns(timeout_ns), &event);
	ww_channel_eventfd_set(channel);
	if (status != WW_OK)
		return status;
	return ww_params_write(out_event, &event, sizeof(event), EVENT_V1_BYTES,
		"ww_channel_event");
}

static ww_status check_wait(const struct ww_channel *channel, uint32_t count)
{
	if (!sees_consumers(channel))
		return ww_fail(WW_ERR_ACCESS,
			"cannot wait for consumers: this is a consumer of the channel; its producer and "
			"observers can");
	if (count > channel->form.consumers_max)
		return ww_fail(WW_ERR_INVALID,
			"cannot wait for %u consumers: the channel has at most %u (consumers_max)",
			count, channel->form.consumers_max);
	return WW_OK;
}

/* One that is joining would miss frames that are published before it has begun. */
static uint32_t count_begun(const struct ww_channel *channel)
{
	uint32_t count = 0;

	ww_list_for_each (link, &channel->consumers.group.members) {
		const struct ww_consumer_view *view = ww_consumer_view_of(link);

		count += !view->is_evicted &&
			__atomic_load_n(&view->marks.header->next, __ATOMIC_ACQUIRE) != 0;
	}
	return count;
}

static ww_status wait_consumers(ww_channel *channel, uint32_t count, uint64_t deadline_ns)
{
	ww_status status = WW_OK;

	while (status == WW_OK) {
		ww_try(look(channel));
		if (count_begun(channel) >= count)
			return WW_OK;
		if (channel->is_producer)
			ww_try(ww_producer_check_name(ww_producer_of(channel)));
		if (ww_channel_has_ended(channel) && !ww_reattach_is_wanted(channel))
			return ww_channel_fail_ended(channel);
		/* A consumer notes in its own page that it has begun, and this wakes no process. */
		if (channel->consumers.count >= count)
			status = wait_until(channel,
				ww_clock_sooner_ns(JOINING_LOOK_NS, deadline_ns), deadline_ns);
		else
			status = wait_for_change(channel, deadline_ns);
	}
	return status;
}

ww_status ww_channel_wait_consumers(ww_channel *channel, uint32_t count, uint64_t timeout_ns,
	ww_cancel *cancel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	ww_status status;

	ww_try(ww_process_enter());
	ww_require(channel, "ww_channel_wait_consumers: channel is NULL");
	ww_try(ww_ref_check(&channel->ref, "a channel"));
	ww_try(check_wait(channel, count));
	status = wait_consumers(channel, count, ww_clock_deadline_ns(timeout_ns));
	ww_channel_eventfd_set(channel);
	return status;
}
