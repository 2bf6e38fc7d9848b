/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumers.c - the consumers of a channel, as its producer sees them, see consumers.h
 *
 * Each consumer has put an object inside the channel's. The broker counts these in a field of the
 * producer's signal page (`members`) before it answers the put, so the producer learns of a
 * newcomer by one load, and asks the broker only then.
 *
 * A consumer that shows what are no marks harms only itself: its frames are not kept for it.
 */
#include "channel/consumers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "client/request.h"
#include "share/get_reply.h"
#include "wire/signal_page.h"

#define PAUSE_NS UINT64_C(1000000000) /* before a broker that did not answer is asked again */

WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

void ww_consumers_init(struct ww_consumers *consumers)
{
	ww_list_init(&consumers->list);
}

static void view_free(struct ww_consumer_view *view)
{
	ww_attachments_fini(&view->attachments);
	ww_channel_marks_fini(&view->marks);
	ww_signal_map_unref(view->page);
	free(view);
}

WW_DEFINE_CLEANUP(struct ww_consumer_view, view_free)

static void view_forget(struct ww_consumers *consumers, struct ww_consumer_view *view)
{
	ww_list_remove(&view->link);
	consumers->count--;
	view_free(view);
}

void ww_consumers_fini(struct ww_consumers *consumers)
{
	struct ww_list *link;

	while ((link = ww_list_take_first(&consumers->list)))
		view_free(ww_container(link, struct ww_consumer_view, link));
}

/* --- newcomers --- */

static bool is_known(const struct ww_consumers *consumers, const uint8_t id[WW_WIRE_ID_BYTES])
{
	ww_list_for_each (link, &consumers->list) {
		if (!memcmp(ww_container(link, struct ww_consumer_view, link)->object_id, id,
			    WW_WIRE_ID_BYTES))
			return true;
	}
	return false;
}

static ww_status view_open(struct ww_consumer_view *view, const struct ww_channel *channel,
	const struct ww_get_reply *grant)
{
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
	return ww_channel_marks_import(&view->marks, grant->request.fds_come[1], ref.marks_bytes,
		channel->form.channel_id, ref.slot_count);
}

static bool is_forged(ww_status status)
{
	return status == WW_ERR_PROTOCOL || status == WW_ERR_VERSION || status == WW_ERR_MISMATCH ||
		status == WW_ERR_DESCRIPTOR;
}

static ww_status view_add(struct ww_consumers *consumers, const struct ww_channel *channel,
	struct ww_get_reply *grant)
{
	WW_CLEANUP(view_free_p) struct ww_consumer_view *view = NULL;
	ww_status status;

	if (is_known(consumers, grant->granted.id))
		return WW_OK;
	view = calloc(1, sizeof(*view));
	if (!view)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot note a consumer: out of memory");
	memcpy(view->object_id, grant->granted.id, sizeof(view->object_id));
	view->is_trusted = grant->granted.uid == geteuid();
	status = view_open(view, channel, grant);
	if (status < 0)
		return is_forged(status) ? WW_OK : status;
	ww_get_reply_keep(grant, &view->attachments);
	ww_list_append(&consumers->list, &view->link);
	consumers->count++;
	(void)ww_steal(view);
	return WW_OK;
}

static ww_status view_get(struct ww_consumers *consumers, const struct ww_channel *channel,
	const char *name)
{
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;

	ww_get_reply_init(&grant, channel->broker, WW_WIRE_GET, &message, WW_OBJECT_CHANNEL);
	ww_get_reply_set_name(&grant, &message, name, 0);
	ww_try(ww_get_reply_ask(&grant));
	return view_add(consumers, channel, &grant);
}

/* Whether a failure to get a consumer's object means that there is no such consumer any more. */
static bool is_nobody(ww_status status)
{
	return status == WW_ERR_NOT_FOUND || status == WW_ERR_UNSUPPORTED ||
		status == WW_ERR_ACCESS || status == WW_ERR_STATE;
}

