/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap_test.c - which arrays share bytes; every answer is compared with one found byte by byte
 * in tests/fuzz
 */
#include "base/unit_test.h"

#include <string.h>

#include <warpway/array.h>

#define NONE WW_SLICE_NONE

static struct ww_array array_of(uint64_t offset, uint32_t ndim, const int64_t *shape,
	const int64_t *strides)
{
	const struct ww_dtype dtype = {WW_DTYPE_FLOAT, 32, 1};
	struct ww_array array;

	assert_ok(ww_array_set(&array, &dtype, ndim, shape, strides, offset));
	return array;
}

static uint32_t overlap_of(const struct ww_array *array, const struct ww_array *other)
{
	uint32_t one = 9;
	uint32_t two = 9;

	assert_ok(ww_array_overlap(array, other, &one));
	assert_ok(ww_array_overlap(other, array, &two));
	assert_int_equal(one, two);
	return one;
}

static uint32_t self_overlap_of(const struct ww_array *array)
{
	uint32_t overlap = 9;

	assert_ok(ww_array_self_overlap(array, &overlap));
	return overlap;
}

/* array[start::step] of one dimension */
static struct ww_array every(const struct ww_array *array, uint32_t dim, int64_t start,
	int64_t step)
{
	struct ww_array view;

	assert_ok(ww_array_slice(array, dim, start, NONE, step, &view));
	return view;
}

UNIT_TEST(neighbours)
{
	const int64_t six = 6;
	struct ww_array array = array_of(8, 1, &six, NULL);
	struct ww_array other = array_of(32, 1, &six, NULL);

	assert_int_equal(overlap_of(&array, &other), WW_OVERLAP_NONE);
	other.offset = 31;
	assert_int_equal(overlap_of(&array, &other), WW_OVERLAP_SOME);
	other.shape[0] = 0;
	assert_int_equal(overlap_of(&array, &other), WW_OVERLAP_NONE);
	assert_int_equal(overlap_of(&array, &array), WW_OVERLAP_SOME);
}

UNIT_TEST(odd_and_even)
{
	struct ww_array whole = array_of(0, 2, (const int64_t[]){1000000, 1000}, NULL);
	struct ww_array array = every(&whole, 1, 0, 2);
	struct ww_array other = every(&whole, 1, 1, 2);

	assert_int_equal(overlap_of(&array, &other), WW_OVERLAP_NONE);
	assert_int_equal(overlap_of(&array, &whole), WW_OVERLAP_SOME);
	other = every(&whole, 1, 1, 3); /* share column 4; but 2 and 3 have no common divisor */
	assert_int_equal(overlap_of(&array, &other), WW_OVERLAP_MAY);
	array = every(&whole, 0, 0, 6);
	other = every(&whole, 0, 2, 15);
	array = every(&array, 1, 0, 1000);
	other = every(&other, 1, 0, 1000);
	assert_int_equal(overlap_of(&array, &other),
		WW_OVERLAP_NONE); /* 6 x = 2 + 15 y has no answer */
}

/* Two corners of a matrix that interleave in memory, row by row. */
UNIT_TEST(rectangles)
{
	struct ww_array whole = array_of(0, 2, (const int64_t[]){5000, 7000}, NULL);
	struct ww_array left = whole;
	struct ww_array right = whole;

	assert_ok(ww_array_slice(&whole, 1, 0, 3000, 1, &left));
	assert_ok(ww_array_slice(&whole, 1, 3000, NONE, 1, &right));
	assert_int_equal(overlap_of(&left, &right), WW_OVERLAP_MAY);
	assert_int_equal(overlap_of(&left, &whole), WW_OVERLAP_SOME);
	assert_ok(ww_array_permute(&right, NULL, &right));
	assert_int_equal(overlap_of(&left, &right), WW_OVERLAP_MAY);
	assert_int_equal(self_overlap_of(&left), WW_OVERLAP_NONE);
	assert_int_equal(self_overlap_of(&right), WW_OVERLAP_NONE);
}

UNIT_TEST(with_itself)
{
	struct ww_array array = array_of(0, 2, (const int64_t[]){3, 4}, (const int64_t[]){8, 4});

	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_MAY); /* windows */
	array = array_of(0, 2, (const int64_t[]){3, 2}, (const int64_t[]){8, 4});
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_NONE);
	array = array_of(0, 1, (const int64_t[]){2}, (const int64_t[]){3});
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_SOME);
	array = array_of(0, 1, (const int64_t[]){1}, (const int64_t[]){INT64_MIN});
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_NONE);
	array = array_of(0, 1, (const int64_t[]){INT64_MAX / 4}, (const int64_t[]){0});
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_SOME);
	/* strides that cross: 12 x = 20 y only from x = 5 on */
	array = array_of(0, 2, (const int64_t[]){5, 9}, (const int64_t[]){12, 20});
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_MAY);
	array.shape[1] = 0;
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_NONE);
}

UNIT_TEST(refused)
{
	const int64_t six = 6;
	struct ww_array array = array_of(0, 1, &six, NULL);
	struct ww_array other = array_of(0, 1, &six, NULL);
	uint32_t overlap = 9;

	other.strides[0] = -4;
	assert_fails(ww_array_overlap(&array, &other, &overlap), WW_ERR_MISMATCH);
	assert_int_equal(overlap, 0);
	other.reserved = 1;
	assert_fails(ww_array_overlap(&other, &array, &overlap), WW_ERR_INVALID);
	assert_fails(ww_array_self_overlap(&other, &overlap), WW_ERR_INVALID);
}

/* As many dimensions and as large strides as can be: no sum overflows. */
UNIT_TEST(large_strides)
{
	struct ww_array array = {.struct_size = sizeof(array), .dtype = {WW_DTYPE_UINT, 8, 1}};

	array.ndim = WW_ARRAY_DIMS;
	for (uint32_t i = 0; i < WW_ARRAY_DIMS; i++) {
		array.shape[i] = 2;
		array.strides[i] = (INT64_MAX >> 5) - 7919 * (int64_t)i;
	}
	assert_int_equal(self_overlap_of(&array), WW_OVERLAP_MAY);
	assert_int_equal(overlap_of(&array, &array), WW_OVERLAP_SOME);
}

UNIT_MAIN("overlap")
