/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap.c - whether arrays share bytes, see warpway/array.h
 *
 * Every byte of an array is at  first + sum of |stride| * index + byte of the element,  with indices that may be counted from
 * whichever end the stride starts at. Two arrays share a byte where two such sums are equal. With the indices of the second
 * array turned round all signs become plus, and there is one question: can
 *
 *   a[0] * x[0] + a[1] * x[1] + ... = target,   0 <= x[i] <= most[i]
 *
 * be solved in whole numbers? The terms are sorted, largest coefficient first, and equal ones joined. The last one, of
 * coefficient 1, stands for the bytes inside elements. In general this is as hard as packing knapsacks, so the search is bounded;
 * but arrays that people make have strides that nest, and for those two cuts are enough:
 *
 *   - SPLIT: all larger terms together can only make multiples of their common divisor. If the smaller ones together
 *     reach only over a few such multiples, then what they must make is one of a few numbers, and larger and smaller terms are
 *     questions of their own.
 *   - PIN: else one number after the other is tried for the largest term; only those that leave something which the rest reaches
 *     and which its common divisor divides. With two terms the first such number is an answer.
 *
 * Whether elements of one array overlap is the same question about differences of indices: take the dimension of the
 * largest stride in which two elements differ, and count from the smallest difference that it can have.
 */
#include <warpway/array.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "array/layout.h"
#include "base/error.h"

#define STEPS_MAX  4096 /* of one search */
#define SPLITS_MAX 4    /* numbers that a split may leave */
#define TERMS_MAX  (2 * WW_ARRAY_DIMS + 1)
#define END_MAX    (UINT64_C(1) << 60) /* so that no sum here can overflow */

struct term {
	int64_t factor; /* > 0 */
	int64_t most;   /* > 0 */
};

struct equation {
	struct term terms[TERMS_MAX];
	uint32_t count;
	int64_t target;
};

/* How much may still be tried. */
struct budget {
	uint32_t steps;
};

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int64_t divisor_of(const struct term *terms, uint32_t count)
{
	int64_t divisor = 0;

	for (uint32_t i = 0; i < count; i++)
		divisor = common_divisor(terms[i].factor, divisor);
	return divisor;
}

static int64_t reach_of(const struct term *terms, uint32_t count)
{
	int64_t reach = 0;

	for (uint32_t i = 0; i < count; i++)
		reach += terms[i].factor * terms[i].most;
	return reach;
}

/* The number that is the inverse of @value modulo @modulus; they have no common divisor. */
static int64_t inverse(int64_t value, int64_t modulus)
{
	int64_t a = value % modulus;
	int64_t b = modulus;
	int64_t x = 1;
	int64_t y = 0;

	while (b != 0) {
		int64_t quotient = a / b;
		int64_t rest = a - quotient * b;
		int64_t next = x - quotient * y;

		a = b;
		b = rest;
		x = y;
		y = next;
	}
	return x < 0 ? x + modulus : x;
}

static uint32_t search(struct budget *budget, const struct term *terms, uint32_t count,
	int64_t target);

/* Where larger and smaller terms part so that the fewest numbers are left, or 0. */
static uint32_t find_split(const struct term *terms, uint32_t count)
{
	int64_t fewest = SPLITS_MAX + 1;
	int64_t divisor = 0;
	int64_t reach = reach_of(terms, count);
	uint32_t found = 0;

	for (uint32_t i = 1; i < count; i++) {
		divisor = common_divisor(terms[i - 1].factor, divisor);
		reach -= terms[i - 1].factor * terms[i - 1].most;
		if (reach / divisor + 1 < fewest) {
			fewest = reach / divisor + 1;
			found = i;
		}
	}
	return found;
}

static uint32_t both(uint32_t one, uint32_t other)
{
	if (one == WW_OVERLAP_NONE || other == WW_OVERLAP_NONE)
		return WW_OVERLAP_NONE;
	return one == WW_OVERLAP_SOME ? other : one;
}

