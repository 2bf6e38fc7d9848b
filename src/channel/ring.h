/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - what the processes of a channel share: the producer's ring, and the marks of each
 * consumer
 *
 * Both are memory files with one writer each, mapped read-only by all others. A frame is in one
 * slot of the ring; its place in the ring says in which. This is the protocol
 * (protocol/channel_ring.pml models it):
 *
 *   producer, publishes:      store the frame's number in the slot; store newest; store published;
 *                             store the frame's place; look which consumers sleep, and wake them
 *   consumer, takes frame n:  store n in my mark of the slot; look whether the slot has n; if not,
 *                             clear the mark: the frame has gone; else store next = n + 1. The slot
 *                             is the one that newest or the place says, or any that has n: also
 *                             before n counts as published
 *   producer, takes a slot back that has n:
 *                             clear the slot's number; check whether consumers have joined, and
 *                             note them; look at all marks, and with policy block at all `next`;
 *                             when one has n, or needs it, store n again
 *   consumer, begins with n:  store next = n; look whether n is not published yet, or the slot has
 *                             it; if not, the same with n + 1, or with a later one that is the
 *                             first for which there is a place
 *
 * Several slots may be cleared before the rest is done for each of them. The place of a frame is
 * looked at only when newest is that of a later one.
 *
 * The first two steps of each are in one order with the others' (seq_cst, or with a fence between
 * them), so that at least one side sees the other. With policy block a consumer that has begun gets
 * each frame from `next` on: if one is not there, the producer has just closed the slot, and will
 * open it again. For that the producer takes slots back in the order of their frames then.
 *
 * A consumer has held_max marks, so it cannot keep more frames than it may hold, whatever it says.
 *
 *   producer, evicts:         store the consumer; from now on only marks of frames that were
 *                             published by then count, and no `next`
 *   consumer, takes frame n:  after the mark, look whether it was evicted; if so, clear the mark
 *
 * These too are in one order. So the producer sees the mark of whatever the consumer uses. A slot
 * that only evicted consumers use stays cleared, until they have released it or have ended.
 *
 * What these files say comes from untrusted processes: each field is loaded once, and checked
 * before it is used.
 */
#ifndef WW_CHANNEL_RING_H
#define WW_CHANNEL_RING_H

#include <stdbool.h>

#include "base/await.h"
#include "device/mapping.h"
#include "wire/protocol.h"
#include "wire/signal_page.h"

#define WW_CHANNEL_NEVER UINT64_MAX /* `next` of a consumer that receives no more */

/* How many slots of what size a ring has, and how many frames a consumer may hold. */
struct ww_ring_size {
	uint32_t slot_count;
	uint32_t metadata_bytes;
	uint32_t held_max;
};

struct ww_ring {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_channel_ring *header;
	struct ww_layout_channel_eviction *evictions; /* of each number of a consumer */
	struct ww_layout_channel_place *places;
	uint8_t *slots;
	uint64_t slot_stride; /* bytes from one slot to the next */
	uint32_t slot_count;
	uint32_t place_count;
};

/* Bytes of the file. */
uint64_t ww_ring_bytes(const struct ww_ring_size *size);

/* Return: WW_OK; WW_ERR_NO_MEMORY; WW_ERR_LIMIT; WW_ERR_SYSTEM. */
ww_status ww_ring_create(struct ww_ring *ring, const uint8_t channel_id[WW_WIRE_ID_BYTES],
	const struct ww_ring_size *size);

/*
 * @fd:  borrowed; from an untrusted process, as is all else
 * Return: as ww_shared_file_import(); WW_ERR_PROTOCOL.
 */
ww_status ww_ring_import(struct ww_ring *ring, int fd, uint64_t bytes,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size);
void ww_ring_fini(struct ww_ring *ring); /* of a zeroed one too */

static inline struct ww_layout_channel_slot *ww_ring_slot(const struct ww_ring *ring, uint32_t slot)
{
	return (struct ww_layout_channel_slot *)(ring->slots + slot * ring->slot_stride);
}

