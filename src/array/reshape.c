/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape.c - the same elements in another shape, the same bytes as another type, see
 * warpway/array.h
 *
 * A reshaped array is a view if strides exist that reach the same elements in C order. To find
 * them, the old dimensions are joined to runs. A run is a series of elements in C order with one
 * distance between neighbours. Two dimensions join if the outer one continues where the inner one
 * ends. Runs do not join, so each new dimension must lie inside one run, and the new dimensions in
 * a run must divide it. The new dimensions are processed from the last to the first; each takes its
 * elements from the innermost run that has elements left.
 */
#include <warpway/array.h>

#include <inttypes.h>
#include <string.h>

#include "array/dtype.h"
#include "array/layout.h"
#include "base/error.h"

struct run {
	int64_t count;
	int64_t stride;
};

/* Finds the runs of an array that has elements, the innermost first. Return: how many. */
static uint32_t find_runs(const struct ww_array *array, struct run out_runs[WW_ARRAY_DIMS])
{
	uint32_t count = 0;

	for (uint32_t i = array->ndim; i > 0; i--) {
		int64_t elements = array->shape[i - 1];
		int64_t stride = array->strides[i - 1];
		struct run *inner = count ? &out_runs[count - 1] : NULL;
		int64_t next;

		if (elements == 1)
			continue;
		if (inner && !__builtin_mul_overflow(inner->stride, inner->count, &next) &&
			next == stride)
			inner->count *= elements;
		else
			out_runs[count++] = (struct run){elements, stride};
	}
	return count;
}

/* Sets the strides of the view. Return: whether such strides exist. */
static bool fit_strides(struct ww_array *view, struct run *runs, uint32_t run_count)
{
	uint32_t at = 0;

	for (uint32_t i = view->ndim; i > 0; i--) {
		int64_t elements = view->shape[i - 1];

		if (elements == 1) {
			uint32_t dim = i - 1;
			int64_t stride = (int64_t)ww_array_element_bytes(view);

			/*
			 * No index uses the stride of a dimension of one element. It gets the
			 * stride of C order, or the bytes of an element if that overflows.
			 */
			if (dim + 1 < view->ndim &&
				__builtin_mul_overflow(view->strides[dim + 1], view->shape[dim + 1],
					&stride))
				view->strides[i - 1] = (int64_t)ww_array_element_bytes(view);
			else
				view->strides[i - 1] = stride;
			continue;
		}
		while (at < run_count && runs[at].count == 1)
			at++;
		if (at == run_count || runs[at].count % elements != 0)
			return false;
		view->strides[i - 1] = runs[at].stride;
		runs[at].count /= elements;
		if (runs[at].count > 1)
			runs[at].stride *= elements;
	}
	return true;
}

static int64_t count_elements(const struct ww_array *array)
{
	int64_t count = 1;

	for (uint32_t i = 0; i < array->ndim; i++)
		count *= array->shape[i];
	return count;
}

/* Replaces the one -1 of a shape by the number that makes @count elements. */
static ww_status complete_shape(int64_t *shape, uint32_t ndim, int64_t count)
{
	int64_t *open = NULL;
	int64_t others = 1;

	for (uint32_t i = 0; i < ndim; i++) {
		if (shape[i] == -1 && open)
			return ww_fail(WW_ERR_INVALID, "a shape has two numbers of -1");
		if (shape[i] == -1)
			open = &shape[i];
		else if (__builtin_mul_overflow(others, shape[i], &others))
			return ww_fail(WW_ERR_OVERFLOW,
				"a shape has more elements than 63 bits can count");
	}
	if (!open)
		return WW_OK;
	if (others <= 0 || count % others != 0)
		return ww_fail(WW_ERR_INVALID,
			"%" PRId64 " elements in rows of %" PRId64
			" leave no number for the -1 of a shape",
			count, others);
	*open = count / others;
	return WW_OK;
}

