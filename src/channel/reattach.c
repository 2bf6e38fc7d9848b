/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reattach.c - a consumer that goes on with the next producer, see reattach.h
 */
#include "channel/reattach.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "channel/join.h"
#include "share/call_limit.h"
#include "share/get_reply.h"

#define ASK_AGAIN_NS  WW_PEER_LOOK_NS      /* for a name that is not there yet */
#define LOOK_AGAIN_NS UINT64_C(1000000000) /* for a name that has another channel */

/* What belongs to one producer, see struct ww_consumer. */
#define PART_BEGIN offsetof(struct ww_consumer, channel.form)
#define PART_BYTES (offsetof(struct ww_consumer, reattach) - PART_BEGIN)

ww_status ww_reattach_init(struct ww_consumer *consumer, ww_device *device, const char *name,
	const struct ww_consumer_params *params)
{
	struct ww_reattach *reattach = calloc(1, sizeof(*reattach));

	if (!reattach)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a channel: out of memory");
	reattach->device = ww_device_ref(device);
	strncpy(reattach->name, name, sizeof(reattach->name) - 1);
	reattach->params = *params;
	reattach->params.history = WW_CHANNEL_OLDEST;
	if (params->metadata_type) {
		/* It agreed with the channel's, so it fits. */
		strncpy(reattach->metadata_type, params->metadata_type,
			sizeof(reattach->metadata_type) - 1);
		reattach->params.metadata_type = reattach->metadata_type;
	}
	if (params->array) {
		reattach->array = *params->array;
		reattach->params.array = &reattach->array;
	}
	reattach->ask_ns = ww_clock_deadline_ns(LOOK_AGAIN_NS);
	consumer->reattach = reattach;
	return WW_OK;
}

/* --- former producers --- */

static bool is_needed(const struct ww_consumer *former)
{
	return former->channel.held > 0 || former->unsure.frame;
}

void ww_reattach_forget_former(struct ww_consumer *consumer)
{
	struct ww_list *next;

	for (struct ww_list *link = consumer->former.next; link != &consumer->former; link = next) {
		struct ww_consumer *former = ww_container(link, struct ww_consumer, of_current);

		next = link->next;
		if (is_needed(former))
			continue;
		ww_list_remove(link);
		ww_consumer_free(former);
	}
}

/* Changes the parts that belong to one producer. @fresh: it has the former ones afterwards */
static void change_parts(struct ww_consumer *consumer, struct ww_consumer *fresh)
{
	char *ours = (char *)consumer + PART_BEGIN;
	char *theirs = (char *)fresh + PART_BEGIN;
	char between[PART_BYTES];

	memcpy(between, ours, PART_BYTES);
	memcpy(ours, theirs, PART_BYTES);
	memcpy(theirs, between, PART_BYTES);
}

/* What is seen of the new producer's channel has nothing of the former one's. */
static void begin_anew(struct ww_channel *channel, uint64_t period_ns)
{
	uint64_t missed = channel->deadline.missed;

	ww_channel_begin_deadline(channel, period_ns);
	channel->deadline.missed = missed;
	ww_consumers_fini(&channel->consumers);
	memset(&channel->consumers, 0, sizeof(channel->consumers));
	ww_consumers_init(&channel->consumers);
	channel->events.is_end_told = false;
	ww_channel_tell(channel, WW_CHANNEL_REATTACHED);
}

static void attach(struct ww_consumer *consumer, struct ww_consumer *fresh)
{
	struct ww_reattach *reattach = consumer->reattach;
	struct ww_channel *channel = &consumer->channel;
	uint64_t period_ns = fresh->channel.deadline.period_ns;

	change_parts(consumer, fresh);
	fresh->channel.generation = channel->generation++;
	consumer->former_received += fresh->received;
	consumer->former_dropped += fresh->dropped;
	ww_list_append(&consumer->former, &fresh->of_current);
	ww_reattach_forget_former(consumer);
	reattach->is_over = false;
	reattach->has_told_end = false;
	reattach->ask_ns = ww_clock_deadline_ns(LOOK_AGAIN_NS);
	begin_anew(channel, period_ns);
}

/* --- the next producer --- */

/* Whether an error says that the name, or what it had, is not there, or not any more. */
static bool is_absent(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_PEER_LOST;
}

