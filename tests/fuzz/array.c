/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - fuzzes what computes with arrays
 *
 * Input: one byte that says which of three ways, then numbers as they are needed, zeros behind the
 * end.
 *
 *   RAW    two arrays of any bytes: nothing may crash, an array that is accepted is one that can
 *          be, and a view of it lies
 *          where it does
 *   SMALL two arrays of a few elements, whose bytes are all written down; every answer is compared
 *          with what is found by looking at them
 *   VIEWS two views of one large array, by any steps: no two elements of one share a byte, and the
 *          order of the two does not matter
 */
#include <stdbool.h>
#include <string.h>

#include <warpway/array.h>

#include "base/error.h"
#include "fuzz/fuzz.h"

#define DIMS_MAX     4
#define COUNT_MAX    5
#define ELEMENTS_MAX 625  /* COUNT_MAX ** DIMS_MAX */
#define BYTES_MAX    6144 /* 320 + 99 and 625 elements of 8 bytes, and some */

enum {
	RAW,
	SMALL,
	VIEWS,
	WAYS
};

struct source {
	const uint8_t *at;
	size_t left;
};

static uint8_t take(struct source *source)
{
	if (source->left == 0)
		return 0;
	source->left--;
	return *source->at++;
}

static int64_t take_between(struct source *source, int64_t low, int64_t high)
{
	int64_t value = take(source);

	if (high - low > UINT8_MAX)
		value = value << 16 | take(source) << 8 | take(source);
	return low + value % (high - low + 1);
}

/* Where the elements of an array are, in C order. */
struct places {
	size_t count;
	int64_t at[ELEMENTS_MAX];
};

static void find_places(const struct ww_array *array, struct places *out_places)
{
	int64_t index[WW_ARRAY_DIMS] = {0};
	size_t count = 1;

	for (uint32_t i = 0; i < array->ndim; i++)
		count *= (size_t)array->shape[i];
	FUZZ_MUST(count <= ELEMENTS_MAX);
	out_places->count = count;
	for (size_t n = 0; n < count; n++) {
		int64_t at = (int64_t)array->offset;

		for (uint32_t i = 0; i < array->ndim; i++)
			at += index[i] * array->strides[i];
		out_places->at[n] = at;
		for (uint32_t i = array->ndim; i > 0 && ++index[i - 1] == array->shape[i - 1]; i--)
			index[i - 1] = 0;
	}
}

static int64_t element_bytes(const struct ww_array *array)
{
	return (int64_t)array->dtype.bits * array->dtype.lanes / 8;
}

/* How many elements have each byte of the memory. */
static void count_bytes(const struct ww_array *array, uint16_t out_counts[BYTES_MAX])
{
	struct places places;

	find_places(array, &places);
	memset(out_counts, 0, BYTES_MAX * sizeof(*out_counts));
	for (size_t n = 0; n < places.count; n++) {
		for (int64_t i = 0; i < element_bytes(array); i++) {
			FUZZ_MUST(places.at[n] + i >= 0 && places.at[n] + i < BYTES_MAX);
			out_counts[places.at[n] + i]++;
		}
	}
}

static struct ww_array take_small(struct source *source)
{
	static const struct ww_dtype types[] = {{WW_DTYPE_UINT, 8, 1}, {WW_DTYPE_FLOAT, 16, 1},
		{WW_DTYPE_OPAQUE, 24, 1}, {WW_DTYPE_FLOAT, 32, 1}, {WW_DTYPE_FLOAT4_E2M1FN, 4, 2},
		{WW_DTYPE_FLOAT6_E2M3FN, 6, 4}, {WW_DTYPE_INT, 16, 4}};
	const struct ww_dtype *type = &types[take(source) % (sizeof(types) / sizeof(types[0]))];
	uint32_t ndim = (uint32_t)take_between(source, 0, DIMS_MAX);
	int64_t shape[DIMS_MAX];
	int64_t strides[DIMS_MAX];
	struct ww_array array;

