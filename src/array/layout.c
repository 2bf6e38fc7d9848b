/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - how an array lies in a memory, see warpway/array.h
 *
 * Every number may be chosen by somebody who wants the sums to wrap around. So the form is checked first, each
 * field by itself, and then every product and sum with a check of its own. A dimension without elements counts as
 * one where sizes are computed: whoever multiplies the shape in another order must not overflow
 * either.
 *
 * The first element is at `offset`. Positive strides reach above it, negative ones below: two sums that are
 * kept apart, so that neither hides what the other does.
 *
 * struct ww_array is a part of other structs of the ABI, so it never grows, and its size has one right value.
 */
#include <warpway/array.h>

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

#define BITS_OF_BYTE 8

_Static_assert(sizeof(struct ww_array) == 280, "part of other structs: it cannot grow");

static ww_status check_size(const struct ww_array *array)
{
	if (array->size != sizeof(*array))
		return ww_fail(WW_ERR_INVALID,
			"ww_array.size is %" PRIu32 "; set it to sizeof(struct ww_array), %zu",
			array->size, sizeof(*array));
	return WW_OK;
}

static bool is_usual(uint32_t bits)
{
	return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128;
}

/* Whether there can be a type of this code with so many bits. */
static bool is_dtype(uint32_t code, uint32_t bits)
{
	switch (code) {
	case WW_DTYPE_INT:
	case WW_DTYPE_UINT:
	case WW_DTYPE_FLOAT:
	case WW_DTYPE_BFLOAT:
		return is_usual(bits);
	case WW_DTYPE_COMPLEX:
		return is_usual(bits) && bits > 8;
	case WW_DTYPE_OPAQUE:
		return bits > 0 && bits <= UINT8_MAX && bits % BITS_OF_BYTE == 0;
	case WW_DTYPE_BOOL:
		return bits == 8;
	default:
		return false;
	}
}

static ww_status check_type(uint32_t code, uint32_t bits, uint32_t ndim)
{
	if (code > WW_DTYPE_BOOL)
		return ww_fail(WW_ERR_INVALID,
			"an array has no known type of element: code %" PRIu32, code);
	if (!is_dtype(code, bits))
		return ww_fail(WW_ERR_INVALID,
			"an array's elements of type code %" PRIu32 " cannot have %" PRIu32 " bits",
			code, bits);
	if (ndim > WW_ARRAY_DIMS)
		return ww_fail(WW_ERR_INVALID,
			"an array has %" PRIu32 " dimensions; %d are the most", ndim,
			WW_ARRAY_DIMS);
	return WW_OK;
}

static ww_status check_shape(const int64_t *shape, uint32_t ndim)
{
	for (uint32_t i = 0; i < ndim; i++) {
		if (shape[i] < 0)
			return ww_fail(WW_ERR_INVALID,
				"dimension %" PRIu32 " of an array has %" PRId64 " elements", i,
				shape[i]);
	}
	return WW_OK;
}

/* Everything that can be said without computing. */
static ww_status check_form(const struct ww_array *array)
{
	ww_try(check_size(array));
	ww_try(check_type(array->dtype_code, array->dtype_bits, array->ndim));
	if (array->dtype_lanes == 0)
		return ww_fail(WW_ERR_INVALID, "an array's elements have no lanes; usual is 1");
	if (array->reserved != 0)
		return ww_fail(WW_ERR_INVALID, "ww_array.reserved is not 0");
	ww_try(check_shape(array->shape, array->ndim));
	for (uint32_t i = array->ndim; i < WW_ARRAY_DIMS; i++) {
		if (array->shape[i] != 0 || array->strides[i] != 0)
			return ww_fail(WW_ERR_INVALID,
				"an array of %" PRIu32
				" dimensions has a shape or a stride at %" PRIu32
				"; set what is not used to 0",
				array->ndim, i);
	}
	return WW_OK;
}

static uint64_t element_bytes(const struct ww_array *array)
{
	return (uint64_t)array->dtype_bits / BITS_OF_BYTE * array->dtype_lanes;
}

static uint64_t at_least_one(int64_t count)
{
	return count > 0 ? (uint64_t)count : 1;
}

static bool has_elements(const struct ww_array *array)
{
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] == 0)
			return false;
	}
	return true;
}