ww_status ww_array_reshape(const struct ww_array *array, uint32_t ndim, const int64_t *shape,
	struct ww_array *out_view)
{
	struct ww_array view;
	struct run runs[WW_ARRAY_DIMS];
	int64_t count;
	uint64_t bytes = 0;

	ww_require(array, "ww_array_reshape: array is NULL");
	ww_require(shape || ndim == 0, "ww_array_reshape: shape is NULL");
	ww_require(out_view, "ww_array_reshape: out_view is NULL");
	ww_try(ww_array_check_span(array));
	view = *array;
	/* Set all of the view except its strides; it must have as many elements as the array. */
	count = count_elements(array);
	if (ndim > WW_ARRAY_DIMS) {
		ww_try(ww_array_check_shape(ndim, shape));
	} else {
		memset(view.shape, 0, sizeof(view.shape));
		memset(view.strides, 0, sizeof(view.strides));
		view.ndim = ndim;
		if (ndim > 0)
			memcpy(view.shape, shape, ndim * sizeof(*shape));
		ww_try(complete_shape(view.shape, ndim, count));
		ww_try(ww_array_check_shape(ndim, view.shape));
		ww_try(ww_array_full_bytes(&view, &bytes));
		if (count_elements(&view) != count)
			return ww_fail(WW_ERR_INVALID,
				"an array of %" PRId64 " elements cannot get a shape of %" PRId64,
				count, count_elements(&view));
	}
	if (!ww_array_has_elements(&view))
		ww_array_set_c_order(&view);
	else if (!fit_strides(&view, runs, find_runs(array, runs)))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"an array cannot get this shape where it lies: there are gaps between its "
			"elements, or another order; copy them in C order first");
	*out_view = view;
	return WW_OK;
}

/* Divides the bytes of the last dimension into elements of another size. */
static ww_status resize_elements(struct ww_array *view, int64_t old_bytes, int64_t new_bytes)
{
	int64_t *shape;
	int64_t *stride;

	if (view->ndim == 0)
		return ww_fail(WW_ERR_INVALID,
			"an array of one element of %" PRId64 " bytes cannot be one of %" PRId64
			": it has no dimension that could grow",
			old_bytes, new_bytes);
	shape = &view->shape[view->ndim - 1];
	stride = &view->strides[view->ndim - 1];
	if (*shape > 1 && *stride != old_bytes)
		return ww_fail(WW_ERR_UNSUPPORTED,
			"an array's last dimension has a stride of %" PRId64
			" bytes, and cannot be cut into elements of another size than %" PRId64
			"; copy it in C order first",
			*stride, old_bytes);
	if (*shape * old_bytes % new_bytes != 0)
		return ww_fail(WW_ERR_INVALID,
			"an array's last dimension has %" PRId64
			" bytes, which are no elements of %" PRId64,
			*shape * old_bytes, new_bytes);
	*shape = *shape * old_bytes / new_bytes;
	*stride = new_bytes;
	return WW_OK;
}

ww_status ww_array_reinterpret(const struct ww_array *array, const struct ww_dtype *dtype,
	struct ww_array *out_view)
{
	struct ww_array view;
	uint64_t old_bytes;
	uint64_t new_bytes;

	ww_require(array, "ww_array_reinterpret: array is NULL");
	ww_require(dtype, "ww_array_reinterpret: dtype is NULL");
	ww_require(out_view, "ww_array_reinterpret: out_view is NULL");
	ww_try(ww_array_check_span(array));
	ww_try(ww_dtype_check(*dtype));
	view = *array;
	view.dtype = *dtype;
	old_bytes = ww_array_element_bytes(array);
	new_bytes = ww_array_element_bytes(&view);
	if (old_bytes != new_bytes)
		ww_try(resize_elements(&view, (int64_t)old_bytes, (int64_t)new_bytes));
	ww_try(ww_array_full_bytes(&view, &old_bytes));
	*out_view = view;
	return WW_OK;
}
