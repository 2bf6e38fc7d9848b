/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap.c - whether arrays share bytes, see warpway/array.h
 *
 * An exact answer is in general as hard as a knapsack problem. So three cheap rules decide, and
 * every other case is WW_OVERLAP_MAY:
 *
 *   - Arrays whose spans do not meet share no byte.
 *   - Let g be the greatest common divisor of all strides. All elements of an array begin at the
 *     same place modulo g. If the elements of the two arrays do not meet modulo g, the arrays share
 *     no byte. An example is the even and the odd columns of a matrix.
 *   - The lowest and the highest byte of a span belong to elements. If one of them lies inside the
 *     span of the other array, and that has no gaps, the arrays share this byte.
 *
 * Sort the strides of one array, the smallest first. If each is at least as large as the span of
 * the dimensions before it, the elements of the array share no byte.
 */
#include <warpway/array.h>

#include <stdbool.h>

#include "array/layout.h"
#include "base/error.h"

struct span {
	uint64_t first;
	uint64_t end;
	bool has_gaps;
	uint32_t self_overlap; /* WW_OVERLAP_... */
};

/*
 * Return: the number of dimensions of more than one element; @out_dims: those, the smallest stride
 * first.
 */
static uint32_t sort_dims(const struct ww_array *array, uint32_t out_dims[WW_ARRAY_DIMS])
{
	uint32_t count = 0;

	for (uint32_t dim = 0; dim < array->ndim; dim++) {
		uint32_t at = count;

		if (array->shape[dim] < 2)
			continue;
		for (; at > 0 &&
			ww_array_magnitude(array->strides[out_dims[at - 1]]) >
				ww_array_magnitude(array->strides[dim]);
			at--)
			out_dims[at] = out_dims[at - 1];
		out_dims[at] = dim;
		count++;
	}
	return count;
}

/*
 * The span of @array was computed before, so no sum here overflows.
 * @out_has_gaps:  true: perhaps a byte of the span belongs to no element
 * Return: WW_OVERLAP_..., for the elements of this array among themselves.
 */
static uint32_t compare_strides(const struct ww_array *array, bool *out_has_gaps)
{
	uint64_t bytes = ww_array_element_bytes(array);
	uint64_t reach = bytes; /* of the dimensions so far */
	uint32_t answer = WW_OVERLAP_NONE;
	uint32_t dims[WW_ARRAY_DIMS];
	uint32_t count = sort_dims(array, dims);

	*out_has_gaps = false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t stride = ww_array_magnitude(array->strides[dims[i]]);

		if (stride < bytes)
			answer = WW_OVERLAP_SOME; /* neighbours in this dimension */
		else if (stride < reach && answer == WW_OVERLAP_NONE)
			answer = WW_OVERLAP_MAY;
		if (stride > reach)
			*out_has_gaps = true;
		reach += stride * ((uint64_t)array->shape[dims[i]] - 1);
	}
	return answer;
}

static ww_status find_span(const struct ww_array *array, struct span *out)
{
	ww_try(ww_array_span(array, &out->first, &out->end));
	out->self_overlap = compare_strides(array, &out->has_gaps);
	return WW_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t divisor_of_strides(const struct ww_array *array, uint64_t divisor)
{
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] > 1)
			divisor = common_divisor(ww_array_magnitude(array->strides[i]), divisor);
	}
	return divisor;
}

/* Whether elements at those places modulo the divisor of all strides share a byte. */
static bool meet_modulo(const struct ww_array *array, const struct ww_array *other)
{
	uint64_t divisor = divisor_of_strides(other, divisor_of_strides(array, 0));
	uint64_t place, other_place;

	if (divisor == 0)
		return true;
	place = array->offset % divisor;
	other_place = other->offset % divisor;
	return (other_place + divisor - place) % divisor < ww_array_element_bytes(array) ||
		(place + divisor - other_place) % divisor < ww_array_element_bytes(other);
}

/* Whether @span has an element at the lowest or the highest byte of @other. */
static bool has_end_of(const struct span *span, const struct span *other)
{
	return !span->has_gaps &&
		((other->first >= span->first && other->first < span->end) ||
			(other->end > span->first && other->end <= span->end));
}

ww_status ww_array_overlap(const struct ww_array *array, const struct ww_array *other,
	uint32_t *out_overlap)
{
	struct span span;
	struct span others;

	ww_clear(out_overlap, WW_OVERLAP_NONE);
	ww_require(array && other, "ww_array_overlap: an array is NULL");
	ww_require(out_overlap, "ww_array_overlap: out_overlap is NULL");
	ww_try(find_span(array, &span));
	ww_try(find_span(other, &others));
	if (span.first == span.end || others.first == others.end || span.end <= others.first ||
		others.end <= span.first || !meet_modulo(array, other))
		return WW_OK;
	*out_overlap = span.first == others.first || span.end == others.end ||
			has_end_of(&span, &others) || has_end_of(&others, &span)
		? WW_OVERLAP_SOME
		: WW_OVERLAP_MAY;
	return WW_OK;
}

ww_status ww_array_self_overlap(const struct ww_array *array, uint32_t *out_overlap)
{
	struct span span;

	ww_clear(out_overlap, WW_OVERLAP_NONE);
	ww_require(array, "ww_array_self_overlap: array is NULL");
	ww_require(out_overlap, "ww_array_self_overlap: out_overlap is NULL");
	ww_try(find_span(array, &span));
	if (span.first != span.end)
		*out_overlap = span.self_overlap;
	return WW_OK;
}
