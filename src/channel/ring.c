/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - what the processes of a channel share, see ring.h
 */
#include "channel/ring.h"

#include <string.h>

#include <warpway/channel.h>

#include "base/error.h"
#include "share/shared_file.h"

#define LINE_BYTES      64
#define PLACE_SLOT_BITS 16 /* of a place: the slot; above it the frame */
#define PLACE_SLOT_MASK ((UINT64_C(1) << PLACE_SLOT_BITS) - 1)
#define PLACES_PER_SLOT 2

_Static_assert(sizeof(struct ww_layout_channel_ring) == WW_LAYOUT_CHANNEL_RING_BYTES, "no padding");
_Static_assert(sizeof(struct ww_layout_channel_eviction) == WW_LAYOUT_CHANNEL_EVICTION_BYTES,
	"no padding");
_Static_assert(sizeof(struct ww_layout_channel_slot) == WW_LAYOUT_CHANNEL_SLOT_BYTES, "no padding");
_Static_assert(sizeof(struct ww_layout_channel_marks) == WW_LAYOUT_CHANNEL_MARKS_BYTES,
	"no padding");

/* --- files --- */

static uint32_t slot_stride(uint32_t metadata_bytes)
{
	return (uint32_t)sizeof(struct ww_layout_channel_slot) +
		(metadata_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

static uint32_t place_count(uint32_t slot_count)
{
	uint32_t count = LINE_BYTES / sizeof(struct ww_layout_channel_place);

	while (count < slot_count * PLACES_PER_SLOT)
		count *= 2;
	return count;
}

uint64_t ww_ring_bytes(const struct ww_ring_size *size)
{
	return ww_shared_file_round_up(sizeof(struct ww_layout_channel_ring) +
		WW_CHANNEL_CONSUMERS_MAX * sizeof(struct ww_layout_channel_eviction) +
		(uint64_t)place_count(size->slot_count) * sizeof(struct ww_layout_channel_place) +
		(uint64_t)size->slot_count * slot_stride(size->metadata_bytes));
}

uint64_t ww_channel_marks_bytes(const struct ww_ring_size *size)
{
	return ww_shared_file_round_up(sizeof(struct ww_layout_channel_marks) +
		(uint64_t)size->held_max * sizeof(struct ww_layout_channel_mark) +
		(uint64_t)size->slot_count * sizeof(uint64_t));
}

static struct ww_shared_file ring_file(const struct ww_ring_size *size, const uint8_t *channel_id)
{
	return (struct ww_shared_file){
		.owner = "channel",
		.what = "ring",
		.magic = "WWCHRING",
		.version = WW_LAYOUT_CHANNEL_RING_VERSION,
		.header_bytes = sizeof(struct ww_layout_channel_ring),
		.item_bytes = slot_stride(size->metadata_bytes),
		.item_count = size->slot_count,
		.bytes = ww_ring_bytes(size),
		.id = channel_id,
	};
}

static struct ww_shared_file marks_file(const struct ww_ring_size *size, const uint8_t *channel_id)
{
	return (struct ww_shared_file){
		.owner = "channel",
		.what = "marks",
		.magic = "WWCHMARK",
		.version = WW_LAYOUT_CHANNEL_MARKS_VERSION,
		.header_bytes = sizeof(struct ww_layout_channel_marks),
		.item_bytes = sizeof(struct ww_layout_channel_mark),
		.item_count = size->held_max,
		.bytes = ww_channel_marks_bytes(size),
		.id = channel_id,
	};
}

static void ring_set(struct ww_ring *ring, struct ww_mapping *mapping,
	const struct ww_ring_size *size)
{
	ring->mapping = mapping;
	ring->header = mapping->host_pointer;
	ring->evictions = (void *)(ring->header + 1);
	ring->places = (void *)(ring->evictions + WW_CHANNEL_CONSUMERS_MAX);
	ring->place_count = place_count(size->slot_count);
	ring->slots = (uint8_t *)(ring->places + ring->place_count);
	ring->slot_stride = slot_stride(size->metadata_bytes);
	ring->slot_count = size->slot_count;
}

ww_status ww_ring_create(struct ww_ring *ring, const uint8_t channel_id[WW_WIRE_ID_BYTES],
	const struct ww_ring_size *size)
{
	const struct ww_shared_file file = ring_file(size, channel_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	ring_set(ring, mapping, size);
	ring->header->place_count = ring->place_count;
	ring->header->state = WW_WIRE_CHANNEL_STATE_OPEN;
	return WW_OK;
}

ww_status ww_ring_import(struct ww_ring *ring, int fd, uint64_t bytes,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size)
{
	const struct ww_shared_file file = ring_file(size, channel_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, bytes, &mapping));
	ring_set(ring, mapping, size);
	return WW_OK;
}

void ww_ring_fini(struct ww_ring *ring)
{
	ring->mapping = ww_mapping_unref(ring->mapping);
}

static void marks_set(struct ww_channel_marks *marks, struct ww_mapping *mapping,
	const struct ww_ring_size *size)
{
	marks->mapping = mapping;
	marks->header = mapping->host_pointer;
	marks->at = (void *)(marks->header + 1);
	marks->releases = (void *)(marks->at + size->held_max);
	marks->mark_count = size->held_max;
	marks->slot_count = size->slot_count;
}

ww_status ww_channel_marks_create(struct ww_channel_marks *marks,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size,
	bool runs_ahead)
{
	const struct ww_shared_file file = marks_file(size, channel_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_create(&file, &mapping));
	marks_set(marks, mapping, size);
	marks->runs_ahead = runs_ahead;
	marks->header->runs_ahead = runs_ahead;
	return WW_OK;
}

ww_status ww_channel_marks_import(struct ww_channel_marks *marks, int fd, uint64_t bytes,
	const uint8_t channel_id[WW_WIRE_ID_BYTES], const struct ww_ring_size *size)
{
	const struct ww_shared_file file = marks_file(size, channel_id);
	struct ww_mapping *mapping = NULL;

	ww_try(ww_shared_file_import(&file, fd, bytes, &mapping));
	marks_set(marks, mapping, size);
	marks->runs_ahead = __atomic_load_n(&marks->header->runs_ahead, __ATOMIC_RELAXED) != 0;
	return WW_OK;
}

void ww_channel_marks_fini(struct ww_channel_marks *marks)
{
	marks->mapping = ww_mapping_unref(marks->mapping);
}

/* --- the producer's steps --- */

static struct ww_layout_channel_place *place_of(const struct ww_ring *ring, uint64_t frame)
{
	return &ring->places[frame & (ring->place_count - 1)];
}

/* Stores that bypass the caches, those of streaming instructions, come before later ones. */
static void settle_streaming_stores(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("sfence" ::: "memory");
#endif
}

/*
 * Consumers that wait look at the line of published all the time: they take it away between two of
 * its stores, if others come between. The fence puts published before the looks at who sleeps: it
 * is the pair of the seq_cst store and load of a consumer that falls asleep, or begins.
 */
void ww_ring_publish(struct ww_ring *ring, uint32_t slot, uint64_t frame, uint64_t now_ns)
{
	uint64_t place = frame << PLACE_SLOT_BITS | slot;

	settle_streaming_stores();
	__atomic_store_n(&ww_ring_slot(ring, slot)->frame, frame, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->header->published_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->header->newest, place, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->header->published, frame, __ATOMIC_RELEASE);
	__atomic_store_n(&place_of(ring, frame)->frame_and_slot, place, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void ww_ring_close_slot(struct ww_ring *ring, uint32_t slot)
{
	__atomic_store_n(&ww_ring_slot(ring, slot)->frame, 0, __ATOMIC_RELEASE);
}

/* Closed slots come before the looks at marks. The pair is a consumer's mark and its next look. */
void ww_ring_finish_closing(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void ww_ring_reopen_slot(struct ww_ring *ring, uint32_t slot, uint64_t frame)
{
	__atomic_store_n(&ww_ring_slot(ring, slot)->frame, frame, __ATOMIC_SEQ_CST);
}

void ww_ring_evict(struct ww_ring *ring, uint32_t number,
	const struct ww_layout_channel_eviction *eviction)
{
	struct ww_layout_channel_eviction *at = &ring->evictions[number];

	__atomic_store_n(&at->waited_ns, eviction->waited_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&at->frame, eviction->frame, __ATOMIC_RELAXED);
	__atomic_store_n(&at->reason, eviction->reason, __ATOMIC_RELAXED);
	__atomic_store_n(&at->consumer, eviction->consumer, __ATOMIC_SEQ_CST);
}

void ww_ring_close(struct ww_ring *ring)
{
	__atomic_store_n(&ring->header->state, WW_WIRE_CHANNEL_STATE_CLOSED, __ATOMIC_SEQ_CST);
}

void ww_ring_wake(struct ww_ring *ring)
{
	ww_await_wake(&ring->header->wakes);
}

/* --- the consumer's steps --- */

uint64_t ww_ring_consumer_id(const uint8_t page_id[WW_WIRE_ID_BYTES])
{
	uint64_t id;

	memcpy(&id, page_id, sizeof(id));
	return id ? id : 1;
}

bool ww_ring_find(const struct ww_ring *ring, uint64_t frame, uint32_t *out_slot)
{
	uint64_t place = __atomic_load_n(&ring->header->newest, __ATOMIC_ACQUIRE);

	if (place >> PLACE_SLOT_BITS != frame)
		place = __atomic_load_n(&place_of(ring, frame)->frame_and_slot, __ATOMIC_ACQUIRE);
	*out_slot = (uint32_t)(place & PLACE_SLOT_MASK);
	return place >> PLACE_SLOT_BITS == frame && *out_slot < ring->slot_count;
}

uint64_t ww_channel_marks_begin(struct ww_channel_marks *marks, const struct ww_ring *ring,
	uint64_t frame)
{
	/*
	 * With policy block a producer that sees `next` publishes one frame for each slot at most,
	 * so these are enough to find the first frame that stays. Another one may go on publishing.
	 */
	uint32_t tries = 2 * ring->place_count;
	uint64_t published;
	uint32_t slot;

	for (;;) {
		__atomic_store_n(&marks->header->next, frame, __ATOMIC_SEQ_CST);
		published = ww_ring_published(ring);
		if (frame > published || tries-- == 0)
			break;
		if (ww_ring_find(ring, frame, &slot) && ww_ring_has(ring, slot, frame))
			break;
		frame++;
		/* All before have gone, if this process was stopped for a while. */
		if (published >= ring->place_count && frame <= published - ring->place_count)
			frame = published - ring->place_count + 1;
	}
	ww_channel_marks_wake(marks, ring); /* an earlier `next` may have kept it waiting */
	return frame;
}

bool ww_channel_marks_take(struct ww_channel_marks *marks, const struct ww_ring *ring,
	uint32_t mark, uint32_t slot, uint64_t frame)
{
	__atomic_store_n(&marks->at[mark].release, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&marks->at[mark].frame, frame, __ATOMIC_SEQ_CST);
	if (ww_ring_has(ring, slot, frame))
		return true;
	__atomic_store_n(&marks->at[mark].frame, 0, __ATOMIC_RELEASE);
	return false;
}

void ww_channel_marks_set_next(struct ww_channel_marks *marks, uint64_t frame)
{
	__atomic_store_n(&marks->header->next, frame, __ATOMIC_RELEASE);
}

void ww_channel_marks_end(struct ww_channel_marks *marks)
{
	__atomic_store_n(&marks->header->next, WW_CHANNEL_NEVER, __ATOMIC_SEQ_CST);
}

void ww_channel_marks_release(struct ww_channel_marks *marks, uint32_t mark, uint32_t slot,
	uint64_t value)
{
	if (value && !marks->runs_ahead) {
		__atomic_store_n(&marks->at[mark].release, value, __ATOMIC_SEQ_CST);
		return;
	}
	/* What has the value already stays in the producer's cache. Only this side writes it. */
	if (__atomic_load_n(&marks->releases[slot], __ATOMIC_RELAXED) != value)
		__atomic_store_n(&marks->releases[slot], value, __ATOMIC_RELAXED);
	__atomic_store_n(&marks->at[mark].frame, 0, __ATOMIC_SEQ_CST);
}

void ww_channel_marks_wake(struct ww_channel_marks *marks, const struct ww_ring *ring)
{
	if (__atomic_load_n(&ring->header->is_asleep, __ATOMIC_SEQ_CST))
		ww_await_wake(&marks->header->wakes);
}

/* --- what a consumer uses --- */

enum ww_slot_use ww_channel_marks_use(const struct ww_channel_marks *marks, uint32_t slot,
	uint64_t frame, bool is_owed, uint64_t *out_value)
{
	uint64_t next = __atomic_load_n(&marks->header->next, __ATOMIC_SEQ_CST);

	*out_value = 0;
	if (is_owed && next != 0 && next <= frame)
		return WW_SLOT_NEEDED;
	for (uint32_t i = 0; i < marks->mark_count; i++) {
		if (ww_channel_marks_frame(marks, i, out_value) == frame)
			return *out_value == 0 ? WW_SLOT_NEEDED : WW_SLOT_RELEASING;
	}
	*out_value = ww_channel_marks_released(marks, slot);
	return *out_value == 0 ? WW_SLOT_UNUSED : WW_SLOT_RELEASING;
}

/* --- sleeping --- */

ww_status ww_ring_await_frame(const struct ww_ring *ring, struct ww_channel_marks *own,
	ww_await_fn look, void *context, uint64_t deadline_ns)
{
	return ww_await_announced(&own->header->is_asleep, &ring->header->wakes, look, context,
		deadline_ns);
}

ww_status ww_ring_await_release(struct ww_ring *own, const struct ww_channel_marks *of,
	ww_await_fn look, void *context, uint64_t deadline_ns)
{
	return ww_await_announced(&own->header->is_asleep, &of->header->wakes, look, context,
		deadline_ns);
}
