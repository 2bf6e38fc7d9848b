/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.h - a channel as one process has it: what its two sides share
 *
 * A ww_channel is embedded in a struct producer (producer.h) or a struct consumer (consumer.h). Its
 * object in a broker has the producer's signal page and the ring. The memory of the slots is an
 * object inside it, and so is each consumer: its signal page and its marks. An observer is a struct
 * consumer without these two, and without slots.
 */
#ifndef WW_CHANNEL_CHANNEL_H
#define WW_CHANNEL_CHANNEL_H

#include <warpway/channel.h>

#include "channel/consumers.h"
#include "channel/events.h"
#include "channel/readiness.h"
#include "channel/ring.h"
#include "client/broker_client.h"
#include "frame/frame.h"
#include "memory/memory.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

#define WW_CHANNEL_NAME_BYTES 96

struct ww_channel {
	struct ww_ref ref;
	bool is_producer;
	bool is_observer;
	uint32_t generation;        /* of a consumer: which producer it is attached to: 1, 2, ... */
	struct ww_eventfd *eventfd; /* owned; NULL: no call asked for a descriptor */
	struct ww_readiness shown;  /* what its thread looks at */
	uint64_t named_ns;          /* when ww_channel_wait_any() named it last */

	struct ww_consumers consumers; /* a consumer looks at the others only when it is asked */
	struct ww_channel_events events;
	struct ww_frame_deadline deadline;

	/* From here on all belongs to one producer (reattach.h). */
	struct ww_wire_channel_ref form; /* constant, as is the next */
	struct ww_frame_form frame_form;

	struct ww_broker *broker;     /* a reference */
	struct ww_attachments object; /* of a consumer: the hold of the channel's object */
	struct ww_memory *memory;     /* of the slots, a reference */
	char *pointer;                /* of its bytes, as is the next; constant */
	char *host_pointer;           /* NULL: the CPU does not reach them */
	struct ww_ring ring;
	/*
	 * Own: values are reached when streams have done with a slot. Its attachments have the hold
	 * of the own object, which so ends after the last of these values, or is poisoned.
	 */
	ww_timeline *timeline;
	uint64_t value; /* the last one that was signalled */
	uint32_t held;  /* slots that this side holds */
};

static inline struct ww_ring_size ww_channel_ring_size(const struct ww_channel *channel)
{
	return (struct ww_ring_size){
		.slot_count = channel->form.slot_count,
		.metadata_bytes = channel->form.metadata_bytes,
		.held_max = channel->form.held_max,
	};
}

/* Names inside the channel's object: "@ID/slots", "@ID/consumer-3", "@ID/consumer-". */
void ww_channel_name(const struct ww_channel *channel, const char *what,
	char out[WW_CHANNEL_NAME_BYTES]);

/* Tells the caller where the frame of a slot is. */
static inline void ww_channel_place_frame(const struct ww_channel *channel, uint32_t slot,
	struct ww_frame *frame)
{
	ww_frame_place(frame, &channel->frame_form, slot, channel->pointer, channel->host_pointer,
		ww_ring_metadata(&channel->ring, slot));
	frame->generation = channel->generation;
}

/* The signal page of the producer, its own or as a consumer has it. */
struct ww_signal_map *ww_channel_producer_page(const struct ww_channel *channel);

/* Whether the producer has closed the channel, or another channel was given the name. */
bool ww_channel_is_closed(const struct ww_channel *channel);

/* Of a consumer: whether no further frame will come, and the status of that. */
bool ww_channel_has_ended(const struct ww_channel *channel);
ww_status ww_channel_fail_ended(const struct ww_channel *channel);

/* For a side that waits: asks the kernel, now and then, which of the others have ended. */
void ww_channel_look_at_processes(const struct ww_channel *channel);

/*
 * Has the slots' memory stay for as long as the own timeline, which is until our streams have done
 * with the frames that they published or released. Both are there. Return: WW_OK; WW_ERR_NO_MEMORY.
 */
ww_status ww_channel_keep_slots(struct ww_channel *channel);

/* Ends what both sides have. */
void ww_channel_fini(struct ww_channel *channel);

#endif
