/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - a frame in the process that writes or reads it: what channels and work queues do alike
 *
 * A slot of a ring (channel/ring.h) says what is in its frame. The producer writes that from the
 * caller's struct ww_frame, and a consumer reads it into one. A stream that has yet to write or
 * read a frame signals a value of the own timeline when it has: `ready`.
 */
#ifndef WW_FRAME_FRAME_H
#define WW_FRAME_FRAME_H

#include <string.h>

#include "base/await.h"
#include "base/error.h"
#include "frame/form.h"
#include "sync/timeline.h"
#include "sync/wait_result.h"

/* --- what the caller has --- */

/* Where the frame of a slot is. @pointer, @host_pointer: of the first slot; or NULL */
static inline void ww_frame_place(struct ww_frame *frame, const struct ww_frame_form *form,
	uint32_t slot, char *pointer, char *host_pointer, void *metadata)
{
	uint64_t offset = slot * form->slot_bytes;

	/* Field by field: to clear the whole costs as much as all the rest (rep stos). */
	frame->slot = slot;
	frame->pointer = pointer + offset;
	frame->host_pointer = host_pointer ? host_pointer + offset : NULL;
	frame->metadata = form->metadata_bytes ? metadata : NULL;
	frame->capacity = form->slot_bytes;
	frame->generation = 0;
	frame->reserved = 0;
	if (frame->struct_size >= sizeof(*frame)) {
		frame->producer = 0;
		frame->attempts = 0;
	}
}

/* What is in a frame that was just acquired. */
static inline void ww_frame_begin(struct ww_frame *frame, const struct ww_frame_form *form)
{
	frame->number = 0;
	frame->bytes = form->frame_bytes;
	frame->submitted_ns = 0;
	frame->metadata_bytes = form->metadata_bytes;
	frame->ndim = 0;
	memset(frame->shape, 0, sizeof(frame->shape));
}

/* Whether a slot has room for what the caller wants to publish. Return: WW_OK; WW_ERR_INVALID. */
ww_status ww_frame_fail_room(const struct ww_frame *frame, const struct ww_frame_form *form);

static inline ww_status ww_frame_check(const struct ww_frame *frame,
	const struct ww_frame_form *form)
{
	return frame->bytes <= form->slot_bytes && frame->metadata_bytes <= form->metadata_bytes &&
			frame->ndim <= WW_FRAME_DIMS
		? WW_OK
		: ww_frame_fail_room(frame, form);
}

/* Records that the caller does not hold the frame's slot. Return: WW_ERR_INVALID. */
ww_status ww_frame_fail_slot(const struct ww_frame *frame);

/* --- what a slot says --- */

static inline void ww_frame_write(const struct ww_frame *frame, uint64_t ready,
	struct ww_layout_channel_slot *slot)
{
	slot->ready = ready;
	slot->bytes = frame->bytes;
	slot->submitted_ns = frame->submitted_ns;
	slot->ndim = frame->ndim;
	slot->metadata_bytes = frame->metadata_bytes;
	if (frame->ndim > 0) /* else it stays out of the cache */
		memcpy(slot->shape, frame->shape, sizeof(slot->shape));
}

/*
 * From a copy of what an untrusted process wrote.
 * Return: false: it is impossible, and @frame is as it was.
 */
static inline bool ww_frame_read(struct ww_frame *frame, const struct ww_frame_form *form,
	const struct ww_layout_channel_slot *from)
{
	struct ww_layout_channel_slot slot;

	memcpy(&slot, from, offsetof(struct ww_layout_channel_slot, shape));
	if (slot.bytes > form->slot_bytes || slot.ndim > WW_FRAME_DIMS ||
		slot.metadata_bytes > form->metadata_bytes)
		return false;
	frame->bytes = slot.bytes;
	frame->submitted_ns = slot.submitted_ns;
	frame->metadata_bytes = slot.metadata_bytes;
	frame->ndim = slot.ndim;
	if (slot.ndim > 0)
		memcpy(frame->shape, from->shape, sizeof(frame->shape));
	else
		memset(frame->shape, 0, sizeof(frame->shape));
	return true;
}

/* --- the work of streams --- */

/*
 * Has a stream signal the next value of the own timeline.
 * @stream:  NULL: nothing, and the value is 0
 * @last:    the value that was signalled last
 * Return: as ww_timeline_stream_signal().
 */
static inline ww_status ww_frame_signal(ww_timeline *timeline, ww_stream *stream, uint64_t *last,
	uint64_t *out_ready)
{
	*out_ready = 0;
	if (!stream)
		return WW_OK;
	ww_try(ww_timeline_stream_signal(timeline, stream, *last + 1));
	*out_ready = ++*last;
	return WW_OK;
}

/*
 * What became of a frame's work, by its producer's timeline.
 * @has_ended:  the producer's process, as was known before
 * Return: WW_OK; WW_NOT_READY; WW_ERR_PEER_LOST (not recorded).
 */
static inline ww_status ww_frame_look(const struct ww_layout_signal_cell *cell, uint64_t ready,
	bool has_ended)
{
	struct ww_signal_look look;
	ww_status status;

	if (ready == 0)
		return WW_OK;
	ww_signal_cell_look(cell, &look);
	status = ww_wait_result_of(&look, ready);
	return status == WW_NOT_READY && has_ended ? WW_ERR_PEER_LOST : status;
}

/* Whether a thread that waits for a value need not: it was reached, or never will be. */
enum ww_await_look ww_frame_await(const struct ww_layout_signal_cell *cell, uint64_t ready);

/* Records that a frame's work was lost. @page: of its producer. Return: WW_ERR_PEER_LOST. */
ww_status ww_frame_fail_lost(uint64_t number, const struct ww_signal_map *page);

/*
 * Fails once the broker has told the others that this process ended.
 * @action:  "publish"
 */
ww_status ww_frame_fail_unknown(const struct ww_frame_form *form, const char *action);

static inline ww_status ww_frame_require_known(const ww_timeline *timeline,
	const struct ww_frame_form *form, const char *action)
{
	return ww_signal_page_is_lost(timeline->page->header) ? ww_frame_fail_unknown(form, action)
							      : WW_OK;
}

#endif
