/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - float32 elements in shared memory: write a pattern, look at every element of it
 *
 * A pattern says what each element must be, so the reader needs nothing of the writer. Elements go
 * through a stream in pieces, as data does for a GPU; nothing here touches them by pointer.
 */
#ifndef TOOLS_SPAN_H
#define TOOLS_SPAN_H

#include <stdint.h>

#include <warpway/warpway.h>

/* The elements are in order of their index i. */
enum pattern_kind {
	PATTERN_COUNT_100, /* i + 100 */
	PATTERN_NEGATIVE,  /* -i */
	PATTERN_KEYED      /* whole numbers below 2^24, no two keys agree in any element */
};

struct pattern {
	enum pattern_kind kind;
	uint32_t key; /* of PATTERN_KEYED, below 2^24 */
};

/* What element @index must be. */
float pattern_at(struct pattern pattern, uint64_t index);

struct span {
	ww_stream *stream; /* borrowed */
	ww_memory *memory; /* borrowed */
	uint64_t offset;   /* bytes, of the first element in it */
	uint64_t elements;
};

/* Both return 0, or -1 after saying what went wrong. */
int span_write(const struct span *span, struct pattern pattern);

/**
 * span_verify() - compare every element
 * @out_first:  what the first element is; likewise @out_last
 *
 * The first element that differs is named with its index, what was expected and what is there.
 */
int span_verify(const struct span *span, struct pattern pattern, float *out_first, float *out_last);

#endif