static inline void *ww_ring_metadata(const struct ww_ring *ring, uint32_t slot)
{
	return ww_ring_slot(ring, slot) + 1;
}

#define WW_RING_FRAMES_MAX ((UINT64_C(1) << 48) - 1) /* what a place can say */

/* At most WW_RING_FRAMES_MAX, whatever an untrusted producer says. */
static inline uint64_t ww_ring_published(const struct ww_ring *ring)
{
	uint64_t published = __atomic_load_n(&ring->header->published, __ATOMIC_SEQ_CST);

	return published < WW_RING_FRAMES_MAX ? published : WW_RING_FRAMES_MAX;
}

/* When the last frame was published, or the channel was made. */
static inline uint64_t ww_ring_published_ns(const struct ww_ring *ring)
{
	return __atomic_load_n(&ring->header->published_ns, __ATOMIC_RELAXED);
}

static inline bool ww_ring_is_closed(const struct ww_ring *ring)
{
	return __atomic_load_n(&ring->header->state, __ATOMIC_SEQ_CST) ==
		WW_WIRE_CHANNEL_STATE_CLOSED;
}

/* What the producer agrees to: bits of WW_WIRE_CHANNEL_FLAG_... */
static inline uint32_t ww_ring_flags(const struct ww_ring *ring)
{
	return __atomic_load_n(&ring->header->flags, __ATOMIC_RELAXED);
}

/* --- the producer's steps --- */

/* The slot's fields are written. It does not wake. */
void ww_ring_publish(struct ww_ring *ring, uint32_t slot, uint64_t frame, uint64_t now_ns);

/*
 * Closes a slot. After one or several the producer finishes that, and then it looks at the marks:
 * so the stores wait for the consumers' caches all at once.
 */
void ww_ring_close_slot(struct ww_ring *ring, uint32_t slot);
void ww_ring_finish_closing(void);
void ww_ring_reopen_slot(struct ww_ring *ring, uint32_t slot, uint64_t frame);

/*
 * Stores the consumer that the producer evicts. It does not wake.
 * @eviction:  what is stored; its consumer last
 */
void ww_ring_evict(struct ww_ring *ring, uint32_t number,
	const struct ww_layout_channel_eviction *eviction);

/* No frame comes any more. In one order (seq_cst) with looks at sleepers. It does not wake. */
void ww_ring_close(struct ww_ring *ring);
void ww_ring_wake(struct ww_ring *ring);

/* --- the consumer's steps --- */

/* Which slot a frame is in. Return: false: it has gone, or is not published yet. */
bool ww_ring_find(const struct ww_ring *ring, uint64_t frame, uint32_t *out_slot);

static inline bool ww_ring_has(const struct ww_ring *ring, uint32_t slot, uint64_t frame)
{
	return __atomic_load_n(&ww_ring_slot(ring, slot)->frame, __ATOMIC_SEQ_CST) == frame;
}

/* How the producer names a consumer when it evicts it. @page_id: of its signal page */
uint64_t ww_ring_consumer_id(const uint8_t page_id[WW_WIRE_ID_BYTES]);

/* Whether the producer has evicted a consumer. */
static inline bool ww_ring_has_evicted(const struct ww_ring *ring, uint32_t number, uint64_t id)
{
	return __atomic_load_n(&ring->evictions[number].consumer, __ATOMIC_SEQ_CST) == id;
}

/* A consumer's marks; of this process, or of another. */
struct ww_channel_marks {
	struct ww_mapping *mapping; /* a reference */
	struct ww_layout_channel_marks *header;
	struct ww_layout_channel_mark *at;
	uint64_t *releases; /* of each slot */
	uint32_t mark_count;
	uint32_t slot_count;
	bool runs_ahead;
};

/* What the consumer agrees to: bits of WW_WIRE_CHANNEL_FLAG_... */
static inline uint32_t ww_channel_marks_flags(const struct ww_channel_marks *marks)
{
	return __atomic_load_n(&marks->header->flags, __ATOMIC_RELAXED);
}

/* Whether streams of one side wait for the other on the GPU. @flags: what both agree to */
static inline bool ww_channel_is_trusted(bool is_own_user, uint32_t ours, uint32_t theirs)
{
	return is_own_user || (ours & theirs & WW_WIRE_CHANNEL_FLAG_TRUST_USERS);
}

