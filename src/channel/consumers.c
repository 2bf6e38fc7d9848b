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

#include "base/clock.h"
#include "base/error.h"
#include "channel/eviction_request.h"
#include "channel/producer.h"
#include "client/request.h"
#include "share/get_reply.h"
#include "share/inside.h"
#include "wire/name.h"
#include "wire/signal_page.h"

#define CONSUMER "consumer-"          /* then a number: the names inside the channel */
#define PAUSE_NS UINT64_C(1000000000) /* before a broker that did not answer is asked again */

WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- newcomers --- */

static bool is_known(const struct ww_consumers *consumers, const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_list_for_each (link, &consumers->list) {
		if (!memcmp(ww_consumer_view_of(link)->object_id, id, WW_WIRE_ID_BYTES))
			return true;
	}
	return false;
}

/* A newcomer that was found, and what it is among. */
struct meeting {
	struct ww_channel *channel;
	ww_snapshot *snapshot;
	const struct ww_object_info *info;
	uint32_t number;
};

static ww_status view_open(struct ww_consumer_view *view, const struct ww_channel *channel,
	const struct ww_get_reply *grant)
{
	const struct ww_ring_size size = ww_channel_ring_size(channel);
	const struct ww_wire_granted *granted = &grant->granted;
	struct ww_wire_channel_consumer_ref ref;

	ww_try(ww_consumer_ref_read(granted->description, granted->description_bytes, &ref));
	if (grant->request.fds_come_count < 2 || ref.slot_count != channel->form.slot_count)
		return ww_fail(WW_ERR_PROTOCOL,
			"a consumer of the channel shows no page, or no marks, for it");
	ww_try(ww_signal_map_import(grant->request.fds_come[0], ref.page_bytes, ref.page_id,
		&view->page));
	view->cell = ww_signal_map_cell(view->page, sizeof(struct ww_layout_signal_page));
	if (!view->cell)
		return ww_fail(WW_ERR_PROTOCOL, "a consumer of the channel shows an empty page");
	ww_try(ww_peer_process_get(grant, 2, &view->process));
	return ww_channel_marks_import(&view->marks, grant->request.fds_come[1], ref.marks_bytes,
		channel->form.channel_id, &size);
}

static bool is_forged(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH ||
		status == WW_ERR_DESCRIPTOR;
}

/* Whether the channel refuses a newcomer; then nothing is kept for it. */
static uint32_t find_refusal(const struct meeting *meeting, const struct ww_consumer_view *view)
{
	uint32_t most = meeting->channel->ring.header->consumers_per_uid_max;

	if (view->marks.runs_ahead && view->uid != geteuid())
		return WW_WIRE_CHANNEL_EVICTION_REASON_RUNS_AHEAD;
	if (most &&
		ww_consumers_count_older(meeting->channel, meeting->snapshot, view->object_id) >=
			most)
		return WW_WIRE_CHANNEL_EVICTION_REASON_LIMIT;
	return 0;
}

static void view_join(const struct meeting *meeting, struct ww_consumer_view *view)
{
	struct ww_channel *channel = meeting->channel;
	uint32_t refusal = channel->is_producer ? find_refusal(meeting, view) : 0;

	ww_list_append(&channel->consumers.list, &view->link);
	channel->consumers.count++;
	if (!refusal) {
		ww_channel_tell_of(channel, WW_CHANNEL_CONSUMER_JOINED, view);
		return;
	}
	view->is_ignored = true;
	ww_producer_evict(ww_producer_of(channel), view, refusal);
	if (ww_inside_expel(channel->broker, meeting->info)) {
		ww_list_remove(&view->link);
		ww_consumer_view_free(view);
	}
}

static ww_status view_add(const struct meeting *meeting, struct ww_get_reply *grant)
{
	WW_CLEANUP(ww_consumer_view_free_p) struct ww_consumer_view *view = NULL;
	ww_status status;

	if (is_known(&meeting->channel->consumers, grant->granted.id))
		return WW_OK;
	view = calloc(1, sizeof(*view));
	if (!view)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a consumer: out of memory");
	memcpy(view->object_id, grant->granted.id, sizeof(view->object_id));
	view->number = meeting->number;
	view->uid = grant->granted.uid;
	view->pid = meeting->info->pid;
	status = view_open(view, meeting->channel, grant);
	if (status < 0)
		return is_forged(status) ? WW_ERR_UNSUPPORTED : status;
	view->is_trusted = ww_channel_is_trusted(view->uid == geteuid(),
		ww_ring_flags(&meeting->channel->ring), ww_channel_marks_flags(&view->marks));
	ww_get_reply_keep(grant, &view->attachments);
	view_join(meeting, ww_steal(view));
	return WW_OK;
}

