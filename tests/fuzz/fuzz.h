/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - a target, and what it begins from
 *
 * A target takes any bytes and must neither crash, hang nor leak. With clang it is linked with
 * libFuzzer; everywhere with driver.c, which mutates the seeds with a fixed random sequence, so
 * that every run of the tests does the same.
 */
#ifndef WW_TESTS_FUZZ_FUZZ_H
#define WW_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUZZ_INPUT_BYTES 1024

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes);

/* Writes the seed of this number; returns its length, or 0 when there is none. */
size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES]);

#define FUZZ_MUST(condition)                                                                    \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

#endif