	for (uint32_t i = 0; i < ndim; i++) {
		shape[i] = take_between(source, 0, COUNT_MAX);
		strides[i] = take_between(source, -20, 20);
	}
	/* The most that strides can reach below the first element. */
	FUZZ_MUST(ww_array_set(&array, type, ndim, shape, take(source) & 1 ? strides : NULL,
			  320 + (uint64_t)take_between(source, 0, 99)) == WW_OK);
	return array;
}

static void check_span(const struct ww_array *array)
{
	uint16_t counts[BYTES_MAX];
	uint64_t low = BYTES_MAX;
	uint64_t high = 0;
	uint64_t first;
	uint64_t end;

	count_bytes(array, counts);
	for (uint64_t i = 0; i < BYTES_MAX; i++) {
		low = counts[i] && i < low ? i : low;
		high = counts[i] ? i + 1 : high;
	}
	FUZZ_MUST(ww_array_span(array, &first, &end) == WW_OK);
	if (high == 0)
		FUZZ_MUST(first == array->offset && end == array->offset);
	else
		FUZZ_MUST(first == low && end == high);
	FUZZ_MUST(ww_array_check(array, end) == WW_OK);
	FUZZ_MUST(ww_array_check(array, end - 1) == WW_ERR_MISMATCH);
}

static bool is_row(const struct places *places, int64_t distance)
{
	for (size_t n = 1; n < places->count; n++) {
		if (places->at[n] - places->at[n - 1] != distance)
			return false;
	}
	return true;
}

static void check_order(const struct ww_array *array)
{
	struct places places;
	struct ww_array turned;

	find_places(array, &places);
	FUZZ_MUST(ww_array_is_contiguous(array) == is_row(&places, element_bytes(array)));
	FUZZ_MUST(ww_array_permute(array, NULL, &turned) == WW_OK);
	find_places(&turned, &places);
	FUZZ_MUST(ww_array_is_fortran(array) == is_row(&places, element_bytes(array)));
}

static bool is_true(uint32_t found, uint32_t truth)
{
	return found == truth || found == WW_OVERLAP_MAY;
}

static void check_overlap(const struct ww_array *array, const struct ww_array *other)
{
	uint16_t counts[BYTES_MAX];
	uint16_t others[BYTES_MAX];
	uint32_t shared = WW_OVERLAP_NONE;
	uint32_t twice = WW_OVERLAP_NONE;
	uint32_t found;

	count_bytes(array, counts);
	count_bytes(other, others);
	for (size_t i = 0; i < BYTES_MAX; i++) {
		shared = counts[i] && others[i] ? WW_OVERLAP_SOME : shared;
		twice = counts[i] > 1 ? WW_OVERLAP_SOME : twice;
	}
	FUZZ_MUST(ww_array_overlap(array, other, &found) == WW_OK && is_true(found, shared));
	FUZZ_MUST(ww_array_overlap(other, array, &found) == WW_OK && is_true(found, shared));
	FUZZ_MUST(ww_array_self_overlap(array, &found) == WW_OK && is_true(found, twice));
}

/* As Python: the indices one after the other, cut off at both ends. */
static size_t slice_indices(int64_t count, int64_t start, int64_t stop, int64_t step,
	int64_t out_indices[COUNT_MAX])
{
	size_t used = 0;

	if (start == WW_SLICE_NONE)
		start = step > 0 ? 0 : count - 1;
	else if (start < 0)
		start = start + count < 0 ? (step > 0 ? 0 : -1) : start + count;
	else if (start >= count)
		start = step > 0 ? count : count - 1;
	if (stop == WW_SLICE_NONE)
		stop = step > 0 ? count : -1;
	else if (stop < 0)
		stop = stop + count < 0 ? -1 : stop + count;
	for (int64_t i = start; step > 0 ? i < stop && i < count : i > stop && i >= 0; i += step)
		out_indices[used++] = i;
	return used;
}

