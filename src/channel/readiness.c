/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readiness.c - looking whether one side of a channel can go on, see readiness.h
 */
#include "channel/readiness.h"

#include <string.h>

#include "frame/frame.h"
#include "group/group.h"
#include "sync/wait_result.h"

/* Of a consumer whose end the kernel has not reported: until then its work may read. */
static enum ww_await_look look_at_release(const struct ww_layout_signal_cell *cell, uint64_t value)
{
	struct ww_signal_look look;

	ww_signal_cell_look(cell, &look);
	if (look.reached >= value)
		return WW_AWAIT_DONE;
	return look.by_gpu && look.state != WW_WIRE_CELL_STATE_LOST ? WW_AWAIT_POLL
								    : WW_AWAIT_SLEEP;
}

static bool has_ended(const struct ww_readiness *readiness)
{
	return ww_ring_is_closed(&readiness->ring) ||
		ww_signal_page_is_lost(readiness->peer_page->header) ||
		ww_signal_page_is_replaced(readiness->peer_page->header) ||
		ww_peer_process_has_ended(readiness->peer_process);
}

/* As receive finds a frame. If the producer changes the ring meanwhile, a later look says more. */
static enum ww_await_look look_at_frames(const struct ww_readiness *readiness, uint64_t published)
{
	const struct ww_ring *ring = &readiness->ring;
	uint64_t first = published > ring->place_count ? published - ring->place_count + 1 : 1;
	enum ww_await_look last = WW_AWAIT_POLL;
	bool is_pending = false; /* a frame is there, and not complete */

	if (first < readiness->next)
		first = readiness->next;
	for (uint64_t i = 0; i <= published - first; i++) {
		uint64_t frame = readiness->is_latest ? published - i : first + i;
		uint32_t slot;

		if (!ww_ring_find(ring, frame, &slot) || !ww_ring_has(ring, slot, frame))
			continue;
		last = ww_frame_await(readiness->peer_cell, ww_ring_slot(ring, slot)->ready);
		if (last == WW_AWAIT_DONE)
			return last;
		is_pending = true;
		if (!readiness->is_latest)
			break;
	}
	/* When its work ends, or is lost, the frame's value says so. */
	if (is_pending && !ww_signal_page_is_lost(readiness->peer_page->header) &&
		!ww_peer_process_has_ended(readiness->peer_process))
		return last;
	return has_ended(readiness) ? WW_AWAIT_DONE : last;
}

static enum ww_await_look look_at_consumer(const struct ww_readiness *readiness)
{
	enum ww_await_look own = ww_frame_await(readiness->own_cell, readiness->own_value);
	uint64_t published = ww_ring_published(&readiness->ring);
	struct ww_signal_look look;

	if (ww_signal_page_is_lost(readiness->own_page->header) ||
		ww_ring_has_evicted(&readiness->ring, readiness->number, readiness->id))
		return WW_AWAIT_DONE;
	if (own != WW_AWAIT_DONE)
		return own;
	ww_signal_cell_look(readiness->peer_cell, &look);
	if (readiness->unsure &&
		(ww_wait_result_of(&look, readiness->unsure) == WW_ERR_PEER_LOST ||
			ww_peer_process_has_ended(readiness->peer_process)))
		return WW_AWAIT_DONE;
	if (published >= readiness->next)
		return look_at_frames(readiness, published);
	return has_ended(readiness) ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
}

/* A slot that waits for our own work, or one that waits for a consumer: whichever is first. */
static enum ww_await_look look_at_producer(const struct ww_readiness *readiness)
{
	enum ww_await_look own = ww_frame_await(readiness->own_cell, readiness->own_value);
	enum ww_await_look peer = WW_AWAIT_SLEEP;
	const struct ww_signal_map *page = readiness->peer_page;
	enum ww_slot_use use;
	uint64_t value;

	if (ww_signal_page_is_replaced(readiness->own_page->header))
		return WW_AWAIT_DONE;
	if (readiness->own_value && (own == WW_AWAIT_DONE || !page))
		return own;
	if (!page)
		return WW_AWAIT_SLEEP;
	/* One of them may ask for the eviction of the consumer that it waits for. */
	if (ww_group_count(readiness->own_page) != readiness->members)
		return WW_AWAIT_DONE;
	if (__atomic_load_n(&page->header->ended, __ATOMIC_ACQUIRE) ||
		ww_peer_process_has_ended(readiness->peer_process))
		return WW_AWAIT_DONE;
	use = ww_channel_marks_use(&readiness->marks, readiness->slot, readiness->frame,
		readiness->is_owed && !ww_signal_page_is_lost(page->header), &value);
	if (use != WW_SLOT_NEEDED)
		peer = look_at_release(readiness->peer_cell, value);
	return peer == WW_AWAIT_SLEEP && readiness->own_value ? own : peer;
}

