/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_test.c - slices, orders, repetitions and shapes, against what Python would give
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <string.h>

#include <warpway/array.h>

#define NONE WW_SLICE_NONE

static const struct ww_dtype float32 = {WW_DTYPE_FLOAT, 32, 1};
static const struct ww_dtype uint8 = {WW_DTYPE_UINT, 8, 1};

static struct ww_array array_of(uint32_t ndim, const int64_t *shape)
{
	struct ww_array array;

	assert_ok(ww_array_set(&array, &float32, ndim, shape, NULL, 0));
	return array;
}

/* 4 x 6 floats in C order: 96 bytes. */
static struct ww_array matrix(void)
{
	return array_of(2, (const int64_t[]){4, 6});
}

static void assert_array(const struct ww_array *array, uint64_t offset, uint32_t ndim,
	const int64_t *shape, const int64_t *strides)
{
	struct ww_dtype dtype = {array->dtype.code, array->dtype.bits, array->dtype.lanes};
	struct ww_array want;

	assert_ok(ww_array_set(&want, &dtype, ndim, shape, strides, offset));
	assert_memory_equal(array, &want, sizeof(want));
}

UNIT_TEST(set_any_layout)
{
	struct ww_array array;
	const struct ww_dtype pairs = {WW_DTYPE_FLOAT4_E2M1FN, 4, 2};

	memset(&array, 0x55, sizeof(array));
	assert_ok(ww_array_set(&array, &float32, 2, (const int64_t[]){3, 2},
		(const int64_t[]){-8, 0}, 40));
	assert_int_equal(array.struct_size, sizeof(array));
	assert_true(array.strides[0] == -8 && array.strides[1] == 0 && array.strides[2] == 0);
	assert_ok(ww_array_check(&array, 44));
	assert_fails(ww_array_check(&array, 43), WW_ERR_MISMATCH);
	assert_ok(ww_array_set(&array, &pairs, 1, (const int64_t[]){50}, NULL, 0));
	assert_int_equal(array.strides[0], 1);
	assert_fails(ww_array_set(&array, &float32, 1, (const int64_t[]){3},
			     (const int64_t[]){INT64_MIN}, 0),
		WW_ERR_OVERFLOW);
	assert_fails(ww_array_set(&array, &float32, 17, (const int64_t[17]){0}, NULL, 0),
		WW_ERR_INVALID);
	assert_int_equal(array.strides[0], 1);
}

UNIT_TEST(span_is_exact)
{
	struct ww_array array = matrix();
	uint64_t first;
	uint64_t end;

	array.offset = 100;
	array.strides[0] = -24;
	assert_ok(ww_array_span(&array, &first, &end));
	assert_true(first == 28 && end == 124);
	array.offset = 71;
	assert_fails(ww_array_span(&array, &first, &end), WW_ERR_MISMATCH);
	assert_true(first == 0 && end == 0);
	array.shape[1] = 0;
	assert_ok(ww_array_span(&array, &first, &end));
	assert_true(first == 71 && end == 71);
	array = matrix();
	array.offset = UINT64_MAX - 95;
	assert_fails(ww_array_span(&array, &first, &end), WW_ERR_OVERFLOW);
	array.offset--;
	assert_ok(ww_array_span(&array, &first, &end));
	assert_true(end == UINT64_MAX - 0);
}

/* start, stop, step of a dimension of 6; the first index and how many, as Python says */
static const struct {
	int64_t start;
	int64_t stop;
	int64_t step;
	int64_t first;
	int64_t count;
} slices[] = {
	{NONE, NONE, NONE, 0, 6},
	{NONE, NONE, 1, 0, 6},
	{1, 4, 1, 1, 3},
	{1, 4, 2, 1, 2},
	{NONE, NONE, 4, 0, 2},
	{-2, NONE, 1, 4, 2},
	{NONE, -2, 1, 0, 4},
	{-100, 100, 1, 0, 6},
	{100, 200, 1, 0, 0},
	{4, 1, 1, 0, 0},
	{NONE, NONE, -1, 5, 6},
	{NONE, NONE, -2, 5, 3},
	{4, 1, -1, 4, 3},
	{4, NONE, -3, 4, 2},
	{1, 4, -1, 0, 0},
	{100, -100, -1, 5, 6},
	{NONE, -1, -1, 0, 0},
	{-1, -7, -1, 5, 6},
	{0, NONE, -1, 0, 1},
	{-INT64_MAX, INT64_MAX, INT64_MAX, 0, 1},
	{INT64_MAX, -INT64_MAX, -INT64_MAX, 5, 1},
};

