/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_pattern.c - bytes of a frame that say which frame they are of
 */
#include "warpway/frame_pattern.h"

#include <string.h>

#define WORD_BYTES sizeof(uint64_t)

/* Odd, so that its multiples by all numbers of frames differ. */
#define FRAME_STRIDE UINT64_C(0x9e3779b97f4a7c15)

static uint64_t word_at(uint64_t frame, uint64_t index)
{
	return frame * FRAME_STRIDE + index;
}

uint8_t frame_pattern_at(uint64_t frame, uint64_t offset)
{
	const uint64_t word = word_at(frame, offset / WORD_BYTES);
	uint8_t bytes[WORD_BYTES];

	memcpy(bytes, &word, sizeof(bytes));
	return bytes[offset % WORD_BYTES];
}

void frame_pattern_fill(void *bytes, uint64_t count, uint64_t frame)
{
	uint8_t *at = bytes;
	uint64_t words = count / WORD_BYTES;

	for (uint64_t i = 0; i < words; i++) {
		const uint64_t word = word_at(frame, i);

		memcpy(at + i * WORD_BYTES, &word, WORD_BYTES);
	}
	for (uint64_t i = words * WORD_BYTES; i < count; i++)
		at[i] = frame_pattern_at(frame, i);
}

/* The first byte at or behind @from that is wrong; @count: none is. */
static uint64_t find_wrong(const uint8_t *at, uint64_t from, uint64_t count, uint64_t frame)
{
	while (from < count && at[from] == frame_pattern_at(frame, from))
		from++;
	return from;
}

bool frame_pattern_check(const void *bytes, uint64_t count, uint64_t frame, uint64_t *out_offset)
{
	const uint8_t *at = bytes;
	uint64_t words = count / WORD_BYTES;
	uint64_t i = 0;

	for (; i < words; i++) {
		const uint64_t word = word_at(frame, i);

		if (memcmp(at + i * WORD_BYTES, &word, WORD_BYTES) != 0)
			break;
	}
	*out_offset = find_wrong(at, i * WORD_BYTES, count, frame);
	return *out_offset == count;
}