/* What the elements would have if no dimension were without any. */
static ww_status full_bytes(const struct ww_array *array, uint64_t *out_bytes)
{
	uint64_t bytes = element_bytes(array);

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

static uint64_t magnitude(int64_t stride)
{
	return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/* How far the elements reach below the first one and above it, their own bytes not counted. */
static ww_status measure(const struct ww_array *array, uint64_t *out_below, uint64_t *out_above)
{
	uint64_t reach[2] = {0, 0}; /* above, below */

	for (uint32_t i = 0; i < array->ndim; i++) {
		uint64_t steps = at_least_one(array->shape[i]) - 1;
		uint64_t *end = &reach[array->strides[i] < 0];
		uint64_t bytes;

		if (__builtin_mul_overflow(steps, magnitude(array->strides[i]), &bytes) ||
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

static ww_status fail_outside(uint64_t at, const char *where, uint64_t bytes)
{
	return ww_fail(WW_ERR_MISMATCH,
		"an array reaches outside its memory of %" PRIu64 " bytes: %" PRIu64 " bytes %s",
		bytes, at, where);
}

static ww_status check_reach(const struct ww_array *array, uint64_t bytes)
{
	uint64_t below = 0;
	uint64_t above = 0;
	uint64_t end;

	if (array->offset > bytes)
		return fail_outside(array->offset - bytes, "behind its end", bytes);
	ww_try(measure(array, &below, &above));
	if (!has_elements(array))
		return WW_OK;
	if (below > array->offset)
		return fail_outside(below - array->offset, "before its start", bytes);
	if (__builtin_add_overflow(above, array->offset, &end) ||
		__builtin_add_overflow(end, element_bytes(array), &end))
		return ww_fail(WW_ERR_OVERFLOW,
			"an array's last byte is too far from the start of its memory to compute with");
	if (end > bytes)
		return fail_outside(end - bytes, "behind its end", bytes);
	return WW_OK;
}

/* Fills the strides of a whole array in C order; the sizes have been checked. */
static void set_strides(struct ww_array *array)
{
	uint64_t stride = element_bytes(array);

	for (uint32_t i = array->ndim; i > 0; i--) {
		array->strides[i - 1] = (int64_t)stride;
		stride *= at_least_one(array->shape[i - 1]);
	}
}

ww_status ww_array_set(struct ww_array *array, uint32_t dtype_code, uint32_t dtype_bits,
	uint32_t ndim, const int64_t *shape)
{
	struct ww_array made = {.size = sizeof(made), .dtype_lanes = 1};
	uint64_t bytes = 0;

	ww_require(array, "ww_array_set: array is NULL");
	ww_require(shape || ndim == 0, "ww_array_set: shape is NULL");
	ww_try(check_size(array));
	ww_try(check_type(dtype_code, dtype_bits, ndim));
	ww_try(check_shape(shape, ndim));
	made.dtype_code = (uint8_t)dtype_code;
	made.dtype_bits = (uint8_t)dtype_bits;
	made.ndim = ndim;
	if (ndim > 0)
		memcpy(made.shape, shape, ndim * sizeof(*shape));
	ww_try(full_bytes(&made, &bytes));
	set_strides(&made);
	*array = made;
	return WW_OK;
}

ww_status ww_array_check(const struct ww_array *array, uint64_t bytes)
{
	uint64_t elements_bytes;

	ww_require(array, "ww_array_check: array is NULL");
	ww_try(check_form(array));
	ww_try(full_bytes(array, &elements_bytes));
	return check_reach(array, bytes);
}

ww_status ww_array_bytes(const struct ww_array *array, uint64_t *out_bytes)
{
	uint64_t bytes = 0;

	ww_clear(out_bytes, 0);
	ww_require(array, "ww_array_bytes: array is NULL");
	ww_require(out_bytes, "ww_array_bytes: out_bytes is NULL");
	ww_try(check_form(array));
	ww_try(full_bytes(array, &bytes));
	*out_bytes = has_elements(array) ? bytes : 0;
	return WW_OK;
}

/* Of what has been checked. The strides of dimensions with one element lead nowhere. */
static bool is_contiguous(const struct ww_array *array)
{
	struct ww_array whole = *array;

	if (!has_elements(array))
		return true;
	set_strides(&whole);
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] > 1 && array->strides[i] != whole.strides[i])
			return false;
	}
	return true;
}

int32_t ww_array_is_contiguous(const struct ww_array *array)
{
	struct ww_error record;
	uint64_t bytes = 0;

	if (!array)
		return 0;
	ww_error_save(&record);
	if (ww_array_bytes(array, &bytes) == WW_OK)
		return is_contiguous(array);
	ww_error_restore(&record);
	return 0;
}
