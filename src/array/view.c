/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.c - other arrays over the same bytes: parts, orders, repetitions, see warpway/array.h
 *
 * Each function first checks that the span of its array can be computed. Then no product or sum
 * here overflows: an index inside a dimension times its stride is at most what the check computed.
 * A function builds the view in a local struct and copies it at the end, because @out_view may be
 * @array.
 *
 * A view without elements keeps the offset of its array, so that it stays inside the memory.
 */
#include <warpway/array.h>

#include <inttypes.h>
#include <string.h>

#include "array/layout.h"
#include "base/error.h"

static ww_status check_dim(const struct ww_array *array, uint32_t dim)
{
	if (dim >= array->ndim)
		return ww_fail(WW_ERR_INVALID,
			"an array of %" PRIu32 " dimensions has no dimension %" PRIu32
			"; the first is 0",
			array->ndim, dim);
	return WW_OK;
}

/* Moves the first element to another index. An element is there, so nothing overflows. */
static void move_start(struct ww_array *array, int64_t index, int64_t stride)
{
	if (ww_array_has_elements(array))
		array->offset += (uint64_t)(index * stride);
}

/* A start or stop of a slice as an index from the start, limited to @low ... @high. */
static int64_t limit_index(int64_t number, int64_t count, int64_t low, int64_t high)
{
	if (number < 0)
		number += count;
	return number < low ? low : number > high ? high : number;
}

/* Return: how many indices a slice has. @out_first: the first of them. */
static int64_t count_slice(int64_t count, int64_t start, int64_t stop, int64_t step,
	int64_t *out_first)
{
	int64_t low = step < 0 ? -1 : 0;
	int64_t high = step < 0 ? count - 1 : count;
	int64_t first = step < 0 ? high : low;
	int64_t last = step < 0 ? low : high;

	if (start != WW_SLICE_NONE)
		first = limit_index(start, count, low, high);
	if (stop != WW_SLICE_NONE)
		last = limit_index(stop, count, low, high);
	*out_first = first;
	if (step < 0)
		return first > last ? (first - last - 1) / -step + 1 : 0;
	return last > first ? (last - first - 1) / step + 1 : 0;
}

ww_status ww_array_slice(const struct ww_array *array, uint32_t dim, int64_t start, int64_t stop,
	int64_t step, struct ww_array *out_view)
{
	struct ww_array view;
	int64_t first;

	ww_require(array, "ww_array_slice: array is NULL");
	ww_require(out_view, "ww_array_slice: out_view is NULL");
	ww_try(ww_array_check_span(array));
	ww_try(check_dim(array, dim));
	if (step == 0)
		return ww_fail(WW_ERR_INVALID,
			"a slice with a step of 0 would never end; for one index use ww_array_index");
	if (step == WW_SLICE_NONE)
		step = 1;
	view = *array;
	view.shape[dim] = count_slice(array->shape[dim], start, stop, step, &first);
	if (view.shape[dim] > 0)
		move_start(&view, first, array->strides[dim]);
	if (view.shape[dim] > 1)
		view.strides[dim] *= step;
	*out_view = view;
	return WW_OK;
}

ww_status ww_array_index(const struct ww_array *array, uint32_t dim, int64_t index,
	struct ww_array *out_view)
{
	struct ww_array view;
	int64_t at = index;

	ww_require(array, "ww_array_index: array is NULL");
	ww_require(out_view, "ww_array_index: out_view is NULL");
	ww_try(ww_array_check_span(array));
	ww_try(check_dim(array, dim));
	if (at < 0)
		at += array->shape[dim];
	if (at < 0 || at >= array->shape[dim])
		return ww_fail(WW_ERR_INVALID,
			"dimension %" PRIu32 " of an array has %" PRId64
			" elements, and none at index %" PRId64,
			dim, array->shape[dim], index);
	view = *array;
	view.ndim--;
	for (uint32_t i = dim; i < view.ndim; i++) {
		view.shape[i] = view.shape[i + 1];
		view.strides[i] = view.strides[i + 1];
	}
	view.shape[view.ndim] = 0;
	view.strides[view.ndim] = 0;
	move_start(&view, at, array->strides[dim]);
	*out_view = view;
	return WW_OK;
}

ww_status ww_array_permute(const struct ww_array *array, const uint32_t *order,
	struct ww_array *out_view)
{
	struct ww_array view;

	ww_require(array, "ww_array_permute: array is NULL");
	ww_require(out_view, "ww_array_permute: out_view is NULL");
	ww_try(ww_array_check_span(array));
	if (order) {
		uint32_t ndim = array->ndim;
		uint32_t seen = 0;

		for (uint32_t i = 0; i < ndim; i++) {
			if (order[i] >= ndim || seen >> order[i] & 1)
				return ww_fail(WW_ERR_INVALID,
					"an order of %" PRIu32 " dimensions has %" PRIu32
					" at place %" PRIu32 "; it names each of 0 to %" PRIu32
					" once",
					ndim, order[i], i, ndim - 1);
			seen |= UINT32_C(1) << order[i];
		}
	}
	view = *array;
	for (uint32_t i = 0; i < array->ndim; i++) {
		uint32_t from = order ? order[i] : array->ndim - 1 - i;

		view.shape[i] = array->shape[from];
		view.strides[i] = array->strides[from];
	}
	*out_view = view;
	return WW_OK;
}

ww_status ww_array_broadcast(const struct ww_array *array, uint32_t ndim, const int64_t *shape,
	struct ww_array *out_view)
{
	struct ww_array view;
	uint64_t bytes = 0;
	uint32_t added;

	ww_require(array, "ww_array_broadcast: array is NULL");
	ww_require(shape || ndim == 0, "ww_array_broadcast: shape is NULL");
	ww_require(out_view, "ww_array_broadcast: out_view is NULL");
	ww_try(ww_array_check_span(array));
	ww_try(ww_array_check_shape(ndim, shape));
	if (ndim < array->ndim)
		return ww_fail(WW_ERR_INVALID,
			"an array of %" PRIu32 " dimensions cannot be repeated to %" PRIu32,
			array->ndim, ndim);
	added = ndim - array->ndim;
	view = *array;
	view.ndim = ndim;
	for (uint32_t i = 0; i < ndim; i++) {
		view.shape[i] = shape[i];
		view.strides[i] = 0;
		if (i >= added) {
			uint32_t dim = i - added;

			/* The stride stays 0 where the view repeats one element. */
			if (array->shape[dim] == shape[i])
				view.strides[i] = array->strides[dim];
			else if (array->shape[dim] != 1)
				return ww_fail(WW_ERR_INVALID,
					"dimension %" PRIu32 " of an array has %" PRId64
					" elements and cannot be repeated to %" PRId64
					"; one element could",
					dim, array->shape[dim], shape[i]);
		}
	}
	ww_try(ww_array_full_bytes(&view, &bytes));
	*out_view = view;
	return WW_OK;
}