static enum ww_await_look look_at_nothing(const struct ww_readiness *readiness)
{
	(void)readiness;
	return WW_AWAIT_DONE;
}

void ww_readiness_set_now(struct ww_readiness *readiness)
{
	readiness->look = look_at_nothing;
}

static enum ww_await_look look_later(const struct ww_readiness *readiness)
{
	(void)readiness;
	return WW_AWAIT_SLEEP;
}

void ww_readiness_set_later(struct ww_readiness *readiness)
{
	readiness->look = look_later;
}

/* Only the producer's end counts any more. */
static enum ww_await_look look_at_end(const struct ww_readiness *readiness)
{
	return has_ended(readiness) ? WW_AWAIT_DONE : WW_AWAIT_SLEEP;
}

void ww_readiness_set_end(struct ww_readiness *readiness)
{
	readiness->look = look_at_end;
}

static void add_word(struct ww_readiness *readiness, const uint32_t *wakes)
{
	readiness->wakes[readiness->wakes_count++] = wakes;
}

void ww_readiness_set_consumer(struct ww_readiness *readiness)
{
	readiness->look = look_at_consumer;
	if (readiness->own_value)
		add_word(readiness, &readiness->own_cell->wakes);
	add_word(readiness, &readiness->ring.header->wakes); /* of its eviction, too */
	add_word(readiness, &readiness->peer_cell->wakes);
}

void ww_readiness_set_producer(struct ww_readiness *readiness)
{
	readiness->look = look_at_producer;
	if (readiness->own_value)
		add_word(readiness, &readiness->own_cell->wakes);
	if (readiness->peer_page) {
		add_word(readiness, &readiness->marks.header->wakes);
		add_word(readiness, &readiness->peer_cell->wakes);
	}
	if (readiness->wakes_count == 0) /* for nothing that wakes */
		add_word(readiness, &readiness->ring.header->wakes);
}

/* --- what is read, and slept for --- */

void ww_readiness_keep(struct ww_readiness *readiness)
{
	ww_signal_map_ref(readiness->own_page);
	ww_mapping_ref(readiness->ring.mapping);
	if (readiness->peer_page)
		ww_signal_map_ref(readiness->peer_page);
	if (readiness->marks.mapping)
		ww_mapping_ref(readiness->marks.mapping);
	ww_peer_process_ref(readiness->peer_process);
}

void ww_readiness_drop(struct ww_readiness *readiness)
{
	ww_peer_process_unref(readiness->peer_process);
	ww_mapping_unref(readiness->marks.mapping);
	ww_signal_map_unref(readiness->peer_page);
	ww_mapping_unref(readiness->ring.mapping);
	ww_signal_map_unref(readiness->own_page);
	memset(readiness, 0, sizeof(*readiness));
}

bool ww_readiness_look(const struct ww_readiness *readiness, uint64_t now_ns,
	struct ww_await_sleep *sleep)
{
	uint32_t seen[WW_READINESS_WORDS] = {0};
	/* An end that is known before the look is no news after it. */
	bool was_known = ww_peer_process_has_ended(readiness->peer_process);
	enum ww_await_look look;

	for (size_t i = 0; i < readiness->wakes_count; i++)
		seen[i] = __atomic_load_n(readiness->wakes[i], __ATOMIC_ACQUIRE);
	look = readiness->look(readiness);
	if (look == WW_AWAIT_DONE || now_ns >= readiness->again_ns ||
		(!was_known && ww_peer_process_look(readiness->peer_process)))
		return true;
	if (look == WW_AWAIT_POLL)
		ww_await_sleep_until(sleep, ww_await_poll_ns(readiness->since_ns, now_ns));
	ww_await_sleep_until(sleep, readiness->again_ns);
	for (size_t i = 0; i < readiness->wakes_count; i++)
		ww_await_sleep_for(sleep, readiness->wakes[i], seen[i]);
	return false;
}
