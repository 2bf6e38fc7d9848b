/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum.c - CRC-32C, bit by bit: messages are short, a table would be longer than they are
 */
#include "base/checksum.h"

#define POLYNOMIAL UINT32_C(0x82f63b78) /* 0x1edc6f41 with its bits in reverse order */

uint32_t ww_checksum(uint32_t crc, const void *bytes, size_t count)
{
	const uint8_t *byte = bytes;

	crc = ~crc;
	for (size_t i = 0; i < count; i++) {
		crc ^= byte[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (POLYNOMIAL & (0 - (crc & 1)));
	}
	return ~crc;
}
