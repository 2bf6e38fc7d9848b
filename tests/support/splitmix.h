/* SPDX-License-Identifier: Apache-2.0 */
/*
 * splitmix.h - random numbers that a seed repeats: the generator SplitMix64
 */
#ifndef WW_TESTS_SUPPORT_SPLITMIX_H
#define WW_TESTS_SUPPORT_SPLITMIX_H

#include <stdint.h>

/* The next number. @state: a seed at first */
static inline uint64_t splitmix_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
