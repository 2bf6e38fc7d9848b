/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checksum.h - CRC-32C, to tell damaged bytes from whole ones
 *
 * Castagnoli's polynomial, reflected, as in RFC 3720 (iSCSI), section B.4. It finds accidents; it
 * does not protect from an attacker.
 */
#ifndef WW_BASE_CHECKSUM_H
#define WW_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from @crc, 0 to begin with: the sum of two parts is that of the whole. */
uint32_t ww_checksum(uint32_t crc, const void *bytes, size_t count);

/* The same, as it is done where the CPU has no instruction for it. */
uint32_t ww_checksum_by_table(uint32_t crc, const void *bytes, size_t count);

#endif
