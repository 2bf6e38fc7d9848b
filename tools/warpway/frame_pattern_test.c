/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_pattern_test.c - each wrong byte of a frame is found
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "warpway/frame_pattern.h"

#define BYTES 67 /* whole words, and a part of one */

static void what_was_written_is_right(void **state)
{
	uint8_t bytes[BYTES];
	uint64_t offset;

	(void)state;
	for (uint64_t count = 0; count <= BYTES; count++) {
		frame_pattern_fill(bytes, count, count + 1);
		assert_true(frame_pattern_check(bytes, count, count + 1, &offset));
		assert_int_equal(offset, count);
	}
}

static void each_wrong_byte_is_found(void **state)
{
	uint8_t bytes[BYTES];
	uint64_t offset;

	(void)state;
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
static void no_two_frames_share_a_word(void **state)
{
	uint64_t one[BYTES / 8];
	uint64_t other[BYTES / 8];

	(void)state;
	for (uint64_t frame = 2; frame < 1000; frame++) {
		frame_pattern_fill(one, sizeof(one), 1);
		frame_pattern_fill(other, sizeof(other), frame);
		for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++)
			assert_true(one[i] != other[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_right),
		cmocka_unit_test(each_wrong_byte_is_found),
		cmocka_unit_test(no_two_frames_share_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
