/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join.c - becoming a consumer of a channel, see join.h
 *
 * A consumer gets the channel's object and the memory of the slots inside it, and puts an object of
 * its own inside: its signal page and its marks, under the first number that is free. The broker
 * tells the producer by a count in the producer's signal page before it answers. From then on the
 * producer looks at the marks before it takes a slot back. An observer puts nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "channel/join.h"
#include "share/sync_object.h"
#include "wire/name.h"

#define CONSUMER_MODE 0444 /* the mode of the channel decides */

WW_DEFINE_CLEANUP(ww_snapshot, ww_snapshot_free)

/* --- what the channel is --- */

static ww_status read_description(const struct ww_get_reply *grant,
	struct ww_wire_channel_ref *out_form, struct ww_frame_form *out_frame_form)
{
	const struct ww_wire_granted *granted = &grant->granted;

	if (granted->description_bytes != WW_CHANNEL_REF_BYTES + WW_ARRAY_RECORD_BYTES ||
		grant->request.fds_come_count < 2)
		return ww_fail(WW_ERR_PROTOCOL,
			"the channel's description is not valid, or lacks a descriptor");
	ww_try(ww_channel_ref_read(granted->description, WW_CHANNEL_REF_BYTES, out_form));
	if (memcmp(out_form->channel_id, granted->id, sizeof(granted->id)) != 0)
		return ww_fail(WW_ERR_PROTOCOL, "the channel's description is that of another one");
	return ww_frame_form_decode(out_frame_form, "channel", out_form->slot_bytes,
		out_form->metadata_bytes, granted->description + WW_CHANNEL_REF_BYTES);
}

/* A producer that promises a longer time, or none, does not match. */
static ww_status check_deadline(const struct ww_channel *channel, uint64_t wanted_ns)
{
	uint64_t promised_ns = channel->ring.header->deadline_ns;

	if (wanted_ns == 0 || (promised_ns != 0 && promised_ns <= wanted_ns))
		return WW_OK;
	if (promised_ns == 0)
		return ww_fail(WW_ERR_MISMATCH,
			"the channel's producer promises no deadline between frames, and one of %" PRIu64
			" ns was asked for",
			wanted_ns);
	return ww_fail(WW_ERR_MISMATCH,
		"the channel's producer promises a frame within %" PRIu64
		" ns after the last one, and %" PRIu64 " ns was asked for",
		promised_ns, wanted_ns);
}

/* --- parts --- */

static ww_status open_page(struct ww_consumer *consumer, const struct ww_get_reply *grant)
{
	const struct ww_wire_channel_ref *form = &consumer->channel.form;
	const struct ww_ring_size size = ww_channel_ring_size(&consumer->channel);

	ww_try(ww_get_reply_map_page(grant, form->page_bytes, form->page_id, &consumer->page));
	consumer->cell = ww_signal_map_cell(consumer->page, sizeof(struct ww_layout_signal_page));
	if (!consumer->cell)
		return ww_fail(WW_ERR_PROTOCOL, "the channel's producer shows an empty page");
	consumer->is_own_user = grant->granted.uid == geteuid();
	ww_try(ww_peer_process_get(grant, 2, &consumer->process));
	return ww_ring_import(&consumer->channel.ring, grant->request.fds_come[1], form->ring_bytes,
		form->channel_id, &size);
}

/* The producer puts the slots right after the channel. */
static ww_status get_slots(struct ww_channel *channel, const struct ww_joining *joining,
	uint32_t producer_uid)
{
	const struct ww_import_options options = {.access = WW_ACCESS_READ};
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	uint64_t timeout_ns = joining->timeout_ns;
	char name[WW_CHANNEL_NAME_BYTES];
	ww_status status;

	if (timeout_ns == 0 && !joining->former) /* a consumer that reattaches tries again later */
		timeout_ns = ww_broker_client_timeout_ns(channel->broker);
	ww_get_reply_init(&grant, channel->broker, WW_WIRE_GET, &message, WW_OBJECT_MEMORY);
	ww_channel_name(channel, "slots", name);
	ww_get_reply_set_name(&grant, &message, name, timeout_ns);
	status = ww_get_reply_ask(&grant);
	if (status != WW_OK)
		return status;
	if (grant.granted.uid != producer_uid ||
		grant.description.memory.bytes <
			channel->form.slot_bytes * channel->form.slot_count)
		return ww_fail(WW_ERR_PROTOCOL,
			"the channel's slots are too small, or another process has put them");
	return ww_get_reply_map(&grant, joining->device, &options, &channel->memory);
}