/* Tries each number that the terms from @at on can make and that the larger ones can complete. */
static uint32_t split(struct budget *budget, const struct term *terms, uint32_t count, uint32_t at,
	int64_t target)
{
	int64_t divisor = divisor_of(terms, at);
	int64_t reach = reach_of(terms + at, count - at);
	uint32_t answer = WW_OVERLAP_NONE;

	for (int64_t small = target % divisor; small <= reach && small <= target;
		small += divisor) {
		uint32_t found = search(budget, terms + at, count - at, small);

		if (found != WW_OVERLAP_NONE)
			found = both(found, search(budget, terms, at, target - small));
		if (found == WW_OVERLAP_SOME)
			return found;
		if (found == WW_OVERLAP_MAY)
			answer = found;
	}
	return answer;
}

/* Tries each number for the largest term. */
static uint32_t pin(struct budget *budget, const struct term *terms, uint32_t count, int64_t target)
{
	int64_t factor = terms[0].factor;
	int64_t rest = divisor_of(terms + 1, count - 1);
	int64_t shared = common_divisor(factor, rest);
	int64_t step = rest / shared;
	int64_t over = target - reach_of(terms + 1, count - 1);
	int64_t least = over > 0 ? (over + factor - 1) / factor : 0;
	int64_t most = target / factor < terms[0].most ? target / factor : terms[0].most;
	int64_t residue = 0;
	uint32_t answer = WW_OVERLAP_NONE;

	if (step > 1)
		residue = (int64_t)((unsigned __int128)(target / shared % step) *
			(uint64_t)inverse(factor / shared, step) % (uint64_t)step);
	for (int64_t x = least + ((residue - least) % step + step) % step; x <= most; x += step) {
		uint32_t found = search(budget, terms + 1, count - 1, target - factor * x);

		if (found == WW_OVERLAP_SOME)
			return found;
		if (found == WW_OVERLAP_MAY)
			answer = found;
		if (budget->steps == 0)
			return WW_OVERLAP_MAY;
	}
	return answer;
}

static uint32_t search(struct budget *budget, const struct term *terms, uint32_t count,
	int64_t target)
{
	uint32_t at;

	if (target < 0 || target > reach_of(terms, count))
		return WW_OVERLAP_NONE;
	if (target == 0)
		return WW_OVERLAP_SOME;
	if (target % divisor_of(terms, count) != 0)
		return WW_OVERLAP_NONE;
	if (count == 1)
		return WW_OVERLAP_SOME;
	if (budget->steps == 0)
		return WW_OVERLAP_MAY;
	budget->steps--;
	at = find_split(terms, count);
	return at ? split(budget, terms, count, at, target) : pin(budget, terms, count, target);
}

static void add_term(struct equation *equation, int64_t factor, int64_t most)
{
	if (factor > 0 && most > 0)
		equation->terms[equation->count++] = (struct term){factor, most};
}

static int larger_first(const void *one, const void *other)
{
	int64_t a = ((const struct term *)one)->factor;
	int64_t b = ((const struct term *)other)->factor;

	return (a < b) - (a > b);
}

static void join_equal(struct equation *equation)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < equation->count; i++) {
		struct term term = equation->terms[i];

		if (count > 0 && equation->terms[count - 1].factor == term.factor)
			equation->terms[count - 1].most += term.most;
		else
			equation->terms[count++] = term;
	}
	equation->count = count;
}

static uint32_t solve(struct equation *equation)
{
	struct budget budget = {STEPS_MAX};

	qsort(equation->terms, equation->count, sizeof(equation->terms[0]), larger_first);
	join_equal(equation);
	return search(&budget, equation->terms, equation->count, equation->target);
}

/* The span of an array, not too large to compute with. */
static ww_status find_bounds(const struct ww_array *array, uint64_t *out_first, uint64_t *out_end)
{
	ww_try(ww_array_span(array, out_first, out_end));
	if (*out_end > END_MAX)
		return ww_fail(WW_ERR_OVERFLOW,
			"an array ends more than 2^60 bytes behind the start of its memory");
	return WW_OK;
}

/* Between neighbours, of whom there are two: the span could be computed, so there is no stride without a magnitude. */
static int64_t distance(const struct ww_array *array, uint32_t dim)
{
	return array->strides[dim] < 0 ? -array->strides[dim] : array->strides[dim];
}