uint64_t ww_channel_marks_bytes(const struct ww_ring_size *size);

/* As for the ring. @runs_ahead: as in the layout */
ww_status ww_channel_marks_create(struct ww_channel_marks *marks,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size,
	bool runs_ahead);
ww_status ww_channel_marks_import(struct ww_channel_marks *marks, int fd, uint64_t bytes,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size);
void ww_channel_marks_fini(struct ww_channel_marks *marks);

/*
 * The steps of the side that writes them. begin: @frame is where it would like to begin. Return:
 * where it does. take: whether the frame is still there; then it has mark number @mark. release:
 * @value is that of the own timeline when the use is complete; 0: it is. Without runs_ahead the
 * mark is free then only.
 */
uint64_t ww_channel_marks_begin(struct ww_channel_marks *marks, const struct ww_ring *ring,
	uint64_t frame);
bool ww_channel_marks_take(struct ww_channel_marks *marks, const struct ww_ring *ring,
	uint32_t mark, uint32_t slot, uint64_t frame);
void ww_channel_marks_set_next(struct ww_channel_marks *marks, uint64_t frame);
void ww_channel_marks_end(struct ww_channel_marks *marks); /* it receives no more */
void ww_channel_marks_release(struct ww_channel_marks *marks, uint32_t mark, uint32_t slot,
	uint64_t value);

/* Wakes the producer if it is asleep; after a release, or when this consumer has ended. */
void ww_channel_marks_wake(struct ww_channel_marks *marks, const struct ww_ring *ring);

/*
 * Value of its timeline when its last use of the slot, which it has no mark of any more, is
 * complete; 0: it is, or none can be.
 */
static inline uint64_t ww_channel_marks_released(const struct ww_channel_marks *marks,
	uint32_t slot)
{
	uint64_t value = marks->runs_ahead
		? __atomic_load_n(&marks->releases[slot], __ATOMIC_RELAXED)
		: 0;

	return value <= WW_SIGNAL_VALUE_MAX ? value : 0;
}

/* The frame that a mark has, and the value at which its release is complete; 0: it is used. */
static inline uint64_t ww_channel_marks_frame(const struct ww_channel_marks *marks, uint32_t mark,
	uint64_t *out_value)
{
	uint64_t frame = __atomic_load_n(&marks->at[mark].frame, __ATOMIC_SEQ_CST);
	uint64_t value = __atomic_load_n(&marks->at[mark].release, __ATOMIC_ACQUIRE);

	*out_value = value <= WW_SIGNAL_VALUE_MAX ? value : 0;
	return frame;
}

/* What a consumer does with a slot that has a frame, as the producer sees it. */
enum ww_slot_use {
	WW_SLOT_UNUSED,
	WW_SLOT_RELEASING, /* released; its work goes on until *out_value is reached */
	WW_SLOT_WITHHELD,  /* an evicted consumer uses it */
	WW_SLOT_NEEDED
};

/*
 * @is_owed:  a frame that it has not received yet is needed
 * Return: unused, releasing or needed.
 */
enum ww_slot_use ww_channel_marks_use(const struct ww_channel_marks *marks, uint32_t slot,
	uint64_t frame, bool is_owed, uint64_t *out_value);

static inline bool ww_channel_marks_are_asleep(const struct ww_channel_marks *marks)
{
	return __atomic_load_n(&marks->header->is_asleep, __ATOMIC_SEQ_CST) != 0;
}

/*
 * Waits as ww_await(), saying in the own file that this side sleeps. A consumer waits until a frame
 * is published or the channel ends; the producer until a consumer frees a slot.
 */
ww_status ww_ring_await_frame(const struct ww_ring *ring, struct ww_channel_marks *own,
	ww_await_fn look, void *context, uint64_t deadline_ns);
ww_status ww_ring_await_release(struct ww_ring *own, const struct ww_channel_marks *of,
	ww_await_fn look, void *context, uint64_t deadline_ns);

#endif