UNIT_TEST(slices_are_pythons)
{
	for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
		struct ww_array array = matrix();
		int64_t step = slices[i].step == NONE ? 1 : slices[i].step;
		int64_t count = slices[i].count;

		assert_ok(ww_array_slice(&array, 1, slices[i].start, slices[i].stop, slices[i].step,
			&array));
		assert_array(&array, (uint64_t)(count ? 4 * slices[i].first : 0), 2,
			(const int64_t[]){4, count},
			(const int64_t[]){24, count > 1 ? 4 * step : 4});
		assert_ok(ww_array_check(&array, 96));
	}
}

UNIT_TEST(slice_refuses)
{
	struct ww_array array = matrix();
	struct ww_array view = {.struct_size = 77};

	assert_fails(ww_array_slice(&array, 1, 0, 1, 0, &view), WW_ERR_INVALID);
	assert_fails(ww_array_slice(&array, 2, 0, 1, 1, &view), WW_ERR_INVALID);
	assert_fails(ww_array_slice(&array, UINT32_MAX, 0, 1, 1, &view), WW_ERR_INVALID);
	array.strides[0] = -24;
	assert_fails(ww_array_slice(&array, 0, 0, 1, 1, &view), WW_ERR_MISMATCH);
	array.strides[0] = INT64_MAX;
	assert_fails(ww_array_slice(&array, 0, 0, 1, 1, &view), WW_ERR_OVERFLOW);
	array.struct_size = 0;
	assert_fails(ww_array_slice(&array, 0, 0, 1, 1, &view), WW_ERR_INVALID);
	assert_int_equal(view.struct_size, 77);
}

UNIT_TEST(index_drops_the_dimension)
{
	struct ww_array array = array_of(3, (const int64_t[]){2, 3, 5});
	struct ww_array view;

	assert_ok(ww_array_index(&array, 1, -1, &view));
	assert_array(&view, 40, 2, (const int64_t[]){2, 5}, (const int64_t[]){60, 4});
	assert_ok(ww_array_index(&view, 0, 1, &view));
	assert_ok(ww_array_index(&view, 0, 4, &view));
	assert_array(&view, 116, 0, NULL, NULL);
	assert_ok(ww_array_check(&view, 120));
	assert_fails(ww_array_index(&view, 0, 0, &view), WW_ERR_INVALID);
	assert_fails(ww_array_index(&array, 1, 3, &view), WW_ERR_INVALID);
	assert_fails(ww_array_index(&array, 1, -4, &view), WW_ERR_INVALID);
	assert_fails(ww_array_index(&array, 1, INT64_MIN, &view), WW_ERR_INVALID);
	assert_fails(ww_array_index(&array, 3, 0, &view), WW_ERR_INVALID);
	array.shape[0] = 0;
	assert_fails(ww_array_index(&array, 0, 0, &view), WW_ERR_INVALID);
	assert_ok(ww_array_index(&array, 2, 4, &view));
	assert_array(&view, 0, 2, (const int64_t[]){0, 3}, (const int64_t[]){60, 20});
}

UNIT_TEST(permute_reorders)
{
	struct ww_array array = array_of(3, (const int64_t[]){2, 3, 5});
	struct ww_array view;

	assert_ok(ww_array_permute(&array, NULL, &view));
	assert_array(&view, 0, 3, (const int64_t[]){5, 3, 2}, (const int64_t[]){4, 20, 60});
	assert_int_equal(ww_array_is_fortran(&view), 1);
	assert_int_equal(ww_array_is_contiguous(&view), 0);
	assert_ok(ww_array_permute(&array, (const uint32_t[]){1, 2, 0}, &view));
	assert_array(&view, 0, 3, (const int64_t[]){3, 5, 2}, (const int64_t[]){20, 4, 60});
	assert_fails(ww_array_permute(&array, (const uint32_t[]){1, 1, 0}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_permute(&array, (const uint32_t[]){1, 3, 0}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_permute(&array, (const uint32_t[]){1, UINT32_MAX, 0}, &view),
		WW_ERR_INVALID);
}

UNIT_TEST(broadcast_repeats)
{
	struct ww_array array = array_of(2, (const int64_t[]){3, 1});
	struct ww_array view = array;
	uint32_t overlap;

	assert_ok(ww_array_broadcast(&view, 3, (const int64_t[]){7, 3, 4}, &view));
	assert_array(&view, 0, 3, (const int64_t[]){7, 3, 4}, (const int64_t[]){0, 4, 0});
	assert_ok(ww_array_check(&view, 12));
	assert_ok(ww_array_self_overlap(&view, &overlap));
	assert_int_equal(overlap, WW_OVERLAP_SOME);
	assert_ok(ww_array_broadcast(&array, 2, (const int64_t[]){3, 0}, &view));
	assert_fails(ww_array_broadcast(&array, 2, (const int64_t[]){4, 1}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_broadcast(&array, 1, (const int64_t[]){3}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_broadcast(&array, 2, (const int64_t[]){3, -1}, &view),
		WW_ERR_INVALID);
	assert_fails(ww_array_broadcast(&array, 17, (const int64_t[17]){0}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_broadcast(&array, 3, (const int64_t[]){INT64_MAX, 3, 4}, &view),
		WW_ERR_OVERFLOW);
}

UNIT_TEST(reshape_joins_and_divides)
{
	struct ww_array array = matrix();
	struct ww_array view;

	assert_ok(ww_array_reshape(&array, 3, (const int64_t[]){2, -1, 3}, &view));
	assert_array(&view, 0, 3, (const int64_t[]){2, 4, 3}, NULL);
	assert_ok(ww_array_reshape(&array, 4, (const int64_t[]){1, 24, 1, 1}, &view));
	assert_array(&view, 0, 4, (const int64_t[]){1, 24, 1, 1}, NULL);
	/*
	 * rows from the last to the first, every other element: rows do not join, elements divide
	 */
	assert_ok(ww_array_slice(&array, 0, NONE, NONE, -1, &array));
	assert_ok(ww_array_reshape(&array, 3, (const int64_t[]){2, 2, 6}, &view));
	assert_array(&view, 72, 3, (const int64_t[]){2, 2, 6}, (const int64_t[]){-48, -24, 4});
	assert_ok(ww_array_reshape(&array, 3, (const int64_t[]){4, 2, 3}, &view));
	assert_array(&view, 72, 3, (const int64_t[]){4, 2, 3}, (const int64_t[]){-24, 12, 4});
	assert_fails(ww_array_reshape(&array, 1, (const int64_t[]){24}, &view), WW_ERR_UNSUPPORTED);
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){6, 4}, &view),
		WW_ERR_UNSUPPORTED);
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){5, -1}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){-1, -1}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){-4, -6}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 1, (const int64_t[]){23}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){INT64_MAX, INT64_MAX}, &view),
		WW_ERR_OVERFLOW);
	assert_fails(ww_array_reshape(&array, 0, NULL, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 17, (const int64_t[17]){0}, &view), WW_ERR_INVALID);
}

