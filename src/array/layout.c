/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - how an array lies in a memory, see warpway/array.h
 *
 * An attacker may choose every number so that a sum wraps around. So each field is checked by
 * itself first, and then each product and each sum is checked. Where sizes are computed, a
 * dimension without elements counts as one of one element: then a program that multiplies the shape
 * in another order cannot overflow either.
 *
 * The first element is at `offset`. Positive strides reach above it, negative strides reach below
 * it. These are two sums, so that one cannot hide an overflow of the other.
 *
 * Other structs of the ABI contain struct ww_array, so it never grows, and its size has one valid
 * value.
 */
#include "array/layout.h"

#include <inttypes.h>
#include <string.h>

#include "array/dtype.h"
#include "base/error.h"

_Static_assert(sizeof(struct ww_array) == 280, "part of other structs: it cannot grow");

ww_status ww_array_check_shape(uint32_t ndim, const int64_t *shape)
{
	if (ndim > WW_ARRAY_DIMS)
		return ww_fail(WW_ERR_INVALID,
			"an array has %" PRIu32 " dimensions; %d are the most", ndim,
			WW_ARRAY_DIMS);
	for (uint32_t i = 0; i < ndim; i++) {
		if (shape[i] < 0)
			return ww_fail(WW_ERR_INVALID,
				"dimension %" PRIu32 " of an array has %" PRId64 " elements", i,
				shape[i]);
	}
	return WW_OK;
}

/* Checks each field by itself, without sums or products. Return: WW_OK; WW_ERR_INVALID. */
static ww_status check_form(const struct ww_array *array)
{
	if (array->struct_size != sizeof(*array))
		return ww_fail(WW_ERR_INVALID,
			"ww_array.struct_size is %" PRIu32
			"; set it to sizeof(struct ww_array), %zu",
			array->struct_size, sizeof(*array));
	ww_try(ww_dtype_check(array->dtype));
	if (array->reserved != 0)
		return ww_fail(WW_ERR_INVALID, "ww_array.reserved is not 0");
	ww_try(ww_array_check_shape(array->ndim, array->shape));
	for (uint32_t i = array->ndim; i < WW_ARRAY_DIMS; i++) {
		if ((array->shape[i] | array->strides[i]) != 0)
			return ww_fail(WW_ERR_INVALID,
				"an array of %" PRIu32
				" dimensions has a shape or a stride at %" PRIu32
				"; set what is not used to 0",
				array->ndim, i);
	}
	return WW_OK;
}

uint64_t ww_array_element_bytes(const struct ww_array *array)
{
	return ww_dtype_bytes(array->dtype);
}

static uint64_t at_least_one(int64_t count)
{
	return count > 0 ? (uint64_t)count : 1;
}

bool ww_array_has_elements(const struct ww_array *array)
{
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] == 0)
			return false;
	}
	return true;
}

ww_status ww_array_full_bytes(const struct ww_array *array, uint64_t *out_bytes)
{
	uint64_t bytes = ww_array_element_bytes(array);

	for (uint32_t i = 0; i < array->ndim; i++) {
		if (__builtin_mul_overflow(bytes, at_least_one(array->shape[i]), &bytes) ||
			bytes > INT64_MAX)
			return ww_fail(WW_ERR_OVERFLOW,
				"an array has more bytes than 63 bits can count, at dimension %" PRIu32,
				i);
	}
	*out_bytes = bytes;
	return WW_OK;
}

ww_status ww_array_measure(const struct ww_array *array, uint64_t *out_below, uint64_t *out_above)
{
	uint64_t reach[2] = {0, 0}; /* above, below */

	for (uint32_t i = 0; i < array->ndim; i++) {
		uint64_t steps = at_least_one(array->shape[i]) - 1;
		uint64_t *end = &reach[array->strides[i] < 0];
		uint64_t bytes;

		if (__builtin_mul_overflow(steps, ww_array_magnitude(array->strides[i]), &bytes) ||
			__builtin_add_overflow(*end, bytes, end) || *end > INT64_MAX)
			return ww_fail(WW_ERR_OVERFLOW,
				"an array's stride is too large to compute with: %" PRId64
				" bytes in dimension %" PRIu32 " of %" PRId64 " elements",
				array->strides[i], i, array->shape[i]);
	}
	*out_above = reach[0];
	*out_below = reach[1];
	return WW_OK;
}

