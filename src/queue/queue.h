/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - a work queue as one process has it
 *
 * The queue's object in a broker has no descriptors, so that what is inside it can stay when its
 * creator ends. Inside are the roster with the bell (shared.h), and an object for each producer and
 * each consumer. A producer's has all that others need of it: its signal page, its ring, its claims
 * and the memory of its slots; so its frames outlive it.
 *
 * A queue that this process opened as a producer has one ring, its own. As a consumer it has the
 * rings of all producers that it met.
 */
#ifndef WW_QUEUE_QUEUE_H
#define WW_QUEUE_QUEUE_H

#include <warpway/work_queue.h>

#include "base/eventfd.h"
#include "base/list.h"
#include "channel/ring.h"
#include "client/broker_client.h"
#include "frame/frame.h"
#include "group/group.h"
#include "memory/memory.h"
#include "queue/shared.h"
#include "sync/timeline.h"
#include "wire/sync_description.h"

#define WW_QUEUE_NAME_BYTES 64

/* How long a member sleeps, or works, before it looks whether consumers have ended. */
#define WW_QUEUE_LOOK_NS UINT64_C(50000000)

/* What a producer shows; its own, or another process's. */
struct ww_queue_ring {
	struct ww_group_member member; /* in ww_work_queue.rings; its own has no page */
	uint32_t number;               /* as the caller is told */
	bool is_trusted;               /* of our user: our streams may wait for it */
	struct ww_ring ring;
	struct ww_queue_claims claims;
	struct ww_memory *memory; /* a reference */
	uint32_t held;            /* of its frames, that the caller holds */
	uint64_t unsure_frame; /* the last that was acknowledged before it was complete; 0: none */
	uint64_t unsure_ready;
};

/* A consumer, as others see it. */
struct ww_queue_claimant {
	uint64_t entry;                /* when it was looked up; 0: it never was */
	struct ww_group_member member; /* its page is NULL: it is gone, or was none */
};

/* A slot of the own ring, of a producer. */
struct ww_queue_slot {
	uint64_t frame; /* that is in it; 0: none */
	uint64_t ready; /* value of the own timeline when our streams have done with it */
	bool is_held;
};

/* A frame that a consumer holds. */
struct ww_queue_held {
	struct ww_queue_ring *ring; /* NULL: this entry is free */
	struct ww_queue_claim claim;
	uint64_t ready; /* value of the producer's timeline */
	uint32_t slot;
	bool is_finished; /* the claim is not the consumer's any more */
};

struct ww_work_queue {
	struct ww_ref ref;
	uint32_t role; /* WW_WORK_QUEUE_...; constant, as are the next four */
	struct ww_wire_work_queue_ref form;
	struct ww_frame_form frame_form;
	bool may_produce;  /* the roster is mapped for writing */
	ww_device *device; /* a reference */

	struct ww_broker *broker;     /* a reference */
	struct ww_attachments object; /* the hold of the queue's object */
	struct ww_attachments shared; /* the hold of its roster */
	struct ww_queue_roster roster;
	struct ww_queue_bell bell;

	/*
	 * Own, of a producer or consumer: values are reached when streams have done. Its
	 * attachments have the hold of the own object, which so ends after the last of them.
	 */
	ww_timeline *timeline;
	uint64_t value;  /* the last one that was signalled */
	uint64_t member; /* what the own entry says */
	bool is_member;  /* the own object is in the broker */
	uint32_t number; /* the place of the own entry; WW_QUEUE_NOBODY: none */
	uint32_t held;   /* slots, or frames, that the caller holds */

	struct ww_list rings; /* struct ww_queue_ring; of a producer the own one only */
	uint32_t rings_met;   /* how many there have been */
	struct ww_queue_claimant claimants[WW_WORK_QUEUE_MEMBERS_MAX];
	struct ww_group_newcomers newcomers; /* of the roster */
	uint64_t look_ns;                    /* when to look again whether consumers have ended */

	struct ww_queue_slot *slots; /* of a producer */
	uint64_t published;
	uint64_t dropped;

	struct ww_queue_held *frames; /* of a consumer, held_max */
	uint32_t end_after_producers; /* constant */
	uint64_t received;
	uint64_t lost;

	struct ww_eventfd *eventfd; /* owned; NULL: no call asked for a descriptor */
	uint64_t armed_ns;          /* when it was armed */
};

/* @form, @role: constant from now on. Return: WW_OK; WW_ERR_NO_MEMORY. */
ww_status ww_queue_new(const struct ww_wire_work_queue_ref *form, uint32_t role, ww_device *device,
	struct ww_broker *broker, struct ww_work_queue **out_queue);

static inline bool ww_queue_is_consumer(const struct ww_work_queue *queue)
{
	return queue->role == WW_WORK_QUEUE_CONSUMER || queue->role == WW_WORK_QUEUE_FAILED;
}

static inline struct ww_queue_ring *ww_queue_ring_of(struct ww_list *link)
{
	return ww_container(link, struct ww_queue_ring, member.link);
}

/* The ring of a producer. */
static inline struct ww_queue_ring *ww_queue_own_ring(const struct ww_work_queue *queue)
{
	return ww_queue_ring_of(queue->rings.next);
}

/* "@ID/roster"; "@ID/producer-X", "@ID/consumer-X" of an entry. */
void ww_queue_name(const struct ww_work_queue *queue, const char *what,
	char out[WW_QUEUE_NAME_BYTES]);
void ww_queue_member_name(const struct ww_work_queue *queue, const char *what, uint64_t member,
	char out[WW_QUEUE_NAME_BYTES]);

/*
 * Removes a member's object, which is not needed any more, from the broker; if that fails, it
 * stays.
 * @what:  "producer", "consumer"
 */
void ww_queue_remove_member(const struct ww_work_queue *queue, const char *what, uint64_t member);

/*
 * Gives back a frame that is claimed or finishing. Others are not woken.
 * Return: false: the claim is not as it was seen any more, and nothing was changed.
 */
bool ww_queue_give_back(struct ww_work_queue *queue, struct ww_queue_ring *ring, uint32_t slot,
	const struct ww_queue_claim *seen);

/* What each call for a frame begins with. @action: "acquire" */
ww_status ww_queue_enter(const struct ww_work_queue *queue, const struct ww_frame *frame,
	const char *action);

/*
 * After each call of a producer or consumer; ww_eventfd_pause() is before it. Without a descriptor
 * this is one load.
 */
void ww_queue_eventfd_set(struct ww_work_queue *queue);

/* consumer.c and producer.c: whether a call without a stream would wait. */
enum ww_await_look ww_queue_consumer_look(struct ww_work_queue *queue, uint64_t now_ns);
enum ww_await_look ww_queue_producer_look(struct ww_work_queue *queue);

/* Tells the caller where the frame of a slot is. */
void ww_queue_place_frame(const struct ww_work_queue *queue, const struct ww_queue_ring *ring,
	uint32_t slot, struct ww_frame *frame);

#endif
