/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reshape.c - the same elements in another shape, the same bytes as another type, see
 * warpway/array.h
 *
 * A reshaped array is a view if its elements, taken in C order, can be reached by other strides. To
 * find out, the old dimensions are joined to RUNS: stretches of elements in C order that lie at one
 * distance from each other. Dimensions join when the outer one goes on where the inner one ends.
 * Two runs never join, so a new dimension must lie inside one run, and the new ones that share a
 * run must divide it. From the last dimension to the first, each new one takes its elements from
 * the run that is innermost of what is left.
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

/* The runs of an array that has elements, the innermost first. Returns their number. */
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

/*
 * A dimension of one element leads nowhere; its stride is what C order would have, where that can
 * be said.
 */
static int64_t idle_stride(const struct ww_array *view, uint32_t dim)
{
	int64_t stride = (int64_t)ww_array_element_bytes(view);

	if (dim + 1 < view->ndim &&
		__builtin_mul_overflow(view->strides[dim + 1], view->shape[dim + 1], &stride))
		return (int64_t)ww_array_element_bytes(view);
	return stride;
}

/* Gives each dimension of the view its stride. Returns whether there are such. */
static bool fit_strides(struct ww_array *view, struct run *runs, uint32_t run_count)
{
	uint32_t at = 0;

	for (uint32_t i = view->ndim; i > 0; i--) {
		int64_t elements = view->shape[i - 1];

		if (elements == 1) {
			view->strides[i - 1] = idle_stride(view, i - 1);
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

/* Replaces the one -1 of a shape by what is left of @count elements. */
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

/* The view as it is to be, but for its strides: it has the same number of elements. */
static ww_status set_shape(const struct ww_array *array, uint32_t ndim, const int64_t *shape,
	struct ww_array *out_view)
{
	int64_t count = count_elements(array);
	uint64_t bytes = 0;

	if (ndim > WW_ARRAY_DIMS)
		return ww_array_check_shape(ndim, shape);
	memset(out_view->shape, 0, sizeof(out_view->shape));
	memset(out_view->strides, 0, sizeof(out_view->strides));
	out_view->ndim = ndim;
	if (ndim > 0)
		memcpy(out_view->shape, shape, ndim * sizeof(*shape));
	ww_try(complete_shape(out_view->shape, ndim, count));
	ww_try(ww_array_check_shape(ndim, out_view->shape));
	ww_try(ww_array_full_bytes(out_view, &bytes));
	if (count_elements(out_view) != count)
		return ww_fail(WW_ERR_INVALID,
			"an array of %" PRId64 " elements cannot get a shape of %" PRId64, count,
			count_elements(out_view));
	return WW_OK;
}

ww_status ww_array_reshape(const struct ww_array *array, uint32_t ndim, const int64_t *shape,
	struct ww_array *out_view)
{
	struct ww_array view;
	struct run runs[WW_ARRAY_DIMS];
	uint64_t first = 0;
	uint64_t end = 0;

	ww_require(array, "ww_array_reshape: array is NULL");
	ww_require(shape || ndim == 0, "ww_array_reshape: shape is NULL");
	ww_require(out_view, "ww_array_reshape: out_view is NULL");
	ww_try(ww_array_span(array, &first, &end));
	view = *array;
	ww_try(set_shape(array, ndim, shape, &view));
	if (!ww_array_has_elements(&view))
		ww_array_set_c_order(&view);
	else if (!fit_strides(&view, runs, find_runs(array, runs)))
		return ww_fail(WW_ERR_UNSUPPORTED,
			"an array cannot get this shape where it lies: there are gaps between its "
			"elements, or another order; copy them in C order first");
	*out_view = view;
	return WW_OK;
}

static void set_dtype(struct ww_array *array, const struct ww_dtype *dtype)
{
	array->dtype.code = dtype->code;
	array->dtype.bits = dtype->bits;
	array->dtype.lanes = dtype->lanes;
}

/* Cuts the bytes of the last dimension into elements of another size. */
static ww_status recut(struct ww_array *view, int64_t old_bytes, int64_t new_bytes)
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
	uint64_t first = 0;
	uint64_t end = 0;

	ww_require(array, "ww_array_reinterpret: array is NULL");
	ww_require(dtype, "ww_array_reinterpret: dtype is NULL");
	ww_require(out_view, "ww_array_reinterpret: out_view is NULL");
	ww_try(ww_array_span(array, &first, &end));
	ww_try(ww_dtype_check(dtype->code, dtype->bits, dtype->lanes));
	view = *array;
	set_dtype(&view, dtype);
	old_bytes = ww_array_element_bytes(array);
	new_bytes = ww_array_element_bytes(&view);
	if (old_bytes != new_bytes)
		ww_try(recut(&view, (int64_t)old_bytes, (int64_t)new_bytes));
	ww_try(ww_array_full_bytes(&view, &old_bytes));
	*out_view = view;
	return WW_OK;
}
