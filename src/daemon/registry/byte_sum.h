/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_sum.h - sums of the bytes of objects
 *
 * An object has as many bytes as its creator says, INT64_MAX at most, and a removed object is
 * charged to no user. So a few objects make a sum of 64 bits begin at 0 again, and a process could
 * hide what it holds. These sums are exact; a client gets UINT64_MAX if a sum is too large.
 */
#ifndef WW_DAEMON_REGISTRY_BYTE_SUM_H
#define WW_DAEMON_REGISTRY_BYTE_SUM_H

#include <stdint.h>

__extension__ typedef unsigned __int128 byte_sum;

static inline uint64_t byte_sum_told(byte_sum sum)
{
	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

#endif