/* Elements of @dim, taken one by one by ww_array_index(), are those of the slice. */
static void check_slice(struct source *source, const struct ww_array *array)
{
	uint32_t dim = (uint32_t)take_between(source, 0, DIMS_MAX);
	int64_t start = take_between(source, -8, 8);
	int64_t stop = take_between(source, -8, 8);
	int64_t step = take_between(source, -4, 4);
	int64_t indices[COUNT_MAX];
	struct ww_array view;
	size_t count;

	start = start == 8 ? WW_SLICE_NONE : start;
	stop = stop == 8 ? WW_SLICE_NONE : stop;
	if (dim >= array->ndim || step == 0) {
		FUZZ_MUST(ww_array_slice(array, dim, start, stop, step, &view) == WW_ERR_INVALID);
		return;
	}
	FUZZ_MUST(ww_array_slice(array, dim, start, stop, step, &view) == WW_OK);
	count = slice_indices(array->shape[dim], start, stop, step, indices);
	FUZZ_MUST(view.shape[dim] == (int64_t)count);
	check_span(&view);
	for (size_t i = 0; i < count; i++) {
		struct places want;
		struct places got;
		struct ww_array one;

		FUZZ_MUST(ww_array_index(array, dim, indices[i], &one) == WW_OK);
		find_places(&one, &want);
		FUZZ_MUST(ww_array_index(&view, dim, (int64_t)i - (i & 1 ? view.shape[dim] : 0),
				  &one) == WW_OK);
		find_places(&one, &got);
		FUZZ_MUST(want.count == got.count);
		FUZZ_MUST(!memcmp(want.at, got.at, want.count * sizeof(want.at[0])));
	}
}

/* Whether any strides would bring the elements of this shape to their places. */
static bool can_have_shape(const struct ww_array *array, uint32_t ndim, const int64_t *shape)
{
	struct ww_array trial = *array;
	struct places want;
	struct places got;
	size_t inner = 1;

	find_places(array, &want);
	memset(trial.shape, 0, sizeof(trial.shape));
	memset(trial.strides, 0, sizeof(trial.strides));
	trial.ndim = ndim;
	for (uint32_t i = ndim; i > 0; i--) {
		trial.shape[i - 1] = shape[i - 1];
		if (shape[i - 1] > 1)
			trial.strides[i - 1] = want.at[inner] - want.at[0];
		inner *= (size_t)shape[i - 1];
	}
	find_places(&trial, &got);
	return !memcmp(want.at, got.at, want.count * sizeof(want.at[0]));
}

static void check_reshape(struct source *source, const struct ww_array *array)
{
	uint32_t ndim = (uint32_t)take_between(source, 0, DIMS_MAX);
	int64_t shape[DIMS_MAX + 1];
	struct places want;
	struct places got;
	struct ww_array view;
	size_t left;
	ww_status status;

	find_places(array, &want);
	left = want.count;
	for (uint32_t i = 0; i < ndim; i++) { /* divisors, most of the time */
		shape[i] = take_between(source, 1, 6);
		if (shape[i] == 6 || left % (size_t)shape[i] != 0)
			shape[i] = 1;
		left /= (size_t)shape[i];
	}
	shape[ndim++] = (int64_t)left;
	status = ww_array_reshape(array, ndim, shape, &view);
	FUZZ_MUST(status == WW_OK || status == WW_ERR_UNSUPPORTED);
	if (want.count == 0) {
		FUZZ_MUST(status == WW_OK);
		return;
	}
	FUZZ_MUST((status == WW_OK) == can_have_shape(array, ndim, shape));
	if (status != WW_OK)
		return;
	find_places(&view, &got);
	FUZZ_MUST(want.count == got.count);
	FUZZ_MUST(!memcmp(want.at, got.at, want.count * sizeof(want.at[0])));
	for (uint32_t i = 0; i < ndim; i++) { /* and with one number left out */
		struct ww_array again;
		int64_t number = shape[i];

		shape[i] = -1;
		FUZZ_MUST(ww_array_reshape(array, ndim, shape, &again) == WW_OK);
		FUZZ_MUST(!memcmp(&view, &again, sizeof(view)));
		shape[i] = number;
	}
}