static ww_status view_get(const struct meeting *meeting)
{
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_get_reply_init(&grant, meeting->channel->broker, WW_WIRE_GET, &message,
		WW_OBJECT_CHANNEL);
	ww_get_reply_set_name(&grant, &message, meeting->info->name, 0);
	ww_try(ww_get_reply_ask(&grant));
	return view_add(meeting, &grant);
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
	struct meeting *meeting = context;

	meeting->info = info;
	if (ww_eviction_request_is(info)) /* others are removed */
		return ww_eviction_request_may(info->uid) ? WW_OK : WW_ERR_ACCESS;
	if (is_known(&meeting->channel->consumers, info->object_id))
		return WW_OK;
	if (!find_number(meeting->channel, info->name, &meeting->number))
		return WW_OK; /* it occupies no name of a consumer */
	return view_get(meeting);
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

static ww_status look_at_all(struct ww_channel *channel)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct meeting meeting = {.channel = channel};

	ww_try(ww_consumers_list(channel, &snapshot));
	meeting.snapshot = snapshot;
	ww_try(ww_inside_look(snapshot, channel->is_producer ? channel->broker : NULL, meet_one,
		&meeting));
	if (channel->is_producer)
		ww_eviction_requests_obey(channel, snapshot);
	return WW_OK;
}

bool ww_consumers_are_met(const struct ww_channel *channel)
{
	return ww_inside_count(ww_channel_producer_page(channel)) ==
		channel->consumers.members_seen;
}

bool ww_consumers_have_come(const struct ww_channel *channel)
{
	return !ww_consumers_are_met(channel) &&
		ww_clock_now_ns() >= channel->consumers.ask_again_ns;
}

ww_status ww_consumers_meet(struct ww_channel *channel)
{
	struct ww_consumers *consumers = &channel->consumers;
	uint32_t members = ww_inside_count(ww_channel_producer_page(channel));
	struct ww_error record;
	ww_status status;

	if (members == consumers->members_seen)
		return WW_OK;
	if (ww_clock_now_ns() < consumers->ask_again_ns)
		return WW_NOT_READY;
	ww_error_save(&record);
	status = look_at_all(channel);
	consumers->ask_again_ns = status == WW_ERR_NO_BROKER ? ww_clock_deadline_ns(PAUSE_NS) : 0;
	if (status == WW_ERR_NO_BROKER) {
		ww_error_restore(&record);
		return WW_NOT_READY;
	}
	ww_try(status);
	consumers->members_seen = members;
	return WW_OK;
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
	ww_list_remove(&view->link);
	consumers->count -= !view->is_evicted;
	ww_consumer_view_free(view);
}

/* Of an observer: what the producer has done, as the ring says. */
static void view_note_eviction(struct ww_channel *channel, struct ww_consumer_view *view)
{
	const struct ww_ring *ring = &channel->ring;

	if (channel->is_producer || view->is_evicted ||
		!ww_ring_has_evicted(ring, view->number, ww_ring_consumer_id(view->object_id)))
		return;
	view->is_evicted = true;
	ww_attachments_fini(&view->request);
	channel->consumers.count--;
	ww_channel_tell_of(channel, WW_CHANNEL_CONSUMER_EVICTED, view)
		->waited_ns = ring->evictions[view->number].waited_ns;
}

void ww_consumers_forget_ended(struct ww_channel *channel)
{
	struct ww_list *list = &channel->consumers.list;
	struct ww_list *next;

	for (struct ww_list *link = list->next; link != list; link = next) {
		struct ww_consumer_view *view = ww_consumer_view_of(link);

		next = link->next;
		view_note_eviction(channel, view);
		if (ww_consumer_view_is_ended(view) ||
			(ww_consumer_view_has_left(view) && !view_is_busy(view)))
			view_forget(channel, view);
	}
}
