/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.h - the producer's side of a channel
 */
#ifndef WW_CHANNEL_PRODUCER_H
#define WW_CHANNEL_PRODUCER_H

#include "channel/consumers.h"

/* What the producer knows of a slot. */
struct ww_producer_slot {
	struct ww_list link; /* in free_slots or published_slots; of a held one in none */
	uint64_t frame;      /* that is in it; 0: none */
	uint64_t ready;      /* value of the own timeline when our streams have done with it */
	bool is_held;
};

struct ww_producer {
	struct ww_channel channel;
	struct ww_consumers consumers;
	struct ww_list free_slots;      /* first used first */
	struct ww_list published_slots; /* oldest frame first */
	struct ww_producer_slot *slots;
	uint32_t ahead_max;
	uint64_t published;
};

static inline struct ww_producer *ww_producer_of(struct ww_channel *channel)
{
	return ww_container(channel, struct ww_producer, channel);
}

/* Takes a zeroed one too. The ring is closed first, and consumers are told. */
void ww_producer_free(struct ww_producer *producer);

/* @form: constant from now on. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_producer_new(const struct ww_wire_channel_ref *form, uint32_t ahead_max,
	struct ww_producer **out_producer);

#endif