/* The same bytes in the same order, cut otherwise. */
static void check_reinterpret(const struct ww_array *array)
{
	const struct ww_dtype byte = {WW_DTYPE_UINT, 8, 1};
	const struct ww_dtype dtype = {array->dtype.code, array->dtype.bits, array->dtype.lanes};
	uint16_t counts[BYTES_MAX];
	uint16_t others[BYTES_MAX];
	struct ww_array view;
	struct places places;
	ww_status status = ww_array_reinterpret(array, &byte, &view);

	if (status != WW_OK) {
		FUZZ_MUST(status == WW_ERR_UNSUPPORTED ||
			(status == WW_ERR_INVALID && array->ndim == 0));
		return;
	}
	find_places(array, &places);
	if (places.count * (size_t)element_bytes(array) > ELEMENTS_MAX)
		return;
	count_bytes(array, counts);
	count_bytes(&view, others);
	FUZZ_MUST(!memcmp(counts, others, sizeof(counts)));
	FUZZ_MUST(ww_array_reinterpret(&view, &dtype, &view) == WW_OK);
	count_bytes(&view, others);
	FUZZ_MUST(!memcmp(counts, others, sizeof(counts)));
}

static void run_small(struct source *source)
{
	struct ww_array array = take_small(source);
	struct ww_array other = take_small(source);

	check_span(&array);
	check_order(&array);
	check_overlap(&array, &other);
	check_slice(source, &array);
	check_reshape(source, &array);
	check_reinterpret(&array);
}

static struct ww_array take_raw(struct source *source)
{
	struct ww_array array = {0};
	size_t bytes = source->left < sizeof(array) ? source->left : sizeof(array);

	memcpy(&array, source->at, bytes);
	source->at += bytes;
	source->left -= bytes;
	array.struct_size = sizeof(array);
	if (take(source) & 1) { /* let more than one in a million be well formed */
		array.ndim %= WW_ARRAY_DIMS + 1;
		array.reserved = 0;
		for (uint32_t i = array.ndim; i < WW_ARRAY_DIMS; i++)
			array.shape[i] = array.strides[i] = 0;
	}
	return array;
}

static void must_be_inside(ww_status status, const struct ww_array *view,
	const struct ww_array *array)
{
	uint64_t first;
	uint64_t end;
	uint64_t view_first;
	uint64_t view_end;

	if (status != WW_OK) {
		FUZZ_MUST(ww_error_last()->status == status && ww_error_last()->message[0]);
		return;
	}
	FUZZ_MUST(ww_array_span(array, &first, &end) == WW_OK);
	FUZZ_MUST(ww_array_span(view, &view_first, &view_end) == WW_OK);
	FUZZ_MUST(view_first >= first && view_end <= end);
}

static void run_raw(struct source *source)
{
	struct ww_array array = take_raw(source);
	struct ww_array other = take_raw(source);
	const struct ww_dtype dtype = {other.dtype.code, other.dtype.bits, other.dtype.lanes};
	uint32_t order[WW_ARRAY_DIMS];
	struct ww_array view;
	uint32_t found;

	memcpy(order, other.strides, sizeof(order));
	must_be_inside(ww_array_slice(&array, order[0] % 4, other.shape[0], other.shape[1],
			       other.shape[2], &view),
		&view, &array);
	must_be_inside(ww_array_index(&array, order[0] % 4, other.shape[0], &view), &view, &array);
	must_be_inside(ww_array_permute(&array, order, &view), &view, &array);
	must_be_inside(ww_array_broadcast(&array, other.ndim, other.shape, &view), &view, &array);
	must_be_inside(ww_array_reshape(&array, other.ndim, other.shape, &view), &view, &array);
	must_be_inside(ww_array_reinterpret(&array, &dtype, &view), &view, &array);
	if (ww_array_overlap(&array, &other, &found) != WW_OK)
		FUZZ_MUST(found == WW_OVERLAP_NONE);
	FUZZ_MUST(found <= WW_OVERLAP_MAY);
	if (ww_array_self_overlap(&array, &found) != WW_OK)
		FUZZ_MUST(found == WW_OVERLAP_NONE);
	ww_array_is_contiguous(&array);
	ww_array_is_fortran(&array);
}

