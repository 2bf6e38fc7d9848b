/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum_test.c - CRC-32C against published values, and against itself bit by bit
 */
#include "base/unit_test.h"

#include <string.h>

#include "base/checksum.h"

/* RFC 3720, section B.4: 32 bytes of each pattern. */
UNIT_TEST(published_values)
{
	uint8_t bytes[32];

	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(ww_checksum(0, bytes, sizeof(bytes)), 0x46dd794e);
}

UNIT_TEST(parts_make_the_whole)
{
	const char *text = "123456789";

	assert_int_equal(ww_checksum(0, text, 9), 0xe3069283);
	for (size_t cut = 0; cut <= 9; cut++)
		assert_int_equal(ww_checksum(ww_checksum(0, text, cut), text + cut, 9 - cut),
			0xe3069283);
}

static uint32_t bit_by_bit(uint32_t crc, const uint8_t *byte, size_t count)
{
	crc = ~crc;
	for (size_t i = 0; i < count; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
	}
	return ~crc;
}

/* Each length, beginning at each place of a word, alone and behind something else. */
UNIT_TEST(all_ways_agree)
{
	uint8_t bytes[308];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i + 7 * i + 3);
	for (size_t start = 0; start < 8; start++) {
		for (size_t count = 0; count <= 300; count++) {
			uint32_t before = (uint32_t)(count % 3) * 0x9e3779b9;
			uint32_t sum = bit_by_bit(before, bytes + start, count);

			assert_int_equal(ww_checksum(before, bytes + start, count), sum);
			assert_int_equal(ww_checksum_by_table(before, bytes + start, count), sum);
		}
	}
}

UNIT_MAIN("checksum")
