/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.c - the consumers that join a channel, and those that end, see consumers.h
 *
 * Each consumer has put an object inside the channel's. The broker counts these in a field of the
 * producer's signal page (`members`) before it answers the put, so the producer learns of a
 * newcomer by one load, and asks the broker only then.
 *
 * A consumer whose marks are not valid harms only itself: its frames are not kept for it.
 *
 * The producer also finds requests to evict a consumer there (eviction_request.h).
 *
 * There are few names for consumers, so the producer removes objects of another user that are not
 * consumers, and consumers that are refused: they would keep names from others.
 */
#include "channel/consumers.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "channel/eviction_request.h"
#include "channel/producer.h"
#include "wire/name.h"
#include "wire/signal_page.h"

#define CONSUMER "consumer-" /* then a number: the names inside the channel */

WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- newcomers --- */

/* A newcomer that was found, and what it is among. */
struct meeting {
	struct ww_channel *channel;
	ww_snapshot *snapshot;
};

static ww_status view_open(void *context, struct ww_group_member *member,
	const struct ww_get_reply *grant)
{
	struct ww_consumer_view *view = ww_container(member, struct ww_consumer_view, member);
	const struct ww_channel *channel = context;
	const struct ww_ring_size size = ww_channel_ring_size(channel);
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_channel_consumer_ref ref;

	ww_try(ww_consumer_ref_read(granted->description, granted->description_bytes, &ref));
	if (ref.slot_count != channel->form.slot_count)
		return ww_fail(WW_ERR_PROTOCOL, "it has marks for %" PRIu32 " slots, not %" PRIu32,
			ref.slot_count, channel->form.slot_count);
	ww_try(ww_group_member_map(member, grant, ref.page_bytes, ref.page_id));
	return ww_channel_marks_import(&view->marks, grant->request.fds_come[1], ref.marks_bytes,
		channel->form.channel_id, &size);
}

static const struct ww_group_kind consumer_kind = {
	.kind = WW_OBJECT_CHANNEL,
	.access = WW_WIRE_ACCESS_READ,
	.fd_count = 2, /* the signal page, the marks */
	.has_pidfd = true,
	.open = view_open,
};

/* Whether the channel refuses a newcomer; then nothing is kept for it. */
static uint32_t find_refusal(const struct meeting *meeting, const struct ww_consumer_view *view)
{
	uint32_t most = meeting->channel->ring.header->consumers_per_uid_max;

	if (view->marks.runs_ahead && view->member.uid != geteuid())
		return WW_WIRE_CHANNEL_EVICTION_REASON_RUNS_AHEAD;
	if (most &&
		ww_consumers_count_older(meeting->channel, meeting->snapshot, view->member.id) >=
			most)
		return WW_WIRE_CHANNEL_EVICTION_REASON_LIMIT;
	return 0;
}

static void view_join(const struct meeting *meeting, const struct ww_object_info *info,
	struct ww_consumer_view *view)
{
	struct ww_channel *channel = meeting->channel;
	uint32_t refusal = channel->is_producer ? find_refusal(meeting, view) : 0;

	channel->consumers.count++;
	if (!refusal) {
		ww_channel_tell_of(channel, WW_CHANNEL_CONSUMER_JOINED, view);
		return;
	}
	view->is_ignored = true;
	ww_producer_evict(ww_producer_of(channel), view, refusal);
	if (ww_group_expel(channel->broker, info)) {
		ww_group_remove(&channel->consumers.group, &view->member);
		ww_consumer_view_free(view);
	}
}

/*
 * Whether a name inside the channel is one that a consumer may take. Other processes may have put
 * any number of others there, so this is quick.
 */
static bool find_number(const struct ww_channel *channel, const char *name, uint32_t *out_number)
{
	const char *digits = name + WW_NAME_INSIDE_CHARS + strlen(CONSUMER);
	char expected[WW_CHANNEL_NAME_BYTES];
	char what[32];

	*out_number = 0;
	if (strncmp(name + WW_NAME_INSIDE_CHARS, CONSUMER, strlen(CONSUMER)) != 0 ||
		!isdigit((unsigned char)*digits))
		return false;
	*out_number = (uint32_t)strtoul(digits, NULL, 10);
	snprintf(what, sizeof(what), CONSUMER "%" PRIu32, *out_number);
	ww_channel_name(channel, what, expected);
	return *out_number < channel->form.consumers_max && !strcmp(name, expected);
}

static ww_status meet_one(void *context, const struct ww_object_info *info)
{
	WW_CLEANUP(ww_consumer_view_free_p) struct ww_consumer_view *view = NULL;
	struct meeting *meeting = context;
	struct ww_channel *channel = meeting->channel;
	uint32_t number;

	if (ww_eviction_request_is(info)) /* others are removed */
		return ww_eviction_request_may(info->uid)
			? WW_OK
			: ww_fail(WW_ERR_PROTOCOL, "the producer obeys its own user and root only");
	if (!find_number(channel, info->name, &number))
		return WW_OK; /* it occupies no name of a consumer */
	view = calloc(1, sizeof(*view));
	if (!view)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a consumer: out of memory");
	view->number = number;
	ww_try(ww_group_get_listed(&consumer_kind, channel->broker, info, channel, &view->member));
	view->is_trusted = ww_channel_is_trusted(view->member.uid == geteuid(),
		ww_ring_flags(&channel->ring), ww_channel_marks_flags(&view->marks));
	ww_try(ww_group_add(&channel->consumers.group, &view->member));
	view_join(meeting, info, ww_steal(view));
	return WW_OK;
}

