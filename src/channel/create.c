/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.c - making a channel: its ring, its slots, and what goes into the broker
 *
 * The channel's object has these descriptors: the producer's signal page, to read; the same page,
 * to write, which only the broker has: it writes there which consumers came and whether the
 * producer lives; the ring; and a pidfd (group/peer_process.h). The memory of the slots is another
 * object, whose name is inside the channel's: so a consumer that holds the channel gets the slots
 * that belong to this very ring.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/params.h"
#include "base/process.h"
#include "base/random.h"
#include "group/peer_process.h"
#include "channel/producer.h"
#include "share/choose_broker.h"
#include "share/sync_object.h"
#include "wire/name.h"

#define SLOTS_MODE        0444 /* the mode of the channel decides */
#define DEFAULT_CONSUMERS 4
#define DEFAULT_HELD      1
#define DEFAULT_AHEAD     2
#define DEFAULT_SLOTS     4
#define TELLS_WHO_CAME    3 /* version of the protocol from which on a broker does */

WW_DEFINE_CLEANUP(struct ww_producer, ww_producer_free)

/* --- params --- */

static void fill_defaults(struct ww_channel_params *params)
{
	uint64_t least;

	ww_params_default(&params->policy, WW_CHANNEL_BLOCK);
	ww_params_default(&params->consumers_max, DEFAULT_CONSUMERS);
	ww_params_default(&params->held_max, DEFAULT_HELD);
	ww_params_default(&params->ahead_max, DEFAULT_AHEAD);
	ww_params_default(&params->kind, WW_MEMORY_VMM);
	least = (uint64_t)params->consumers_max * params->held_max + params->ahead_max + 1;
	if (params->slots == 0)
		params->slots = params->policy == WW_CHANNEL_BLOCK ? DEFAULT_SLOTS
			: least > UINT32_MAX                       ? UINT32_MAX
								   : (uint32_t)least;
}

static ww_status check_counts(const struct ww_channel_params *params)
{
	uint64_t least = (uint64_t)params->consumers_max * params->held_max + params->ahead_max + 1;

	if (params->consumers_max > WW_CHANNEL_CONSUMERS_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a channel cannot have %" PRIu32 " consumers at one time; at most %d",
			params->consumers_max, WW_CHANNEL_CONSUMERS_MAX);
	if (params->slots > WW_CHANNEL_SLOTS_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a channel cannot have %" PRIu32 " slots; at most %d", params->slots,
			WW_CHANNEL_SLOTS_MAX);
	if (params->held_max > params->slots)
		return ww_fail(WW_ERR_INVALID,
			"a consumer cannot hold %" PRIu32 " frames of a channel of %" PRIu32
			" slots",
			params->held_max, params->slots);
	if (params->policy != WW_CHANNEL_BLOCK && params->slots < least)
		return ww_fail(WW_ERR_INVALID,
			"%" PRIu32
			" slots are too few for a policy that drops: consumers_max * held_max + "
			"ahead_max + 1 = %" PRIu64
			" are needed, so that the producer never waits for a "
			"consumer",
			params->slots, least);
	return WW_OK;
}

static ww_status check_params(const struct ww_channel_params *params)
{
	if (params->policy < WW_CHANNEL_BLOCK || params->policy > WW_CHANNEL_LATEST)
		return ww_fail(WW_ERR_INVALID,
			"there is no policy %" PRIu32
			" of a channel; use 1 (block), 2 (drop-oldest) or 3 (latest)",
			params->policy);
	if (params->metadata_bytes > WW_FRAME_METADATA_MAX)
		return ww_fail(WW_ERR_INVALID,
			"a frame cannot have %" PRIu32 " bytes of metadata; at most %d",
			params->metadata_bytes, WW_FRAME_METADATA_MAX);
	if (params->reserved)
		return ww_fail(WW_ERR_INVALID, "ww_channel_params.reserved is not 0");
	ww_try(ww_frame_form_check("ww_channel_params", params->slot_bytes, params->metadata_type,
		params->array));
	return check_counts(params);
}

static ww_status set_form(const struct ww_channel_params *params, ww_device *device,
	struct ww_wire_channel_ref *form)
{
	const struct ww_ring_size size = {params->slots, params->metadata_bytes, params->held_max};

	ww_try(ww_frame_form_round(params->slot_bytes, WW_CHANNEL_SLOTS_MAX, &form->slot_bytes));
	form->slot_count = params->slots;
	form->ring_bytes = ww_ring_bytes(&size);
	form->metadata_bytes = params->metadata_bytes;
	form->policy = params->policy;
	form->consumers_max = params->consumers_max;
	form->held_max = params->held_max;
	form->kind = params->kind;
	memcpy(form->home_uuid, device->uuid, sizeof(form->home_uuid));
	memcpy(form->metadata_type, params->metadata_type, strlen(params->metadata_type));
	return ww_random_bytes(form->channel_id, sizeof(form->channel_id));
}

/* --- into the broker --- */

