/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum.c - CRC-32C, by the CPU's own instruction or by tables
 *
 * A token of 512 bytes is summed twice on its way, which has to take no longer than a few messages
 * between two caches. x86-64 has had an instruction for this very polynomial since SSE4.2, for 8
 * bytes at a time. Elsewhere there are eight tables: one says what a byte does to the sum that is
 * the last of 8 bytes, one what the last but one does, and so on. They are made at the first use.
 */
#include "base/checksum.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#define POLYNOMIAL UINT32_C(0x82f63b78) /* 0x1edc6f41 with its bits in reverse order */
#define STEP       8

static uint32_t tables[STEP][256]; /* constant once made */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (POLYNOMIAL & (0 - (crc & 1)));
		tables[0][byte] = crc;
	}
	for (int behind = 1; behind < STEP; behind++) {
		for (int byte = 0; byte < 256; byte++) {
			uint32_t crc = tables[behind - 1][byte];

			tables[behind][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
		}
	}
}

static uint64_t load(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

uint32_t ww_checksum_by_table(uint32_t crc, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	pthread_once(&once, make_tables);
	crc = ~crc;
	for (; count >= STEP; count -= STEP, byte += STEP) {
		uint64_t word = load(byte) ^ crc;

		crc = 0;
		for (int i = 0; i < STEP; i++)
			crc ^= tables[STEP - 1 - i][(word >> (8 * i)) & 0xff];
	}
	for (; count > 0; count--, byte++)
		crc = (crc >> 8) ^ tables[0][(crc ^ *byte) & 0xff];
	return ~crc;
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *byte,
	size_t count)
{
	uint64_t sum = ~crc;

	for (; count >= STEP; count -= STEP, byte += STEP)
		sum = __builtin_ia32_crc32di(sum, load(byte));
	crc = (uint32_t)sum;
	for (; count > 0; count--, byte++)
		crc = __builtin_ia32_crc32qi(crc, *byte);
	return ~crc;
}

uint32_t ww_checksum(uint32_t crc, const void *bytes, size_t count)
{
	if (__builtin_cpu_supports("sse4.2"))
		return by_instruction(crc, bytes, count);
	return ww_checksum_by_table(crc, bytes, count);
}

#else

uint32_t ww_checksum(uint32_t crc, const void *bytes, size_t count)
{
	return ww_checksum_by_table(crc, bytes, count);
}

#endif
