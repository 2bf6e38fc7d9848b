/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_test.c - arrays that fit, that cannot be, and that reach outside, to the byte
 */
#include "base/unit_test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <warpway/array.h>

static struct ww_array array_of(uint32_t ndim, const int64_t *shape)
{
	struct ww_array array = WW_INIT(struct ww_array);

	assert_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), ndim, shape, NULL, 0));
	return array;
}

/* 4 x 6 floats in C order: 96 bytes. */
static struct ww_array matrix(void)
{
	return array_of(2, (const int64_t[]){4, 6});
}

UNIT_TEST(set_is_c_order)
{
	struct ww_array array = array_of(3, (const int64_t[]){2, 3, 5});
	const struct ww_array want = {.struct_size = sizeof(want),
		.dtype.code = WW_DTYPE_FLOAT,
		.dtype.bits = 32,
		.dtype.lanes = 1,
		.ndim = 3,
		.shape = {2, 3, 5},
		.strides = {60, 20, 4}};
	uint64_t bytes;

	assert_memory_equal(&array, &want, sizeof(array));
	assert_ok(ww_array_bytes(&array, &bytes));
	assert_int_equal(bytes, 120);
	assert_ok(ww_array_check(&array, 120));
	assert_fails(ww_array_check(&array, 119), WW_ERR_MISMATCH);
	assert_int_equal(ww_array_is_contiguous(&array), 1);
}

UNIT_TEST(no_dimension_is_one_element)
{
	struct ww_array array = array_of(0, NULL);
	uint64_t bytes;

	assert_ok(ww_array_bytes(&array, &bytes));
	assert_int_equal(bytes, 4);
	assert_int_equal(ww_array_is_contiguous(&array), 1);
	assert_ok(ww_array_check(&array, 4));
	assert_fails(ww_array_check(&array, 3), WW_ERR_MISMATCH);
	array.offset = 1;
	assert_ok(ww_array_check(&array, 5));
	assert_fails(ww_array_check(&array, 4), WW_ERR_MISMATCH);
}

UNIT_TEST(without_elements)
{
	struct ww_array array = array_of(3, (const int64_t[]){3, 0, 5});
	uint64_t bytes = 1;

	assert_true(array.strides[0] == 20 && array.strides[1] == 20 && array.strides[2] == 4);
	assert_ok(ww_array_bytes(&array, &bytes));
	assert_int_equal(bytes, 0);
	assert_ok(ww_array_check(&array, 0));
	array.offset = 8;
	assert_ok(ww_array_check(&array, 8));
	assert_fails(ww_array_check(&array, 7), WW_ERR_MISMATCH);
	array.strides[2] = -1000;
	assert_ok(ww_array_check(&array, 8));
	assert_int_equal(ww_array_is_contiguous(&array), 1);
	array.strides[2] = INT64_MIN;
	assert_fails(ww_array_check(&array, 8), WW_ERR_OVERFLOW);
}

static ww_status set(uint8_t code, uint8_t bits)
{
	struct ww_array array = WW_INIT(struct ww_array);

	return ww_array_set(&array, WW_DTYPE(code, bits), 0, NULL, NULL, 0);
}

UNIT_TEST(every_type)
{
	/* For each code the bits it may have, ended by 0. */
	static const uint8_t known[][6] = {
		[WW_DTYPE_INT] = {8, 16, 32, 64, 128},
		[WW_DTYPE_UINT] = {8, 16, 32, 64, 128},
		[WW_DTYPE_FLOAT] = {8, 16, 32, 64, 128},
		[WW_DTYPE_BFLOAT] = {8, 16, 32, 64, 128},
		[WW_DTYPE_COMPLEX] = {16, 32, 64, 128},
		[WW_DTYPE_BOOL] = {8},
	};

	for (unsigned bits = 0; bits < 256; bits++) {
		for (uint8_t code = 0; code <= WW_DTYPE_BOOL; code++) {
			bool is_known = bits > 0 && memchr(known[code], (int)bits, 5);

			if (code == WW_DTYPE_OPAQUE)
				is_known = bits > 0 && bits % 8 == 0;
			if (is_known)
				assert_ok(set(code, (uint8_t)bits));
			else
				assert_fails(set(code, (uint8_t)bits), WW_ERR_INVALID);
		}
	}
	assert_fails(set(WW_DTYPE_FLOAT4_E2M1FN + 1, 8), WW_ERR_INVALID);
	assert_fails(set(UINT8_MAX, 8), WW_ERR_INVALID);
}