static ww_status put_channel(struct ww_channel *channel, const char *name,
	const struct ww_name_params *params)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_sync_object_request_init(&request, WW_OBJECT_CHANNEL, channel->form.channel_id, params);
	if (name)
		memcpy(request.put.name, name, strlen(name));
	ww_try(ww_sync_object_add_page(&request, channel->timeline->page));
	ww_try(ww_put_request_add_file(&request, channel->ring.mapping, WW_ACCESS_READ,
		WW_PUT_TO_READERS));
	ww_channel_ref_write(&channel->form, request.put.description);
	ww_frame_form_encode(&channel->frame_form, request.put.description + WW_CHANNEL_REF_BYTES);
	request.put.description_bytes = WW_CHANNEL_REF_BYTES + WW_ARRAY_RECORD_BYTES;
	memcpy(request.put.home_uuid, channel->form.home_uuid, sizeof(request.put.home_uuid));
	return ww_peer_process_put(&request, &channel->timeline->attachments, channel->broker,
		WW_PUT_TO_READERS);
}

static ww_status put_slots(struct ww_channel *channel)
{
	WW_AUTO_PUT_REQUEST struct ww_put_request request = {.fd_count = 0};

	ww_try(ww_put_request_init(&request, channel->memory, WW_STATE_SEALED, NULL));
	request.put.life = WW_LIFE_HELD;
	request.put.mode = SLOTS_MODE;
	request.put.gid = WW_GID_OWN;
	ww_channel_name(channel, "slots", (char *)request.put.name);
	return ww_put_request_put(&request, &channel->memory->attachments, channel->broker, 0);
}

/* --- create --- */

/* What consumers read in the ring of what the producer will do. */
static void promise(struct ww_channel *channel, const struct ww_channel_params *params)
{
	struct ww_layout_channel_ring *ring = channel->ring.header;

	if (params->flags & WW_CHANNEL_TRUST_USERS)
		ring->flags |= WW_WIRE_CHANNEL_FLAG_TRUST_USERS;
	ring->consumers_per_uid_max = params->consumers_per_uid_max;
	ring->evict_after_ns = params->evict_after_ns;
	ring->deadline_ns = params->deadline_ns;
	ring->published_ns = ww_clock_now_ns();
	ww_channel_begin_deadline(channel, params->deadline_ns);
}

static ww_status make_parts(struct ww_channel *channel, ww_device *device,
	const struct ww_channel_params *params)
{
	const struct ww_ring_size size = ww_channel_ring_size(channel);
	const struct ww_memory_params bytes = {
		.struct_size = sizeof(bytes),
		.kind = params->kind,
		.bytes = channel->form.slot_bytes * channel->form.slot_count,
	};
	const struct ww_signal_map *page;

	ww_try(ww_timeline_create_alone(&channel->timeline));
	page = channel->timeline->page;
	memcpy(channel->form.page_id, page->id, sizeof(page->id));
	channel->form.page_bytes = page->cpu->bytes;
	ww_try(ww_ring_create(&channel->ring, channel->form.channel_id, &size));
	promise(channel, params);
	ww_frame_form_init(&channel->frame_form, "channel", channel->form.slot_bytes,
		channel->form.metadata_bytes, params->array);
	ww_try(ww_memory_create(device, &bytes, &channel->memory));
	return ww_channel_keep_slots(channel);
}

static ww_status create(ww_device *device, struct ww_broker *broker, const char *name,
	const struct ww_channel_params *params, struct ww_channel **out_channel)
{
	WW_CLEANUP(ww_producer_free_p) struct ww_producer *producer = NULL;
	struct ww_wire_channel_ref form = {.slot_count = 0};
	struct ww_name_params named;

	ww_try(ww_sync_object_read_name(WW_PARAMS(struct ww_name_params, .mode = params->mode,
						.gid = params->gid,
						.flags = params->flags & ~WW_CHANNEL_TRUST_USERS),
		&named));
	ww_try(set_form(params, device, &form));
	ww_try(ww_producer_new(&form, params->ahead_max, &producer));
	producer->evict_after_ns = params->evict_after_ns;
	producer->channel.broker = ww_broker_ref(broker);
	ww_try(ww_sync_object_require_version(broker, TELLS_WHO_CAME,
		"tell a channel's producer who its consumers are"));
	ww_try(make_parts(&producer->channel, device, params));
	ww_try(put_channel(&producer->channel, name, &named));
	producer->name = name ? strdup(name) : NULL;
	if (name && !producer->name)
		return ww_fail(WW_ERR_NO_MEMORY, "cannot keep a name: out of memory");
	ww_try(put_slots(&producer->channel));
	*out_channel = &ww_steal(producer)->channel;
	return WW_OK;
}

ww_status ww_channel_create(ww_device *device, ww_broker *broker, const char *name,
	const struct ww_channel_params *params, ww_cancel *cancel, ww_channel **out_channel)
{
	WW_AUTO_CANCEL struct ww_cancel_scope scope = ww_cancel_enter(cancel);
	WW_AUTO_KEPT_BROKER struct ww_broker *opened = NULL;
	struct ww_channel_params ours;

	ww_clear(out_channel, NULL);
	ww_try(ww_process_enter());
	ww_require(device && params && out_channel,
		"ww_channel_create: device, params or out_channel is NULL");
	ww_try(ww_params_read(&ours, sizeof(ours), params, sizeof(ours), "ww_channel_params"));
	fill_defaults(&ours);
	ww_try(check_params(&ours));
	if (name)
		ww_try(ww_name_check(name));
	ww_try(ww_choose_broker(&broker, &opened, 0));
	return create(device, broker, name, &ours, out_channel);
}