static ww_status describe_consumer(const struct ww_consumer *consumer,
	struct ww_put_request *request)
{
	const struct ww_signal_map *page = consumer->channel.timeline->page;
	struct ww_wire_channel_consumer_ref ref = {
		.page_bytes = page->cpu->bytes,
		.marks_bytes = consumer->marks.mapping->bytes,
		.slot_count = consumer->marks.slot_count,
	};

	ww_sync_object_request_init(request, WW_OBJECT_CHANNEL, page->id, NULL);
	request->put.mode = CONSUMER_MODE;
	ww_try(ww_sync_object_add_page(request, consumer->channel.timeline->page));
	ww_try(ww_put_request_add_file(request, consumer->marks.mapping, WW_ACCESS_READ,
		WW_PUT_TO_READERS));
	memcpy(ref.page_id, page->id, sizeof(ref.page_id));
	ww_consumer_ref_write(&ref, request->put.description);
	request->put.description_bytes = WW_CONSUMER_REF_BYTES;
	return WW_OK;
}

/* Under the first number that is free. */
static ww_status put_consumer(struct ww_consumer *consumer)
{
	struct ww_channel *channel = &consumer->channel;
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};
	ww_status status = WW_ERR_EXISTS;
	struct ww_error record;
	char what[32];

	ww_try(describe_consumer(consumer, &request));
	ww_error_save(&record);
	for (uint32_t i = 0; i < channel->form.consumers_max && status == WW_ERR_EXISTS; i++) {
		snprintf(what, sizeof(what), "consumer-%" PRIu32, i);
		memset(request.put.name, 0, sizeof(request.put.name));
		ww_channel_name(channel, what, (char *)request.put.name);
		status = ww_peer_process_put(&request, &channel->timeline->attachments,
			channel->broker, WW_PUT_TO_READERS);
		consumer->number = i;
	}
	if (status == WW_ERR_EXISTS)
		return ww_fail(WW_ERR_LIMIT,
			"the channel has %" PRIu32 " consumers already, as many as it may have; "
			"make it with a larger consumers_max",
			channel->form.consumers_max);
	if (status == WW_OK)
		ww_error_restore(&record);
	return status;
}

/*
 * One consumer more than the user may have leaves again. Those that came before it count, so of
 * several that come at once the right number stays. The producer goes by the same rule.
 */
static ww_status check_limit(const struct ww_consumer *consumer)
{
	const struct ww_channel *channel = &consumer->channel;
	uint32_t most = channel->ring.header->consumers_per_uid_max;
	WW_CLEANUP(ww_snapshot_free_p) ww_snapshot *snapshot = NULL;

	if (most == 0)
		return WW_OK;
	ww_try(ww_consumers_list(channel, &snapshot));
	if (ww_consumers_count_older(channel, snapshot, channel->timeline->page->id) < most)
		return WW_OK;
	return ww_fail(WW_ERR_LIMIT,
		"this user has %" PRIu32
		" consumers of the channel already, as many as one user may "
		"have (consumers_per_uid_max)",
		most);
}

/* Where it begins, as near to what was asked for as frames are still there. */
static void begin(struct ww_consumer *consumer, uint64_t history)
{
	const struct ww_ring *ring = &consumer->channel.ring;
	uint64_t published = ww_ring_published(ring);

	if (consumer->channel.form.policy == WW_CHANNEL_LATEST)
		history = WW_CHANNEL_OLDEST;
	if (history > ring->place_count)
		history = ring->place_count;
	if (history > published)
		history = published;
	consumer->next = ww_channel_marks_begin(&consumer->marks, ring, published + 1 - history);
}

