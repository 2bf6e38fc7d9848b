/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8_test.c - every code point there and back, and every pair of bytes
 */
#include "base/unit_test.h"

#include <string.h>

#include "base/utf8.h"

static size_t encode(uint32_t point, char out[5])
{
	static const uint8_t marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

	memset(out, 0, 5);
	for (size_t i = bytes - 1; i > 0; i--, point >>= 6)
		out[i] = (char)(0x80 | (point & 0x3f));
	out[0] = (char)(marks[bytes] | point);
	return bytes;
}

UNIT_TEST(every_code_point)
{
	char text[5];
	uint32_t point;

	for (uint32_t want = 1; want < 0x110000 + 0x1000; want++) {
		size_t bytes = encode(want, text);

		if ((want >= 0xd800 && want <= 0xdfff) || want > 0x10ffff) {
			assert_int_equal(ww_utf8_read(text, &point), 0);
			assert_false(ww_utf8_is_plain(text));
			continue;
		}
		assert_int_equal(ww_utf8_read(text, &point), bytes);
		assert_int_equal(point, want);
		text[bytes - 1] = bytes > 1 ? '\0' : text[bytes - 1]; /* cut off */
		assert_int_equal(ww_utf8_read(text, &point), bytes > 1 ? 0 : 1);
	}
}

/* Two bytes are a character only if one of two bytes has them. */
UNIT_TEST(every_pair)
{
	for (unsigned int first = 0x80; first < 0x100; first++) {
		for (unsigned int second = 0; second < 0x100; second++) {
			bool is_good = first >= 0xc2 && first < 0xe0 && second >= 0x80 &&
				second < 0xc0;
			const char text[] = {(char)first, (char)second, '\0'};
			uint32_t point;

			assert_int_equal(ww_utf8_read(text, &point), is_good ? 2 : 0);
		}
	}
}

UNIT_TEST(plain_texts)
{
	assert_true(ww_utf8_is_plain(""));
	assert_true(ww_utf8_is_plain("/run/warpway/broker.sock"));
	assert_true(ww_utf8_is_plain("caf\xc3\xa9 \xf0\x9f\x98\x80"));
	assert_false(ww_utf8_is_plain("a\tb"));
	assert_false(ww_utf8_is_plain("\x1b[2J"));
	assert_false(ww_utf8_is_plain("a\x7f"));
	assert_false(ww_utf8_is_plain("a\xc2\x9b"));
	assert_false(ww_utf8_is_plain("a\xe9"));
	assert_false(ww_utf8_is_plain("a\xc0\x80"));
}

UNIT_MAIN("utf8")