/* The bytes that the elements reach. @array was checked, but for its strides and its offset. */
static ww_status find_span(const struct ww_array *array, uint64_t *out_first, uint64_t *out_end)
{
	uint64_t below = 0;
	uint64_t above = 0;
	uint64_t end;

	ww_try(ww_array_measure(array, &below, &above));
	*out_first = array->offset;
	*out_end = array->offset;
	if (!ww_array_has_elements(array))
		return WW_OK;
	if (below > array->offset)
		return ww_fail(WW_ERR_MISMATCH,
			"an array reaches outside its memory: %" PRIu64 " bytes before its start",
			below - array->offset);
	if (__builtin_add_overflow(above, array->offset, &end) ||
		__builtin_add_overflow(end, ww_array_element_bytes(array), &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"an array's last byte is too far from the start of its memory to compute with");
	*out_first = array->offset - below;
	*out_end = end;
	return WW_OK;
}

/* Fortran order: the first index runs fastest. C order: the last one. */
static void set_order(struct ww_array *array, bool is_fortran)
{
	uint64_t stride = ww_array_element_bytes(array);

	for (uint32_t i = 0; i < array->ndim; i++) {
		uint32_t dim = is_fortran ? i : array->ndim - 1 - i;

		array->strides[dim] = (int64_t)stride;
		stride *= at_least_one(array->shape[dim]);
	}
}

void ww_array_set_c_order(struct ww_array *array)
{
	set_order(array, false);
}

ww_status ww_array_set(struct ww_array *array, const struct ww_dtype *dtype, uint32_t ndim,
	const int64_t *shape, const int64_t *strides, uint64_t offset)
{
	struct ww_array made = {.struct_size = sizeof(made), .ndim = ndim, .offset = offset};
	uint64_t bytes = 0;
	uint64_t below = 0;
	uint64_t above = 0;

	ww_require(array, "ww_array_set: array is NULL");
	ww_require(dtype, "ww_array_set: dtype is NULL");
	ww_require(shape || ndim == 0, "ww_array_set: shape is NULL");
	ww_try(ww_dtype_check(*dtype));
	ww_try(ww_array_check_shape(ndim, shape));
	made.dtype = *dtype;
	if (ndim > 0)
		memcpy(made.shape, shape, ndim * sizeof(*shape));
	ww_try(ww_array_full_bytes(&made, &bytes));
	if (strides && ndim > 0)
		memcpy(made.strides, strides, ndim * sizeof(*strides));
	else
		set_order(&made, false);
	ww_try(ww_array_measure(&made, &below, &above));
	*array = made;
	return WW_OK;
}

ww_status ww_array_check(const struct ww_array *array, uint64_t bytes)
{
	uint64_t first = 0;
	uint64_t end = 0;

	ww_require(array, "ww_array_check: array is NULL");
	ww_try(ww_array_span(array, &first, &end));
	if (end > bytes)
		return ww_fail(WW_ERR_MISMATCH,
			"an array reaches outside its memory of %" PRIu64 " bytes: %" PRIu64
			" bytes behind its end",
			bytes, end - bytes);
	return WW_OK;
}

ww_status ww_array_check_span(const struct ww_array *array)
{
	return ww_array_check(array, UINT64_MAX);
}

ww_status ww_array_span(const struct ww_array *array, uint64_t *out_first, uint64_t *out_end)
{
	uint64_t first = 0;
	uint64_t end = 0;
	uint64_t bytes;

	ww_clear(out_first, 0);
	ww_clear(out_end, 0);
	ww_require(array, "ww_array_span: array is NULL");
	ww_require(out_first && out_end, "ww_array_span: a result is NULL");
	ww_try(check_form(array));
	ww_try(ww_array_full_bytes(array, &bytes));
	ww_try(find_span(array, &first, &end));
	*out_first = first;
	*out_end = end;
	return WW_OK;
}

ww_status ww_array_bytes(const struct ww_array *array, uint64_t *out_bytes)
{
	uint64_t bytes = 0;

	ww_clear(out_bytes, 0);
	ww_require(array, "ww_array_bytes: array is NULL");
	ww_require(out_bytes, "ww_array_bytes: out_bytes is NULL");
	ww_try(check_form(array));
	ww_try(ww_array_full_bytes(array, &bytes));
	*out_bytes = ww_array_has_elements(array) ? bytes : 0;
	return WW_OK;
}

/* A stride is compared only where an index uses it: in dimensions of several elements. */
static bool has_strides_of(const struct ww_array *array, const struct ww_array *model)
{
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] > 1 && array->strides[i] != model->strides[i])
			return false;
	}
	return true;
}

static int32_t lies_in_order(const struct ww_array *array, bool is_fortran)
{
	struct ww_array model;
	struct ww_error record;
	uint64_t bytes = 0;

	if (!array)
		return 0;
	ww_error_save(&record);
	if (ww_array_bytes(array, &bytes) != WW_OK) {
		ww_error_restore(&record);
		return 0;
	}
	model = *array;
	set_order(&model, is_fortran);
	return !ww_array_has_elements(array) || has_strides_of(array, &model);
}

int32_t ww_array_is_contiguous(const struct ww_array *array)
{
	return lies_in_order(array, false);
}

int32_t ww_array_is_fortran(const struct ww_array *array)
{
	return lies_in_order(array, true);
}
