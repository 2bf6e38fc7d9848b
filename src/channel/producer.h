/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.h - the producer's side of a channel
 */
#ifndef WW_CHANNEL_PRODUCER_H
#define WW_CHANNEL_PRODUCER_H

#include "channel/channel.h"

/* What the producer knows of a slot. */
struct ww_producer_slot {
	struct ww_list link; /* in one of the producer's lists; of a held one in none */
	uint64_t frame;      /* that is in it; 0: none */
	uint64_t ready;      /* value of the own timeline when our streams have done with it */
	uint64_t ready_by;   /* serial of the stream that signals it; 0: not one stream */
	uint64_t releasing;  /* frame whose releases may not be complete; 0: none */
	bool is_held;
};

struct ww_producer {
	struct ww_channel channel;
	struct ww_list free_slots;      /* first used first */
	struct ww_list published_slots; /* oldest frame first */
	struct ww_list withheld_slots;  /* taken back, and used by consumers that were evicted */
	struct ww_producer_slot *slots;
	uint32_t ahead_max;
	uint64_t published;
	uint64_t looked_at;      /* frame: when it last looked which consumers had left */
	uint64_t evict_after_ns; /* 0: never */
	char *name;              /* owned; NULL: none */
	char *replacer;          /* owned; what the broker says of it; NULL: nothing yet */
};

static inline struct ww_producer *ww_producer_of(struct ww_channel *channel)
{
	return ww_container(channel, struct ww_producer, channel);
}

/* As ww_channel_readiness_get(), which fills what both sides have. */
struct ww_readiness;
ww_status ww_producer_readiness(struct ww_producer *producer, struct ww_readiness *readiness);

/*
 * Whether the channel has its name, as far as the broker has said. Return: WW_OK; WW_ERR_NOT_FOUND
 * (another channel was given the name; the record says by which process).
 */
ww_status ww_producer_check_name(struct ww_producer *producer);

/* As ww_channel_acquire(), whose arguments were checked. */
ww_status ww_producer_acquire(struct ww_producer *producer, ww_stream *stream, uint64_t timeout_ns,
	struct ww_frame *out_frame);

/*
 * After a frame that the CPU has published: if no slot is free, takes back those that can be had.
 */
void ww_producer_take_back_early(struct ww_producer *producer);

/* A slot that is in no list becomes free. */
void ww_producer_give_back(struct ww_producer *producer, struct ww_producer_slot *slot);

/* Takes a zeroed one too. The ring is closed first, and consumers are told. */
void ww_producer_free(struct ww_producer *producer);

/* @form: constant from now on. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_producer_new(const struct ww_wire_channel_ref *form, uint32_t ahead_max,
	struct ww_producer **out_producer);

/*
 * Ends a consumer's subscription: what it has marked by now is kept, nothing else. It is told.
 * @reason:  WW_WIRE_CHANNEL_EVICTION_REASON_...
 */
void ww_producer_evict(struct ww_producer *producer, struct ww_consumer_view *view,
	uint32_t reason);

/*
 * Notes which consumer keeps an acquire from getting a slot, and shows it in the ring.
 * @view:  NULL: none does
 */
void ww_producer_note_blocker(struct ww_channel *channel, struct ww_consumer_view *view);

/* What is due of the wait for that consumer: it is told of, or evicted. Return: it was evicted. */
bool ww_producer_look_at_blocker(struct ww_producer *producer);

/* When that is to be called again, or @deadline_ns if that is sooner. */
uint64_t ww_producer_next_blocker_look_ns(const struct ww_producer *producer, uint64_t deadline_ns);

/* When that consumer is to be evicted, or @deadline_ns if that is sooner. */
uint64_t ww_producer_next_eviction_ns(const struct ww_producer *producer, uint64_t deadline_ns);

/* Slots that evicted consumers do not use any more become free. */
void ww_producer_reclaim_withheld(struct ww_producer *producer);

/* All slots are withheld, or held. Return: WW_ERR_EVICTED; the record names a consumer. */
ww_status ww_producer_fail_withheld(const struct ww_producer *producer);

#endif
