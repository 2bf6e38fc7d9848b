/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.h - a consumer's side of a channel
 */
#ifndef WW_CHANNEL_CONSUMER_H
#define WW_CHANNEL_CONSUMER_H

#include "channel/channel.h"
#include "group/peer_process.h"

/* A frame that is held. */
struct ww_held_frame {
	uint64_t frame; /* 0: this entry is free */
	uint64_t ready; /* value of the producer's timeline */
	uint32_t slot;
	uint32_t mark; /* that it has; entry of `held` */
};

/*
 * Of a consumer that goes on with the next producer (reattach.h): what its ww_channel_get() was
 * called with.
 */
struct ww_reattach {
	ww_device *device; /* a reference */
	char name[WW_NAME_BYTES];
	char metadata_type[WW_FRAME_METADATA_TYPE_BYTES];
	struct ww_array array;
	struct ww_consumer_params params; /* points at the two before */
	uint64_t ask_ns;                  /* when the broker may be asked again */
	bool is_over;                     /* of this producer no frame comes any more */
	bool has_told_end;                /* and the caller knows that it closed the channel */
};

struct ww_consumer {
	struct ww_channel channel;
	struct ww_signal_map *page; /* the producer's, a reference; constant, as is the next */
	struct ww_layout_signal_cell *cell;
	struct ww_peer_process *process; /* the producer's, a reference; NULL: not known */
	bool is_trusted;                 /* the producer: our streams may wait for it */
	bool is_own_user; /* by what the broker says of the producer, whatever is agreed on */
	uint32_t number;  /* of this consumer */
	uint64_t id;      /* as the producer names it when it evicts it */
	struct ww_channel_marks marks;
	uint64_t next; /* frame to receive */
	uint64_t received;
	uint64_t dropped;
	struct ww_held_frame *held;  /* held_max entries, of each mark */
	uint64_t *releasing;         /* of each mark: value of the own timeline; 0: none */
	uint32_t *next_slots;        /* of each slot: where the frame after it was the last time */
	uint32_t last_slot;          /* that a frame was received in */
	struct ww_held_frame unsure; /* the last that was released before it was complete */

	/* From here on nothing belongs to one producer. */
	struct ww_reattach *reattach; /* owned; NULL: it ends with its producer */
	struct ww_list former;        /* struct ww_consumer, owned: of former producers */
	struct ww_list of_current;    /* in `former` of the consumer that goes on */
	uint64_t former_received;     /* of all former producers, as is the next */
	uint64_t former_dropped;
};

static inline struct ww_consumer *ww_consumer_of(struct ww_channel *channel)
{
	return ww_container(channel, struct ww_consumer, channel);
}

/* As ww_channel_readiness_get(), which fills what both sides have. */
struct ww_readiness;
ww_status ww_consumer_readiness(struct ww_consumer *consumer, struct ww_readiness *readiness);

/* As ww_channel_receive() and ww_channel_release(), whose arguments were checked. */
ww_status ww_consumer_receive(struct ww_consumer *consumer, ww_stream *stream, uint64_t timeout_ns,
	struct ww_frame *out_frame);
ww_status ww_consumer_release(struct ww_consumer *consumer, const struct ww_frame *frame,
	ww_stream *stream);

/* Frames that the caller holds, of all producers. */
uint32_t ww_consumer_held(const struct ww_consumer *consumer);

/* By the producer. */
static inline bool ww_consumer_is_evicted(const struct ww_consumer *consumer)
{
	return ww_ring_has_evicted(&consumer->channel.ring, consumer->number, consumer->id);
}

/* @form: constant from now on. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_consumer_new(const struct ww_wire_channel_ref *form,
	struct ww_consumer **out_consumer);

/* Takes one that is not whole yet, too; releases what it holds. */
void ww_consumer_free(struct ww_consumer *consumer);

WW_DEFINE_CLEANUP(struct ww_consumer, ww_consumer_free)

#endif