/* A view of a view of ... of an array without gaps. */
static struct ww_array take_view(struct source *source, const struct ww_array *whole)
{
	struct ww_array view = *whole;

	for (int n = 0; n < 8; n++) {
		uint32_t dim = take(source) % (view.ndim + 1);

		switch (take(source) % 4) {
		case 0:
			ww_array_slice(&view, dim, take_between(source, -500, 500),
				take(source) & 1 ? WW_SLICE_NONE : take_between(source, -500, 500),
				take_between(source, -9, 9), &view);
			break;
		case 1:
			if (view.ndim > 2)
				ww_array_index(&view, dim, take_between(source, -100, 100), &view);
			break;
		case 2:
			ww_array_permute(&view, NULL, &view);
			break;
		default:
			ww_array_reshape(&view, 2,
				(const int64_t[]){take_between(source, 1, 12), -1}, &view);
			break;
		}
	}
	return view;
}

static void run_views(struct source *source)
{
	const struct ww_dtype dtype = {WW_DTYPE_OPAQUE, (uint8_t)(8 * take_between(source, 1, 16)),
		1};
	uint32_t ndim = (uint32_t)take_between(source, 1, DIMS_MAX);
	int64_t shape[DIMS_MAX];
	struct ww_array whole;
	struct ww_array one;
	struct ww_array two;
	uint32_t found;
	uint32_t turned;

	for (uint32_t i = 0; i < ndim; i++)
		shape[i] = take_between(source, 1, 3000);
	FUZZ_MUST(ww_array_set(&whole, &dtype, ndim, shape, NULL, 0) == WW_OK);
	one = take_view(source, &whole);
	two = take_view(source, &whole);
	FUZZ_MUST(ww_array_overlap(&one, &two, &found) == WW_OK);
	FUZZ_MUST(ww_array_overlap(&two, &one, &turned) == WW_OK && found == turned);
	FUZZ_MUST(ww_array_self_overlap(&one, &found) == WW_OK && found == WW_OVERLAP_NONE);
}

/* Different bytes for each number, by a sequence of its own. */
static void fill(uint8_t *out, size_t bytes, uint64_t number)
{
	for (size_t i = 0; i < bytes; i++) {
		number = number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		out[i] = (uint8_t)(number >> 56);
	}
}

static size_t seed_raw(unsigned int number, uint8_t *out)
{
	const int64_t shape[] = {2 + number, 3, 4};
	struct ww_array array = WW_INIT(struct ww_array);

	FUZZ_MUST(ww_array_set(&array, WW_DTYPE(WW_DTYPE_FLOAT, 32), 3, shape, NULL, 0) == WW_OK);
	array.offset = 64;
	memcpy(out, &array, sizeof(array));
	out[sizeof(array)] = (uint8_t)number;
	array.shape[2] = -1;
	memcpy(out + sizeof(array) + 1, &array, sizeof(array));
	return 2 * sizeof(array) + 2;
}

size_t fuzz_seed(unsigned int number, uint8_t out[FUZZ_INPUT_BYTES])
{
	if (number >= 30000)
		return 0;
	out[0] = (uint8_t)(number % WAYS);
	if (out[0] == RAW)
		return 1 + seed_raw(number, out + 1);
	fill(out + 1, 127, number);
	return 128;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
	struct source source = {input + 1, bytes - 1};

	if (bytes == 0)
		return 0;
	switch (input[0] % WAYS) {
	case RAW:
		run_raw(&source);
		break;
	case SMALL:
		run_small(&source);
		break;
	default:
		run_views(&source);
		break;
	}
	return 0;
}
