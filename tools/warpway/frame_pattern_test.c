/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_pattern_test.c - each wrong byte of a frame is found
 */
#include "base/unit_test.h"

#include "warpway/frame_pattern.h"

#define BYTES 67 /* whole words, and a part of one */

UNIT_TEST(what_was_written_is_right)
{
	uint8_t bytes[BYTES];
	uint64_t offset;

	for (uint64_t count = 0; count <= BYTES; count++) {
		frame_pattern_fill(bytes, count, count + 1);
		assert_true(frame_pattern_check(bytes, count, count + 1, &offset));
		assert_int_equal(offset, count);
	}
}

UNIT_TEST(each_wrong_byte_is_found)
{
	uint8_t bytes[BYTES];
	uint64_t offset;

	frame_pattern_fill(bytes, BYTES, 7);
	for (uint64_t i = 0; i < BYTES; i++) {
		assert_int_equal(bytes[i], frame_pattern_at(7, i));
		bytes[i] ^= 1;
		assert_false(frame_pattern_check(bytes, BYTES, 7, &offset));
		assert_int_equal(offset, i);
		bytes[i] ^= 1;
	}
}

/* So a frame of two halves is found, wherever it is torn. */
UNIT_TEST(no_two_frames_share_a_word)
{
	uint64_t one[BYTES / 8];
	uint64_t other[BYTES / 8];

	for (uint64_t frame = 2; frame < 1000; frame++) {
		frame_pattern_fill(one, sizeof(one), 1);
		frame_pattern_fill(other, sizeof(other), frame);
		for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
			assert_true(one[i] != other[i]);
	}
}

UNIT_MAIN("frame_pattern")