/* The terms of an array's dimensions; those of one element lead nowhere, whatever their stride. */
static void add_dims(struct equation *equation, const struct ww_array *array)
{
	for (uint32_t i = 0; i < array->ndim; i++) {
		if (array->shape[i] > 1)
			add_term(equation, distance(array, i), array->shape[i] - 1);
	}
}

ww_status ww_array_overlap(const struct ww_array *array, const struct ww_array *other,
	uint32_t *out_overlap)
{
	struct equation equation = {.count = 0};
	uint64_t first = 0;
	uint64_t end = 0;
	uint64_t other_first = 0;
	uint64_t other_end = 0;

	ww_clear(out_overlap, WW_OVERLAP_NONE);
	ww_require(array && other, "ww_array_overlap: an array is NULL");
	ww_require(out_overlap, "ww_array_overlap: out_overlap is NULL");
	ww_try(find_bounds(array, &first, &end));
	ww_try(find_bounds(other, &other_first, &other_end));
	if (first == end || other_first == other_end || end <= other_first || other_end <= first)
		return WW_OK;
	/* The lowest byte, or the highest, is one of both. */
	if (first == other_first || end == other_end) {
		*out_overlap = WW_OVERLAP_SOME;
		return WW_OK;
	}
	add_dims(&equation, array);
	add_dims(&equation, other);
	add_term(&equation, 1,
		(int64_t)(ww_array_element_bytes(array) + ww_array_element_bytes(other)) - 2);
	/* From the first byte of one to the last byte of the other, which its turned indices count from. */
	equation.target = (int64_t)(other_end - 1) - (int64_t)first;
	*out_overlap = solve(&equation);
	return WW_OK;
}

/* The dimensions that lead somewhere as terms, the smallest stride first. Returns their number. */
static uint32_t sort_dims(const struct ww_array *array, struct term out_dims[WW_ARRAY_DIMS])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < array->ndim; i++) {
		struct term dim = {0};
		uint32_t at = count;

		if (array->shape[i] == 1)
			continue;
		dim = (struct term){distance(array, i), array->shape[i] - 1};
		for (; at > 0 && out_dims[at - 1].factor > dim.factor; at--)
			out_dims[at] = out_dims[at - 1];
		out_dims[at] = dim;
		count++;
	}
	return count;
}

/*
 * Whether two elements share a byte that differ in dimension @at of the sorted ones, and in none of a larger stride. That
 * difference is 1 or more; those in smaller dimensions, and of the bytes, may be negative, and are counted from there.
 */
static uint32_t differ_in(const struct term *dims, uint32_t at, int64_t element_bytes)
{
	struct equation equation = {.target = element_bytes - 1 - dims[at].factor};

	add_term(&equation, dims[at].factor, dims[at].most - 1);
	for (uint32_t i = 0; i < at; i++) {
		add_term(&equation, dims[i].factor, 2 * dims[i].most);
		equation.target += dims[i].factor * dims[i].most;
	}
	add_term(&equation, 1, 2 * (element_bytes - 1));
	return solve(&equation);
}

ww_status ww_array_self_overlap(const struct ww_array *array, uint32_t *out_overlap)
{
	struct term dims[WW_ARRAY_DIMS];
	uint32_t answer = WW_OVERLAP_NONE;
	uint32_t count;
	uint64_t first = 0;
	uint64_t end = 0;

	ww_clear(out_overlap, WW_OVERLAP_NONE);
	ww_require(array, "ww_array_self_overlap: array is NULL");
	ww_require(out_overlap, "ww_array_self_overlap: out_overlap is NULL");
	ww_try(find_bounds(array, &first, &end));
	if (first == end)
		return WW_OK;
	count = sort_dims(array, dims);
	for (uint32_t i = 0; i < count && answer != WW_OVERLAP_SOME; i++) {
		uint32_t found = differ_in(dims, i, (int64_t)ww_array_element_bytes(array));

		if (found != WW_OVERLAP_NONE)
			answer = found;
	}
	*out_overlap = answer;
	return WW_OK;
}