UNIT_TEST(set_refuses)
{
	static const int64_t shape[WW_ARRAY_DIMS + 1] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
		1, 1, 1};
	static const int64_t huge[] = {INT64_C(1) << 31, INT64_C(1) << 30};
	static const int64_t hidden[] = {INT64_C(1) << 40, 0, INT64_C(1) << 40};
	static const int64_t all = INT64_MAX;
	struct ww_array array = {.struct_size = sizeof(array), .offset = 77};

	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), WW_ARRAY_DIMS + 1, shape, NULL,
			     0),
		WW_ERR_INVALID);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), UINT32_MAX, shape, NULL, 0),
		WW_ERR_INVALID);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), 1, &(int64_t){-1}, NULL, 0),
		WW_ERR_INVALID);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), 1, &(int64_t){INT64_MIN}, NULL,
			     0),
		WW_ERR_INVALID);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 32), 2, huge, NULL, 0),
		WW_ERR_OVERFLOW);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), 3, hidden, NULL, 0),
		WW_ERR_OVERFLOW);
	assert_fails(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 16), 1, &all, NULL, 0),
		WW_ERR_OVERFLOW);
	assert_int_equal(array.offset, 77); /* nothing was changed by all this */
	assert_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), 1, &all, NULL, 0));
	assert_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 16), 2, huge, NULL, 0));
	assert_ok(ww_array_set(&array, WW_DTYPE(WW_DTYPE_INT, 8), WW_ARRAY_DIMS, shape, NULL, 0));
	assert_int_equal(array.offset, 0);
}

#define REFUSED(expected, change)                                          \
	do {                                                               \
		struct ww_array array = matrix();                          \
		uint64_t bytes_ = 1;                                       \
		change;                                                    \
		assert_fails(ww_array_check(&array, 4096), (expected));    \
		assert_fails(ww_array_bytes(&array, &bytes_), (expected)); \
		assert_int_equal(bytes_, 0);                               \
		assert_int_equal(ww_array_is_contiguous(&array), 0);       \
	} while (0)

UNIT_TEST(what_cannot_be)
{
	REFUSED(WW_ERR_INVALID, array.struct_size = 0);
	REFUSED(WW_ERR_INVALID, array.struct_size = UINT32_MAX);
	REFUSED(WW_ERR_INVALID, array.struct_size--);
	REFUSED(WW_ERR_INVALID, array.struct_size++);
	REFUSED(WW_ERR_INVALID, array.dtype.code = 7);
	REFUSED(WW_ERR_INVALID, array.dtype.code = 0xff);
	REFUSED(WW_ERR_INVALID, array.dtype.bits = 0);
	REFUSED(WW_ERR_INVALID, array.dtype.bits = 1);
	REFUSED(WW_ERR_INVALID, array.dtype.bits = 255);
	REFUSED(WW_ERR_INVALID, array.dtype.lanes = 0);
	REFUSED(WW_ERR_INVALID, array.ndim = 1);
	REFUSED(WW_ERR_INVALID, array.ndim = WW_ARRAY_DIMS + 1);
	REFUSED(WW_ERR_INVALID, array.ndim = UINT32_MAX);
	REFUSED(WW_ERR_INVALID, array.reserved = 1);
	REFUSED(WW_ERR_INVALID, array.shape[0] = -1);
	REFUSED(WW_ERR_INVALID, array.shape[1] = INT64_MIN);
	REFUSED(WW_ERR_INVALID, array.shape[2] = 1);
	REFUSED(WW_ERR_INVALID, array.shape[15] = 1);
	REFUSED(WW_ERR_INVALID, array.strides[2] = 4);
	REFUSED(WW_ERR_INVALID, array.strides[15] = -1);
	REFUSED(WW_ERR_OVERFLOW, array.shape[0] = INT64_MAX);
	REFUSED(WW_ERR_OVERFLOW,
		(array.shape[0] = INT64_C(1) << 32, array.shape[1] = INT64_C(1) << 32));
	/* 2^64 bytes in all, which wraps around to 0 */
	REFUSED(WW_ERR_OVERFLOW,
		(array.shape[0] = INT64_C(1) << 31, array.shape[1] = INT64_C(1) << 31));
}

UNIT_TEST(sizes_that_wrap)
{
	struct ww_array array = matrix();

	array.strides[0] = INT64_MAX;
	assert_fails(ww_array_check(&array, UINT64_MAX), WW_ERR_OVERFLOW);
	array.strides[0] = INT64_MIN;
	assert_fails(ww_array_check(&array, UINT64_MAX), WW_ERR_OVERFLOW);
	array.strides[0] = INT64_C(1) << 62; /* 3 steps: 3 * 2^62 */
	assert_fails(ww_array_check(&array, UINT64_MAX), WW_ERR_OVERFLOW);
	array = matrix();
	array.offset = UINT64_MAX;
	assert_fails(ww_array_check(&array, UINT64_MAX), WW_ERR_OVERFLOW);
	array.offset = UINT64_MAX - 96;
	assert_ok(ww_array_check(&array, UINT64_MAX));
	array.offset = UINT64_MAX - 95;
	assert_fails(ww_array_check(&array, UINT64_MAX), WW_ERR_OVERFLOW);
	array.shape[0] = 1; /* whose stride leads nowhere */
	array.offset = 0;
	array.strides[0] = INT64_MIN;
	assert_ok(ww_array_check(&array, 24));
	assert_int_equal(ww_array_is_contiguous(&array), 1);
}