/* Whether a name inside the channel is one that a consumer may take. */
static bool is_consumer_name(const struct ww_channel *channel, const char *name)
{
	char expected[WW_CHANNEL_NAME_BYTES];
	char what[32];

	for (uint32_t i = 0; i < channel->form.consumers_max; i++) {
		snprintf(what, sizeof(what), "consumer-%" PRIu32, i);
		ww_channel_name(channel, what, expected);
		if (!strcmp(name, expected))
			return true;
	}
	return false;
}

static ww_status look_at_all(struct ww_consumers *consumers, const struct ww_channel *channel)
{
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;
	struct ww_object_info info = WW_INIT(struct ww_object_info);
	char prefix[WW_CHANNEL_NAME_BYTES];

	ww_channel_name(channel, "consumer-", prefix);
	ww_try(ww_snapshot_create(channel->broker, prefix, WW_SNAPSHOT_OBJECTS, &snapshot));
	for (size_t i = 0; ww_snapshot_object(snapshot, i, &info) == WW_OK; i++) {
		ww_status status = WW_OK;

		if (!is_known(consumers, info.object_id) && is_consumer_name(channel, info.name))
			status = view_get(consumers, channel, info.name);
		if (!is_nobody(status))
			ww_try(status);
	}
	return WW_OK;
}

static uint32_t count_members(const struct ww_channel *channel)
{
	return __atomic_load_n(&channel->timeline->page->header->members, __ATOMIC_SEQ_CST);
}

ww_status ww_consumers_meet(struct ww_consumers *consumers, struct ww_channel *channel)
{
	uint32_t members = count_members(channel);
	struct ww_error record;
	ww_status status;

	if (members == consumers->members_seen)
		return WW_OK;
	if (ww_clock_now_ns() < consumers->ask_again_ns)
		return WW_NOT_READY;
	ww_error_save(&record);
	status = look_at_all(consumers, channel);
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

bool ww_consumer_view_has_reached(const struct ww_consumer_view *view, uint64_t value)
{
	struct ww_signal_look look;

	if (ww_consumer_view_is_ended(view))
		return true;
	ww_signal_cell_look(view->cell, &look);
	return look.reached >= value;
}

/* It left, and no slot waits for it any more. */
static bool view_is_over(const struct ww_consumer_view *view)
{
	if (ww_consumer_view_is_ended(view))
		return true;
	if (__atomic_load_n(&view->marks.header->next, __ATOMIC_ACQUIRE) != WW_CHANNEL_NEVER)
		return false;
	for (uint32_t i = 0; i < view->marks.slot_count; i++) {
		uint64_t value = ww_channel_marks_released(&view->marks, i);

		if (!ww_consumer_view_has_reached(view, value))
			return false;
	}
	return true;
}

void ww_consumers_forget_ended(struct ww_consumers *consumers)
{
	struct ww_list *next;

	for (struct ww_list *link = consumers->list.next; link != &consumers->list; link = next) {
		struct ww_consumer_view *view = ww_container(link, struct ww_consumer_view, link);

		next = link->next;
		if (view_is_over(view))
			view_forget(consumers, view);
	}
}

/* --- what they use --- */

enum ww_slot_use ww_consumers_use(const struct ww_consumers *consumers, uint32_t slot,
	uint64_t frame, bool is_owed, const struct ww_consumer_view **out_view)
{
	enum ww_slot_use worst = WW_SLOT_UNUSED;

	*out_view = NULL;
	ww_list_for_each (link, &consumers->list) {
		const struct ww_consumer_view *view = ww_container(link, struct ww_consumer_view,
			link);
		uint64_t value;
		enum ww_slot_use use = ww_channel_marks_use(&view->marks, slot, frame, is_owed,
			&value);

		if (use == WW_SLOT_UNUSED || ww_consumer_view_is_ended(view))
			continue;
		if (use == WW_SLOT_RELEASING && ww_consumer_view_has_reached(view, value))
			continue;
		if (use > worst) {
			worst = use;
			*out_view = view;
		}
	}
	return worst;
}

void ww_consumers_wake(const struct ww_consumers *consumers, struct ww_ring *ring)
{
	ww_list_for_each (link, &consumers->list) {
		if (!ww_channel_marks_are_asleep(
			    &ww_container(link, struct ww_consumer_view, link)->marks))
			continue;
		ww_ring_wake(ring);
		return;
	}
}