static ww_status try_attach(struct ww_consumer *consumer, uint64_t timeout_ns)
{
	struct ww_reattach *reattach = consumer->reattach;
	const struct ww_joining joining = {
		.device = reattach->device,
		.params = reattach->params,
		.timeout_ns = timeout_ns,
		.former = consumer->channel.form.channel_id,
	};
	struct ww_consumer *fresh = NULL;
	struct ww_call_limit limit;
	struct ww_error record;
	ww_status status;

	ww_error_save(&record);
	ww_call_limit_begin(&limit, timeout_ns);
	status = ww_join_name(&joining, consumer->channel.broker, reattach->name, &fresh);
	status = ww_call_limit_end(&limit, status);
	reattach->ask_ns = ww_clock_deadline_ns(ASK_AGAIN_NS);
	if (is_absent(status))
		status = WW_TIMED_OUT;
	if (status == WW_TIMED_OUT)
		ww_error_restore(&record);
	if (status == WW_OK)
		attach(consumer, fresh);
	return status;
}

static enum ww_await_look look_for_nothing(void *context)
{
	(void)context;
	return WW_AWAIT_SLEEP;
}

/* Until the broker may be asked again. */
static ww_status sleep_some(const struct ww_consumer *consumer, uint64_t deadline_ns)
{
	uint64_t until_ns = consumer->reattach->ask_ns;
	ww_status status;

	if (deadline_ns < until_ns)
		until_ns = deadline_ns;
	status = ww_await(&consumer->channel.ring.header->wakes, look_for_nothing, NULL, until_ns);
	return status == WW_TIMED_OUT && until_ns < deadline_ns ? WW_OK : status;
}

ww_status ww_reattach_wait(struct ww_consumer *consumer, uint64_t deadline_ns)
{
	for (;;) {
		ww_status status = WW_TIMED_OUT;

		if (ww_clock_now_ns() >= consumer->reattach->ask_ns)
			status = try_attach(consumer, ww_clock_left_ns(deadline_ns));
		if (status == WW_TIMED_OUT)
			status = sleep_some(consumer, deadline_ns);
		else
			return status;
		if (status != WW_OK)
			return status;
	}
}

/* --- a producer that was replaced, and lives --- */

/* That were not received, and will be. */
static bool has_frames(const struct ww_consumer *consumer)
{
	return !consumer->channel.is_observer && !ww_consumer_is_evicted(consumer) &&
		ww_ring_published(&consumer->channel.ring) >= consumer->next;
}

static bool name_has_other(const struct ww_consumer *consumer)
{
	const struct ww_channel *channel = &consumer->channel;
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_get_reply_init(&grant, channel->broker, WW_WIRE_GET, &message, WW_OBJECT_CHANNEL);
	ww_get_reply_set_name(&grant, &message, consumer->reattach->name, 0);
	return ww_get_reply_ask(&grant) == WW_OK &&
		memcmp(grant.granted.id, channel->form.channel_id, sizeof(grant.granted.id)) != 0;
}

bool ww_reattach_look(struct ww_consumer *consumer)
{
	struct ww_reattach *reattach = consumer->reattach;
	struct ww_error record;
	bool has_other;

	if (!reattach || reattach->is_over || has_frames(consumer) ||
		ww_clock_now_ns() < reattach->ask_ns)
		return false;
	ww_error_save(&record);
	has_other = name_has_other(consumer);
	ww_error_restore(&record);
	reattach->ask_ns = ww_clock_deadline_ns(LOOK_AGAIN_NS);
	return has_other;
}

void ww_reattach_note_end(struct ww_consumer *consumer)
{
	struct ww_reattach *reattach = consumer->reattach;

	if (!reattach || reattach->is_over)
		return;
	reattach->is_over = true;
	reattach->ask_ns = 0;
}

ww_status ww_reattach_follow(struct ww_channel *channel)
{
	struct ww_consumer *observer = ww_consumer_of(channel);
	ww_status status;

	if (!channel->is_observer || !observer->reattach)
		return WW_OK;
	if (ww_channel_has_ended(channel) || ww_reattach_look(observer))
		ww_reattach_note_end(observer);
	if (!observer->reattach->is_over || ww_clock_now_ns() < observer->reattach->ask_ns)
		return WW_OK;
	status = try_attach(observer, 0);
	return status == WW_TIMED_OUT ? WW_OK : status;
}

bool ww_reattach_is_wanted(struct ww_channel *channel)
{
	return !channel->is_producer && ww_consumer_of(channel)->reattach;
}

uint64_t ww_reattach_look_ns(const struct ww_consumer *consumer)
{
	const struct ww_reattach *reattach = consumer->reattach;

	/* While there are frames it does not ask, see ww_reattach_look(). */
	if (!reattach || (!reattach->is_over && has_frames(consumer)))
		return WW_NEVER;
	return reattach->ask_ns;
}
