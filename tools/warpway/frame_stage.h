/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_stage.h - the bytes of a frame, for the CPU
 *
 * Slots that the CPU reaches are written and read in place. For those of a GPU there is memory of
 * the CPU, as large as a slot, and a stream that copies.
 */
#ifndef TOOLS_WARPWAY_FRAME_STAGE_H
#define TOOLS_WARPWAY_FRAME_STAGE_H

#include <warpway/warpway.h>

#include <stdint.h>

struct frame_stage {
	ww_device *device; /* borrowed; the channel's */
	/* Made when it is needed. */
	ww_stream *stream;
	ww_memory *pinned; /* NULL: @bytes are of malloc() */
	uint8_t *bytes;
};

/* Where to write a frame that was acquired. Return: NULL after saying what went wrong. */
void *frame_stage_begin(struct frame_stage *stage, const struct ww_frame *frame);

/* What was written is in the slot then. Return: 0, or -1 after saying what went wrong. */
int frame_stage_write(struct frame_stage *stage, const struct ww_frame *frame);

/* Where to read a frame that was received, until the next one. Return: as frame_stage_begin(). */
const void *frame_stage_read(struct frame_stage *stage, const struct ww_frame *frame);

void frame_stage_fini(struct frame_stage *stage);

#endif