static ww_status join_parts(struct ww_consumer *consumer, struct ww_get_reply *grant,
	const struct ww_joining *joining)
{
	struct ww_channel *channel = &consumer->channel;
	const struct ww_ring_size size = ww_channel_ring_size(channel);
	uint32_t producer_uid = grant->granted.uid;
	uint32_t flags = joining->params.flags & WW_CONSUMER_TRUST_USERS
		? WW_WIRE_CHANNEL_FLAG_TRUST_USERS
		: 0;
	ww_status status;

	channel->broker = ww_broker_ref(grant->broker);
	ww_try(open_page(consumer, grant));
	ww_try(check_deadline(channel, joining->params.deadline_ns));
	ww_get_reply_keep(grant, &channel->object);
	if (channel->is_observer)
		return WW_OK;
	status = get_slots(channel, joining, producer_uid);
	if (status != WW_OK) /* the time may be over before the producer has put them */
		return status;
	ww_try(ww_timeline_create_alone(&channel->timeline));
	ww_try(ww_channel_keep_slots(channel));
	ww_try(ww_channel_marks_create(&consumer->marks, channel->form.channel_id, &size,
		consumer->is_own_user && channel->form.policy == WW_CHANNEL_BLOCK));
	consumer->id = ww_ring_consumer_id(channel->timeline->page->id);
	consumer->marks.header->flags = flags;
	consumer->is_trusted = ww_channel_is_trusted(consumer->is_own_user, flags,
		ww_ring_flags(&channel->ring));
	ww_try(put_consumer(consumer));
	ww_try(check_limit(consumer));
	begin(consumer, joining->params.history);
	return WW_OK;
}

ww_status ww_join_grant(struct ww_get_reply *grant, const struct ww_joining *joining,
	struct ww_consumer **out_consumer)
{
	WW_CLEANUP(ww_consumer_free_p) struct ww_consumer *consumer = NULL;
	struct ww_wire_channel_ref form;
	struct ww_frame_form frame_form;
	uint64_t deadline_ns = joining->params.deadline_ns;
	ww_status status;

	ww_try(read_description(grant, &form, &frame_form));
	ww_try(ww_frame_form_agree(&frame_form, (const char *)form.metadata_type,
		joining->params.metadata_type, joining->params.array));
	ww_try(ww_consumer_new(&form, &consumer));
	consumer->channel.frame_form = frame_form;
	consumer->channel.is_observer = joining->params.flags & WW_CONSUMER_OBSERVE;
	consumer->number = WW_CHANNEL_NOBODY;
	status = join_parts(consumer, grant, joining);
	if (status != WW_OK)
		return status;
	/* An observer that wants nothing watches what was promised. */
	if (deadline_ns == 0 && consumer->channel.is_observer)
		deadline_ns = consumer->channel.ring.header->deadline_ns;
	ww_channel_begin_deadline(&consumer->channel, deadline_ns);
	*out_consumer = ww_steal(consumer);
	return WW_OK;
}

ww_status ww_join_name(const struct ww_joining *joining, struct ww_broker *broker, const char *name,
	struct ww_consumer **out_consumer)
{
	struct ww_wire_get message = {.access = WW_WIRE_ACCESS_READ};
	WW_AUTO_GET_REPLY struct ww_get_reply grant;
	ww_status status;

	ww_get_reply_init(&grant, broker, WW_WIRE_GET, &message, WW_OBJECT_CHANNEL);
	ww_get_reply_set_name(&grant, &message, name, joining->timeout_ns);
	status = ww_get_reply_ask(&grant);
	if (status != WW_OK)
		return status;
	if (joining->former &&
		memcmp(joining->former, grant.granted.id, sizeof(grant.granted.id)) == 0)
		return WW_TIMED_OUT;
	return ww_join_grant(&grant, joining, out_consumer);
}