UNIT_TEST(reshape_of_one_and_of_none)
{
	struct ww_array array = array_of(0, NULL);
	struct ww_array view;

	assert_ok(ww_array_reshape(&array, 2, (const int64_t[]){1, -1}, &view));
	assert_array(&view, 0, 2, (const int64_t[]){1, 1}, NULL);
	assert_ok(ww_array_reshape(&view, 0, NULL, &view));
	assert_array(&view, 0, 0, NULL, NULL);
	array = array_of(2, (const int64_t[]){3, 0});
	assert_ok(ww_array_reshape(&array, 3, (const int64_t[]){0, 5, 2}, &view));
	assert_array(&view, 0, 3, (const int64_t[]){0, 5, 2}, NULL);
	assert_ok(ww_array_reshape(&array, 2, (const int64_t[]){7, -1}, &view));
	assert_fails(ww_array_reshape(&array, 2, (const int64_t[]){0, -1}, &view), WW_ERR_INVALID);
	assert_fails(ww_array_reshape(&array, 1, (const int64_t[]){1}, &view), WW_ERR_INVALID);
}

UNIT_TEST(other_types_of_the_same_bytes)
{
	const struct ww_dtype complex128 = {WW_DTYPE_COMPLEX, 128, 1};
	const struct ww_dtype int32 = {WW_DTYPE_INT, 32, 1};
	struct ww_array array = matrix();
	struct ww_array view;

	assert_ok(ww_array_reinterpret(&array, &uint8, &view));
	assert_array(&view, 0, 2, (const int64_t[]){4, 24}, NULL);
	assert_ok(ww_array_reinterpret(&view, &float32, &view));
	assert_memory_equal(&view, &array, sizeof(view));
	assert_fails(ww_array_reinterpret(&array, &complex128, &view), WW_ERR_INVALID);
	assert_ok(ww_array_slice(&array, 1, 2, NONE, 1, &view));
	assert_ok(ww_array_reinterpret(&view, &complex128, &view));
	assert_array(&view, 8, 2, (const int64_t[]){4, 1}, (const int64_t[]){24, 16});
	assert_ok(ww_array_slice(&array, 1, NONE, NONE, 2, &view));
	assert_fails(ww_array_reinterpret(&view, &uint8, &view), WW_ERR_UNSUPPORTED);
	assert_ok(ww_array_reinterpret(&view, &int32, &view));
	assert_array(&view, 0, 2, (const int64_t[]){4, 3}, (const int64_t[]){24, 8});
	array = array_of(0, NULL);
	assert_fails(ww_array_reinterpret(&array, &uint8, &view), WW_ERR_INVALID);
	assert_ok(ww_array_reinterpret(&array, &int32, &view));
	assert_fails(ww_array_reinterpret(&array, &(struct ww_dtype){17, 4, 1}, &view),
		WW_ERR_INVALID);
}

UNIT_MAIN("view")
