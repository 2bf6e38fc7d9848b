/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel.c - frames whose content tells which frame it is, see channel.h
 */
#include "support/channel.h"

#include <warpway/memory.h>

#include "support/check.h"
#include "support/subject.h"

#define SPREAD UINT64_C(0x9e3779b97f4a7c15) /* so that words of two frames differ in many bits */

void frame_write(struct ww_frame *frame, uint64_t value)
{
	ww_memory *memory = NULL;
	uint64_t words[FRAME_WORDS];
	uint64_t offset;

	for (uint64_t i = 0; i < FRAME_WORDS; i++)
		words[i] = value + i * SPREAD;
	MUST_OK(ww_memory_find(frame->pointer, &memory, &offset));
	memory_put(memory, offset, words, sizeof(words));
	ww_memory_unref(memory);
	frame->bytes = sizeof(words);
	frame->metadata_bytes = 0;
}

bool frame_read(const struct ww_frame *frame, uint64_t *out_value)
{
	ww_memory *memory = NULL;
	uint64_t words[FRAME_WORDS];
	uint64_t offset;

	MUST_EQUAL(sizeof(words), frame->bytes);
	MUST_OK(ww_memory_find(frame->pointer, &memory, &offset));
	memory_get(memory, offset, words, sizeof(words));
	ww_memory_unref(memory);
	*out_value = words[0];
	for (uint64_t i = 0; i < FRAME_WORDS; i++) {
		if (words[i] != words[0] + i * SPREAD)
			return false;
	}
	return true;
}

void frame_send(ww_channel *channel, uint64_t value)
{
	struct ww_frame frame = WW_INIT(struct ww_frame);

	MUST_OK(ww_channel_acquire(channel, NULL, WW_FOREVER, NULL, &frame));
	frame_write(&frame, value);
	MUST_OK(ww_channel_publish(channel, &frame, NULL));
}