ww_status ww_consumers_list(const struct ww_channel *channel, ww_snapshot **out_snapshot)
{
	char prefix[WW_CHANNEL_NAME_BYTES];

	ww_channel_name(channel, CONSUMER, prefix);
	return ww_snapshot_create(channel->broker, prefix, WW_SNAPSHOT_OBJECTS, out_snapshot);
}

static ww_status find_info(ww_snapshot *snapshot, const uint8_t object_id[WW_WIRE_ID_BYTES],
	struct ww_object_info *info)
{
	for (size_t i = 0; ww_snapshot_object(snapshot, i, info) == WW_OK; i++) {
		if (!memcmp(info->object_id, object_id, sizeof(info->object_id)))
			return WW_OK;
	}
	return WW_ERR_NOT_FOUND;
}

uint32_t ww_consumers_count_older(const struct ww_channel *channel, ww_snapshot *snapshot,
	const uint8_t object_id[WW_WIRE_ID_BYTES])
{
	struct ww_object_info other = WW_INIT(struct ww_object_info);
	struct ww_object_info own = WW_INIT(struct ww_object_info);
	uint32_t count = 0;
	uint32_t number;

	if (find_info(snapshot, object_id, &own) != WW_OK)
		return 0;
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &other) == WW_OK; i++) {
		count += other.uid == own.uid && other.generation < own.generation &&
			find_number(channel, other.name, &number);
	}
	return count;
}

static ww_status look_at_all(void *context)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_channel *channel = context;
	struct meeting meeting = {.channel = channel};

	ww_try(ww_consumers_list(channel, &snapshot));
	meeting.snapshot = snapshot;
	ww_try(ww_group_look(&channel->consumers.group, snapshot,
		channel->is_producer ? channel->broker : NULL, meet_one, &meeting));
	if (channel->is_producer)
		ww_eviction_requests_obey(channel, snapshot);
	return WW_OK;
}

static uint32_t count_joined(const struct ww_channel *channel)
{
	return ww_group_count(ww_channel_producer_page(channel));
}

bool ww_consumers_are_met(const struct ww_channel *channel)
{
	return count_joined(channel) == channel->consumers.group.newcomers.seen;
}

bool ww_consumers_have_come(const struct ww_channel *channel)
{
	return ww_group_may_meet(&channel->consumers.group.newcomers, count_joined(channel));
}

ww_status ww_consumers_meet(struct ww_channel *channel)
{
	return ww_group_meet(&channel->consumers.group.newcomers, count_joined(channel),
		look_at_all, channel);
}

/* --- those that end --- */

/* Whether its work on a slot, or on what it has marked, goes on. */
static bool view_is_busy(const struct ww_consumer_view *view)
{
	uint64_t value;

	for (uint32_t i = 0; i < view->marks.mark_count; i++) {
		if (ww_channel_marks_frame(&view->marks, i, &value) &&
			(!value || !ww_consumer_view_has_reached(view, value)))
			return true;
	}
	for (uint32_t i = 0; view->marks.runs_ahead && i < view->marks.slot_count; i++) {
		if (!ww_consumer_view_has_reached(view, ww_channel_marks_released(&view->marks, i)))
			return true;
	}
	return false;
}

static void view_forget(struct ww_channel *channel, struct ww_consumer_view *view)
{
	struct ww_consumers *consumers = &channel->consumers;

	ww_channel_tell_of(channel,
		ww_consumer_view_has_left(view) ? WW_CHANNEL_CONSUMER_LEFT
						: WW_CHANNEL_CONSUMER_ENDED,
		view);
	if (consumers->blocker == view)
		ww_producer_note_blocker(channel, NULL);
	ww_group_remove(&consumers->group, &view->member);
	consumers->count -= !view->is_evicted;
	ww_consumer_view_free(view);
}

/* Of an observer: what the producer has done, as the ring says. */
static void view_note_eviction(struct ww_channel *channel, struct ww_consumer_view *view)
{
	const struct ww_ring *ring = &channel->ring;

	if (channel->is_producer || view->is_evicted ||
		!ww_ring_has_evicted(ring, view->number, ww_ring_consumer_id(view->member.id)))
		return;
	view->is_evicted = true;
	ww_attachments_fini(&view->request);
	channel->consumers.count--;
	ww_channel_tell_of(channel, WW_CHANNEL_CONSUMER_EVICTED, view)
		->waited_ns = ring->evictions[view->number].waited_ns;
}

void ww_consumers_forget_ended(struct ww_channel *channel)
{
	struct ww_list *list = &channel->consumers.group.members;
	struct ww_list *next;

	for (struct ww_list *link = list->next; link != list; link = next) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);

		next = link->next;
		view_note_eviction(channel, view);
		if (ww_group_member_has_ended(&view->member) ||
			(ww_consumer_view_has_left(view) && !view_is_busy(view)))
			view_forget(channel, view);
	}
}
