/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - cache lines that are needed soon come while something else is done
 *
 * These are hints, which change no result: an address need not even be mapped. They are not
 * __builtin_prefetch(), for two reasons. A compiler takes a function that only calls that for one
 * without effect, and leaves its calls out. And on x86-64 it fetches for reading only, unless the
 * program is built for newer processors: then the store that follows still waits until the other
 * processors have given the line up. All x86-64 processors execute prefetchw, if only as nothing.
 */
#ifndef WW_BASE_PREFETCH_H
#define WW_BASE_PREFETCH_H

/* Other processors may keep the line. */
static inline void ww_prefetch_to_read(const volatile void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetcht0 %0" ::"m"(*(const volatile char *)at));
#elif defined(__aarch64__)
	__asm__ volatile("prfm pldl1keep, [%0]" ::"r"(at));
#else
	__builtin_prefetch((const void *)at);
#endif
}

/* Other processors lose the line. */
static inline void ww_prefetch_to_write(const volatile void *at)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" ::"m"(*(const volatile char *)at));
#elif defined(__aarch64__)
	__asm__ volatile("prfm pstl1keep, [%0]" ::"r"(at));
#else
	__builtin_prefetch((const void *)at, 1);
#endif
}

#endif
