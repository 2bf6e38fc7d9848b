/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_stage.c - the bytes of a frame, for the CPU
 */
#include "warpway/frame_stage.h"

#include <stdlib.h>

#include "common/say.h"

/* CPU memory that the device reaches is copied without a stop on the way; any other serves too. */
static int make_bytes(struct frame_stage *stage, uint64_t bytes)
{
	const struct ww_memory_params params = {
		.struct_size = sizeof(params),
		.kind = WW_MEMORY_HOST,
		.bytes = bytes,
	};

	if (ww_memory_create(stage->device, &params, &stage->pinned) == WW_OK)
		stage->bytes = ww_memory_host_pointer(stage->pinned);
	else
		stage->bytes = malloc(bytes);
	return stage->bytes ? 0
			    : complain("out of memory: a frame of %llu bytes does not fit",
				      (unsigned long long)bytes);
}

static int prepare(struct frame_stage *stage, const struct ww_frame *frame)
{
	if (!stage->stream && ww_stream_create(stage->device, &stage->stream) != WW_OK)
		return complain_record("cannot make a stream to copy frames");
	return stage->bytes ? 0 : make_bytes(stage, frame->capacity);
}

void *frame_stage_begin(struct frame_stage *stage, const struct ww_frame *frame)
{
	if (frame->host_pointer)
		return frame->host_pointer;
	return prepare(stage, frame) ? NULL : stage->bytes;
}

static int copy(struct frame_stage *stage, void *to, const void *from, uint64_t bytes)
{
	if (ww_stream_copy(stage->stream, to, from, bytes) == WW_OK &&
		ww_stream_synchronize(stage->stream, WW_FOREVER, NULL) == WW_OK)
		return 0;
	return complain_record("cannot copy a frame of %llu bytes", (unsigned long long)bytes);
}

int frame_stage_write(struct frame_stage *stage, const struct ww_frame *frame)
{
	if (frame->host_pointer || frame->bytes == 0)
		return 0;
	return copy(stage, frame->pointer, stage->bytes, frame->bytes);
}

const void *frame_stage_read(struct frame_stage *stage, const struct ww_frame *frame)
{
	const void *bytes = frame_stage_begin(stage, frame);

	if (!bytes || frame->host_pointer || frame->bytes == 0)
		return bytes;
	return copy(stage, stage->bytes, frame->pointer, frame->bytes) ? NULL : bytes;
}

void frame_stage_fini(struct frame_stage *stage)
{
	stage->stream = ww_stream_unref(stage->stream);
	if (!stage->pinned)
		free(stage->bytes);
	stage->pinned = ww_memory_unref(stage->pinned);
	stage->bytes = NULL;
}
