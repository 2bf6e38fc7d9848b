/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float_pattern.c - float32 elements in shared memory: write a pattern, look at every element of it
 *
 * A piece is made in CPU memory and copied to the device, or copied from it and compared with one
 * that was made. Comparison is of bits: a pattern gives the same ones in every process.
 */
#include "common/float_pattern.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/say.h"

#define PIECE_ELEMENTS (UINT64_C(1) << 20)

/* Whole numbers below this are exact in a float32. */
#define EXACT_BELOW (UINT64_C(1) << 24)

/* Odd, so that its multiples by all keys below 2^24 differ modulo 2^24. */
#define KEY_STRIDE UINT64_C(1000003)

float pattern_at(struct pattern pattern, uint64_t index)
{
	switch (pattern.kind) {
	case PATTERN_COUNT_100:
		return (float)(index + 100);
	case PATTERN_NEGATIVE:
		return (float)-(int64_t)index; /* -(float)0 would be printed as -0 */
	case PATTERN_KEYED:
		break;
	}
	return (float)((index + KEY_STRIDE * pattern.key) % EXACT_BELOW);
}

static void make_piece(struct pattern pattern, uint64_t start, uint64_t count, float *out_piece)
{
	for (uint64_t i = 0; i < count; i++)
		out_piece[i] = pattern_at(pattern, start + i);
}

static uint64_t piece_count(const struct span *span, uint64_t start)
{
	uint64_t left = span->elements - start;

	return left < PIECE_ELEMENTS ? left : PIECE_ELEMENTS;
}

static int read_piece(const struct span *span, uint64_t start, uint64_t count, float *out_piece)
{
	uint64_t at = start * sizeof(float);

	if (span->copy)
		return span->copy(span->context, out_piece, span->address + at,
			count * sizeof(float));
	if (ww_memory_read(span->memory, at, out_piece, count * sizeof(float), WW_FOREVER, NULL) !=
		WW_OK)
		return complain_record("cannot read elements");
	return 0;
}

static int write_piece(const struct span *span, uint64_t start, uint64_t count, const float *piece)
{
	uint64_t at = start * sizeof(float);

	if (span->copy)
		return span->copy(span->context, span->address + at, piece, count * sizeof(float));
	if (ww_memory_write(span->memory, at, piece, count * sizeof(float), WW_FOREVER, NULL) !=
		WW_OK)
		return complain_record("cannot write elements");
	return 0;
}

int span_write(const struct span *span, struct pattern pattern)
{
	OWN(heap) float *piece = malloc(piece_count(span, 0) * sizeof(*piece));

	if (!piece)
		return complain("out of memory");
	for (uint64_t start = 0; start < span->elements; start += PIECE_ELEMENTS) {
		uint64_t count = piece_count(span, start);

		make_piece(pattern, start, count, piece);
		if (write_piece(span, start, count, piece))
			return -1;
	}
	return 0;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int compare(const float *expected, const float *got, uint64_t start, uint64_t count)
{
	if (!memcmp(expected, got, count * sizeof(*got)))
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		if (bits_of(expected[i]) != bits_of(got[i]))
			return complain("element %llu is wrong: expected %.9g, got %.9g",
				(unsigned long long)(start + i), (double)expected[i],
				(double)got[i]);
	}
	return 0;
}

int span_verify(struct span *span, struct pattern pattern)
{
	uint64_t room = piece_count(span, 0) * sizeof(float);
	OWN(heap) float *expected = malloc(room);
	OWN(heap) float *got = malloc(room);

	if (!expected || !got)
		return complain("out of memory");
	for (uint64_t start = 0; start < span->elements; start += PIECE_ELEMENTS) {
		uint64_t count = piece_count(span, start);

		make_piece(pattern, start, count, expected);
		if (read_piece(span, start, count, got) || compare(expected, got, start, count))
			return -1;
		if (start == 0)
			span->first = got[0];
		span->last = got[count - 1];
	}
	return 0;
}
