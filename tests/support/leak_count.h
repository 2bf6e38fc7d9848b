/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leak_count.h - what this process holds: open descriptors and mappings of shared memory
 *
 * Taken before and after, to see that nothing was left behind. Counted are the entries of
 * /proc/self/fd and the mappings of memfds in /proc/self/maps; other mappings come and go with the
 * allocator.
 */
#ifndef WW_TESTS_SUPPORT_LEAK_COUNT_H
#define WW_TESTS_SUPPORT_LEAK_COUNT_H

struct census {
	int descriptors;
	int mappings;
};

void census_take(struct census *out);

/* Waits until the counts are as they were. If they do not become so, it lists what there is. */
void census_must_match(const struct census *before);

#endif
