/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - checks and sizes that all functions on arrays use
 */
#ifndef WW_ARRAY_LAYOUT_H
#define WW_ARRAY_LAYOUT_H

#include <stdbool.h>

#include <warpway/array.h>

/* Checks that the span of an array can be computed. Return: as ww_array_span(). */
ww_status ww_array_check_span(const struct ww_array *array);

/* Return: WW_OK; WW_ERR_INVALID (too many dimensions, a negative one). */
ww_status ww_array_check_shape(uint32_t ndim, const int64_t *shape);

/*
 * The bytes of all elements, where a dimension without elements counts as one of one element.
 * @array was checked, but for its strides and its offset.
 *
 * Return: WW_OK; WW_ERR_OVERFLOW (more bytes than 63 bits can count).
 */
ww_status ww_array_full_bytes(const struct ww_array *array, uint64_t *out_bytes);

/*
 * The distance from the first element to the lowest and to the highest element, in bytes; at most
 * INT64_MAX each. A dimension without elements counts as one of one element. @array was checked,
 * but for its strides and its offset.
 *
 * Return: WW_OK; WW_ERR_OVERFLOW.
 */
ww_status ww_array_measure(const struct ww_array *array, uint64_t *out_below, uint64_t *out_above);

/* Sets strides of C order without gaps. ww_array_full_bytes() of @array succeeded before. */
void ww_array_set_c_order(struct ww_array *array);

bool ww_array_has_elements(const struct ww_array *array);

/* The bytes of one element. The dtype of @array was checked before. */
uint64_t ww_array_element_bytes(const struct ww_array *array);

/* The absolute value; also of INT64_MIN. */
static inline uint64_t ww_array_magnitude(int64_t stride)
{
	return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

#endif
