/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float_pattern.h - float32 elements in shared memory: write a pattern, look at every element of it
 *
 * A pattern says what each element must be, so the reader needs nothing of the writer. Elements are
 * copied in pieces; nothing here touches them by pointer.
 */
#ifndef TOOLS_COMMON_FLOAT_PATTERN_H
#define TOOLS_COMMON_FLOAT_PATTERN_H

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
	/*
	 * Copies within this process, and waits for it; NULL: the elements are in @memory.
	 * Return: 0, or -1 after saying what went wrong.
	 */
	int (*copy)(void *context, void *to, const void *from, uint64_t bytes);
	void *context;
	char *address; /* of the first element, with @copy */
	ww_memory *memory;
	uint64_t elements;
	float first; /* what span_verify() has found; likewise last */
	float last;
};

/* For one that owns its memory. */
static inline void own_span(struct span *span)
{
	ww_memory_unref(span->memory);
}

/* Both return 0, or -1 after saying what went wrong. */
int span_write(const struct span *span, struct pattern pattern);

/*
 * Compares every element. The first that differs is named with its index, what was expected and
 * what is there.
 */
int span_verify(struct span *span, struct pattern pattern);

#endif