UNIT_TEST(negative_strides)
{
	struct ww_array array = matrix();

	array.strides[0] = -24; /* rows from last to first */
	assert_fails(ww_array_check(&array, 96), WW_ERR_MISMATCH);
	array.offset = 71;
	assert_fails(ww_array_check(&array, 96), WW_ERR_MISMATCH);
	array.offset = 72;
	assert_ok(ww_array_check(&array, 96));
	assert_fails(ww_array_check(&array, 95), WW_ERR_MISMATCH);
	assert_int_equal(ww_array_is_contiguous(&array), 0);
	array.strides[1] = -4; /* columns too */
	assert_fails(ww_array_check(&array, 96), WW_ERR_MISMATCH);
	array.offset = 92;
	assert_ok(ww_array_check(&array, 96));
	array.offset = 93;
	assert_fails(ww_array_check(&array, 96), WW_ERR_MISMATCH);
}

UNIT_TEST(strides_with_gaps)
{
	struct ww_array array = matrix();
	uint64_t bytes;

	array.strides[0] = 32;
	assert_ok(ww_array_check(&array, 3 * 32 + 24));
	assert_fails(ww_array_check(&array, 3 * 32 + 23), WW_ERR_MISMATCH);
	assert_int_equal(ww_array_is_contiguous(&array), 0);
	assert_ok(ww_array_bytes(&array, &bytes));
	assert_int_equal(bytes, 96);
	array.strides[0] = 0; /* the same row four times */
	assert_ok(ww_array_check(&array, 24));
	array.strides[1] = 0;
	assert_ok(ww_array_check(&array, 4));
	assert_fails(ww_array_check(&array, 3), WW_ERR_MISMATCH);
	array = matrix();
	array.strides[0] = 4; /* Fortran's order */
	array.strides[1] = 16;
	assert_ok(ww_array_check(&array, 96));
	assert_int_equal(ww_array_is_contiguous(&array), 0);
}

UNIT_TEST(lanes_count)
{
	struct ww_array array = array_of(0, NULL);
	uint64_t bytes;

	array.dtype.lanes = UINT16_MAX;
	assert_ok(ww_array_bytes(&array, &bytes));
	assert_int_equal(bytes, 4 * UINT16_MAX);
	assert_fails(ww_array_check(&array, bytes - 1), WW_ERR_MISMATCH);
	assert_ok(ww_array_check(&array, bytes));
}

/* The span that the elements really touch, one by one. */
static void touch(const struct ww_array *array, uint32_t dim, int64_t at, int64_t *low,
	int64_t *high)
{
	if (dim == array->ndim) {
		*low = at < *low ? at : *low;
		*high = at + 2 > *high ? at + 2 : *high;
		return;
	}
	for (int64_t i = 0; i < array->shape[dim]; i++)
		touch(array, dim + 1, at + i * array->strides[dim], low, high);
}

UNIT_TEST(random_arrays_against_counting)
{
	unsigned int seed = 1;

	for (int round = 0; round < 2000; round++) {
		struct ww_array array = {.struct_size = sizeof(array),
			.dtype.code = WW_DTYPE_UINT,
			.dtype.bits = 16,
			.dtype.lanes = 1,
			.ndim = (uint32_t)rand_r(&seed) % 4,
			.offset = (uint64_t)rand_r(&seed) % 60};
		int64_t low = INT64_MAX;
		int64_t high = 0;
		bool fits;

		for (uint32_t i = 0; i < array.ndim; i++) {
			array.shape[i] = rand_r(&seed) % 5;
			array.strides[i] = rand_r(&seed) % 21 - 10;
		}
		touch(&array, 0, (int64_t)array.offset, &low, &high);
		fits = array.offset <= 64 && low >= 0 && high <= 64;
		assert_int_equal(ww_array_check(&array, 64), fits ? WW_OK : WW_ERR_MISMATCH);
	}
}

UNIT_TEST(asking_leaves_the_record_alone)
{
	struct ww_array array = matrix();

	assert_fails(ww_array_check(&array, 1), WW_ERR_MISMATCH);
	array.ndim = 99;
	assert_int_equal(ww_array_is_contiguous(&array), 0);
	assert_int_equal(ww_array_is_contiguous(NULL), 0);
	assert_int_equal(ww_error_last()->status, WW_ERR_MISMATCH);
}

UNIT_MAIN("layout")
