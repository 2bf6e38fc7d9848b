/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scribble.h - a hostile process writes into all shared pages that it may write
 */
#ifndef WW_TESTS_SUPPORT_SCRIBBLE_H
#define WW_TESTS_SUPPORT_SCRIBBLE_H

#include <stdint.h>

/*
 * Writes random words into each page of the library that is mapped for writing here, half of them
 * where pages have their heads. Left out is the memory of the fake driver: whoever holds memory of
 * a GPU can write it (memory.h).
 * @words:  into each mapping, less than that
 * @draw:   the next random number
 */
void scribble_pages(uint32_t words, uint64_t (*draw)(void));

#endif
